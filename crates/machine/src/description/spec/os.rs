//! The operating system's memory management: IRIX 6.5, which runs on both the Origin and FLASH (Prestor 2001, 3.3.2;
//! FLASH dissertation, chapter 4).

use units::Duration;

use super::{MOST_PROCESSORS, section};
use crate::description::kind::{Alternatives, Flag, choice, count, ns};

/// The placement policy: the node of a page at its first touch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlacementKind {
    /// The node that the program requests; for pages without a request, as [`Self::FirstTouch`].
    Planned,
    /// The node of the first processor to touch it.
    FirstTouch,
    /// The nodes in turn, in the order of first touches.
    RoundRobin,
    /// One node.
    Fixed,
    /// The memory locality domain of the first processor to touch it: the nodes within a radius.
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

/// The arrangement of the nodes of a set of memory locality domains.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DomainTopology {
    /// In the order of their numbers.
    Any,
    /// As close to each other as possible.
    Cluster,
    /// A cube: nodes whose numbers differ only in as many bits as it has dimensions.
    Cube,
}

impl Alternatives for DomainTopology {
    const WORDS: &'static [(Self, &'static str)] =
        &[(Self::Any, "any"), (Self::Cluster, "cluster"), (Self::Cube, "cube")];
}

/// The order in which threads take processors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ThreadOrder {
    /// The order of their numbers, so that a node is filled before the next one (OpenMP's `close`).
    Compact,
    /// At equal distances over the whole machine, neighbouring threads near each other (OpenMP's `spread`).
    Spread,
    /// The sockets in turn, within a socket the nodes, within a node the core clusters.
    Scatter,
    /// The core clusters in turn, in the order of their numbers; the nodes where there are none.
    Clusters,
    /// All hardware threads of a core before the next core (OpenMP's `close` on places that are `threads`).
    Siblings,
}

impl Alternatives for ThreadOrder {
    const WORDS: &'static [(Self, &'static str)] = &[
        (Self::Compact, "compact"),
        (Self::Spread, "spread"),
        (Self::Scatter, "scatter"),
        (Self::Clusters, "clusters"),
        (Self::Siblings, "siblings"),
    ];
}

section! {
    /// Pages: their placement, migration and replication, and the cost of these for processors. Threads: their processors.
    OsSpec in "os" {
        /// The placement policy.
        placement: PlacementKind = "placement", choice::<PlacementKind>();
        /// The node of `placement = "fixed"`.
        fixed_node: u32 = "fixed_node", count(0, MOST_PROCESSORS - 1);
        /// Maximum router hops from the centre of a memory locality domain to its nodes.
        domain_radius: u32 = "domain_radius", count(0, 32);
        /// The arrangement of the nodes of a set of domains.
        domain_topology: DomainTopology = "domain_topology", choice::<DomainTopology>();
        /// The node near which the set of domains is placed.
        domain_affinity_node: u32 = "domain_affinity_node", count(0, MOST_PROCESSORS - 1);
        /// Whether frames are chosen so that consecutive pages map to consecutive sets of the secondary cache.
        page_colouring: bool = "page_colouring", Flag;
        /// The order in which threads take processors, unless a scheduler or `placement = "mld"` decides.
        threads: ThreadOrder = "threads", choice::<ThreadOrder>(), or ThreadOrder::Compact;
        /// The processor's time for a first touch: the trap, allocating a frame, zeroing it, and the return.
        page_fault: Duration = "page_fault_ns", ns(0.0, 1e9);
        /// Whether pages that have been placed move to the node that touches them first in the measured part of the program, which is
        /// the directive of Lai and Falsafi 2000, Section 2 (`ccnuma_first_touch()` gives it in a program).
        touch_again: bool = "touch_again", Flag, or false;
        /// Whether pages migrate to the nodes that use them most.
        migration: bool = "migration", Flag;
        /// The excess of a remote node's reference count over the home's at which the home interrupts.
        migration_threshold: u32 = "migration_threshold", count(1, 1_000_000);
        /// Maximum number of migrations of a page.
        migration_limit: u32 = "migration_limit", count(1, 1_000_000);
        /// Whether a page keeps its colour when it migrates.
        migration_keeps_colour: bool = "migration_keeps_colour", Flag;
        /// The time of a processor of the home for the interrupt and the decision.
        interrupt: Duration = "interrupt_ns", ns(0.0, 1e9);
        /// The time of a processor of the home for a migration besides the copy: frame, page table, and the start of the copy.
        migrate: Duration = "migrate_ns", ns(0.0, 1e9);
        /// Maximum number of lines of a page that a node has outstanding while it transfers the page.
        copy_lines: u32 = "copy_lines", count(1, 64);
        /// A processor's time for a bus error on a poisoned line, or for a fault on a page that is moving: the trap, and a new
        /// translation.
        bus_error: Duration = "bus_error_ns", ns(0.0, 1e9);
        /// A processor's time for the interrupt that takes an outdated translation away, where lines are not poisoned.
        shootdown: Duration = "shootdown_ns", ns(0.0, 1e9);
        /// Whether pages that are only read are replicated on distant readers' nodes.
        replication: bool = "replication", Flag;
        /// Router hops beyond which a copy of an only-read page is too far away.
        coverage_radius: u32 = "coverage_radius", count(0, 32);
    }
}
