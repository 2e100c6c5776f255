//! The steps of messages: from their sender, along their way, to their receiver in the order that the protocol demands.
//!
//! Messages from a core to a slice, back, and from a slice to a memory controller's home arrive in the order in which they were
//! sent, as those of one line must.

use protocol::Agent;
use protocol::server::{Message, MessageKind};
use units::{CpuId, Duration, LineAddr, Time};

use super::Servers;
use super::event::ServerEvent;
use super::fabric::Place;
use crate::system::System;

impl System<Servers> {
    /// A message of a core for its caching agent leaves now.
    pub(super) fn leave_core(&mut self, cpu: CpuId, message: Message) {
        self.leave_core_at(cpu, message, self.kernel.now);
    }

    /// A message of a core for its caching agent leaves at `at`.
    pub(super) fn leave_core_at(&mut self, cpu: CpuId, message: Message, at: Time) {
        let (delay, now) = (self.random_delay(), self.kernel.now);
        self.count_sent(cpu, message.kind);
        let Servers { timing, places, fabric, cores, .. } = &mut self.controllers;
        let cluster = places.design.cluster_of(cpu);
        let slice = places.slice(message.line);
        let (from, to) = (places.core(cpu), places.slice_place(cluster, slice));
        let data = message.kind.carries_data();
        let there = fabric.send((from, to), message.line.0, data, (now, at + timing.core)) + delay;
        let last = &mut cores[cpu.index()].sent[usize::from(slice)];
        *last = there.max(*last);
        let (there, node) = (*last, places.node_of_cluster(cluster));
        let id = self.envelop(message, node);
        self.schedule(node, there, ServerEvent::AtAgent(id));
    }

    fn count_sent(&mut self, cpu: CpuId, kind: MessageKind) {
        let node = self.node_of(cpu);
        self.controllers.counts[node.index()].sent[kind as usize] += 1;
    }

    /// A message leaves an agent at `from`, at `at`.
    pub(super) fn transmit(&mut self, message: Message, from: Place, at: Time) {
        let places = &self.controllers.places;
        match message.to {
            Agent::Processor(cpu) => self.transmit_to_core(message, cpu, from, at),
            Agent::Interface(cluster) => {
                let to = places.caching_agent(cluster, message.line);
                if to == from {
                    return self.controllers.inbox.push(message, at);
                }
                let node = places.node_of_cluster(cluster);
                let there = self.along(&message, from, to, at);
                let id = self.envelop(message, node);
                self.schedule(node, there, ServerEvent::AtAgent(id));
            }
            Agent::Home(node) => {
                let to = places.home_place(message.line);
                if to == from {
                    return self.controllers.inbox.push(message, at);
                }
                let there = self.along(&message, from, to, at);
                let there = self.after_earlier(&message, there);
                let id = self.envelop(message, node);
                self.schedule(node, there, ServerEvent::AtAgent(id));
            }
            Agent::Sharers => debug_assert!(false, "the protocol of servers has no multicast"),
        }
    }

    fn along(&mut self, message: &Message, from: Place, to: Place, at: Time) -> Time {
        let (delay, now) = (self.random_delay(), self.kernel.now);
        self.controllers.fabric.send((from, to), message.line.0, message.kind.carries_data(), (now, at)) + delay
    }

    /// The arrival of a message of a caching agent at a home, not before that of what it has sent there earlier.
    fn after_earlier(&mut self, message: &Message, there: Time) -> Time {
        let Some(cluster) = message.cluster() else { return there };
        let Servers { places, clusters, homes, .. } = &mut self.controllers;
        let (slice, controller) = (places.slice(message.line), places.memory(message.line).0);
        let place = places.home(message.line).index() * homes.nodes[0].len() + controller;
        let last = &mut clusters[cluster.index()].slices[usize::from(slice)].arrivals[place];
        *last = there.max(*last);
        *last
    }

    fn transmit_to_core(&mut self, message: Message, cpu: CpuId, from: Place, at: Time) {
        let (delay, now) = (self.random_delay(), self.kernel.now);
        let Servers { timing, places, fabric, cores, .. } = &mut self.controllers;
        let (slice, to) = (places.slice(message.line), places.core(cpu));
        let data = message.kind.carries_data();
        let there = fabric.send((from, to), message.line.0, data, (now, at)) + timing.core + delay;
        let last = &mut cores[cpu.index()].received[usize::from(slice)];
        *last = there.max(*last);
        let (there, node) = (*last, self.node_of(cpu));
        let id = self.envelop(message, node);
        self.schedule(node, there, ServerEvent::AtCore(cpu, id));
    }
}

impl Servers {
    /// From the request of `core` for a line that no cache has, as it leaves the second-level cache, to its data at the core, if
    /// nothing else happens.
    pub(super) fn unloaded_memory_read(&self, core: CpuId, line: LineAddr) -> Duration {
        let Self { places, fabric, timing, .. } = self;
        let way = |from, to| fabric.unhindered(from, to, line.0);
        let cluster = places.design.cluster_of(core);
        let (at_core, agent) = (places.core(core), places.caching_agent(cluster, line));
        let (home, memory) = (places.home_place(line), places.memory_place(line));
        let early = self.early_read && home.socket != agent.socket;
        let request = if early { Duration::ZERO } else { timing.home_request };
        let asked = timing.core + way(at_core, agent) + timing.lookup + way(agent, home);
        let read = request + way(home, memory) + timing.memory.refresh.mean_wait() + timing.memory.access;
        let answered = read + way(memory, agent);
        // The responses of all caching agents that are snooped come first.
        let snooped = self.unloaded_snoops(cluster, line).map(|answer| timing.home_request + answer + way(home, agent));
        let supplied = snooped.map_or(answered, |snooped| snooped.max(answered));
        asked + supplied + timing.pass + way(agent, at_core) + timing.core
    }

    /// From a home's snoops for a line that no cache has to the last response, if it snoops any other caching agent.
    fn unloaded_snoops(&self, requester: units::NodeId, line: LineAddr) -> Option<Duration> {
        use protocol::server::HomeKind;
        let Self { places, fabric, timing, .. } = self;
        let home = places.home_place(line);
        let local = places.local_of(places.home(line));
        let others = (0..places.design.clusters).map(units::NodeId).filter(|&cluster| cluster != requester);
        let snooped = others.filter(|&cluster| match places.design.home {
            HomeKind::HomeSnoop | HomeKind::EarlySnoop => true,
            HomeKind::Directory { .. } => local == Some(cluster),
            HomeKind::ProbeFilter => false,
        });
        let answer = |cluster| {
            let agent = places.caching_agent(cluster, line);
            fabric.unhindered(home, agent, line.0) * 2 + timing.lookup + timing.home_response
        };
        snooped.map(answer).max()
    }
}
