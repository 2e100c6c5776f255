//! The kernel calls for memory that has a place: each a few lines around one unsafe call.

use std::io;
use std::ptr::{self, NonNull};

use units::{Bytes, NodeId};

/// Memory of a mapping, on which the calls act: it is ours and stays mapped for as long as the value lives.
#[derive(Debug)]
pub(super) struct Region {
    /// All that is ours: a guard, the memory, a guard; memory from a pool has no guards.
    reserved: NonNull<u8>,
    reserved_length: usize,
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the region is plain memory with an address; nothing about it belongs to a thread. It hands out the address alone,
// and whoever reads or writes there does so by unsafe code of their own.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

/// How a page is to be mapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Backing {
    /// Base pages, or transparent huge pages where the kernel sees fit.
    Anonymous,
    /// From the pool of huge pages of the region's alignment.
    Pool,
}

impl Region {
    /// Maps private zeroed memory, untouched as yet, aligned to `alignment` (a power of two and a multiple of the page size).
    /// Neighbours never grow together with it, so that what the kernel reports about it is about nothing else.
    ///
    /// Nothing is ever mapped over a reservation: such a call can fail after it has unmapped what was there, and whatever
    /// another thread then maps into the gap would be unmapped together with the reservation.
    pub(super) fn map(length: usize, alignment: usize, backing: Backing) -> io::Result<Self> {
        match backing {
            Backing::Anonymous => Self::between_guards(length, alignment),
            Backing::Pool => Self::from_pool(length, alignment),
        }
    }

    /// Base pages or transparent huge pages between two guards, so that running over either end faults.
    fn between_guards(length: usize, alignment: usize) -> io::Result<Self> {
        let reserved_length = length.checked_add(3 * alignment).ok_or(io::ErrorKind::OutOfMemory)?;
        let reserved = anywhere(reserved_length, libc::PROT_NONE, 0)?;
        let offset = alignment + reserved.align_offset(alignment);
        // SAFETY: the offset is less than twice the alignment, so within the reservation.
        let start = unsafe { reserved.add(offset) };
        let region = Self { reserved, reserved_length, start, length };
        // SAFETY: a part of our own reservation, which nobody else has seen, becomes accessible.
        let failed = unsafe { libc::mprotect(start.as_ptr().cast(), length, libc::PROT_READ | libc::PROT_WRITE) } != 0;
        if failed { Err(io::Error::last_os_error()) } else { Ok(region) }
    }

    /// Huge pages of the pool, which the kernel aligns. Each mapping of them is a file of its own to the kernel, so that
    /// no two grow together.
    fn from_pool(length: usize, page: usize) -> io::Result<Self> {
        // MAP_HUGETLB with the size's logarithm in the flags, mmap(2).
        let logarithm = i32::try_from(page.trailing_zeros()).expect("at most 63");
        let flags = libc::MAP_HUGETLB | (logarithm << MAP_HUGE_SHIFT);
        let start = anywhere(length, libc::PROT_READ | libc::PROT_WRITE, flags)?;
        Ok(Self { reserved: start, reserved_length: length, start, length })
    }

    /// Where it starts.
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// How long it is.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    fn at(&self, offset: usize, length: usize) -> *mut libc::c_void {
        assert!(offset.checked_add(length).is_some_and(|end| end <= self.length), "outside of the region");
        // SAFETY: within the region, as was just checked.
        unsafe { self.start.add(offset) }.as_ptr().cast()
    }

    /// Gives advice about a part, madvise(2). No advice that throws contents away may be given.
    pub(super) fn advise(&self, offset: usize, length: usize, advice: i32) -> io::Result<()> {
        let harmless = [libc::MADV_HUGEPAGE, libc::MADV_NOHUGEPAGE, libc::MADV_POPULATE_WRITE, MADV_COLLAPSE];
        assert!(harmless.contains(&advice), "advice {advice} is not known to keep contents");
        // SAFETY: the part is ours, and this advice changes how it is backed, not what it holds.
        let failed = unsafe { libc::madvise(self.at(offset, length), length, advice) } != 0;
        if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Writes a zero into every page of a part that nobody has used yet, on kernels that cannot populate (before 5.14).
    pub(super) fn touch(&self, offset: usize, length: usize, page: usize) {
        let start = self.at(offset, length).cast::<u8>();
        for at in (0..length).step_by(page) {
            // SAFETY: within the part, which is writable and as yet known to nobody but us.
            unsafe { start.add(at).write_volatile(0) };
        }
    }

    /// Binds a part to a node, mbind(2) with `MPOL_BIND`: pages that are not there yet will lie on that node or not at all.
    pub(super) fn bind(&self, offset: usize, length: usize, node: NodeId) -> io::Result<()> {
        const BITS: usize = u64::BITS as usize;
        let mut mask = vec![0_u64; node.index() / BITS + 1];
        mask[node.index() / BITS] = 1 << (node.index() % BITS);
        // The kernel reads one bit less than it is told.
        let bits = mask.len() * BITS + 1;
        let at = self.at(offset, length);
        // SAFETY: the part is ours, the kernel reads the bits of the mask that it is told of, and a policy changes no
        // contents.
        let failed =
            unsafe { libc::syscall(libc::SYS_mbind, at, length, libc::MPOL_BIND, mask.as_ptr(), bits, 0) } != 0;
        if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Asks where pages are, move_pages(2) without nodes: for each offset the number of a node, or a negated error.
    pub(super) fn locate(&self, offsets: &[usize]) -> io::Result<Vec<i32>> {
        self.move_pages(offsets, None)
    }

    /// Moves pages to a node, move_pages(2): for each offset the number of the node where the page is afterwards, or a
    /// negated error.
    pub(super) fn move_to(&self, offsets: &[usize], node: NodeId) -> io::Result<Vec<i32>> {
        let nodes = vec![i32::from(node.0); offsets.len()];
        self.move_pages(offsets, Some(&nodes))
    }

    fn move_pages(&self, offsets: &[usize], nodes: Option<&[i32]>) -> io::Result<Vec<i32>> {
        /// Initial status of a page, which remains if the kernel does not get to it.
        const UNTOUCHED: i32 = -libc::EINPROGRESS;
        let pages: Vec<*mut libc::c_void> = offsets.iter().map(|&offset| self.at(offset, 1)).collect();
        let mut status = vec![UNTOUCHED; pages.len()];
        let nodes = nodes.map_or(ptr::null(), <[i32]>::as_ptr);
        // SAFETY: the three arrays have as many entries as we say (`nodes` may be null), the pages are ours, and wherever a
        // page lies, it holds the same.
        let result = unsafe {
            libc::syscall(
                libc::SYS_move_pages,
                0,
                pages.len(),
                pages.as_ptr(),
                nodes,
                status.as_mut_ptr(),
                MPOL_MF_MOVE,
            )
        };
        // Positive: so many pages could not be moved; which, stands in their status.
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(status) }
    }
}

