//! A core: its private caches, seen as one, with their miss registers.
//!
//! A core answers every snoop at once. Races resolve as follows:
//! - *A snoop during a request* is for an older copy: a caching agent serves one request of a line at a time, and its
//!   completions and snoops reach a core in the order in which they were sent. (CXL.cache demands the same: a snoop pushes
//!   earlier completions of its line.)
//! - *An invalidation during an upgrade* takes the copy away. The caching agent has cleared its bit, and completes with data.
//! - *A snoop that crosses an eviction* finds nothing. The eviction is ahead of the response, so that the caching agent has
//!   the data when it reads that the core has none.

use super::{CoreSite, Design, Grant, L3, Message, MessageKind};
use crate::contract::Started;
use crate::{Access, Agent, CopyState, ProtocolError, Rights, Version};

/// One line at one core.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct CoreLine {
    /// The copy: shared, exclusive or modified. Dirty means newer than the L3's line, or memory's if there is none.
    pub copy: CopyState,
    /// Access whose request is outstanding.
    pub request: Option<Access>,
    /// Contents of the copy.
    pub contents: Version,
}

impl CoreLine {
    /// Whether nothing is outstanding on the line.
    #[inline]
    pub const fn is_quiet(&self) -> bool {
        self.request.is_none()
    }
}

/// Outcome of a message at a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CoreOutcome {
    /// Request completed, and the access performed.
    Performed(Access),
    /// Snoop answered: whether the data were read, and whether the core has kept a copy.
    Snooped {
        /// Whether the data were read.
        data: bool,
        /// Whether a copy is left.
        kept: bool,
    },
}

/// Performs an access that hits, or sends the request of a miss. A store creates the next [`Version`].
#[inline]
pub fn access(
    line: &mut CoreLine,
    design: &Design,
    site: &CoreSite,
    access: Access,
    send: &mut impl FnMut(Message),
) -> Started {
    use MessageKind as K;
    if !line.is_quiet() {
        return Started::Blocked;
    }
    if let Some(copy) = line.copy.after(access) {
        line.copy = copy;
        perform(line, access);
        return Started::Done;
    }
    let kind = match (access, line.copy.rights()) {
        (Access::Store | Access::WritePrefetch, Rights::Read) => K::CoreUpgrade,
        (Access::Store | Access::WritePrefetch, _) => K::CoreReadOwn,
        (Access::InstructionFetch, _) => K::CoreReadCode,
        (Access::UncachedRead | Access::PoisonRead, _) => K::CoreReadCurrent,
        (Access::Load | Access::ReadPrefetch, _) => K::CoreRead,
    };
    line.request = Some(access);
    send(to_agent(kind, design, site));
    Started::Requested
}

/// Evicts the copy, if there is one. Beside an inclusive L3, clean copies are dropped silently. The eviction is not
/// acknowledged: nothing waits for it.
#[inline]
pub fn evict(line: &mut CoreLine, design: &Design, site: &CoreSite, send: &mut impl FnMut(Message)) -> Started {
    if !line.is_quiet() {
        return Started::Blocked;
    }
    let (dirty, valid) = (line.copy.is_dirty(), line.copy.is_valid());
    line.copy = CopyState::INVALID;
    if !valid || (!dirty && design.l3 == L3::Inclusive) {
        return Started::Done;
    }
    let kind = if dirty { MessageKind::DirtyEvict } else { MessageKind::CleanEvict };
    send(to_agent(kind, design, site).with_version(line.contents));
    Started::Done
}

/// Handles a message at a core.
///
/// # Errors
/// [`ProtocolError`] if the message cannot reach this line in a correct run.
#[inline]
pub fn at_core(
    line: &mut CoreLine,
    design: &Design,
    site: &CoreSite,
    message: &Message,
    send: &mut impl FnMut(Message),
) -> Result<CoreOutcome, ProtocolError> {
    use MessageKind as K;
    match message.kind {
        K::GoData | K::Go => complete(line, site, message),
        K::CoreSnoopData | K::CoreSnoopInvalidate | K::CoreSnoopCurrent => Ok(snoop(line, design, site, message, send)),
        _ => Err(unexpected(line, site, message, "not a message to a core")),
    }
}

/// Completes the request.
fn complete(line: &mut CoreLine, site: &CoreSite, message: &Message) -> Result<CoreOutcome, ProtocolError> {
    use MessageKind as K;
    let Some(access) = line.request else {
        return Err(unexpected(line, site, message, "no request is outstanding"));
    };
    match message.kind {
        K::GoData => line.contents = message.version,
        // The copy that is upgraded has the data. An invalidation would have made the completion bring them.
        _ if line.copy.is_valid() => {}
        _ => return Err(unexpected(line, site, message, "there is no copy to upgrade")),
    }
    line.copy = match message.grant {
        Grant::None => CopyState::INVALID,
        Grant::Shared | Grant::Forward => CopyState::SHARED,
        Grant::Exclusive => CopyState::EXCLUSIVE,
        Grant::Modified => CopyState::MODIFIED,
    };
    if access.writes() && line.copy.rights() != Rights::Write {
        return Err(unexpected(line, site, message, "a store needs the right to write"));
    }
    line.request = None;
    if access.writes() {
        line.copy = CopyState::MODIFIED;
    }
    perform(line, access);
    Ok(CoreOutcome::Performed(access))
}

/// Answers a snoop: a line per copy and snoop.
fn snoop(
    line: &mut CoreLine,
    design: &Design,
    site: &CoreSite,
    message: &Message,
    send: &mut impl FnMut(Message),
) -> CoreOutcome {
    use MessageKind as K;
    let dirty = line.copy.is_dirty();
    let data = dirty || message.dirty;
    let (kind, copy) = match (line.copy.is_valid(), message.kind) {
        // The copy has been dropped silently, or its eviction is ahead.
        (false, _) => (K::CoreRspI, CopyState::INVALID),
        (true, K::CoreSnoopCurrent) => (K::CoreRspVData, line.copy),
        (true, K::CoreSnoopInvalidate) if data => (K::CoreRspIData, CopyState::INVALID),
        (true, K::CoreSnoopInvalidate) => (K::CoreRspI, CopyState::INVALID),
        (true, _) if data => (K::CoreRspSData, CopyState::SHARED),
        (true, _) => (K::CoreRspS, CopyState::SHARED),
    };
    line.copy = copy;
    let response = to_agent(kind, design, site);
    send(if kind.carries_data() { response.with_version(line.contents).with_dirty(dirty) } else { response });
    CoreOutcome::Snooped { data: kind.carries_data(), kept: copy.is_valid() }
}

/// Performs an access on the copy.
fn perform(line: &mut CoreLine, access: Access) {
    if access == Access::Store {
        line.contents = line.contents.next();
    }
}

/// Creates a message to the caching agent of the core's cluster.
const fn to_agent(kind: MessageKind, design: &Design, site: &CoreSite) -> Message {
    let agent = Agent::Interface(design.cluster_of(site.core));
    Message::new(kind, site.line, Agent::Processor(site.core), agent)
}

#[cold]
fn unexpected(line: &CoreLine, site: &CoreSite, message: &Message, reason: &'static str) -> ProtocolError {
    let state = match (line.request, line.copy.is_valid()) {
        (Some(_), _) => "requesting",
        (None, true) => "holding a copy",
        (None, false) => "without a copy",
    };
    ProtocolError { at: Agent::Processor(site.core), message: message.kind.mnemonic(), state, reason }
}
