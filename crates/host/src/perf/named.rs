//! Events that have the same name on every machine.

use perf_event_open_sys::bindings;

use super::EventCode;

/// An event that the kernel knows under a name of its own, whatever the processor calls it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamedEvent {
    /// Its name here.
    pub name: &'static str,
    /// Unit of its counts, if not events.
    pub unit: &'static str,
    /// Description of its counts.
    pub what: &'static str,
    /// How the kernel is asked for it.
    pub code: EventCode,
}

/// Counted by the kernel itself, on any machine.
pub fn software_events() -> Vec<NamedEvent> {
    let event = |name, unit, what, id| NamedEvent {
        name,
        unit,
        what,
        code: EventCode { kind: bindings::PERF_TYPE_SOFTWARE, config: [u64::from(id), 0, 0, 0] },
    };
    vec![
        event("task_clock", "ns", "time on a CPU", bindings::PERF_COUNT_SW_TASK_CLOCK),
        event("page_faults", "", "page faults", bindings::PERF_COUNT_SW_PAGE_FAULTS),
        event("context_switches", "", "context switches", bindings::PERF_COUNT_SW_CONTEXT_SWITCHES),
        event("cpu_migrations", "", "CPU migrations", bindings::PERF_COUNT_SW_CPU_MIGRATIONS),
    ]
}

/// Counted by the processor, where it has counters and the kernel knows which of its events is meant. Those of a node count
/// last-level cache misses that were read from the memory of any node, and those read from another one's.
pub fn hardware_events() -> Vec<NamedEvent> {
    let general = |name, unit, what, id| NamedEvent {
        name,
        unit,
        what,
        code: EventCode { kind: bindings::PERF_TYPE_HARDWARE, config: [u64::from(id), 0, 0, 0] },
    };
    let cache = |name, what, cache: u32, operation: u32, result: u32| NamedEvent {
        name,
        unit: "",
        what,
        code: EventCode {
            kind: bindings::PERF_TYPE_HW_CACHE,
            config: [u64::from(cache | operation << 8 | result << 16), 0, 0, 0],
        },
    };
    let (read, write) = (bindings::PERF_COUNT_HW_CACHE_OP_READ, bindings::PERF_COUNT_HW_CACHE_OP_WRITE);
    let access = bindings::PERF_COUNT_HW_CACHE_RESULT_ACCESS;
    let miss = bindings::PERF_COUNT_HW_CACHE_RESULT_MISS;
    let (last, node) = (bindings::PERF_COUNT_HW_CACHE_LL, bindings::PERF_COUNT_HW_CACHE_NODE);
    vec![
        general("cycles", "cycles", "processor cycles", bindings::PERF_COUNT_HW_CPU_CYCLES),
        general("instructions", "", "retired instructions", bindings::PERF_COUNT_HW_INSTRUCTIONS),
        cache("llc_loads", "last-level cache loads", last, read, access),
        cache("llc_load_misses", "last-level cache load misses", last, read, miss),
        cache("node_loads", "loads from memory, any node", node, read, access),
        cache("node_load_misses", "loads from remote memory", node, read, miss),
        cache("node_stores", "stores to memory, any node", node, write, access),
        cache("node_store_misses", "stores to remote memory", node, write, miss),
        cache("dtlb_load_misses", "TLB load misses", bindings::PERF_COUNT_HW_CACHE_DTLB, read, miss),
    ]
}
