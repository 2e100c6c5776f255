//! Suites: lists of plans whose placements follow from the machine's topology, and averages over places equally far.

mod fit_plans;
mod machine_plans;
mod plans;
mod random_sharers;
mod scope;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

pub use machine_plans::{areas, load_of_all};
pub use random_sharers::{random_sharers, upgrade_latency};
pub use scope::SuiteScope;

use crate::{Experiment, Layout, Outcome, Plan, PlanError, Series, State};

/// A group of experiments that one invocation runs: those of Prestor 2001 (sections 4.3.1 to 4.3.4), and what one asks of any
/// machine first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Suite {
    /// Everything on one node: every state and request (Tables 4.6 to 4.10).
    Local,
    /// Unowned lines of one node from every node (Tables 4.11 to 4.13).
    Remote,
    /// Lines owned by another processor, two of the three roles on one node (Tables 4.15 to 4.18).
    Interventions,
    /// Lines shared by more and more nodes, and by a single one (Tables 4.19 and 4.20).
    Invalidations,
    /// Lines shared by random sets of nodes, upgraded at their home (FLASH dissertation, Figures 5.7 and 5.8).
    RandomSharers,
    /// Latency over areas of growing size: the steps of the hierarchy.
    Hierarchy,
    /// Every transaction, by how near the owner of the lines is.
    Places,
    /// Lines passed between every two processors.
    Cores,
    /// Latency and bandwidth between every two nodes.
    Nodes,
    /// Bandwidth, by what is done to memory.
    Bandwidth,
    /// Latency against load.
    Loaded,
    /// Latency by region of memory.
    Regions,
    /// Figures of Intel MLC: latency and bandwidth between nodes, latency against load, and transfers between caches by home.
    Mlc,
    /// The measurements that a fit of a server needs: hierarchy, pairs of processors by class, memory by node, and bandwidths.
    Fit,
    /// A minute's measurements on a real machine: hierarchy, places, nodes, bandwidth and load.
    Overview,
    /// Those of the thesis; on a real machine all there are.
    All,
}

/// Lines of a simulated list whose latency is typical of a long run, as that of Intel MLC is: of a thousand lines, few wait for a refresh of
/// memory, and samples differ by 2 % (8180, a line that is modified in the other socket).
pub const TYPICAL_LINES: u64 = 4096;

/// The plans of a suite on a machine.
type Plans = fn(&Layout, &SuiteScope) -> Vec<Plan>;

