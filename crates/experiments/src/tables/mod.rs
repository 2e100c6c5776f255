//! The meaning of each published table or figure: a formula for each of its cells.
//!
//! A table is one file here and one line in the catalogue.

pub mod cluster_costs;
pub mod cluster_programs;
pub mod directory_states;
pub mod distance;
pub mod generations;
pub mod ideal;
pub mod interventions;
pub mod invalidation_time;
pub mod invalidations;
pub mod loaded_latencies;
pub mod local;
pub mod programs;
pub mod read_latencies;
pub mod remote_cache;
mod reproduced;
pub mod restart_curves;
pub mod router_delay;
pub mod routing_tables;
pub mod sci_costs;
pub mod sci_programs;
pub mod seidl;
pub mod servers;
pub mod shared_region;
pub mod sharing;
pub mod stride_diagram;
pub mod transposes;
pub mod upgrades;
pub mod utilisation;
pub mod wait_time;

use report::Plot;

pub use reproduced::Reproduced;

use crate::error::ExperimentError;
use crate::formula::Formula;
use crate::published::PublishedTable;
use crate::system::Systems;
use crate::variant;

/// A published table and the machines it may need.
pub struct Scene<'a> {
    /// The table.
    pub table: &'a PublishedTable,
    /// The machines.
    pub systems: &'a Systems,
}

impl Scene<'_> {
    /// The machine that the whole table is about.
    ///
    /// # Errors
    /// When the table names none, or the machine is unusable.
    pub fn system(&self) -> Result<std::rc::Rc<crate::system::System>, ExperimentError> {
        let machine = self.table.machine.as_deref().ok_or_else(|| ExperimentError::Machine {
            machine: "(none)".to_owned(),
            reason: format!("{}/{} names no machine", self.table.paper, self.table.id),
        })?;
        self.systems.get(machine)
    }

    /// The same with its directory protocol replaced.
    ///
    /// # Errors
    /// As for [`Scene::system`], or when it has no such protocol.
    pub fn under(&self, protocol: &str) -> Result<std::rc::Rc<crate::system::System>, ExperimentError> {
        self.systems.get(&variant::with_protocol(self.system()?.name(), protocol))
    }
}

/// How the cells of a table follow from measurements.
pub trait Shape: Sync {
    /// The formula of a cell; `None` if such a cell makes no sense.
    ///
    /// # Errors
    /// When a machine that it needs is unusable.
    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError>;

    /// The rows that the table has on the machine of the scene, for tables that are open or drawn for another machine.
    ///
    /// # Errors
    /// When the machine is unusable.
    fn rows(&self, scene: &Scene<'_>) -> Result<Vec<String>, ExperimentError> {
        let mut rows: Vec<String> = Vec::new();
        for cell in &scene.table.cells {
            if !rows.contains(&cell.row) {
                rows.push(cell.row.clone());
            }
        }
        Ok(rows)
    }

    /// Machines that it measures besides those of the table's file: what they were fitted to is no prediction.
    fn other_machines(&self) -> &'static [&'static str] {
        &[]
    }

    /// Diagrams of what was reproduced, each with a name for its file.
    fn plots(&self, _reproduced: &Reproduced<'_>) -> Vec<(String, Plot)> {
        Vec::new()
    }
}
