//! Threads and processors: making a thread, what is done at its end, what it keeps for itself.

use std::cell::Cell;
use std::ffi::{c_long, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

use crate::runtime::state::current;
use crate::runtime::{keys, processors, thread_calls, threads};

/// A thread that does `body(argument)` and is joined by nobody, with a stack of so many bytes and on one of these processors, if
/// that is wished; whether there is one.
pub fn spawn(
    body: extern "C-unwind" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
    stack: Option<usize>,
    cpus: Option<&[usize]>,
) -> bool {
    let mut handle: libc::pthread_t = 0;
    // SAFETY: the attributes are made before they are used and destroyed after; what starts is given what it takes.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        libc::pthread_attr_init(&raw mut attributes);
        libc::pthread_attr_setdetachstate(&raw mut attributes, libc::PTHREAD_CREATE_DETACHED);
        if let Some(stack) = stack {
            libc::pthread_attr_setstacksize(&raw mut attributes, stack.next_multiple_of(1 << 16));
        }
        if let Some(cpus) = cpus {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            for &cpu in cpus.iter().filter(|cpu| **cpu < libc::CPU_SETSIZE as usize) {
                libc::CPU_SET(cpu, &mut set);
            }
            libc::pthread_attr_setaffinity_np(&raw mut attributes, size_of::<libc::cpu_set_t>(), &raw const set);
        }
        // Without a wish, the attributes would still name the size that this computer's threads have.
        let wished = stack.is_some() || cpus.is_some() || current().is_none();
        let wished = if wished { &raw const attributes } else { std::ptr::null() };
        let made = thread_calls::__wrap_pthread_create(&raw mut handle, wished, body, argument) == 0;
        libc::pthread_attr_destroy(&raw mut attributes);
        if made {
            threads::is_helper(handle);
        }
        made
    }
}

/// Something that is done when threads end which have asked for it.
pub struct AtEnd {
    act: extern "C-unwind" fn(*mut c_void),
    key: OnceLock<libc::pthread_key_t>,
}

impl AtEnd {
    /// `act`.
    pub const fn new(act: extern "C-unwind" fn(*mut c_void)) -> Self {
        Self { act, key: OnceLock::new() }
    }

    /// Has it done with `what` when the running thread ends.
    pub fn ask(&self, what: *const c_void) {
        let key = *self.key.get_or_init(|| {
            let mut key = 0;
            // SAFETY: the key is this one's own, and so are its values.
            unsafe { keys::__wrap_pthread_key_create(&raw mut key, Some(self.act)) };
            key
        });
        // SAFETY: as above.
        unsafe { keys::__wrap_pthread_setspecific(key, what) };
    }
}

/// How many processors the program may use.
pub fn processors() -> u32 {
    u32::try_from(processors::__wrap_sysconf(libc::_SC_NPROCESSORS_ONLN) as c_long).unwrap_or(1).max(1)
}

/// The processor that the thread runs on.
pub fn processor() -> usize {
    usize::try_from(processors::__wrap_sched_getcpu()).unwrap_or(0)
}

thread_local! {
    /// The running thread's pointer in the parallel runtime. Simulated threads have storage of their own, as real ones have.
    static SLOT: Cell<*mut c_void> = const { Cell::new(null_mut()) };
}

/// The pointer that the running thread has kept ([`remember`]); null at first.
pub fn remembered() -> *mut c_void {
    SLOT.with(Cell::get)
}

/// Keeps something for the running thread.
pub fn remember(what: *mut c_void) {
    SLOT.with(|slot| slot.set(what));
}