impl Suite {
    /// All suites.
    pub const ALL: [Self; 16] = [
        Self::Local,
        Self::Remote,
        Self::Interventions,
        Self::Invalidations,
        Self::RandomSharers,
        Self::Hierarchy,
        Self::Places,
        Self::Cores,
        Self::Nodes,
        Self::Bandwidth,
        Self::Loaded,
        Self::Regions,
        Self::Mlc,
        Self::Fit,
        Self::Overview,
        Self::All,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Remote => "remote",
            Self::Interventions => "interventions",
            Self::Invalidations => "invalidations",
            Self::RandomSharers => "random-sharers",
            Self::Hierarchy => "hierarchy",
            Self::Places => "places",
            Self::Cores => "cores",
            Self::Nodes => "nodes",
            Self::Bandwidth => "bandwidth",
            Self::Loaded => "loaded",
            Self::Regions => "regions",
            Self::Mlc => "mlc",
            Self::Fit => "fit",
            Self::Overview => "overview",
            Self::All => "all",
        }
    }

    /// Whether its results are tables of Prestor 2001.
    pub fn is_of_the_thesis(self) -> bool {
        matches!(self, Self::Local | Self::Remote | Self::Interventions | Self::Invalidations | Self::All)
    }

    /// Its parts on a machine.
    fn parts(self, real: bool) -> &'static [Plans] {
        use {machine_plans as of_any, plans as of_thesis};
        const THESIS: &[Plans] =
            &[of_thesis::local, of_thesis::remote, of_thesis::interventions, of_thesis::invalidations];
        const OVERVIEW: &[Plans] =
            &[of_any::hierarchy, of_any::places, of_any::spacing, of_any::nodes, of_any::bandwidth, of_any::loaded];
        const EVERYTHING: &[Plans] = &[
            of_any::hierarchy,
            of_any::places,
            of_any::spacing,
            of_any::cores,
            of_any::nodes,
            of_any::bandwidth,
            of_any::loaded,
            of_any::regions,
            of_thesis::local,
            of_thesis::remote,
            of_thesis::interventions,
            of_thesis::invalidations,
        ];
        match self {
            Self::Local => &[of_thesis::local],
            Self::Remote => &[of_thesis::remote],
            Self::Interventions => &[of_thesis::interventions],
            Self::Invalidations => &[of_thesis::invalidations],
            Self::RandomSharers => &[random_sharers::plans],
            Self::Hierarchy => &[of_any::hierarchy],
            Self::Places => &[of_any::places, of_any::spacing],
            Self::Cores => &[of_any::cores],
            Self::Nodes => &[of_any::nodes],
            Self::Bandwidth => &[of_any::bandwidth],
            Self::Loaded => &[of_any::loaded],
            Self::Regions => &[of_any::regions],
            Self::Mlc => &[of_any::nodes, of_any::under_load, of_any::transfers],
            Self::Fit => {
                &[of_any::hierarchy, fit_plans::reaches, fit_plans::pairs, fit_plans::memory, fit_plans::rates]
            }
            Self::Overview => OVERVIEW,
            Self::All if real => EVERYTHING,
            Self::All => THESIS,
        }
    }

    /// The plans of this suite on a machine. Placements that the machine lacks processors for (a second processor on a
    /// node, say) are left out.
    ///
    /// # Errors
    /// When the settings make one of the plans impossible.
    pub fn plans(self, layout: &Layout, scope: &SuiteScope) -> Result<Vec<Plan>, PlanError> {
        let plans = self.all_plans(layout, scope);
        plans.iter().try_for_each(|plan| plan.validate(layout))?;
        Ok(plans)
    }

    /// The plans of this suite that the settings do not make impossible: lists of so many lines may suit another machine.
    pub fn possible_plans(self, layout: &Layout, scope: &SuiteScope) -> Vec<Plan> {
        self.all_plans(layout, scope).into_iter().filter(|plan| plan.validate(layout).is_ok()).collect()
    }

    fn all_plans(self, layout: &Layout, scope: &SuiteScope) -> Vec<Plan> {
        let mut scope = scope.clone();
        if self == Self::Mlc && !layout.real {
            scope.settings.latency_lines = TYPICAL_LINES;
        }
        self.parts(layout.real).iter().flat_map(|plans| plans(layout, &scope)).collect()
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Suite {
    type Err = PlanError;

    fn from_str(name: &str) -> Result<Self, PlanError> {
        Self::ALL
            .into_iter()
            .find(|suite| suite.name() == name)
            .ok_or_else(|| PlanError::new("--suite", name, "unknown suite", Self::ALL.map(Self::name).join(" ")))
    }
}

/// The mean headline figure at each distance (the longest leg, in hops) of one experiment and state in a series. The
/// series in which two roles share a node begin with the measurement where all three do.
pub fn average_by_distance(
    outcomes: &[Outcome],
    series: Series,
    experiment: Experiment,
    state: State,
) -> BTreeMap<u32, f64> {
    let two_share_a_node = matches!(series, Series::XhopsZero | Series::YhopsZero | Series::ZhopsZero);
    let mut at_distance: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for Outcome { plan, record, .. } in outcomes {
        let in_series = plan.series == series || (two_share_a_node && plan.series == Series::SameNode);
        if in_series && plan.experiment == experiment && plan.state == state {
            let legs = [Some(record.xhops), record.yhops, record.zhops];
            let distance = legs.into_iter().flatten().max().unwrap_or(0);
            at_distance.entry(distance).or_default().push(record.headline());
        }
    }
    at_distance.into_iter().map(|(distance, all)| (distance, all.iter().sum::<f64>() / all.len() as f64)).collect()
}
