//! Listings: the machines there are, and what one is wired from.

use serde::{Deserialize, Serialize};
use units::CpuId;

use crate::Row;

/// A machine description in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineRow {
    /// The name by which `-m` finds it.
    pub name: String,
    /// What it is.
    pub title: String,
    /// How many processors it has.
    pub processors: u32,
    /// The processor's model.
    pub processor: String,
    /// The processor's clock, in megahertz.
    pub clock_mhz: f64,
    /// The clock of the secondary cache's bus, in megahertz.
    pub l2_bus_mhz: f64,
    /// The secondary cache's size, in mebibytes.
    pub l2_mib: f64,
    /// The published figures that the description was fitted to.
    pub calibrated_on: Vec<String>,
}

impl Row for MachineRow {
    const COLUMNS: &'static [&'static str] =
        &["name", "title", "processors", "processor", "clock_mhz", "l2_bus_mhz", "l2_mib", "calibrated_on"];
}

/// What a row of a topology's listing describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TopologyPart {
    /// A node: `at` and its processors, and the router's port that it is connected to.
    Node,
    /// A router: `at`, and what it is for in `class`.
    Router,
    /// A link: from one end to the other.
    Link,
    /// A route: from one node to another, by the exit ports of the routers in between.
    Route,
}

/// A part of a machine. Fields that a part does not have are absent (`null`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TopologyRow {
    /// The machine.
    pub machine: String,
    /// What this row describes.
    pub part: TopologyPart,
    /// The part's number among its kind; a route's is that of its first node.
    pub id: u32,
    /// The name in the hardware graph of the part, or of the end at which a link or route starts.
    pub at: String,
    /// A node's processors.
    pub cpus: Vec<CpuId>,
    /// The name in the hardware graph of what is at the other end.
    pub to: Option<String>,
    /// What a link is made of, or what a router is for.
    pub class: Option<String>,
    /// A link's length, in metres.
    pub length_m: Option<f64>,
    /// A link's signal delay, in nanoseconds.
    pub delay_ns: Option<f64>,
    /// How many routers a route goes through.
    pub hops: Option<u32>,
    /// A route's exit port at each router, in order.
    pub exits: Option<String>,
}

impl Row for TopologyRow {
    const COLUMNS: &'static [&'static str] =
        &["machine", "part", "id", "at", "cpus", "to", "class", "length_m", "delay_ns", "hops", "exits"];
}

/// One deadlock check of a routing table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeadlockRow {
    /// The machine, or none for a table of vector routes, which needs none.
    pub machine: Option<String>,
    /// The file of the routing table, or `built-in` for the machine's own.
    pub table: String,
    /// Whether channels wait for each other in a circle.
    pub deadlock: bool,
    /// The channels of the circle in order, each as its two ends; empty if there is none.
    pub cycle: Vec<String>,
}

impl Row for DeadlockRow {
    const COLUMNS: &'static [&'static str] = &["machine", "table", "deadlock", "cycle"];
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns_of(row: &impl Row) -> Vec<String> {
        let text = serde_json::to_string(row).expect("a flat record");
        // Field by field in the order of the text: a map would sort them.
        let names = text.split("\":").filter_map(|part| part.rsplit('"').next()).map(str::to_owned);
        let mut names: Vec<String> = names.collect();
        names.pop();
        names
    }

    #[test]
    fn rows_serialise_as_their_columns() {
        let machine = MachineRow {
            name: "arctic".into(),
            title: "t".into(),
            processors: 64,
            processor: "R12000".into(),
            clock_mhz: 300.0,
            l2_bus_mhz: 200.0,
            l2_mib: 8.0,
            calibrated_on: vec![],
        };
        assert_eq!(columns_of(&machine), MachineRow::COLUMNS);
        let link = TopologyRow {
            machine: "arctic".into(),
            part: TopologyPart::Link,
            id: 3,
            at: "a".into(),
            cpus: vec![],
            to: Some("b".into()),
            class: None,
            length_m: Some(1.0),
            delay_ns: Some(5.0),
            hops: None,
            exits: None,
        };
        assert_eq!(columns_of(&link), TopologyRow::COLUMNS);
        let check = DeadlockRow { machine: None, table: "built-in".into(), deadlock: false, cycle: vec![] };
        assert_eq!(columns_of(&check), DeadlockRow::COLUMNS);
    }
}
