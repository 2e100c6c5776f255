//! The steps of the SCI model, with the names that traces show.

use std::fmt;

use protocol::Agent;
use protocol::sci::Operation;
use units::CpuId;

use super::state::Packet;

/// One step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// A processor begins an operation.
    Operate(CpuId, Operation),
    /// The packet in flight on behalf of a cache arrives.
    Deliver(CpuId, Packet),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operate(cpu, Operation::Load) => write!(f, "{cpu:?}: loads"),
            Self::Operate(cpu, Operation::Store) => write!(f, "{cpu:?}: stores"),
            Self::Operate(cpu, Operation::Rollout) => write!(f, "{cpu:?}: makes room"),
            Self::Deliver(source, Packet::Request(request)) => {
                match request.to {
                    Agent::Processor(cpu) => write!(f, "{cpu:?}")?,
                    _ => write!(f, "memory")?,
                }
                write!(f, ": gets {} from {source:?}", request.command.mnemonic())?;
                request.pointer.map_or(Ok(()), |pointer| write!(f, " naming {pointer:?}"))
            }
            Self::Deliver(cpu, Packet::Response(response)) => {
                write!(f, "{cpu:?}: gets the response {:?}", response.report)?;
                response.pointer.map_or(Ok(()), |pointer| write!(f, " naming {pointer:?}"))?;
                response.version.map_or(Ok(()), |_| write!(f, " with data"))
            }
        }
    }
}