/// Maps private memory at an address of the kernel's choice.
fn anywhere(length: usize, protection: i32, flags: i32) -> io::Result<NonNull<u8>> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags;
    // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
    let start = unsafe { libc::mmap(ptr::null_mut(), length, protection, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(NonNull::new(start.cast::<u8>()).expect("mmap does not choose address 0"))
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the reservation is ours, and with the region goes the last that knew its address.
        unsafe { libc::munmap(self.reserved.as_ptr().cast(), self.reserved_length) };
    }
}

/// Moves only pages that no other process has mapped (include/uapi/linux/mempolicy.h).
const MPOL_MF_MOVE: i32 = 1 << 1;

/// Where the logarithm of the page size stands in the flags of mmap(2) (the C libraries differ in whether they name it).
const MAP_HUGE_SHIFT: i32 = 26;

/// Makes huge pages of what is there, at once (Linux 6.1, include/uapi/asm-generic/mman-common.h).
pub(super) const MADV_COLLAPSE: i32 = 25;

/// A size as the address arithmetic of this computer counts.
pub(super) fn size_of_bytes(bytes: Bytes) -> io::Result<usize> {
    usize::try_from(bytes.0).map_err(|_| io::ErrorKind::OutOfMemory.into())
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// Whole pages everywhere; AArch64's may be as large.
    const PAGE: usize = 64 << 10;

    /// Maps and unmaps pages, as any other thread of the program does, until told to stop; each holds what was written.
    /// Says when it has begun: on a busy computer all could be over before its first round.
    fn neighbour(begun: &Barrier, stop: &AtomicBool) -> u64 {
        let mut rounds = 0;
        while !stop.load(Ordering::Relaxed) {
            let regions: Vec<Region> =
                (0..64).map(|_| Region::map(16 * PAGE, PAGE, Backing::Anonymous).expect("a few pages")).collect();
            for (number, region) in regions.iter().enumerate() {
                // SAFETY: the region is this thread's own, and longer than a word.
                unsafe { region.start().cast::<usize>().write(number) };
            }
            for (number, region) in regions.iter().enumerate() {
                // SAFETY: as above.
                assert_eq!(unsafe { region.start().cast::<usize>().read() }, number);
            }
            if rounds == 0 {
                begun.wait();
            }
            rounds += 1;
        }
        rounds
    }

    #[test]
    fn what_cannot_be_mapped_takes_nothing_of_others_along() {
        let (begun, stop) = (Barrier::new(2), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let neighbour = scope.spawn(|| neighbour(&begun, &stop));
            begun.wait();
            for _ in 0..500 {
                // More than any computer has, but not more than the address space: a kernel that does not promise more memory
                // than there is (vm.overcommit_memory) refuses to make it writable.
                drop(Region::map(1 << 46, PAGE, Backing::Anonymous));
                // 64 TiB of huge pages: no pool holds as many.
                assert!(Region::map(1 << 46, 2 << 20, Backing::Pool).is_err());
            }
            stop.store(true, Ordering::Relaxed);
            assert!(neighbour.join().expect("its memory stays its own") > 0);
        });
    }

    #[test]
    fn memory_lies_between_guards() {
        let region = Region::map(3 * PAGE, 1 << 21, Backing::Anonymous).unwrap();
        let (start, end) = (region.start().addr().get(), region.start().addr().get() + 3 * PAGE);
        assert!(start.is_multiple_of(1 << 21));
        let has = |maps: &str, from: usize, to: usize, access: &str| {
            maps.lines().any(|line| {
                let (range, rest) = line.split_once(' ').unwrap_or_default();
                let bounds = range.split_once('-').map(|(first, last)| {
                    [first, last].map(|bound| usize::from_str_radix(bound, 16).unwrap_or_default())
                });
                bounds.is_some_and(|[first, last]| first <= from && to <= last) && rest.starts_with(access)
            })
        };
        let between = |maps: &str| {
            has(maps, start - PAGE, start, "---p")
                && has(maps, start, end, "rw-p")
                && has(maps, end, end + PAGE, "---p")
        };
        // While other threads map memory, a line may be missing.
        let seen = (0..100).any(|_| between(&std::fs::read_to_string("/proc/self/maps").unwrap()));
        assert!(seen, "{}", std::fs::read_to_string("/proc/self/maps").unwrap());
    }
}
