//! The ring against a symbol-by-symbol reference, its latencies, its progress, its limits and its planted faults.

mod agreement;
mod limits;
mod progress;
mod queueing;
mod symbols;
mod traffic;

use units::Time;

use super::link::{Change, Mark};
use super::*;

/// A change on the link that leaves a node, with its packet.
pub(super) type Traced = (usize, Slot, Change, Option<Packet>);

/// A symbol of a link.
#[derive(Clone, Copy, Debug)]
enum Symbol {
    Idle {
        go: bool,
    },
    /// The symbol with number `index` of a packet or of its echo. The reference has a number of its own for the packet.
    Packet {
        packet: Packet,
        id: usize,
        echo: bool,
        index: u32,
    },
}

impl PartialEq for Symbol {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Idle { go: one }, Self::Idle { go: other }) => one == other,
            (
                Self::Packet { packet: one, echo: one_echo, index: one_index, .. },
                Self::Packet { packet: other, echo: other_echo, index: other_index, .. },
            ) => (one, one_echo, one_index) == (other, other_echo, other_index),
            _ => false,
        }
    }
}

/// Symbols as text: `+` and `-` for go and stop idles, letters from `a` on for sends by
/// target, from `p` on for echoes by their targets, capitals where packets begin.
fn show(symbols: &[Symbol]) -> String {
    let letter = |symbol: &Symbol| match *symbol {
        Symbol::Idle { go } => {
            if go {
                '+'
            } else {
                '-'
            }
        }
        Symbol::Packet { packet, echo, index, .. } => {
            let name = if echo { b'p' + packet.from.0 as u8 } else { b'a' + packet.to.0 as u8 } as char;
            if index == 0 { name.to_ascii_uppercase() } else { name }
        }
    };
    symbols.iter().map(letter).collect()
}

/// A ring as traffic uses it, whichever way it is simulated. Slots count symbol times.
trait Model {
    /// Offers a packet. Returns whether there was space.
    fn offer(&mut self, packet: Packet, slot: Slot) -> bool;
    fn release(&mut self, packet: &Packet, slot: Slot);
    /// Runs through `slot`.
    fn run(&mut self, slot: Slot);
    /// The next slot in which anything may happen.
    fn next(&self) -> Option<Slot>;
    fn outcomes(&mut self) -> Vec<Outcome>;
}

impl Model for Ring {
    fn offer(&mut self, packet: Packet, slot: Slot) -> bool {
        Ring::offer(self, packet, self.spec.time(slot)).is_ok()
    }

    fn release(&mut self, packet: &Packet, slot: Slot) {
        Ring::release(self, packet, self.spec.time(slot));
    }

    fn run(&mut self, slot: Slot) {
        self.run_through(self.spec.time(slot));
    }

    fn next(&self) -> Option<Slot> {
        self.next_event().map(|time| time.0 / self.spec.symbol.0)
    }

    fn outcomes(&mut self) -> Vec<Outcome> {
        Ring::outcomes(self).collect()
    }
}

impl Ring {
    /// Notes a change on the link that leaves `node`.
    pub(super) fn record(&mut self, node: usize, mark: Mark) {
        let packet = match mark.change() {
            Change::Send | Change::Echo => Some(self.records.get(mark.id()).packet),
            Change::Reply | Change::Stop | Change::Go => None,
        };
        self.trace.push((node, mark.slot, mark.change(), packet));
    }

    /// Forgets a change that was noted ahead of time.
    pub(super) fn unrecord(&mut self, node: usize, slot: Slot) {
        let place = self.trace.iter().rposition(|traced| (traced.0, traced.1) == (node, slot)).expect("it was noted");
        self.trace.remove(place);
    }

    /// The symbols that `node` has sent in the first `slots` slots.
    fn symbols(&self, node: usize, slots: Slot) -> Vec<Symbol> {
        let mut symbols = Vec::new();
        let mut go = true;
        for &(_, slot, change, packet) in self.trace.iter().filter(|traced| traced.0 == node) {
            assert!(symbols.len() as Slot <= slot, "{change:?} in slot {slot} begins within a packet");
            symbols.resize(slot as usize, Symbol::Idle { go });
            let (count, echo) = match change {
                Change::Send => (self.spec.sizes.of(packet.unwrap().format), false),
                Change::Echo => (self.spec.sizes.echo, true),
                Change::Reply | Change::Stop | Change::Go => (0, false),
            };
            go = change != Change::Stop;
            symbols.extend((0..count).map(|index| Symbol::Packet { packet: packet.unwrap(), id: 0, echo, index }));
        }
        symbols.resize(slots as usize, Symbol::Idle { go });
        symbols
    }
}

fn packet(from: u16, to: u16, tag: u32) -> Packet {
    Packet { from: NodeId(from), to: NodeId(to), subaction: Subaction::Request, format: Format::Command, tag }
}

/// A ring that works.
fn ring(spec: RingSpec) -> Ring {
    Ring::new(spec).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs until nothing is due.
fn finish(ring: &mut Ring) -> Time {
    let mut last = Time::ZERO;
    while let Some(time) = ring.next_event() {
        last = time;
        ring.run_through(time);
    }
    last
}
