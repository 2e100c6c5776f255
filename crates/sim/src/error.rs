//! What can go wrong in a simulation.

use machine::DescriptionError;
use machine::description::{Description, HubSpec};
use protocol::ProtocolError;
use protocol::msi::catalogue::UnknownProtocol;
use thiserror::Error;
use units::{Bytes, CpuId, NodeId, Time, VirtualAddr};

use crate::system::Incoherence;

/// Why a simulation cannot start or go on.
#[derive(Debug, Error)]
pub enum SimError {
    /// Memory was asked for on a node that does not exist.
    #[error("node {node} does not exist: the machine has nodes 0 to {}", nodes - 1)]
    NoSuchNode {
        /// The node.
        node: NodeId,
        /// How many there are.
        nodes: usize,
    },
    /// Counters were to be looked at that cannot be.
    #[error("counters cannot be looked at: {what}: {why}")]
    Unwatchable {
        /// What was asked for.
        what: String,
        /// Why not.
        why: &'static str,
    },
    /// A program was given to a processor that does not exist.
    #[error("processor {cpu} does not exist: the machine has processors 0 to {}", processors - 1)]
    NoSuchProcessor {
        /// The processor.
        cpu: CpuId,
        /// How many there are.
        processors: usize,
    },
    /// Two programs were given to one processor.
    #[error("processor {cpu} was given two programs at once")]
    TwoPrograms {
        /// The processor.
        cpu: CpuId,
    },
    /// A process is larger than the machine, and its threads cannot take turns.
    #[error(
        "{name} has {threads} threads, the machine {processors} processors: only run-queue without pins lets them take turns"
    )]
    TooManyThreads {
        /// The process.
        name: String,
        /// Its threads.
        threads: usize,
        /// How many processors there are.
        processors: usize,
    },
    /// A thread was to begin, and no processor is free for it.
    #[error("no processor is free for another thread: all {processors} that the program may use have one")]
    NoProcessorFree {
        /// How many it may use.
        processors: usize,
    },
    /// A node is full.
    #[error("{wanted} do not fit on node {node}: {free} are free")]
    OutOfMemory {
        /// The node.
        node: NodeId,
        /// What was asked for.
        wanted: Bytes,
        /// What is left.
        free: Bytes,
    },
    /// No node has room for a page that a program touches.
    #[error("processor {cpu} touched a page at {page:?} at {at}, and no node has room for it")]
    MemoryFull {
        /// Who touched it.
        cpu: CpuId,
        /// What it touched.
        page: VirtualAddr,
        /// When.
        at: Time,
    },
    /// The description asks for something that the simulator does not have.
    #[error("{key} = {value} cannot be simulated; accepted: {accepted}")]
    Unsupported {
        /// The key of the description.
        key: &'static str,
        /// Its value.
        value: String,
        /// What can be simulated.
        accepted: &'static str,
    },
    /// The values of the description cannot stand together.
    #[error(transparent)]
    Description(Box<DescriptionError>),
    /// All programs wait for something that never comes.
    #[error("nothing can happen any more at {at}: {waits}")]
    Deadlock {
        /// When.
        at: Time,
        /// Who waits for what.
        waits: String,
    },
    /// The description names a protocol that does not exist.
    #[error("directory.protocol: {0}")]
    UnknownProtocol(#[from] UnknownProtocol),
    /// A program reads past the caches where the protocol has no message for it.
    #[error("processor {cpu} reads a line without caching it, for which the protocol has no message")]
    NoUncached {
        /// The processor.
        cpu: CpuId,
    },
    /// The protocol met a case that it rules out.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// Processors, directory and memory do not agree.
    #[error(transparent)]
    Incoherent(#[from] Incoherence),
    /// The host has no memory for a program's stack.
    #[error("no memory for a program's stack: {0}")]
    NoStack(std::io::Error),
}

impl From<DescriptionError> for SimError {
    fn from(error: DescriptionError) -> Self {
        Self::Description(Box::new(error))
    }
}

impl SimError {
    /// The Hub of `description`.
    pub(crate) fn hub_of(description: &Description) -> Result<&HubSpec, Self> {
        let value = "magic".to_string();
        description.hub.as_ref().ok_or(Self::Unsupported { key: "controller.kind", value, accepted: "\"hub\"" })
    }
}
