//! The multiplexor of a node: its own packets, the bypass FIFO, and what only passes by.

use super::interface::LONG_HELD;
use super::link::{Change, Mark};
use super::spec::{NEVER, Slot};
use super::{LinkFault, Outcome, Ring};

/// Outcome for the first change on a link that its node had not passed on.
enum Passing {
    /// It stays, until the node is looked at in a slot that is set.
    Held,
    /// It is passed on, without a change on the next link.
    Absorbed,
    /// It is passed on, by this change on the next link.
    Sends(Mark),
}

impl Ring {
    /// Starts to transmit a packet, if there is one that may be sent and the last symbol was a go idle.
    #[inline]
    pub(super) fn start(&mut self, node: usize, slot: Slot) {
        let interface = &self.nodes[node];
        if interface.stream.is_busy | (interface.stream.may_start > slot) {
            return;
        }
        let Some(subaction) = interface.turn else { return };
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
        interface.choose(self.spec.transmission);
        interface.stream.start(slot, record.symbols);
        interface.own_ends = interface.stream.free_at;
        interface.flow.inserted[0] += u64::from(record.symbols);
        self.statistics[node].count_transmission(&record.packet, record.symbols, &self.spec, retransmitted.is_none());
        self.recall(node);
        self.nodes[node].follow();
        self.send(node, Mark::send(slot, id, &record.packet, record.symbols));
    }

    /// The multiplexor of `node` sends a change. The nodes downstream pass it on ahead of time, up to one that takes it or may
    /// still do something of its own before.
    #[inline]
    pub(super) fn send(&mut self, node: usize, mark: Mark) {
        if mark.is_packet() { self.carry::<true>(node, mark) } else { self.carry::<false>(node, mark) }
    }

    /// The same for packets or for idles.
    fn carry<const PACKET: bool>(&mut self, node: usize, mark: Mark) {
        let (mut node, mut mark) = (node, mark);
        let until = self.reach();
        loop {
            #[cfg(test)]
            self.record(node, mark);
            node = self.next(node);
            mark.slot += self.hop;
            let interface = &mut self.nodes[node];
            if PACKET {
                interface.flow.count(&mark);
            }
            if !interface.passes(node, &mark, until) {
                // Half of those that have to stay do so behind others.
                if !interface.link.is_passed() & !interface.link.holds(LONG_HELD) {
                    return interface.link.push(mark);
                }
                let Some(sent) = self.hold(node, mark) else { return };
                mark = sent;
                continue;
            }
            let goes_on = if PACKET {
                interface.ahead.pass_by(mark.slot, mark.symbols());
                true
            } else {
                interface.ahead.pass_idle(&mark)
            };
            interface.link.push_passed(mark, goes_on);
            if !goes_on {
                return;
            }
        }
    }

    /// A change comes to a link whose node may have other things to do than to pass it on. Returns the change that it sends for it
    /// already.
    #[inline(never)]
    fn hold(&mut self, node: usize, mark: Mark) -> Option<Mark> {
        if self.nodes[node].link.holds(LONG_HELD) {
            self.catch_up_long(node);
        }
        let link = &mut self.nodes[node].link;
        let is_first = link.is_passed();
        link.push(mark);
        if is_first && let Passing::Sends(sent) = self.pass_first(node, mark) { Some(sent) } else { None }
    }

    /// Notes changes that `node` has passed on, of which many are kept: if it suffices, those that it has been looked at behind.
    #[cold]
    fn catch_up_long(&mut self, node: usize) {
        self.catch_up(node, self.nodes[node].looked_at);
        if self.nodes[node].link.holds(LONG_HELD) {
            self.catch_up(node, self.clock);
        }
    }

    /// Passes on what comes in to `node`, up to a change that it takes or before which it may still do something of its own.
    #[inline]
    pub(super) fn advance(&mut self, node: usize) {
        while let Some(mark) = self.nodes[node].link.first_held() {
            match self.pass_first(node, mark) {
                Passing::Held => return,
                Passing::Absorbed => {}
                Passing::Sends(mark) => self.send(node, mark),
            }
        }
    }

    /// Passes on the first change that `node` has not passed on yet, if everything before it is certain or can be taken back.
    ///
    /// While the multiplexor is busy, the way of what comes in follows from what came before. A node that waits for a go bit does
    /// nothing before it comes. A node without anything to send passes everything on, and takes it back if it gets something.
    // Always inlined, with the two below: results of three words are not returned through memory then, 2 % of a run's instructions.
    #[inline(always)]
    fn pass_first(&mut self, node: usize, mark: Mark) -> Passing {
        let is_own = mark.is_for(node);
        if is_own | (mark.slot > self.reach()) {
            // The end of an echo is the first slot in which anything depends on it.
            let symbols = if is_own && mark.is_echo() { Slot::from(mark.symbols()) } else { 0 };
            self.wheel.set(mark.slot + symbols, node);
            return Passing::Held;
        }
        let interface = &self.nodes[node];
        let waits = interface.turn.is_some();
        let is_busy = interface.ahead.is_busy;
        let acts_at = if is_busy { interface.ahead.free_at } else { interface.ahead.may_start };
        if (interface.echo_taken != NEVER) | ((acts_at <= mark.slot) & (is_busy | waits)) {
            return Passing::Held;
        }
        let passing = if mark.is_packet() { self.pass_packet(node, &mark) } else { self.pass_idle(node, &mark) };
        if waits && !is_busy {
            self.put_off(node, mark.slot);
        }
        passing
    }

