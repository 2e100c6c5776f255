//! Transitions of a cluster: run the handlers of caches, device and home on a copy of the state, apply the planted fault
//! if there is one, renumber, check.

use protocol::cluster::{DirectoryState, HomeOutcome, Lane, Message, NodeOutcome, Site, home};
use protocol::contract::{Bus, Started};
use protocol::snoop::{Command, Reply, Snooping, memory};
use protocol::{Access, Agent, ProtocolError, Version};
use units::{CpuId, NodeId};

use super::fault::{AtDevice, AtHome, Plant};
use super::state::{ClusterState, ClusterStep, JUST_STORED};
use super::{ClusterModel, HOME, LINE, codec};
use crate::model::{Property, Violation};

/// Result of a step.
type After = Result<ClusterState, Violation>;

impl<const OWNED: bool> ClusterModel<OWNED> {
    fn site(node: usize) -> Site {
        Site { node: NodeId(node as u16), line: LINE, home: HOME }
    }

    /// Visits the accesses and the eviction that a cache may start. A hit that changes nothing is no step.
    pub(super) fn processor_steps(&self, state: &ClusterState, cpu: usize, visit: &mut dyn FnMut(ClusterStep, After)) {
        for &access in &self.accesses {
            let mut after = state.clone();
            let started = Snooping::<OWNED>::access(&mut after.caches[cpu], access);
            if after != *state {
                let performed = (started == Started::Done).then_some(access);
                visit(ClusterStep::Access(cpu, access), self.finish(after, Some(cpu), performed));
            }
        }
        let mut after = state.clone();
        Snooping::<OWNED>::evict(&mut after.caches[cpu]);
        if after != *state {
            visit(ClusterStep::Evict(cpu), self.finish(after, Some(cpu), None));
        }
    }

    /// Visits the poisoning of the line by its home's own node, and the end of its poison when the node has taken it.
    pub(super) fn poison_steps(&self, state: &ClusterState, visit: &mut dyn FnMut(ClusterStep, After)) {
        let (node, line) = (HOME.index(), &state.lines[HOME.index()]);
        if line.poisons || line.is_collecting() {
            return;
        }
        if state.entry.poisoned && line.unused {
            return visit(ClusterStep::DeviceBus(node, Command::ReadExclusive), self.gather(state));
        }
        let mut after = state.clone();
        if state.entry.poisoned {
            after.entry.poisoned = false;
            return visit(ClusterStep::Restore, self.finish(after, None, None));
        }
        let mut sent = Vec::new();
        after.lines[node].poison(&Self::site(node), &mut |message| sent.push(message));
        self.plant_at_device(state, &mut after, node, None, &mut sent);
        visit(ClusterStep::Poison, self.sent(after, &sent));
    }

    /// Performs the transaction by which the home's device takes a poisoned line from the caches of its node.
    fn gather(&self, state: &ClusterState) -> After {
        let (mut after, node, command) = (state.clone(), HOME.index(), Command::ReadExclusive);
        after.lines[node].snoop(HOME, command).map_err(unexpected)?;
        let reply = self.replies(&after, node, None, command)?;
        self.observe(&mut after, node, None, command)?;
        if let Some((version, _)) = memory(&mut after.contents[node], command, reply, None).data {
            after.contents[node] = version;
        }
        self.finish(after, None, None)
    }

    /// Visits the replacement of the line in a node's block cache.
    pub(super) fn replacement(&self, state: &ClusterState, node: usize, visit: &mut dyn FnMut(ClusterStep, After)) {
        let mut after = state.clone();
        if after.lines[node].evict(&Self::site(node)) == Started::Requested {
            self.plant_at_device(state, &mut after, node, None, &mut Vec::new());
            visit(ClusterStep::Replace(node), self.finish(after, None, None));
        }
    }

