//! The handlers' code in memory, and its fetches through the instruction cache.

use machine::description::{HandlerSpec, MagicSpec};
use protocol::msi::catalogue::Named;

use super::handler::Handler;
use super::tags::DirectMapped;

/// The address of each handler's code. The critical handlers follow each other in memory; the size of each is in
/// proportion to its time. (The dissertation gives their total size for each protocol, Table 5.1, but not the size of
/// each.)
#[derive(Clone, Debug)]
pub struct CodeLayout {
    /// Start and size of each handler in bytes.
    places: [(u64, u64); Handler::ALL.len()],
    bytes_per_cycle: u64,
}

impl CodeLayout {
    /// The code of protocol `named`.
    pub fn new(magic: &MagicSpec, handlers: &HandlerSpec, named: &Named) -> Self {
        let total = critical_bytes(handlers, named);
        let cycles = |handler: Handler| u64::from(handler.lead(handlers) + handlers.finish_cycles);
        let all: u64 = Handler::ALL.iter().copied().map(cycles).sum();
        let mut places = [(0, 0); Handler::ALL.len()];
        let mut before = 0;
        for &handler in Handler::ALL {
            let start = total * before / all;
            before += cycles(handler);
            places[handler as usize] = (start, total * before / all - start);
        }
        Self { places, bytes_per_cycle: u64::from(magic.instruction_bytes_per_cycle) }
    }

    /// Fetches the code that `handler` executes in `cycles`, after the first `before` cycles of its run. Returns the
    /// number of instruction cache lines that missed. A handler passes through its code once; loops execute lines that
    /// are already fetched.
    #[inline]
    pub fn fetch(&self, cache: &mut DirectMapped, handler: Handler, before: u32, cycles: u32) -> u32 {
        let (start, size) = self.places[handler as usize];
        let from = (u64::from(before) * self.bytes_per_cycle).min(size);
        let to = (u64::from(before + cycles) * self.bytes_per_cycle).min(size);
        cache.access_range(start + from, to - from)
    }
}

/// Bytes of the critical handlers (FLASH dissertation, Table 5.1): the base protocol and the additions of its variants.
fn critical_bytes(spec: &HandlerSpec, named: &Named) -> u64 {
    let base = match named.base {
        "dynamic-pointer" => spec.code_dynamic_pointer.0,
        "hybrid" => spec.code_hybrid.0,
        "cv=N/LB" => spec.code_base.0 + spec.code_local_bit.0,
        // The other protocols are as simple as the coarse vector; the dissertation does not give their sizes.
        _ => spec.code_base.0,
    };
    let variants = [
        (named.variant.clustering.is_some(), spec.code_cluster.0),
        (named.variant.acknowledge_requester, spec.code_to_requester.0),
        (named.remote_access_cache, spec.code_remote_access_cache.0),
    ];
    base + variants.iter().filter(|(given, _)| *given).map(|(_, bytes)| bytes).sum::<u64>()
}
