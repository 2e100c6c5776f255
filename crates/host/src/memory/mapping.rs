//! A mapping: from the request to memory whose place is known.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use units::{Bytes, NodeId, ranges};

use super::calls::{Backing, MADV_COLLAPSE, Region, size_of_bytes};
use super::obtained::{Obtained, Verification, nodes_by_account, page_sizes};
use super::{PageKind, room};
use crate::HostError;
use crate::discovery::Inventory;

/// Private memory of this process, every page of it present, on the nodes that were asked for. Unmapped on drop.
#[derive(Debug)]
pub struct Mapping {
    pub(super) region: Region,
    pub(super) pages: PageKind,
    /// The size of a page that is asked about: the base page, or the pool's.
    pub(super) granule: Bytes,
    pub(super) obtained: Obtained,
    pub(super) inventory: Arc<Inventory>,
}

/// A part of a mapping, on one node.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) node: NodeId,
    pub(super) range: Range<usize>,
}

/// Where a page lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageLocation {
    /// How far from the start of the mapping it begins.
    pub offset: Bytes,
    /// Its node, or the kernel's error number for why there is none to tell (`ENOENT`: the page is not there).
    pub node: Result<NodeId, i32>,
}

impl Mapping {
    /// Memory on one node, of `size` rounded up to whole pages.
    ///
    /// # Errors
    /// When the node cannot be used or has not so much to give, the kernel does not let us place or check, or pages of the
    /// kind cannot be had.
    pub fn on_node(inventory: &Arc<Inventory>, node: NodeId, size: Bytes, pages: PageKind) -> Result<Self, HostError> {
        let pages = normal(pages, inventory);
        let page = page_of(pages, inventory);
        let rounded = size.0.checked_next_multiple_of(page.0).map(Bytes).unwrap_or(size);
        Self::across(inventory, &[(node, rounded)], pages)
    }

    /// One piece of memory whose consecutive parts lie on the given nodes. Each part must be whole pages.
    ///
    /// # Errors
    /// As for [`Mapping::on_node`], or when a part is empty or not whole pages.
    pub fn across(inventory: &Arc<Inventory>, parts: &[(NodeId, Bytes)], pages: PageKind) -> Result<Self, HostError> {
        let pages = normal(pages, inventory);
        let parts = checked(inventory, parts, pages)?;
        let builder = Builder { inventory, parts, pages };
        let region = builder.map()?;
        for part in &builder.parts {
            builder.bind(&region, part)?;
        }
        for part in &builder.parts {
            builder.populate(&region, part)?;
        }
        let obtained = builder.verify(&region)?;
        let granule = granule_of(pages, inventory);
        Ok(Self { region, pages, granule, obtained, inventory: inventory.clone() })
    }

    /// The same mapping, unless its pages are not all of the kind that was asked for.
    ///
    /// # Errors
    /// When transparent huge pages were asked for and some pages are small.
    pub fn exactly(self) -> Result<Self, HostError> {
        match self.obtained.as_asked() {
            true => Ok(self),
            false => Err(HostError::Placement {
                node: self.obtained.nodes.keys().next().copied().unwrap_or_default(),
                size: self.size(),
                pages: self.pages.to_string(),
                problem: format!("the kernel gave pages of {}", self.obtained.page_mix()),
                advice: huge_page_advice(&self.inventory),
            }),
        }
    }

    /// How large it is: whole pages.
    pub fn size(&self) -> Bytes {
        Bytes(self.region.length() as u64)
    }

    /// Where it starts. The memory may be read and written until the mapping is dropped; it is zero at first.
    pub fn start(&self) -> NonNull<u8> {
        self.region.start()
    }

    /// Pages and nodes that it really got, as of its making or its last migration.
    pub fn obtained(&self) -> &Obtained {
        &self.obtained
    }

    /// Asks the kernel where each page lies now: each base page, or each page of a pool.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn nodes_of_pages(&self) -> Result<Vec<PageLocation>, HostError> {
        locate(&self.region, self.granule, 0..self.region.length()).map_err(|source| HostError::Call {
            call: format!("move_pages (asking about {})", self.size()),
            source,
            advice: FORBIDDEN_ADVICE.to_owned(),
        })
    }
}

/// Advice where placement calls are forbidden.
pub(super) const FORBIDDEN_ADVICE: &str = "a container's seccomp profile may forbid the kernel's NUMA calls: docker run \
                                           --cap-add SYS_NICE, or --security-opt seccomp=unconfined, permits them; an \
                                           emulator of programs (qemu-user) may lack them";

