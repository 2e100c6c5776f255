//! What stands between a node's processors, its memory and the network: a kind of machine is an implementation of this.

use std::fmt::Debug;

use engine::Source;
use machine::VirtualNetwork;
use machine::description::Description;
use units::{Bytes, ChannelId, CpuId, Duration, NodeId, Time};

use super::event::{EnvelopeId, NodeEvent};
use super::{Incoherence, Network, System};
use crate::counters::CounterUnit;
use crate::memory::LineMap;
use crate::os::Transfer;
use crate::processor::{MissId, Post};
use crate::{NodeStatistics, Options, SimError, StallTerms};

/// What controllers are made from.
pub struct Blueprint<'a> {
    /// The machine.
    pub description: &'a Description,
    /// Its network.
    pub network: &'a Network,
    /// Where lines are.
    pub lines: LineMap,
    /// How to simulate.
    pub options: Options,
}

/// For how long the parts of a node were held since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Held {
    /// The bus to its processors.
    pub bus: Duration,
    /// Its controller: a Hub's memory and directory, MAGIC's protocol processor.
    pub controller: Duration,
    /// Time that messages waited for that.
    pub queued: Duration,
    /// Its memory.
    pub memory: Duration,
}

/// The controllers of all nodes of a machine, and the protocol that they speak.
///
/// The functions that take the whole [`System`] are steps of its simulation: they run at the system's present time.
pub trait Controller: Sized + 'static {
    /// What controllers send each other.
    type Message: Copy + Debug;
    /// What can happen in a node besides what [`System`] knows.
    type Event: NodeEvent;
    /// Whether the protocol makes new contents when it grants a write prefetch: it has no copy that is exclusive and clean.
    const WRITE_PREFETCHES_STORE: bool;
    /// Whether nodes have engines that copy pages ([`Controller::transfer`]).
    const MOVES_PAGES: bool = false;

    /// The idle controllers of a machine; `sources` gives each its source of events.
    ///
    /// # Errors
    /// The description asks for what these controllers cannot do.
    fn new(blueprint: &Blueprint<'_>, sources: impl Iterator<Item = Source>) -> Result<Self, SimError>;

    /// The source of a node's events.
    fn source(&mut self, node: NodeId) -> &mut Source;

    /// From the completion of a request until its request buffer serves another.
    fn release(&self) -> Duration;

    /// What of each node's memory programs cannot have.
    fn reserved(&self) -> Bytes {
        Bytes(0)
    }

    /// Whether processors must tell of clean lines that leave their caches.
    fn announces_clean(&self) -> bool;

    /// Whether a load may return contents older than others have seen: the protocol does not promise sequential consistency.
    fn relaxes_order(&self) -> bool {
        false
    }

    /// No event can lead to an intervention or invalidation at a processor sooner than this after it, unless the controller
    /// [threatens](Self::threatens) the processor's node.
    fn lookahead(&self) -> Duration;

    /// Whether an intervention or invalidation is on its way to the node's processors, and may be there within the lookahead.
    fn threatens(&self, node: NodeId) -> bool;

    /// Whether what is said of interventions and invalidations holds for all that a node's processors are told, answers and
    /// refusals, too, and for what they cause themselves: a processor that has asked for something may then run as far ahead as
    /// others.
    const FORESEES_ANSWERS: bool = false;

    /// The virtual network that a message travels on.
    fn network(message: &Self::Message) -> VirtualNetwork;

    /// Whether a message carries a line.
    fn carries_line(message: &Self::Message) -> bool;

    /// So many lines of the node's memory exist now.
    fn allocated(&mut self, node: NodeId, lines: u64);

    /// A processor has something to say, at a time not before the present.
    fn posted(system: &mut System<Self>, cpu: CpuId, post: &Post);

    /// Something happens in a node.
    fn happened(system: &mut System<Self>, event: Self::Event);

    /// The first packet of a message reaches its node at `arrival`, through a channel whose buffer it occupies.
    fn delivered(system: &mut System<Self>, channel: ChannelId, id: EnvelopeId, arrival: Time);

    /// A node's copy engine is to do something with a page. Machines without such engines refuse what would lead to this.
    fn transfer(_system: &mut System<Self>, _transfer: Transfer) {}

    /// The line of a miss is whole, before the miss is closed.
    ///
    /// # Errors
    /// A case that the protocol rules out.
    fn filled(_system: &mut System<Self>, _cpu: CpuId, _miss: MissId) -> Result<(), SimError> {
        Ok(())
    }

    /// Compares all caches with each other, with memory and with the directory, when nothing is under way.
    ///
    /// # Errors
    /// The first disagreement found.
    fn check_coherence(system: &mut System<Self>) -> Result<(), Incoherence>;

    /// What a node's controller did since the start.
    fn statistics(system: &System<Self>, node: NodeId) -> NodeStatistics;

    /// For how long the parts of a node were held before `time`, which is not later than what happens next.
    fn held(_system: &System<Self>, _node: NodeId, _time: Time) -> Held {
        Held::default()
    }

    /// What counters a node has.
    const COUNTERS: &'static [CounterUnit] = &[];

    /// How often each event of a mode of a node's unit, one of [`Self::COUNTERS`], has occurred before `time`, which is not later
    /// than what happens next.
    fn counted(
        _system: &System<Self>,
        _node: NodeId,
        _unit: CounterUnit,
        _mode: usize,
        _time: Time,
        _exact: &mut [u64],
    ) {
    }

    /// Where a processor's misses spent their time since the start, if there is such a processor and account is kept.
    fn stall_terms(&self, _cpu: CpuId) -> Option<StallTerms> {
        None
    }
}
