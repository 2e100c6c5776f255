//! The plans of each suite, derived from nodes, processors and distances.

use std::collections::BTreeMap;

use units::{CpuId, NodeId};

use super::scope::SuiteScope;
use crate::{Experiment, Layout, Placement, Plan, Series, Settings, State};

/// Nodes that read the memory of one at once (Prestor 2001 Table 4.10).
const SHARED_MEMORY_READERS: usize = 4;
/// Lines of an invalidation experiment unless the user says otherwise, if a cache holds as many: every sharer reads all of them.
const INVALIDATION_LINES: u64 = 512;

/// The experiments of the table of local results, a column each (Prestor 2001 Table 4.6); `restart-rdex` stands in where
/// the state excludes a read.
const LOCAL_EXPERIMENTS: [Experiment; 10] = [
    Experiment::LmbenchRead,
    Experiment::LmbenchRdex,
    Experiment::LmbenchUpgrd,
    Experiment::RestartRead,
    Experiment::RestartRdex,
    Experiment::BwRead,
    Experiment::BwRdsh,
    Experiment::BwRdex,
    Experiment::BwZero,
    Experiment::BwUpgrd,
];

/// Collects the plans of a suite.
pub(super) struct Collector<'a> {
    pub(super) layout: &'a Layout,
    pub(super) scope: &'a SuiteScope,
    pub(super) plans: Vec<Plan>,
}

impl<'a> Collector<'a> {
    pub(super) fn new(layout: &'a Layout, scope: &'a SuiteScope) -> Self {
        Self { layout, scope, plans: Vec::new() }
    }

    pub(super) fn add(&mut self, series: Series, experiment: Experiment, state: State, placement: Placement) {
        self.add_with(series, experiment, state, placement, self.scope.settings.clone());
    }

    pub(super) fn add_with(
        &mut self,
        series: Series,
        experiment: Experiment,
        state: State,
        placement: Placement,
        settings: Settings,
    ) {
        let plan = Plan::new(experiment, state, placement, settings).in_series(series);
        if plan.has_upgrades(self.layout) {
            self.plans.push(plan);
        }
    }

    /// The home of the suites: node 1 as in the thesis, or the first node with a processor.
    fn home(&self) -> NodeId {
        let thesis = NodeId(1);
        let with_processor = |node: &NodeId| !self.layout.cpus_of(*node).is_empty();
        if with_processor(&thesis) { thesis } else { self.first_node() }
    }

    fn first_node(&self) -> NodeId {
        let mut nodes = self.layout.nodes();
        nodes.find(|&node| !self.layout.cpus_of(node).is_empty()).expect("a layout has a processor")
    }

    /// The first processor of a node.
    pub(super) fn first(&self, node: NodeId) -> Option<CpuId> {
        self.layout.cpus_of(node).first().copied()
    }

    /// The second processor of a node.
    fn peer(&self, node: NodeId) -> Option<CpuId> {
        self.layout.cpus_of(node).get(1).copied()
    }

    /// The nodes with processors other than `from`, nearest first.
    fn by_distance(&self, from: NodeId) -> Vec<NodeId> {
        let mut nodes = self.layout.nodes_by_distance(from);
        nodes.retain(|&node| !self.layout.cpus_of(node).is_empty());
        nodes
    }

    /// As many of those at each distance as the scope wants.
    fn representatives(&self, from: NodeId) -> Vec<NodeId> {
        let mut seen: BTreeMap<u32, usize> = BTreeMap::new();
        let mut nodes = self.by_distance(from);
        nodes.retain(|&node| {
            let at_distance = seen.entry(self.layout.hops(from, node)).or_default();
            *at_distance += 1;
            self.scope.nodes_per_distance.is_none_or(|most| *at_distance <= most)
        });
        nodes
    }
}

/// Every state and request on the first node (Prestor 2001 Tables 4.6 to 4.9), and the bandwidth of its bus.
pub(super) fn local(layout: &Layout, scope: &SuiteScope) -> Vec<Plan> {
    let mut collector = Collector::new(layout, scope);
    let home = collector.first_node();
    let (Some(local), peer) = (collector.first(home), collector.peer(home)) else {
        return collector.plans;
    };
    for state in State::ALL {
        let remote = if state == State::Uown { None } else { peer };
        if state.needs_owner() && remote.is_none() {
            continue;
        }
        for experiment in LOCAL_EXPERIMENTS {
            let redundant = experiment == Experiment::RestartRdex && state != State::Dext;
            if experiment.states().contains(&state) && !redundant {
                collector.add(Series::Local, experiment, state, Placement::new(home, local, remote));
            }
        }
    }
    if let Some(peer) = peer {
        let both = Placement { home, locals: vec![local, peer], remotes: Vec::new() };
        collector.add(Series::SharedBus, Experiment::BwmpRead, State::Uown, both);
    }
    collector.plans
}

