//! The plan behind a record: measured again on another machine, it gives the figure to set beside the record's.

use record::Record;
use units::{Bytes, CpuId, NodeId};

use crate::loaded::traffic_of;
use crate::{Experiment, Placement, Plan, Settings, State, Traffic};

impl Plan {
    /// The plan that `record` of a machine with this coherence unit came from, with the samples and the bandwidth lines of `settings`,
    /// and its places under other names: those of its processors by `cpu`, of its home by `node`. `None` of a search, of a map of
    /// memory, of the record of another kind of measurement, and where a place has no other name.
    pub fn of_record(
        record: &Record,
        line: Bytes,
        settings: &Settings,
        cpu: impl Fn(CpuId) -> Option<CpuId>,
        node: impl Fn(NodeId) -> Option<NodeId>,
    ) -> Option<Self> {
        let loaded = [Experiment::LoadedRead, Experiment::LoadedTriad];
        let beside = loaded.into_iter().find(|&experiment| traffic_of(experiment) == record.experiment);
        let name = beside.map_or(record.experiment.as_str(), |experiment| experiment.name());
        let experiment: Experiment = name.parse().ok()?;
        if experiment.is_restart() || experiment == Experiment::RegionRead {
            return None;
        }
        let state: State = record.state.parse().ok()?;
        let named = |cpus: &[CpuId]| cpus.iter().map(|&its| cpu(its)).collect::<Option<Vec<CpuId>>>();
        let placement =
            Placement { home: node(record.home)?, locals: named(&record.locals)?, remotes: named(&record.remotes)? };
        let (stride, window) = (record.conditions.stride?, record.conditions.window?);
        let mut settings = Settings { check: false, pages: None, ..settings.clone() };
        if experiment.ranges_over_an_array() {
            if stride.0 == 0 {
                return None;
            }
            settings.array = record.parameters.array.unwrap_or(window);
            settings.stride = stride;
            let traffic = (record.parameters.reads, record.parameters.writes, record.parameters.pause_cycles);
            if let (Some(reads), Some(writes), Some(pause)) = traffic {
                settings.traffic = Traffic { reads, writes, pause };
            }
        } else if !experiment.is_ping_pong() {
            let lines = window.0 / stride.0.max(1) / experiment.arrays();
            let most = if experiment.is_bandwidth() { settings.bandwidth_lines } else { lines };
            settings.lines = Some(lines.min(most).max(1));
        }
        settings.spacing = (stride.0 / line.0.max(1)).max(1);
        Some(Self::new(experiment, state, placement, settings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Statistics;

    use crate::{Layout, Suite, SuiteScope, Trial};
    use machine::load;

    /// Records of every plan of the suite, without any sample, lead back to the plan.
    #[test]
    fn the_plan_of_a_record_is_the_one_it_came_from() {
        let description = load("xeon-8180-2s").expect("a machine");
        let layout = Layout::simulated(&description).expect("a layout");
        let settings = Settings { lines: Some(64), ..Settings::simulated() };
        let plans = Suite::Fit.possible_plans(&layout, &SuiteScope::whole(settings.clone()));
        assert!(plans.len() > 50);
        for plan in plans {
            let record = Trial::new(&plan, &layout)
                .expect("possible")
                .record(&layout, Statistics::of(&[1.0]).expect("a sample"));
            let other = |cpu: CpuId| Some(cpu);
            let found = Plan::of_record(&record, layout.line, &settings, other, Some).expect("a plan");
            assert_eq!(
                (found.experiment, found.state, &found.placement),
                (plan.experiment, plan.state, &plan.placement)
            );
            assert_eq!(found.lines(&layout), plan.lines(&layout), "{plan:?}");
        }
    }
}