    /// A change in `slot` has passed `node`, which waits for a go bit: it starts behind that, unless it does so before.
    #[inline]
    fn put_off(&mut self, node: usize, slot: Slot) {
        let interface = &mut self.nodes[node];
        let may_start = interface.ahead.may_start;
        if interface.start_sought > slot {
            interface.start_sought = may_start;
        }
        if may_start != NEVER {
            self.wheel.set_tentative(may_start, node);
        }
    }

    /// An idle with another go bit leaves the stripper for the multiplexor.
    #[inline(always)]
    fn pass_idle(&mut self, node: usize, mark: &Mark) -> Passing {
        let interface = &mut self.nodes[node];
        let goes_on = interface.ahead.pass_idle(mark);
        interface.link.pass(u16::from(goes_on), 0);
        if goes_on { Passing::Sends(*mark) } else { Passing::Absorbed }
    }

    /// A packet leaves the stripper for the multiplexor: at once onto the link, or into the bypass FIFO.
    #[inline(always)]
    fn pass_packet(&mut self, node: usize, mark: &Mark) -> Passing {
        let interface = &mut self.nodes[node];
        let leaves = interface.ahead.pass_packet(mark.slot, mark.symbols());
        let delay = leaves - mark.slot;
        let mut sent = *mark;
        if mark.is(Change::Reply) {
            sent = mark.echo(&self.records.get(mark.id()).packet);
            interface.flow.inserted[1] += u64::from(mark.symbols());
            self.statistics[node].inserted += u64::from(mark.symbols());
        }
        if delay == 0 {
            interface.link.pass(1, 0);
            return Passing::Sends(sent);
        }
        debug_assert!(delay <= Slot::from(self.spec.buffers.bypass), "the bypass FIFO has space");
        interface.link.pass(2, delay as u16);
        let statistics = &mut self.statistics[node];
        statistics.bypassed += 1;
        statistics.bypass_occupancy += Slot::from(mark.symbols()) * delay;
        statistics.bypass_delay += delay;
        self.send(node, Mark::idle(leaves - 1, Change::Stop));
        if self.strikes(LinkFault::DroppedInBypass) {
            return Passing::Absorbed;
        }
        sent.slot = leaves;
        Passing::Sends(sent)
    }

    #[inline]
    pub(super) fn next(&self, node: usize) -> usize {
        self.nodes[node].next as usize
    }

    /// The idle in `slot` is the last symbol of a busy time. It carries the go bit if one has come in meanwhile.
    pub(super) fn end_busy(&mut self, node: usize, slot: Slot) {
        self.account(node, slot + 1);
        let stream = &mut self.nodes[node].stream;
        let bypass_from = stream.bypass_from;
        let goes = stream.end_busy(slot);
        self.nodes[node].follow();
        if bypass_from != NEVER {
            self.statistics[node].bypass_in_use += slot - bypass_from;
        }
        if !goes {
            self.send(node, Mark::idle(slot, Change::Stop));
        }
    }

    /// Takes back what `node` has passed on ahead of time, because it sends a packet of its own. The changes have not come yet, so
    /// nothing downstream has happened.
    fn recall(&mut self, node: usize) {
        let (mut node, mut count) = (node, 0);
        while let Some(mark) = self.nodes[node].link.unpass() {
            count += mark.outputs();
            self.unpass(node, &mark);
        }
        while count > 0 {
            let next = self.next(node);
            let sent = std::mem::take(&mut count);
            let mut has_changed = false;
            for _ in 0..sent {
                let (mark, was_passed) = self.nodes[next].link.unsend();
                self.nodes[next].flow.uncount(&mark);
                #[cfg(test)]
                self.unrecord(node, mark.slot - self.hop);
                if was_passed {
                    has_changed = true;
                    count += mark.outputs();
                    self.unpass(next, &mark);
                }
            }
            if has_changed {
                self.look_ahead(next);
            }
            node = next;
        }
    }

    /// Finds the multiplexor of `node` behind what it has passed on ahead of time, after it has taken back some of that, and the
    /// next slot in which it ends its busy time or transmits.
    fn look_ahead(&mut self, node: usize) {
        let interface = &mut self.nodes[node];
        interface.ahead = interface.stream;
        for mark in interface.link.passed() {
            interface.ahead.pass(mark);
        }
        if interface.ahead.is_busy {
            let end = interface.ahead.free_at - 1;
            self.seek_end(node, self.clock, end);
        } else {
            self.seek_start(node, self.clock + 1);
        }
    }

    /// `node` has not passed on `mark` after all.
    fn unpass(&mut self, node: usize, mark: &Mark) {
        let statistics = &mut self.statistics[node];
        let symbols = u64::from(mark.symbols());
        if mark.is(Change::Reply) {
            self.nodes[node].flow.inserted[1] -= symbols;
            statistics.inserted -= symbols;
        }
        if mark.delay() > 0 {
            statistics.bypassed -= 1;
            statistics.bypass_occupancy -= symbols * u64::from(mark.delay());
            statistics.bypass_delay -= u64::from(mark.delay());
        }
    }
}
