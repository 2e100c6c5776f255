//! The state of a node's multiplexor between the changes of its input, as a few times.

use super::link::{Change, Mark};
use super::spec::{NEVER, Slot};

/// Symbols that enter a multiplexor, and those that leave it.
///
/// Idles that the stripper passes on carry the go bit from `go_from` on, until the next packet. The multiplexor either passes
/// symbols on, so that a packet takes no time, or is busy: it sends a packet of the node's own, then the contents of the bypass FIFO.
/// Its link is then taken without a break, an idle behind every packet, until `free_at`; a packet that comes meanwhile leaves at
/// `free_at`, and each idle that the FIFO need not keep brings the two times a symbol nearer. These times replace the FIFO's
/// contents.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    /// The slot from which the idles that the stripper passes on carry the go bit.
    pub(super) go_from: Slot,
    /// The first slot in which the node may transmit, after a go idle, while the multiplexor passes symbols on.
    pub(super) may_start: Slot,
    /// The slot in which the present transmission began.
    pub(super) busy_from: Slot,
    /// The slot in which the next packet from the bypass FIFO can begin.
    pub(super) free_at: Slot,
    /// The slot in which the first packet entered the bypass FIFO, since it was last empty.
    pub(super) bypass_from: Slot,
    /// The slot in which the last packet has passed by, with the idle behind it, while the multiplexor passed symbols on.
    pub(super) passes_until: Slot,
    /// Whether the multiplexor is busy with a packet of the node's own or with the bypass FIFO (recovery).
    pub(super) is_busy: bool,
    /// Whether a go bit has come in since `busy_from`, before the last packet.
    saved_go: bool,
}

impl Stream {
    /// That of an idle ring.
    pub(super) const START: Self = Self {
        go_from: 0,
        may_start: 0,
        busy_from: 0,
        free_at: 0,
        bypass_from: NEVER,
        passes_until: 0,
        is_busy: false,
        saved_go: false,
    };

    /// The node begins to transmit a packet of its own, behind which it sends an idle.
    pub(super) fn start(&mut self, slot: Slot, symbols: u32) {
        (self.is_busy, self.busy_from, self.saved_go) = (true, slot, false);
        self.free_at = slot + Slot::from(symbols) + 1;
    }

    /// The idle in `slot` ends a busy time. Returns whether it carries the go bit, as it does if one has come in meanwhile.
    pub(super) fn end_busy(&mut self, slot: Slot) -> bool {
        (self.is_busy, self.bypass_from) = (false, NEVER);
        let goes = self.go_before(slot + 1);
        self.may_start = if goes { slot + 1 } else { NEVER };
        goes
    }

    /// Whether the idles of the input in the busy time, up to and without `slot`, contain a go bit.
    #[inline]
    fn go_before(&self, slot: Slot) -> bool {
        self.saved_go || self.go_from.max(self.busy_from) < slot
    }

    /// A packet leaves the stripper. The idles behind it carry the go bit unless a stop idle comes. Returns the slot in which the
    /// packet leaves the multiplexor: the same one, unless it has to go through the bypass FIFO.
    #[inline]
    pub(super) fn pass_packet(&mut self, slot: Slot, symbols: u16) -> Slot {
        let symbols = Slot::from(symbols);
        if self.is_busy {
            self.saved_go = self.go_before(slot);
            self.bypass_from = self.bypass_from.min(slot);
            let leaves = self.free_at;
            self.free_at = leaves + symbols + 1;
            self.go_from = slot + symbols;
            return leaves;
        }
        self.pass_by(slot, symbols as u16);
        slot
    }

    /// The same while the multiplexor passes symbols on.
    #[inline]
    pub(super) fn pass_by(&mut self, slot: Slot, symbols: u16) {
        self.go_from = slot + Slot::from(symbols);
        self.may_start = self.go_from + 1;
        self.passes_until = self.may_start;
    }

    /// A stop idle comes: go bits extend over it unless it is behind a packet or behind go idles. Returns whether it goes on.
    #[inline]
    pub(super) fn stop(&mut self, slot: Slot) -> bool {
        self.go_from == slot && self.end_go(slot)
    }

    /// The idles of the input carry no go bit from `slot` on. Returns whether the first of them goes on.
    #[inline]
    pub(super) fn end_go(&mut self, slot: Slot) -> bool {
        if self.is_busy {
            self.saved_go = self.go_before(slot);
            self.go_from = NEVER;
            return false;
        }
        self.go_from = NEVER;
        let goes_on = self.may_start <= slot + 1;
        if goes_on {
            self.may_start = NEVER;
        }
        goes_on
    }

    /// The first go idle behind stop idles comes. Returns whether it goes on.
    #[inline]
    pub(super) fn go(&mut self, slot: Slot) -> bool {
        if self.go_from <= slot {
            return false;
        }
        self.go_from = slot;
        self.pass_go(slot)
    }

    /// The idles of the input carry the go bit from `slot` on. Returns whether the first of them goes on.
    #[inline]
    pub(super) fn pass_go(&mut self, slot: Slot) -> bool {
        let goes_on = !self.is_busy && self.may_start > slot + 1;
        if goes_on {
            self.may_start = slot + 1;
        }
        goes_on
    }

    /// The idle of `mark` comes. Returns whether it goes on.
    #[inline]
    pub(super) fn pass_idle(&mut self, mark: &Mark) -> bool {
        if mark.is(Change::Stop) { self.stop(mark.slot) } else { self.go(mark.slot) }
    }

    /// The change of `mark` comes.
    #[inline]
    pub(super) fn pass(&mut self, mark: &Mark) {
        if mark.is_packet() {
            self.pass_packet(mark.slot, mark.symbols());
        } else {
            self.pass_idle(mark);
        }
    }
}
