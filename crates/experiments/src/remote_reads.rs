//! Reads of another node's lines, a given part of which the reader has read and displaced before: what a remote access cache
//! gains and costs by its hit rate (FLASH dissertation, section 5.4.1).

use machine::{Description, Topology};
use sim::{CacheStatistics, Options, SimError, Simulator, Thread};
use units::{Bytes, CpuId, Duration, NodeId, PhysicalAddr};

/// Reads of another node's lines.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RemoteReads {
    /// The node whose lines are read.
    pub home: NodeId,
    /// How many of a hundred of them the reader has read before.
    pub reused_pct: u8,
}

/// Time and hits of the reads.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RemoteReadTime {
    /// Nanoseconds a read, on average.
    pub ns: f64,
    /// How many of a hundred the remote access cache of the reader answered; `None` if it has none.
    pub hit_pct: Option<f64>,
}

/// The node that reads.
pub const READER: NodeId = NodeId(0);
/// Reads that are timed: a whole number of hundreds.
const READS: u64 = 1000;
/// How many times the lines of the secondary cache are read to displace what is in it: with two ways and random replacement,
/// one line in 256 survives eight others in its set.
const DISPLACING: u64 = 4;

impl RemoteReads {
    /// Measures on `machine`.
    ///
    /// Each read depends on the one before. The lines read before are displaced from the secondary cache by lines of the
    /// reader's own node, so that a remote access cache holds them, and nothing else does; the other lines are new. Both kinds
    /// alternate as evenly as the percentage allows.
    ///
    /// # Errors
    /// When the machine has no such node or no processor on the reader's, or the simulation fails.
    pub fn run(self, machine: &Description, options: Options) -> Result<RemoteReadTime, SimError> {
        let reader = Topology::new(machine).cpus_of(READER).next().unwrap_or(CpuId(0));
        let mut simulator = Simulator::new(machine, options)?;
        let line = machine.coherent_cache().line;
        let reused = Lines { first: simulator.allocate(self.home, Bytes(READS * line.0))?, line };
        let fresh = Lines { first: simulator.allocate(self.home, Bytes(READS * line.0))?, line };
        let displacing = machine.coherent_cache().size.0 * DISPLACING;
        let own = Lines { first: simulator.allocate(READER, Bytes(displacing))?, line };
        let before = self.reused_before(READS);
        simulator.run(vec![(
            reader,
            Box::new(move |thread| {
                read_all(thread, reused, before);
                read_all(thread, own, displacing / line.0);
            }),
        )])?;
        let walk = move |thread: &mut Thread<'_>| {
            for read in 0..READS {
                let (old, next) = (self.reused_before(read), self.reused_before(read + 1));
                let at = if next > old { reused.at(old) } else { fresh.at(read - old) };
                thread.load_dependent(at);
            }
        };
        let cache_before = remote_access_cache(&simulator);
        let reports = simulator.run(vec![(reader, Box::new(walk))])?;
        let elapsed = reports.iter().map(|report| report.finished.since(report.started)).max();
        let hit_pct = cache_before.zip(remote_access_cache(&simulator)).map(|(before, after)| {
            let (accesses, misses) = (after.accesses - before.accesses, after.misses - before.misses);
            100.0 * (accesses - misses) as f64 / accesses.max(1) as f64
        });
        Ok(RemoteReadTime { ns: elapsed.unwrap_or(Duration::ZERO).as_ns() / READS as f64, hit_pct })
    }

    /// How many of the first `reads` are of lines read before.
    fn reused_before(self, reads: u64) -> u64 {
        reads * u64::from(self.reused_pct) / 100
    }
}

/// Statistics of the reader's remote access cache, if there is one.
fn remote_access_cache(simulator: &Simulator) -> Option<CacheStatistics> {
    simulator.statistics(READER)?.remote_access_cache
}

/// Consecutive lines.
#[derive(Clone, Copy)]
struct Lines {
    first: PhysicalAddr,
    line: Bytes,
}

impl Lines {
    fn at(self, number: u64) -> PhysicalAddr {
        self.first.offset(number * self.line.0)
    }
}

fn read_all(thread: &mut Thread<'_>, lines: Lines, count: u64) {
    (0..count).for_each(|number| thread.load(lines.at(number)));
    thread.drain();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_remote_access_cache_it_is_the_same_whatever_was_read_before() {
        let machine = machine::load("origin2000-r12k-300-4p").expect("a machine");
        let mean = |home, reused_pct| {
            let reads = RemoteReads { home: NodeId(home), reused_pct };
            reads.run(&machine, Options::default()).expect("a run").ns
        };
        let (fresh, half, old) = (mean(1, 0), mean(1, 50), mean(1, 100));
        // One line in 256 may still be in the secondary cache.
        for reused in [half, old] {
            assert!((reused / fresh - 1.0).abs() < 0.01, "{fresh} {half} {old}");
        }
        assert!(mean(0, 50) < 0.8 * half, "the reader's own node is nearer");
    }

    #[test]
    fn a_remote_access_cache_answers_what_was_read_before_and_delays_the_rest() {
        let run = |machine: &str, reused_pct| {
            let machine = crate::variant::load(machine).expect("a variant");
            RemoteReads { home: NodeId(5), reused_pct }.run(&machine, Options::default()).expect("a run")
        };
        let (without, with) = ("flash-8p+hybrid", "flash-8p+hybrid/RAC");
        let hits = |reused_pct| run(with, reused_pct).hit_pct.expect("it has one");
        for reused in [0, 40, 100] {
            assert!((hits(reused) - f64::from(reused)).abs() < 1.0, "{} of {reused} %", hits(reused));
        }
        assert_eq!(run(without, 40).hit_pct, None);
        assert!(run(with, 0).ns > run(without, 0).ns, "looking up takes time");
        assert!(run(with, 100).ns < 0.8 * run(without, 100).ns, "a hit stays on the node");
    }

    #[test]
    fn kinds_of_reads_alternate_and_add_up() {
        let reads = RemoteReads { home: NodeId(1), reused_pct: 30 };
        let marks: Vec<u64> = (0..10).map(|n| reads.reused_before(n + 1) - reads.reused_before(n)).collect();
        assert_eq!(marks, [0, 0, 0, 1, 0, 0, 1, 0, 0, 1]);
        assert_eq!(reads.reused_before(READS), 300);
    }
}
