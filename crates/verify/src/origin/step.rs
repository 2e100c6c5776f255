//! Steps of the Origin model, with their names in traces.

use std::fmt;

use protocol::origin::Message;
use protocol::{Access, Agent};
use units::CpuId;

/// One step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OriginStep {
    /// A processor accesses a line.
    Access {
        /// The processor.
        cpu: CpuId,
        /// The line.
        line: usize,
        /// Access.
        access: Access,
    },
    /// A cache evicts a line.
    Evict {
        /// The processor.
        cpu: CpuId,
        /// The line.
        line: usize,
    },
    /// A NACKed request is retried.
    Retry {
        /// The processor.
        cpu: CpuId,
        /// The line.
        line: usize,
    },
    /// A deferred intervention is answered.
    ServeDeferred {
        /// The processor.
        cpu: CpuId,
        /// The line.
        line: usize,
    },
    /// A message arrives.
    Deliver {
        /// The message.
        message: Message,
        /// Whether the output queue of the home, if it is the destination, is nearly full.
        backoff: bool,
    },
}

impl fmt::Display for OriginStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Access { cpu, line, access } => write!(f, "{cpu:?}: {} line {line}", verb(*access)),
            Self::Evict { cpu, line } => write!(f, "{cpu:?}: evicts line {line}"),
            Self::Retry { cpu, line } => write!(f, "{cpu:?}: retries line {line}"),
            Self::ServeDeferred { cpu, line } => {
                write!(f, "{cpu:?}: answers the deferred intervention on line {line}")
            }
            Self::Deliver { message, backoff } => {
                match message.to {
                    Agent::Home(_) => write!(f, "home")?,
                    Agent::Processor(cpu) => write!(f, "{cpu:?}")?,
                    Agent::Interface(node) => write!(f, "{node:?}")?,
                    Agent::Sharers => write!(f, "sharers")?,
                }
                let (kind, requester, line) = (message.kind.mnemonic(), message.requester, message.line.0);
                write!(f, ": receives {kind} for {requester:?} on line {line}")?;
                if message.priority > 0 {
                    write!(f, ", priority {}", message.priority)?;
                }
                if message.acknowledgements > 0 {
                    write!(f, ", {} IVACK to come", message.acknowledgements)?;
                }
                if *backoff {
                    write!(f, ", backs off")?;
                }
                Ok(())
            }
        }
    }
}

fn verb(access: Access) -> &'static str {
    match access {
        Access::Load => "loads",
        Access::Store => "stores to",
        Access::InstructionFetch => "fetches instructions from",
        Access::ReadPrefetch => "prefetches for reading",
        Access::WritePrefetch => "prefetches for writing",
        Access::UncachedRead => "reads without caching",
        Access::PoisonRead => "reads and poisons",
    }
}
