//! Locks that programs have: `omp_lock_t` and `omp_nest_lock_t`, in the program's own variables.
//!
//! Compilers reserve four bytes or more for a lock and eight or more for one that its owner may take again.

use std::ffi::{c_int, c_void};

use sim::Cause;

use super::platform::{LINE, Lock, Word, charged};
use super::tasks::Task;

/// A lock of the program's, whose promise it is that there is one.
fn lock<'a>(address: *mut c_void) -> &'a Lock {
    // SAFETY: see above; every function below hands the promise on.
    unsafe { Lock::at(address) }
}

/// Makes a lock of `N` words in a variable of the program's, whose promise it is that there is room.
fn begin<const N: usize>(address: *mut c_void) {
    // SAFETY: see above.
    unsafe { address.cast::<[u32; N]>().write([0; N]) };
}

/// A lock that its owner may take again: who has it, and how often.
struct Nest<'a> {
    owner: &'a Word,
    count: *mut u32,
}

/// A lock of the program's that nests, whose promise it is that there is one.
fn nest<'a>(address: *mut c_void) -> Nest<'a> {
    // SAFETY: see above; every function below hands the promise on.
    unsafe { Nest { owner: Word::at(address), count: address.cast::<u32>().add(1) } }
}

impl Nest<'_> {
    /// A number that tells the running task from others: such locks belong to tasks.
    fn me() -> u32 {
        // A task is at a place of its own, and places are lines, all within 2^39 bytes.
        (std::ptr::from_ref(Task::current()) as usize / LINE) as u32
    }

    /// The lock behind it, if locks are asked for of a kind of which one word does not tell who has it.
    fn behind(&self) -> Option<&'static Lock> {
        Lock::behind(self.owner)
    }

    /// One more time.
    fn again(&self) -> c_int {
        // SAFETY: only the owner counts.
        unsafe {
            *self.count += 1;
            *self.count as c_int
        }
    }

    fn try_acquire(&self) -> c_int {
        let me = Self::me();
        let mine = self.owner.look() == me
            || match self.behind() {
                Some(lock) => {
                    lock.try_acquire() && {
                        self.owner.set(me);
                        true
                    }
                }
                None => self.owner.change(|owner| (owner == 0).then_some(me)).is_ok(),
            };
        if mine { self.again() } else { 0 }
    }

    fn acquire(&self) {
        if let Some(lock) = self.behind() {
            let me = Self::me();
            if self.owner.look() != me {
                lock.acquire();
                self.owner.set(me);
            }
            self.again();
            return;
        }
        while self.try_acquire() == 0 {
            let owner = self.owner.look();
            if owner != 0 {
                self.owner.wait(owner, Lock::waiting());
            }
        }
    }

    fn release(&self) {
        // SAFETY: only the owner counts.
        let left = unsafe {
            *self.count -= 1;
            *self.count
        };
        if left == 0 {
            self.owner.set(0);
            if let Some(lock) = self.behind() {
                lock.release();
            }
        }
    }
}

/// Nothing is to be done for a lock that goes.
fn drop_nothing(_address: *mut c_void) {}

/// Functions on locks, under their names in C and in Fortran.
macro_rules! locks {
    ($($name:ident $fortran:ident $place:ident -> $result:ty: $act:expr;)*) => {$(
        #[doc = "What OpenMP says of the function of this name."]
        ///
        /// # Safety
        /// The place is a lock of the program's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($place: *mut c_void) -> $result {
            charged(Cause::Lock, || $act)
        }

        #[doc = "The same from Fortran."]
        ///
        /// # Safety
        /// The place is a lock of the program's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $fortran($place: *mut c_void) -> $result {
            // SAFETY: the caller's promise.
            unsafe { $name($place) }
        }
    )*};
}

locks! {
    omp_init_lock omp_init_lock_ place -> (): begin::<1>(place);
    omp_destroy_lock omp_destroy_lock_ place -> (): lock(place).forget();
    omp_set_lock omp_set_lock_ place -> (): lock(place).acquire();
    omp_unset_lock omp_unset_lock_ place -> (): lock(place).release();
    omp_test_lock omp_test_lock_ place -> c_int: c_int::from(lock(place).try_acquire());
    omp_init_nest_lock omp_init_nest_lock_ place -> (): begin::<2>(place);
    omp_destroy_nest_lock omp_destroy_nest_lock_ place -> (): drop_nothing(place);
    omp_set_nest_lock omp_set_nest_lock_ place -> (): nest(place).acquire();
    omp_unset_nest_lock omp_unset_nest_lock_ place -> (): nest(place).release();
    omp_test_nest_lock omp_test_nest_lock_ place -> c_int: nest(place).try_acquire();
}

/// As `omp_init_lock`; what it is used for, is a hint.
///
/// # Safety
/// The place is a lock of the program's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_init_lock_with_hint(place: *mut c_void, _hint: c_int) {
    // SAFETY: the caller's promise.
    unsafe { omp_init_lock(place) };
}

/// As `omp_init_nest_lock`; what it is used for, is a hint.
///
/// # Safety
/// The place is a lock of the program's that nests.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_init_nest_lock_with_hint(place: *mut c_void, _hint: c_int) {
    // SAFETY: the caller's promise.
    unsafe { omp_init_nest_lock(place) };
}

/// As [`omp_init_lock_with_hint`], from Fortran.
///
/// # Safety
/// The place is a lock of the program's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_init_lock_with_hint_(place: *mut c_void, _hint: *const c_int) {
    // SAFETY: the caller's promise.
    unsafe { omp_init_lock(place) };
}

/// As [`omp_init_nest_lock_with_hint`], from Fortran.
///
/// # Safety
/// The place is a lock of the program's that nests.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_init_nest_lock_with_hint_(place: *mut c_void, _hint: *const c_int) {
    // SAFETY: the caller's promise.
    unsafe { omp_init_nest_lock(place) };
}
