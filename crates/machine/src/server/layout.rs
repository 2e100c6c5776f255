//! The layout of a socket as a description spells it.

use super::{Package, Stop, StopId, add};
use crate::description::spec::{OnDieNetwork, ServerSpec};

/// A fault of a layout: the key that most likely needs a change, the reason, and what is accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LayoutError {
    /// The key, without its table `server`.
    pub key: &'static str,
    /// The fault.
    pub reason: String,
    /// The accepted values.
    pub accepted: String,
}

impl LayoutError {
    pub(super) fn new(key: &'static str, reason: impl Into<String>, accepted: impl Into<String>) -> Self {
        Self { key, reason: reason.into(), accepted: accepted.into() }
    }
}

/// The letters of a layout.
pub(super) struct Cell;

impl Cell {
    pub(super) const CORE: u8 = b'C';
    pub(super) const SLICE: u8 = b'S';
    pub(super) const CLUSTER: u8 = b'K';
    pub(super) const MEMORY: u8 = b'M';
    pub(super) const LINK: u8 = b'U';
    pub(super) const MEMORY_LINK: u8 = b'X';
    pub(super) const BRIDGE: u8 = b'B';
    const ALL: [u8; 7] =
        [Self::CORE, Self::SLICE, Self::CLUSTER, Self::MEMORY, Self::LINK, Self::MEMORY_LINK, Self::BRIDGE];
    const EMPTY: &'static str = ".";
}

/// Maximum number of stops of a row or a ring, and of rows or rings.
const MOST_STOPS: usize = 64;

/// The stops and parts of the socket that `spec` describes, without edges.
pub(super) fn read(spec: &ServerSpec) -> Result<Package, LayoutError> {
    let rows: Vec<Vec<&str>> = spec.layout.iter().map(|row| row.split_whitespace().collect()).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    spelling(&rows, columns, spec.network)?;
    let mut package = Package {
        network: spec.network,
        columns: columns as u16,
        rows: rows.len() as u16,
        dies: (spec.die_columns as u16, spec.die_rows as u16),
        clusters_per_die: spec.clusters_per_die as u16,
        stops: Vec::new(),
        cores: Vec::new(),
        slices: Vec::new(),
        memories: Vec::new(),
        links: Vec::new(),
        memory_links: Vec::new(),
        clusters: spec.clusters_per_socket as u16,
        nodes: spec.nodes_per_socket as u16,
        edges: Vec::new(),
        wires: Vec::new(),
        bridges: Vec::new(),
    };
    let mut clusters: Vec<StopId> = Vec::new();
    let mut bridges: Vec<Vec<StopId>> = vec![Vec::new(); rows.len()];
    for (column, row) in places(&rows, columns, spec.network) {
        let stop = package.stops.len() as StopId;
        package.stops.push(Stop { column: column as u16, row: row as u16, cluster: None });
        for &letter in rows[row][column].as_bytes() {
            match letter {
                Cell::CLUSTER => clusters.push(stop),
                Cell::BRIDGE => bridges[row].push(stop),
                _ => add(&mut package, stop, letter),
            }
        }
    }
    add_clusters(&mut package, spec, &clusters);
    package.bridges = paired(&bridges)?;
    counts(&package, spec, clusters.len())?;
    Ok(package)
}

/// The stops in the order in which parts are numbered.
fn places(rows: &[Vec<&str>], columns: usize, network: OnDieNetwork) -> Vec<(usize, usize)> {
    match network {
        OnDieNetwork::Rings => {
            (0..rows.len()).flat_map(|row| (0..rows[row].len()).map(move |column| (column, row))).collect()
        }
        OnDieNetwork::Mesh | OnDieNetwork::IoDie => {
            (0..columns).flat_map(|column| (0..rows.len()).map(move |row| (column, row))).collect()
        }
    }
}

/// The core clusters behind an I/O die, each a stop of its own.
fn add_clusters(package: &mut Package, spec: &ServerSpec, at: &[StopId]) {
    for (number, &behind) in (0u16..).zip(at) {
        let Stop { column, row, .. } = package.stops[usize::from(behind)];
        let stop = package.stops.len() as StopId;
        package.stops.push(Stop { column, row, cluster: Some(number) });
        package.cores.extend(std::iter::repeat_n(stop, spec.cores_per_cluster as usize));
        package.slices.extend(std::iter::repeat_n(stop, spec.slices_per_cluster as usize));
    }
}

