//! Transitions of the bus model: run the protocol's handlers, apply the planted fault if there is one, check.

use protocol::ProtocolError;
use protocol::snoop::{Command, DataPhase, Moesi, Operation, Recall, Reply, Rights, Start, memory};
use units::{CpuId, NodeId};

use super::Bus;
use super::check::stored_on_old;
use super::state::{JUST_STORED, STALE, State, Step};
use crate::model::{Property, Violation};

/// Node of the bus.
const NODE: NodeId = NodeId(0);

impl Bus {
    /// Visits the operations that a processor may start.
    pub(super) fn processor_steps(
        &self,
        state: &State,
        cpu: CpuId,
        visit: &mut impl FnMut(Step, Result<State, Violation>),
    ) {
        for &operation in &self.operations {
            let mut after = state.clone();
            let cache = &mut after.caches[cpu.index()];
            let outcome = cache.start(operation);
            if let Some(mutation) = self.mutation {
                mutation.after_start(cache);
            }
            let stored = operation == Operation::Store && outcome == Start::Done;
            // A hit that changes nothing is no step.
            if stored || after != *state {
                visit(Step::Operate(cpu, operation), self.finish(after, Some(cpu).filter(|_| stored)));
            }
        }
    }

    /// Performs the bus request of a cache, or of the device. A retry that changes nothing is no step.
    pub(super) fn bus_step(
        &self,
        state: &State,
        requester: Option<CpuId>,
        visit: &mut impl FnMut(Step, Result<State, Violation>),
    ) {
        let wanted = match requester {
            Some(cpu) => state.caches[cpu.index()].request,
            None => state.device.request(),
        };
        let Some(wanted) = wanted else { return };
        let command = self.mutation.map_or(wanted, |mutation| mutation.on_the_bus(requester, wanted));
        let after = self.transaction(state.clone(), requester, command);
        if after.as_ref() != Ok(state) {
            visit(Step::Bus(requester, command), after);
        }
    }

    /// Performs one transaction: all participants reply, and if none replies "retry", all apply it.
    fn transaction(&self, mut after: State, requester: Option<CpuId>, command: Command) -> Result<State, Violation> {
        let mut reply = Reply::default();
        for cpu in self.cpus().filter(|&cpu| Some(cpu) != requester) {
            let cache = &after.caches[cpu.index()];
            let own = cache.snoop(cpu, command).map_err(unexpected)?;
            reply = reply.and(self.mutation.map_or(own, |mutation| mutation.reply_of_cache(cache, own)));
        }
        if requester.is_some() {
            let own = after.device.snoop(NODE, command).map_err(unexpected)?;
            let device = &mut after.device;
            reply = reply.and(self.mutation.map_or(own, |mutation| mutation.reply_of_device(device, command, own)));
        }
        if reply.retry {
            return Ok(after);
        }
        for cpu in self.cpus().filter(|&cpu| Some(cpu) != requester) {
            let cache = &mut after.caches[cpu.index()];
            let before = *cache;
            cache.observe(cpu, command).map_err(unexpected)?;
            if let Some(mutation) = self.mutation {
                mutation.after_observing(&before, cache, command);
            }
        }
        let written = requester.map(|cpu| after.caches[cpu.index()].version);
        let before = after.memory;
        let phase = memory(&mut after.memory, command, reply, written);
        if self.mutation.is_some_and(|mutation| mutation.drops_memory_write(command)) {
            after.memory = before;
        }
        match requester {
            Some(cpu) => {
                after.caches[cpu.index()].complete(reply, phase);
                let stored = matches!(command, Command::ReadExclusive | Command::Upgrade);
                self.finish(after, requester.filter(|_| stored))
            }
            None => {
                hand_over(&mut after, phase);
                self.finish(after, None)
            }
        }
    }

    /// Visits the steps of the other nodes of the cluster.
    pub(super) fn cluster_steps(&self, state: &State, visit: &mut impl FnMut(Step, Result<State, Violation>)) {
        let mut granted = state.clone();
        if let Some(rights) = granted.device.grant() {
            granted.memory = granted.outside;
            if rights == Rights::Write {
                granted.outside = STALE;
            }
            visit(Step::Grant(rights), self.finish(granted, None));
        }
        for recall in [Recall::Share, Recall::Take] {
            let mut recalled = state.clone();
            if recalled.device.recall(recall) {
                visit(Step::Recall(recall), self.finish(recalled, None));
            }
        }
        if state.device.rights == Rights::None {
            let mut stored = state.clone();
            stored.outside = stored.outside.next();
            let after = if stored.outside == JUST_STORED {
                stored.renumber(None);
                self.finish(stored, None)
            } else {
                Err(stored_on_old("the rest of the cluster"))
            };
            if after.as_ref() != Ok(state) {
                visit(Step::StoreOutside, after);
            }
        }
    }

    /// Accounts for a store by `stored`, and checks the state.
    fn finish(&self, mut after: State, stored: Option<CpuId>) -> Result<State, Violation> {
        if let Some(cpu) = stored {
            let cache = &after.caches[cpu.index()];
            if cache.version != JUST_STORED || cache.state != Moesi::Modified {
                return Err(stored_on_old(&format!("{cpu:?}")));
            }
            after.renumber(stored);
        }
        self.check(&after)?;
        Ok(after)
    }
}

/// Completes the device's own transaction: its data go to the other nodes.
fn hand_over(after: &mut State, phase: DataPhase) {
    after.device.complete();
    if let Some((version, _)) = phase.data {
        after.outside = version;
    }
    if after.device.rights == Rights::None {
        after.memory = STALE;
    }
}

fn unexpected(error: ProtocolError) -> Violation {
    Violation { property: Property::ExpectedMessage, detail: error.to_string() }
}
