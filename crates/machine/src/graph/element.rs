//! The parts of a graph: nodes, routers, links and their ends.

use std::fmt;

use units::{Duration, Length, LinkId, NodeId, Port, RouterId};

use super::VirtualNetwork;

/// A node board: processors, memory and their controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Node {
    /// Its compact node identifier.
    pub id: NodeId,
    /// The module that holds it, from 1.
    pub module: u16,
    /// Its slot in the module, from 1: `n1` to `n4`.
    pub slot: u8,
    /// Its router.
    pub router: RouterId,
    /// The port of that router.
    pub port: Port,
    /// The link between them.
    pub link: LinkId,
}

impl Node {
    /// Its name in the hardware graph: `/hw/module/1/slot/n1/node` (Prestor 3.3.1).
    pub fn path(&self) -> String {
        format!("/hw/module/{}/slot/n{}/node", self.module, self.slot)
    }
}

/// The place and the role of a router.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RouterPlace {
    /// A router with nodes, in a module of nodes.
    Leaf {
        /// The number of the hypercube: always 0 up to 64 processors, a 32-processor cube above.
        cube: u16,
        /// Its corner of that hypercube: bit `d` is its coordinate in dimension `d`.
        corner: u16,
    },
    /// A metarouter: joins the same corner of several 32-processor cubes.
    Metarouter {
        /// The number of the group of four cubes that it joins.
        group: u16,
        /// Their common corner.
        corner: u16,
    },
    /// FLASH's router of a cluster: the only one that its nodes are linked to (FLASH dissertation, Appendix A).
    Cluster {
        /// Its metacube.
        metacube: u16,
        /// The number of the cluster in it, from 0.
        cluster: u16,
    },
    /// FLASH's mesh router: joins the clusters of a metacube with each other and with other metacubes, for one network.
    Mesh {
        /// Its metacube.
        metacube: u16,
        /// Its virtual network.
        network: VirtualNetwork,
    },
    /// A router of a ring.
    Ring {
        /// Its position, from 0 onwards.
        position: u16,
    },
    /// A router of a two-dimensional mesh.
    Grid {
        /// Its column, from 0.
        column: u16,
        /// Its row, from 0.
        row: u16,
    },
    /// A node's link interface on an SCI ring.
    LinkInterface {
        /// Its ring, from 0.
        ring: u16,
        /// Its position there, from 0 in the direction of the links.
        position: u16,
    },
    /// A switch with a link interface on an SCI ring of nodes, and one on the ring of the switches.
    Switch {
        /// The ring of nodes.
        ring: u16,
    },
    /// The crossbar between all nodes.
    Crossbar,
    /// The ideal network between all nodes.
    Ideal,
    /// The on-die network of a socket of a server.
    Socket {
        /// Its number.
        socket: u16,
    },
}

/// A router chip, or the part of an interconnect without routers that all nodes are linked to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Router {
    /// Its number in this graph; the hardware has none (Prestor 3.3.1).
    pub id: RouterId,
    /// Its place in the network.
    pub place: RouterPlace,
    /// The module that holds it, from 1.
    pub module: u16,
    /// Its slot in the module, from 1.
    pub slot: u8,
    pub(crate) links: Vec<Option<LinkId>>,
}

impl Router {
    /// Its name in the hardware graph: `/hw/module/1/slot/r1/router` (Prestor 3.3.1). Metarouters end in
    /// `metarouter`, mesh routers in `meshrouter`, in modules numbered after those with nodes.
    pub fn path(&self) -> String {
        let kind = match self.place {
            RouterPlace::Leaf { .. }
            | RouterPlace::Cluster { .. }
            | RouterPlace::Ring { .. }
            | RouterPlace::Grid { .. } => "router",
            RouterPlace::Metarouter { .. } => "metarouter",
            RouterPlace::Mesh { .. } => "meshrouter",
            RouterPlace::LinkInterface { .. } => "link",
            RouterPlace::Switch { .. } => "switch",
            RouterPlace::Crossbar => "crossbar",
            RouterPlace::Ideal => "network",
            RouterPlace::Socket { .. } => "socket",
        };
        format!("/hw/module/{}/slot/r{}/{kind}", self.module, self.slot)
    }

    /// Whether it is an Origin's metarouter, which is connected to other routers alone.
    pub fn is_metarouter(&self) -> bool {
        matches!(self.place, RouterPlace::Metarouter { .. })
    }

