//! Pages that memory really got: how large they are, on which nodes they lie, and how we know.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::ops::Range;

use units::{Bytes, NodeId};

use super::PageKind;
use crate::discovery::KernelFiles;

/// Pages and nodes that a mapping really got.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Obtained {
    /// The kind of pages that was asked for.
    pub asked: PageKind,
    /// How much of it has pages of which size.
    pub pages: BTreeMap<Bytes, Bytes>,
    /// How much of it lies on which node.
    pub nodes: BTreeMap<NodeId, Bytes>,
    /// How the nodes are known.
    pub verified: Verification,
}

/// How it is known on which node pages lie.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verification {
    /// The kernel was asked for each page, with move_pages(2).
    MovePages {
        /// How many pages were asked about, and found there.
        pages: u64,
    },
    /// move_pages(2) is forbidden; the kernel's account of each part (`/proc/self/numa_maps`) was read.
    NumaMaps {
        /// How many pages it counts, all where they should be.
        pages: u64,
        /// Why not page by page.
        because: String,
    },
    /// The process can have memory on a single node only, and the kernel cannot be asked.
    SingleNode {
        /// Why not.
        because: String,
    },
}

impl fmt::Display for Verification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MovePages { pages } => write!(f, "move_pages: {pages} of {pages} pages"),
            Self::NumaMaps { pages, because } => {
                write!(f, "numa_maps: {pages} of {pages} pages, counted together (move_pages: {because})")
            }
            Self::SingleNode { because } => write!(f, "there is only one node (not asked: {because})"),
        }
    }
}

impl Obtained {
    /// True if all of it has pages of the kind that was asked for.
    pub fn as_asked(&self) -> bool {
        match self.asked {
            PageKind::Transparent => self.pages.len() == 1 && self.pages.keys().all(|&size| size > SMALLEST),
            PageKind::Base | PageKind::Huge(_) => self.pages.len() == 1,
        }
    }

    /// The page sizes, such as `2 MiB`, or `2 MiB 75%, 4 KiB 25%` where they are mixed.
    pub fn page_mix(&self) -> String {
        let total: u64 = self.pages.values().map(|bytes| bytes.0).sum();
        let share = |bytes: &Bytes| 100.0 * bytes.0 as f64 / total as f64;
        match self.pages.len() {
            1 => self.pages.keys().map(ToString::to_string).collect(),
            _ => {
                let parts = self.pages.iter().rev().map(|(size, bytes)| format!("{size} {:.1}%", share(bytes)));
                parts.collect::<Vec<_>>().join(", ")
            }
        }
    }
}

impl fmt::Display for Obtained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes: Vec<String> = self.nodes.keys().map(ToString::to_string).collect();
        let many = if nodes.len() == 1 { "node" } else { "nodes" };
        write!(f, "pages of {} on {many} {} ({})", self.page_mix(), nodes.join(" "), self.verified)
    }
}

/// The largest base page of any architecture (AArch64's 64 KiB): what is larger is a huge page.
const SMALLEST: Bytes = Bytes::from_kib(64);

/// Bytes of `/proc/self/smaps` read at once: about one area.
const SMAPS_BYTES: usize = 1024;

