//! Transitions of the SCI model: run the protocol's handler, apply the planted fault if there is one, check.

use protocol::sci::{
    CacheLine, CacheState, Operation, Outcome, Request, Response, Start, memory, receive, serve, start,
};
use protocol::{Agent, ProtocolError};
use units::CpuId;

use super::check::stored_on_old;
use super::state::{JUST_STORED, Packet, State};
use super::step::Step;
use super::{HOME, Sci};
use crate::model::{Property, Violation};

impl Sci {
    /// Visits the operations that a processor may start.
    pub(super) fn processor_steps(
        &self,
        state: &State,
        cpu: CpuId,
        visit: &mut impl FnMut(Step, Result<State, Violation>),
    ) {
        for &operation in &self.operations {
            let mut after = state.clone();
            let line = &mut after.caches[cpu.index()];
            let changed = match start(line, &self.context(cpu), operation) {
                Start::Blocked => continue,
                // A hit that changes nothing is no step.
                Start::Done => operation == Operation::Store,
                Start::Requested(request) => {
                    after.packets[cpu.index()] = Some(Packet::Request(request));
                    self.give_up(&mut after, cpu);
                    true
                }
            };
            if changed {
                let stores = state.caches[cpu.index()].state == CacheState::OnlyDirty && operation == Operation::Store;
                visit(Step::Operate(cpu, operation), self.finish(after, cpu, stores));
            }
        }
    }

    /// Delivers the packet in flight on behalf of `cpu`.
    pub(super) fn delivery(&self, state: &State, cpu: CpuId, visit: &mut impl FnMut(Step, Result<State, Violation>)) {
        let Some(packet) = state.packets[cpu.index()] else { return };
        let after = match packet {
            Packet::Request(request) => self.at_target(state.clone(), &request),
            Packet::Response(response) => self.at_requester(state.clone(), cpu, &response),
        };
        visit(Step::Deliver(cpu, packet), after);
    }

    /// Delivers a request to memory or to a cache, which responds.
    fn at_target(&self, mut after: State, request: &Request) -> Result<State, Violation> {
        let mut response = match request.to {
            Agent::Processor(cpu) => {
                let line = &mut after.caches[cpu.index()];
                let before = *line;
                let (mut response, _) = serve(line, &self.context(cpu), request).map_err(unexpected)?;
                if let Some(mutation) = self.mutation {
                    mutation.at_cache(&before, line, request, &mut response);
                }
                response
            }
            _ => memory(&mut after.memory, HOME, request).map_err(unexpected)?.0,
        };
        if let (Some(mutation), Agent::Home(_)) = (self.mutation, request.to) {
            mutation.at_memory(&mut after.memory, request, &mut response);
        }
        after.packets[request.source.index()] = Some(Packet::Response(response));
        self.finish(after, request.source, false)
    }

    /// Delivers a response to the requester, which may send a further request.
    fn at_requester(&self, mut after: State, cpu: CpuId, response: &Response) -> Result<State, Violation> {
        let line = &mut after.caches[cpu.index()];
        let before = *line;
        let mut response = *response;
        if let Some(mutation) = self.mutation {
            mutation.on_the_way(&before, &mut response);
        }
        let progress = receive(line, &self.context(cpu), &response).map_err(unexpected)?;
        after.packets[cpu.index()] = progress.next.map(Packet::Request);
        self.give_up(&mut after, cpu);
        let stored = progress.outcome == Outcome::Completed(Operation::Store);
        self.finish(after, cpu, stored)
    }

    /// Applies a planted fault that ends a transaction too early.
    fn give_up(&self, after: &mut State, cpu: CpuId) {
        let line = &mut after.caches[cpu.index()];
        if self.mutation.is_some_and(|mutation| mutation.gives_up(line)) {
            *line = CacheLine::default();
            after.packets[cpu.index()] = None;
        }
    }

    /// Accounts for a store, and checks the state.
    fn finish(&self, mut after: State, cpu: CpuId, stored: bool) -> Result<State, Violation> {
        if stored {
            if after.caches[cpu.index()].version != JUST_STORED {
                return Err(stored_on_old(cpu));
            }
            after.renumber(cpu);
        }
        self.check(&after)?;
        Ok(after)
    }
}

fn unexpected(error: ProtocolError) -> Violation {
    Violation { property: Property::ExpectedMessage, detail: error.to_string() }
}
