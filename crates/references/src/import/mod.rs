//! Traces of other tools.

mod drmemtrace;
mod lackey;

pub use drmemtrace::DrMemTrace;
pub use lackey::Lackey;

use std::collections::VecDeque;

use crate::event::{Access, AccessKind, Event};

/// Events on their way from another tool's entries: instructions are counted until there is an access.
#[derive(Debug, Default)]
struct Gathered {
    ready: VecDeque<Event>,
    instructions: u32,
    site: u64,
    told: u64,
}

impl Gathered {
    /// Instructions are executed, the last of them at `site` if that is known.
    fn execute(&mut self, count: u32, site: Option<u64>) {
        // More than any block of instructions between two accesses: told in parts.
        if let Some(sum) = self.instructions.checked_add(count) {
            self.instructions = sum;
        } else {
            self.tell_instructions();
            self.instructions = count;
        }
        self.site = site.unwrap_or(self.site);
    }

    /// The instruction that was executed last refers to memory.
    fn access(&mut self, kind: AccessKind, address: u64, bytes: u16) {
        self.tell_instructions();
        if self.told != self.site {
            self.told = self.site;
            self.ready.push_back(Event::Site(self.site));
        }
        // Whatever is longer than any line goes in parts.
        let (mut at, mut left) = (address, bytes.max(1));
        while left > 0 {
            let part = left.min(64);
            self.ready.push_back(Event::Access(Access { kind, dependent: false, bytes: part as u8, address: at }));
            (at, left) = (at.wrapping_add(u64::from(part)), left - part);
        }
    }

    fn tell_instructions(&mut self) {
        match std::mem::take(&mut self.instructions) {
            0 => {}
            count => self.ready.push_back(Event::Instructions(count)),
        }
    }
}