/// Advice on transparent huge pages.
fn huge_page_advice(inventory: &Inventory) -> String {
    let mode = inventory.transparent.enabled.as_deref().unwrap_or("absent");
    format!(
        "transparent huge pages are `{mode}` (/sys/kernel/mm/transparent_hugepage/enabled): root permits them with \
         `madvise`, and memory may be too fragmented (echo 1 > /proc/sys/vm/compact_memory); or use base, or pages \
         of a pool"
    )
}

/// Pages of the base page's size are base pages.
fn normal(pages: PageKind, inventory: &Inventory) -> PageKind {
    if pages == PageKind::Huge(inventory.page_size) { PageKind::Base } else { pages }
}

/// Size of a page, of which parts are multiples.
fn page_of(pages: PageKind, inventory: &Inventory) -> Bytes {
    match pages {
        PageKind::Base => inventory.page_size,
        PageKind::Transparent => inventory.transparent.size,
        PageKind::Huge(size) => size,
    }
}

/// Size of the pages whose nodes are looked up: transparent huge pages can fall apart, those of a pool cannot.
fn granule_of(pages: PageKind, inventory: &Inventory) -> Bytes {
    match pages {
        PageKind::Base | PageKind::Transparent => inventory.page_size,
        PageKind::Huge(size) => size,
    }
}

/// The parts as offsets, once every node and size has been checked.
fn checked(inventory: &Inventory, parts: &[(NodeId, Bytes)], pages: PageKind) -> Result<Vec<Part>, HostError> {
    let page = page_of(pages, inventory);
    let (mut offset, mut by_node) = (0_u64, BTreeMap::<NodeId, u64>::new());
    let mut found = Vec::new();
    for &(node, size) in parts {
        usable(inventory, node)?;
        if size.0 == 0 || !size.0.is_multiple_of(page.0) {
            let accepted = format!("accepted: multiples of {page} from {page}");
            return Err(HostError::Request(format!("{size} of memory on node {node} in {pages} pages; {accepted}")));
        }
        let end = offset.checked_add(size.0).filter(|&end| isize::try_from(end).is_ok());
        let end =
            end.ok_or_else(|| HostError::Request(format!("{size} beyond {offset} bytes exceeds the address space")))?;
        found.push(Part { node, range: offset as usize..end as usize });
        *by_node.entry(node).or_default() += size.0;
        offset = end;
    }
    if found.is_empty() {
        return Err(HostError::Request("a mapping without parts; accepted: one part or more".to_owned()));
    }
    for (&node, &size) in &by_node {
        room::check(inventory, node, Bytes(size), Bytes(offset), pages)?;
    }
    Ok(found)
}

/// Refuses a node that does not exist, has no memory, or is not ours to use.
pub(super) fn usable(inventory: &Inventory, node: NodeId) -> Result<(), HostError> {
    let problem = match inventory.node(node) {
        None => "no such node",
        Some(found) if found.memory.0 == 0 => "it has no memory",
        Some(_) if !inventory.limits.nodes.contains(&node) => "not in this process's cpuset",
        Some(_) => return Ok(()),
    };
    let accepted = format!("nodes {}", ranges(inventory.limits.nodes.iter().map(|node| node.0)));
    Err(HostError::Node { node, problem: problem.to_owned(), accepted })
}

/// Whether an error says that a call is not ours to make, rather than that it failed.
pub(super) fn forbidden(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS | libc::EACCES))
}

/// Asks where the pages of a range are.
pub(super) fn locate(region: &Region, granule: Bytes, range: Range<usize>) -> io::Result<Vec<PageLocation>> {
    /// How many pages to ask about at once: the arrays stay in the cache.
    const BATCH: usize = 4096;
    let offsets: Vec<usize> = range.step_by(size_of_bytes(granule)?).collect();
    let mut found = Vec::with_capacity(offsets.len());
    for batch in offsets.chunks(BATCH) {
        let status = region.locate(batch)?;
        found.extend(batch.iter().zip(status).map(|(&offset, status)| PageLocation {
            offset: Bytes(offset as u64),
            node: u16::try_from(status).map(NodeId).map_err(|_| -status),
        }));
    }
    Ok(found)
}

/// A mapping on the way.
struct Builder<'a> {
    inventory: &'a Inventory,
    parts: Vec<Part>,
    pages: PageKind,
}

