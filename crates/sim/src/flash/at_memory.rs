//! Memory operations: a handler of the home reads a word, and may change it, without caching the line anywhere.
//!
//! The Origin's protocol has a message for them; FLASH's protocols have none, but MAGIC is programmable. The request
//! and its answer take the path of any miss, and the home's handler costs as much as a read, with one read and one
//! write of memory. The network time is the uncontended one. The directory is not consulted, so lines that are used for
//! memory operations must not be cached.

use units::{CpuId, Duration, Time};

use super::Magics;
use super::event::{InterfaceStep, MagicEvent};
use super::handler::Handler;
use crate::kernel::Event;
use crate::processor::{MissId, Post};
use crate::system::System;

/// The stage of a memory operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// The request is at the processor's pins.
    Asked,
    /// The request has passed the inbox of the processor's node.
    Leaves,
    /// The request has passed the inbox of its home.
    AtHome,
    /// The result has passed the inbox of the processor's node.
    Returns,
}

impl Stage {
    /// Every stage, in the order of the event encoding.
    pub const ALL: [Self; 4] = [Self::Asked, Self::Leaves, Self::AtHome, Self::Returns];
}

impl System<Magics> {
    /// A processor requests a memory operation.
    pub(super) fn begin_operation(&mut self, cpu: CpuId, post: &Post) {
        let node = self.node_of(cpu);
        let Some(miss) = super::miss_on(self, node, post.line) else { return };
        self.controllers.nodes[node.index()].account.begin(miss, post.measured);
        let asked = MagicEvent::Interface(cpu, InterfaceStep::Operation(miss, Stage::Asked));
        self.schedule_processor(cpu, post.at, Event::Node(asked));
    }

    /// A memory operation reaches a stage.
    pub(super) fn on_operation(&mut self, cpu: CpuId, miss: MissId, stage: Stage) {
        let (node, now) = (self.node_of(cpu), self.kernel.now);
        let Some(line) = self.processor_mut(cpu).miss(miss).map(|miss| miss.line) else { return };
        let home = self.controllers.lines.home(line);
        let next = |stage| MagicEvent::Interface(cpu, InterfaceStep::Operation(miss, stage));
        match stage {
            Stage::Asked => {
                let through = self.take_bus(node, false);
                self.schedule(node, through, next(Stage::Leaves));
            }
            Stage::Leaves if home == node => self.operate(cpu, miss),
            Stage::Leaves => {
                let sent = self.run_for_operation(cpu, Handler::Request);
                self.controllers.nodes[node.index()].account.leaves(miss, sent);
                let arrives = sent + self.way_of_operation(cpu, miss);
                self.schedule(home, arrives.max(now), next(Stage::AtHome));
            }
            Stage::AtHome => self.operate(cpu, miss),
            Stage::Returns => {
                let done = self.run_for_operation(cpu, Handler::Reply);
                self.give_result(cpu, miss, done);
            }
        }
    }

    /// The home's handler performs the operation.
    fn operate(&mut self, cpu: CpuId, miss: MissId) {
        let (node, now, delay) = (self.node_of(cpu), self.kernel.now, self.random_delay());
        let Some(line) = self.processor_mut(cpu).miss(miss).map(|miss| miss.line) else { return };
        let home = self.controllers.lines.home(line);
        let Magics { design, nodes, .. } = &mut self.controllers;
        let (timing, magic) = (&design.timing, &mut nodes[home.index()]);
        let run = magic.run(design, now, Handler::Read, 0, 0, delay);
        let read = magic.memory.reserve(now, timing.clock, timing.memory_read) + timing.memory_data;
        let ready = run.first.max(read);
        magic.memory.reserve(ready, timing.clock, timing.memory_write);
        if home == node {
            nodes[node.index()].account.asked(miss, now, run.waited);
            return self.give_result(cpu, miss, ready);
        }
        let arrives = ready + self.way_of_operation(cpu, miss);
        self.schedule(node, arrives, MagicEvent::Interface(cpu, InterfaceStep::Operation(miss, Stage::Returns)));
    }

    /// The result crosses to the processor, from `at` on.
    fn give_result(&mut self, cpu: CpuId, miss: MissId, at: Time) {
        let node = self.node_of(cpu);
        let Some(line) = self.processor_mut(cpu).miss(miss).map(|miss| miss.line) else { return };
        self.observe_grant(cpu, line);
        let unhindered = self.controllers.unhindered(&self.network, node, line);
        let remote = self.controllers.lines.home(line) != node;
        self.controllers.nodes[node.index()].account.end(miss, at, remote, &unhindered);
        self.processor_mut(cpu).await_answer(miss, false);
        let timing = &self.controllers.design.timing;
        let out = at + timing.outbox + timing.interface_out;
        self.schedule(node, out, MagicEvent::Answer(cpu, miss, false));
    }

    /// Runs a handler of the processor's own node. Returns when its first message leaves.
    fn run_for_operation(&mut self, cpu: CpuId, handler: Handler) -> Time {
        let (node, now, delay) = (self.node_of(cpu), self.kernel.now, self.random_delay());
        let Magics { design, nodes, .. } = &mut self.controllers;
        nodes[node.index()].run(design, now, handler, 0, 0, delay).first
    }

    /// Uncontended time from a handler's first message to the other node's inbox: half of the round trip without the
    /// two handlers on it.
    fn way_of_operation(&mut self, cpu: CpuId, miss: MissId) -> Duration {
        let node = self.node_of(cpu);
        let Some(line) = self.processor_mut(cpu).miss(miss).map(|miss| miss.line) else { return Duration::ZERO };
        let there_and_back = self.controllers.unhindered(&self.network, node, line).point_to_point;
        let design = &self.controllers.design;
        let handlers = Handler::Request.lead(&design.handlers) + Handler::Reply.lead(&design.handlers);
        Duration(there_and_back.0.saturating_sub(design.timing.cycle.0 * u64::from(handlers)) / 2)
    }
}
