//! Records measured before, read back.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use bench::Experiment;
use record::{ComputerRow, Contents, Provenance, Record};
use units::{Bytes, CpuId, NodeId};

use super::{Identity, Measured, identity_of, system_of};
use crate::failure::Failure;
use crate::platform::{Machine, MachineFlag};

/// Reads all `files`. The machine they are from is the one that `flag` names, or else the one that they describe, or that they
/// name if it is built in. It has `most_caches` at most, if that is known.
///
/// # Errors
/// When a file cannot be read, a line is no record, the records are of several machines or computers, or the machine's
/// description is wrong.
pub(super) fn read(files: &[PathBuf], flag: &MachineFlag, most_caches: Option<usize>) -> Result<Measured, Failure> {
    let (mut records, mut machines, mut computers) = (Vec::new(), Vec::new(), Vec::new());
    for file in files {
        let mut contents = records_of("DATA", file)?;
        records.append(&mut contents.rows);
        machines.append(&mut contents.machines);
        computers.append(&mut contents.computers);
    }
    let Some((first, provenance)) = records.first().cloned() else {
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        let accepted = "a file that `ccnuma bench --json=FILE` wrote";
        return Err(Failure::flag("DATA", names.join(" "), "contains no records", accepted));
    };
    let name = first.machine;
    let computer = computers.into_iter().find(|computer| computer.machine == name);
    are_of_one_machine(&records, computer.as_ref(), ("DATA", &files[0]))?;
    let records: Vec<Record> = records.into_iter().map(|(record, _)| record).collect();
    let description = match flag.machine()? {
        Machine::Simulated(resolved) => Some(resolved.description),
        Machine::Host => match machines.iter().find(|machine| machine.machine == name) {
            Some(described) => Some(machine::parse(&name, &described.description).map_err(Failure::input)?.description),
            None => machine::load(&name).ok(),
        },
    };
    let identity = description.as_ref().map_or_else(|| unknown(&name, &records), identity_of);
    let system = description.map(system_of).transpose()?;
    Ok(Measured { name, records, provenance, system, identity, announced: Vec::new(), most_caches, computer })
}

/// The identity of a machine that nobody described, as far as records tell.
fn unknown(name: &str, records: &[Record]) -> Identity {
    let nodes = records.iter().map(|record| u32::from(record.home.0) + 1).max().unwrap_or(1);
    let locals = records.iter().flat_map(|record| record.locals.iter().map(|cpu| u32::from(cpu.0) + 1));
    let extent = records.iter().filter_map(|record| record.conditions.window).max();
    let lines = records.iter().filter(|record| record.experiment == "area-read");
    Identity {
        title: format!("as measured: {name}"),
        nodes,
        processors: locals.max().unwrap_or(1).max(nodes),
        node_memory: extent.unwrap_or(Bytes::from_mib(1024)),
        line: lines.filter_map(|record| record.conditions.stride).min().unwrap_or(Bytes(64)),
    }
}

/// Checks that `records` are of one machine on one computer, and that the machine, if `computer` lists it, has their processors and nodes.
///
/// # Errors
/// When they are not, with the flag that gave the file.
pub fn are_of_one_machine(
    records: &[(Record, Provenance)],
    computer: Option<&ComputerRow>,
    (flag, file): (&str, &Path),
) -> Result<(), Failure> {
    let refused = |problem: String, accepted: &str| Err(Failure::flag(flag, file.display(), problem, accepted));
    let Some((first, provenance)) = records.first() else { return Ok(()) };
    if let Some((other, _)) = records.iter().find(|(record, _)| record.machine != first.machine) {
        let problem = format!("records of several machines, {} and {}", first.machine, other.machine);
        return refused(problem, "records of one machine");
    }
    if let Some((_, other)) = records.iter().find(|(_, other)| other.host != provenance.host) {
        let of = |host: &Option<String>| host.clone().unwrap_or_else(|| "a simulation".to_owned());
        let problem = format!("records of several computers, {} and {}", of(&provenance.host), of(&other.host));
        return refused(problem, "records of one computer");
    }
    let Some(computer) = computer else { return Ok(()) };
    let cpus: BTreeSet<CpuId> = computer.cores.iter().flat_map(|core| &core.cpus).copied().collect();
    let nodes: BTreeSet<NodeId> = computer.nodes.iter().map(|node| node.node).collect();
    for (record, _) in records {
        if let Some(cpu) = record.locals.iter().chain(&record.remotes).find(|cpu| !cpus.contains(cpu)) {
            let list = units::ranges(cpus.iter().map(|cpu| cpu.0));
            return refused(
                format!("{} by CPU {cpu}, which the machine lacks", record.title()),
                &format!("CPU {list}"),
            );
        }
        if !nodes.contains(&record.home) {
            let problem = format!("{} of node {}, which the machine lacks", record.title(), record.home);
            return refused(problem, &format!("node {}", units::ranges(nodes.iter().map(|node| node.0))));
        }
    }
    Ok(())
}

/// Reads the records of one file, which `flag` gave, and the machines that it describes.
///
/// # Errors
/// When it cannot be read, or a line is no record of a measurement.
pub fn records_of(flag: &str, file: &Path) -> Result<Contents<Record>, Failure> {
    let refused = |problem: String| {
        let accepted = "lines that `ccnuma bench --json=FILE` wrote";
        Failure::flag(flag, file.display(), problem, accepted)
    };
    let text = input::text(file, input::HELD).map_err(|error| refused(format!("cannot be read: {error}")))?;
    let contents = record::read::<Record>(&text).map_err(|error| refused(error.to_string()))?;
    let unit = |record: &Record| record.experiment.parse().map_or(record.unit, Experiment::unit);
    match contents.rows.iter().find(|(record, _)| unit(record) != record.unit) {
        Some((record, _)) => {
            Err(refused(format!("{} in {}, which is measured in {}", record.title(), record.unit, unit(record))))
        }
        None => Ok(contents),
    }
}
