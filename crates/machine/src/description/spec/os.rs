//! What the operating system does with memory: IRIX 6.5, which the Origin and FLASH both run (Prestor 2001, 3.3.2; FLASH
//! dissertation, chapter 4).

use units::Duration;

use super::section;
use crate::description::kind::{Alternatives, Flag, choice, count, ns};

/// Which node a page comes from when it is first touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlacementKind {
    /// Where the program asks for it; where it does not ask, as [`Self::FirstTouch`].
    Planned,
    /// The node of the processor that touches it first.
    FirstTouch,
    /// The nodes in turn, in the order in which pages are touched.
    RoundRobin,
    /// One node.
    Fixed,
    /// The memory locality domain of the processor that touches it first: the nodes within a radius.
    Domains,
}

impl Alternatives for PlacementKind {
    const WORDS: &'static [(Self, &'static str)] = &[
        (Self::Planned, "planned"),
        (Self::FirstTouch, "first-touch"),
        (Self::RoundRobin, "round-robin"),
        (Self::Fixed, "fixed"),
        (Self::Domains, "mld"),
    ];
}

/// How the nodes of a set of memory locality domains are to lie to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DomainTopology {
    /// Anyhow: in the order of their numbers.
    Any,
    /// As near to each other as can be.
    Cluster,
    /// A cube: nodes whose numbers agree but for as many bits as it has dimensions.
    Cube,
}

impl Alternatives for DomainTopology {
    const WORDS: &'static [(Self, &'static str)] =
        &[(Self::Any, "any"), (Self::Cluster, "cluster"), (Self::Cube, "cube")];
}

section! {
    /// Pages: where they come from, what moves them, and what that costs the processors.
    OsSpec in "os" {
        /// Where pages come from.
        placement: PlacementKind = "placement", choice::<PlacementKind>();
        /// The node of `placement = "fixed"`.
        fixed_node: u32 = "fixed_node", count(0, 511);
        /// Router hops from the centre of a memory locality domain to the farthest node that it takes memory from.
        domain_radius: u32 = "domain_radius", count(0, 32);
        /// How the nodes of the set of domains lie to each other.
        domain_topology: DomainTopology = "domain_topology", choice::<DomainTopology>();
        /// The node that the set of domains is to lie near.
        domain_affinity_node: u32 = "domain_affinity_node", count(0, 511);
        /// Whether frames are chosen so that consecutive pages fall into consecutive places of the secondary cache.
        page_colouring: bool = "page_colouring", Flag;
        /// What a first touch costs its processor: the trap, a frame, zeroing it, and the way back.
        page_fault: Duration = "page_fault_ns", ns(0.0, 1e9);
        /// Whether pages move to where they are used.
        migration: bool = "migration", Flag;
        /// By how much the references of a remote node must exceed those of the home for the home to interrupt.
        migration_threshold: u32 = "migration_threshold", count(1, 1_000_000);
        /// How often one page may move; after that it stays where it is.
        migration_limit: u32 = "migration_limit", count(1, 1_000_000);
        /// Whether a page keeps its colour when it moves.
        migration_keeps_colour: bool = "migration_keeps_colour", Flag;
        /// What the interrupt and the decision cost a processor of the home.
        interrupt: Duration = "interrupt_ns", ns(0.0, 1e9);
        /// What a processor of the home does of a migration besides the copy: frame, page table, copy engine.
        migrate: Duration = "migrate_ns", ns(0.0, 1e9);
        /// Lines that the copy engine of a Hub has under way at once.
        copy_lines: u32 = "copy_lines", count(1, 64);
        /// What a processor takes for a bus error on a poisoned line: the trap, and a new translation.
        bus_error: Duration = "bus_error_ns", ns(0.0, 1e9);
        /// Whether pages that are only read are copied to nodes that read them from afar.
        replication: bool = "replication", Flag;
        /// Router hops from which on a copy of a page that is only read is too far away.
        coverage_radius: u32 = "coverage_radius", count(0, 32);
    }
}
