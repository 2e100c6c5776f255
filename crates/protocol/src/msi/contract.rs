//! The MSI protocol as a directory protocol: an agent for each node, and one at home.

use std::fmt;

use units::{LineAddr, NodeId};

use super::{
    Access, AccessOutcome, Agent, CacheLine, Entry, HomeContext, HomeOutcome, HomeWork, Message, NodeContext,
    NodeOutcome, Place, Request, SharingSet, access, evict, evict_from_node, home, recall, receive, reclaim, retry,
};
use crate::contract::{CacheSite, Destination, Directory, Due, Handled, HomeLine, Progress, Started};
use crate::{CopyState, ProtocolError, Version};

/// A protocol of the family: its parameters.
#[derive(Clone, Debug)]
pub struct Protocol<S> {
    /// Sharing set.
    pub set: S,
    /// Context of homes.
    pub context: HomeContext,
    /// Whether nodes have remote access caches.
    pub remote_access_cache: bool,
}

impl<S: SharingSet> Protocol<S> {
    fn node(&self, site: &CacheSite) -> NodeContext {
        NodeContext {
            node: NodeId(site.cache.0),
            home: site.home,
            replacement_hints: self.set.replacement_hints(),
            remote_access_cache: self.remote_access_cache,
        }
    }
}

impl From<Access> for crate::Access {
    fn from(access: Access) -> Self {
        match access {
            Access::Load => Self::Load,
            Access::Store => Self::Store,
        }
    }
}

impl From<crate::Access> for Access {
    fn from(access: crate::Access) -> Self {
        if access.writes() { Self::Store } else { Self::Load }
    }
}

impl<S: SharingSet> Directory for Protocol<S> {
    type Message = Message;
    type CacheLine = CacheLine;
    type HomeLine = HomeLine<Entry<S::Header>>;
    type Store = S::Store;
    type CacheWork = NodeOutcome;
    type HomeWork = HomeWork;

    fn store(&self) -> S::Store {
        self.set.store()
    }

    #[inline]
    fn access(
        &self,
        site: &CacheSite,
        line: &mut CacheLine,
        wanted: crate::Access,
        send: &mut impl FnMut(Message),
    ) -> Started {
        let context = self.node(site);
        let outcome = match wanted {
            crate::Access::PoisonRead => recall(line, site.line, &context, send),
            _ => access(line, site.line, &context, wanted.into(), send),
        };
        match outcome {
            AccessOutcome::Hit | AccessOutcome::RemoteAccessCacheHit => Started::Done,
            AccessOutcome::Requested => Started::Requested,
            AccessOutcome::Blocked => Started::Blocked,
        }
    }

    /// A writeback is not acknowledged, so every eviction is done at once.
    #[inline]
    fn evict(&self, site: &CacheSite, line: &mut CacheLine, send: &mut impl FnMut(Message)) -> Started {
        let evicted = match line.place {
            Place::Cache => evict(line, site.line, &self.node(site), send),
            Place::RemoteAccessCache => evict_from_node(line, site.line, &self.node(site), send),
        };
        if evicted.is_ok() { Started::Done } else { Started::Blocked }
    }

    #[inline]
    fn receive(
        &self,
        site: &CacheSite,
        lines: &mut [CacheLine],
        message: &Message,
        send: &mut impl FnMut(Message),
    ) -> Result<Progress<NodeOutcome>, ProtocolError> {
        let request = lines[0].request;
        let work = receive(&mut lines[0], &self.node(site), message, send)?;
        let performed = request.filter(|_| matches!(work, NodeOutcome::Completed(_)));
        Ok(Progress { performed: performed.map(|request| request.access.into()), work })
    }

    #[inline]
    fn due(line: &CacheLine) -> Option<Due> {
        line.request.filter(|request| request.nacked).map(|_| Due::Retry)
    }

    #[inline]
    fn retry(
        &self,
        site: &CacheSite,
        line: &mut CacheLine,
        send: &mut impl FnMut(Message),
    ) -> Result<(), ProtocolError> {
        retry(line, site.line, &self.node(site), send)
    }

    #[inline]
    fn home(
        &self,
        line: &mut Self::HomeLine,
        store: &mut S::Store,
        message: &Message,
        _congested: bool,
        send: &mut impl FnMut(Message),
    ) -> Result<Handled<HomeWork>, ProtocolError> {
        let HomeLine { entry, memory } = line;
        let mut send = |message, _: &_| send(message);
        Ok(match home(&self.set, entry, store, memory, message, &self.context, &mut send)? {
            HomeOutcome::Done(work) => Handled::Done(work),
            HomeOutcome::StoreExhausted => Handled::StoreExhausted,
        })
    }

    fn victim(&self, store: &mut S::Store, random: u32) -> Option<LineAddr> {
        self.set.victim(store, random, &mut Default::default())
    }

    fn reclaim(
        &self,
        line: &mut Self::HomeLine,
        store: &mut S::Store,
        address: LineAddr,
        send: &mut impl FnMut(Message),
    ) -> Result<(), &'static str> {
        let mut send = |message, _: &_| send(message);
        reclaim(&self.set, &mut line.entry, store, address, &self.context, &mut send).map(|_| ())
    }

    fn entries_held(&self, line: &Self::HomeLine, store: &S::Store) -> u32 {
        self.set.entries_held(&line.entry.sharers, store)
    }

    fn entries_in_use(&self, store: &S::Store) -> u32 {
        self.set.entries_in_use(store)
    }

    #[inline]
    fn copy(line: &CacheLine) -> CopyState {
        line.state.into()
    }

    #[inline]
    fn waiting(line: &CacheLine) -> Option<crate::Access> {
        line.request.map(|Request { access, .. }| access.into())
    }

    #[inline]
    fn is_quiet(line: &CacheLine) -> bool {
        line.is_quiet()
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
            Agent::Home(_) => Destination::Home,
            Agent::Node(node) => Destination::cache(node.0),
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} for {:?} on line {}", self.kind.mnemonic(), self.requester, self.line.0)?;
        if self.acknowledgements > 0 {
            write!(f, ", {} INVAL_ACK to come", self.acknowledgements)?;
        }
        Ok(())
    }
}
