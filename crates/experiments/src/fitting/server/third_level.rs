//! The latency of a third-level cache beside neighbours that have a part of it. The least sample of a list is of an unknown share of
//! lines in the second-level cache and in memory; a line that two cores of a cluster have comes from the third level, nearly always.

use super::observed::{Home, Kind, Observation, measured};
use super::structure::Nearness;
use super::tuning::{Bench, Tunable, fit_times};
use crate::error::ExperimentError;

/// Takes what was observed of lines that two cores of a cluster share out of `observed`. Beside neighbours (`crowded`) it counts in place
/// of the list in the third-level cache and is returned; unless a modified line comes from the other core even sooner: the two were one
/// core for most of the time.
pub(super) fn of_shared_lines(observed: &mut Vec<Observation>, crowded: bool) -> Option<Observation> {
    let shared = observed.iter().position(|one| one.kind == Kind::Shared).map(|index| observed.remove(index))?;
    let passed = Kind::Core { nearness: Nearness::SameCluster, modified: true, home: Home::Both };
    let is_of_two = crowded && shared.measured < measured(observed, passed)?;
    let list = observed.iter_mut().find(|one| is_of_two && one.kind == Kind::Level(3))?;
    *list = Observation { kind: list.kind, ..shared.clone() };
    Some(shared)
}

/// A remark on a third level that is known by `shared` lines.
pub(super) fn remark(shared: &Observation) -> String {
    format!(
        "lists find a part of their lines nearer than the third-level cache, and others a part of its room: its latency is that of a line \
         that two cores have, {:.1} ns",
        shared.measured
    )
}

/// The value that decides the latency of the third-level cache, and the shared lines by which that is known.
pub(super) struct ThirdLevel {
    tunable: Tunable,
    shared: Observation,
}

impl ThirdLevel {
    /// The first of `tunables` that the latency of the third level decides.
    pub(super) fn new(tunables: Vec<Tunable>, shared: Observation) -> Option<Self> {
        let tunable = tunables.into_iter().find(|tunable| tunable.decided_by == Kind::Level(3))?;
        Some(Self { tunable, shared })
    }

    /// Fits the value, beside what neighbours do in the described machine: they push out shared lines, too.
    ///
    /// # Errors
    /// When the machine cannot be described or simulated.
    pub(super) fn fit(&mut self, bench: &mut Bench<'_>) -> Result<(), ExperimentError> {
        let Self { tunable, shared } = self;
        fit_times(bench, std::slice::from_mut(tunable), std::slice::from_ref(shared))?;
        tunable.write(&mut bench.values, &format!("calibrated: {}, {:.1} ns", shared.kind.words(), shared.measured));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use bench::{Experiment, ListOrder, Placement, Plan, Series, Settings, State};
    use units::{CpuId, NodeId};

    use super::*;
    use crate::fitting::repeated::Circumstances;

    fn observation(kind: Kind, measured: f64) -> Observation {
        let plan = Plan {
            experiment: Experiment::LmbenchRead,
            state: State::Shrd,
            placement: Placement::new(NodeId(0), CpuId(0), Some(CpuId(1))),
            settings: Settings::simulated(),
            series: Series::Pairs,
        };
        let circumstances = Circumstances { small_pages: false, large_pages: false, order: ListOrder::Random };
        Observation { kind, plan, measured, places: 1, circumstances }
    }

    #[test]
    fn shared_lines_count_beside_neighbours_and_between_two_cores() {
        let passed = Kind::Core { nearness: Nearness::SameCluster, modified: true, home: Home::Both };
        // By neighbours, shared lines and modified ones: the latency of the third level.
        for (crowded, shared, modified, third_level) in
            [(true, 19.0, 33.0, 19.0), (false, 19.0, 33.0, 28.0), (true, 12.0, 9.0, 28.0)]
        {
            let (list, shared) = (observation(Kind::Level(3), 28.0), observation(Kind::Shared, shared));
            let mut observed = vec![list, observation(passed, modified), shared.clone()];
            let taken = of_shared_lines(&mut observed, crowded);
            assert_eq!(taken.map(|taken| taken.measured), (third_level < 28.0).then_some(shared.measured));
            assert_eq!(measured(&observed, Kind::Level(3)), Some(third_level));
            assert!(measured(&observed, Kind::Shared).is_none(), "not an observation of its own");
        }
        assert!(of_shared_lines(&mut vec![observation(Kind::Level(3), 28.0)], true).is_none(), "one processor");
    }
}
