//! Where the program asks for its pages: `mbind`, policies, and what programs use of libnuma.
//!
//! Requests are the plan of pages that have not been touched yet, as on the host, which heeds it at first touch. A machine whose
//! placement heeds no plans (`os.placement`) takes none; that is noted. Pages that have been placed stay, unless they are asked
//! to move ([`super::moves`]).

use std::ffi::{c_int, c_long, c_void};

use units::NodeId;

use super::address::{locate, page};
use super::futex_call::failed;
use super::state::{Wish, current, note, run, this};
use super::{heap, moves};

/// The policies of the kernel's interface (`linux/mempolicy.h`), without their flags.
mod policy {
    pub const DEFAULT: i32 = 0;
    pub const PREFERRED: i32 = 1;
    pub const BIND: i32 = 2;
    pub const INTERLEAVE: i32 = 3;
    pub const LOCAL: i32 = 4;
    pub const PREFERRED_MANY: i32 = 5;
    pub const FLAGS: i32 = 0xe000;
}

/// The nodes of a mask of `bits` bits, less one as the kernel has it.
///
/// # Safety
/// The mask is that long.
pub unsafe fn nodes(mask: *const u64, bits: usize) -> Vec<NodeId> {
    if mask.is_null() {
        return Vec::new();
    }
    let most = run().nodes.min(bits.saturating_sub(1).max(1));
    // SAFETY: the caller's promise.
    let within = |&node: &usize| unsafe { *mask.add(node / 64) } >> (node % 64) & 1 == 1;
    (0..most).filter(within).map(|node| NodeId(node as u16)).collect()
}

/// The wish that a policy tells; `None` if there is no such policy.
///
/// # Safety
/// The mask is that long.
unsafe fn wish(mode: c_int, mask: *const u64, bits: usize) -> Option<Wish> {
    // SAFETY: the caller's promise.
    let nodes = || unsafe { nodes(mask, bits) };
    match mode & !policy::FLAGS {
        policy::DEFAULT => Some(Wish::None),
        policy::LOCAL => Some(Wish::Local),
        policy::PREFERRED if nodes().is_empty() => Some(Wish::Local),
        policy::PREFERRED | policy::PREFERRED_MANY | policy::BIND => {
            nodes().first().map(|&node| Wish::Nodes(vec![node]))
        }
        policy::INTERLEAVE => Some(nodes()).filter(|nodes| !nodes.is_empty()).map(Wish::Nodes),
        _ => None,
    }
}

/// The nodes that a wish of the running thread is about, in turn; none if it has no wish.
fn nodes_of(wish: &Wish) -> Vec<NodeId> {
    match (wish, current()) {
        (Wish::Local, Some(thread)) => vec![NodeId(run().node_of(thread.cpu().index()) as u16)],
        (Wish::Nodes(nodes), _) => nodes.clone(),
        _ => Vec::new(),
    }
}

/// Plans the pages of a range that have not been touched.
pub fn plan(start: usize, bytes: usize, wish: &Wish) {
    let Some(thread) = current() else { return };
    let nodes = nodes_of(wish);
    if nodes.is_empty() {
        return;
    }
    if !run().follows_plans {
        note(
            "page placement requested by the program is ignored with this placement policy (use --placement planned)"
                .to_owned(),
        );
        return;
    }
    let page = page();
    let pages = (start / page..(start + bytes).div_ceil(page)).enumerate();
    // Where a remedy is tried, its pages are where it wants them, whatever the program says.
    let relocation = &run().request.relocation;
    let pages = pages.filter(|(_, at)| relocation.home((at * page) as u64).is_none());
    let planned = pages.filter_map(|(number, at)| Some((locate(at * page)?, nodes[number % nodes.len()])));
    thread.plan(planned.collect());
}

/// `mbind`: zero, or minus one with `errno` set.
///
/// # Safety
/// As of the system call.
pub unsafe fn mbind(start: usize, bytes: usize, mode: c_int, mask: *const u64, bits: usize, flags: u32) -> c_long {
    /// `MPOL_MF_MOVE` and `MPOL_MF_MOVE_ALL`.
    const MOVE: u32 = 6;
    // SAFETY: the caller's promise.
    match unsafe { wish(mode, mask, bits) } {
        Some(wish) => {
            plan(start, bytes, &wish);
            if flags & MOVE != 0 {
                moves::move_range(start, bytes, &nodes_of(&wish));
            }
            0
        }
        None => failed(libc::EINVAL),
    }
}

/// `set_mempolicy`: what the thread maps from here on is planned so.
///
/// # Safety
/// As of the system call.
pub unsafe fn set_policy(mode: c_int, mask: *const u64, bits: usize) -> c_long {
    // SAFETY: the caller's promise; threads are never freed.
    unsafe {
        match wish(mode, mask, bits) {
            Some(wish) => {
                (*this()).wish = wish;
                0
            }
            None => failed(libc::EINVAL),
        }
    }
}

/// Fresh memory of the running thread is planned as that wishes.
pub fn note_fresh(start: usize, bytes: usize) {
    let user = this();
    if current().is_some() && !user.is_null() {
        // SAFETY: threads are never freed.
        let wish = unsafe { &(*user).wish };
        if *wish != Wish::None {
            plan(start, bytes, &wish.clone());
        }
    }
}

