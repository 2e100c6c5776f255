//! The program's heap: blocks of the arena, at addresses that depend on nothing but what the program asks for.
//!
//! Small blocks come from pages of their size class, large ones are runs of pages of their own, as in the C library's allocator. In
//! front of each stand its size and the code that asked for it.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;

use super::address::{self, is_ours};
use super::callbacks::{refer_range, sited};
use record::DataObject;

use super::mode::mode;
use super::state::{Mode, Reference, Single, current};

/// Header in front of a block.
#[repr(C)]
struct Header {
    /// Bytes that the program may use; of a block within another, how far that one's begins before it, with [`INNER`] set.
    size: u64,
    /// The code that asked for it.
    site: u64,
}

const HEADER: usize = size_of::<Header>();
const INNER: u64 = 1 << 63;

/// Blocks up to here are from classes, in four steps from one power of two to the next.
const LARGEST_CLASS: usize = 64 << 10;
const CLASSES: usize = 64;
/// Bytes that a class takes from the arena at a time, at least.
const CHUNK: usize = 64 << 10;
const PAGE: usize = 4096;

/// Instructions of a call of the allocator that finds a free block, a round figure.
const ALLOCATION: u32 = 50;

struct Heap {
    /// By class, free blocks that were used before, as a stack linked through their first words.
    free: [usize; CLASSES],
    /// By class, what is left of what was taken from the arena last.
    fresh: [(usize, usize); CLASSES],
    /// Free runs of pages, by size and address.
    runs: BTreeMap<(usize, usize), ()>,
    /// Blocks that were ever handed out, if time lost is told by block: address, bytes, and the code that asked.
    told: Vec<(usize, usize, usize)>,
    tells: bool,
}

static HEAP: Single<Heap> = Single::new(Heap {
    free: [0; CLASSES],
    fresh: [(0, 0); CLASSES],
    runs: BTreeMap::new(),
    told: Vec::new(),
    tells: false,
});

/// The class of blocks of `bytes`, header included, and how many bytes those have.
fn class_of(bytes: usize) -> (usize, usize) {
    let bytes = bytes.max(32);
    let power = (bytes - 1).ilog2();
    let step = (1usize << power) / 4;
    let step = step.max(16);
    let rounded = bytes.next_multiple_of(step);
    let quarter = (rounded - (1 << power)).div_ceil(step);
    ((power as usize - 4) * 4 + quarter - 1, rounded)
}

impl Heap {
    /// A block of at least `bytes` for the program, and whether it is all zero.
    fn take(&mut self, bytes: usize, site: usize) -> Option<(usize, bool)> {
        let whole = bytes.checked_add(HEADER)?;
        let (start, size, fresh) = if whole <= LARGEST_CLASS {
            let (class, size) = class_of(whole);
            let (start, fresh) = self.take_class(class, size)?;
            (start, size, fresh)
        } else {
            let size = whole.checked_next_multiple_of(PAGE)?;
            let (start, fresh) = self.take_run(size)?;
            (start, size, fresh)
        };
        if self.tells {
            self.told.push((start + HEADER, bytes, site));
        }
        // SAFETY: the block is the arena's, and nobody's.
        unsafe { *(start as *mut Header) = Header { size: (size - HEADER) as u64, site: site as u64 } };
        Some((start + HEADER, fresh))
    }

    fn take_class(&mut self, class: usize, size: usize) -> Option<(usize, bool)> {
        let block = self.free[class];
        if block != 0 {
            // SAFETY: free blocks hold the address of the next.
            self.free[class] = unsafe { *((block + HEADER) as *const usize) };
            return Some((block, false));
        }
        let (at, left) = self.fresh[class];
        let (at, left) = if left >= size {
            (at, left)
        } else {
            let chunk = CHUNK.max(size * 8).next_multiple_of(PAGE);
            (address::take(chunk, PAGE)?, chunk)
        };
        self.fresh[class] = (at + size, left - size);
        Some((at, true))
    }

    /// A run of pages: the shortest that is free and long enough, the first of them; what is left over stays free.
    fn take_run(&mut self, size: usize) -> Option<(usize, bool)> {
        let found = self.runs.range((size, 0)..).next().map(|(&run, ())| run);
        let Some((length, at)) = found else { return Some((address::take(size, PAGE)?, true)) };
        self.runs.remove(&(length, at));
        if length > size {
            self.runs.insert((length - size, at + size), ());
        }
        Some((at, false))
    }

    fn give(&mut self, block: usize) {
        let start = start_of(block) - HEADER;
        // SAFETY: a block of this heap has a header.
        let size = unsafe { (*(start as *const Header)).size } as usize + HEADER;
        if size <= LARGEST_CLASS {
            let (class, _) = class_of(size);
            // SAFETY: the block is free from here on.
            unsafe { *((start + HEADER) as *mut usize) = self.free[class] };
            self.free[class] = start;
        } else {
            self.runs.insert((size, start), ());
        }
    }
}

/// From here on, what is handed out is noted.
pub fn note_blocks() {
    heap().tells = true;
}