impl Builder<'_> {
    fn refuse(&self, part: &Part, problem: String, advice: impl Into<String>) -> HostError {
        let (node, size, advice) = (part.node, Bytes(part.range.len() as u64), advice.into());
        HostError::Placement { node, size, pages: self.pages.to_string(), problem, advice }
    }

    /// Address space, with the kind of pages settled.
    fn map(&self) -> Result<Region, HostError> {
        let whole = Part { node: self.parts[0].node, range: 0..self.parts.last().expect("parts").range.end };
        let length = whole.range.end;
        let refused = |error: io::Error| {
            let limits = &self.inventory.limits;
            let limit = |name, bytes: Option<Bytes>| bytes.map(|bytes| format!("{name} is {} MiB", bytes.0 >> 20));
            let known = [
                limit("the limit of address space (ulimit -v)", limits.address_space),
                limit("of data (ulimit -d)", limits.data),
            ];
            let known: Vec<String> = known.into_iter().flatten().collect();
            let advice = if known.is_empty() { "request less".to_owned() } else { known.join(", ") };
            self.refuse(&whole, format!("it cannot be mapped: {error}"), advice)
        };
        let backing = if matches!(self.pages, PageKind::Huge(_)) { Backing::Pool } else { Backing::Anonymous };
        let alignment = size_of_bytes(page_of(self.pages, self.inventory)).map_err(refused)?;
        let region = Region::map(length, alignment, backing).map_err(refused)?;
        let advice = match self.pages {
            PageKind::Base => libc::MADV_NOHUGEPAGE,
            PageKind::Transparent => libc::MADV_HUGEPAGE,
            PageKind::Huge(_) => return Ok(region),
        };
        match region.advise(0, length, advice) {
            // A kernel without transparent huge pages knows neither advice, and has base pages only.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && self.pages == PageKind::Base => Ok(region),
            Err(error) => Err(self.refuse(&whole, format!("madvise: {error}"), huge_page_advice(self.inventory))),
            Ok(()) => Ok(region),
        }
    }

    /// Binds a part. Where that is forbidden, a single node needs no binding.
    fn bind(&self, region: &Region, part: &Part) -> Result<(), HostError> {
        match region.bind(part.range.start, part.range.len(), part.node) {
            Ok(()) => Ok(()),
            Err(error) if forbidden(&error) && self.single_node() => Ok(()),
            Err(error) => Err(self.refuse(part, format!("mbind: {error}"), FORBIDDEN_ADVICE)),
        }
    }

    fn single_node(&self) -> bool {
        self.inventory.limits.nodes.len() == 1
    }

    /// Makes every page of a part present.
    fn populate(&self, region: &Region, part: &Part) -> Result<(), HostError> {
        let (offset, length) = (part.range.start, part.range.len());
        match region.advise(offset, length, libc::MADV_POPULATE_WRITE) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                let granule = granule_of(self.pages, self.inventory);
                region.touch(offset, length, granule.0 as usize);
            }
            Err(error) => {
                let problem = format!("not enough pages: {error}");
                return Err(self.refuse(part, problem, "request less, or free memory there"));
            }
        }
        if self.pages == PageKind::Transparent && !self.all_huge(region, part) {
            // Huge pages that page faults did not get may still be put together, which is looked up afterwards.
            let _not_all = region.advise(offset, length, MADV_COLLAPSE);
        }
        Ok(())
    }

    fn all_huge(&self, region: &Region, part: &Part) -> bool {
        let huge = self.inventory.transparent.size;
        page_sizes(&self.inventory.files, &addresses(region, &part.range), huge)
            .is_ok_and(|sizes| sizes.len() == 1 && sizes.contains_key(&huge))
    }

    /// Checks pages and places of the whole mapping.
    fn verify(&self, region: &Region) -> Result<Obtained, HostError> {
        let pages = self.verify_pages(region)?;
        let (nodes, verified) = verify_nodes(self.inventory, region, &self.parts, self.pages)?;
        Ok(Obtained { asked: self.pages, pages, nodes, verified })
    }

    /// The sizes of the pages. Those of base pages and of a pool are settled by mmap and madvise, and move_pages tells of each that it
    /// is there. For smaps, the kernel looks at the pages of other areas, too, which takes longer than most measurements.
    fn verify_pages(&self, region: &Region) -> Result<BTreeMap<Bytes, Bytes>, HostError> {
        let length = Bytes(region.length() as u64);
        let expected = page_of(self.pages, self.inventory);
        if self.pages != PageKind::Transparent {
            return Ok(BTreeMap::from([(expected, length)]));
        }
        let whole = Part { node: self.parts[0].node, range: 0..region.length() };
        let unknown = |problem: String| {
            let problem = format!("whether pages are huge cannot be checked: {problem}");
            self.refuse(&whole, problem, "use base, or pages of a pool")
        };
        let range = addresses(region, &whole.range);
        let sizes = page_sizes(&self.inventory.files, &range, expected).map_err(unknown)?;
        let present: u64 = sizes.values().map(|bytes| bytes.0).sum();
        if present != length.0 {
            let problem = format!("{} KiB of {} KiB are present", present >> 10, length.0 >> 10);
            return Err(self.refuse(&whole, problem, "memory is being swapped out; request less"));
        }
        if !sizes.contains_key(&expected) {
            let given = sizes.keys().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let problem = format!("the kernel gave pages of {given}");
            return Err(self.refuse(&whole, problem, huge_page_advice(self.inventory)));
        }
        Ok(sizes)
    }
}

