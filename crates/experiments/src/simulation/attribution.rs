//! What a simulation lost where, as a record: with names of data, homes of pages and times of threads.

use std::collections::BTreeSet;

use record::{Attribution, DataObject, LineLoss, Losses, PageHome, SimulationRow, ThreadTime};
use sim::{Distance, Loss, Service, Simulator, ThreadReport, Transaction};
use units::VirtualAddr;

use super::Simulation;
use super::memory::SharedRegion;

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

impl Simulation {
    /// What was lost where in a run that has ended.
    pub(super) fn attribution(
        &self,
        simulator: &Simulator,
        row: &SimulationRow,
        regions: &[SharedRegion],
        reports: &[ThreadReport],
    ) -> Attribution {
        let (line_bytes, page_bytes) = (self.description.l2.line.0, self.description.tlb.page.0);
        let losses: Vec<LineLoss> = simulator.losses().iter().map(loss).collect();
        let starts: BTreeSet<u64> = losses.iter().filter_map(|loss| Some(loss.line? & !(page_bytes - 1))).collect();
        let page = |start| {
            let at = VirtualAddr(start);
            PageHome { start, home: simulator.home_of(at), toucher: simulator.toucher_of(at) }
        };
        let object = |(number, region): (usize, &SharedRegion)| DataObject {
            name: self.workload.region_name(number).to_owned(),
            start: region.at(0).0,
            bytes: region.bytes(),
        };
        let processors = row.processors.iter().flatten();
        let thread = |((processor, report), &node): ((&record::ProcessorStatistics, &ThreadReport), _)| ThreadTime {
            cpu: processor.cpu,
            node,
            time_ns: processor.time_ns,
            spent_ns: processor.spent_ns.clone(),
            migrations: report.scheduling.migrations,
        };
        Attribution {
            program: row.program.clone(),
            machine: row.machine.clone(),
            time_ns: row.time_ns,
            line_bytes,
            page_bytes,
            threads: processors.zip(reports).zip(&self.shape.homes).map(thread).collect(),
            objects: regions.iter().enumerate().map(object).collect(),
            pages: starts.into_iter().map(page).collect(),
            losses,
            sites: std::collections::BTreeMap::new(),
            utilisation_pct: row.controllers.iter().flatten().map(|controller| controller.utilisation_pct).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