/// The page sizes of a range of addresses by `/proc/self/smaps` (proc_pid_smaps(5)): bytes by page size. Pages that are not
/// there are not counted.
///
/// The kernel looks at every page of every area that is read, so the file, in the order of addresses, is read no further than the
/// range: new areas mostly lie before older ones.
///
/// # Errors
/// Why the file tells nothing about the range.
pub(super) fn page_sizes(
    files: &KernelFiles,
    range: &Range<usize>,
    huge: Bytes,
) -> Result<BTreeMap<Bytes, Bytes>, String> {
    let path = files.path("proc/self/smaps");
    let file = File::open(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    sizes_in(BufReader::with_capacity(SMAPS_BYTES, file), range, huge)
}

fn sizes_in(smaps: impl BufRead, range: &Range<usize>, huge: Bytes) -> Result<BTreeMap<Bytes, Bytes>, String> {
    let mut sizes = BTreeMap::new();
    let mut add = |size: Bytes, bytes: u64| {
        if bytes > 0 {
            sizes.entry(size).or_insert(Bytes(0)).0 += bytes;
        }
    };
    let mut area: Option<Area> = None;
    for line in smaps.split(b'\n') {
        let line = line.map_err(|error| error.to_string())?;
        let line = String::from_utf8_lossy(&line);
        if let Some(found) = addresses(&line) {
            if let Some(area) = area.take() {
                area.count(huge, &mut add);
            }
            if found.start >= range.end {
                break;
            }
            if range.start < found.end {
                if found.start < range.start || range.end < found.end {
                    return Err("smaps shows it together with other memory".to_owned());
                }
                area = Some(Area::default());
            }
        } else if let Some(area) = &mut area {
            area.read(&line);
        }
    }
    if let Some(area) = area {
        area.count(huge, &mut add);
    }
    if sizes.is_empty() { Err("smaps does not show it".to_owned()) } else { Ok(sizes) }
}

/// The range in the first line of an area: `7f0000000000-7f0000200000 rw-p ...`.
fn addresses(line: &str) -> Option<Range<usize>> {
    let (first, last) = line.split(' ').next()?.split_once('-')?;
    Some(usize::from_str_radix(first, 16).ok()?..usize::from_str_radix(last, 16).ok()?)
}

/// Figures of smaps for one area, in bytes.
#[derive(Default)]
struct Area {
    kernel_page: u64,
    resident: u64,
    transparent: u64,
    pool: u64,
}

impl Area {
    fn read(&mut self, line: &str) {
        let Some((name, value)) = line.split_once(':') else { return };
        let Some(kib) = value.trim().strip_suffix("kB").and_then(|value| value.trim().parse::<u64>().ok()) else {
            return;
        };
        let bytes = kib.saturating_mul(1024);
        match name {
            "KernelPageSize" => self.kernel_page = bytes,
            "Rss" => self.resident = bytes,
            "AnonHugePages" => self.transparent = bytes,
            "Private_Hugetlb" | "Shared_Hugetlb" => self.pool += bytes,
            _ => {}
        }
    }

    fn count(&self, huge: Bytes, add: &mut impl FnMut(Bytes, u64)) {
        add(Bytes(self.kernel_page), self.pool);
        add(huge, self.transparent);
        add(Bytes(self.kernel_page), self.resident.saturating_sub(self.transparent));
    }
}

/// How many bytes of a range lie on which node by `/proc/self/numa_maps` (numa(7)).
///
/// # Errors
/// Why the file tells nothing about the range.
pub(super) fn nodes_by_account(files: &KernelFiles, range: &Range<usize>) -> Result<BTreeMap<NodeId, Bytes>, String> {
    let text = files.text("proc/self/numa_maps").map_err(|error| error.to_string())?;
    let text = text.ok_or("the kernel has no /proc/self/numa_maps")?;
    let mut nodes = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split(' ');
        let start = words.next().and_then(|word| usize::from_str_radix(word, 16).ok());
        if !start.is_some_and(|start| range.contains(&start)) {
            continue;
        }
        let pairs: Vec<(&str, u64)> = words
            .filter_map(|word| word.split_once('='))
            .filter_map(|(key, value)| Some((key, value.parse().ok()?)))
            .collect();
        let page = pairs.iter().find(|(key, _)| *key == "kernelpagesize_kB").map_or(0, |(_, kib)| kib * 1024);
        for (key, count) in &pairs {
            let node = key.strip_prefix('N').and_then(|number| number.parse().ok());
            if let Some(node) = node.map(NodeId) {
                nodes.entry(node).or_insert(Bytes(0)).0 += count * page;
            }
        }
    }
    if nodes.is_empty() { Err("numa_maps does not show it".to_owned()) } else { Ok(nodes) }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};

    use super::*;

    const SMAPS: &str = "\
7f0000000000-7f0000200000 rw-p 00000000 00:00 0
Size:               2048 kB
KernelPageSize:        4 kB
Rss:                2048 kB
AnonHugePages:      2048 kB
7f0000200000-7f0000400000 rw-p 00000000 00:00 0
Size:               2048 kB
KernelPageSize:        4 kB
Rss:                1024 kB
AnonHugePages:         0 kB
VmFlags: rd wr mr mw me ac nh
7f0000400000-7f0000800000 rw-p 00000000 00:0f 1234   /anon_hugepage (deleted)
KernelPageSize:     2048 kB
Rss:                   0 kB
Private_Hugetlb:    4096 kB
";

    struct Unreadable;

    impl Read for Unreadable {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            panic!("nothing of it is needed")
        }
    }

    #[test]
    fn page_sizes_of_a_range() {
        let mib = Bytes::from_mib;
        let sizes = |first: usize, last: usize| sizes_in(SMAPS.as_bytes(), &(first..last), mib(2));
        let mixed = sizes(0x7f00_0000_0000, 0x7f00_0040_0000).expect("areas");
        assert_eq!(mixed, BTreeMap::from([(mib(2), mib(2)), (Bytes::from_kib(4), mib(1))]));
        assert_eq!(sizes(0x7f00_0040_0000, 0x7f00_0080_0000).expect("area"), BTreeMap::from([(mib(2), mib(4))]));
        assert!(sizes(0x7f00_0000_1000, 0x7f00_0020_0000).is_err(), "the area holds more than the range");
        assert!(sizes(0x1000, 0x2000).is_err());
        // What lies behind the range is not read: there is nothing to read it from.
        let first = SMAPS.find("7f0000400000-").expect("an area") + "7f0000400000-7f0000800000 rw-p\n".len();
        let no_further = SMAPS.as_bytes()[..first].chain(Unreadable);
        let before = sizes_in(BufReader::with_capacity(1, no_further), &(0x7f00_0000_0000..0x7f00_0020_0000), mib(2));
        assert_eq!(before, Ok(BTreeMap::from([(mib(2), mib(2))])));
    }
}
