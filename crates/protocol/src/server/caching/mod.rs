//! The caching agent of a core cluster: the L3 slice that a line's address selects, with the tags of cores' copies (Intel's
//! CHA, Zen's L3 of a core complex).
//!
//! An agent serves one request of a line at a time, and snoops beside it while the home has the request. Races resolve as
//! follows:
//! - *A request during a request or a snoop of the line* waits.
//! - *A snoop while the home has the cluster's request* is for an earlier request of another cluster, because the home
//!   serves one at a time and waits for the requester's acknowledgement. It is answered from the copies that there are.
//! - *A snoop while the cluster's own cores are snooped* waits: the home has granted the line, which is used first.
//! - *An invalidation during an upgrade* takes the copies away. If the home then completes the upgrade without data, the
//!   agent acknowledges it, and requests the line again, with data.
//! - *A snoop that crosses a writeback* finds nothing. The writeback is ahead of the response: memory is up to date when the
//!   home reads that this cluster has nothing.
//! - *An eviction of a core that crosses a snoop* is ahead of the core's response, and fills the L3.
//! - *A requester's snoop (early snoop) during a request of this agent* is a conflict, which the home resolves. Another
//!   agent's data then supply the core at once, and the request lasts until the home has completed it.

mod line;
mod replace;
mod request;
mod snoop;

pub(super) use request::snoop_of;

pub use line::{
    CachingLine, CachingOutcome, CachingWork, ClusterState, External, Found, L3Copy, Replaced, Request, Stage,
};
pub use replace::{evict_filter, evict_l3};

use units::CpuId;

use super::{CachingSite, Design, L3, Message, MessageKind};
use crate::{Agent, ProtocolError, Version};

/// Handles a message at the caching agent of a cluster.
///
/// # Errors
/// [`ProtocolError`] if the message cannot reach this line in a correct run.
#[inline]
pub fn at_caching_agent(
    line: &mut CachingLine,
    design: &Design,
    site: &CachingSite,
    message: &Message,
    send: &mut impl FnMut(Message),
) -> Result<CachingOutcome, ProtocolError> {
    use MessageKind as K;
    let mut at = Caching { line, design, site, message, send, work: CachingWork::default() };
    let handled = match message.kind {
        K::CoreRead | K::CoreReadCode | K::CoreReadCurrent | K::CoreReadOwn | K::CoreUpgrade => at.core_request(),
        K::CleanEvict | K::DirtyEvict => at.core_eviction(),
        K::CoreRspI | K::CoreRspS | K::CoreRspIData | K::CoreRspSData | K::CoreRspVData => at.core_response(),
        K::SnoopData | K::SnoopCurrent | K::SnoopOwn | K::SnoopInvalidate | K::SnoopFlush => at.snoop(),
        K::ForwardedData | K::Data | K::Completion => at.completion(),
        _ => Err(at.unexpected("not a message to a caching agent")),
    }?;
    Ok(if handled { CachingOutcome::Done(at.work) } else { CachingOutcome::Busy })
}

/// A line at a caching agent, with the message that it handles.
struct Caching<'a, S> {
    line: &'a mut CachingLine,
    design: &'a Design,
    site: &'a CachingSite,
    message: &'a Message,
    send: &'a mut S,
    work: CachingWork,
}

