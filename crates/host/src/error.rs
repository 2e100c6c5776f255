//! Why the computer could not do what it was asked to: each with what was asked, what happened and what would do.

use std::io;
use std::path::PathBuf;

use units::{Bytes, CpuId, NodeId};

/// Why the computer could not do what it was asked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// A file of the kernel's could not be read, or says something unexpected.
    #[error("{path}: {problem}", path = path.display())]
    KernelFile {
        /// The file.
        path: PathBuf,
        /// The problem with it.
        problem: String,
    },
    /// The node does not exist, has no memory, or may not be used.
    #[error("memory of node {node} cannot be used: {problem}; accepted: {accepted}")]
    Node {
        /// The node asked for.
        node: NodeId,
        /// Why not.
        problem: String,
        /// Nodes that would have been accepted.
        accepted: String,
    },
    /// The processor does not exist, is offline, or may not be used.
    #[error("CPU {cpu} cannot be used: {problem}; accepted: {accepted}")]
    Cpu {
        /// The processor asked for.
        cpu: CpuId,
        /// Why not.
        problem: String,
        /// Processors that would have been accepted.
        accepted: String,
    },
    /// The thread of a processor failed while it measured.
    #[error("the thread of CPU {cpu} failed: {problem}")]
    Thread {
        /// Its processor.
        cpu: CpuId,
        /// The problem.
        problem: String,
    },
    /// Memory was not placed as asked; nothing was put elsewhere instead.
    #[error("{size} in {pages} pages on node {node}: {problem}; {advice}")]
    Placement {
        /// The node asked for.
        node: NodeId,
        /// How much.
        size: Bytes,
        /// The kind of pages asked for.
        pages: String,
        /// The problem.
        problem: String,
        /// Advice on it.
        advice: String,
    },
    /// A call to the kernel failed.
    #[error("{call}: {source}; {advice}")]
    Call {
        /// The call, with what matters of its arguments.
        call: String,
        /// The kernel's error.
        source: io::Error,
        /// Advice on it.
        advice: String,
    },
    /// The processor or the kernel lacks something.
    #[error("{what} unavailable: {reason}")]
    Unsupported {
        /// The feature asked for.
        what: String,
        /// Why not.
        reason: String,
    },
    /// A request that makes no sense on any machine.
    #[error("{0}")]
    Request(String),
}
