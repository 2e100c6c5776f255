//! The multiplexor of a node: its own packets, the bypass FIFO, and what only passes by.

use super::idles::Idles;
use super::link::{Change, Mark};
use super::spec::{AHEAD, NEVER, Slot};
use super::{LinkFault, Outcome, Ring};

/// Changes that a node has passed on ahead of time and that have come are noted when so many are kept, though the node has nothing to do.
const LONG_HELD: usize = 24;

impl Ring {
    /// Starts to transmit a packet, if there is one that may be sent and the last symbol was a go idle.
    #[inline]
    pub(super) fn start(&mut self, node: usize, slot: Slot) {
        let interface = &mut self.nodes[node];
        if interface.is_busy || interface.idles.may_start > slot {
            return;
        }
        let Some(subaction) = interface.choose(self.spec.transmission) else { return };
        self.account(node, slot);
        let interface = &mut self.nodes[node];
        interface.last = subaction;
        interface.waiting -= 1;
        let output = &mut interface.outputs[subaction as usize];
        output.outstanding += 1;
        let retransmitted = self.records.pop(&mut output.busied);
        let id = retransmitted.or_else(|| self.records.pop(&mut output.fresh)).expect("a packet was chosen");
        let record = *self.records.get(id);
        if retransmitted.is_none() {
            output.free += record.symbols;
            if std::mem::take(&mut output.has_refused) {
                self.has_space = true;
                self.outcomes.push(Outcome::Space { at: self.spec.time(slot), node: record.packet.from, subaction });
            }
        }
        interface.is_busy = true;
        interface.busy_from = slot;
        interface.free_at = slot + Slot::from(record.symbols) + 1;
        interface.own_ends = interface.free_at;
        interface.saved_go = false;
        interface.flow.inserted[0] += 1;
        self.statistics.nodes[node].count_transmission(
            &record.packet,
            record.symbols,
            &self.spec,
            retransmitted.is_none(),
        );
        self.recall(node, slot);
        self.send(node, Mark::packet(slot, Change::Send(id), record.symbols));
    }

    /// The multiplexor of `node` sends the first symbol of a packet.
    ///
    /// Nodes that have nothing of their own to send or to receive before it comes pass it on ahead of time, up to one
    /// that takes it or may delay it.
    #[inline]
    pub(super) fn send(&mut self, node: usize, mark: Mark) {
        let (Change::Send(id) | Change::Echo(id)) = mark.change else { unreachable!("idles are sent otherwise") };
        let packet = &self.records.get(id).packet;
        let is_echo = mark.change == Change::Echo(id);
        let (end, subaction) = (if is_echo { packet.from } else { packet.to }.index(), packet.subaction);
        let (mut node, mut mark) = (node, mark);
        loop {
            self.nodes[node].flow.sent[usize::from(is_echo)] += 1;
            self.statistics.nodes[node].count_symbols(subaction, mark.symbols, is_echo);
            #[cfg(test)]
            self.record(node, mark);
            let next = self.next(node);
            mark.slot += self.hop;
            if self.links[next].holds(LONG_HELD) {
                self.catch_up(next, self.clock);
            }
            let link = &mut self.links[next];
            let passes = next != end && link.is_passed() && self.nodes[next].is_quiet();
            if !passes || mark.slot - self.clock > AHEAD {
                link.push(mark);
                self.wheel.set(mark.slot, next);
                return;
            }
            self.ahead(next).pass_packet(mark.slot, mark.symbols);
            self.pass_last(next, mark);
            node = next;
        }
    }

    /// The multiplexor of `node` sends the first stop idle or the first go idle of a run. It is passed on like packets, up to a
    /// node whose idles it does not change.
    #[inline]
    pub(super) fn send_idle(&mut self, node: usize, slot: Slot, change: Change) {
        let (mut node, mut mark) = (node, Mark::idle(slot, change));
        loop {
            #[cfg(test)]
            self.record(node, mark);
            let next = self.next(node);
            mark.slot += self.hop;
            if self.links[next].holds(LONG_HELD) {
                self.catch_up(next, self.clock);
            }
            let link = &mut self.links[next];
            if !link.is_passed() || !self.nodes[next].is_quiet() || mark.slot - self.clock > AHEAD {
                link.push(mark);
                if !self.nodes[next].notes_idle(mark.slot) {
                    self.wheel.set(mark.slot, next);
                }
                return;
            }
            let ahead = self.ahead(next);
            let goes_on = if change == Change::Stop { ahead.stop(mark.slot) } else { ahead.go(mark.slot) };
            self.pass_last(next, Mark { goes_on, ..mark });
            if !goes_on {
                return;
            }
            node = next;
        }
    }

    /// The idles of `node` behind all that it has passed on ahead of time.
    #[inline]
    fn ahead(&mut self, node: usize) -> &mut Idles {
        let interface = &mut self.nodes[node];
        if !self.links[node].has_passed() {
            interface.ahead = interface.idles;
        }
        &mut interface.ahead
    }

    /// A change comes to `node`, which has passed it on ahead of time.
    #[inline]
    fn pass_last(&mut self, node: usize, mark: Mark) {
        let link = &mut self.links[node];
        link.push(mark);
        link.pass_last();
    }

    #[inline]
    pub(super) fn next(&self, node: usize) -> usize {
        self.places[node].next as usize
    }

