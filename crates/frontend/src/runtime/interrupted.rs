//! A long run: how far it is, and its end when somebody interrupts it. What it has done until then is told.

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::mem::zeroed;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr::null_mut;

use units::Time;

use super::places::place;
use super::state::{Single, current, number, run};
use crate::launch::Progress;

/// State that the signals' handler and the threads share.
struct Asked {
    /// Whether the run is to end, and since when on the host's clock, in seconds.
    ends: bool,
    since: i64,
    /// Whether the run has begun to end: what a thread does for its end is not interrupted.
    heeded: bool,
    /// Where it is told how far the run is: simulated picoseconds and threads; null if nobody wants to know.
    progress: *mut [u64; 2],
}

static ASKED: Single<Asked> = Single::new(Asked { ends: false, since: 0, heeded: false, progress: null_mut() });

/// Seconds after which whoever asks again is told where the program is, and not what it has done.
const PATIENCE: i64 = 2;

const SIGNALS: [c_int; 2] = [libc::SIGINT, libc::SIGTERM];

/// From here on the run ends early when it is interrupted, and tells in a file how far it is.
pub fn watch(progress: Option<&Path>) {
    // SAFETY: the handler touches words of its own alone; the file is as long as what is mapped of it. Whoever asked for the
    // simulation takes the program along when it is killed.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        let mut action: libc::sigaction = zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        // System calls that wait, for the terminal say, return.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        for signal in SIGNALS {
            libc::sigaction(signal, &raw const action, null_mut());
        }
        let file = progress
            .and_then(|path| File::options().read(true).write(true).create(true).truncate(true).open(path).ok());
        let Some(file) = file.filter(|file| file.set_len(Progress::BYTES as u64).is_ok()) else { return };
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        let at = libc::mmap(null_mut(), Progress::BYTES, rights, libc::MAP_SHARED, file.as_raw_fd(), 0);
        if at != libc::MAP_FAILED {
            (*ASKED.get()).progress = at.cast();
        }
    }
}

/// The signals are dealt with so.
fn all(way: libc::sighandler_t) {
    for signal in SIGNALS {
        // SAFETY: one of the system's own ways.
        unsafe { libc::signal(signal, way) };
    }
}

/// The simulation is over: nothing keeps it from being told.
pub fn unwatch() {
    all(libc::SIG_IGN);
}

/// Interruptions are the host's again.
pub fn let_go() {
    all(libc::SIG_DFL);
}

/// Whether somebody has interrupted the run.
pub fn is_asked() -> bool {
    // SAFETY: one thread of the host.
    unsafe { (*ASKED.get()).ends }
}

/// The running thread goes on, at `now`: unless the run is to end.
pub fn heed(now: Time) {
    // SAFETY: one thread of the host; the file is mapped.
    let asked = unsafe { &mut *ASKED.get() };
    // SAFETY: as above.
    if let Some(progress) = unsafe { asked.progress.as_mut() } {
        *progress = [now.0, run().alive as u64];
    }
    // SAFETY: the handler may have set it since.
    if unsafe { (&raw const asked.ends).read_volatile() }
        && !asked.heeded
        && let Some(thread) = current()
    {
        asked.heeded = true;
        super::ending::end_early(thread);
    }
}

extern "C" fn on_signal(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: one thread of the host; the kernel hands over a whole context.
    let (is_late, pc) = unsafe {
        let mut now: libc::timespec = zeroed();
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now);
        let asked = &mut *ASKED.get();
        if !std::mem::replace(&mut asked.ends, true) {
            asked.since = now.tv_sec;
        }
        let registers = &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        (now.tv_sec > asked.since + PATIENCE, registers[libc::REG_RIP as usize] as usize)
    };
    // Asked again, the thread has not come to any reference for so long: it may be in a loop that has none.
    if is_late && current().is_some() {
        run().error.get_or_insert(format!("interrupted in thread {} at {}", number(), place(pc)));
        super::ending::give_up();
    }
}
