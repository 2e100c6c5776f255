//! The controller between a node's processors, its memory and the network; each kind of machine implements this trait.

use machine::VirtualNetwork;
use machine::description::Description;
use units::{Bytes, ChannelId, CpuId, Duration, NodeId, PhysicalAddr, Time};

use super::System;
use crate::counters::CounterUnit;
use crate::incoherence::Incoherence;
use crate::kernel::{EnvelopeId, Message, NodeEvent};
use crate::map::LineMap;
use crate::os::{Discovery, PageOperation, Transfer};
use crate::processor::{MissId, Post, ProcessorTiming};
use crate::wire::Network;
use crate::{NodeStatistics, Options, SimError, StallTerms};

/// The inputs from which controllers are made.
pub struct Blueprint<'a> {
    /// The machine.
    pub description: &'a Description,
    /// Its network.
    pub network: &'a Network,
    /// The positions of lines.
    pub lines: LineMap,
    /// The options of the simulation.
    pub options: Options,
}

/// Occupancies of a node's parts since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Held {
    /// The bus to its processors.
    pub bus: Duration,
    /// Its controller: a Hub's memory and directory, MAGIC's protocol processor.
    pub controller: Duration,
    /// Time that messages waited for the controller.
    pub queued: Duration,
    /// Its memory.
    pub memory: Duration,
}

/// The controllers of all nodes of a machine, with their protocol.
///
/// The functions that take the whole [`System`] are steps of its simulation: they run at the system's present time.
pub trait Controller: Sized + 'static {
    /// The messages between controllers.
    type Message: Message;
    /// The events of a node besides those of [`System`].
    type Event: NodeEvent;
    /// Whether a granted write prefetch makes new contents, because the protocol has no state that is exclusive and
    /// clean.
    const WRITE_PREFETCHES_STORE: bool;
    /// The way in which processors find outdated translations; `None` if these nodes move no pages, so that the options that
    /// lead to [`Controller::transfer`] are rejected.
    const DISCOVERY: Option<Discovery> = None;

    /// The idle controllers of a machine.
    ///
    /// # Errors
    /// The description requires something that these controllers do not model.
    fn new(blueprint: &Blueprint<'_>) -> Result<Self, SimError>;

    /// From the completion of a request until its miss register is free.
    fn release(&self) -> Duration;

    /// Memory of each node that programs cannot use.
    fn reserved(&self) -> Bytes {
        Bytes(0)
    }

    /// Whether processors must send notices of evicted clean lines.
    fn announces_clean(&self) -> bool;

    /// Whether a load may return contents older than others have loaded: the protocol is not sequentially consistent.
    fn relaxes_order(&self) -> bool {
        false
    }

    /// Whether lines leave processors without a writer: with a line of an outer cache or filter that includes them, or with their page.
    fn recalls(&self) -> bool {
        false
    }

    /// The look-ahead: the shortest time from any event to an intervention or invalidation at a processor, other than
    /// from events that [reach](NodeEvent::reach) the processor.
    fn lookahead(&self) -> Duration;

    /// Whether a unit of the node may act on its processors at any time, such as a copy engine with a page under way.
    fn is_disturbing(&self, _node: NodeId) -> bool {
        false
    }

    /// Whether look-ahead and probes cover all messages to a node's processors, answers and NACKs included, and the
    /// effects of the processors' own requests. A processor with outstanding requests may then run as far ahead as
    /// others.
    const PROBES_INCLUDE_ANSWERS: bool = false;

    /// Whether their processors may have several hardware threads.
    const HARDWARE_THREADS: bool = false;

    /// The latency of a read in a chain of dependent reads by a processor of `from`, of lines that no cache has, in the
    /// memory of `to`, if nothing else happens: from a line on the bus to the next one.
    fn unloaded_read(&self, network: &Network, processor: &ProcessorTiming, from: NodeId, to: NodeId) -> Duration;

    /// The virtual networks that messages travel on, in the order of [`VirtualNetwork::ALL`]. Links have virtual channels
    /// for each of them.
    const NETWORKS: &'static [VirtualNetwork];

    /// The node's memory now has `lines` lines.
    fn allocated(&mut self, node: NodeId, lines: u64);

    /// A processor posts a request or an eviction, at a time not before the present.
    fn posted(system: &mut System<Self>, cpu: CpuId, post: &Post);

    /// Begins to empty the cache that a processor shares with others, whose program is resumed when that is done. False if there is
    /// no such cache.
    fn empty_shared_cache(_system: &mut System<Self>, _cpu: CpuId) -> bool {
        false
    }

    /// An event of a node occurs.
    fn happened(system: &mut System<Self>, event: Self::Event);

    /// The first packet of a message reaches its node at `arrival`, through a channel whose buffer it occupies.
    fn delivered(system: &mut System<Self>, channel: ChannelId, id: EnvelopeId, arrival: Time);

    /// A node is to transfer a page, beginning at `at` or as soon afterwards as it may. No processor that is interrupted for
    /// outdated translations ([`Discovery::Shootdown`], [`Discovery::Poison`]) has one to a frame that is given up.
    /// [`System::end_transfer`] follows.
    fn transfer(_system: &mut System<Self>, _transfer: Transfer, _at: Time) {}

    /// Other nodes may use the lines of the page in the frame that begins at `frame` again, whose lines are poisoned
    /// ([`Discovery::Poison`]).
    fn reopen(_system: &mut System<Self>, _frame: PhysicalAddr) {}

    /// The operation that the counters of the node's memory have selected for the page at `at`.
    fn selected(&mut self, _at: PhysicalAddr) -> Option<PageOperation> {
        None
    }

    /// From an event at node `from` to the interrupt of a processor of node `to`: not less than the look-ahead.
    fn interrupt_delay(&self, _network: &Network, _from: NodeId, _to: NodeId) -> Duration {
        self.lookahead()
    }

    /// The delay after which the operating system repeats what it could not do, such as the redirection of a miss.
    fn retry_delay(&self) -> Duration {
        self.release()
    }

    /// The line of a miss is complete, before the miss is closed.
    ///
    /// # Errors
    /// A case that the protocol excludes.
    fn filled(_system: &mut System<Self>, _cpu: CpuId, _miss: MissId) -> Result<(), SimError> {
        Ok(())
    }

    /// Compares all caches with each other, with memory and with the directory, when nothing is under way.
    ///
    /// # Errors
    /// The first disagreement found.
    fn check_coherence(system: &mut System<Self>) -> Result<(), Incoherence>;

    /// Statistics of a node's controller since the start.
    fn statistics(system: &System<Self>, node: NodeId) -> NodeStatistics;

    /// Occupancies of a node's parts before `time`, which is not later than the next event.
    fn held(_system: &System<Self>, _node: NodeId, _time: Time) -> Held {
        Held::default()
    }

    /// The counters of a node.
    const COUNTERS: &'static [CounterUnit] = &[];

    /// The number of occurrences of each event of a mode of a node's unit, one of [`Self::COUNTERS`], before `time`,
    /// which is not later than the next event.
    fn counted(
        _system: &System<Self>,
        _node: NodeId,
        _unit: CounterUnit,
        _mode: usize,
        _time: Time,
        _exact: &mut [u64],
    ) {
    }

    /// Stall time of a processor's misses since the start, if the processor exists and the controller keeps this
    /// account.
    fn stall_terms(&self, _cpu: CpuId) -> Option<StallTerms> {
        None
    }
}
