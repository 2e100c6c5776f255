//! A ring simulated symbol by symbol, as a reference: shift registers, FIFOs of symbols, one decision of each node in
//! each slot.

use std::collections::VecDeque;

use units::Time;

use super::super::*;
use super::{Model, Symbol};

const GO: Symbol = Symbol::Idle { go: true };

/// A packet of the reference.
#[derive(Clone, Copy)]
struct Held {
    packet: Packet,
    entered: Slot,
    accepted: bool,
    transmissions: u32,
}

#[derive(Clone, Copy, PartialEq)]
enum Multiplexor {
    Passing,
    Sending {
        id: usize,
        index: u32,
    },
    /// The idle behind the node's own packet.
    Behind,
    Recovering,
}

/// The input buffer of one subaction, with a list of its busied packets.
#[derive(Clone, Default)]
struct Input {
    free: u32,
    serves_second: bool,
    /// Packets, and whether they are of the second generation.
    busied: Vec<(usize, bool)>,
}

impl Input {
    fn admit(&mut self, id: usize, symbols: u32) -> bool {
        let served = self.serves_second;
        let old_wait = self.busied.iter().any(|&(_, second)| second == served);
        let known = self.busied.iter().position(|&(other, _)| other == id);
        let may_enter = known.map_or(!old_wait, |place| self.busied[place].1 == served);
        if may_enter && symbols <= self.free {
            self.free -= symbols;
            if let Some(place) = known {
                self.busied.remove(place);
                if self.busied.iter().all(|&(_, second)| second != served) {
                    self.serves_second = !served;
                }
            }
            return true;
        }
        if known.is_none() {
            self.busied.push((id, if old_wait { !served } else { served }));
        }
        false
    }
}

struct Node {
    /// The incoming wire and the stages of the stripper.
    shift: VecDeque<Symbol>,
    /// The last symbols that came in, left the stripper, and left the node.
    came: Symbol,
    stripped: Symbol,
    sent: Symbol,
    fifo: VecDeque<Symbol>,
    stored_packets: u64,
    multiplexor: Multiplexor,
    saved_go: bool,
    fresh: [VecDeque<usize>; 2],
    busied: [VecDeque<usize>; 2],
    space: [u32; 2],
    outstanding: [u32; 2],
    has_refused: [bool; 2],
    last: usize,
    input: [Input; 2],
}

/// The reference.
pub struct Symbols {
    spec: RingSpec,
    nodes: Vec<Node>,
    held: Vec<Held>,
    outcomes: Vec<Outcome>,
    slot: Slot,
    /// By link, all symbols that have been sent.
    pub trace: Vec<Vec<Symbol>>,
    pub statistics: Vec<NodeStatistics>,
}

impl Symbols {
    pub fn new(spec: RingSpec) -> Self {
        let hop = ((spec.wire.0 + spec.stripper.0) / spec.symbol.0) as usize;
        let input = Input { free: spec.buffers.input, ..Input::default() };
        let node = || Node {
            shift: vec![GO; hop].into(),
            came: GO,
            stripped: GO,
            sent: GO,
            fifo: VecDeque::new(),
            stored_packets: 0,
            multiplexor: Multiplexor::Passing,
            saved_go: false,
            fresh: Default::default(),
            busied: Default::default(),
            space: [spec.buffers.output; 2],
            outstanding: [0; 2],
            has_refused: [false; 2],
            last: 1,
            input: [input.clone(), input.clone()],
        };
        let count = spec.nodes as usize;
        Self {
            spec,
            nodes: (0..count).map(|_| node()).collect(),
            held: Vec::new(),
            outcomes: Vec::new(),
            slot: 0,
            trace: vec![Vec::new(); count],
            statistics: vec![NodeStatistics::default(); count],
        }
    }

    fn now(&self) -> Time {
        Time(self.slot * self.spec.symbol.0)
    }

    fn size(&self, id: usize) -> u32 {
        self.spec.sizes.of(self.held[id].packet.format)
    }

    /// All nodes take one step at the same time.
    fn step(&mut self) {
        let out: Vec<Symbol> = (0..self.nodes.len()).map(|node| self.step_node(node)).collect();
        let count = out.len();
        for (node, symbol) in out.into_iter().enumerate() {
            self.trace[node].push(symbol);
            self.nodes[node].sent = symbol;
            self.nodes[(node + 1) % count].shift.push_back(symbol);
            self.count(node, symbol);
        }
        self.slot += 1;
    }

