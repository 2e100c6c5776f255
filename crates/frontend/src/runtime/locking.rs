//! Locks of the program's, by the mechanism that is asked for: a word of four bytes in the program's own variable.
//!
//! By load-linked and store-conditional the word says whether the lock is taken; in a queue it names the last node; where the memory
//! counts, it names a pair of lines elsewhere, since no line may be cached that the memory changes.

use experiments::policies::OwnLocks;
use rustc_hash::FxHashMap;
use sim::Thread;
use units::Time;
use workloads::{LockKind, Locks, queue};

use super::caller::{Caller, WORD, Words};
use super::state::{Single, number, run};
use super::{address, ending};

/// Bytes from one line to the next that share none on any simulated machine.
pub const LINE: usize = 256;

/// State of locks that is not in the program's variables.
#[derive(Default)]
struct Table {
    /// Where the nodes are that threads wait with, by name less one.
    nodes: Vec<usize>,
    /// Those that are free, by thread: they lie in its own pages.
    free: Vec<Vec<u32>>,
    /// The node that a lock's holder has it with, by the lock's address.
    holding: FxHashMap<usize, u32>,
    /// Lines that the memory counts in, each before one that tells whose turn it is, by name less one; and those not in use.
    pairs: Vec<usize>,
    spare: Vec<u32>,
    /// The words of locks that lie behind others, by the address of those.
    behind: FxHashMap<usize, usize>,
}

static TABLE: Single<Option<Table>> = Single::new(None);

fn table() -> &'static mut Table {
    // SAFETY: one thread of the host, and nobody keeps the reference while another may run.
    unsafe { (*TABLE.get()).get_or_insert_default() }
}

/// Simulated memory for good, on lines of its own.
///
/// # Panics
/// When there is no memory left: a run without it cannot go on.
pub fn lines(bytes: usize, align: usize) -> usize {
    match address::take(bytes.next_multiple_of(LINE), align) {
        Some(place) => place,
        None => ending::cannot_go_on("no simulated memory is left for locks and barriers"),
    }
}

/// All of the program's memory, by words.
static MEMORY: Words = Words::at(0);

/// The nodes of the running thread that are free.
fn free_nodes() -> &'static mut Vec<u32> {
    let (free, thread) = (&mut table().free, number());
    if thread >= free.len() {
        free.resize_with(thread + 1, Vec::new);
    }
    &mut free[thread]
}

/// A node of the running thread's, in a page that it is the first to touch, for as long as it waits.
pub fn take_node() -> u32 {
    if free_nodes().is_empty() {
        // Others may run before the page is there.
        let page = address::page();
        let place = lines(page, page);
        let nodes = &mut table().nodes;
        let first = nodes.len() as u32;
        nodes.extend((0..page).step_by(LINE).map(|offset| place + offset));
        let last = nodes.len() as u32;
        free_nodes().extend((first + 1..=last).rev());
    }
    free_nodes().pop().unwrap_or_else(|| unreachable!("a page holds several nodes"))
}

/// A node waits for nobody any more.
pub fn give_node(name: u32) {
    free_nodes().push(name);
}

/// The pair of lines that a word names: one that the memory counts in, and one for what it is compared with. It is given one if it
/// names none.
pub fn pair(word: *mut u32) -> usize {
    // SAFETY: the program's lock.
    let named = || table().pairs.get(unsafe { word.read_volatile() as usize }.wrapping_sub(1)).copied();
    if let Some(place) = named() {
        return place;
    }
    let name = table().spare.pop().unwrap_or_else(|| {
        // Others may run before the lines are there.
        let place = lines(2 * LINE, LINE);
        table().pairs.push(place);
        table().pairs.len() as u32
    });
    if let Some(place) = named() {
        // Another thread has named a pair meanwhile.
        table().spare.push(name);
        return place;
    }
    // SAFETY: as above.
    unsafe { word.write_volatile(name) };
    table().pairs[name as usize - 1]
}

/// The word of the lock that lies behind another word.
pub fn behind(address: usize) -> *mut u32 {
    if !table().behind.contains_key(&address) {
        // Others may run before the line is there.
        let place = lines(LINE, LINE);
        table().behind.entry(address).or_insert(place);
    }
    table().behind[&address] as *mut u32
}

/// The first word of the node of this name.
pub fn node(name: u64) -> usize {
    table().nodes[name as usize - 1] / WORD
}