/// Unowned lines from every distance (Prestor 2001 Tables 4.11 to 4.13), and the bandwidth of one memory.
pub(super) fn remote(layout: &Layout, scope: &SuiteScope) -> Vec<Plan> {
    const EXPERIMENTS: [Experiment; 5] =
        [Experiment::LmbenchRead, Experiment::RestartRead, Experiment::BwRead, Experiment::BwRdex, Experiment::BwZero];
    let mut collector = Collector::new(layout, scope);
    let home = collector.home();
    for node in [vec![home], collector.representatives(home)].concat() {
        let local = layout.cpus_of(node)[0];
        for experiment in EXPERIMENTS {
            collector.add(Series::Unowned, experiment, State::Uown, Placement::new(home, local, None));
        }
    }
    let readers = collector.by_distance(home).into_iter().take(SHARED_MEMORY_READERS);
    let locals: Vec<CpuId> = readers.map(|node| layout.cpus_of(node)[0]).collect();
    if locals.len() == SHARED_MEMORY_READERS {
        let placement = Placement { home, locals, remotes: Vec::new() };
        collector.add(Series::SharedMemory, Experiment::BwmpRead, State::Uown, placement);
    }
    collector.plans
}

/// Clean and dirty lines of another processor, with two of the three roles on one node, beside unowned lines (Prestor
/// 2001 Tables 4.15 to 4.18).
pub(super) fn interventions(layout: &Layout, scope: &SuiteScope) -> Vec<Plan> {
    const STATES: [(State, Experiment); 4] = [
        (State::Cexm, Experiment::LmbenchRead),
        (State::Cexh, Experiment::LmbenchRead),
        (State::Dext, Experiment::LmbenchRdex),
        (State::Dexd, Experiment::LmbenchRead),
    ];
    let mut collector = Collector::new(layout, scope);
    unowned_baseline(&mut collector, &[Experiment::LmbenchRead, Experiment::LmbenchRdex]);
    for (state, experiment) in STATES {
        three_series(&mut collector, experiment, state);
    }
    collector.plans
}

/// Lines shared by a growing set of nodes, nearest first (Prestor 2001 Table 4.19), and by a single sharer at every
/// distance (Table 4.20) beside unowned lines.
pub(super) fn invalidations(layout: &Layout, scope: &SuiteScope) -> Vec<Plan> {
    const EXPERIMENTS: [Experiment; 5] = [
        Experiment::LmbenchRdex,
        Experiment::LmbenchUpgrd,
        Experiment::BwRdex,
        Experiment::BwUpgrd,
        Experiment::BwZero,
    ];
    let mut collector = Collector::new(layout, scope);
    let home = collector.home();
    let local = layout.cpus_of(home)[0];
    let settings = Settings {
        lines: Some(scope.settings.lines.unwrap_or(INVALIDATION_LINES.min(layout.l2.0 / layout.line.0))),
        sharers_drop: Some(!layout.forgets_dropped),
        ..scope.settings.clone()
    };
    let mut sharers: Vec<CpuId> = Vec::new();
    let nearest_first = collector.by_distance(home).into_iter().map(|node| layout.cpus_of(node)[0]);
    for next in collector.peer(home).into_iter().chain(nearest_first) {
        sharers.push(next);
        for experiment in EXPERIMENTS {
            let placement = Placement::new(home, local, sharers.iter().copied());
            collector.add_with(Series::Sharers, experiment, State::Shrd, placement, settings.clone());
        }
    }
    unowned_baseline(&mut collector, &[Experiment::LmbenchRdex]);
    three_series(&mut collector, Experiment::LmbenchRdex, State::Shrd);
    collector.plans
}

/// Unowned lines of the home from every distance.
fn unowned_baseline(collector: &mut Collector<'_>, experiments: &[Experiment]) {
    let home = collector.home();
    for node in [vec![home], collector.representatives(home)].concat() {
        let local = collector.layout.cpus_of(node)[0];
        for &experiment in experiments {
            collector.add(Series::Unowned, experiment, State::Uown, Placement::new(home, local, None));
        }
    }
}

/// The three series in which two of requester, home and remote processor share a node, after the measurement where all
/// three do.
fn three_series(collector: &mut Collector<'_>, experiment: Experiment, state: State) {
    let home = collector.home();
    let (at_home, peer_at_home) = (collector.layout.cpus_of(home)[0], collector.peer(home));
    if let Some(peer) = peer_at_home {
        collector.add(Series::SameNode, experiment, state, Placement::new(home, at_home, Some(peer)));
    }
    for node in collector.representatives(home) {
        let away = collector.layout.cpus_of(node)[0];
        collector.add(Series::XhopsZero, experiment, state, Placement::new(home, at_home, Some(away)));
        collector.add(Series::YhopsZero, experiment, state, Placement::new(home, away, Some(at_home)));
        if let Some(peer) = collector.peer(node) {
            collector.add(Series::ZhopsZero, experiment, state, Placement::new(home, away, Some(peer)));
        }
    }
}
