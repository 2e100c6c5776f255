//! SCI as a directory protocol: requests and responses are its messages, and memory, which has only the head of the
//! list, is the home.
//!
//! A target always responds, and a response leads to at most one next request; no work is ever due.

use std::fmt;

use units::LineAddr;

use super::{
    CacheContext, CacheLine, CacheState, MemoryLine, MemoryWork, Operation, Outcome, Progress as Received, Request,
    Response, ServeWork, Start, memory, receive, serve, start,
};
use crate::contract::{CacheSite, Destination, Directory, Handled, Progress, Started};
use crate::{Access, Agent, CopyState, ProtocolError, Version};

/// The protocol, which has no parameters.
#[derive(Clone, Copy, Debug)]
pub struct Protocol;

/// A packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packet {
    /// Request.
    Request(Request),
    /// Response.
    Response(Response),
}

/// Work of a packet at a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CacheWork {
    /// The cache served a request.
    Served(ServeWork),
    /// The cache received the response to its own request.
    Received(Received),
}

impl Operation {
    /// The processor's access; a replacement is none.
    #[inline]
    pub const fn access(self) -> Option<Access> {
        match self {
            Self::Load => Some(Access::Load),
            Self::Store => Some(Access::Store),
            Self::Rollout => None,
        }
    }
}

fn begin(site: &CacheSite, line: &mut CacheLine, operation: Operation, send: &mut impl FnMut(Packet)) -> Started {
    match start(line, &context(site), operation) {
        Start::Done => Started::Done,
        Start::Blocked => Started::Blocked,
        Start::Requested(request) => {
            send(Packet::Request(request));
            Started::Requested
        }
    }
}

fn context(site: &CacheSite) -> CacheContext {
    CacheContext { cpu: site.cache, line: site.line, home: site.home }
}

impl Directory for Protocol {
    type Message = Packet;
    type CacheLine = CacheLine;
    type HomeLine = MemoryLine;
    type Store = ();
    type CacheWork = CacheWork;
    type HomeWork = MemoryWork;

    fn store(&self) {}

    #[inline]
    fn access(&self, site: &CacheSite, line: &mut CacheLine, access: Access, send: &mut impl FnMut(Packet)) -> Started {
        begin(site, line, if access.writes() { Operation::Store } else { Operation::Load }, send)
    }

    #[inline]
    fn evict(&self, site: &CacheSite, line: &mut CacheLine, send: &mut impl FnMut(Packet)) -> Started {
        begin(site, line, Operation::Rollout, send)
    }

    #[inline]
    fn receive(
        &self,
        site: &CacheSite,
        lines: &mut [CacheLine],
        packet: &Packet,
        send: &mut impl FnMut(Packet),
    ) -> Result<Progress<CacheWork>, ProtocolError> {
        let line = &mut lines[0];
        match packet {
            Packet::Request(request) => {
                let (response, work) = serve(line, &context(site), request)?;
                send(Packet::Response(response));
                Ok(Progress { performed: None, work: CacheWork::Served(work) })
            }
            Packet::Response(response) => {
                let received = receive(line, &context(site), response)?;
                received.next.map(Packet::Request).into_iter().for_each(send);
                let performed = match received.outcome {
                    Outcome::Completed(operation) => operation.access(),
                    Outcome::Waiting => None,
                };
                Ok(Progress { performed, work: CacheWork::Received(received) })
            }
        }
    }

    #[inline]
    fn home(
        &self,
        line: &mut MemoryLine,
        (): &mut (),
        packet: &Packet,
        _congested: bool,
        send: &mut impl FnMut(Packet),
    ) -> Result<Handled<MemoryWork>, ProtocolError> {
        let Packet::Request(request @ Request { to: Agent::Home(node), .. }) = packet else {
            let at = Agent::Home(units::NodeId(0));
            let reason = "not addressed to memory";
            return Err(ProtocolError { at, message: "packet", state: line.state.mnemonic(), reason });
        };
        let (response, work) = memory(line, *node, request)?;
        send(Packet::Response(response));
        Ok(Handled::Done(work))
    }

    #[inline]
    fn copy(line: &CacheLine) -> CopyState {
        match line.state {
            CacheState::OnlyDirty => CopyState::MODIFIED,
            CacheState::HeadDirty => CopyState::OWNED,
            state if state.is_readable() => CopyState::SHARED,
            _ => CopyState::INVALID,
        }
    }

    #[inline]
    fn waiting(line: &CacheLine) -> Option<Access> {
        line.outstanding.and_then(|outstanding| outstanding.operation.access())
    }

    #[inline]
    fn is_quiet(line: &CacheLine) -> bool {
        line.state.is_stable()
    }

    #[inline]
    fn contents(line: &mut CacheLine) -> &mut Version {
        &mut line.version
    }

    #[inline]
    fn memory(line: &mut MemoryLine) -> &mut Version {
        &mut line.version
    }

    #[inline]
    fn carried(packet: &mut Packet) -> Option<&mut Version> {
        match packet {
            Packet::Request(request) => request.version.as_mut(),
            Packet::Response(response) => response.version.as_mut(),
        }
    }

    #[inline]
    fn line(packet: &Packet) -> LineAddr {
        match packet {
            Packet::Request(request) => request.line,
            Packet::Response(response) => response.line,
        }
    }

    #[inline]
    fn destination(&self, packet: &Packet) -> Destination {
        match packet {
            Packet::Request(Request { to: Agent::Processor(cpu), .. }) => Destination::cache(cpu.0),
            Packet::Request(_) => Destination::Home,
            Packet::Response(response) => Destination::cache(response.to.0),
        }
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer = match self {
            Self::Request(request) => {
                write!(f, "{} from {:?}", request.command.mnemonic(), request.source)?;
                request.pointer
            }
            Self::Response(response) => {
                write!(f, "the response {:?}", response.report)?;
                response.pointer
            }
        };
        pointer.map_or(Ok(()), |pointer| write!(f, " naming {pointer:?}"))?;
        match self {
            Self::Response(Response { version: Some(_), .. }) => write!(f, " with data"),
            _ => Ok(()),
        }
    }
}
