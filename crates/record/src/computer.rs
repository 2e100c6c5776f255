//! The structure of a machine as an operating system lists it: nodes, cores and caches, without any time.

use std::ops::RangeInclusive;

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

/// Bounds of what caches and pages announce, the sizes in kibibytes.
const MOST_CACHE_KIB: u64 = 1 << 30;
const MOST_PAGE_KIB: u64 = 1 << 20;
const LINES: RangeInclusive<u64> = 8..=1024;

impl Row for ComputerRow {
    const KIND: &'static str = "computer";

    fn check(&self) -> Result<(), String> {
        for (number, cache) in self.caches.iter().enumerate() {
            if let Some(line) = cache.line_bytes.filter(|line| !line.is_power_of_two() || !LINES.contains(line)) {
                return Err(format!("caches[{number}].line_bytes = {line}, not a power of two from 8 to 1024"));
            }
            if let Some(size) = cache.size_kib.filter(|&size| size > MOST_CACHE_KIB) {
                return Err(format!("caches[{number}].size_kib = {size}, not at most {MOST_CACHE_KIB}"));
            }
        }
        if let Some(page) = self.page_kib.filter(|page| !page.is_power_of_two() || *page > MOST_PAGE_KIB) {
            return Err(format!("page_kib = {page}, not a power of two up to {MOST_PAGE_KIB}"));
        }
        let cpus: Vec<CpuId> = self.cores.iter().flat_map(|core| &core.cpus).copied().collect();
        match cpus.iter().enumerate().find(|(number, cpu)| cpus[..*number].contains(cpu)) {
            Some((_, cpu)) => Err(format!("CPU {cpu} is in several cores")),
            None => Ok(()),
        }
    }

    const COLUMNS: &'static [&'static str] =
        &["machine", "vendor", "model", "microarchitecture", "page_kib", "vector_bytes", "nodes", "cores", "caches"];
    const PARTS: &'static [&'static str] = &["nodes", "cores", "caches"];
}