/// The blocks that the program asked for, in that order.
pub fn blocks() -> impl Iterator<Item = DataObject> {
    heap().told.iter().map(|&(start, bytes, site)| DataObject {
        name: "heap".to_owned(),
        start: start as u64,
        bytes: bytes as u64,
        site: Some(site as u64),
    })
}

/// Where the block begins that was handed out as `block`.
fn start_of(block: usize) -> usize {
    // SAFETY: in front of every block stands a header.
    let size = unsafe { (*((block - HEADER) as *const Header)).size };
    if size & INNER != 0 { block - (size & !INNER) as usize } else { block }
}

/// Bytes that the program may use of a block.
fn usable(block: usize) -> usize {
    let start = start_of(block);
    // SAFETY: as above.
    (unsafe { (*((start - HEADER) as *const Header)).size }) as usize - (block - start)
}

/// The heap.
fn heap() -> &'static mut Heap {
    // SAFETY: one thread of the host; nobody keeps the reference while another may run.
    unsafe { &mut *HEAP.get() }
}

fn charge() {
    if let Some(thread) = current() {
        thread.instructions(ALLOCATION);
        in_turn(thread);
    }
}

/// Which thread gets which block is decided by the time at which they ask, not by who has run ahead.
fn in_turn(thread: &mut sim::Thread<'static>) {
    if super::state::run().alive > 1 {
        thread.order();
    }
}

/// A block for the program, and whether it is all zero.
fn allocate(bytes: usize, site: usize) -> Option<(usize, bool)> {
    charge();
    heap().take(bytes, site)
}

fn fail() -> *mut c_void {
    // SAFETY: it is the running thread's.
    unsafe { *libc::__errno_location() = libc::ENOMEM };
    null_mut()
}

extern "C" fn malloc(bytes: usize, site: usize) -> *mut c_void {
    if mode() == Mode::Native {
        // SAFETY: nothing is handed over.
        return unsafe { libc::malloc(bytes) };
    }
    allocate(bytes, site).map_or_else(fail, |(block, _)| block as *mut c_void)
}

extern "C" fn calloc(count: usize, bytes: usize, site: usize) -> *mut c_void {
    if mode() == Mode::Native {
        // SAFETY: nothing is handed over.
        return unsafe { libc::calloc(count, bytes) };
    }
    let Some((block, zero)) = count.checked_mul(bytes).and_then(|bytes| allocate(bytes, site)) else {
        return fail();
    };
    if !zero {
        // SAFETY: the block is that long.
        unsafe { (block as *mut u8).write_bytes(0, count * bytes) };
        refer_range(block, count * bytes, Reference::Store, site);
    }
    block as *mut c_void
}

extern "C" fn realloc(old: *mut c_void, bytes: usize, site: usize) -> *mut c_void {
    let at = old as usize;
    if mode() == Mode::Native || (!old.is_null() && !is_ours(at)) {
        // SAFETY: the block is the C library's.
        return unsafe { libc::realloc(old, bytes) };
    }
    if old.is_null() {
        return malloc(bytes, site);
    }
    if bytes == 0 {
        free(old);
        return null_mut();
    }
    let length = usable(at);
    if bytes <= length && bytes * 2 >= length {
        return old;
    }
    let Some((block, _)) = allocate(bytes, site) else { return fail() };
    let kept = length.min(bytes);
    // SAFETY: both blocks are that long, and they are two.
    unsafe { (block as *mut u8).copy_from_nonoverlapping(old.cast(), kept) };
    refer_range(at, kept, Reference::Load, site);
    refer_range(block, kept, Reference::Store, site);
    free(old);
    block as *mut c_void
}

extern "C" fn free(block: *mut c_void) {
    if is_ours(block as usize) {
        charge();
        heap().give(block as usize);
    } else {
        // SAFETY: the block is the C library's, or none.
        unsafe { libc::free(block) };
    }
}

/// A block at a multiple of `align`.
fn allocate_aligned(align: usize, bytes: usize, site: usize) -> Option<usize> {
    if align <= HEADER {
        return Some(allocate(bytes, site)?.0);
    }
    let (block, _) = allocate(bytes.checked_add(align)?, site)?;
    let inner = block.next_multiple_of(align);
    if inner != block {
        // SAFETY: both are multiples of a header's length, so that one fits between; the block is longer.
        unsafe {
            *((inner - HEADER) as *mut Header) = Header { size: INNER | (inner - block) as u64, site: site as u64 };
        }
    }
    Some(inner)
}

pub extern "C" fn memalign(align: usize, bytes: usize, site: usize) -> *mut c_void {
    if mode() == Mode::Native {
        // SAFETY: nothing is handed over.
        return unsafe { libc::memalign(align, bytes) };
    }
    let align = align.next_power_of_two();
    allocate_aligned(align, bytes, site).map_or_else(fail, |block| block as *mut c_void)
}

extern "C" fn posix_memalign(place: *mut *mut c_void, align: usize, bytes: usize, site: usize) -> c_int {
    if mode() == Mode::Native {
        // SAFETY: the caller's place.
        return unsafe { libc::posix_memalign(place, align, bytes) };
    }
    if !align.is_power_of_two() || !align.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    match allocate_aligned(align, bytes, site) {
        None => libc::ENOMEM,
        Some(block) => {
            // SAFETY: the caller's place.
            unsafe { *place = block as *mut c_void };
            0
        }
    }
}

