//! Contracts of protocols: what each has, in the same words, so that one model explores them all.
//!
//! A [`Directory`] protocol exchanges messages between caches and the homes of lines; on a [`Bus`], every cache sees
//! every transaction. An implementation calls the handlers of its protocol, the same that the simulator calls, and adds
//! no rule. Calls are resolved at compile time, and nothing is allocated.

use std::fmt::{Debug, Display};
use std::ops::Range;

use units::{CpuId, LineAddr, NodeId};

use crate::{Access, CopyState, ProtocolError, Version};

/// Location of a line at a cache.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CacheSite {
    /// The cache: a processor's, or, in protocols whose agents are nodes, that of the node of this number.
    pub cache: CpuId,
    /// The line.
    pub line: LineAddr,
    /// The line's home.
    pub home: NodeId,
}

/// Outcome of an access or of an eviction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Started {
    /// Done without waiting: an access that hits, or an eviction that nothing else depends on.
    Done,
    /// A transaction has started.
    Requested,
    /// Blocked by an outstanding transaction on the line: it must be repeated afterwards.
    Blocked,
}

/// Outcome of a message at caches, or of the work that was due there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress<W> {
    /// Access that is performed now.
    pub performed: Option<Access>,
    /// Work done, which a machine prices.
    pub work: W,
}

/// Work of a cache that is due at a time of the machine's choice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Due {
    /// Retry of a request that got a NACK.
    Retry,
    /// Answer to a message that was deferred until a request had completed.
    DeferredAnswer,
}

/// Outcome of a message at a home.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Handled<W> {
    /// The message was handled, with this work.
    Done(W),
    /// The home's store is exhausted, and nothing has changed: the home must [`Directory::reclaim`] a
    /// [`Directory::victim`], and handle the message again.
    StoreExhausted,
}

/// Destination of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Destination {
    /// The home of the message's line.
    Home,
    /// The caches of these numbers, which handle the message together.
    Caches(Range<u16>),
}

impl Destination {
    /// The cache of this number.
    #[inline]
    pub const fn cache(number: u16) -> Self {
        Self::Caches(number..number + 1)
    }
}

/// A line at its home: its directory entry, and its contents in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct HomeLine<E> {
    /// Directory entry.
    pub entry: E,
    /// Contents of memory.
    pub memory: Version,
}

/// A protocol of messages between caches and homes. The value holds the parameters that all agents share.
pub trait Directory: Clone + Debug + Send + Sync + 'static {
    /// Message. Its text names the type and the requester, not the destination.
    type Message: Copy + PartialEq + Debug + Display + Send + Sync;
    /// State of a line at a cache. The default has no copy and nothing outstanding.
    type CacheLine: Copy + PartialEq + Debug + Default + Send + Sync;
    /// State of a line at its home. The default has no copies anywhere.
    type HomeLine: Copy + Debug + Default + Send + Sync;
    /// Part of the directory that the lines of a home share; `()` for most protocols.
    type Store: Clone + Debug + Send + Sync;
    /// Work done at caches.
    type CacheWork;
    /// Work done at a home.
    type HomeWork;

    /// Creates the store of a home without cached lines.
    fn store(&self) -> Self::Store;

    /// Performs an access that hits, or sends the request of a miss. A store creates the next [`Version`].
    fn access(
        &self,
        site: &CacheSite,
        line: &mut Self::CacheLine,
        access: Access,
        send: &mut impl FnMut(Self::Message),
    ) -> Started;

    /// Evicts the copy, if there is one.
    fn evict(&self, site: &CacheSite, line: &mut Self::CacheLine, send: &mut impl FnMut(Self::Message)) -> Started;

    /// Handles a message at the caches of its destination, the first of which is at `site`.
    ///
    /// # Errors
    /// [`ProtocolError`] if the message cannot reach these lines in a correct run.
    fn receive(
        &self,
        site: &CacheSite,
        lines: &mut [Self::CacheLine],
        message: &Self::Message,
        send: &mut impl FnMut(Self::Message),
    ) -> Result<Progress<Self::CacheWork>, ProtocolError>;

    /// Work that is due at a cache, if there is any. By default, messages alone keep transactions going.
    #[inline]
    fn due(_line: &Self::CacheLine) -> Option<Due> {
        None
    }

    /// Does the work that is due: retries a request, or gives a deferred answer.
    ///
    /// # Errors
    /// [`ProtocolError`] if it cannot be due in a correct run.
    #[inline]
    fn retry(
        &self,
        _site: &CacheSite,
        _line: &mut Self::CacheLine,
        _send: &mut impl FnMut(Self::Message),
    ) -> Result<(), ProtocolError> {
        Ok(())
    }

    /// Handles a message at the home of its line. While the home's output queue is nearly full (`congested`), some
    /// protocols leave messages to the requester.
    ///
    /// # Errors
    /// [`ProtocolError`] if the message cannot reach this line in a correct run.
    fn home(
        &self,
        line: &mut Self::HomeLine,
        store: &mut Self::Store,
        message: &Self::Message,
        congested: bool,
        send: &mut impl FnMut(Self::Message),
    ) -> Result<Handled<Self::HomeWork>, ProtocolError>;

    /// Line whose part of an exhausted store can be reclaimed; `random` makes the choice.
    #[inline]
    fn victim(&self, _store: &mut Self::Store, _random: u32) -> Option<LineAddr> {
        None
    }

    /// Reclaims a line's part of the store: its copies are invalidated.
    ///
    /// # Errors
    /// A reason, if the line's part cannot be reclaimed in this state.
    #[inline]
    fn reclaim(
        &self,
        _line: &mut Self::HomeLine,
        _store: &mut Self::Store,
        _address: LineAddr,
        _send: &mut impl FnMut(Self::Message),
    ) -> Result<(), &'static str> {
        Err("the protocol has no store")
    }

    /// Entries of the store that a line has. Over all lines they must add up to [`Directory::entries_in_use`].
    #[inline]
    fn entries_held(&self, _line: &Self::HomeLine, _store: &Self::Store) -> u32 {
        0
    }

    /// Entries of the store that are in use.
    #[inline]
    fn entries_in_use(&self, _store: &Self::Store) -> u32 {
        0
    }

    /// The copy as its processor uses it.
    fn copy(line: &Self::CacheLine) -> CopyState;

    /// Access whose request is outstanding.
    fn waiting(line: &Self::CacheLine) -> Option<Access>;

    /// Whether nothing is outstanding on a line at a cache.
    fn is_quiet(line: &Self::CacheLine) -> bool;

    /// Contents at a cache: of the copy, or of the data that arrive for a request.
    fn contents(line: &mut Self::CacheLine) -> &mut Version;

    /// Contents of memory.
    fn memory(line: &mut Self::HomeLine) -> &mut Version;

    /// Contents that a message carries.
    fn carried(message: &mut Self::Message) -> Option<&mut Version>;

    /// Line of a message.
    fn line(message: &Self::Message) -> LineAddr;

    /// Destination of a message.
    fn destination(&self, message: &Self::Message) -> Destination;
}

