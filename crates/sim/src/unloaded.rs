//! Latencies of a machine on which nothing else happens, added up from the parts that the simulation runs with.

use machine::Topology;
use machine::description::Description;
use units::{Duration, NodeId};

use crate::map::LineMap;
use crate::processor::ProcessorTiming;
use crate::system::{Blueprint, Controller};
use crate::wire::Network;
use crate::{Options, SimError};

/// The latency of a read of memory in a chain of dependent reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnloadedRead {
    /// The node of the processor.
    pub from: NodeId,
    /// The node of the memory.
    pub to: NodeId,
    /// Routers between them.
    pub hops: u32,
    /// From a line on the processor's bus to the next one, as the mean over the edges of clocks that messages wait for.
    pub time: Duration,
}

/// The unloaded reads of a machine with controllers `C`, by reader and memory.
///
/// # Errors
/// As [`Controller::new`].
pub fn reads<C: Controller>(description: &Description) -> Result<Vec<UnloadedRead>, SimError> {
    description.check()?;
    let network = Network::new(description, Topology::new(description), C::NETWORKS.len());
    let lines = LineMap::of(description);
    let blueprint = Blueprint { description, network: &network, lines, options: Options::default() };
    let controllers = C::new(&blueprint)?;
    let processor = ProcessorTiming::new(description, controllers.release(), Duration::ZERO);
    let ids = || network.topology().nodes().iter().map(|node| node.id);
    let read = |(from, to)| {
        let time = controllers.unloaded_read(&network, &processor, from, to);
        UnloadedRead { from, to, hops: network.topology().hops(from, to), time }
    };
    Ok(ids().flat_map(|from| ids().map(move |to| (from, to))).map(read).collect())
}
