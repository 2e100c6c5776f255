//! Displacing lines from caches in silence: by loads of more memory than the caches hold.
//!
//! How much that is cannot be looked up: a virtual machine announces caches that it does not have for itself. It is measured,
//! by the loads of a few lines after more and more other memory has been read.

use std::collections::HashMap;
use std::sync::Arc;

use host::HostError;
use host::crew::{AreaId, Crew, Elements, Job};
use host::discovery::Inventory;
use host::kernels::Operation;
use host::kernels::list::Order;
use host::memory::{Mapping, PageKind};
use units::{Bytes, CpuId, NodeId};

use crate::platform::Layout;

/// The least and the most that is read, whatever the measurement says.
const LEAST: Bytes = Bytes::from_mib(1);
const MOST: Bytes = Bytes::from_mib(1024);
/// Lines by which it is measured whether anything was displaced.
const PROBED: u64 = 512;
/// The share of a miss's cost from which on the probed lines count as displaced.
const DISPLACED: f64 = 0.9;
/// Walks of which the shortest tells what misses cost, and that must all find the probed lines displaced.
const WALKS: u32 = 3;

/// Memory that is read to displace other lines.
#[derive(Debug, Default)]
pub(super) struct Eviction {
    size: Option<Bytes>,
    areas: HashMap<(NodeId, PageKind), AreaId>,
}

impl Eviction {
    /// The elements that `cpu`, on `node`, reads to displace what its caches hold, in memory of such pages.
    pub(super) fn elements(
        &mut self,
        crew: &mut Crew,
        inventory: &Arc<Inventory>,
        layout: &Layout,
        cpu: CpuId,
        node: NodeId,
        pages: PageKind,
    ) -> Result<Elements, HostError> {
        // A node without memory has none to read.
        let near = layout.nodes_by_distance(node);
        let from = [vec![node], near].concat().into_iter().find(|&node| layout.has_memory(node)).unwrap_or(node);
        let area = match self.areas.get(&(from, pages)) {
            Some(&area) => area,
            None => {
                let free = inventory.node(from).map_or(LEAST, |node| node.free);
                let free = inventory.limits.cgroup.memory_left.map_or(free, |left| left.min(free));
                let most = MOST.min(Bytes(free.0 / 4)).max(LEAST);
                let wanted = self.size.unwrap_or(most);
                let area = crew.add(Mapping::on_node(inventory, from, wanted, pages)?);
                self.areas.insert((from, pages), area);
                area
            }
        };
        let line = layout.line;
        if self.size.is_none() {
            let size = crew.obtained(area).map_or(LEAST, |obtained| Bytes(obtained.pages.values().map(|b| b.0).sum()));
            let most = Elements { area, offset: Bytes(0), stride: line, count: size.0 / line.0 };
            self.size = Some(measure(crew, inventory, cpu, from, most)?);
        }
        let size = self.size.expect("measured above");
        Ok(Elements { area, offset: Bytes(0), stride: line, count: size.0 / line.0 })
    }
}

/// How much of `most` must be read until loads of lines that were cached before cost what misses cost; then twice as much,
/// since caches do not replace strictly in order.
fn measure(
    crew: &mut Crew,
    inventory: &Arc<Inventory>,
    cpu: CpuId,
    node: NodeId,
    most: Elements,
) -> Result<Bytes, HostError> {
    let line = most.stride;
    let probe = crew.add(Mapping::on_node(inventory, node, Bytes(PROBED * line.0), PageKind::Base)?);
    let probed = Elements { area: probe, offset: Bytes(0), stride: line, count: PROBED };
    crew.link(probed, Order::Random { seed: 1 })?;
    let mut run = |operation: Operation, elements: Elements| -> Result<f64, HostError> {
        let job = Job { cpu, operation, elements, first: 0, steps: elements.count };
        Ok(crew.run(&[job], false)?[0].elapsed.as_ns())
    };
    let walk = Operation::Walk { work: 0 };
    let mut miss = f64::INFINITY;
    for _ in 0..WALKS {
        run(Operation::Flush, probed)?;
        miss = miss.min(run(walk, probed)?);
    }
    let mut read = Elements { count: (LEAST.0 / line.0).min(most.count), ..most };
    while read.count < most.count {
        // Whatever disturbs a walk makes it longer: only the shortest of several tells of misses.
        let mut least = f64::INFINITY;
        for _ in 0..WALKS {
            run(walk, probed)?;
            run(Operation::TouchLoad, read)?;
            least = least.min(run(walk, probed)?);
            if least < DISPLACED * miss {
                break;
            }
        }
        if least >= DISPLACED * miss {
            break;
        }
        read.count = (2 * read.count).min(most.count);
    }
    crew.remove(probe);
    Ok(Bytes((2 * read.count).min(most.count) * line.0))
}
