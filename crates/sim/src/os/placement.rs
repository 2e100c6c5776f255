//! Placement policies: the node of a page (Prestor 2001, 3.3.2).

use machine::Topology;
use machine::description::{OsSpec, PlacementKind};
use units::NodeId;

/// A placement policy with its state.
#[derive(Clone, Debug)]
pub struct Policy {
    kind: PlacementKind,
    fixed: NodeId,
    /// By node, the hops to each node.
    hops: Vec<Vec<u32>>,
    /// By node, all nodes ordered by hops from it, then by number.
    nearest: Vec<Vec<NodeId>>,
    /// By node, the size of the domain centred on it, a prefix of `nearest`.
    domains: Vec<usize>,
    /// The next node in turn, for round robin.
    next: usize,
}

/// The wanted place of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preference {
    /// This node.
    Node(NodeId),
    /// The emptiest node of the domain with this centre.
    Domain(NodeId),
}

impl Policy {
    /// The policy of `spec` on a machine of this topology.
    pub fn new(spec: &OsSpec, topology: &Topology) -> Self {
        let nodes = || (0..topology.nodes().len() as u16).map(NodeId);
        let nearest = |from: NodeId| {
            let mut others: Vec<_> = nodes().collect();
            others.sort_by_key(|&to| (topology.hops(from, to), to));
            others
        };
        let within = |from| nodes().filter(|&to| topology.hops(from, to) <= spec.domain_radius).count();
        Self {
            kind: spec.placement,
            fixed: NodeId(spec.fixed_node as u16),
            hops: nodes().map(|from| nodes().map(|to| topology.hops(from, to)).collect()).collect(),
            nearest: nodes().map(nearest).collect(),
            domains: nodes().map(within).collect(),
            next: 0,
        }
    }

    /// Router hops from one node to another.
    pub fn hops(&self, from: NodeId, to: NodeId) -> u32 {
        self.hops[from.index()][to.index()]
    }

    /// Whether the program's planned placement is used.
    pub fn follows_plans(&self) -> bool {
        self.kind == PlacementKind::Planned
    }

    /// The wanted place of a page at its first touch by a processor of node `toucher`.
    pub fn wish(&mut self, toucher: NodeId) -> Preference {
        match self.kind {
            PlacementKind::Planned | PlacementKind::FirstTouch => Preference::Node(toucher),
            PlacementKind::Fixed => Preference::Node(self.fixed),
            PlacementKind::Domains => Preference::Domain(toucher),
            PlacementKind::RoundRobin => {
                let node = NodeId(self.next as u16);
                self.next = (self.next + 1) % self.nearest.len();
                Preference::Node(node)
            }
        }
    }

    /// The node that serves a wish, given the free frames of each node, and whether it is another one than wished for.
    /// A full node spills to the nearest one with room (FLASH dissertation, chapter 4). `None` if no node has room.
    pub fn serve(&self, wish: Preference, free: impl Fn(NodeId) -> u64) -> Option<(NodeId, bool)> {
        let centre = match wish {
            Preference::Node(node) | Preference::Domain(node) => node,
        };
        let nearest = &self.nearest[centre.index()];
        let wished = match wish {
            Preference::Node(_) => 1,
            Preference::Domain(_) => self.domains[centre.index()],
        };
        // The nearest of equally empty nodes, which is the first of the list.
        let emptiest = nearest[..wished].iter().rev().max_by_key(|&&node| free(node));
        if let Some(&node) = emptiest.filter(|&&node| free(node) > 0) {
            return Some((node, false));
        }
        let helper = nearest[wished..].iter().find(|&&node| free(node) > 0)?;
        Some((*helper, true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(kind: PlacementKind, radius: u32) -> Policy {
        let description = machine::load("origin2000-r12k-300-16p").expect("a machine");
        let spec = OsSpec { placement: kind, fixed_node: 5, domain_radius: radius, ..description.os.clone() };
        Policy::new(&spec, &Topology::new(&description))
    }

    fn nodes(policy: &mut Policy, touchers: &[u16]) -> Vec<u16> {
        let serve = |toucher: &u16| {
            let wish = policy.wish(NodeId(*toucher));
            policy.serve(wish, |_| 1).expect("there is room").0.0
        };
        touchers.iter().map(serve).collect()
    }

    #[test]
    fn each_policy_chooses_its_node() {
        let touchers = [3, 3, 0, 7];
        assert_eq!(nodes(&mut policy(PlacementKind::FirstTouch, 0), &touchers), touchers);
        assert_eq!(nodes(&mut policy(PlacementKind::Planned, 0), &touchers), touchers);
        assert_eq!(nodes(&mut policy(PlacementKind::RoundRobin, 0), &touchers), [0, 1, 2, 3]);
        assert_eq!(nodes(&mut policy(PlacementKind::Fixed, 0), &touchers), [5; 4]);
        assert_eq!(nodes(&mut policy(PlacementKind::Domains, 0), &touchers), touchers, "a domain of one node");
        let mut round = policy(PlacementKind::RoundRobin, 0);
        assert_eq!(nodes(&mut round, &[0; 9])[8], 0, "eight nodes, then from the start");
    }

    #[test]
    fn a_full_node_is_helped_out_by_the_nearest() {
        let policy = policy(PlacementKind::FirstTouch, 0);
        // Nodes 2 and 3 share a router; 0 and 1 share a neighbouring one.
        let full = |full: &'static [u16]| move |node: NodeId| u64::from(!full.contains(&node.0));
        let from_three = |taken| policy.serve(Preference::Node(NodeId(3)), full(taken));
        assert_eq!(from_three(&[]), Some((NodeId(3), false)));
        assert_eq!(from_three(&[3]), Some((NodeId(2), true)));
        assert_eq!(from_three(&[3, 2]), Some((NodeId(0), true)), "of equally near ones the first");
        assert_eq!(from_three(&[0, 1, 2, 3, 4, 5, 6, 7]), None);
    }

    #[test]
    fn a_domain_gives_from_its_emptiest_node() {
        let policy = policy(PlacementKind::Domains, 1);
        let wish = Preference::Domain(NodeId(2));
        // A radius of one router: the two nodes that share it.
        assert_eq!(policy.serve(wish, |_| 10), Some((NodeId(2), false)), "the centre, of equals");
        assert_eq!(policy.serve(wish, |node| if node.0 == 3 { 11 } else { 10 }), Some((NodeId(3), false)));
        assert_eq!(policy.serve(wish, |node| if node.0 == 6 { 11 } else { 10 }), Some((NodeId(2), false)), "outside");
        let outside = policy.serve(wish, |node| u64::from(node.0 > 3));
        assert_eq!(outside.map(|(_, spilled)| spilled), Some(true));
    }
}
