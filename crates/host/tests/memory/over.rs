//! No call maps memory over what is there: where it fails half-way, it leaves a gap that another thread may fill.

use host::HostError;
use host::memory::{Mapping, PageKind};
use units::Bytes;

/// Forbids the calling thread to map at a fixed address, for good: such calls fail with `EPERM`.
fn forbid_fixed_addresses() {
    /// Where `struct seccomp_data` has the number of the call, and the lower half of its fourth argument, on machines that
    /// put lower halves first.
    const NUMBER: u32 = 0;
    const FLAGS: u32 = 16 + 3 * 8;
    let load =
        |at: u32| libc::sock_filter { code: (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, jt: 0, jf: 0, k: at };
    let unless = |test: u32, k: u32, skipped: u8| libc::sock_filter {
        code: (libc::BPF_JMP | test | libc::BPF_K) as u16,
        jt: 0,
        jf: skipped,
        k,
    };
    let answer = |k: u32| libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k };
    let mut filter = [
        load(NUMBER),
        unless(libc::BPF_JEQ, libc::SYS_mmap as u32, 3),
        load(FLAGS),
        unless(libc::BPF_JSET, libc::MAP_FIXED as u32, 1),
        answer(libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        answer(libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the first call takes numbers only; the program of the second and its statements live until it returns.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program), 0);
    }
}

#[test]
fn nothing_is_mapped_over_anything() {
    let inventory = super::inventory();
    let node = super::first_node(&inventory);
    let thread = std::thread::spawn(move || {
        forbid_fixed_addresses();
        let base = Mapping::on_node(&inventory, node, Bytes::from_mib(1), PageKind::Base);
        assert!(base.is_ok(), "{base:?}");
        // A pool that has a page gives it; one that has none is not even asked.
        for pool in &inventory.huge_pages {
            let pooled = Mapping::on_node(&inventory, node, pool.size, PageKind::Huge(pool.size));
            let denied = |error: &HostError| error.to_string().contains("cannot be mapped");
            assert!(!pooled.as_ref().is_err_and(denied), "{pooled:?}");
        }
    });
    thread.join().expect("memory can be had without fixed addresses");
}