    /// Whether it is one of FLASH's mesh routers, which are connected to other routers alone.
    pub fn is_mesh(&self) -> bool {
        matches!(self.place, RouterPlace::Mesh { .. })
    }

    /// Number of ports, connected or not.
    pub fn port_count(&self) -> usize {
        self.links.len()
    }

    /// The link at `port`, if it is connected.
    pub fn link(&self, port: Port) -> Option<LinkId> {
        *self.links.get(port.index().checked_sub(1)?)?
    }

    /// The connected ports in order, each with its link.
    pub fn ports(&self) -> impl Iterator<Item = (Port, LinkId)> + '_ {
        (1u16..).zip(&self.links).filter_map(|(port, link)| Some((Port(port), (*link)?)))
    }
}

/// One end of a link.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Endpoint {
    /// A node's network interface.
    Node(NodeId),
    /// A port of a router.
    Router(RouterId, Port),
}

/// The medium and the role of a link, each machine's from the shortest to the longest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum LinkClass {
    /// Node to router, over the module's or the cluster's backplane.
    Node,
    /// The two routers of a module, over its backplane.
    Backplane,
    /// Cable between the two modules of a rack.
    ModuleCable,
    /// Cable between racks of a 32-processor cube.
    RackCable,
    /// Cable between the two 32-processor cubes of a 64-processor system.
    CubeCable,
    /// Cable between opposite corners of a 16 or 32-processor cube.
    Express,
    /// Cable between a router and its metarouter.
    Metarouter,
    /// Cable between metarouters.
    BetweenMetarouters,
    /// Cable between a cluster router and the mesh router of a network.
    Cluster(VirtualNetwork),
    /// Cable between a network's mesh routers of different metacubes.
    Metacube(VirtualNetwork),
    /// Cable between neighbouring routers of a ring.
    Ring,
    /// Cable between neighbouring routers of a two-dimensional mesh.
    Mesh,
    /// Half of the way through a crossbar or an ideal network.
    Interface,
    /// Node to its own link interface on an SCI ring.
    Attachment,
    /// Link of an SCI ring, which carries packets in one direction.
    Sci,
    /// The same, of the ring of the switches that join rings of nodes.
    SciBetweenSwitches,
    /// NUMA node to the on-die network of its socket, which is within it.
    OnDie,
    /// The links between two sockets.
    BetweenSockets,
    /// Memory node to the on-die network of a socket.
    MemoryNode,
}

impl LinkClass {
    /// Whether the link is an external cable.
    pub fn is_cable(self) -> bool {
        !matches!(self, Self::Node | Self::Backplane | Self::Interface | Self::Attachment | Self::OnDie)
    }
}

impl fmt::Display for LinkClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Node => "node backplane",
            Self::Backplane => "router backplane",
            Self::ModuleCable => "module cable",
            Self::RackCable => "rack cable",
            Self::CubeCable => "cube cable",
            Self::Express => "express cable",
            Self::Metarouter => "metarouter cable",
            Self::BetweenMetarouters => "between metarouters",
            Self::Cluster(VirtualNetwork::Request) => "request cluster cable",
            Self::Cluster(VirtualNetwork::Reply) => "reply cluster cable",
            Self::Metacube(VirtualNetwork::Request) => "request metacube cable",
            Self::Metacube(VirtualNetwork::Reply) => "reply metacube cable",
            Self::Ring => "ring cable",
            Self::Mesh => "mesh cable",
            Self::Interface => "half-way",
            Self::Attachment => "node to link interface",
            Self::Sci => "SCI link, clockwise",
            Self::SciBetweenSwitches => "SCI link of the switches",
            Self::OnDie => "within the socket",
            Self::BetweenSockets => "between sockets",
            Self::MemoryNode => "memory node",
        })
    }
}

/// A full-duplex link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// Its number in this graph.
    pub id: LinkId,
    /// Its two ends.
    pub ends: [Endpoint; 2],
    /// Its medium and role.
    pub class: LinkClass,
    /// Its length.
    pub length: Length,
    /// Its propagation time: length times propagation per metre, without drivers and receivers.
    pub delay: Duration,
}

/// One direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Channel {
    /// The end at which packets enter it.
    pub from: Endpoint,
    /// The end at which they leave it.
    pub to: Endpoint,
    /// The medium and role of its link.
    pub class: LinkClass,
    /// Its propagation time.
    pub delay: Duration,
}
