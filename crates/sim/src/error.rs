//! Errors of a simulation.

use crate::incoherence::Incoherence;
use machine::DescriptionError;
use machine::description::Description;
use protocol::ProtocolError;
use protocol::msi::catalogue::UnknownProtocol;
use thiserror::Error;
use units::{Bytes, CpuId, NodeId, Time, VirtualAddr};

/// The reason why a simulation cannot start or continue.
#[derive(Debug, Error)]
pub enum SimError {
    /// Memory is requested on a node that does not exist.
    #[error("node {node} does not exist: the machine has nodes 0 to {}", nodes - 1)]
    NoSuchNode {
        /// The node.
        node: NodeId,
        /// The number of nodes.
        nodes: usize,
    },
    /// A unit of counters cannot be read.
    #[error("counters cannot be looked at: {what}: {why}")]
    Unwatchable {
        /// The requested unit.
        what: String,
        /// The reason.
        why: String,
    },
    /// A program was given to a processor that does not exist.
    #[error("processor {cpu} does not exist: the machine has processors 0 to {}", processors - 1)]
    NoSuchProcessor {
        /// The processor.
        cpu: CpuId,
        /// The number of processors.
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
        /// The number of processors.
        processors: usize,
    },
    /// A thread begins while no processor is free.
    #[error("no processor is free for another thread: all {processors} that the program may use have one")]
    NoProcessorFree {
        /// The number of processors that the program may use.
        processors: usize,
    },
    /// A node is full.
    #[error("{wanted} do not fit on node {node}: {free} are free")]
    OutOfMemory {
        /// The node.
        node: NodeId,
        /// The requested size.
        wanted: Bytes,
        /// The free size.
        free: Bytes,
    },
    /// No node has room for a page that a program touches.
    #[error("processor {cpu} touched a page at {page:?} at {at}, and no node has room for it")]
    MemoryFull {
        /// The processor.
        cpu: CpuId,
        /// The address that it touched.
        page: VirtualAddr,
        /// The time.
        at: Time,
    },
    /// The description requires something that the simulator does not model.
    #[error("{key} = {value} cannot be simulated; accepted: {accepted}")]
    Unsupported {
        /// The key of the description.
        key: &'static str,
        /// Its value.
        value: String,
        /// The values that can be simulated.
        accepted: Box<str>,
    },
    /// The values of the description contradict each other.
    #[error(transparent)]
    Description(Box<DescriptionError>),
    /// Deadlock: every program waits, and no event is scheduled.
    #[error("nothing can happen any more at {at}: {waits}")]
    Deadlock {
        /// The time.
        at: Time,
        /// The wait of each thread.
        waits: String,
    },
    /// The description names a protocol that does not exist.
    #[error("directory.protocol: {0}")]
    UnknownProtocol(#[from] UnknownProtocol),
    /// A program performs an uncached read, for which the protocol has no message.
    #[error("processor {cpu} reads a line without caching it, for which the protocol has no message")]
    NoUncached {
        /// The processor.
        cpu: CpuId,
    },
    /// The protocol met a case that it excludes.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// Caches, directory and memory disagree.
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
    /// A table that only machines with the controller `accepted` have.
    pub(crate) fn table<'a, T>(
        table: Option<&'a T>,
        description: &Description,
        accepted: &'static str,
    ) -> Result<&'a T, Self> {
        let value = format!("{:?}", description.controller.kind);
        table.ok_or(Self::Unsupported { key: "controller.kind", value, accepted: accepted.into() })
    }
}
