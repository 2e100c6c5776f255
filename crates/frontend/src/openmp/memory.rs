//! Allocators (OpenMP 5.1, 2.13): memory that programs ask for by what it is to be like. All of it comes from the program's heap;
//! alignment, the size of a pool and what is done when there is nothing left are as was asked, and what else is only a wish.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use super::platform::{copies, keep};
use crate::runtime::callbacks::refer_range;
use crate::runtime::state::Reference;
use crate::runtime::{ending, heap};

/// A handle: a number of the standard's, or the address of an [`Allocator`].
type Handle = usize;
const NULL: Handle = 0;
const DEFAULT: Handle = 1;
/// The last of the standard's own.
const LAST: Handle = 8;

/// A trait of an allocator: a key and a value.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Trait {
    key: c_int,
    value: usize,
}

/// The fallback when there is no memory left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fallback {
    Default,
    Null,
    Abort,
    Allocator(Handle),
}

/// An allocator that a program has made.
#[derive(Debug)]
struct Allocator {
    alignment: usize,
    /// The most bytes that it has at a time.
    pool: usize,
    fallback: Fallback,
}

impl Allocator {
    const PLAIN: Self = Self { alignment: 1, pool: usize::MAX, fallback: Fallback::Null };

    /// As the traits say; none for what the standard does not know.
    fn of(traits: &[Trait]) -> Option<Self> {
        let mut made = Self { fallback: Fallback::Default, ..Self::PLAIN };
        let mut other = NULL;
        let mut wishes_other = false;
        for &Trait { key, value } in traits {
            match (key, value) {
                (_, usize::MAX) => {}
                (2, alignment) if alignment.is_power_of_two() => made.alignment = alignment,
                (4, bytes) if bytes > 0 => made.pool = bytes,
                (5, 11) => made.fallback = Fallback::Default,
                (5, 12) => made.fallback = Fallback::Null,
                (5, 13) => made.fallback = Fallback::Abort,
                (5, 14) => wishes_other = true,
                (6, handle) => other = handle,
                // Contention, access, pinning and the spread over nodes are only wishes.
                (1, 3..=6) | (3, 7..=10) | (7, 0 | 1) | (8, 15..=18) => {}
                _ => return None,
            }
        }
        match (wishes_other, other) {
            (true, NULL) => return None,
            (true, handle) => made.fallback = Fallback::Allocator(handle),
            _ => {}
        }
        Some(made)
    }
}

/// Blocks of allocators with pools, and the bytes of each pool in use now.
#[derive(Default)]
struct Pools {
    blocks: HashMap<usize, (Handle, usize)>,
    used: HashMap<Handle, usize>,
    /// The allocator of who names none.
    default: Handle,
}

/// Held for no longer than it takes to look something up: allocating lets other simulated threads run.
fn pools() -> MutexGuard<'static, Pools> {
    static POOLS: LazyLock<Mutex<Pools>> = LazyLock::new(Mutex::default);
    // A thread that panics ends the program.
    POOLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The allocator that is meant by a handle.
fn named(handle: Handle) -> (Handle, &'static Allocator) {
    static PLAIN: Allocator = Allocator::PLAIN;
    let handle = if handle == NULL { pools().default } else { handle };
    // SAFETY: what is no number of the standard's is what `omp_init_allocator` has returned, which is kept for ever.
    if handle <= LAST { (handle, &PLAIN) } else { (handle, unsafe { &*(handle as *const Allocator) }) }
}

/// A block at a multiple of `alignment`; null for one of no bytes, or if there is no memory left.
fn allocate(alignment: usize, bytes: usize, handle: Handle) -> *mut c_void {
    if bytes == 0 {
        return null_mut();
    }
    let (handle, allocator) = named(handle);
    let limited = allocator.pool != usize::MAX;
    if limited {
        let mut pools = pools();
        let used = pools.used.entry(handle).or_default();
        let after = used.saturating_add(bytes);
        if after > allocator.pool {
            drop(pools);
            return fall_back(alignment, bytes, allocator);
        }
        *used = after;
    }
    let block = heap::memalign(alignment.max(allocator.alignment).max(size_of::<usize>()), bytes, 0);
    if block.is_null() {
        return fall_back(alignment, bytes, allocator);
    }
    if limited {
        pools().blocks.insert(block as usize, (handle, bytes));
    }
    block
}

fn fall_back(alignment: usize, bytes: usize, allocator: &Allocator) -> *mut c_void {
    match allocator.fallback {
        Fallback::Default => allocate(alignment, bytes, DEFAULT),
        Fallback::Null => null_mut(),
        Fallback::Allocator(other) => allocate(alignment, bytes, other),
        Fallback::Abort => ending::cannot_go_on(&format!(
            "an OpenMP allocator has no memory left for {bytes} bytes, and is to end the program then"
        )),
    }
}

/// Makes an allocator; none for traits that are not the standard's.
///
/// # Safety
/// There are so many traits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_init_allocator(_space: usize, count: c_int, traits: *const Trait) -> Handle {
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: the caller's promise.
    let traits = if count == 0 { &[][..] } else { unsafe { std::slice::from_raw_parts(traits, count) } };
    Allocator::of(traits).map_or(NULL, |made| std::ptr::from_ref(keep(made)) as Handle)
}

/// Nobody uses the allocator any more: its few bytes stay.
#[unsafe(no_mangle)]
pub extern "C" fn omp_destroy_allocator(_allocator: Handle) {}

/// The allocator of who names none.
#[unsafe(no_mangle)]
pub extern "C" fn omp_set_default_allocator(allocator: Handle) {
    pools().default = allocator;
}

/// The allocator that was set.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_default_allocator() -> Handle {
    match pools().default {
        NULL => DEFAULT,
        set => set,
    }
}

