//! A machine: its description in TOML, its topology, its routes, and the deadlock check of any routes.
//!
//! [`load`] gives a [`Description`] by name or path; [`Topology::new`] builds its [`graph`] of nodes, routers and links,
//! with [routes](routing) in the hardware's form. [`routing::deadlock`] checks any routes.
//!
//! ```
//! use machine::VirtualNetwork;
//! use units::NodeId;
//!
//! let arctic = machine::load("arctic")?;
//! let topology = machine::Topology::new(&arctic);
//! assert_eq!(topology.hops(NodeId(1), NodeId(30)), 5);
//! assert_eq!(topology.nodes()[30].path(), "/hw/module/8/slot/n3/node");
//! assert_eq!(machine::routing::deadlock::check(&topology, topology.routing_table(VirtualNetwork::Request)), Ok(None));
//! # Ok::<(), machine::DescriptionError>(())
//! ```

pub mod description;
pub mod drawing;
pub mod graph;
pub mod routing;
pub mod server;
pub mod topology;

pub use description::{
    Description, DescriptionError, Origin, Resolved, families, load, names, parse, resolve, resolve_changed,
};
pub use graph::{Channel, Endpoint, Graph, Link, LinkClass, Node, Router, RouterPlace, VirtualNetwork};
pub use routing::{Hop, Routes, RoutingError, RoutingTable};
pub use topology::Topology;
