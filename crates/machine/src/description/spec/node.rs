//! Tables of a node, independent of its controller: processor, caches, TLB, system bus, memory.

use units::{Bytes, Duration, Hertz};

use super::section;
use crate::description::kind::{Alternatives, Flag, bytes, choice, count, cycles, kib, mhz, ns};

/// Maximum number of miss registers of a processor. What a server's prefetchers have under way beside its loads counts, too.
pub const MOST_MISSES: u32 = 128;
/// Maximum number of TLB entries.
pub const MOST_TRANSLATIONS: u32 = 4096;
/// Maximum number of page-table walkers.
const MOST_WALKERS: u32 = 16;
/// Maximum depth of a write buffer.
pub const MOST_BUFFERED_STORES: u32 = 256;

/// Maximum number of hardware threads of a core.
pub const MOST_HARDWARE_THREADS: u32 = 8;

/// The processor of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProcessorModel {
    /// MIPS R10000.
    R10000,
    /// MIPS R12000: a deeper window and a second-level cache controller that can interrupt a line fill.
    R12000,
    /// Any other processor with an instruction window and miss registers.
    Windowed,
    /// One instruction a cycle; each reference, stores included, is done before the next instruction issues. References are
    /// therefore sequentially consistent.
    Blocking,
}

impl Alternatives for ProcessorModel {
    const WORDS: &'static [(Self, &'static str)] = &[
        (Self::R10000, "R10000"),
        (Self::R12000, "R12000"),
        (Self::Windowed, "windowed"),
        (Self::Blocking, "blocking"),
    ];
}

impl std::fmt::Display for ProcessorModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}

section! {
    /// The processor, by the parameters that determine the timing of its loads and stores.
    ProcessorSpec in "processor" {
        /// The processor model.
        model: ProcessorModel = "model", choice::<ProcessorModel>();
        /// Core clock.
        clock: Hertz = "clock_mhz", mhz(10.0, 10_000.0);
        /// Hardware threads of a core, which share its caches, translations, miss registers and issue slots, and divide its
        /// instruction window and its write buffer. Threads beyond the first of each core are numbered behind all cores.
        threads: u32 = "threads", count(1, MOST_HARDWARE_THREADS), or 1;
        /// Instructions in flight at once.
        instruction_window: u32 = "instruction_window", count(1, 512);
        /// Instructions that issue in one core cycle.
        issue_width: u32 = "issue_width", count(1, 16);
        /// Width of the loads and stores of the benchmark's STREAM loops: a double word, or a vector register.
        vector: Bytes = "vector_bytes", bytes(8, 64), or Bytes(8);
        /// Cache misses outstanding at once.
        outstanding_misses: u32 = "outstanding_misses", count(1, MOST_MISSES);
        /// Maximum of those that references wait for: the primary cache's fill buffers. What a prefetcher has requested takes none
        /// before a reference waits for it, too. 0: as many as misses.
        fill_buffers: u32 = "fill_buffers", count(0, MOST_MISSES), or 0;
        /// Maximum of misses and upgrades for stores among them.
        outstanding_stores: u32 = "outstanding_stores", count(1, MOST_MISSES);
        /// Maximum of upgrades among those for stores.
        outstanding_upgrades: u32 = "outstanding_upgrades", count(1, MOST_MISSES);
        /// Whether an outstanding upgrade delays loads of its line.
        upgrade_blocks_loads: bool = "upgrade_blocks_loads", Flag;
        /// Core cycles that the answer to an invalidation takes while the processor's own request for the line is
        /// outstanding.
        own_invalidation_cycles: u32 = "own_invalidation_cycles", cycles(0, 1000);
        /// Core cycles from the detected second-level miss to the request at the bus interface.
        miss_to_request_cycles: u32 = "miss_to_request_cycles", cycles(0, 1000);
        /// Core cycles from the critical doubleword at the bus interface to the dependent instruction.
        data_to_use_cycles: u32 = "data_to_use_cycles", cycles(0, 1000);
        /// Stores that the write buffer holds; 0 for none. Stores that a primary cache passes on leave the instruction window for
        /// the buffer and the buffer in order, when they are done. Without a buffer, stores that a write-through level passes
        /// on, and stores that miss, stay in the instruction window until they are done.
        write_buffer: u32 = "write_buffer", count(0, MOST_BUFFERED_STORES), or 0;
    }
}

