//! The edges of an on-die network, and the ways along them.

use super::{LayoutError, Package, StopId};
use crate::description::spec::{OnDieNetwork, ServerSpec};

/// One direction between neighbouring stops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    /// The stop that it leaves.
    pub from: StopId,
    /// The stop that it leads to.
    pub to: StopId,
    /// Cycles from one to the other.
    pub cycles: u32,
    /// The wires that it takes, by number.
    pub wire: u16,
}

/// Wires of one or several edges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wire {
    /// Their occupancy by a line, in cycles.
    pub line_cycles: u32,
}

/// Joins the stops.
pub(super) fn connect(package: &mut Package, spec: &ServerSpec) -> Result<(), LayoutError> {
    match spec.network {
        OnDieNetwork::Rings => rings(package, spec)?,
        OnDieNetwork::Mesh => grid(package, spec),
        OnDieNetwork::IoDie => {
            grid(package, spec);
            gateways(package, spec);
        }
    }
    Ok(())
}

impl Package {
    fn wire(&mut self, line_cycles: u32) -> u16 {
        self.wires.push(Wire { line_cycles });
        self.wires.len() as u16 - 1
    }

    /// An edge with wires of its own in each direction.
    fn both_ways(&mut self, one: StopId, other: StopId, cycles: u32, line_cycles: u32) {
        for (from, to) in [(one, other), (other, one)] {
            let wire = self.wire(line_cycles);
            self.edges.push(Edge { from, to, cycles, wire });
        }
    }

    /// The way from one stop to another, as numbers of edges; empty from a stop to itself.
    ///
    /// # Panics
    /// The stops are not joined, which [`Package::new`] rejects.
    pub fn way(&self, from: StopId, to: StopId) -> Vec<u16> {
        let (mut at, mut way) = (from, Vec::new());
        while at != to {
            let next = self.next(at, to);
            let edge = self.edges.iter().position(|edge| (edge.from, edge.to) == (at, next));
            let Some(edge) = edge else { panic!("no edge leads from stop {at} to {next}") };
            way.push(edge as u16);
            at = next;
        }
        way
    }

    /// Cycles of a way without contention.
    pub fn way_cycles(&self, from: StopId, to: StopId) -> u32 {
        self.way(from, to).iter().map(|&edge| self.edges[usize::from(edge)].cycles).sum()
    }

    /// The stop after `at` on the way to `to`.
    fn next(&self, at: StopId, to: StopId) -> StopId {
        match self.network {
            OnDieNetwork::Rings => self.next_on_rings(at, to),
            OnDieNetwork::Mesh => self.next_on_grid(at, to),
            OnDieNetwork::IoDie => {
                let [here, there] = [at, to].map(|stop| self.stops[usize::from(stop)]);
                let gateway = |place: super::Stop| place.column * self.rows + place.row;
                match (here.cluster, there.cluster) {
                    (Some(_), _) => gateway(here),
                    (None, Some(_)) if gateway(there) == at => to,
                    (None, Some(_)) => self.next_on_grid(at, gateway(there)),
                    (None, None) => self.next_on_grid(at, to),
                }
            }
        }
    }

    /// Along the column first, then along the row: stops are numbered column by column.
    fn next_on_grid(&self, at: StopId, to: StopId) -> StopId {
        let [here, there] = [at, to].map(|stop| self.stops[usize::from(stop)]);
        match (here.row.cmp(&there.row), here.column < there.column) {
            (std::cmp::Ordering::Less, _) => at + 1,
            (std::cmp::Ordering::Greater, _) => at - 1,
            (std::cmp::Ordering::Equal, true) => at + self.rows,
            (std::cmp::Ordering::Equal, false) => at - self.rows,
        }
    }

    /// The shorter way round the ring, by way of the bridge with the shortest way to another ring.
    fn next_on_rings(&self, at: StopId, to: StopId) -> StopId {
        let [here, there] = [at, to].map(|stop| self.stops[usize::from(stop)].row);
        if here == there {
            return self.along(at, to);
        }
        let own = |bridge: &[StopId; 2]| usize::from(self.stops[usize::from(bridge[0])].row != here);
        let length = |bridge: &&[StopId; 2]| {
            let side = own(bridge);
            self.apart(at, bridge[side]) + self.apart(bridge[1 - side], to)
        };
        let Some(bridge) = self.bridges.iter().min_by_key(length) else { return to };
        let side = own(bridge);
        if bridge[side] == at { bridge[1 - side] } else { self.along(at, bridge[side]) }
    }