/// Where a range of the region lies.
pub(super) fn addresses(region: &Region, range: &Range<usize>) -> Range<usize> {
    let start = region.start().addr().get();
    start + range.start..start + range.end
}

/// As [`locate`], asked again where the kernel is just moving a page, to make room for larger ones.
fn locate_settled(region: &Region, granule: Bytes, range: &Range<usize>) -> io::Result<Vec<PageLocation>> {
    const TIMES: usize = 10;
    let moving = |page: &PageLocation| matches!(page.node, Err(libc::EBUSY | libc::ENOENT));
    for _ in 1..TIMES {
        let found = locate(region, granule, range.clone())?;
        if !found.iter().any(moving) {
            return Ok(found);
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    locate(region, granule, range.clone())
}

/// Checks that every page lies on the node of its part.
pub(super) fn verify_nodes(
    inventory: &Inventory,
    region: &Region,
    parts: &[Part],
    pages: PageKind,
) -> Result<(BTreeMap<NodeId, Bytes>, Verification), HostError> {
    let granule = granule_of(pages, inventory);
    let (mut nodes, mut count) = (BTreeMap::<NodeId, Bytes>::new(), 0);
    for part in parts {
        let refuse = |problem: String, advice: &str| HostError::Placement {
            node: part.node,
            size: Bytes(part.range.len() as u64),
            pages: pages.to_string(),
            problem,
            advice: advice.to_owned(),
        };
        let found = match locate_settled(region, granule, &part.range) {
            Ok(found) => found,
            Err(error) if forbidden(&error) => return verify_by_account(inventory, region, parts, pages, &error),
            Err(error) => return Err(refuse(format!("move_pages: {error}"), FORBIDDEN_ADVICE)),
        };
        let elsewhere = found.iter().filter(|page| page.node != Ok(part.node)).count();
        if let Some(first) = found.iter().find(|page| page.node != Ok(part.node)) {
            let place = match first.node {
                Ok(node) => format!("node {node}"),
                Err(number) => io::Error::from_raw_os_error(number).to_string(),
            };
            let problem = format!(
                "{elsewhere} of {} pages are not there; the first, {} bytes from the start: {place}",
                found.len(),
                first.offset.0
            );
            return Err(refuse(problem, "the node may be out of memory, or pages are being migrated"));
        }
        nodes.entry(part.node).or_default().0 += part.range.len() as u64;
        count += found.len() as u64;
    }
    Ok((nodes, Verification::MovePages { pages: count }))
}

/// Checks the parts by the kernel's account where it cannot be asked page by page.
fn verify_by_account(
    inventory: &Inventory,
    region: &Region,
    parts: &[Part],
    pages: PageKind,
    error: &io::Error,
) -> Result<(BTreeMap<NodeId, Bytes>, Verification), HostError> {
    let because = error.to_string();
    if inventory.limits.nodes.len() == 1 {
        let nodes = BTreeMap::from([(parts[0].node, Bytes(region.length() as u64))]);
        return Ok((nodes, Verification::SingleNode { because }));
    }
    let mut nodes = BTreeMap::<NodeId, Bytes>::new();
    for part in parts {
        let expected = Bytes(part.range.len() as u64);
        let counted = nodes_by_account(&inventory.files, &addresses(region, &part.range));
        let problem = match counted {
            Ok(counted) if counted == BTreeMap::from([(part.node, expected)]) => {
                nodes.entry(part.node).or_default().0 += expected.0;
                continue;
            }
            Ok(counted) => format!("numa_maps counts {counted:?}"),
            Err(problem) => format!("move_pages: {error}, and {problem}"),
        };
        let (node, pages, advice) = (part.node, pages.to_string(), FORBIDDEN_ADVICE.to_owned());
        return Err(HostError::Placement { node, size: expected, pages, problem, advice });
    }
    let count = region.length() as u64 / granule_of(pages, inventory).0;
    Ok((nodes, Verification::NumaMaps { pages: count, because }))
}
