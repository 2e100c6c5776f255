//! The deadlock check: a routing is free of deadlock if its channels do not depend on each other in a circle.
//!
//! A wormhole router holds one channel while it waits for the next, so that each pair of consecutive channels of a
//! route is a dependency. Virtual networks do not wait for each other when, as in the SPIDER router, a packet never changes
//! its own (FLASH dissertation, Appendix A): each has a graph to itself, the same one if they take the same routes. The
//! theorem is Dally and Seitz's ("Deadlock-Free Message Routing in Multiprocessor Interconnection Networks", IEEE Trans.
//! Computers 36(5), 1987).

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use units::{ChannelId, NodeId};

use super::{RoutingError, RoutingTable};
use crate::topology::{Endpoint, Topology};

/// A circle of channels in which each waits for the next and the last for the first; none if there is no such circle.
///
/// `routes` gives each route as the channels it takes, in order. What a channel is, is the caller's: a link's direction,
/// a pair of routers, one with its virtual network. Of several circles the one returned is a shortest in its tangle.
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
    // Vertices are in the order of the routes, so that the answer does not depend on the hash.
    let first =
        tarjan_scc(&graph).into_iter().filter(tangle).filter_map(|component| component.into_iter().min()).min()?;
    Some(shortest_circle(&graph, first).into_iter().map(|vertex| graph[vertex]).collect())
}

/// The shortest way from `start` back to itself, found breadth first; `start` must lie on a circle.
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

/// The circle of channels that `table` closes on `topology`; none if the routing is free of deadlock.
///
/// # Errors
/// If the table does not lead from every node to every other.
pub fn check(topology: &Topology, table: &RoutingTable) -> Result<Option<Vec<ChannelId>>, RoutingError> {
    let mut routes = Vec::new();
    // The source whose walk to the present destination first took each channel.
    let mut taken_by: Vec<Option<NodeId>> = Vec::new();
    for to in topology.nodes() {
        taken_by.clear();
        taken_by.resize(topology.links().len() * 2, None);
        for from in topology.nodes().iter().filter(|node| node.id != to.id) {
            routes.push(new_channels(topology, table, from.id, to.id, &mut taken_by)?);
        }
    }
    Ok(find_cycle(routes))
}

/// The channels from `from` towards `to`, up to and with the first that another source has taken before: from there
/// on the way is the same, as the table looks at nothing but the destination.
fn new_channels(
    topology: &Topology,
    table: &RoutingTable,
    from: NodeId,
    to: NodeId,
    taken_by: &mut [Option<NodeId>],
) -> Result<Vec<ChannelId>, RoutingError> {
    let mut channels = vec![topology.injection(from)];
    let mut router = topology.nodes()[from.index()].router;
    loop {
        let (_, channel, end) = table.step(topology, router, from, to)?;
        channels.push(channel);
        match (taken_by[channel.index()].replace(from), end) {
            (Some(earlier), _) if earlier == from => {
                return Err(RoutingError::Endless { from, to, router: topology.routers()[router.index()].path() });
            }
            (Some(_), _) | (None, Endpoint::Node(_)) => return Ok(channels),
            (None, Endpoint::Router(next, _)) => router = next,
        }
    }
}
