//! The words by which the threads of a team meet: of the kind of barrier that is asked for, or as the library has it.

use std::sync::atomic::Ordering;

use experiments::policies::OwnBarrier;
use sim::Thread;
use workloads::BarrierKind;

use super::platform::{Waiting, Word};
use crate::runtime::futex;
use crate::runtime::state::{current, run};
use crate::runtime::words::change_at_memory;

/// The running thread, if barriers are of a kind.
fn where_barriers_are(kind: OwnBarrier) -> Option<&'static mut Thread<'static>> {
    current().filter(|_| run().barrier == kind)
}

/// The running thread, come to its own time, if barriers cost nothing.
fn where_all_is_free() -> Option<&'static mut Thread<'static>> {
    let thread = where_barriers_are(OwnBarrier::Ideal)?;
    thread.drain();
    thread.order();
    Some(thread)
}

/// Whether threads that wait to meet give their processors up.
pub fn waiting() -> Waiting {
    Waiting::asleep_if(where_barriers_are(OwnBarrier::Futex).is_some())
}

/// Whether the thread may look for something to do again and again: in a simulation, there is a processor for every thread, and
/// threads that wait for each other are not asked to give theirs up.
pub fn has_processor() -> bool {
    current().is_none() || (run().alive <= run().processors && waiting() == Waiting::Looks)
}

/// How many threads have come.
#[repr(transparent)]
#[derive(Debug, Default)]
pub struct Tally(Word);

impl Tally {
    const AT_MEMORY: OwnBarrier = OwnBarrier::Shared(BarrierKind::AtMemory);

    /// As the runtime knows it without looking.
    pub fn peek(&self) -> u32 {
        self.0.peek()
    }

    /// So many have come, of whom nobody waits for this word.
    pub fn set(&self, number: u32) {
        if where_all_is_free().is_some() {
            return self.0.value().store(number, Ordering::Relaxed);
        }
        match where_barriers_are(Self::AT_MEMORY) {
            Some(thread) => {
                change_at_memory(thread, self.0.address(), || self.0.value().store(number, Ordering::Relaxed))
            }
            None => self.0.set(number),
        }
    }

    /// One more has come. How many had before.
    pub fn count(&self) -> u32 {
        let add = || self.0.value().fetch_add(1, Ordering::Relaxed);
        if where_all_is_free().is_some() {
            return add();
        }
        match where_barriers_are(Self::AT_MEMORY) {
            Some(thread) => change_at_memory(thread, self.0.address(), add),
            None => self.0.add(1),
        }
    }
}

/// The word that threads look at when they have come.
#[repr(transparent)]
#[derive(Debug, Default)]
pub struct Phase(Word);

impl Phase {
    /// As [`Word::peek`].
    pub fn peek(&self) -> u32 {
        self.0.peek()
    }

    /// As [`Word::look`].
    pub fn look(&self) -> u32 {
        if where_all_is_free().is_some() { self.peek() } else { self.0.look() }
    }

    /// As [`Word::set`].
    pub fn set(&self, value: u32) {
        match where_all_is_free() {
            Some(thread) => {
                self.0.value().store(value, Ordering::Relaxed);
                futex::let_go(thread, self.0.address(), usize::MAX);
            }
            None => self.0.set(value),
        }
    }

    /// As [`Word::change`].
    ///
    /// # Errors
    /// As [`Word::change`].
    pub fn change(&self, change: impl Fn(u32) -> Option<u32>) -> Result<u32, u32> {
        match where_all_is_free() {
            Some(thread) => {
                let changed = self.0.value().fetch_update(Ordering::Relaxed, Ordering::Relaxed, &change);
                futex::let_go(thread, self.0.address(), usize::MAX);
                changed
            }
            None => self.0.change(change),
        }
    }

    /// As [`Word::wait_while`].
    pub fn wait_while(&self, value: u32) -> u32 {
        loop {
            let Some(thread) = where_all_is_free() else { return self.0.wait(value, waiting()) };
            if self.peek() != value {
                return self.peek();
            }
            futex::wait(thread, self.0.address(), None);
        }
    }
}
