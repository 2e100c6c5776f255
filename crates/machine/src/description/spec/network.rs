//! Tables of the network: size and wiring of the machine, router chip, link.

use units::{Bytes, Duration, Hertz, Length};

use super::section;
use crate::description::kind::{
    Alternatives, Flag, bytes, choice, count, cycles, inches, metres, mhz, mib, ns, ns_per_m,
};

/// The kind of network topology.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TopologyKind {
    /// The SGI Origin 2000's bristled hypercube, with metarouters above 64 processors (Prestor 3.2.3).
    Origin,
    /// FLASH's clusters of four nodes, joined by one mesh for requests and one for replies (FLASH dissertation, Appendix A).
    Flash,
}

impl Alternatives for TopologyKind {
    const WORDS: &'static [(Self, &'static str)] = &[(Self::Origin, "origin"), (Self::Flash, "flash")];
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
        processors: u32 = "processors", count(1, 512);
        /// Processors on one node board.
        processors_per_node: u32 = "processors_per_node", count(1, 256);
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
        /// Virtual channels of a link.
        virtual_channels: u32 = "virtual_channels", count(4, 4);
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