impl<S: FnMut(Message)> Caching<'_, S> {
    /// Bit of a core.
    fn bit(&self, core: CpuId) -> u64 {
        self.design.core_bit(core)
    }

    /// Sends a message to a core.
    fn send_to_core(&mut self, core: CpuId, kind: MessageKind, edit: impl FnOnce(Message) -> Message) {
        let message = Message::new(kind, self.site.line, Agent::Interface(self.site.cluster), Agent::Processor(core));
        (self.send)(edit(message));
    }

    /// Sends a message about this cluster's request to an agent.
    fn send_to_agent(&mut self, to: Agent, kind: MessageKind, edit: impl FnOnce(Message) -> Message) {
        let message = Message::new(kind, self.site.line, Agent::Interface(self.site.cluster), to);
        (self.send)(edit(message.for_cluster(self.site.cluster)));
    }

    /// Sends a message about this cluster's request to the home.
    fn send_to_home(&mut self, kind: MessageKind) {
        self.send_to_agent(Agent::Home(self.site.home), kind, |message| message);
    }

    /// Snoops cores, of which the first supplies clean data, too, if they are wanted.
    fn snoop_cores(&mut self, cores: u64, kind: MessageKind, wanted: bool) {
        self.line.awaited = cores;
        let first = self.site.cluster.0 * self.design.cores;
        let mut left = cores;
        while left != 0 {
            let core = CpuId(first + left.trailing_zeros() as u16);
            let wanted = wanted && left == cores;
            self.send_to_core(core, kind, |message| message.with_dirty(wanted));
            self.work.snoops += 1;
            left &= left - 1;
        }
    }

    /// Handles the response of a core, and goes on when it is the last one.
    fn core_response(&mut self) -> Result<bool, ProtocolError> {
        use MessageKind as K;
        let Some(core) = self.message.core() else { return Err(self.unexpected("not from a core")) };
        let bit = self.bit(core);
        if self.line.awaited & bit == 0 {
            return Err(self.unexpected("the core has not been snooped"));
        }
        self.line.awaited &= !bit;
        match self.message.kind {
            K::CoreRspI | K::CoreRspIData => self.line.cores &= !bit,
            _ => {}
        }
        if self.message.kind != K::CoreRspVData {
            self.line.sole = false;
        }
        if self.message.kind.carries_data() && (self.message.dirty || self.line.found == Found::None) {
            self.line.found = if self.message.dirty { Found::Dirty } else { Found::Clean };
            self.line.transit = self.message.version;
        }
        if self.line.awaited != 0 {
            return Ok(true);
        }
        match self.line.external {
            Some(External::Snoop { kind, requester }) => self.answer_snoop(kind, requester)?,
            Some(External::ReplaceL3) => self.drop_l3(),
            Some(External::ReplaceFilter) => self.drop_filter(),
            None => self.supply()?,
        }
        Ok(true)
    }

    /// Handles the eviction of a core's copy.
    fn core_eviction(&mut self) -> Result<bool, ProtocolError> {
        let Some(core) = self.message.core() else { return Err(self.unexpected("not from a core")) };
        let bit = self.bit(core);
        if self.line.cores & bit == 0 {
            return Err(self.unexpected("the tags do not have this core"));
        }
        let dirty = self.message.kind == MessageKind::DirtyEvict;
        if dirty && !self.line.sole {
            return Err(self.unexpected("only the one core that may write has a dirty copy"));
        }
        self.line.cores &= !bit;
        self.line.sole = false;
        if dirty {
            self.fill(L3Copy::Dirty, self.message.version);
        } else if self.line.l3 == L3Copy::None {
            self.fill(L3Copy::Clean, self.message.version);
        }
        Ok(true)
    }

    /// Writes data into the L3.
    fn fill(&mut self, copy: L3Copy, version: Version) {
        (self.line.l3, self.line.contents) = (copy, version);
        self.work.l3_write = true;
    }

    /// Takes the data that are on their way, or reads the L3's.
    fn data(&mut self) -> Option<Version> {
        match (self.line.found, self.line.l3) {
            (Found::Clean | Found::Dirty, _) => Some(self.line.transit),
            (Found::None, L3Copy::Clean | L3Copy::Dirty) => {
                self.work.l3_read = true;
                Some(self.line.contents)
            }
            (Found::None, L3Copy::None) => None,
        }
    }

    fn is_inclusive(&self) -> bool {
        self.design.l3 == L3::Inclusive
    }

    #[cold]
    fn unexpected(&self, reason: &'static str) -> ProtocolError {
        let state = match (self.line.request, self.line.external) {
            (_, Some(_)) => "snooping for another agent",
            (Some(Request { stage: Stage::Home(_), .. }), None) => "waiting for the home",
            (Some(Request { stage: Stage::Data(_), .. }), None) => "waiting for data",
            (Some(Request { stage: Stage::Completion(_), .. }), None) => "waiting for a completion",
            (Some(Request { stage: Stage::Cores, .. }), None) => "snooping for a request",
            (None, None) => match self.line.state {
                ClusterState::Invalid => "I",
                ClusterState::Shared => "S",
                ClusterState::Forward => "F",
                ClusterState::Owned => "O",
                ClusterState::Exclusive => "E",
            },
        };
        ProtocolError { at: Agent::Interface(self.site.cluster), message: self.message.kind.mnemonic(), state, reason }
    }
}
