//! Where the program asks for its pages: `mbind`, policies, and what programs use of libnuma.
//!
//! What is asked for is the plan of pages that nobody has touched yet, as on the host, where it is heeded when they are first touched.
//! Pages that have been placed stay. A machine whose placement heeds no plans (`os.placement`) takes none; that is noted.

use std::ffi::{c_int, c_long, c_void};

use units::NodeId;

use super::address::{locate, page};
use super::heap;
use super::state::{current, run};
use super::threads::this;

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

/// Where a thread, or a range of memory, wants its pages.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Wish {
    /// Where the machine's placement puts them.
    #[default]
    None,
    /// On the node of whoever asks.
    Local,
    /// On these nodes in turn.
    Nodes(Vec<NodeId>),
}

/// The nodes of a mask of `bits` bits, less one as the kernel has it.
///
/// # Safety
/// The mask is that long.
unsafe fn nodes(mask: *const u64, bits: usize) -> Vec<NodeId> {
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

/// Plans the pages of a range that have not been touched.
pub fn plan(start: usize, bytes: usize, wish: &Wish) {
    let Some(thread) = current() else { return };
    let here = NodeId((thread.cpu().index() / run().per_node) as u16);
    let nodes = match wish {
        Wish::None => return,
        Wish::Local => &[here][..],
        Wish::Nodes(nodes) => nodes,
    };
    if !run().heeds_plans {
        super::start::note("the program asks for pages on nodes, which this machine's placement does not heed (see --placement planned)".to_owned());
        return;
    }
    let page = page();
    let pages = (start / page..(start + bytes).div_ceil(page)).enumerate();
    let planned = pages.filter_map(|(number, at)| Some((locate(at * page)?, nodes[number % nodes.len()])));
    thread.plan(planned.collect());
}

/// `mbind`: zero, or minus one with `errno` set.
///
/// # Safety
/// As of the system call.
pub unsafe fn mbind(start: usize, bytes: usize, mode: c_int, mask: *const u64, bits: usize) -> c_long {
    // SAFETY: the caller's promise.
    match unsafe { wish(mode, mask, bits) } {
        Some(wish) => {
            plan(start, bytes, &wish);
            0
        }
        None => refuse(),
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
            None => refuse(),
        }
    }
}

fn refuse() -> c_long {
    // SAFETY: it is the running thread's.
    unsafe { *libc::__errno_location() = libc::EINVAL };
    -1
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
            Some(_) => mbind(start as usize, bytes, mode, mask, bits),
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

/// Where pages are, or that they be elsewhere: those that have been placed stay where they are, and say so.
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
    for number in 0..count {
        // SAFETY: the caller's promise.
        unsafe {
            let at = *pages.add(number) as usize;
            if !wishes.is_null() {
                plan(at, 1, &Wish::Nodes(vec![NodeId(*wishes.add(number) as u16)]));
            }
            let node = locate(at).and_then(|at| thread.home_of(at));
            *status.add(number) = node.map_or(-libc::ENOENT, |node| c_int::from(node.0));
        }
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
        Some(_) if (cpu as usize) < run().processors => (cpu as usize / run().per_node) as c_int,
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
