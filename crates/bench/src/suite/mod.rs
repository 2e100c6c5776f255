//! Suites: lists of plans whose placements follow from the machine's topology, and averages over places equally far.

mod plans;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Experiment, Layout, Outcome, Plan, PlanError, Settings, State};

/// A group of experiments that one invocation runs (Prestor 2001 sections 4.3.1 to 4.3.4).
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
    /// All of these.
    All,
}

impl Suite {
    /// All suites.
    pub const ALL: [Self; 5] = [Self::Local, Self::Remote, Self::Interventions, Self::Invalidations, Self::All];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Remote => "remote",
            Self::Interventions => "interventions",
            Self::Invalidations => "invalidations",
            Self::All => "all",
        }
    }

    /// The plans of this suite on a machine. Placements that the machine lacks processors for (a second processor on a
    /// node, say) are left out.
    ///
    /// # Errors
    /// When the settings make one of the plans impossible.
    pub fn plans(self, layout: &Layout, scope: &SuiteScope) -> Result<Vec<Plan>, PlanError> {
        let plans = match self {
            Self::Local => plans::local(layout, scope),
            Self::Remote => plans::remote(layout, scope),
            Self::Interventions => plans::interventions(layout, scope),
            Self::Invalidations => plans::invalidations(layout, scope),
            Self::All => [plans::local, plans::remote, plans::interventions, plans::invalidations]
                .into_iter()
                .flat_map(|suite| suite(layout, scope))
                .collect(),
        };
        plans.iter().try_for_each(|plan| plan.validate(layout))?;
        Ok(plans)
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
            .ok_or_else(|| PlanError::new("--suite", name, "no such suite", Self::ALL.map(Self::name).join(" ")))
    }
}

/// How much of a suite to run.
#[derive(Clone, Debug, PartialEq)]
pub struct SuiteScope {
    /// How thoroughly to measure.
    pub settings: Settings,
    /// How many nodes to visit at each distance; `None` for all of them.
    pub nodes_per_distance: Option<usize>,
}

/// The part of a suite that a plan belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Series {
    /// No suite: asked for by itself.
    Single,
    /// All roles on one node, for the table of local results.
    Local,
    /// Both processors of a node read its memory at once: the bandwidth of their bus.
    SharedBus,
    /// Several nodes read the memory of one at once: its bandwidth.
    SharedMemory,
    /// Unowned lines at every distance; also the base line of the series below.
    Unowned,
    /// Requester, home and remote processor on one node: the first row of the three series below.
    SameNode,
    /// Requester and home on one node, the remote processor at every distance.
    XhopsZero,
    /// Home and remote processor on one node, the requester at every distance.
    YhopsZero,
    /// Requester and remote processor on one node, the home at every distance.
    ZhopsZero,
    /// Requester and home on one node, more and more sharers.
    Sharers,
    /// A point of a P3 diagram.
    P3,
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
