//! The structure of a machine as an operating system lists it: nodes, cores and caches, without any time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{CpuId, NodeId};

use crate::Row;

/// The machine that measurements are from, as its operating system and its processors announce it. It stands beside the records in
/// a file, so that a fit knows cores and caches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComputerRow {
    /// The machine, as other records name it.
    pub machine: String,
    /// The maker of its processors, as they announce it.
    pub vendor: Option<String>,
    /// Their model.
    pub model: Option<String>,
    /// Their microarchitecture, by the numbers that they announce (CPUID, MIDR_EL1), where it is a known one.
    #[serde(default)]
    pub microarchitecture: Option<String>,
    /// The size of a base page, in kibibytes.
    #[serde(default)]
    pub page_kib: Option<u64>,
    /// Bytes that one access of its STREAM loops moves: those of a vector register, or of a double word.
    #[serde(default)]
    pub vector_bytes: Option<u64>,
    /// Its nodes, ascending.
    pub nodes: Vec<ComputerNode>,
    /// Its cores, by their first processors.
    pub cores: Vec<ComputerCore>,
    /// Its caches that hold data, by level and first processor.
    pub caches: Vec<ComputerCache>,
}

/// A NUMA node of a computer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComputerNode {
    /// Its number.
    #[schemars(with = "u16")]
    pub node: NodeId,
    /// Its memory, in kibibytes; 0 without any.
    pub memory_kib: u64,
    /// Its distances to all nodes, in their order, by firmware's table (SLIT).
    pub distances: Vec<u32>,
}

/// A core of a computer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComputerCore {
    /// The processors that are its threads, ascending, as far as the measuring process may use them.
    #[schemars(with = "Vec<u16>")]
    pub cpus: Vec<CpuId>,
    /// Its node.
    #[schemars(with = "u16")]
    pub node: NodeId,
    /// Its socket.
    pub socket: u16,
}

/// A cache of a computer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComputerCache {
    /// Its level, from 1.
    pub level: u8,
    /// Its size, in kibibytes.
    pub size_kib: Option<u64>,
    /// The size of its line, in bytes.
    pub line_bytes: Option<u64>,
    /// Lines of a set.
    pub ways: Option<u32>,
    /// Whether it has every line of the caches inside it, as the processor announces (CPUID).
    pub inclusive: Option<bool>,
    /// The processors that share it, ascending.
    #[schemars(with = "Vec<u16>")]
    pub cpus: Vec<CpuId>,
}

impl Row for ComputerRow {
    const KIND: &'static str = "computer";
    const COLUMNS: &'static [&'static str] =
        &["machine", "vendor", "model", "microarchitecture", "page_kib", "vector_bytes", "nodes", "cores", "caches"];
    const PARTS: &'static [&'static str] = &["nodes", "cores", "caches"];
}
