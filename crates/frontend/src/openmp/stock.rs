//! Memory for tasks: free lists of each thread's own, as `__kmp_fast_allocate` of LLVM's runtime has them
//! (openmp/runtime/src/kmp_alloc.cpp).
//!
//! A thread takes blocks from pages that it is the first to touch, so that they lie in its node's memory. A block that another
//! thread frees goes back to its owner, several at a time: each return is an atomic operation on a word of the owner's.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::null_mut;

use super::platform::{self, Counter, LINE, Line, instructions, keep, loads, pages, stores};
use super::team::member;

/// Bytes of the blocks of each list, headers included: 2, 4, 16 and 64 lines, as in LLVM's runtime. Larger blocks come from the
/// heap.
const SIZES: [usize; 4] = [2 * LINE, 4 * LINE, 16 * LINE, 64 * LINE];

/// Blocks of another thread that are returned together (`KMP_FREE_LIST_LIMIT`).
const BATCH: u32 = 16;

/// Bytes that are taken from the heap at a time, a round figure.
const CHUNK: usize = 32 << 10;

/// Instructions that take a block from a free list, or put it there: a round figure.
const CALL: u32 = 10;

/// The header of a block.
#[repr(C, align(16))]
struct Block {
    /// The thread whose lists it belongs to; null for a block of the heap.
    owner: *const Stock,
    /// The number of its list.
    class: usize,
    /// The next block of the list that it is in.
    next: Cell<*mut Block>,
}

/// Blocks of one thread that another has freed and not returned yet.
#[derive(Clone, Copy)]
struct Batch {
    owner: *const Stock,
    first: *mut Block,
    last: *mut Block,
    count: u32,
}

/// The lists of a thread for blocks of one size.
struct List {
    /// Free blocks, used by the owner alone.
    free: Cell<*mut Block>,
    /// Blocks of another thread.
    away: Cell<Batch>,
    /// Free blocks that other threads have returned: the address of the first.
    returned: Line<Counter>,
}

/// The memory of a thread.
pub struct Stock {
    lists: [List; SIZES.len()],
    /// The part of the latest chunk that has not been used: its address and its length.
    fresh: Cell<(usize, usize)>,
}

/// The number of the list for blocks of `bytes`, header included.
fn class_of(bytes: usize) -> Option<usize> {
    SIZES.iter().position(|&size| bytes <= size)
}

/// A block of `bytes` for the running thread.
///
/// # Panics
/// When there is no memory left: a task cannot be done without.
pub fn allocate(bytes: usize) -> *mut c_void {
    instructions(CALL);
    let bytes = bytes + size_of::<Block>();
    let block = match class_of(bytes) {
        Some(class) => member().stock().take(class),
        None => {
            let block: *mut Block = platform::allocate(bytes).cast();
            assert!(!block.is_null(), "no memory for {bytes} bytes of an OpenMP task");
            // SAFETY: the block is long enough and nobody else's.
            unsafe { block.write(Block { owner: std::ptr::null(), class: SIZES.len(), next: Cell::new(null_mut()) }) };
            block
        }
    };
    // SAFETY: the block has more bytes than its header.
    unsafe { block.add(1).cast() }
}

/// Frees a block, on whichever thread.
///
/// # Safety
/// It came from [`allocate`], and nobody uses it any more.
pub unsafe fn free(place: *mut c_void) {
    instructions(CALL);
    // SAFETY: the caller's promise: in front of every block stands a header.
    let (block, header) = unsafe {
        let block = place.cast::<Block>().sub(1);
        (block, &*block)
    };
    loads(&header.owner);
    if header.owner.is_null() {
        // SAFETY: blocks of no thread came from the heap.
        return unsafe { platform::free(block.cast()) };
    }
    let stock = member().stock();
    let list = &stock.lists[header.class];
    if std::ptr::eq(header.owner, stock) {
        list.put(header, block);
    } else {
        list.put_away(header, block);
    }
}

