//! Pages that have been placed move to other nodes: `move_pages`, `migrate_pages`, and `mbind` where it asks for that.
//!
//! The operating system of the simulated machine has the page copied, and processors that knew where it was learn better, as where it
//! decides so by itself. Whoever asks waits until it is there. Machines whose nodes move no pages move none; that is noted.

use std::ffi::{c_int, c_long, c_void};

use sim::{Cause, Thread};
use units::{Duration, NodeId, VirtualAddr};

use super::address::{self, locate, page};
use super::clock::park;
use super::futex_call::failed;
use super::numa::nodes;
use super::state::{current, note, run};

/// How often a thread looks whether a page is there, and how often at most: a page takes some microseconds.
const LOOK: Duration = Duration(1_000_000);
const LOOKS: usize = 10_000;

/// Moves the page of `at` to `node`. Where it is then, or an error number of the kernel's.
fn move_page(thread: &mut Thread<'static>, at: VirtualAddr, node: NodeId) -> Result<NodeId, c_int> {
    let home = thread.home_of(at).ok_or(libc::ENOENT)?;
    if home == node {
        return Ok(home);
    }
    if !run().pages_move {
        note("page migration requested by the program is ignored: this machine does not migrate pages".to_owned());
        return Err(libc::EBUSY);
    }
    thread.charged_to(Cause::System, |thread| {
        thread.move_page(at, node);
        for _ in 0..LOOKS {
            if thread.home_of(at) == Some(node) {
                return Ok(node);
            }
            let until = thread.now() + LOOK;
            park(thread, Some(until));
        }
        Err(libc::EBUSY)
    })
}

/// Has the pages of a range that have been placed move to `nodes` in turn.
pub fn move_range(start: usize, bytes: usize, nodes: &[NodeId]) {
    let (Some(thread), false) = (current(), nodes.is_empty()) else { return };
    let page = page();
    for (number, at) in (start / page..(start + bytes).div_ceil(page)).enumerate() {
        if let Some(at) = locate(at * page) {
            // A page that cannot move stays: the caller learns it by asking where the page is, as from the kernel.
            let _moved = move_page(thread, at, nodes[number % nodes.len()]);
        }
    }
}

/// Where pages are; or moves them to where they are wanted, and tells by page where it is then or why it is not there.
///
/// # Safety
/// As of `move_pages`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_move_pages(
    process: c_int,
    count: usize,
    pages: *const *mut c_void,
    wishes: *const c_int,
    status: *mut c_int,
    flags: c_int,
) -> c_long {
    let Some(thread) = current() else {
        // SAFETY: the caller's promise.
        return unsafe { libc::syscall(libc::SYS_move_pages, process, count, pages, wishes, status, flags) };
    };
    super::clock::system_call(thread);
    for number in 0..count {
        // SAFETY: the caller's promise.
        let (at, wish) = unsafe { (*pages.add(number) as usize, wishes.as_ref().map(|_| *wishes.add(number))) };
        let there = locate(at).ok_or(libc::EFAULT);
        let found = match wish {
            None => there.and_then(|at| thread.home_of(at).ok_or(libc::ENOENT)),
            Some(node) => match u16::try_from(node).ok().filter(|&node| usize::from(node) < run().nodes) {
                Some(node) => there.and_then(|at| move_page(thread, at, NodeId(node))),
                None => return failed(libc::ENODEV),
            },
        };
        // SAFETY: the caller's promise.
        unsafe { *status.add(number) = found.map_or_else(|code| -code, |node| c_int::from(node.0)) };
    }
    0
}

/// Moves all pages of the program that are on the nodes of one mask to those of another, the first to the first and so on. Returns how
/// many could not move.
///
/// # Safety
/// As of `migrate_pages`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_migrate_pages(process: c_int, bits: usize, from: *const u64, to: *const u64) -> c_long {
    let Some(thread) = current() else {
        // SAFETY: the caller's promise.
        return unsafe { libc::syscall(libc::SYS_migrate_pages, process, bits, from, to) };
    };
    super::clock::system_call(thread);
    // SAFETY: the caller's promise.
    let (from, to) = unsafe { (nodes(from, bits), nodes(to, bits)) };
    if to.is_empty() {
        return failed(libc::EINVAL);
    }
    let mut left = 0;
    for at in address::pages() {
        let place = thread.home_of(at).and_then(|home| from.iter().position(|&node| node == home));
        if let Some(place) = place {
            left += c_long::from(move_page(thread, at, to[place % to.len()]).is_err());
        }
    }
    left
}