    fn step_node(&mut self, n: usize) -> Symbol {
        let came = self.nodes[n].shift.pop_front().expect("a symbol comes in each slot");
        if self.nodes[n].multiplexor == Multiplexor::Passing && self.nodes[n].sent == GO {
            self.start(n);
        }
        let node = &self.nodes[n];
        let waiting: usize = [&node.fresh, &node.busied].into_iter().flatten().map(VecDeque::len).sum();
        let can_send = self.choose(n).is_some();
        let last = std::mem::replace(&mut self.nodes[n].came, came);
        let is_behind = matches!((last, came), (Symbol::Packet { .. }, Symbol::Idle { .. }));
        let symbol = self.strip(n, came, is_behind);
        let before = std::mem::replace(&mut self.nodes[n].stripped, symbol);
        let node = &mut self.nodes[n];
        let obstacle = match node.multiplexor {
            _ if !can_send => Obstacle::ActiveBuffer,
            Multiplexor::Sending { .. } | Multiplexor::Behind => Obstacle::OwnPacket,
            Multiplexor::Recovering => Obstacle::Recovery,
            Multiplexor::Passing => {
                let passes = [before, symbol].iter().any(|symbol| matches!(symbol, Symbol::Packet { .. }));
                if passes { Obstacle::PassingPacket } else { Obstacle::GoBit }
            }
        };
        self.statistics[n].waits[obstacle as usize] += waiting as u64;
        let store = |node: &mut Node| match symbol {
            Symbol::Packet { index, .. } => {
                node.stored_packets += u64::from(index == 0);
                node.fifo.push_back(symbol);
            }
            Symbol::Idle { go } => {
                node.saved_go |= go;
                if matches!(before, Symbol::Packet { .. }) {
                    node.fifo.push_back(symbol);
                }
            }
        };
        match node.multiplexor {
            Multiplexor::Passing => match symbol {
                Symbol::Idle { go } => Symbol::Idle { go: go || !is_behind && node.sent == GO },
                symbol => symbol,
            },
            Multiplexor::Sending { id, index } => {
                store(node);
                let packet = self.held[id].packet;
                let is_last = index + 1 == self.spec.sizes.of(packet.format);
                node.multiplexor =
                    if is_last { Multiplexor::Behind } else { Multiplexor::Sending { id, index: index + 1 } };
                Symbol::Packet { packet, id, echo: false, index }
            }
            Multiplexor::Behind => {
                store(node);
                node.multiplexor = if node.fifo.is_empty() { Multiplexor::Passing } else { Multiplexor::Recovering };
                Symbol::Idle { go: node.fifo.is_empty() && node.saved_go }
            }
            Multiplexor::Recovering => {
                let first = node.fifo.pop_front().expect("a FIFO in recovery is not empty");
                store(node);
                assert!(node.fifo.len() <= self.spec.buffers.bypass as usize, "the bypass FIFO overflows");
                if node.fifo.is_empty() {
                    node.multiplexor = Multiplexor::Passing;
                    return Symbol::Idle { go: node.saved_go };
                }
                if let Symbol::Idle { .. } = first { Symbol::Idle { go: false } } else { first }
            }
        }
    }

    /// The subaction whose turn it is among those with a packet that may be sent.
    fn choose(&self, n: usize) -> Option<usize> {
        let node = &self.nodes[n];
        let all: u32 = node.outstanding.iter().sum();
        let has_buffer = |subaction: usize| match self.spec.transmission {
            PassTransmission::One => all == 0,
            PassTransmission::OneOfEach => node.outstanding[subaction] == 0,
            PassTransmission::Several(count) => node.outstanding[subaction] < count,
        };
        let can = |k: usize| has_buffer(k) && node.fresh[k].len() + node.busied[k].len() > 0;
        [1 - node.last, node.last].into_iter().find(|&k| can(k))
    }

    fn start(&mut self, n: usize) {
        let Some(k) = self.choose(n) else { return };
        let node = &mut self.nodes[n];
        node.last = k;
        let is_fresh = node.busied[k].is_empty();
        let id = if is_fresh { node.fresh[k].pop_front() } else { node.busied[k].pop_front() }.expect("there is one");
        node.outstanding[k] += 1;
        node.multiplexor = Multiplexor::Sending { id, index: 0 };
        node.saved_go = false;
        self.held[id].transmissions += 1;
        let (symbols, packet, at) = (self.size(id), self.held[id].packet, self.now());
        let node = &mut self.nodes[n];
        if is_fresh {
            node.space[k] += symbols;
            if std::mem::take(&mut node.has_refused[k]) {
                self.outcomes.push(Outcome::Space { at, node: packet.from, subaction: packet.subaction });
            }
        }
    }

