//! Stanford FLASH's network (FLASH dissertation, Appendix A, Figures A.2 to A.5).
//!
//! The available text has the appendix's words but not its figures; ports, positions in the rings and the machines
//! between the drawn sizes are reconstructed from the words. Tests check them against the words: 64 nodes from routers
//! of six ports, requests and replies apart, no cycle, and twice the bisection between metacubes 0 and 1 as between 0
//! and 2 or 0 and 3.
//!
//! **Parts.** Four nodes and a cluster router make a cluster: ports 1 to 4 are its nodes, 5 goes to the request mesh, 6
//! to the reply mesh. Up to four clusters and two mesh routers, one for each mesh, make a metacube: ports 1 to 4 of the
//! mesh routers are the clusters, 5 and 6 go to other metacubes. Nodes fill clusters, and clusters metacubes, in order.
//! A machine of one cluster has no mesh. In the hardware graph a cluster is a module with router `r1`, and the mesh
//! routers of a metacube share a module after those of the clusters, `r1` for requests and `r2` for replies.
//!
//! **Metacubes.** The mesh routers of requests form a ring in the order 0, 1, 2, 3, those of replies in the order 0, 1,
//! 3, 2, so that 0 and 1 are neighbours in both and 0 has 2 in one and 3 in the other. Port 5 goes to the next of the
//! ring, port 6 to the previous one. In a smaller machine the ring closes over the metacubes present: a triangle of
//! three, a single cable of two.
//!
//! **Routes.** Requests turn around in the request mesh, replies in the reply mesh, and both in the cluster router
//! within a cluster; no packet crosses a cluster router from mesh to mesh. Within a ring a packet goes to a neighbour
//! directly, and to the opposite metacube as in the deadlock-free half of Table A.1: forwards, but from the last of
//! four positions backwards. No packet then continues from the cable that closes the ring, so that the cables'
//! dependencies form no cycle.

use units::{NodeId, Port, RouterId};

use super::{Builder, Exit, Topology};
use crate::description::{Description, DoubleMeshSpec, METACUBE_CLUSTERS, MOST_METACUBES, TopologySpec};
use crate::graph::{Endpoint, LinkClass, RouterPlace, VirtualNetwork};

/// The mesh routers' port to the next metacube of the ring.
const NEXT_PORT: Port = Port(5);
/// The mesh routers' port to the previous metacube of the ring.
const BEFORE_PORT: Port = Port(6);

/// The order of all metacubes in the ring of a mesh.
const fn ring(network: VirtualNetwork) -> [u16; MOST_METACUBES as usize] {
    match network {
        VirtualNetwork::Request => [0, 1, 2, 3],
        VirtualNetwork::Reply => [0, 1, 3, 2],
    }
}

/// A cluster router's port to a mesh.
const fn mesh_port(network: VirtualNetwork) -> Port {
    match network {
        VirtualNetwork::Request => Port(5),
        VirtualNetwork::Reply => Port(6),
    }
}

/// The shape that determines the network's wiring and routes.
#[derive(Clone, Copy, Debug)]
struct Shape {
    nodes: u16,
    nodes_per_cluster: u16,
    clusters: u16,
    metacubes: u16,
}

impl Shape {
    fn new(spec: &TopologySpec) -> Self {
        let nodes = spec.nodes() as u16;
        let nodes_per_cluster = spec.nodes_per_router as u16;
        let clusters = spec.routers_with_nodes() as u16;
        Self { nodes, nodes_per_cluster, clusters, metacubes: clusters.div_ceil(METACUBE_CLUSTERS) }
    }

    fn has_meshes(self) -> bool {
        self.clusters > 1
    }

    /// The mesh router of a metacube; mesh routers are numbered after the clusters, by metacube and network.
    fn mesh_router(self, metacube: u16, network: VirtualNetwork) -> RouterId {
        RouterId(self.clusters + 2 * metacube + network as u16)
    }

    /// The metacubes present, in the order of a mesh's ring.
    fn ring(self, network: VirtualNetwork) -> impl Iterator<Item = u16> + Clone {
        ring(network).into_iter().filter(move |metacube| *metacube < self.metacubes)
    }

    /// The exit port of `router` for packets of `network` to `node`; `None` if no such packet passes it.
    fn exit(self, network: VirtualNetwork, router: RouterId, node: NodeId) -> Option<Port> {
        let cluster = node.0 / self.nodes_per_cluster;
        let Some(index) = router.0.checked_sub(self.clusters) else {
            let at_home = router.0 == cluster;
            return Some(if at_home { self.node_port(node.0) } else { mesh_port(network) });
        };
        let metacube = index / 2;
        if self.mesh_router(metacube, network) != router {
            return None;
        }
        let to = cluster / METACUBE_CLUSTERS;
        Some(if metacube == to { cluster_port(cluster) } else { self.way_round(network, metacube, to) })
    }

