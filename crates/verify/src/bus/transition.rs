//! Transitions of bus protocols: run the protocol's handlers, apply the planted fault if there is one, check.

use protocol::contract::Started;
use protocol::{Access, ProtocolError};
use units::{CpuId, NodeId};

use super::check::stored_on_old;
use super::state::{BusState, BusStep, JUST_STORED};
use super::{Beyond, BusModel, BusPlant, ExploredBus};
use crate::model::{Property, Violation};

/// Node of the bus.
const NODE: NodeId = NodeId(0);

/// Result of a step.
type After<B, O> = Result<BusState<B, O>, Violation>;

impl<B: ExploredBus, O: Beyond<B>> BusModel<B, O> {
    /// Visits the accesses and the eviction that a cache may start. A hit that changes nothing is no step.
    pub(super) fn processor_steps(
        &self,
        state: &BusState<B, O>,
        cpu: CpuId,
        visit: &mut dyn FnMut(BusStep<B, O>, After<B, O>),
    ) {
        let started = |start: &dyn Fn(&mut B::CacheLine) -> Started| {
            let mut after = state.clone();
            let line = &mut after.caches[cpu.index()];
            let started = start(line);
            if let Some(BusPlant::Start(fault)) = self.plant {
                fault(line);
            }
            (after != *state).then_some((after, started))
        };
        for &access in &self.accesses {
            if let Some((after, outcome)) = started(&|line| B::access(line, access)) {
                let performed = (outcome == Started::Done).then_some(access);
                visit(BusStep::Access(cpu, access), self.finish(after, Some(cpu), performed));
            }
        }
        if let Some((after, _)) = started(&B::evict) {
            visit(BusStep::Evict(cpu), self.finish(after, Some(cpu), None));
        }
    }

    /// Performs the bus request of a cache, or of the further participant. A retry that changes nothing is no step.
    pub(super) fn bus_step(
        &self,
        state: &BusState<B, O>,
        requester: Option<CpuId>,
        visit: &mut dyn FnMut(BusStep<B, O>, After<B, O>),
    ) {
        let wanted = match requester {
            Some(cpu) => B::request(&state.caches[cpu.index()]),
            None => state.beyond.request(),
        };
        let Some(wanted) = wanted else { return };
        let command = match (self.plant.as_ref(), requester) {
            (Some(BusPlant::RequestBeyond(fault)), None) => fault(wanted),
            _ => wanted,
        };
        let after = self.transaction(state.clone(), requester, command);
        if after.as_ref() != Ok(state) {
            visit(BusStep::Bus(requester, command), after);
        }
    }

    /// Performs one transaction: all participants reply, and if none replies "retry", all apply it.
    fn transaction(&self, mut after: BusState<B, O>, requester: Option<CpuId>, command: B::Command) -> After<B, O> {
        let mut reply = B::Reply::default();
        for cpu in self.cpus().filter(|&cpu| Some(cpu) != requester) {
            let line = &after.caches[cpu.index()];
            let own = B::snoop(line, cpu, command).map_err(unexpected)?;
            let planted = match self.plant {
                Some(BusPlant::Reply(fault)) => fault(line, own),
                _ => own,
            };
            reply = B::combine(reply, planted);
        }
        if requester.is_some() {
            let own = after.beyond.snoop(NODE, command).map_err(unexpected)?;
            let planted = match self.plant {
                Some(BusPlant::ReplyBeyond(fault)) => fault(&mut after.beyond, command, own),
                _ => own,
            };
            reply = B::combine(reply, planted);
        }
        if B::is_retry(&reply) {
            return Ok(after);
        }
        for cpu in self.cpus().filter(|&cpu| Some(cpu) != requester) {
            let line = &mut after.caches[cpu.index()];
            let before = *line;
            B::observe(line, cpu, command).map_err(unexpected)?;
            if let Some(BusPlant::Observe(fault)) = self.plant {
                fault(&before, line, command);
            }
        }
        let written = requester.map(|cpu| *B::contents(&mut after.caches[cpu.index()]));
        let before = after.memory;
        let data = B::memory(&mut after.memory, command, reply, written);
        if let Some(BusPlant::DropMemoryWrite(drops)) = self.plant
            && drops(command)
        {
            after.memory = before;
        }
        let performed = match requester {
            Some(cpu) => B::complete(&mut after.caches[cpu.index()], reply, data),
            None => {
                after.beyond.complete();
                after.beyond.hand_over(&mut after.memory, B::on_bus(&data));
                None
            }
        };
        self.finish(after, requester, performed)
    }

    /// Visits the steps of what lies beyond the bus.
    pub(super) fn steps_beyond(&self, state: &BusState<B, O>, visit: &mut dyn FnMut(BusStep<B, O>, After<B, O>)) {
        state.beyond.steps(state.memory, &mut |step, mut beyond, memory, stores| {
            let old = stores && beyond.contents().is_some_and(|contents| *contents != JUST_STORED);
            let mut after = BusState { beyond, memory, ..state.clone() };
            let after = if old {
                Err(stored_on_old("another node"))
            } else {
                if stores {
                    after.renumber(None);
                }
                self.finish(after, None, None)
            };
            if after.as_ref() != Ok(state) {
                visit(BusStep::Beyond(step), after);
            }
        });
    }

    /// Accounts for an access that a cache has performed, and checks the state.
    fn finish(&self, mut after: BusState<B, O>, cpu: Option<CpuId>, performed: Option<Access>) -> After<B, O> {
        if let (Some(cpu), Some(Access::Store)) = (cpu, performed) {
            if !Self::has_stored(&after.caches[cpu.index()]) {
                return Err(stored_on_old(&format!("{cpu:?}")));
            }
            after.renumber(Some(cpu));
        }
        self.check(&after)?;
        Ok(after)
    }
}

fn unexpected(error: ProtocolError) -> Violation {
    Violation { property: Property::ExpectedMessage, detail: error.to_string() }
}