/// A block.
#[unsafe(no_mangle)]
pub extern "C" fn omp_alloc(bytes: usize, allocator: Handle) -> *mut c_void {
    allocate(1, bytes, allocator)
}

/// A block at a multiple of `alignment`.
#[unsafe(no_mangle)]
pub extern "C" fn omp_aligned_alloc(alignment: usize, bytes: usize, allocator: Handle) -> *mut c_void {
    if alignment.is_power_of_two() && bytes.is_multiple_of(alignment) {
        allocate(alignment, bytes, allocator)
    } else {
        null_mut()
    }
}

/// A block of zeros.
#[unsafe(no_mangle)]
pub extern "C" fn omp_calloc(count: usize, bytes: usize, allocator: Handle) -> *mut c_void {
    omp_aligned_calloc(1, count, bytes, allocator)
}

/// A block of zeros at a multiple of `alignment`.
#[unsafe(no_mangle)]
pub extern "C" fn omp_aligned_calloc(alignment: usize, count: usize, bytes: usize, allocator: Handle) -> *mut c_void {
    let Some(bytes) = count.checked_mul(bytes) else { return null_mut() };
    let block = omp_aligned_alloc(alignment, bytes, allocator);
    if !block.is_null() {
        // SAFETY: it is so long.
        unsafe { block.cast::<u8>().write_bytes(0, bytes) };
        refer_range(block as usize, bytes, Reference::Store, 0);
    }
    block
}

/// A block of another length, with what the old one has.
///
/// # Safety
/// The old block came from here, or is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_realloc(
    old: *mut c_void,
    bytes: usize,
    allocator: Handle,
    of_the_old: Handle,
) -> *mut c_void {
    let block = allocate(1, bytes, allocator);
    if !old.is_null() && (bytes == 0 || !block.is_null()) {
        // SAFETY: the caller's promise; both blocks are so long, and they are two.
        unsafe {
            let kept = heap::__wrap_malloc_usable_size(old).min(bytes);
            if kept > 0 {
                copies(old, block, kept);
                block.cast::<u8>().copy_from_nonoverlapping(old.cast(), kept);
            }
        }
        omp_free(old, of_the_old);
    }
    block
}

/// Gives a block back.
#[unsafe(no_mangle)]
pub extern "C" fn omp_free(block: *mut c_void, _allocator: Handle) {
    {
        let mut pools = pools();
        if let Some((handle, bytes)) = pools.blocks.remove(&(block as usize)) {
            *pools.used.entry(handle).or_default() -= bytes;
        }
    }
    heap::__wrap_free(block);
}

/// Memory of a variable with `allocate(...)`, as gcc asks for it.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_alloc(alignment: usize, bytes: usize, allocator: Handle) -> *mut c_void {
    allocate(alignment.max(1).next_power_of_two(), bytes, allocator)
}

/// It is given back.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_free(block: *mut c_void, allocator: Handle) {
    omp_free(block, allocator);
}

/// The same, as clang asks for it.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_alloc(_number: c_int, bytes: usize, allocator: Handle) -> *mut c_void {
    allocate(1, bytes, allocator)
}

/// At a multiple of `alignment`.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_aligned_alloc(
    _number: c_int,
    alignment: usize,
    bytes: usize,
    allocator: Handle,
) -> *mut c_void {
    allocate(alignment.max(1).next_power_of_two(), bytes, allocator)
}

/// It is given back.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_free(_number: c_int, block: *mut c_void, allocator: Handle) {
    omp_free(block, allocator);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(traits: &[(c_int, usize)]) -> Option<Allocator> {
        let traits: Vec<_> = traits.iter().map(|&(key, value)| Trait { key, value }).collect();
        Allocator::of(&traits)
    }

    #[test]
    fn traits_are_understood_or_refused() {
        let plain = made(&[(2, usize::MAX), (7, 1), (8, 18)]).expect("wishes");
        assert_eq!((plain.alignment, plain.pool, plain.fallback), (1, usize::MAX, Fallback::Default));
        let other = made(&[(2, 256), (4, 4096), (6, 77), (5, 14)]).expect("another");
        assert_eq!((other.alignment, other.pool, other.fallback), (256, 4096, Fallback::Allocator(77)));
        for wrong in [[(2, 24)], [(4, 0)], [(5, 14)], [(9, 1)], [(3, 2)]] {
            assert!(made(&wrong).is_none(), "{wrong:?}");
        }
    }

    #[test]
    fn pools_have_no_more_than_their_size() {
        // SAFETY: there are so many traits, and blocks are given back once.
        unsafe {
            let traits = [Trait { key: 4, value: 1000 }, Trait { key: 5, value: 12 }, Trait { key: 2, value: 128 }];
            let small = omp_init_allocator(0, 3, traits.as_ptr());
            let first = omp_alloc(600, small);
            assert!(!first.is_null() && (first as usize).is_multiple_of(128));
            assert!(omp_alloc(600, small).is_null());
            first.cast::<u8>().write(7);
            let more = omp_realloc(first, 300, DEFAULT, small);
            assert_eq!(more.cast::<u8>().read(), 7);
            let second = omp_alloc(1000, small);
            assert!(!second.is_null());
            omp_free(second, small);
            omp_free(more, NULL);
            let over = [Trait { key: 4, value: 10 }, Trait { key: 5, value: 14 }, Trait { key: 6, value: small }];
            let over = omp_init_allocator(0, 3, over.as_ptr());
            let third = omp_calloc(10, 50, over);
            assert!(!third.is_null() && omp_alloc(900, over).is_null(), "the rest of the other pool is too small");
            omp_free(third, over);
            assert!(omp_alloc(0, DEFAULT).is_null());
        }
    }
}
