//! Listings: the machines there are, and what one is wired from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::CpuId;

use crate::Row;

/// A machine description in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineRow {
    /// The name by which `-m` finds it.
    pub name: String,
    /// Its title, in words.
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
    const KIND: &'static str = "machine";
    const COLUMNS: &'static [&'static str] =
        &["name", "title", "processors", "processor", "clock_mhz", "l2_bus_mhz", "l2_mib", "calibrated_on"];
}

/// The whole description of a machine: what records of it follow from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DescriptionRow {
    /// The machine, as other records name it.
    pub machine: String,
    /// A hash of all that the description says, in hexadecimal: two machines of one name may differ.
    pub machine_digest: String,
    /// The description as TOML that `-m` takes from a file: no inheritance, every key, each with its origin as a comment.
    pub description: String,
}

impl Row for DescriptionRow {
    const KIND: &'static str = "description";
    const COLUMNS: &'static [&'static str] = &["machine", "machine_digest", "description"];
}

/// The kind of part that a row of a topology's listing describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// How far one node is from another by firmware's table (SLIT): `at`, `to` and `distance`.
    Distance,
    /// Firmware's figures of the way from a node with the processors `cpus` (`at`) to the memory of another (`to`).
    Access,
    /// A cache in front of a node's memory.
    SideCache,
    /// A core: its place in `at`, its threads in `cpus`, its node in `to`, its kind in `class`.
    Core,
    /// A cache: `at`, what it holds in `class`, the processors that share it.
    Cache,
    /// Huge pages of one size that are set aside on a node, or transparent huge pages with their mode in `class`.
    Pages,
    /// A limit on what the process may use: its name in `at`, its value in `class`, `cpus` or `size_kib`.
    Limit,
    /// Something that the reader should know, in `class`.
    Note,
}

/// A part of a machine. Fields that a part does not have are absent (`null`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TopologyRow {
    /// The machine.
    pub machine: String,
    /// The kind of part that this row describes.
    pub part: TopologyPart,
    /// The part's number among its kind; a route's is that of its first node.
    pub id: u32,
    /// The name in the hardware graph of the part, or of the end at which a link or route starts.
    pub at: String,
    /// A node's processors; a core's threads; a cache's users.
    #[schemars(with = "Vec<u16>")]
    pub cpus: Vec<CpuId>,
    /// The name in the hardware graph of what is at the other end.
    pub to: Option<String>,
    /// The kind of a link, node, core or cache, the place of a router, the text of a note, or the network of a route, where
    /// networks have routes of their own.
    pub class: Option<String>,
    /// A link's length, in metres.
    pub length_m: Option<f64>,
    /// A link's signal delay, in nanoseconds.
    pub delay_ns: Option<f64>,
    /// How many routers a route goes through.
    pub hops: Option<u32>,
    /// A route's exit port at each router, in order.
    pub exits: Option<String>,
    /// The distance between two nodes by the SLIT's measure, in which 10 is a node's distance to itself.
    pub distance: Option<u32>,
    /// The size of a node's memory, a cache, a page or a limit, in kibibytes.
    pub size_kib: Option<u64>,
    /// How much of a node's memory was free, in kibibytes.
    pub free_kib: Option<u64>,
    /// A node's memory tier; a larger number is slower memory.
    pub tier: Option<u32>,
    /// The size of a cache's line, in bytes.
    pub line_bytes: Option<u64>,
    /// In how many places of a cache a line can be.
    pub ways: Option<u32>,
    /// How many pages are set aside.
    pub pages: Option<u64>,
    /// How many of them are in no use.
    pub free_pages: Option<u64>,
    /// Firmware's read latency, in nanoseconds.
    pub read_ns: Option<u32>,
    /// Firmware's write latency, in nanoseconds.
    pub write_ns: Option<u32>,
    /// Firmware's read bandwidth, in MiB/s.
    pub read_mib_s: Option<u32>,
    /// Firmware's write bandwidth, in MiB/s.
    pub write_mib_s: Option<u32>,
}

impl TopologyRow {
    /// A row about a part, with everything else absent.
    pub fn new(machine: impl Into<String>, part: TopologyPart, id: u32, at: impl Into<String>) -> Self {
        Self {
            machine: machine.into(),
            part,
            id,
            at: at.into(),
            cpus: Vec::new(),
            to: None,
            class: None,
            length_m: None,
            delay_ns: None,
            hops: None,
            exits: None,
            distance: None,
            size_kib: None,
            free_kib: None,
            tier: None,
            line_bytes: None,
            ways: None,
            pages: None,
            free_pages: None,
            read_ns: None,
            write_ns: None,
            read_mib_s: None,
            write_mib_s: None,
        }
    }
}

impl Row for TopologyRow {
    const KIND: &'static str = "topology";
    const COLUMNS: &'static [&'static str] = &[
        "machine",
        "part",
        "id",
        "at",
        "cpus",
        "to",
        "class",
        "length_m",
        "delay_ns",
        "hops",
        "exits",
        "distance",
        "size_kib",
        "free_kib",
        "tier",
        "line_bytes",
        "ways",
        "pages",
        "free_pages",
        "read_ns",
        "write_ns",
        "read_mib_s",
        "write_mib_s",
    ];
}

/// One deadlock check of a routing table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeadlockRow {
    /// The machine, or none for vector routes of no machine, which need none.
    pub machine: Option<String>,
    /// The file of the routing table, or `built-in` for the machine's own.
    pub table: String,
    /// Whether channels wait for each other in a circle.
    pub deadlock: bool,
    /// The channels of the circle in order, each as its two ends; empty if there is none.
    pub cycle: Vec<String>,
}

impl Row for DeadlockRow {
    const KIND: &'static str = "deadlock-check";
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
        let link = TopologyRow::new("arctic", TopologyPart::Link, 3, "a");
        assert_eq!(columns_of(&link), TopologyRow::COLUMNS);
        let check = DeadlockRow { machine: None, table: "built-in".into(), deadlock: false, cycle: vec![] };
        assert_eq!(columns_of(&check), DeadlockRow::COLUMNS);
    }
}
