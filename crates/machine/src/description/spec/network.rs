//! Tables of the network: size and wiring of the machine, router chip, link.

use units::{Bytes, Duration, Hertz, Length};

use super::section;
use crate::description::kind::{
    Alternatives, Flag, bytes, choice, count, cycles, inches, metres, mhz, mib, ns, ns_per_m,
};

/// Maximum number of virtual channels of a link.
pub const MOST_VIRTUAL_CHANNELS: u32 = 8;

/// Maximum number of processors of a machine, and of its nodes; kinds of nodes and networks may hold fewer.
pub const MOST_PROCESSORS: u32 = 4096;

/// The kind of network topology.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TopologyKind {
    /// The SGI Origin 2000's bristled hypercube, with metarouters above 64 processors (Prestor 3.2.3).
    Origin,
    /// FLASH's clusters of four nodes, joined by one mesh for requests and one for replies (FLASH dissertation, Appendix A).
    Flash,
    /// Routers in a ring, with links in both directions; a packet takes the shorter way round.
    Ring,
    /// Routers in a two-dimensional mesh without wrap-around; a packet corrects its column first, then its row.
    Mesh,
    /// Nodes on a ring of SCI links in one direction, which each node enters by register insertion (IEEE 1596-1992).
    SciRing,
    /// A constant latency between any two nodes, with contention at their network interfaces alone.
    Crossbar,
    /// A constant latency between any two nodes, without contention.
    Ideal,
    /// Sockets, each with an on-die network of its own, joined by links between sockets.
    Sockets,
}

impl TopologyKind {
    /// Whether packets pass routers with buffers.
    pub fn is_routed(self) -> bool {
        !matches!(self, Self::SciRing | Self::Crossbar | Self::Ideal | Self::Sockets)
    }
}

impl Alternatives for TopologyKind {
    const WORDS: &'static [(Self, &'static str)] = &[
        (Self::Origin, "origin"),
        (Self::Flash, "flash"),
        (Self::Ring, "ring"),
        (Self::Mesh, "mesh"),
        (Self::SciRing, "sci-ring"),
        (Self::Crossbar, "crossbar"),
        (Self::Ideal, "ideal"),
        (Self::Sockets, "sockets"),
    ];
}

/// The condition under which packets bypass an empty virtual channel queue in a router (Prestor 3.2.3, The Router
/// ASIC).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RouterBypass {
    /// Always.
    On,
    /// Never.
    Off,
    /// In machines without metarouters; the operating system disables the bypass in the others (Prestor 4.3.2, Systems
    /// with a Metarouter).
    WithoutMetarouters,
}

impl Alternatives for RouterBypass {
    const WORDS: &'static [(Self, &'static str)] =
        &[(Self::On, "on"), (Self::Off, "off"), (Self::WithoutMetarouters, "without-metarouters")];
}

section! {
    /// Size and wiring of the machine, in parameters common to all machines.
    TopologySpec in "topology" {
        /// The kind of network topology.
        kind: TopologyKind = "kind", choice::<TopologyKind>();
        /// Processors in the machine: a multiple of those in a node.
        processors: u32 = "processors", count(1, MOST_PROCESSORS);
        /// Processors on one node board.
        processors_per_node: u32 = "processors_per_node", count(1, 256);
        /// Nodes with memory and without processors, after those with processors.
        memory_nodes: u32 = "memory_nodes", count(0, MOST_PROCESSORS), or 0;
        /// Node boards on one router.
        nodes_per_router: u32 = "nodes_per_router", count(1, 4);
        /// The condition under which packets bypass an empty queue.
        router_bypass: RouterBypass = "router_bypass", choice::<RouterBypass>();
        /// Main memory of one node.
        node_memory: Bytes = "node_memory_mib", mib(1, 4096);
        /// Propagation time of a signal per metre.
        propagation_per_m: Duration = "propagation_ns_per_m", ns_per_m(3.3, 20.0);
    }
}

section! {
    /// The Origin's hypercubes: additional parameters for `topology.kind = "origin"`.
    HypercubeSpec in "hypercube" {
        /// Whether spare external ports of 16 and 32-processor systems join opposite corners of the cube.
        express_links: bool = "express_links", Flag;
        /// Length of a link on the backplane: node to router and router to router in one module.
        backplane: Length = "backplane_m", metres(0.0, 5.0);
        /// Cable between the two modules of a rack.
        module_cable: Length = "module_cable_inches", inches(0.0, 197.0);
        /// Cable between two racks of a 32-processor cube.
        rack_cable: Length = "rack_cable_inches", inches(0.0, 197.0);
        /// Cable between the two 32-processor cubes of a 64-processor system.
        cube_cable: Length = "cube_cable_inches", inches(0.0, 197.0);
        /// Express cable across a 16 or 32-processor cube.
        express_cable: Length = "express_cable_inches", inches(0.0, 197.0);
        /// Cable between a router and its metarouter, or between metarouters.
        metarouter_cable: Length = "metarouter_cable_inches", inches(0.0, 197.0);
    }
}

