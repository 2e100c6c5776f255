//! Mixes of traffic under which Intel MLC (Memory Latency Checker, version 3.7) prints the bandwidth of memory.

/// A mix of MLC, in the loads and stores of a program: a store reads its line, and writes it back later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MlcMix {
    /// Its name at MLC, by the reads and writes of memory.
    pub name: &'static str,
    /// Loads in a row ([`crate::Parameters::reads`]).
    pub loads: u32,
    /// Stores in a row ([`crate::Parameters::writes`]).
    pub stores: u32,
}

/// The mixes in the order in which MLC prints them.
pub const MLC_MIXES: [MlcMix; 4] = [
    MlcMix { name: "ALL Reads", loads: 1, stores: 0 },
    MlcMix { name: "3:1 Reads-Writes", loads: 2, stores: 1 },
    MlcMix { name: "2:1 Reads-Writes", loads: 1, stores: 1 },
    MlcMix { name: "1:1 Reads-Writes", loads: 0, stores: 1 },
];

impl MlcMix {
    /// Lines that memory reads and writes for each access.
    pub fn lines_per_access(self) -> f64 {
        f64::from(self.loads + 2 * self.stores) / f64::from(self.loads + self.stores)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_reads_and_writes_of_memory() {
        for MlcMix { name, loads, stores } in MLC_MIXES.into_iter().filter(|mix| mix.stores > 0) {
            let ratio = format!("{}:1 ", (loads + stores) / stores);
            assert!(name.starts_with(&ratio), "{name}");
        }
    }
}