impl Stock {
    /// No memory yet.
    pub fn new() -> &'static Self {
        let nothing = Batch { owner: std::ptr::null(), first: null_mut(), last: null_mut(), count: 0 };
        let list = || List { free: Cell::new(null_mut()), away: Cell::new(nothing), returned: Line::default() };
        keep(Self { lists: std::array::from_fn(|_| list()), fresh: Cell::new((0, 0)) })
    }

    /// A block of a list for the thread itself.
    fn take(&self, class: usize) -> *mut Block {
        let list = &self.lists[class];
        loads(&list.free);
        if list.free.get().is_null() && list.returned.look() != 0 {
            let first = list.returned.change(|_| Some(0)).unwrap_or_else(|first| first);
            list.free.set(first as *mut Block);
        }
        let block = list.free.get();
        // SAFETY: null, or a free block, which is nobody else's.
        if let Some(header) = unsafe { block.as_ref() } {
            loads(&header.next);
            list.free.set(header.next.get());
            stores(&list.free);
            return block;
        }
        let block: *mut Block = self.carve(SIZES[class]).cast();
        // SAFETY: the block is long enough and nobody else's.
        unsafe {
            block.write(Block { owner: self, class, next: Cell::new(null_mut()) });
            stores(&*block);
        }
        block
    }

    /// Bytes at a multiple of [`LINE`], which are a multiple of it, too.
    fn carve(&self, bytes: usize) -> *mut c_void {
        let (at, left) = self.fresh.get();
        let (at, left) = if left >= bytes { (at, left) } else { (pages(CHUNK) as usize, CHUNK) };
        self.fresh.set((at + bytes, left - bytes));
        at as *mut c_void
    }

    /// Keeps a value for ever in the thread's own memory.
    pub fn keep<T>(&self, value: T) -> &'static T {
        const { assert!(align_of::<T>() <= LINE && size_of::<T>() <= CHUNK) };
        let place: *mut T = self.carve(size_of::<T>().next_multiple_of(LINE)).cast();
        // SAFETY: the bytes are enough, aligned, and nobody else's.
        unsafe {
            place.write(value);
            &*place
        }
    }
}

impl List {
    /// Frees a block of the thread's own.
    fn put(&self, header: &Block, block: *mut Block) {
        header.next.set(self.free.get());
        stores(&header.next);
        self.free.set(block);
        stores(&self.free);
    }

    /// Frees a block of another thread: it joins the batch of that thread's blocks, or a new one if that is full or another's.
    fn put_away(&self, header: &Block, block: *mut Block) {
        let batch = self.away.get();
        let joins = std::ptr::eq(batch.owner, header.owner) && batch.count < BATCH;
        if !joins && batch.count > 0 {
            batch.give_back(header.class);
        }
        header.next.set(if joins { batch.first } else { null_mut() });
        stores(&header.next);
        let (last, count) = if joins { (batch.last, batch.count + 1) } else { (block, 1) };
        self.away.set(Batch { owner: header.owner, first: block, last, count });
        stores(&self.away);
    }
}

impl Batch {
    /// Returns the blocks to the thread that they belong to.
    fn give_back(self, class: usize) {
        // SAFETY: threads' memory is kept for ever, and the blocks are nobody's until they are returned.
        let (owner, last) = unsafe { (&*self.owner, &*self.last) };
        stores(&last.next);
        let returned = &owner.lists[class].returned;
        let _before = returned.change(|first| {
            last.next.set(first as *mut Block);
            Some(self.first as u64)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_blocks_are_used_again_by_their_owner() {
        let first = allocate(100);
        // SAFETY: each block is freed once.
        unsafe {
            free(first);
            assert_eq!(allocate(90), first, "the latest that was freed");
            free(first);
            // Another thread returns full batches, and keeps the rest.
            let blocks: Vec<usize> = (0..2 * BATCH + 1).map(|_| allocate(100) as usize).collect();
            let frees = blocks.clone();
            let other = std::thread::spawn(move || frees.into_iter().for_each(|block| free(block as *mut c_void)));
            other.join().expect("it frees");
            let again: Vec<usize> = (0..2 * BATCH).map(|_| allocate(100) as usize).collect();
            assert!(again.iter().all(|block| blocks.contains(block)), "{again:x?} of {blocks:x?}");
            assert!(!blocks.contains(&(allocate(100) as usize)), "the last is still away");
        }
    }

    #[test]
    fn large_blocks_come_from_the_heap() {
        assert_eq!((class_of(1), class_of(2 * LINE), class_of(2 * LINE + 1)), (Some(0), Some(0), Some(1)));
        assert_eq!(class_of(64 * LINE + 1), None);
        let block = allocate(1 << 20);
        // SAFETY: the block is so long, and freed once.
        unsafe {
            block.cast::<u8>().write_bytes(1, 1 << 20);
            free(block);
        }
    }
}
