//! `snbench`: what one memory access costs, by coherence state, request and placement, on a machine real or simulated.
//!
//! An experiment is roles (requesters, home, owners or sharers), a coherence state that is prepared, a kernel and a
//! statistic. A [`Plan`] names them as data; [`Plan::run`] carries it out on a [`Platform`]; a [`Suite`] is a list of
//! plans derived from a machine's [`Layout`]. The experiments, states and kernels are those of Prestor 2001 chapter 4.

mod area;
mod check;
mod computer;
pub mod conformance;
mod error;
mod experiment;
mod extent;
mod groups;
mod loaded;
mod measure;
pub mod p3;
mod plan;
pub mod platform;
mod prepare;
mod procedure;
mod regions;
mod replay;
mod restart;
pub mod rounds;
mod sample;
mod search;
pub mod seidl;
mod series;
mod state;
mod suite;
mod trial;

pub use host::memory::PageKind;

pub use computer::{computer_of_host, computer_of_server};
pub use error::{BenchError, PlanError};
pub use experiment::{Experiment, Request};
pub use plan::{Placement, Plan, Settings, Traffic};
pub use platform::{
    HostOptions, HostPlatform, Kernel, Layout, ListOrder, Measurement, Phase, Platform, PlatformError, Region,
    SimulatedPlatform, StreamOperation, Task,
};
pub use search::{RestartCurve, RestartPoint, RestartSearch};
pub use series::Series;
pub use state::State;
pub use suite::{
    Suite, SuiteScope, TYPICAL_LINES, areas, average_by_distance, load_of_all, random_sharers, upgrade_latency,
};
pub use trial::{Outcome, Trial};