    /// Performs the bus request of a cache, or of the device. A retry that changes nothing is no step.
    pub(super) fn bus_step(
        &self,
        state: &ClusterState,
        node: usize,
        requester: Option<usize>,
        visit: &mut dyn FnMut(ClusterStep, After),
    ) {
        let command = match requester {
            Some(cpu) => state.caches[cpu].request,
            None => match self.plant {
                Some(Plant::Request(fault)) => fault(&state.lines[node], state.lines[node].bus_request()),
                _ => state.lines[node].bus_request(),
            },
        };
        let Some(command) = command else { return };
        let after = self.transaction(state, node, requester, command);
        if after.as_ref() != Ok(state) {
            let step = match requester {
                Some(cpu) => ClusterStep::Bus(cpu, command),
                None => ClusterStep::DeviceBus(node, command),
            };
            visit(step, after);
        }
    }

    /// Performs one transaction: all participants reply, and if the device does not reply "retry", all apply it.
    fn transaction(&self, before: &ClusterState, node: usize, requester: Option<usize>, command: Command) -> After {
        let mut after = before.clone();
        let mut reply = self.replies(before, node, requester, command)?;
        let mut sent = Vec::new();
        if requester.is_some() {
            reply = reply.and(self.device_reply(&mut after, node, command)?);
            if reply.retry {
                after.lines[node].fetch(&Self::site(node), &mut |message| sent.push(message));
                self.plant_at_device(before, &mut after, node, None, &mut sent);
                return self.sent(after, &sent);
            }
        }
        self.observe(&mut after, node, requester, command)?;
        let written = requester.map(|cpu| after.caches[cpu].version);
        let data = memory(&mut after.contents[node], command, reply, written);
        let on_bus = data.data.map(|(version, _)| version);
        let performed = match requester {
            Some(cpu) => Snooping::<OWNED>::complete(&mut after.caches[cpu], reply, data),
            None => {
                after.lines[node].complete(&Self::site(node), on_bus, &mut |message| sent.push(message));
                None
            }
        };
        self.plant_at_device(before, &mut after, node, None, &mut sent);
        send(&mut after, &sent);
        self.finish(after, requester, performed)
    }

    /// The combined reply of a node's caches but the requester's.
    fn replies(
        &self,
        state: &ClusterState,
        node: usize,
        requester: Option<usize>,
        command: Command,
    ) -> Result<Reply, Violation> {
        self.cpus_of(node).filter(|&cpu| Some(cpu) != requester).try_fold(Reply::default(), |reply, cpu| {
            Ok(reply.and(state.caches[cpu].snoop(CpuId(cpu as u16), command).map_err(unexpected)?))
        })
    }

    /// The caches of a node but the requester's apply a transaction.
    fn observe(
        &self,
        state: &mut ClusterState,
        node: usize,
        requester: Option<usize>,
        command: Command,
    ) -> Result<(), Violation> {
        for cpu in self.cpus_of(node).filter(|&cpu| Some(cpu) != requester) {
            state.caches[cpu].observe(CpuId(cpu as u16), command).map_err(unexpected)?;
        }
        Ok(())
    }

    fn device_reply(&self, after: &mut ClusterState, node: usize, command: Command) -> Result<Reply, Violation> {
        let line = &mut after.lines[node];
        let before = *line;
        let reply = line.snoop(NodeId(node as u16), command).map_err(unexpected)?;
        Ok(match self.plant {
            Some(Plant::Reply(fault)) => fault(&before, command, reply),
            _ => reply,
        })
    }

    /// Visits the arrival of every message in flight; equal messages once.
    pub(super) fn deliveries(&self, state: &ClusterState, visit: &mut dyn FnMut(ClusterStep, After)) {
        let words = state.messages();
        for (index, &word) in words.iter().enumerate() {
            if index > 0 && words[index - 1] == word {
                continue;
            }
            let message = codec::unpack_message(word);
            let mut rest = state.clone();
            rest.take(index);
            let after = match message.to {
                Agent::Interface(node) => self.at_device(rest, node.index(), &message),
                _ => match self.at_home(rest, &message) {
                    Ok(None) => continue,
                    Ok(Some(after)) => Ok(after),
                    Err(violation) => Err(violation),
                },
            };
            visit(ClusterStep::Deliver(message), after);
        }
    }

