//! The notifications of the simulator to its observers.

use protocol::Version;
use units::{CpuId, Duration, LineAddr, Time};

use crate::account::{Cause, Charge, MeasuredPart, MissCause, MissTag, ProcessorCounters, Service};
use crate::part::CachedCopy;

/// A step in the references, misses and waits of a processor. Addresses in `named` are as in the program.
#[derive(Clone, Copy, Debug)]
pub enum ReferenceEvent {
    /// A load or store has hit, has joined an outstanding miss, or has opened one.
    Access {
        /// Its address.
        named: u64,
        /// Its line.
        line: LineAddr,
        /// Its word of the line.
        word: usize,
        /// Whether it is a store.
        stores: bool,
    },
    /// A reference hits in a level that holds the states of lines.
    Hit {
        /// Its line.
        line: LineAddr,
    },
    /// A miss opens.
    Miss {
        /// Its tag; none for the request of a hardware prefetcher.
        tag: MissTag,
        /// The site of the reference.
        site: u64,
        /// The address of the reference.
        named: u64,
        /// The line.
        line: LineAddr,
    },
    /// The request of a miss is granted, by which the processor gains the line.
    Grant {
        /// The tag of the miss, if it has one.
        tag: MissTag,
        /// The line.
        line: LineAddr,
    },
    /// A line leaves the processor's caches.
    Departure {
        /// The line.
        line: LineAddr,
        /// Whether it is evicted; otherwise another processor takes it.
        evicted: bool,
    },
    /// A miss is complete.
    Completion {
        /// Its tag.
        tag: MissTag,
        /// Its service.
        service: Service,
    },
    /// The memory changes a word on behalf of the processor.
    MemoryChange {
        /// The address of the word.
        named: u64,
    },
    /// An access misses in the TLB.
    TlbMiss {
        /// The site of the access.
        site: u64,
        /// Its address.
        named: u64,
    },
    /// A spin loop begins to wait for a change of a word.
    Spin {
        /// The site of the loop.
        site: u64,
        /// The address of the word.
        named: u64,
    },
    /// Time passes in a wait.
    Wait {
        /// The site of the program.
        site: u64,
        /// The cause of the wait, and its miss.
        charge: Charge,
        /// The cause that the time is charged to: that of the wait, or of a barrier or lock around it.
        charged_to: Cause,
        /// The length of the wait.
        time: Duration,
    },
    /// The program of the processor has ended.
    End,
    /// A granted request is classified as an upgrade or as the fetch of a line ([`super::Causes`]).
    Classified {
        /// The tag of its miss, if it has one.
        tag: MissTag,
        /// The line.
        line: LineAddr,
        /// Whether it is an upgrade.
        upgrade: bool,
    },
    /// The cause of the miss that fetched a line is decided ([`super::Causes`]).
    CauseDecided {
        /// The line.
        line: LineAddr,
        /// The cause.
        cause: MissCause,
    },
}

/// A step in the contents of lines, whose versions count the stores to them.
#[derive(Clone, Copy, Debug)]
pub enum ContentsEvent {
    /// A program issues a store.
    Issue {
        /// Its line.
        line: LineAddr,
    },
    /// A processor loads from its copy.
    Load {
        /// The processor.
        cpu: CpuId,
        /// The line.
        line: LineAddr,
        /// The copy.
        copy: CachedCopy,
        /// The time.
        at: Time,
    },
    /// A processor's store makes the next version of its copy.
    Store {
        /// The processor.
        cpu: CpuId,
        /// The line.
        line: LineAddr,
        /// The copy with the new version.
        copy: CachedCopy,
        /// The time.
        at: Time,
    },
    /// The protocol performs the access of a miss.
    Miss {
        /// The line.
        line: LineAddr,
    },
    /// The last version was made by a granted write prefetch, not by a store.
    Prefetch {
        /// The line.
        line: LineAddr,
    },
    /// A processor sends an uncached read.
    UncachedRequest {
        /// The processor.
        cpu: CpuId,
        /// The line.
        line: LineAddr,
    },
    /// A processor receives the answer to an uncached read.
    UncachedLoad {
        /// The processor.
        cpu: CpuId,
        /// The line.
        line: LineAddr,
        /// The contents in the answer.
        found: Version,
        /// The time.
        at: Time,
    },
    /// A processor receives a NACK.
    Nack {
        /// The processor.
        cpu: CpuId,
        /// The line.
        line: LineAddr,
        /// NACKs of this request so far.
        count: u32,
    },
    /// A writer is about to store before all older copies of the line are invalidated.
    Unsettled {
        /// The line.
        line: LineAddr,
    },
    /// All older copies of the line are invalidated.
    Settled {
        /// The line.
        line: LineAddr,
    },
    /// A page moves, and this line of it.
    Move {
        /// The line before.
        from: LineAddr,
        /// The line after.
        to: LineAddr,
    },
    /// A page is copied, and this line of it.
    Copy {
        /// The line of the original.
        from: LineAddr,
        /// The line of the copy.
        to: LineAddr,
    },
}

/// A step in the measured parts of programs. Counters are those of the processor at that time.
#[derive(Clone, Copy, Debug)]
pub enum IntervalEvent<'a> {
    /// A thread begins.
    Begin {
        /// Its number.
        thread: usize,
    },
    /// A thread arrives at a processor.
    Arrival {
        /// The processor.
        cpu: CpuId,
        /// The number of the thread.
        thread: usize,
        /// Its measured part.
        part: MeasuredPart,
        /// The time.
        at: Time,
        /// The counters.
        counters: &'a ProcessorCounters,
    },
    /// The program on a processor starts or ends an interval of its measured part.
    Change {
        /// The processor.
        cpu: CpuId,
        /// Its measured part from here on.
        part: MeasuredPart,
        /// The time.
        at: Time,
        /// The counters.
        counters: &'a ProcessorCounters,
    },
    /// The thread on a processor leaves it.
    Leave {
        /// The processor.
        cpu: CpuId,
        /// Whether the program has declared a measured part.
        declared: bool,
        /// The time.
        at: Time,
        /// The counters.
        counters: &'a ProcessorCounters,
    },
    /// A thread without a processor spends time.
    Away {
        /// The number of the thread.
        thread: usize,
        /// The cause.
        cause: Cause,
        /// The length.
        time: Duration,
    },
}