/// Every stop is spelled by known letters, and the rows of a mesh or an I/O die have as many stops.
fn spelling(rows: &[Vec<&str>], columns: usize, network: OnDieNetwork) -> Result<(), LayoutError> {
    let letters = "stops of the letters C S K M U X B, or a dot, with spaces between them";
    if columns == 0 {
        return Err(LayoutError::new("layout", "it has no stop", letters));
    }
    if columns > MOST_STOPS || rows.len() > MOST_STOPS {
        let accepted = format!("at most {MOST_STOPS} rows of {MOST_STOPS} stops");
        return Err(LayoutError::new("layout", "it is too large", accepted));
    }
    let known = |cell: &str| cell == Cell::EMPTY || cell.bytes().all(|letter| Cell::ALL.contains(&letter));
    if let Some(cell) = rows.iter().flatten().find(|cell| !known(cell)) {
        return Err(LayoutError::new("layout", format!("nothing is spelled {cell}"), letters));
    }
    match rows.iter().find(|row| row.len() != columns && network != OnDieNetwork::Rings || row.is_empty()) {
        None => Ok(()),
        Some(row) => {
            let reason = format!("a row has {} stops and another {columns}", row.len());
            Err(LayoutError::new("layout", reason, "rows of equal length"))
        }
    }
}

/// The bridges of two rings, the first of one with the first of the other.
fn paired(bridges: &[Vec<StopId>]) -> Result<Vec<[StopId; 2]>, LayoutError> {
    let rings = bridges.len();
    let equal = bridges.windows(2).all(|pair| pair[0].len() == pair[1].len());
    match bridges {
        [] | [_] => Ok(Vec::new()),
        _ if bridges.iter().all(Vec::is_empty) => Ok(Vec::new()),
        [first, second] if equal => Ok(first.iter().zip(second).map(|(&one, &other)| [one, other]).collect()),
        _ if !equal => {
            Err(LayoutError::new("layout", "a bridge B of a ring joins nothing", "as many B on each of two rings"))
        }
        _ => Err(LayoutError::new("layout", format!("bridges join two rings, not {rings}"), "one or two rings")),
    }
}

/// A socket has cores, slices of the third level and memory.
fn lacking(cores: usize, slices: usize, memories: usize) -> Result<(), LayoutError> {
    let parts = [
        ("cores", cores, "a stop C"),
        ("slices", slices, "a stop C or S"),
        ("memory controllers", memories, "a stop M"),
    ];
    match parts.into_iter().find(|(_, number, _)| *number == 0) {
        Some((what, _, stop)) => Err(LayoutError::new("layout", format!("it has no {what}"), stop)),
        None => Ok(()),
    }
}

/// The parts make equal clusters and equal nodes.
fn counts(package: &Package, spec: &ServerSpec, clusters: usize) -> Result<(), LayoutError> {
    let (cores, slices, memories) = (package.cores.len(), package.slices.len(), package.memories.len());
    let behind = spec.network == OnDieNetwork::IoDie;
    if behind && (clusters == 0 || clusters * spec.cores_per_cluster as usize != cores) {
        return Err(LayoutError::new(
            "layout",
            "the cores of an I/O die are in clusters behind it",
            "K, and no C or S",
        ));
    }
    if !behind && clusters > 0 {
        return Err(LayoutError::new("layout", "only an I/O die has core clusters behind it", "C or S in place of K"));
    }
    let wanted = spec.clusters_per_socket as usize;
    if behind && clusters != wanted {
        let reason = format!("the layout has {clusters} core clusters");
        return Err(LayoutError::new("clusters_per_socket", reason, clusters.to_string()));
    }
    lacking(cores, slices, memories)?;
    for (what, number) in [("cores", cores), ("slices", slices)] {
        if !number.is_multiple_of(wanted) {
            let reason = format!("{number} {what} do not make {wanted} equal core clusters");
            return Err(LayoutError::new("clusters_per_socket", reason, format!("a divisor of {number}")));
        }
    }
    let nodes = spec.nodes_per_socket as usize;
    for (what, number) in [("cores", cores), ("memory controllers", memories)] {
        if !number.is_multiple_of(nodes) {
            let reason = format!("{number} {what} do not make {nodes} equal nodes");
            return Err(LayoutError::new("nodes_per_socket", reason, format!("a divisor of {number}")));
        }
    }
    if !clusters.is_multiple_of(spec.clusters_per_die as usize) && behind {
        let reason = format!("{clusters} core clusters do not make dies of {}", spec.clusters_per_die);
        return Err(LayoutError::new("clusters_per_die", reason, format!("a divisor of {clusters}")));
    }
    let (columns, rows) = (u32::from(package.columns), u32::from(package.rows));
    for (key, parts, of) in [("die_columns", spec.die_columns, columns), ("die_rows", spec.die_rows, rows)] {
        if spec.network == OnDieNetwork::Mesh && parts > of {
            return Err(LayoutError::new(key, format!("the mesh has {of} of them"), format!("at most {of}")));
        }
    }
    Ok(())
}