    /// Delivers a message to the device of a node.
    fn at_device(&self, rest: ClusterState, node: usize, message: &Message) -> After {
        let (mut after, mut sent) = (rest.clone(), Vec::new());
        let contents: &mut Version = &mut after.contents[node];
        let mut push = |message| sent.push(message);
        let outcome = after.lines[node]
            .receive(&self.protocol, &Self::site(node), contents, message, &mut push)
            .map_err(unexpected)?;
        if outcome == NodeOutcome::Poisoned {
            self.bus_errors(&mut after, node);
        }
        self.plant_at_device(&rest, &mut after, node, Some(message), &mut sent);
        self.sent(after, &sent)
    }

    /// The requests of a node's caches end in bus errors.
    fn bus_errors(&self, after: &mut ClusterState, node: usize) {
        for cpu in self.cpus_of(node) {
            let cache = &mut after.caches[cpu];
            if cache.request.is_some_and(|command| command != Command::Writeback) {
                cache.request = None;
            }
        }
    }

    /// Delivers a message to the home; `None` if the line is busy.
    fn at_home(&self, rest: ClusterState, message: &Message) -> Result<Option<ClusterState>, Violation> {
        let (mut after, mut sent) = (rest.clone(), Vec::new());
        if let (Some(Plant::ServeBusy), Lane::Request, DirectoryState::Forwarded { owner, .. }) =
            (self.plant, message.kind.lane(), after.entry.state)
        {
            after.entry.state = DirectoryState::Owned { owner };
        }
        if matches!(self.plant, Some(Plant::ServePoisoned)) {
            after.entry.poisoned = false;
        }
        let memory = &mut after.contents[HOME.index()];
        let mut push = |message| sent.push(message);
        let outcome = home(&mut after.entry, HOME, memory, message, &mut push).map_err(unexpected)?;
        if outcome == HomeOutcome::Busy {
            return Ok(None);
        }
        after.entry.poisoned |= rest.entry.poisoned;
        if let Some(Plant::Home(fault)) = self.plant {
            let before_memory = rest.contents[HOME.index()];
            fault(&mut AtHome {
                message,
                before: &rest.entry,
                before_memory,
                entry: &mut after.entry,
                memory,
                sent: &mut sent,
            });
        }
        self.sent(after, &sent).map(Some)
    }

    fn plant_at_device(
        &self,
        before: &ClusterState,
        after: &mut ClusterState,
        node: usize,
        message: Option<&Message>,
        sent: &mut Vec<Message>,
    ) {
        if let Some(Plant::Device(fault)) = self.plant {
            fault(&mut AtDevice {
                message,
                before: &before.lines[node],
                before_contents: before.contents[node],
                line: &mut after.lines[node],
                contents: &mut after.contents[node],
                sent,
            });
        }
    }

    /// Puts messages in flight, and checks the state.
    fn sent(&self, mut after: ClusterState, messages: &[Message]) -> After {
        send(&mut after, messages);
        self.finish(after, None, None)
    }

    /// Accounts for an access that a cache has performed, and checks the state.
    fn finish(&self, mut after: ClusterState, cpu: Option<usize>, performed: Option<Access>) -> After {
        if let (Some(cpu), Some(Access::Store)) = (cpu, performed) {
            if after.caches[cpu].version != JUST_STORED {
                let detail = format!("cpu{cpu} stores to stale contents");
                return Err(Violation { property: Property::LatestValue, detail });
            }
            after.renumber(cpu);
        }
        self.check(&after)?;
        Ok(after)
    }
}

fn send(state: &mut ClusterState, messages: &[Message]) {
    messages.iter().for_each(|message| state.send(codec::packed(message)));
}

fn unexpected(error: ProtocolError) -> Violation {
    Violation { property: Property::ExpectedMessage, detail: error.to_string() }
}
