//! Which routing tables of the 8-processor FLASH machine deadlock: FLASH dissertation, Table A.1.

use machine::routing::vector::VectorRoutes;

use super::{Scene, Shape};
use crate::error::ExperimentError;
use crate::formula::Formula;

/// A row for each of the two tables.
pub struct RoutingTables;

/// The tables, as their rows are called.
const TABLES: [(&str, &str); 2] = [
    ("deadlock", include_str!("../../../machine/tables/flash-a1-deadlock.txt")),
    ("deadlock-free", include_str!("../../../machine/tables/flash-a1-deadlock-free.txt")),
];

impl Shape for RoutingTables {
    fn formula(&self, _scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let Some((name, text)) = TABLES.iter().find(|(name, _)| *name == row) else { return Ok(None) };
        if column != "has a cycle" {
            return Ok(None);
        }
        let routes = VectorRoutes::parse(name, text, None)
            .map_err(|error| ExperimentError::Machine { machine: "FLASH".to_owned(), reason: error.to_string() })?;
        Ok(Some(Formula::Known(f64::from(u8::from(routes.find_cycle().is_some())))))
    }
}
