//! Transactions between nodes: requests by a script, responses by nodes that take packets out of their input buffers in
//! turn.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::super::*;
use super::Model;

/// Tags of responses have this bit.
const RESPONSE: u32 = 1 << 31;

/// Requests to make, and how nodes serve them.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// Requests with the slots of their offers, in any order. A tag is used once.
    pub requests: Vec<(Slot, Packet)>,
    /// Slots in which a node serves a packet, by node.
    pub service: Vec<Slot>,
    /// Slots after which the test gives up.
    pub patience: Slot,
}

/// The account of a run.
#[derive(Debug, PartialEq, Eq, Default)]
pub struct Account {
    /// By time, then by node and packet.
    pub outcomes: Vec<Outcome>,
    /// Refused offers, first tries and others.
    pub refused: usize,
    /// The slot of the last outcome, or `None` if something was missing when patience ended.
    pub ended: Option<Slot>,
}

/// The packets of a node for one output buffer, in order.
type Waiting = VecDeque<Packet>;

/// A run of traffic on a ring.
struct Run<'a, M> {
    model: &'a mut M,
    symbol: u64,
    traffic: &'a Traffic,
    /// Slots in which there is something to do: offers of requests by index, and ends of services of packets.
    due: BinaryHeap<Reverse<(Slot, usize)>>,
    served: Vec<Packet>,
    waiting: Vec<[Waiting; 2]>,
    /// Requests served whose responses have no space: they stay in the input buffer until then.
    free_at: Vec<Slot>,
    account: Account,
    acknowledged: usize,
}

impl<M: Model> Run<'_, M> {
    /// Acts in `slot`, before the ring does.
    fn act(&mut self, slot: Slot) {
        while let Some(&Reverse((due, what))) = self.due.peek()
            && due <= slot
        {
            self.due.pop();
            let requests = self.traffic.requests.len();
            if what < requests {
                let packet = self.traffic.requests[what].1;
                self.waiting[packet.from.index()][0].push_back(packet);
            } else {
                self.serve(self.served[what - requests], slot);
            }
        }
        for node in 0..self.waiting.len() {
            for k in 0..2 {
                while let Some(&packet) = self.waiting[node][k].front() {
                    if !self.model.offer(packet, slot) {
                        self.account.refused += 1;
                        break;
                    }
                    self.waiting[node][k].pop_front();
                    if packet.subaction == Subaction::Response {
                        self.model.release(&request_of(&packet, &self.traffic.requests), slot);
                    }
                }
            }
        }
    }

    /// A node has served a packet. A request stays in the input buffer until its response is in the output buffer.
    fn serve(&mut self, packet: Packet, slot: Slot) {
        if packet.subaction == Subaction::Response {
            self.model.release(&packet, slot);
            return;
        }
        let format = [Format::Data, Format::Command, Format::LongCommand][packet.tag as usize % 3];
        let (from, to, tag) = (packet.to, packet.from, packet.tag | RESPONSE);
        let response = Packet { from, to, subaction: Subaction::Response, format, tag };
        self.waiting[from.index()][1].push_back(response);
    }

    fn note(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Delivered { at, packet } => {
                let node = packet.to.index();
                let slot = at.0 / self.symbol;
                self.free_at[node] = self.free_at[node].max(slot + 1) + self.traffic.service[node];
                self.due.push(Reverse((self.free_at[node], self.traffic.requests.len() + self.served.len())));
                self.served.push(packet);
            }
            Outcome::Acknowledged { .. } => self.acknowledged += 1,
            Outcome::Space { .. } => {}
        }
        self.account.outcomes.push(outcome);
    }

    fn run(mut self) -> Account {
        let all = 2 * self.traffic.requests.len();
        let mut slot = 0;
        while slot <= self.traffic.patience {
            self.act(slot);
            self.model.run(slot);
            for outcome in self.model.outcomes() {
                self.note(outcome);
            }
            if self.acknowledged == all && self.due.is_empty() {
                let at = |outcome: &Outcome| outcome_key(outcome).0 / self.symbol;
                self.account.ended = self.account.outcomes.iter().map(at).max();
                break;
            }
            let due = self.due.peek().map(|&Reverse((due, _))| due);
            // A refused packet tries again in every slot.
            let again = self.waiting.iter().flatten().any(|waiting| !waiting.is_empty()).then_some(slot + 1);
            let Some(next) = [self.model.next(), due, again].into_iter().flatten().min() else { break };
            slot = next.max(slot + 1);
        }
        self.account.outcomes.sort_by_key(outcome_key);
        self.account
    }
}

/// The request that `response` answers.
fn request_of(response: &Packet, requests: &[(Slot, Packet)]) -> Packet {
    let tag = response.tag & !RESPONSE;
    requests.iter().map(|&(_, packet)| packet).find(|packet| packet.tag == tag).expect("responses answer requests")
}

/// The place of an outcome in the account.
fn outcome_key(outcome: &Outcome) -> (u64, usize, u16, u32) {
    match *outcome {
        Outcome::Delivered { at, packet } => (at.0, 0, packet.to.0, packet.tag),
        Outcome::Acknowledged { at, packet, .. } => (at.0, 1, packet.from.0, packet.tag),
        Outcome::Space { at, node, subaction } => (at.0, 2, node.0, subaction as u32),
    }
}

/// Runs `traffic` on a ring until all transactions are complete, patience ends, or nothing is due any more.
pub fn run(model: &mut impl Model, spec: &RingSpec, traffic: &Traffic) -> Account {
    let nodes = spec.nodes as usize;
    let due = traffic.requests.iter().enumerate().map(|(index, &(slot, _))| Reverse((slot, index))).collect();
    let run = Run {
        model,
        symbol: spec.symbol.0,
        traffic,
        due,
        served: Vec::new(),
        waiting: vec![Default::default(); nodes],
        free_at: vec![0; nodes],
        account: Account::default(),
        acknowledged: 0,
    };
    run.run()
}
