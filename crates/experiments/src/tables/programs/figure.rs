//! Figures that are read off a program's run.

use record::{ControllerCacheStatistics, ProcessorStatistics, SimulationRow};

/// A figure of a run, or of a run and the one on eight processors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Figure {
    /// Time of the measured part, in nanoseconds.
    Time,
    /// How many times as fast as on eight processors, times eight: the dissertation compares with eight, below which a node's
    /// memory does not hold its part of the data (section 3.2.2).
    Speedup,
    /// How many times as fast as on one processor.
    TotalSpeedup,
    /// Speedup over the number of processors: 1 is ideal.
    Efficiency,
    /// The same over the run on eight processors under CV=2, whatever the protocol: so efficiencies compare protocols as
    /// times do. Table 5.3 means it so: its ratios are the gains that section 5.3 states (SWIM 40 % under hybrid, APSI -1.4 % under
    /// CV=2/LB), whereas the times on eight processors differ by protocol (Figure 5.10).
    CommonEfficiency,
    /// How long controllers were held in all, in nanoseconds.
    Occupancy,
    /// Secondary misses that MAGIC saw.
    Misses,
    /// The part of them that went to lines of the own node, in percent.
    Local,
    /// Misses for each cycle of a processor, in percent.
    Rate,
    /// From a miss to its end on average, in nanoseconds.
    Latency,
    /// Hits of remote access caches in percent of what they were asked: over all nodes,
    Hits,
    /// of the node with the fewest,
    FewestHits,
    /// and of that with the most.
    MostHits,
    /// Messages that controllers sent each other.
    Messages,
    /// Translation misses.
    TranslationMisses,
    /// How much of the time the busiest controller was held, in percent.
    Busiest,
    /// The part of all occupancy that went into misses of the instruction cache, in percent.
    InstructionMisses,
}

/// The processors that speedups are relative to.
pub const FEW: u16 = 8;
/// The protocol that others are compared with (section 5.3).
pub const COMMON: &str = "cv=2";

impl Figure {
    /// The figure of this name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "time" => Self::Time,
            "speedup" => Self::Speedup,
            "total-speedup" => Self::TotalSpeedup,
            "efficiency" => Self::Efficiency,
            "common-efficiency" => Self::CommonEfficiency,
            "occupancy" => Self::Occupancy,
            "misses" => Self::Misses,
            "local" => Self::Local,
            "rate" => Self::Rate,
            "latency" => Self::Latency,
            "hits" => Self::Hits,
            "fewest-hits" => Self::FewestHits,
            "most-hits" => Self::MostHits,
            "messages" => Self::Messages,
            "translation-misses" => Self::TranslationMisses,
            "busiest" => Self::Busiest,
            "instruction-misses" => Self::InstructionMisses,
            _ => return None,
        })
    }

    /// Whether its mean over programs is arithmetic: that of parts of a hundred. All others have geometric means.
    pub fn is_share(self) -> bool {
        let of_hits = matches!(self, Self::Hits | Self::FewestHits | Self::MostHits);
        of_hits || matches!(self, Self::Local | Self::Rate | Self::Busiest | Self::InstructionMisses)
    }

    /// The figure of a run; that of the time for those that compare two. `cycle_ns` is a processor's.
    pub fn read(self, row: &SimulationRow, cycle_ns: f64) -> Option<f64> {
        match self {
            Self::Time | Self::Speedup | Self::TotalSpeedup | Self::Efficiency | Self::CommonEfficiency => {
                Some(row.time_ns)
            }
            Self::Occupancy => Some(row.occupancy_ns),
            Self::Misses => misses(row).map(|(local, remote)| local + remote),
            Self::Local => share(misses(row)?),
            Self::Rate => {
                let (local, remote) = misses(row)?;
                let cycles = row.time_ns / cycle_ns * f64::from(row.cpus);
                (cycles > 0.0).then(|| (local + remote) / cycles * 100.0)
            }
            Self::Latency => row.miss_latency_ns,
            Self::Hits => {
                let all = caches(row)?;
                let sum = |of: fn(&ControllerCacheStatistics) -> u64| all.iter().map(of).sum::<u64>() as f64;
                share((sum(|cache| cache.accesses - cache.misses), sum(|cache| cache.misses)))
            }
            Self::FewestHits => hits(row)?.into_iter().reduce(f64::min),
            Self::MostHits => hits(row)?.into_iter().reduce(f64::max),
            Self::Messages => {
                let sent = row.controllers.as_ref()?.iter().flat_map(|controller| controller.sent.values());
                Some(sent.sum::<u64>() as f64)
            }
            Self::TranslationMisses => Some(row.translation_misses as f64),
            Self::Busiest => Some(row.max_utilisation_pct),
            Self::InstructionMisses => {
                let caches = row.controllers.as_ref()?.iter().map(|controller| controller.instruction_cache);
                let stalled: f64 = caches.map(|cache| cache.map(|cache| cache.stalled_ns)).sum::<Option<f64>>()?;
                (row.occupancy_ns > 0.0).then(|| stalled / row.occupancy_ns * 100.0)
            }
        }
    }
}