/// The lock of two words of which the memory counts one.
fn ticketed(pair: usize) -> Locks<'static, Words> {
    Locks::one(&MEMORY, (pair + LINE) / WORD, Some((&MEMORY, pair / WORD)))
}

/// A lock that is a word.
fn plain(word: *mut u32) -> Locks<'static, Words> {
    Locks::one(&MEMORY, word as usize / WORD, None)
}

/// Whether locks are made here: those of the libraries' own kind are not, nor those whose threads give their processors up.
pub fn is_asked_for() -> bool {
    !matches!(run().locks, OwnLocks::Own | OwnLocks::Futex)
}

/// Takes a lock, or gives up at a time. Returns whether it has it. What is done is charged as the caller says.
pub fn acquire(thread: &mut Thread<'static>, word: *mut u32, until: Option<Time>) -> bool {
    match (run().locks, until) {
        (OwnLocks::Queue, None) => {
            let name = take_node();
            let place = word as usize / WORD;
            queue::acquire(&mut Caller::new(thread, 0), &MEMORY, place, node, name.into());
            table().holding.insert(word as usize, name);
            true
        }
        (OwnLocks::Shared(LockKind::AtMemory), None) => {
            let _held = ticketed(pair(word)).acquire(&mut Caller::new(thread, 0), 0);
            true
        }
        (OwnLocks::Queue | OwnLocks::Shared(LockKind::AtMemory), Some(_)) => {
            refuse(thread, "a lock is waited for until a time", "whoever waits has a place that nobody can give up")
        }
        (_, None) => {
            let _held = plain(word).acquire(&mut Caller::new(thread, 0), 0);
            true
        }
        (_, Some(until)) => loop {
            if try_acquire(thread, word) {
                return true;
            }
            // Nobody wakes a thread that looks: it has to look at its clock, too.
            if thread.now() >= until {
                return false;
            }
            thread.instructions(workloads::SPIN);
        },
    }
}

/// Takes a lock if it is free. Returns whether it has it.
pub fn try_acquire(thread: &mut Thread<'static>, word: *mut u32) -> bool {
    match run().locks {
        OwnLocks::Queue => {
            let name = take_node();
            let place = word as usize / WORD;
            let taken = queue::try_acquire(&mut Caller::new(thread, 0), &MEMORY, place, node, name.into());
            if taken {
                table().holding.insert(word as usize, name);
            } else {
                give_node(name);
            }
            taken
        }
        OwnLocks::Shared(LockKind::AtMemory) => {
            refuse(thread, "a lock is tried", "a ticket that was drawn cannot be given back")
        }
        _ => plain(word).try_acquire(&mut Caller::new(thread, 0), 0).is_some(),
    }
}

/// Gives a lock back.
pub fn release(thread: &mut Thread<'static>, word: *mut u32) {
    match run().locks {
        OwnLocks::Queue => {
            let Some(name) = table().holding.remove(&(word as usize)) else { return };
            let place = word as usize / WORD;
            queue::release(&mut Caller::new(thread, 0), &MEMORY, place, node, name.into());
            give_node(name);
        }
        OwnLocks::Shared(LockKind::AtMemory) => {
            let pair = pair(word);
            let locks = ticketed(pair);
            let turn = MEMORY.peek((pair + LINE) / WORD);
            locks.release(&mut Caller::new(thread, 0), locks.held(0, turn.into()));
        }
        _ => {
            let locks = plain(word);
            locks.release(&mut Caller::new(thread, 0), locks.held(0, 0));
        }
    }
}

/// A lock is no more: what belongs to it is for others.
pub fn forget(word: *mut u32) {
    if run().locks == OwnLocks::Shared(LockKind::AtMemory) {
        // SAFETY: the program's lock.
        let name = unsafe { word.replace(0) };
        if name > 0 {
            table().spare.push(name);
        }
    }
}

/// The program asks for what locks of this kind cannot do.
pub fn refuse(thread: &mut Thread<'static>, what: &str, why: &str) -> ! {
    let kind = run().locks;
    // A queue's locks can be tried.
    let others = if kind == OwnLocks::Queue { "" } else { ", or queue if no time is set" };
    ending::fail(thread, &format!("--locks {}: {what}, and {why}; accepted: own, futex, llsc{others}", kind.name()))
}