    /// The exit port of the mesh router of metacube `from` for packets to another metacube.
    fn way_round(self, network: VirtualNetwork, from: u16, to: u16) -> Port {
        let position = |metacube| self.ring(network).position(|other| other == metacube).unwrap_or_default();
        let (from, to, length) = (position(from), position(to), usize::from(self.metacubes));
        let onwards = (to + length - from) % length;
        match (onwards, length) {
            // The only cable of two metacubes is the forward one of the first.
            (1, 2) if from == 1 => BEFORE_PORT,
            (1, _) => NEXT_PORT,
            // Opposite in a ring of four. Table A.1 breaks the cycle by the exception at the last position.
            (2, 4) if from != 3 => NEXT_PORT,
            _ => BEFORE_PORT,
        }
    }

    fn node_port(self, node: u16) -> Port {
        Port((node % self.nodes_per_cluster) + 1)
    }
}

/// The port of a mesh router to a cluster of its metacube.
fn cluster_port(cluster: u16) -> Port {
    Port((cluster % METACUBE_CLUSTERS) + 1)
}

/// Builds the network of `description`.
///
/// # Panics
/// The description has no double mesh, which [`crate::load`] rejects.
pub(super) fn build(description: &Description) -> Topology {
    let spec = &description.topology;
    let Some(cables) = &description.double_mesh else { panic!("{} has no [double_mesh]", description.name) };
    let shape = Shape::new(spec);
    let mut builder = Builder::new(spec.propagation_per_m);
    add_routers(&mut builder, shape);
    for node in 0..shape.nodes {
        let (cluster, place) = (node / shape.nodes_per_cluster, node % shape.nodes_per_cluster);
        builder.node(cluster + 1, place as u8 + 1, RouterId(cluster), shape.node_port(node), cables.node_link);
    }
    if shape.has_meshes() {
        for network in VirtualNetwork::ALL {
            link_clusters(&mut builder, shape, cables, network);
            link_metacubes(&mut builder, shape, cables, network);
        }
    }
    let exit = |network| move |router, node| shape.exit(network, router, node);
    let (request, reply) = (exit(VirtualNetwork::Request), exit(VirtualNetwork::Reply));
    let separate = shape.has_meshes().then_some(&reply as &Exit);
    builder.finish(description, &request, separate)
}

fn add_routers(builder: &mut Builder, shape: Shape) {
    for router in 0..shape.clusters {
        let (metacube, cluster) = (router / METACUBE_CLUSTERS, router % METACUBE_CLUSTERS);
        builder.router(RouterPlace::Cluster { metacube, cluster }, router + 1, 1);
    }
    for metacube in (0..shape.metacubes).filter(|_| shape.has_meshes()) {
        for network in VirtualNetwork::ALL {
            let module = shape.clusters + metacube + 1;
            let id = builder.router(RouterPlace::Mesh { metacube, network }, module, network as u8 + 1);
            debug_assert_eq!(id, shape.mesh_router(metacube, network));
        }
    }
}

fn link_clusters(builder: &mut Builder, shape: Shape, cables: &DoubleMeshSpec, network: VirtualNetwork) {
    for cluster in 0..shape.clusters {
        let below = Endpoint::Router(RouterId(cluster), mesh_port(network));
        let mesh = shape.mesh_router(cluster / METACUBE_CLUSTERS, network);
        let above = Endpoint::Router(mesh, cluster_port(cluster));
        builder.link(below, above, LinkClass::Cluster(network), cables.mesh_cable);
    }
}

fn link_metacubes(builder: &mut Builder, shape: Shape, cables: &DoubleMeshSpec, network: VirtualNetwork) {
    // Two metacubes have one cable, not one in each direction of the ring.
    let links = if shape.metacubes > 2 { usize::from(shape.metacubes) } else { usize::from(shape.metacubes) - 1 };
    let onwards = shape.ring(network).cycle().skip(1);
    for (from, to) in shape.ring(network).zip(onwards).take(links) {
        let [first, second] = [(from, NEXT_PORT), (to, BEFORE_PORT)]
            .map(|(metacube, port)| Endpoint::Router(shape.mesh_router(metacube, network), port));
        builder.link(first, second, LinkClass::Metacube(network), cables.metacube_cable);
    }
}
