//! Exhaustive exploration of coherence protocols: every reachable state, every property, the shortest counterexample.
//!
//! The explorer runs the handlers of the protocol crate, the same that the timing simulator runs. A configuration has a
//! handful of caches and lines. Processors are unbounded: they access and evict for ever, and the state space is finite
//! because contents are kept relative to the last store.

mod bus;
mod cluster;
mod config;
mod directory;
mod entry;
mod explore;
mod litmus;
mod model;
mod moesi;
mod msi;
mod origin;
mod permutations;
mod registry;
mod sci;
mod server;

pub use bus::{Alone, Beyond, BusModel, BusPlant, ExploredBus, PlantedBus, bus_faults, explore_bus, run_bus_litmus};
pub use cluster::{ClusterModel, ClusterState, ClusterStep};
pub use config::{Config, ConfigError, Limits};
pub use directory::{
    AtCaches, AtHome, Codec, DirectoryModel, Explored, MAX_CACHES, MAX_LINES, Names, Plant, Planted, Reader, View,
    Writer, directory_faults, explore_directory, limits, run_directory_litmus,
};
pub use entry::{Fault, Outcome, Protocol, Run};
pub use explore::{Exploration, Trace, TraceStep, explore};
pub use litmus::{Consistency, Instruction, Litmus, Loads, Order, Program};
pub use model::{Model, Property, Violation};
pub use moesi::Cluster;
pub use msi::{msi, msi_configurations};
pub use origin::origin;
pub use registry::{protocol, protocols};