/// A protocol of caches on a bus, which carries one transaction at a time. No message is ever in flight: a cache's bus
/// request is part of its state.
pub trait Bus: Clone + Debug + Send + Sync + 'static {
    /// State of a line at a cache. The default has no copy and no request.
    type CacheLine: Copy + PartialEq + Debug + Default + Send + Sync;
    /// Command of a transaction.
    type Command: Copy + PartialEq + Debug + Send + Sync;
    /// Snoop reply of one participant, or the combined reply of several. The default is that of a participant without a
    /// copy.
    type Reply: Copy + PartialEq + Debug + Default;
    /// Data phase of a transaction.
    type Data;
    /// Work of a snooping cache.
    type Work;

    /// Performs an access that hits, or requests the bus. A store creates the next [`Version`].
    fn access(line: &mut Self::CacheLine, access: Access) -> Started;

    /// Evicts the copy, or requests the bus to write it back.
    fn evict(line: &mut Self::CacheLine) -> Started;

    /// Outstanding bus request.
    fn request(line: &Self::CacheLine) -> Option<Self::Command>;

    /// Mnemonic of a command.
    fn mnemonic(command: Self::Command) -> &'static str;

    /// Whether a transaction reads the line, so that memory can start with its address.
    fn reads(command: Self::Command) -> bool;

    /// Whether a transaction leaves the requester with the only copy.
    fn writes(command: Self::Command) -> bool;

    /// Snoop reply to another's transaction; nothing changes yet.
    ///
    /// # Errors
    /// [`ProtocolError`] if the transaction cannot occur beside this copy in a correct run.
    fn snoop(line: &Self::CacheLine, cpu: CpuId, command: Self::Command) -> Result<Self::Reply, ProtocolError>;

    /// Combines two replies, as the wires of the bus do.
    fn combine(one: Self::Reply, other: Self::Reply) -> Self::Reply;

    /// Whether a combined reply puts the transaction off: nothing has happened, and the requester must retry.
    fn is_retry(reply: &Self::Reply) -> bool;

    /// Whether the participant with this reply supplies the line in place of memory.
    fn supplies(reply: &Self::Reply) -> bool;

    /// Applies another's transaction that no participant has put off.
    ///
    /// # Errors
    /// As [`Bus::snoop`].
    fn observe(line: &mut Self::CacheLine, cpu: CpuId, command: Self::Command) -> Result<Self::Work, ProtocolError>;

    /// Memory's part in the transaction. `written` is the requester's data, for a writeback.
    fn memory(
        contents: &mut Version,
        command: Self::Command,
        reply: Self::Reply,
        written: Option<Version>,
    ) -> Self::Data;

    /// Contents on the bus.
    fn on_bus(data: &Self::Data) -> Option<Version>;

    /// Whether memory takes the contents on the bus.
    fn writes_memory(data: &Self::Data) -> bool;

    /// Completes the requester's own transaction, and returns the access that is performed.
    fn complete(line: &mut Self::CacheLine, reply: Self::Reply, data: Self::Data) -> Option<Access>;

    /// The copy as its processor uses it.
    fn copy(line: &Self::CacheLine) -> CopyState;

    /// The line with this copy and no request: the inverse of [`Bus::copy`].
    fn held(copy: CopyState, contents: Version) -> Self::CacheLine;

    /// Contents of the copy.
    fn contents(line: &mut Self::CacheLine) -> &mut Version;
}

/// A participant of a bus that is no cache of its processors: it snoops, and it may request the bus.
pub trait BusAgent<B: Bus> {
    /// Snoop reply to a transaction of a cache.
    ///
    /// # Errors
    /// [`ProtocolError`] if the transaction cannot occur in this state in a correct run.
    fn snoop(&mut self, node: NodeId, command: B::Command) -> Result<B::Reply, ProtocolError>;

    /// Outstanding bus request.
    fn request(&self) -> Option<B::Command>;

    /// Completes the participant's own transaction.
    fn complete(&mut self);
}
