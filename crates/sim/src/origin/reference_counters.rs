//! The reference counters that a Hub keeps for its memory (Prestor 2001, 3.2.2, Memory/Directory Interface).

use protocol::origin::{Message, MessageKind};
use units::NodeId;

use super::Hubs;
use crate::map::address_in;
use crate::part::ReferenceCountersSpec;
use crate::system::System;

/// Binary logarithm of the bytes that a set of counters covers.
const BLOCK_SHIFT: u32 = 12;

/// The largest machine with a counter for every node; in larger ones eight nodes share one.
const OWN_COUNTERS: usize = 64;
const SHARED_BY: usize = 8;

/// The reference counters of a machine of `nodes` nodes.
pub(super) const fn counters(nodes: usize, threshold: u32) -> ReferenceCountersSpec {
    let shared_by = if nodes <= OWN_COUNTERS { 1 } else { SHARED_BY };
    ReferenceCountersSpec { nodes, shared_by, block_shift: BLOCK_SHIFT, threshold }
}

impl System<Hubs> {
    /// Counts a processor's request at the home, which may interrupt a processor of the home. Writebacks and the reads
    /// of copy engines do not count as references.
    #[inline]
    pub(super) fn count_reference(&mut self, home: NodeId, message: &Message) {
        use MessageKind as K;
        let wants = matches!(message.kind, K::Read | K::ReadShared | K::ReadExclusive | K::Upgrade | K::UncachedRead);
        if self.controllers.references.is_some() && wants {
            self.count_request(home, message);
        }
    }

    fn count_request(&mut self, home: NodeId, message: &Message) {
        let offset = self.controllers.lines.offset(message.line) * self.line().0;
        let from = self.controllers.geometry.node_of(message.requester);
        let Some(references) = &mut self.controllers.references else { return };
        if let Some(block) = references.count(home, offset, from) {
            let start = address_in(home, references.offset(block));
            self.raise_interrupt(start);
        }
    }
}