    /// The first stop of a ring, and its number of stops.
    fn ring_of(&self, stop: StopId) -> (u16, u16) {
        let row = self.stops[usize::from(stop)].row;
        let first = self.stops.iter().position(|stop| stop.row == row).unwrap_or(0);
        (first as u16, self.stops.iter().filter(|stop| stop.row == row).count() as u16)
    }

    /// Stops from one to another onwards round their ring.
    fn onwards(&self, from: StopId, to: StopId) -> (u16, u16) {
        let (_, length) = self.ring_of(from);
        ((to + length - from) % length, length)
    }

    fn apart(&self, from: StopId, to: StopId) -> u16 {
        let (onwards, length) = self.onwards(from, to);
        onwards.min(length - onwards)
    }

    fn along(&self, at: StopId, to: StopId) -> StopId {
        let ((first, length), (onwards, _)) = (self.ring_of(at), self.onwards(at, to));
        let step = if 2 * onwards <= length { 1 } else { length - 1 };
        first + (at - first + step) % length
    }
}

/// Neighbours of a mesh or of the switches of an I/O die.
fn grid(package: &mut Package, spec: &ServerSpec) {
    let (columns, rows) = (package.columns, package.rows);
    for column in 0..columns {
        for row in 0..rows {
            let at = column * rows + row;
            let below = (row + 1 < rows).then(|| (at + 1, spec.column_cycles));
            let beside = (column + 1 < columns).then(|| (at + rows, spec.hop_cycles));
            for (to, cycles) in [below, beside].into_iter().flatten() {
                let crosses = spec.network == OnDieNetwork::Mesh && package.die_of(at) != package.die_of(to);
                let crossing = if crosses { spec.die_crossing_cycles } else { 0 };
                package.both_ways(at, to, cycles + crossing, spec.line_cycles);
            }
        }
    }
}

/// The links between core clusters and the I/O die, which the clusters of a die share.
fn gateways(package: &mut Package, spec: &ServerSpec) {
    let clusters = package.clusters;
    let first = package.stops.len() as u16 - clusters;
    let mut shared = [0; 2];
    for cluster in 0..clusters {
        let stop = first + cluster;
        let place = package.stops[usize::from(stop)];
        let gateway = place.column * package.rows + place.row;
        if cluster.is_multiple_of(package.clusters_per_die) {
            shared = [spec.gateway_write_cycles, spec.gateway_read_cycles].map(|cycles| package.wire(cycles));
        }
        let cycles = spec.gateway_cycles;
        package.edges.push(Edge { from: stop, to: gateway, cycles, wire: shared[0] });
        package.edges.push(Edge { from: gateway, to: stop, cycles, wire: shared[1] });
    }
}

/// The stops of each ring in both directions, and the bridges.
fn rings(package: &mut Package, spec: &ServerSpec) -> Result<(), LayoutError> {
    for ring in 0..package.rows {
        let stops = package.stops.iter().enumerate().filter(|(_, stop)| stop.row == ring);
        let stops: Vec<StopId> = stops.map(|(number, _)| number as StopId).collect();
        let pairs = if stops.len() > 2 { stops.len() } else { stops.len() - 1 };
        for number in 0..pairs {
            let (one, other) = (stops[number], stops[(number + 1) % stops.len()]);
            package.both_ways(one, other, spec.hop_cycles, spec.line_cycles);
        }
    }
    if package.rows > 1 && package.bridges.is_empty() {
        return Err(LayoutError::new(
            "layout",
            "nothing joins its rings",
            "a bridge B on each of two rings, or one ring",
        ));
    }
    for [one, other] in package.bridges.clone() {
        package.both_ways(one, other, spec.bridge_cycles, spec.line_cycles);
    }
    Ok(())
}