/// The way in which a missing translation is refilled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refill {
    /// A trap of the processor, which waits for all earlier instructions (MIPS: software refills).
    Trap,
    /// A walk of the page tables by hardware, behind which other instructions go on.
    Walk,
}

impl Alternatives for Refill {
    const WORDS: &'static [(Self, &'static str)] = &[(Self::Trap, "trap"), (Self::Walk, "walk")];
}

section! {
    /// The translation lookaside buffer, of one level or two.
    TlbSpec in "tlb" {
        /// Entries of the first level.
        entries: u32 = "entries", count(1, MOST_TRANSLATIONS);
        /// Consecutive pages that one entry maps.
        pages_per_entry: u32 = "pages_per_entry", count(1, 8);
        /// Page size.
        page: Bytes = "page_kib", kib(1, 16384);
        /// Size of a large page, which one entry maps; 0 for none. Regions of at least that size are mapped by large pages.
        large_page: Bytes = "large_page_kib", kib(0, 1 << 20), or Bytes(0);
        /// Entries of the second level; 0 without one.
        second_entries: u32 = "second_entries", count(0, MOST_TRANSLATIONS), or 0;
        /// Core cycles that a translation in the second level adds to an access.
        second_hit_cycles: u32 = "second_hit_cycles", cycles(0, 100), or 0;
        /// The way of a refill after a miss.
        refill: Refill = "refill", choice::<Refill>(), or Refill::Trap;
        /// Walks of page tables at once.
        walkers: u32 = "walkers", count(1, MOST_WALKERS), or 1;
        /// Time of a refill after a miss.
        miss: Duration = "miss_ns", ns(0.0, 100_000.0);
    }
}

section! {
    /// The multiplexed bus between a node's processors and its controller. Its clock is the controller's.
    SysadSpec in "sysad" {
        /// Width of the data.
        width: Bytes = "width_bytes", bytes(4, 64);
        /// Bus cycles between the possible starts of transactions.
        grid_cycles: u32 = "grid_cycles", cycles(1, 16);
        /// Bus cycles of a request, or of the address of a writeback.
        request_cycles: u32 = "request_cycles", cycles(1, 100);
        /// Bus cycles of an intervention or invalidation, with the slot for the processors' answers.
        intervention_cycles: u32 = "intervention_cycles", cycles(1, 100);
        /// Bus cycles of a completion without data.
        completion_cycles: u32 = "completion_cycles", cycles(1, 100);
        /// Bus cycles from the start of a line of data to the arrival of its critical part at the processor.
        critical_cycles: u32 = "critical_cycles", cycles(1, 100);
        /// Idle bus cycles after each transaction.
        turnaround_cycles: u32 = "turnaround_cycles", cycles(0, 100);
    }
}

/// The frames of consecutive pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frames {
    /// Consecutive.
    Consecutive,
    /// Anywhere in memory, as an operating system or a hypervisor finds them after a while: pages meet in sets of physically
    /// indexed caches by chance.
    Scattered,
}

impl Alternatives for Frames {
    const WORDS: &'static [(Self, &'static str)] =
        &[(Self::Consecutive, "consecutive"), (Self::Scattered, "scattered")];
}

section! {
    /// Main memory of a node. Cycles are the controller's.
    MemorySpec in "memory" {
        /// From the request at the controller to the first data.
        access_cycles: u32 = "access_cycles", cycles(0, 1000);
        /// Occupancy of the memory by a line read.
        line_cycles: u32 = "line_cycles", cycles(1, 1000);
        /// Occupancy of the memory by a line written.
        line_write_cycles: u32 = "line_write_cycles", cycles(1, 1000);
        /// Time between refreshes.
        refresh_interval: Duration = "refresh_interval_ns", ns(100.0, 1e9);
        /// Occupancy of the memory by a refresh.
        refresh_cycles: u32 = "refresh_cycles", cycles(0, 10_000);
        /// Memories of a node, among which its lines lie in turn (those of a server in pairs, by a hash), each with all the channels and banks of `[banks]`.
        controllers: u32 = "controllers", count(1, 64), or 1;
        /// The frames of consecutive pages, as caches see them. DRAM keeps the order of pages.
        frames: Frames = "frames", choice::<Frames>(), or Frames::Consecutive;
    }
}
