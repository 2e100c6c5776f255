//! Wishes of a program for a thread that it makes.

use std::ffi::c_int;

use units::CpuId;

use super::state::run;

unsafe extern "C" {
    fn pthread_attr_getdetachstate(attributes: *const libc::pthread_attr_t, detached: *mut c_int) -> c_int;
}

/// Values of a thread's attributes.
#[derive(Default)]
pub struct Wishes {
    /// Whether nobody will join it.
    pub detached: bool,
    /// Bytes of its stack.
    pub stack: usize,
    /// The processors that it may run on, if that is said.
    pub affinity: Option<Vec<CpuId>>,
}

impl Wishes {
    /// # Safety
    /// The attributes are whole, or none.
    pub unsafe fn of(attributes: *const libc::pthread_attr_t) -> Self {
        let mut wishes = Self { stack: run().request.stack as usize, ..Self::default() };
        if attributes.is_null() {
            return wishes;
        }
        // SAFETY: the caller's promise.
        unsafe {
            let (mut detached, mut stack) = (0, 0);
            pthread_attr_getdetachstate(attributes, &raw mut detached);
            if libc::pthread_attr_getstacksize(attributes, &raw mut stack) == 0 && stack > 0 {
                wishes.stack = stack;
            }
            wishes.detached = detached == libc::PTHREAD_CREATE_DETACHED;
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            if libc::pthread_attr_getaffinity_np(attributes, size_of::<libc::cpu_set_t>(), &raw mut set) == 0 {
                let all = (0..libc::CPU_SETSIZE as usize).all(|cpu| libc::CPU_ISSET(cpu, &set));
                if !all {
                    wishes.affinity = super::processors::read_set(&set);
                }
            }
        }
        wishes
    }
}
