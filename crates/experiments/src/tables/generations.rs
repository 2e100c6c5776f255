//! Four generations of node boards compared: Prestor 2001 Table 4.10.

use bench::{Experiment, Series, State};

use super::{Scene, Shape};
use crate::error::ExperimentError;
use crate::formula::Formula;

/// A row for each generation, named by processor, clocks and cache size.
pub struct Generations;

/// The machine of each row (Prestor 2001 Table 4.5).
const SYSTEMS: [(&str, &str); 4] = [
    ("R10K 195/130/4", "bitmap"),
    ("R10K 250/250/4", "bootleg"),
    ("R12K 300/200/8", "arctic"),
    ("R12K 400/266/8", "bwana"),
];

impl Shape for Generations {
    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let Some((_, machine)) = SYSTEMS.iter().find(|(name, _)| *name == row) else { return Ok(None) };
        let system = scene.systems.get(machine)?;
        let figure = |series, experiment| system.figure(series, experiment, State::Uown);
        let back_to_back = || figure(Series::Local, Experiment::LmbenchRead);
        let restart = || figure(Series::Local, Experiment::RestartRead);
        let one = || figure(Series::Local, Experiment::BwRead);
        let bus = || figure(Series::SharedBus, Experiment::BwmpRead);
        let memory = || figure(Series::SharedMemory, Experiment::BwmpRead);
        Ok(match column {
            "back-to-back latency" => back_to_back(),
            "restart latency" => restart(),
            "restart penalty" => back_to_back().zip(restart()).map(|(all, early)| all.less(early)),
            "1P bandwidth" => one(),
            "SysAD bandwidth" => bus(),
            "SysAD ratio" => bus().zip(one()).map(|(bus, one)| bus.over(one)),
            "memory bandwidth" => memory(),
            "memory ratio" => memory().zip(one()).map(|(memory, one)| memory.over(one)),
            _ => None,
        })
    }
}
