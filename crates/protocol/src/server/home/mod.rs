//! The home of a line: memory with its directory.
//!
//! A home serves one request of a line at a time: it snoops, collects the responses, grants the line and waits for the
//! requester's acknowledgement. Races resolve as follows:
//! - *A request during a transaction* waits in the home's queue. No message is NACKed.
//! - *A writeback* is always taken in. It is ahead of its sender's response to a snoop that has crossed it, so that memory
//!   is up to date when the last response has arrived.
//! - *A writeback of a requester before the responses*: data have been forwarded to it from the only copy, which it has
//!   modified. Writebacks of the former holder that arrive afterwards, ahead of its response, are older.
//! - *An upgrade of a copy that has been invalidated* is completed without data: the requester has no copy then, and requests them.
//! - *Early snoop: requests that cross*. A caching agent that has a request of its own answers another's snoop with a
//!   conflict. Of two requests that cross, one has a response that is no conflict, and comes first; or both agents have
//!   answered with a conflict, nothing has changed, and the home snoops for the first that arrived. The other one is
//!   always snooped for by the home when its turn comes.

mod early;
mod finish;
mod line;
mod request;

pub use line::{
    Bits, Cause, Early, EarlyResponse, Holders, HomeLine, HomeOutcome, HomeWork, Leaves, Lookup, Transaction,
};

use units::NodeId;

use super::design::bit;
use super::{Design, HomeKind, HomeSite, Message, MessageKind};
use crate::{Agent, ProtocolError};

/// Handles a message at the home of its line. `opportunistic` is the machine's choice, for a home with directory bits:
/// whether it snoops before they have been read (opportunistic snoop broadcast, which pays when links are idle).
///
/// # Errors
/// [`ProtocolError`] if the message cannot reach this line in a correct run.
#[inline]
pub fn at_home(
    line: &mut HomeLine,
    design: &Design,
    site: &HomeSite,
    message: &Message,
    opportunistic: bool,
    send: &mut impl FnMut(Message, Leaves),
) -> Result<HomeOutcome, ProtocolError> {
    use MessageKind as K;
    let mut at = Home { line, design, site, message, opportunistic, send, work: HomeWork::default() };
    let handled = match message.kind {
        K::ReadData | K::ReadCode | K::ReadCurrent | K::ReadOwn | K::Upgrade => at.request(),
        K::WritebackInvalid | K::WritebackKeep => at.writeback(),
        K::CompletionAck => at.acknowledgement(),
        K::RspI | K::RspS | K::RspIFwd | K::RspSFwd | K::RspSFwdWb | K::RspFwd | K::RspIWb | K::RspConflict => {
            at.response()
        }
        _ => Err(at.unexpected("not a message to a home")),
    }?;
    Ok(if handled { HomeOutcome::Done(at.work) } else { HomeOutcome::Busy })
}

/// Replaces a line's entry in the probe filter: all copies are invalidated, and dirty data written back. The room is free
/// when the line is quiet again.
///
/// # Errors
/// A reason, if something is under way on the line, or if it has no entry: another one must be replaced.
#[inline]
pub fn evict_probe_filter(
    line: &mut HomeLine,
    design: &Design,
    site: &HomeSite,
    send: &mut impl FnMut(Message, Leaves),
) -> Result<HomeWork, &'static str> {
    if line.busy.is_some() {
        return Err("a transaction is under way");
    }
    let Some(holders) = line.entry else { return Err("the line has no entry") };
    let agent = Agent::Home(site.home);
    // Replacements are caused by no message of the line.
    let message = &Message::new(MessageKind::SnoopFlush, site.line, agent, agent);
    let mut at = Home { line, design, site, message, opportunistic: false, send, work: HomeWork::default() };
    at.line.busy = Some(Transaction::new(Cause::Replacement));
    at.snoop(holders.all(), MessageKind::SnoopFlush, None, Leaves::AtOnce);
    Ok(at.work)
}

/// Replaces a line's entry in the directory cache, which is silent: the bits in memory are `A` as long as there is one.
///
/// # Errors
/// A reason, if a transaction is under way on the line, or if it has no entry: another one must be replaced.
#[inline]
pub fn evict_directory_cache(line: &mut HomeLine) -> Result<(), &'static str> {
    if line.busy.is_some() {
        return Err("a transaction is under way");
    }
    line.entry.take().map(|_| ()).ok_or("the line has no entry")
}

/// A line at its home, with the message that it handles.
struct Home<'a, S> {
    line: &'a mut HomeLine,
    design: &'a Design,
    site: &'a HomeSite,
    message: &'a Message,
    opportunistic: bool,
    send: &'a mut S,
    work: HomeWork,
}

