//! Local latencies and bandwidths by state and request: Prestor 2001 Tables 4.6 to 4.9.

use bench::{Experiment, Series, State};

use super::{Scene, Shape};
use crate::error::ExperimentError;
use crate::formula::Formula;

/// All roles on one node; a row for each composite state.
pub struct Local;

impl Shape for Local {
    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let state: State = row.parse()?;
        let experiment = match column {
            "back-to-back READ" => Experiment::LmbenchRead,
            "back-to-back RDEX" => Experiment::LmbenchRdex,
            "back-to-back UPGRD" => Experiment::LmbenchUpgrd,
            // A transfer is the answer to RDEX, never to READ (note 2 under Table 4.6).
            "restart READ" if state == State::Dext => Experiment::RestartRdex,
            "restart READ" => Experiment::RestartRead,
            "bandwidth READ" => Experiment::BwRead,
            "bandwidth RDEX" => Experiment::BwRdex,
            "bandwidth zero" => Experiment::BwZero,
            "bandwidth UPGRD" => Experiment::BwUpgrd,
            _ => return Ok(None),
        };
        Ok(scene.system()?.figure(Series::Local, experiment, state))
    }

    fn rows(&self, _scene: &Scene<'_>) -> Result<Vec<String>, ExperimentError> {
        Ok(State::ALL.map(|state| state.name().to_owned()).to_vec())
    }
}