extern "C" fn strdup(string: *const c_char, most: usize, site: usize) -> *mut c_char {
    // SAFETY: the caller's string, at least so far.
    unsafe {
        let length = libc::strnlen(string, most);
        let copy = malloc(length + 1, site).cast::<c_char>();
        if !copy.is_null() {
            copy.copy_from_nonoverlapping(string, length);
            *copy.add(length) = 0;
            refer_range(string as usize, length + 1, Reference::Load, site);
            refer_range(copy as usize, length + 1, Reference::Store, site);
        }
        copy
    }
}

extern "C" fn strndup(string: *const c_char, most: usize, site: usize) -> *mut c_char {
    strdup(string, most, site)
}

extern "C" fn strdup_whole(string: *const c_char, site: usize) -> *mut c_char {
    strdup(string, usize::MAX, site)
}

extern "C" fn aligned_alloc(align: usize, bytes: usize, site: usize) -> *mut c_void {
    memalign(align, bytes, site)
}

extern "C" fn valloc(bytes: usize, site: usize) -> *mut c_void {
    memalign(PAGE, bytes, site)
}

extern "C" fn pvalloc(bytes: usize, site: usize) -> *mut c_void {
    memalign(PAGE, bytes.next_multiple_of(PAGE), site)
}

extern "C" fn reallocarray(old: *mut c_void, count: usize, bytes: usize, site: usize) -> *mut c_void {
    match count.checked_mul(bytes) {
        Some(bytes) => realloc(old, bytes, site),
        None => fail(),
    }
}

sited! {
    "rsi": __wrap_malloc malloc __wrap_valloc valloc __wrap_pvalloc pvalloc __wrap_strdup strdup_whole kmp_malloc malloc;
    "rdx": __wrap_calloc calloc __wrap_realloc realloc __wrap_memalign memalign __wrap_aligned_alloc aligned_alloc
        __wrap_strndup strndup kmp_calloc calloc kmp_realloc realloc;
    "rcx": __wrap_posix_memalign posix_memalign __wrap_reallocarray reallocarray;
}

/// Gives a block back.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_free(block: *mut c_void) {
    free(block);
}

/// Bytes that the program may use of a block.
///
/// # Safety
/// The block is one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_malloc_usable_size(block: *mut c_void) -> usize {
    if is_ours(block as usize) {
        return usable(block as usize);
    }
    // SAFETY: the block is the C library's, or none.
    unsafe { libc::malloc_usable_size(block) }
}

/// Maps memory: of nobody, or of a file.
///
/// # Safety
/// As of `mmap`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_mmap(
    wish: *mut c_void,
    length: usize,
    rights: c_int,
    flags: c_int,
    file: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    let fixed = flags & (libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE) != 0;
    if mode() == Mode::Native || fixed || length == 0 {
        // SAFETY: the caller's promise.
        return unsafe { libc::mmap(wish, length, rights, flags, file, offset) };
    }
    if let Some(thread) = current() {
        super::clock::system_call(thread);
        in_turn(thread);
    }
    // A run may have been used before, so it is mapped anew, which makes it zero.
    let Some((run, _)) = heap().take_run(length.next_multiple_of(PAGE)) else {
        fail();
        return libc::MAP_FAILED;
    };
    // SAFETY: the run is the caller's from here on, and nobody else's.
    unsafe {
        libc::mmap(run as *mut c_void, length, rights, flags | libc::MAP_FIXED | libc::MAP_NORESERVE, file, offset)
    }
}

/// The same with the name that it has where files may be large.
///
/// # Safety
/// As of `mmap`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_mmap64(
    wish: *mut c_void,
    length: usize,
    rights: c_int,
    flags: c_int,
    file: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    // SAFETY: the caller's promise.
    unsafe { __wrap_mmap(wish, length, rights, flags, file, offset) }
}

/// Gives mapped memory back.
///
/// # Safety
/// As of `munmap`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_munmap(at: *mut c_void, length: usize) -> c_int {
    if !is_ours(at as usize) {
        // SAFETY: the caller's promise.
        return unsafe { libc::munmap(at, length) };
    }
    let length = length.next_multiple_of(PAGE);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
    // SAFETY: the pages are the arena's again, and hold nothing.
    unsafe { libc::mmap(at, length, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    heap().runs.insert((length, at as usize), ());
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_tight_and_in_order() {
        let mut last = (usize::MAX, 0);
        for bytes in 1..=LARGEST_CLASS {
            let (class, size) = class_of(bytes);
            assert!(size >= bytes && size.is_multiple_of(16) && class < CLASSES, "{bytes}: class {class} of {size}");
            assert!(size < bytes.max(32) + (bytes / 4).max(16), "{bytes} in {size}");
            assert!(last.0 == class && last.1 == size || size > last.1 && class != last.0, "{bytes}: {class} {last:?}");
            last = (class, size);
            assert_eq!(class_of(size), (class, size), "a block given back is of the class it was of");
        }
    }
}