    /// A packet leaves the stripper for the multiplexor: at once onto the link, or into the bypass FIFO.
    #[inline]
    pub(super) fn pass(&mut self, node: usize, mark: Mark) {
        let Mark { slot, symbols, .. } = mark;
        let interface = &mut self.nodes[node];
        if !interface.is_busy {
            self.account(node, slot);
            self.nodes[node].let_pass(slot, symbols);
            self.send(node, mark);
            return;
        }
        let symbols = Slot::from(symbols);
        interface.saved_go = interface.go_before(slot);
        interface.idles.go_from = slot + symbols;
        interface.bypass_from = interface.bypass_from.min(slot);
        let leaves = interface.free_at;
        debug_assert!(
            leaves > slot && leaves - slot <= Slot::from(self.spec.buffers.bypass),
            "the bypass FIFO has space"
        );
        let statistics = &mut self.statistics.nodes[node];
        statistics.bypassed += 1;
        statistics.bypass_occupancy += symbols * (leaves - slot);
        statistics.bypass_delay += leaves - slot;
        interface.free_at = leaves + symbols + 1;
        self.send_idle(node, leaves - 1, Change::Stop);
        if self.strikes(LinkFault::DroppedInBypass) {
            return;
        }
        self.send(node, Mark { slot: leaves, ..mark });
    }

    /// The idles of the input carry the go bit from `slot` on, and so do those of the output if the multiplexor passes
    /// them on.
    #[inline]
    pub(super) fn pass_go(&mut self, node: usize, slot: Slot) {
        let interface = &mut self.nodes[node];
        if !interface.is_busy && interface.idles.pass_go(slot) {
            self.send_idle(node, slot, Change::Go);
        }
    }

    /// The idle in `slot` is the last symbol of a busy time. It carries the go bit if one has come in meanwhile.
    pub(super) fn end_busy(&mut self, node: usize, slot: Slot) {
        self.account(node, slot + 1);
        let interface = &mut self.nodes[node];
        interface.is_busy = false;
        let bypass_from = std::mem::replace(&mut interface.bypass_from, NEVER);
        if bypass_from != NEVER {
            self.statistics.nodes[node].bypass_in_use += slot - bypass_from;
        }
        if interface.go_before(slot + 1) {
            interface.idles.may_start = slot + 1;
        } else {
            interface.idles.may_start = NEVER;
            self.send_idle(node, slot, Change::Stop);
        }
    }

    /// Notes the changes that `node` has passed on ahead of time and that have come before `end`.
    #[inline(always)]
    pub(super) fn catch_up(&mut self, node: usize, end: Slot) {
        if self.links[node].has_passed() {
            self.note_passed(node, end);
        }
    }

    fn note_passed(&mut self, node: usize, end: Slot) {
        while let Some(Mark { slot, change, symbols, .. }) = self.links[node].take_passed(end) {
            match change {
                Change::Send(_) | Change::Echo(_) => {
                    self.account(node, slot);
                    let interface = &mut self.nodes[node];
                    interface.flow.arrived[usize::from(matches!(change, Change::Echo(_)))] += 1;
                    interface.let_pass(slot, symbols);
                }
                Change::Stop => _ = self.nodes[node].idles.stop(slot),
                Change::Go => _ = self.nodes[node].idles.go(slot),
            }
        }
    }

    /// Notes the idles that have come to `node` before `end` while it was busy.
    #[inline]
    pub(super) fn note_idles(&mut self, node: usize, end: Slot) {
        while let Some(Mark { slot, change, .. }) = self.links[node].take_idle(end) {
            debug_assert!(self.nodes[node].is_busy, "other idles are taken in their slots");
            match change {
                Change::Stop => self.stop(node, slot),
                _ => self.go(node, slot),
            }
        }
    }

    /// Takes back what `node` has passed on ahead of time, because it sends a packet of its own in `slot`. The changes have not
    /// come yet, so nothing downstream has happened.
    pub(super) fn recall(&mut self, node: usize, slot: Slot) {
        let mut count = 0;
        for mark in self.links[node].passed() {
            count += usize::from(mark.goes_on);
            let is_noted = mark.symbols == 0 && self.nodes[node].notes_idle(mark.slot);
            if mark.slot > slot && !is_noted {
                self.wheel.set(mark.slot, node);
            }
        }
        self.links[node].recall();
        let mut node = node;
        while count > 0 {
            let next = self.next(node);
            let sent = std::mem::take(&mut count);
            for _ in 0..sent {
                let (mark, was_passed) = self.links[next].unsend();
                self.uncount(node, mark);
                count += usize::from(was_passed && mark.goes_on);
            }
            self.look_ahead(next);
            node = next;
        }
    }

    /// Finds the idles of `node` behind what it has passed on ahead of time, after it has taken back some of that.
    fn look_ahead(&mut self, node: usize) {
        let interface = &mut self.nodes[node];
        interface.ahead = interface.idles;
        for Mark { slot, change, symbols, .. } in self.links[node].passed() {
            match change {
                Change::Send(_) | Change::Echo(_) => interface.ahead.pass_packet(slot, symbols),
                Change::Stop => _ = interface.ahead.stop(slot),
                Change::Go => _ = interface.ahead.go(slot),
            }
        }
    }

    /// The change of `mark` has not left `node` after all.
    fn uncount(&mut self, node: usize, mark: Mark) {
        if let Change::Send(id) | Change::Echo(id) = mark.change {
            let is_echo = mark.change == Change::Echo(id);
            self.nodes[node].flow.sent[usize::from(is_echo)] -= 1;
            let subaction = self.records.get(id).packet.subaction;
            self.statistics.nodes[node].uncount_symbols(subaction, mark.symbols, is_echo);
        }
        #[cfg(test)]
        self.unrecord(node, mark.slot - self.hop);
    }
}
