//! Steps of the SCI model, with their names in traces.

use std::fmt;

use protocol::Agent;
use protocol::sci::Operation;
use units::CpuId;

use super::state::Packet;

/// One step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// A processor starts an operation.
    Operate(CpuId, Operation),
    /// The packet in flight on behalf of a cache arrives.
    Deliver(CpuId, Packet),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operate(cpu, Operation::Load) => write!(f, "{cpu:?}: loads"),
            Self::Operate(cpu, Operation::Store) => write!(f, "{cpu:?}: stores"),
            Self::Operate(cpu, Operation::Rollout) => write!(f, "{cpu:?}: evicts"),
            Self::Deliver(source, Packet::Request(request)) => {
                match request.to {
                    Agent::Processor(cpu) => write!(f, "{cpu:?}")?,
                    _ => write!(f, "memory")?,
                }
                write!(f, ": receives {} from {source:?}", request.command.mnemonic())?;
                request.pointer.map_or(Ok(()), |pointer| write!(f, " naming {pointer:?}"))
            }
            Self::Deliver(cpu, Packet::Response(response)) => {
                write!(f, "{cpu:?}: receives the response {:?}", response.report)?;
                response.pointer.map_or(Ok(()), |pointer| write!(f, " naming {pointer:?}"))?;
                response.version.map_or(Ok(()), |_| write!(f, " with data"))
            }
        }
    }
}
