//! The Origin protocol as a directory protocol: an agent for each processor, a processor interface for each node, and
//! one at home.

use std::fmt;

use units::LineAddr;

use super::{
    CacheContext, CacheLine, CacheOutcome, DirectoryEntry, Eviction, Geometry, HomeContext, HomeWork, Message, Outbox,
    Pending, RequestOutcome, evict, home, invalidate, invalidation_acknowledgement, processor_request, receive, retry,
    serve_deferred,
};
use crate::contract::{CacheSite, Destination, Directory, Due, Handled, HomeLine, Progress, Started};
use crate::{Access, Agent, CopyState, ProtocolError, Version};

/// The protocol on a machine of this geometry.
#[derive(Clone, Copy, Debug)]
pub struct Protocol {
    /// Geometry of the machine.
    pub geometry: Geometry,
}

/// Work of a message at the processors of its destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CacheWork {
    /// A processor received the message, with this outcome.
    Received(CacheOutcome),
    /// A processor interface invalidated this number of copies.
    Invalidated(u16),
}

impl Protocol {
    fn context(&self, site: &CacheSite) -> CacheContext {
        CacheContext { cpu: site.cache, line: site.line, home: site.home, geometry: self.geometry }
    }

    /// Sends the messages of a handler; the network interface expands invalidations.
    #[inline]
    fn send(&self, outbox: &Outbox, send: &mut impl FnMut(Message)) {
        for message in outbox.as_slice() {
            if message.to == Agent::Sharers {
                message.expand(self.geometry).for_each(&mut *send);
            } else {
                send(*message);
            }
        }
    }
}

impl Directory for Protocol {
    type Message = Message;
    type CacheLine = CacheLine;
    type HomeLine = HomeLine<DirectoryEntry>;
    type Store = ();
    type CacheWork = CacheWork;
    type HomeWork = HomeWork;

    fn store(&self) {}

    #[inline]
    fn access(
        &self,
        site: &CacheSite,
        line: &mut CacheLine,
        access: Access,
        send: &mut impl FnMut(Message),
    ) -> Started {
        let mut outbox = Outbox::new();
        let outcome = processor_request(line, &self.context(site), access, &mut outbox);
        self.send(&outbox, send);
        match outcome {
            RequestOutcome::Hit(_) => Started::Done,
            RequestOutcome::Requested => Started::Requested,
            RequestOutcome::Blocked => Started::Blocked,
        }
    }

    #[inline]
    fn evict(&self, site: &CacheSite, line: &mut CacheLine, send: &mut impl FnMut(Message)) -> Started {
        let mut outbox = Outbox::new();
        let eviction = evict(line, &self.context(site), &mut outbox);
        self.send(&outbox, send);
        match eviction {
            Eviction::Silent => Started::Done,
            Eviction::Writeback => Started::Requested,
            Eviction::Blocked => Started::Blocked,
        }
    }

    /// Handles a message at a processor, or an invalidation at the processor interface: there for all processors of the
    /// node except the requester, with one acknowledgement.
    #[inline]
    fn receive(
        &self,
        site: &CacheSite,
        lines: &mut [CacheLine],
        message: &Message,
        send: &mut impl FnMut(Message),
    ) -> Result<Progress<CacheWork>, ProtocolError> {
        if let Agent::Interface(node) = message.to {
            let mut copies = 0;
            for (cpu, line) in self.geometry.processors_of(node).zip(lines) {
                if cpu != message.requester {
                    let context = self.context(&CacheSite { cache: cpu, ..*site });
                    copies += u16::from(invalidate(line, &context)?);
                }
            }
            send(invalidation_acknowledgement(message));
            return Ok(Progress { performed: None, work: CacheWork::Invalidated(copies) });
        }
        let waiting = Self::waiting(&lines[0]);
        let mut outbox = Outbox::new();
        let outcome = receive(&mut lines[0], &self.context(site), message, &mut outbox)?;
        self.send(&outbox, send);
        let performed = waiting.filter(|_| matches!(outcome, CacheOutcome::Completed(_)));
        Ok(Progress { performed, work: CacheWork::Received(outcome) })
    }

    #[inline]
    fn due(line: &CacheLine) -> Option<Due> {
        match line.pending {
            Pending::Request(request) if request.nacked => Some(Due::Retry),
            Pending::Intervention(_) => Some(Due::DeferredAnswer),
            _ => None,
        }
    }

    #[inline]
    fn retry(
        &self,
        site: &CacheSite,
        line: &mut CacheLine,
        send: &mut impl FnMut(Message),
    ) -> Result<(), ProtocolError> {
        let (context, mut outbox) = (self.context(site), Outbox::new());
        match line.pending {
            Pending::Intervention(_) => serve_deferred(line, &context, &mut outbox).map(|_| ())?,
            _ => retry(line, &context, &mut outbox)?,
        }
        self.send(&outbox, send);
        Ok(())
    }

    #[inline]
    fn home(
        &self,
        line: &mut Self::HomeLine,
        (): &mut (),
        message: &Message,
        congested: bool,
        send: &mut impl FnMut(Message),
    ) -> Result<Handled<HomeWork>, ProtocolError> {
        let Agent::Home(node) = message.to else {
            return Err(ProtocolError {
                at: message.to,
                message: message.kind.mnemonic(),
                state: line.entry.state.mnemonic(),
                reason: "not addressed to a home",
            });
        };
        let context = HomeContext { node, geometry: self.geometry, output_queue_nearly_full: congested };
        let mut outbox = Outbox::new();
        let work = home(&mut line.entry, &mut line.memory, message, &context, &mut outbox)?;
        self.send(&outbox, send);
        Ok(Handled::Done(work))
    }

    #[inline]
    fn copy(line: &CacheLine) -> CopyState {
        line.state.into()
    }

    #[inline]
    fn waiting(line: &CacheLine) -> Option<Access> {
        match line.pending {
            Pending::Request(request) => Some(request.access),
            _ => None,
        }
    }

    #[inline]
    fn is_quiet(line: &CacheLine) -> bool {
        line.pending == Pending::None
    }

    #[inline]
    fn contents(line: &mut CacheLine) -> &mut Version {
        &mut line.version
    }

    #[inline]
    fn memory(line: &mut Self::HomeLine) -> &mut Version {
        &mut line.memory
    }

    #[inline]
    fn carried(message: &mut Message) -> Option<&mut Version> {
        message.kind.carries_data().then_some(&mut message.version)
    }

    #[inline]
    fn line(message: &Message) -> LineAddr {
        message.line
    }

    #[inline]
    fn destination(&self, message: &Message) -> Destination {
        match message.to {
            Agent::Processor(cpu) => Destination::cache(cpu.0),
            Agent::Interface(node) => {
                let first = node.0 * self.geometry.processors_per_node;
                Destination::Caches(first..first + self.geometry.processors_per_node)
            }
            // An invalidation of all sharers is expanded before it is sent.
            Agent::Home(_) | Agent::Sharers => Destination::Home,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} for {:?} on line {}", self.kind.mnemonic(), self.requester, self.line.0)?;
        if self.priority > 0 {
            write!(f, ", priority {}", self.priority)?;
        }
        if self.acknowledgements > 0 {
            write!(f, ", {} IVACK to come", self.acknowledgements)?;
        }
        Ok(())
    }
}