impl<S: FnMut(Message, Leaves)> Home<'_, S> {
    /// The home's own cluster, as a set.
    fn local(&self) -> u64 {
        self.site.local.map_or(0, bit)
    }

    /// Cluster that sent the message.
    fn sender(&self) -> Result<NodeId, ProtocolError> {
        self.message.cluster().ok_or_else(|| self.unexpected("not from a caching agent"))
    }

    /// Sends a message to the caching agent of a cluster, about a request of `requester`.
    fn send_to_cluster(
        &mut self,
        cluster: NodeId,
        requester: NodeId,
        kind: MessageKind,
        leaves: Leaves,
        edit: impl FnOnce(Message) -> Message,
    ) {
        let message = Message::new(kind, self.site.line, Agent::Home(self.site.home), Agent::Interface(cluster));
        (self.send)(edit(message.for_cluster(requester)), leaves);
    }

    /// Snoops caching agents for a requester, or for themselves.
    fn snoop(&mut self, clusters: u64, kind: MessageKind, requester: Option<NodeId>, leaves: Leaves) {
        let mut left = clusters;
        while left != 0 {
            let cluster = NodeId(left.trailing_zeros() as u16);
            self.send_to_cluster(cluster, requester.unwrap_or(cluster), kind, leaves, |message| message);
            self.work.snoops += 1;
            left &= left - 1;
        }
        if let Some(busy) = &mut self.line.busy {
            busy.awaited |= clusters;
        }
    }

    /// Handles a writeback.
    fn writeback(&mut self) -> Result<bool, ProtocolError> {
        let writer = self.sender()?;
        self.take_data();
        match &mut self.line.busy {
            // The responses settle the directory when the last one has arrived.
            Some(busy) if !busy.granted => {
                busy.written = true;
                busy.superseded |= matches!(busy.cause, Cause::Request { requester, .. } if requester == writer);
                if busy.owner == Some(writer) {
                    busy.owner = None;
                    if self.message.kind == MessageKind::WritebackKeep {
                        busy.kept |= bit(writer);
                    }
                }
            }
            _ => self.settle_writeback(writer),
        }
        Ok(true)
    }

    /// Writes the data of the message to memory, unless the requester has written newer ones.
    fn take_data(&mut self) {
        let sender = self.message.cluster();
        let is_older = |busy: Transaction| {
            busy.superseded && !matches!(busy.cause, Cause::Request { requester, .. } if Some(requester) == sender)
        };
        if !self.line.busy.is_some_and(is_older) {
            self.line.memory = self.message.version;
            self.work.memory_write = true;
        }
    }

    /// Takes a writeback into the directory.
    fn settle_writeback(&mut self, writer: NodeId) {
        let keeps = self.message.kind == MessageKind::WritebackKeep;
        if let Some(holders) = &mut self.line.entry {
            if holders.owner == Some(writer) {
                holders.owner = None;
            }
            if keeps {
                holders.sharers |= bit(writer);
            }
            if self.design.home == HomeKind::ProbeFilter && holders.all() == 0 {
                self.line.entry = None;
            }
        } else if matches!(self.design.home, HomeKind::Directory { .. }) && self.site.local != Some(writer) {
            let bits = if self.message.sole { Bits::Invalid } else { Bits::Shared };
            self.write_bits(bits);
        }
    }

    /// Writes the directory bits in memory, if they change.
    fn write_bits(&mut self, bits: Bits) {
        self.work.bits_write |= self.line.bits != bits;
        self.line.bits = bits;
    }

    /// Handles the requester's acknowledgement.
    fn acknowledgement(&mut self) -> Result<bool, ProtocolError> {
        let sender = self.sender()?;
        match &mut self.line.busy {
            Some(busy) if matches!(busy.cause, Cause::Request { requester, .. } if requester == sender) => {
                busy.acknowledged = true;
                if busy.granted {
                    self.end_request(sender);
                }
            }
            _ => return Err(self.unexpected("no request of this cluster is under way")),
        }
        Ok(true)
    }

    /// Ends the transaction.
    fn end(&mut self) {
        self.line.busy = None;
        self.work.ends = true;
    }

    #[cold]
    fn unexpected(&self, reason: &'static str) -> ProtocolError {
        let state = match &self.line.busy {
            Some(busy) if busy.granted => "granted, waiting for CmpAck",
            Some(_) => "snooping",
            None => "idle",
        };
        ProtocolError { at: Agent::Home(self.site.home), message: self.message.kind.mnemonic(), state, reason }
    }
}
