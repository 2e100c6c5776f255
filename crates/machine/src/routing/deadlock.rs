//! The deadlock check: a routing is deadlock-free if the dependencies between its channels form no cycle.
//!
//! A wormhole router holds one channel while it waits for the next, so each pair of consecutive channels of a route is
//! a dependency. Virtual networks have no dependencies on each other if, as in the SPIDER router, a packet never
//! changes its virtual network (FLASH dissertation, Appendix A); each has a graph of its own, equal if they take the
//! same routes. The theorem is Dally and Seitz's ("Deadlock-Free Message Routing in Multiprocessor Interconnection
//! Networks", IEEE Trans. Computers 36(5), 1987).

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use units::{ChannelId, NodeId};

use super::{RoutingError, RoutingTable};
use crate::graph::{Endpoint, Graph};

/// A cycle of channels, each of which waits for the next and the last for the first; `None` if there is none.
///
/// `routes` gives each route as its channels, in order. A channel is defined by the caller: a link's direction, a pair
/// of routers, or one of these with its virtual network. The returned cycle is a shortest one of its strongly connected
/// component.
pub fn find_cycle<C, R>(routes: impl IntoIterator<Item = R>) -> Option<Vec<C>>
where
    C: Copy + Eq + Hash,
    R: IntoIterator<Item = C>,
{
    let mut graph: DiGraph<C, ()> = DiGraph::new();
    let mut vertices: HashMap<C, NodeIndex> = HashMap::new();
    for route in routes {
        let mut held: Option<NodeIndex> = None;
        for channel in route {
            let wanted = *vertices.entry(channel).or_insert_with(|| graph.add_node(channel));
            if let Some(held) = held {
                graph.update_edge(held, wanted, ());
            }
            held = Some(wanted);
        }
    }
    let tangle = |component: &Vec<NodeIndex>| component.len() > 1 || graph.contains_edge(component[0], component[0]);
    // Vertices are in the order of the routes, so that the result does not depend on the hash.
    let first =
        tarjan_scc(&graph).into_iter().filter(tangle).filter_map(|component| component.into_iter().min()).min()?;
    Some(shortest_circle(&graph, first).into_iter().map(|vertex| graph[vertex]).collect())
}

/// The shortest cycle through `start`, found breadth first; `start` must lie on a cycle.
fn shortest_circle<C>(graph: &DiGraph<C, ()>, start: NodeIndex) -> Vec<NodeIndex> {
    let mut came_from: HashMap<NodeIndex, NodeIndex> = HashMap::new();
    let mut frontier = VecDeque::from([start]);
    while let Some(vertex) = frontier.pop_front() {
        for next in graph.neighbors(vertex) {
            if next == start {
                let back = std::iter::successors(Some(vertex), |at| came_from.get(at).copied());
                let mut circle: Vec<_> = back.collect();
                circle.reverse();
                return circle;
            }
            if let Entry::Vacant(unseen) = came_from.entry(next) {
                unseen.insert(vertex);
                frontier.push_back(next);
            }
        }
    }
    Vec::new()
}

/// The cycle of channels that `table` forms on `graph`; `None` if the routing is deadlock-free. The classes of virtual
/// channels that the table tells apart are channels of their own.
///
/// # Errors
/// The table does not lead from every node to every other.
pub fn check(graph: &Graph, table: &RoutingTable) -> Result<Option<Vec<ChannelId>>, RoutingError> {
    let mut routes: Vec<Vec<VirtualChannel>> = Vec::new();
    // By channel, the source whose route to the present destination first took it.
    let mut taken_by: Vec<Option<NodeId>> = Vec::new();
    for to in graph.nodes() {
        taken_by.clear();
        taken_by.resize(graph.links().len() * 2, None);
        for from in graph.nodes().iter().filter(|node| node.id != to.id) {
            routes.push(new_channels(graph, table, from.id, to.id, &mut taken_by)?);
        }
    }
    Ok(find_cycle(routes).map(|cycle| cycle.into_iter().map(|(channel, _)| channel).collect()))
}

/// A channel with the class of virtual channels that the packet takes on it.
type VirtualChannel = (ChannelId, u8);

/// The channels from `from` towards `to`, up to and including the first that another source's route has taken: the rest
/// is the same, because the table depends on the destination alone.
fn new_channels(
    graph: &Graph,
    table: &RoutingTable,
    from: NodeId,
    to: NodeId,
    taken_by: &mut [Option<NodeId>],
) -> Result<Vec<VirtualChannel>, RoutingError> {
    let mut channels = vec![(graph.injection(from), 0)];
    let mut router = graph.nodes()[from.index()].router;
    loop {
        let (_, channel, end) = table.step(graph, router, from, to)?;
        channels.push((channel, table.class(router, to)));
        match (taken_by[channel.index()].replace(from), end) {
            (Some(earlier), _) if earlier == from => {
                return Err(RoutingError::Endless { from, to, router: graph.routers()[router.index()].path() });
            }
            (Some(_), _) | (None, Endpoint::Node(_)) => return Ok(channels),
            (None, Endpoint::Router(next, _)) => router = next,
        }
    }
}
