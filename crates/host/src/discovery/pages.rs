//! Page sizes: the base page, pools of huge pages, transparent huge pages.

use units::{Bytes, NodeId};

use super::files::Reader;
use super::note::Note;

/// The huge pages of one size that are set aside (Documentation/admin-guide/mm/hugetlbpage.rst).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HugePagePool {
    /// The size of a page.
    pub size: Bytes,
    /// How many pages there are.
    pub total: u64,
    /// How many are in no use.
    pub free: u64,
    /// How many of the free ones are promised to a mapping.
    pub reserved: u64,
    /// How many more the kernel may try to make when they are asked for.
    pub overcommit: u64,
    /// The share of each node.
    pub nodes: Vec<NodePool>,
}

/// A node's share of a pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodePool {
    /// The node.
    pub node: NodeId,
    /// How many pages lie there.
    pub total: u64,
    /// How many of them are in no use.
    pub free: u64,
}

/// When the kernel puts transparent huge pages (Documentation/admin-guide/mm/transhuge.rst).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransparentHugePages {
    /// For whom: `always`, `madvise`, `never`; none if the kernel has none at all.
    pub enabled: Option<String>,
    /// How hard it tries at a page fault: `always`, `defer`, `defer+madvise`, `madvise`, `never`.
    pub defrag: Option<String>,
    /// The size of such a page.
    pub size: Bytes,
}

impl TransparentHugePages {
    /// Whether memory gets such pages when it asks for them (madvise(2), `MADV_HUGEPAGE`).
    pub fn is_on(&self) -> bool {
        self.enabled.as_deref().is_some_and(|mode| mode != "never")
    }
}

/// The base page of x86-64 and of most others, where the kernel does not tell.
const USUAL_PAGE: Bytes = Bytes::from_kib(4);
/// A transparent huge page of x86-64 and of AArch64 with 4 KiB pages, where the kernel does not tell (before 4.18).
const USUAL_HUGE_PAGE: Bytes = Bytes::from_mib(2);

/// The size of a base page, from the auxiliary vector (`AT_PAGESZ`, getauxval(3)).
pub(super) fn base(reader: &mut Reader<'_>) -> Bytes {
    const AT_PAGESZ: u64 = 6;
    let vector = reader.bytes("proc/self/auxv").unwrap_or_default();
    let word = |bytes: &[u8]| bytes.try_into().map(u64::from_ne_bytes).ok();
    let mut entries = vector.chunks_exact(16).filter_map(|entry| Some((word(&entry[..8])?, word(&entry[8..])?)));
    let told = entries.find(|&(key, _)| key == AT_PAGESZ).map(|(_, size)| size);
    told.filter(|size| size.is_power_of_two()).map(Bytes).unwrap_or_else(|| {
        reader.notes.push(Note::PageSizeAssumed);
        USUAL_PAGE
    })
}

/// The pools of all sizes, smallest page first.
pub(super) fn pools(reader: &mut Reader<'_>, nodes: &[NodeId]) -> Vec<HugePagePool> {
    const FOLDER: &str = "sys/kernel/mm/hugepages";
    let names = reader.names(FOLDER);
    let mut sizes: Vec<u64> =
        names.iter().filter_map(|name| name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()).collect();
    sizes.sort_unstable();
    let pools = sizes.into_iter().filter_map(|kib| {
        let mut number = |name: &str| reader.number(&format!("{FOLDER}/hugepages-{kib}kB/{name}")).unwrap_or(0);
        let (total, free) = (number("nr_hugepages"), number("free_hugepages"));
        let (reserved, overcommit) = (number("resv_hugepages"), number("nr_overcommit_hugepages"));
        let shares = nodes.iter().filter_map(|&node| share(reader, node, kib)).collect();
        Some(HugePagePool { size: Bytes(kib.checked_mul(1024)?), total, free, reserved, overcommit, nodes: shares })
    });
    pools.collect()
}

fn share(reader: &mut Reader<'_>, node: NodeId, kib: u64) -> Option<NodePool> {
    let folder = format!("sys/devices/system/node/node{node}/hugepages/hugepages-{kib}kB");
    let total = reader.number(&format!("{folder}/nr_hugepages"))?;
    Some(NodePool { node, total, free: reader.number(&format!("{folder}/free_hugepages")).unwrap_or(0) })
}

/// When the kernel puts transparent huge pages.
pub(super) fn transparent(reader: &mut Reader<'_>) -> TransparentHugePages {
    const FOLDER: &str = "sys/kernel/mm/transparent_hugepage";
    // The choice in force stands in brackets: `always [madvise] never`.
    let mut chosen = |name: &str| {
        let text = reader.text(&format!("{FOLDER}/{name}"))?;
        Some(text.split_once('[')?.1.split_once(']')?.0.to_owned())
    };
    let (enabled, defrag) = (chosen("enabled"), chosen("defrag"));
    if enabled.is_none() {
        reader.notes.push(Note::NoTransparentHugePages);
    }
    let size = reader.number(&format!("{FOLDER}/hpage_pmd_size")).filter(|size: &u64| size.is_power_of_two());
    TransparentHugePages { enabled, defrag, size: size.map_or(USUAL_HUGE_PAGE, Bytes) }
}