    /// The stripper turns the symbol that came into another. `is_behind` means that it is the idle behind
    /// a packet.
    fn strip(&mut self, n: usize, came: Symbol, is_behind: bool) -> Symbol {
        let left = Symbol::Idle { go: self.nodes[n].stripped == GO };
        match came {
            Symbol::Idle { go } => Symbol::Idle { go: go || !is_behind && left == GO },
            Symbol::Packet { packet, id, echo: false, index } if packet.to.index() == n => {
                let symbols = self.size(id);
                if index == 0 {
                    self.held[id].accepted = self.nodes[n].input[packet.subaction as usize].admit(id, symbols);
                    let count = &mut self.statistics[n];
                    *if self.held[id].accepted { &mut count.accepted } else { &mut count.busied } += 1;
                }
                if index + 1 == symbols && self.held[id].accepted {
                    self.outcomes.push(Outcome::Delivered { at: self.now(), packet });
                }
                match (index + self.spec.sizes.echo).checked_sub(symbols) {
                    Some(index) => Symbol::Packet { packet, id, echo: true, index },
                    None => left,
                }
            }
            Symbol::Packet { packet, id, echo: true, index } if packet.from.index() == n => {
                if index + 1 == self.spec.sizes.echo {
                    self.complete(n, id);
                }
                left
            }
            packet => packet,
        }
    }

    fn complete(&mut self, n: usize, id: usize) {
        let Held { packet, entered, accepted, .. } = self.held[id];
        let k = packet.subaction as usize;
        self.nodes[n].outstanding[k] -= 1;
        if !accepted {
            self.nodes[n].busied[k].push_back(id);
            return;
        }
        let slots = self.slot - entered;
        self.statistics[n].acknowledged += 1;
        self.statistics[n].round_trips += slots;
        let around = self.spec.static_round_trip(packet.from, packet.to, self.size(id));
        self.statistics[n].static_trips += around.0 / self.spec.symbol.0;
        self.statistics[n].longest_round_trip = self.statistics[n].longest_round_trip.max(slots);
        self.outcomes.push(Outcome::Acknowledged { at: self.now(), packet, round_trip: self.spec.symbol * slots });
    }

    fn count(&mut self, n: usize, symbol: Symbol) {
        let (sizes, count) = (self.spec.sizes, &mut self.statistics[n]);
        if let Symbol::Packet { packet, id, echo, index } = symbol {
            *if echo { &mut count.echoes } else { &mut count.sends }.get_mut(packet.subaction as usize).unwrap() += 1;
            let end = if echo { packet.to } else { packet.from };
            count.inserted += u64::from(end.index() == n);
            if packet.from.index() == n && !echo && index == 0 {
                count.transmitted += 1;
                count.retransmitted += u64::from(self.held[id].transmissions > 1);
                let has_line = packet.format == Format::Data;
                count.data_packets += u64::from(has_line);
                count.payload += if has_line { sizes.payload.into() } else { 0 };
            }
        }
        let Node { fifo, stored_packets, .. } = &self.nodes[n];
        let packets = fifo.iter().filter(|symbol| matches!(symbol, Symbol::Packet { .. }));
        count.bypass_in_use += u64::from(!fifo.is_empty());
        let begins = |symbol: &&Symbol| matches!(symbol, Symbol::Packet { index: 0, .. });
        count.bypass_delay += fifo.iter().filter(begins).count() as u64;
        count.bypass_occupancy += packets.count() as u64;
        count.bypassed = *stored_packets;
    }
}

impl Model for Symbols {
    fn offer(&mut self, packet: Packet, slot: Slot) -> bool {
        assert_eq!(slot, self.slot, "the reference is told in the slot itself");
        let (n, k) = (packet.from.index(), packet.subaction as usize);
        let symbols = self.spec.sizes.of(packet.format);
        let node = &mut self.nodes[n];
        if node.space[k] < symbols {
            node.has_refused[k] = true;
            return false;
        }
        node.space[k] -= symbols;
        node.fresh[k].push_back(self.held.len());
        self.held.push(Held { packet, entered: slot, accepted: false, transmissions: 0 });
        true
    }

    fn release(&mut self, packet: &Packet, slot: Slot) {
        assert_eq!(slot, self.slot);
        let symbols = self.spec.sizes.of(packet.format);
        self.nodes[packet.to.index()].input[packet.subaction as usize].free += symbols;
    }

    fn run(&mut self, slot: Slot) {
        while self.slot <= slot {
            self.step();
        }
    }

    fn next(&self) -> Option<Slot> {
        Some(self.slot)
    }

    fn outcomes(&mut self) -> Vec<Outcome> {
        std::mem::take(&mut self.outcomes)
    }
}