section! {
    /// FLASH's two meshes: additional parameters for `topology.kind = "flash"`.
    DoubleMeshSpec in "double_mesh" {
        /// Length of the link between a node and its cluster router.
        node_link: Length = "node_link_m", metres(0.0, 5.0);
        /// Cable between a cluster router and the mesh routers of its metacube.
        mesh_cable: Length = "mesh_cable_inches", inches(0.0, 197.0);
        /// Cable between mesh routers of different metacubes.
        metacube_cable: Length = "metacube_cable_inches", inches(0.0, 197.0);
    }
}

section! {
    /// A ring: additional parameters for `topology.kind = "ring"`.
    RingSpec in "ring" {
        /// Length of the link between a node and its router.
        node_link: Length = "node_link_m", metres(0.0, 5.0);
        /// Cable between neighbouring routers of the ring.
        cable: Length = "cable_inches", inches(0.0, 197.0);
    }
}

section! {
    /// A two-dimensional mesh: additional parameters for `topology.kind = "mesh"`.
    MeshSpec in "mesh" {
        /// Routers in a row; 0 for as many as the rows leave.
        columns: u32 = "columns", count(0, MOST_PROCESSORS);
        /// Routers in a column; 0 for as many as the columns leave. With both 0, the mesh is as near to a square as the
        /// number of routers divides into, and never higher than wide.
        rows: u32 = "rows", count(0, MOST_PROCESSORS);
        /// Length of the link between a node and its router.
        node_link: Length = "node_link_m", metres(0.0, 5.0);
        /// Cable between neighbouring routers of the mesh.
        cable: Length = "cable_inches", inches(0.0, 197.0);
        /// Whether replies have a mesh of their own, beside that of requests.
        twin: bool = "twin", Flag, or false;
    }
}

section! {
    /// A crossbar: additional parameters for `topology.kind = "crossbar"`. Its interfaces take `link.micropacket_ns` for a
    /// packet.
    CrossbarSpec in "crossbar" {
        /// Time from the first packet's start at the sender's interface to its arrival at the receiver's.
        latency: Duration = "latency_ns", ns(0.0, 100_000.0);
    }
}

section! {
    /// An ideal interconnect: additional parameters for `topology.kind = "ideal"`.
    IdealNetworkSpec in "ideal_network" {
        /// Time of a whole message from the sender's interface to the receiver's.
        latency: Duration = "latency_ns", ns(0.0, 100_000.0);
    }
}

section! {
    /// The router chip.
    RouterSpec in "router" {
        /// Core clock.
        clock: Hertz = "clock_mhz", mhz(10.0, 2000.0);
        /// Ports, numbered from 1.
        ports: u32 = "ports", count(6, 6);
        /// Router cycles from pin to pin when the queue is empty and bypassed.
        bypass_cycles: u32 = "bypass_cycles", cycles(1, 100);
        /// Additional router cycles when the queue is not bypassed.
        queue_cycles: u32 = "queue_cycles", cycles(0, 100);
        /// Virtual channels of a link: at least one for each virtual network of the controller's protocol, twice as many in
        /// a ring of four or more routers.
        virtual_channels: u32 = "virtual_channels", count(1, MOST_VIRTUAL_CHANNELS);
        /// Receive buffer of one virtual channel of one port.
        buffer: Bytes = "buffer_bytes", bytes(16, 65536);
    }
}

section! {
    /// A link between routers, or between a router and a node: one direction.
    LinkSpec in "link" {
        /// Data in a micropacket.
        micropacket: Bytes = "micropacket_bytes", bytes(8, 256);
        /// Occupancy of a link by a micropacket.
        micropacket_time: Duration = "micropacket_ns", ns(0.1, 1000.0);
        /// Clock of the link between a node and its router: one transfer in each cycle, a router cycle every four.
        node_clock: Hertz = "node_clock_mhz", mhz(10.0, 10_000.0);
        /// Transfers of a micropacket on a link.
        micropacket_transfers: u32 = "micropacket_transfers", count(1, 64);
        /// Delay of a link's drivers and receivers, in addition to cable and router.
        transceiver: Duration = "transceiver_ns", ns(0.0, 1000.0);
    }
}

impl TopologySpec {
    /// Nodes of the machine: those with processors, then those with memory alone.
    pub fn nodes(&self) -> u32 {
        self.processors / self.processors_per_node + self.memory_nodes
    }
}

impl LinkSpec {
    /// Packets of a message with `payload` bytes besides its header: one packet for the header, then the payload (Prestor
    /// 2001, 4.1.3).
    pub fn packets(&self, payload: Bytes) -> u64 {
        1 + payload.0.div_ceil(self.micropacket.0)
    }

    /// Occupancy of the link between a node and its router by a packet.
    pub fn node_packet_time(&self) -> Duration {
        self.node_clock.period() * u64::from(self.micropacket_transfers)
    }
}