/// Asks for the pages of a range on nodes.
///
/// # Safety
/// As of `mbind`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_mbind(
    start: *mut c_void,
    bytes: usize,
    mode: c_int,
    mask: *const u64,
    bits: usize,
    flags: u32,
) -> c_long {
    // SAFETY: the caller's promise.
    unsafe {
        match current() {
            Some(_) => mbind(start as usize, bytes, mode, mask, bits, flags),
            None => libc::syscall(libc::SYS_mbind, start, bytes, mode, mask, bits, flags),
        }
    }
}

/// Asks for all the pages that the thread maps from here on.
///
/// # Safety
/// As of `set_mempolicy`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_set_mempolicy(mode: c_int, mask: *const u64, bits: usize) -> c_long {
    // SAFETY: the caller's promise.
    unsafe {
        match current() {
            Some(_) => set_policy(mode, mask, bits),
            None => libc::syscall(libc::SYS_set_mempolicy, mode, mask, bits),
        }
    }
}

/// Where a page is: the node of an address, where that is asked for (`MPOL_F_NODE | MPOL_F_ADDR`); else no policy.
///
/// # Safety
/// As of `get_mempolicy`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_get_mempolicy(
    mode: *mut c_int,
    mask: *mut u64,
    bits: usize,
    at: *mut c_void,
    flags: u32,
) -> c_long {
    const NODE_OF_ADDRESS: u32 = 3;
    let Some(thread) = current() else {
        // SAFETY: the caller's promise.
        return unsafe { libc::syscall(libc::SYS_get_mempolicy, mode, mask, bits, at, flags) };
    };
    let node = match locate(at as usize).filter(|_| flags & NODE_OF_ADDRESS == NODE_OF_ADDRESS) {
        Some(at) => thread.home_of(at).map_or(-libc::ENOENT, |node| c_int::from(node.0 as i16)),
        None => policy::DEFAULT,
    };
    if !mode.is_null() {
        // SAFETY: the caller's promise.
        unsafe { *mode = node };
    }
    0
}

/// Whether libnuma's functions can be used: zero. Natively too: they lead to the kernel's defaults then.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_numa_available() -> c_int {
    if current().is_some() { 0 } else { -1 }
}

/// The number of the last node.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_numa_max_node() -> c_int {
    if current().is_some() { run().nodes as c_int - 1 } else { 0 }
}

/// How many nodes there are.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_numa_num_configured_nodes() -> c_int {
    __wrap_numa_max_node() + 1
}

/// How many processors there are.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_numa_num_configured_cpus() -> c_int {
    super::processors::__wrap_get_nprocs()
}

/// The node of a processor.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_numa_node_of_cpu(cpu: c_int) -> c_int {
    match current() {
        Some(_) if (cpu as usize) < run().processors => run().node_of(cpu as usize) as c_int,
        Some(_) => -1,
        None => 0,
    }
}

/// Whole pages, planned as `wish` says.
fn allocate(bytes: usize, wish: &Wish) -> *mut c_void {
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let whole = if current().is_some() { bytes.next_multiple_of(page()) } else { bytes };
    // SAFETY: new memory of nobody.
    let block = unsafe { heap::__wrap_mmap(std::ptr::null_mut(), whole, rights, flags, -1, 0) };
    if block == libc::MAP_FAILED {
        return std::ptr::null_mut();
    }
    plan(block as usize, bytes, wish);
    block
}

/// Memory on a node.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_numa_alloc_onnode(bytes: usize, node: c_int) -> *mut c_void {
    allocate(bytes, &Wish::Nodes(vec![NodeId(node.max(0) as u16)]))
}

/// Memory on the node of the thread.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_numa_alloc_local(bytes: usize) -> *mut c_void {
    allocate(bytes, &Wish::Local)
}

/// Memory on all nodes in turn.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_numa_alloc_interleaved(bytes: usize) -> *mut c_void {
    allocate(bytes, &everywhere())
}

fn everywhere() -> Wish {
    match current() {
        Some(_) => Wish::Nodes((0..run().nodes as u16).map(NodeId).collect()),
        None => Wish::None,
    }
}

/// Memory wherever.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_numa_alloc(bytes: usize) -> *mut c_void {
    allocate(bytes, &Wish::None)
}

/// Gives memory back.
///
/// # Safety
/// It is a block of these functions, of so many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_numa_free(block: *mut c_void, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { heap::__wrap_munmap(block, bytes) };
}

/// Asks for a range on a node.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_numa_tonode_memory(start: *mut c_void, bytes: usize, node: c_int) {
    plan(start as usize, bytes, &Wish::Nodes(vec![NodeId(node.max(0) as u16)]));
}

/// Asks for a range on the node of the thread.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_numa_setlocal_memory(start: *mut c_void, bytes: usize) {
    plan(start as usize, bytes, &Wish::Local);
}

/// Asks for a range on all nodes in turn, whatever the mask of the caller says.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_numa_interleave_memory(start: *mut c_void, bytes: usize, _mask: *const c_void) {
    plan(start as usize, bytes, &everywhere());
}

/// All that the thread maps from here on is to be on a node.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_numa_set_preferred(node: c_int) {
    set(Wish::Nodes(vec![NodeId(node.max(0) as u16)]));
}

/// All that the thread maps from here on is to be on its node.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_numa_set_localalloc() {
    set(Wish::Local);
}

fn set(wish: Wish) {
    if current().is_some() {
        // SAFETY: threads are never freed.
        unsafe { (*this()).wish = wish };
    }
}
