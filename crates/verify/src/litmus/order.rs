//! Orders in which processors perform their accesses: program order, or what x86 and Arm relax of it.
//!
//! A processor of these orders gives its cache one access of a line at a time, and several lines' at once. What it relaxes
//! is its own; the protocol must not relax anything beyond it.

use protocol::Access;

use super::program::{Instruction, Program};

/// Order in which a processor performs its accesses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Order {
    /// Program order.
    Sequential,
    /// x86-TSO: stores wait in a buffer, first in, first out, and loads pass them. A load of a line whose store is in the
    /// buffer returns that store (Sewell et al., "x86-TSO: a rigorous and usable programmer's model for x86
    /// multiprocessors", 2010).
    Tso,
    /// Arm: accesses to different lines without a dependency or barrier pass each other; a load may return the processor's
    /// own store early. Memory is multi-copy atomic (Pulte et al., "Simplifying ARM concurrency", 2018).
    Arm,
}

/// Way in which an instruction is performed that may be now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// By an access to the cache.
    Access,
    /// From the processor's own store to the line, which is not performed yet.
    Forwarded,
}

impl Order {
    /// Whether `later` may be performed before `earlier`, which precedes it in the program.
    const fn passes(self, earlier: Instruction, later: Instruction) -> bool {
        let load_passes_store = matches!((earlier.access, later.access), (Access::Store, Access::Load));
        match self {
            Self::Sequential => false,
            Self::Tso => load_passes_store,
            Self::Arm => earlier.line != later.line || load_passes_store,
        }
    }

    /// Way in which instruction `index` can be performed while those in `performed` have been, a bit each; `None` if it
    /// must wait for an earlier one.
    pub fn way(self, program: Program, performed: u8, index: usize) -> Option<Way> {
        let later = program[index];
        let mut waiting = program[..index].iter().enumerate().filter(|&(earlier, _)| performed >> earlier & 1 == 0);
        if waiting.clone().any(|(_, &earlier)| !self.passes(earlier, later)) {
            return None;
        }
        // Only a store lets an access to its own line pass: the load returns it.
        Some(if waiting.any(|(_, earlier)| earlier.line == later.line) { Way::Forwarded } else { Way::Access })
    }
}
