//! Warnings that a user should know about a result that is nevertheless valid: typed, each with advice.

use std::fmt;

use serde::{Deserialize, Serialize};
use units::{CpuId, Duration};

use crate::Disturbance;

/// Something to know about a measurement that succeeded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "warning", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Warning {
    /// The restart search ran out of kernels before the moving average settled; the figures are those of the last
    /// steps.
    RestartUnsettled {
        /// The largest number of work instructions that was tried.
        max_work: u32,
        /// How far the moving average had to stay put, in picoseconds either way.
        bound: Duration,
        /// For how many steps.
        stable: usize,
    },
    /// Remote processors were named, but the state uses none.
    RemotesUnused {
        /// The state.
        state: String,
        /// Those processors.
        remotes: Vec<CpuId>,
    },
    /// The samples scatter by more than a few percent, so that the headline figure is one of a wide range.
    Scatter {
        /// Standard deviation in percent of the mean.
        stdev_pct: f64,
        /// The number of samples.
        n: u64,
    },
    /// Samples were disturbed however often they were taken again, and stand among the others.
    Disturbed {
        /// How many of them.
        kept: u64,
        /// The number of samples.
        n: u64,
        /// All that happened to them.
        disturbance: Disturbance,
    },
    /// The samples fall into two groups: two things were measured, at different times.
    TwoGroups {
        /// The median of the lower group, in the unit of the record.
        lower: f64,
        /// How many samples it has.
        lower_n: u64,
        /// The median of the upper group.
        upper: f64,
        /// How many samples it has.
        upper_n: u64,
    },
    /// The lines do not look as if they had been brought into the state.
    StateDoubtful {
        /// The state.
        state: String,
        /// The result of the check.
        found: String,
    },
}

impl Warning {
    /// Advice about it.
    pub fn advice(&self) -> String {
        match self {
            Self::RestartUnsettled { .. } => "increase --max-work or --bound until the search converges".to_owned(),
            Self::RemotesUnused { .. } => {
                "omit --remote, or choose a state that uses remote processors: SHRD CEXH CEXM DEXD DEXT".to_owned()
            }
            Self::TwoGroups { .. } => {
                "bimodal: the machine changed during the measurement (for example, virtual CPUs were moved between \
                 cores); the median is that of one group"
                    .to_owned()
            }
            Self::Disturbed { .. } => "stop other programs, or use the minimum".to_owned(),
            Self::StateDoubtful { .. } => {
                "treat the figure as that of the state found; try another number of lines (--lines)".to_owned()
            }
            Self::Scatter { .. } => "increase --iterations and use the median".to_owned(),
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RestartUnsettled { max_work, bound, stable } => write!(
                f,
                "the restart latency did not stay within {bound} for {stable} steps up to {max_work} work instructions"
            )?,
            Self::RemotesUnused { state, remotes } => {
                let remotes: Vec<String> = remotes.iter().map(CpuId::to_string).collect();
                write!(f, "state {state} uses no remote processor; {} was ignored", remotes.join(" "))?;
            }
            Self::Disturbed { kept, n, disturbance } => {
                write!(f, "{kept} of {n} samples were disturbed, also when retaken: {disturbance}")?;
            }
            Self::TwoGroups { lower, lower_n, upper, upper_n } => {
                write!(f, "two groups of samples: {lower_n} around {lower:.1}, {upper_n} around {upper:.1}")?;
            }
            Self::StateDoubtful { state, found } => write!(f, "state {state} may not have been reached: {found}")?,
            Self::Scatter { stdev_pct, n } => {
                write!(f, "standard deviation of the {n} samples: {stdev_pct:.1} %")?;
            }
        }
        write!(f, "; {}", self.advice())
    }
}
