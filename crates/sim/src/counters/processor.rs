//! A processor's counters: 32 events on two registers, and counters that only the simulator has.

use super::unit::{CountedEvent, CountingMode};

const fn event(name: &'static str, what: &'static str) -> CountedEvent {
    CountedEvent { name, what }
}

/// Declares one mode for each event, under the event numbers of the R10000 (Prestor 2001, Table 5.1; MIPS R10000 User's
/// Manual 2.0, section 14).
macro_rules! one_a_mode {
    ($($name:literal = $what:literal;)*) => {
        &[$(CountingMode { name: $name, what: $what, events: &[event($name, $what)] },)*]
    };
}

/// Events 0 to 15. Events named unseen belong to parts that are not simulated, and cannot be counted.
pub const FIRST: &[CountingMode] = one_a_mode! {
    "cycles" = "R10K cycles (event 0)";
    "issued" = "R10K instructions issued (event 1)";
    "loadsissued" = "unseen: R10K loads issued (event 2)";
    "storesissued" = "unseen: R10K stores issued (event 3)";
    "scissued" = "unseen: R10K store conditionals issued (event 4)";
    "scfailed" = "unseen: R10K failed store conditionals (event 5)";
    "branches" = "unseen: R10K branches decoded (event 6)";
    "rsqwwb" = "R10K quadwords written back (scache) (event 7)";
    "eccerrors" = "unseen: R10K correctable scache data array ECC errors (event 8)";
    "rpimiss" = "unseen: R10K primary instruction cache misses (event 9)";
    "rsimiss" = "unseen: R10K secondary instruction cache misses (event 10)";
    "rsiway" = "unseen: R10K instruction misprediction from scache way table (event 11)";
    "rsivn" = "R10K external interventions (event 12)";
    "rsinval" = "R10K external invalidations (event 13)";
    "virtualcoherency" = "unseen: R10K virtual coherency conditions (event 14)";
    "graduated0" = "R10K instructions graduated (event 15)";
};

/// Events 16 to 31.
pub const SECOND: &[CountingMode] = one_a_mode! {
    "cycles1" = "R10K cycles (event 16)";
    "graduated" = "R10K instructions graduated (event 17)";
    "loads" = "unseen: R10K loads graduated (event 18)";
    "stores" = "unseen: R10K stores graduated (event 19)";
    "scgraduated" = "unseen: R10K store conditionals graduated (event 20)";
    "flops" = "unseen: R10K floating-point instructions graduated (event 21)";
    "rpqwwb" = "unseen: R10K quadwords written back from the primary cache (event 22)";
    "tlbmiss" = "R10K TLB misses (event 23)";
    "mispredicted" = "unseen: R10K mispredicted branches (event 24)";
    "rpmiss" = "R10K primary data cache misses (event 25)";
    "rsmiss" = "R10K secondary data cache misses (event 26)";
    "rsdway" = "unseen: R10K data misprediction from scache way table (event 27)";
    "rsivnhit" = "R10K external intervention hits in scache (event 28)";
    "rsinvalhit" = "R10K external invalidation hits in scache (event 29)";
    "rsclean" = "unseen: R10K store/prefetch exclusive to clean block in scache (event 30)";
    "rsshared" = "R10K store/prefetch exclusive to shared block in scache (event 31)";
};

/// Counters of a thread that only the simulator has.
pub const TRUTH: &[CountingMode] = &[CountingMode {
    name: "simulator",
    what: "what no counter of the machine tells",
    events: &[
        event("refs", "loads, stores and prefetches"),
        event("misslocal", "misses on lines of the own node, no other node asked"),
        event("misslocal3", "misses on lines of the own node, another node asked"),
        event("missremote", "misses on lines of other nodes, no third node asked"),
        event("missremote3", "misses on lines of other nodes, a third node asked"),
        event("missclean", "misses that memory answered alone"),
        event("missowned", "misses for which the owner of a line was asked"),
        event("missinval", "misses for which copies were invalidated"),
        event("refused", "requests refused and sent again"),
        event("stallread", "ns that the thread waited for reads"),
        event("stallwrite", "ns that the thread waited for writes"),
        event("stallsync", "ns that the thread waited at barriers and locks"),
        event("stallother", "ns that the thread waited for caches, writebacks, translations and the operating system"),
        event("busy", "ns in which instructions issued"),
        event("faults", "page faults"),
    ],
}];

impl CountedEvent {
    /// Whether the simulator models the event, as opposed to those of unsimulated processor parts.
    pub fn is_seen(&self) -> bool {
        !self.what.starts_with("unseen")
    }
}