/// Misses on lines of the own node, whether or not they took action elsewhere, and on others' (section 5.5.1).
fn misses(row: &SimulationRow) -> Option<(f64, f64)> {
    let of = |kind: fn(&ProcessorStatistics) -> Option<u64>| {
        row.processors.as_ref()?.iter().map(kind).sum::<Option<u64>>().map(|count| count as f64)
    };
    let local = of(|processor| Some(processor.local_misses? + processor.local_remote_action_misses?))?;
    Some((local, of(|processor| processor.remote_misses)?))
}

/// One part of two, in percent; none if both are nothing.
fn share((one, other): (f64, f64)) -> Option<f64> {
    (one + other > 0.0).then(|| one / (one + other) * 100.0)
}

/// The remote access caches that were asked for anything.
fn caches(row: &SimulationRow) -> Option<Vec<ControllerCacheStatistics>> {
    let controllers = row.controllers.as_ref()?;
    let caches: Option<Vec<_>> = controllers.iter().map(|controller| controller.remote_access_cache).collect();
    Some(caches?.into_iter().filter(|cache| cache.accesses > 0).collect())
}

fn hits(row: &SimulationRow) -> Option<Vec<f64>> {
    let part = |cache: ControllerCacheStatistics| share(((cache.accesses - cache.misses) as f64, cache.misses as f64));
    caches(row)?.into_iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use record::ControllerStatistics;
    use units::{CpuId, NodeId};

    use super::*;

    fn row() -> SimulationRow {
        let processor = |local, action, remote| ProcessorStatistics {
            cpu: CpuId(0),
            time_ns: 0.0,
            spent_ns: BTreeMap::new(),
            misses: BTreeMap::new(),
            references: 0,
            secondary_misses: 0,
            local_misses: Some(local),
            local_remote_action_misses: Some(action),
            remote_misses: Some(remote),
            unloaded_ns: None,
            wait_ns: None,
            communication_ns: None,
            coherence_ns: None,
            mix: None,
        };
        let controller = |node, accesses, misses| ControllerStatistics {
            node: NodeId(node),
            occupancy_ns: 0.0,
            utilisation_pct: 0.0,
            queued_ns: 0.0,
            bus_ns: 0.0,
            memory_ns: 0.0,
            instruction_cache: None,
            data_cache: None,
            remote_access_cache: Some(ControllerCacheStatistics { accesses, misses, stalled_ns: 0.0 }),
            handlers: BTreeMap::new(),
            sent: [("GET".to_owned(), accesses), ("PUT".to_owned(), 1)].into(),
            invalidations: Vec::new(),
            pages: None,
            link: None,
            switch: None,
        };
        SimulationRow {
            cpus: 2,
            time_ns: 1000.0,
            processors: Some(vec![processor(3, 2, 5), processor(5, 0, 5)]),
            controllers: Some(vec![controller(0, 10, 9), controller(1, 30, 15), controller(2, 0, 0)]),
            ..SimulationRow::default()
        }
    }

    #[test]
    fn figures_of_a_run() {
        let of = |figure: Figure| figure.read(&row(), 5.0);
        assert_eq!((of(Figure::Misses), of(Figure::Local)), (Some(20.0), Some(50.0)));
        assert_eq!(of(Figure::Rate), Some(5.0), "20 misses in 2 times 200 cycles");
        let hits = [Figure::FewestHits, Figure::Hits, Figure::MostHits].map(of);
        assert_eq!(hits, [Some(10.0), Some(40.0), Some(50.0)], "a cache that nobody asked is none");
        assert_eq!(of(Figure::Messages), Some(43.0));
    }

    #[test]
    fn what_was_not_counted_is_no_figure() {
        let nothing = SimulationRow::default();
        for figure in [Figure::Misses, Figure::Local, Figure::Rate, Figure::Hits, Figure::Messages, Figure::Latency] {
            assert_eq!(figure.read(&nothing, 5.0), None, "{figure:?}");
        }
    }
}
