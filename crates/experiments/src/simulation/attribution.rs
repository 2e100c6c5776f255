//! Losses of a simulation by place, as a record: with names of data, homes of pages and times of threads.

use std::collections::{BTreeMap, BTreeSet};

use execution::SharedRegion;
use machine::Description;
use machine::description::ControllerKind;
use record::{Attribution, DataObject, LineLoss, Losses, PageHome, ProcessorStatistics, SimulationRow, ThreadTime};
use sim::{Distance, Loss, Service, Simulator, ThreadReport, Transaction};
use units::VirtualAddr;

use super::Simulation;

/// The place of a loss of this name among [`Loss::ALL`].
fn place(name: &str) -> usize {
    // Every name that records have is one of the simulator's: a test holds it.
    Loss::ALL.iter().position(|(_, known)| *known == name).unwrap_or_default()
}

fn loss(found: &sim::LineLoss) -> LineLoss {
    let served = |wanted: Transaction| {
        let of = |distance| found.served[Service { distance, transaction: wanted }.index()];
        Distance::ALL.into_iter().map(of).sum()
    };
    LineLoss {
        cpu: found.cpu,
        site: found.site,
        line: found.line,
        count: Losses::from_names(|name| found.count[place(name)]),
        stalled_ns: Losses::from_names(|name| found.stalled[place(name)].as_ns()),
        interventions: served(Transaction::Owned),
        invalidations: served(Transaction::Invalidating),
        read: found.read,
        written: found.written,
    }
}

/// A run that has ended, and what is known of its memory.
pub struct Ended<'r> {
    /// The machine.
    pub description: &'r Description,
    /// It, as the run has left it.
    pub simulator: &'r Simulator,
    /// The record, with its processors and controllers.
    pub row: &'r SimulationRow,
    /// Reports of the threads.
    pub reports: &'r [ThreadReport],
    /// The program's data, by the addresses that `named` gives.
    pub objects: Vec<DataObject>,
}

/// Losses of a run by place: `named` gives the program's own address for a simulated one.
pub fn attribution(ended: Ended<'_>, named: impl Fn(u64) -> u64) -> Attribution {
    let Ended { description, simulator, row, reports, objects } = ended;
    let (line_bytes, page_bytes) = (description.coherent_cache().line.0, description.tlb.page.0);
    let losses = simulator.losses();
    let starts: BTreeSet<u64> = losses.iter().filter_map(|loss| Some(loss.line? & !(page_bytes - 1))).collect();
    let page = |start| {
        let at = VirtualAddr(start);
        PageHome { start: named(start), home: simulator.home_of(at), toucher: simulator.toucher_of(at) }
    };
    let mut pages: Vec<PageHome> = starts.into_iter().map(page).collect();
    pages.sort_unstable_by_key(|page| page.start);
    let processors = row.processors.iter().flatten();
    let thread = |(processor, report): (&ProcessorStatistics, &ThreadReport)| ThreadTime {
        cpu: processor.cpu,
        node: simulator.topology().node_of(processor.cpu).unwrap_or_default(),
        time_ns: processor.time_ns,
        spent_ns: processor.spent_ns.clone(),
        migrations: report.scheduling.migrations,
        node_moves: 0,
        title: None,
    };
    let renamed = |found: &sim::LineLoss| LineLoss { line: found.line.map(&named), ..loss(found) };
    Attribution {
        program: row.program.clone(),
        machine: row.machine.clone(),
        time_ns: row.time_ns,
        line_bytes,
        page_bytes,
        threads: processors.zip(reports).map(thread).collect(),
        objects,
        pages,
        losses: losses.iter().map(renamed).collect(),
        sites: BTreeMap::new(),
        utilisation_pct: row.controllers.iter().flatten().map(|controller| controller.utilisation_pct).collect(),
        page_mechanisms: page_mechanisms(description),
        ..Attribution::default()
    }
}

/// The mechanisms that a cluster of SMPs could have and has not, by their words ([`crate::variant`]).
fn page_mechanisms(description: &Description) -> Vec<String> {
    let missing = [
        ("mig", !description.os.migration),
        ("rep", !description.os.replication),
        ("r-numa", description.page_cache.is_none()),
    ];
    let could = description.controller.kind == ControllerKind::Cluster;
    missing.into_iter().filter(|(_, missing)| could && *missing).map(|(word, _)| word.to_owned()).collect()
}

/// Data without overlaps, by address: of what was in the same place one after the other, what came last.
pub fn settled(mut objects: Vec<DataObject>) -> Vec<DataObject> {
    objects.reverse();
    let mut kept: BTreeMap<u64, DataObject> = BTreeMap::new();
    for object in objects {
        let before = kept.range(..object.start + object.bytes).next_back();
        if object.bytes > 0 && before.is_none_or(|(_, before)| before.start + before.bytes <= object.start) {
            kept.insert(object.start, object);
        }
    }
    kept.into_values().collect()
}

impl Simulation {
    /// Losses by place of a run that has ended.
    pub(super) fn attribution(
        &self,
        simulator: &Simulator,
        row: &SimulationRow,
        regions: &[SharedRegion],
        reports: &[ThreadReport],
    ) -> Attribution {
        let object = |(number, region): (usize, &SharedRegion)| DataObject {
            name: self.workload.region_name(number, regions.len()).to_owned(),
            start: region.at(0).0,
            bytes: region.bytes(),
            site: None,
        };
        let objects = regions.iter().enumerate().map(object).collect();
        attribution(Ended { description: &self.description, simulator, row, reports, objects }, |at| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_last_is_what_is_there() {
        let block = |name: &str, start, bytes| DataObject { name: name.into(), start, bytes, site: None };
        let kept = settled(vec![
            block("a", 0, 64),
            block("b", 64, 64),
            block("c", 32, 64),
            block("d", 200, 8),
            block("e", 96, 32),
        ]);
        let names: Vec<&str> = kept.iter().map(|object| object.name.as_str()).collect();
        assert_eq!(names, ["c", "e", "d"]);
    }

    #[test]
    fn records_and_simulator_have_the_same_names() {
        let mut names = Vec::new();
        let _ = Losses::<u64>::from_names(|name| {
            names.push(name);
            0
        });
        assert_eq!(names, Loss::ALL.map(|(_, name)| name));
    }
}
