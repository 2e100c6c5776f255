//! Records measured before, read back.

use std::path::{Path, PathBuf};

use record::Record;
use units::Bytes;

use super::{Identity, Measured, identity_of, system_of};
use crate::failure::Failure;
use crate::platform::{Machine, MachineFlag};

/// Reads all `files`. The machine they are from is the one that `flag` names, or else the one that the records name, if it is
/// built in.
///
/// # Errors
/// When a file cannot be read, a line is no record, the records are of several machines, or the machine's description is
/// wrong.
pub(super) fn read(files: &[PathBuf], flag: &MachineFlag) -> Result<Measured, Failure> {
    let mut records = Vec::new();
    for file in files {
        read_file(file, &mut records)?;
    }
    let Some(first) = records.first() else {
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        let accepted = "a file that `ccnuma bench --json=FILE` wrote";
        return Err(Failure::flag("DATA", names.join(" "), "there is no record in it", accepted));
    };
    let name = first.machine.clone();
    if let Some(other) = records.iter().find(|record| record.machine != name) {
        let problem = format!("its records are of several machines, {name} and {}", other.machine);
        return Err(Failure::flag("DATA", files[0].display(), problem, "records of one machine"));
    }
    let description = match flag.machine()? {
        Machine::Simulated(resolved) => Some(resolved.description),
        Machine::Host => machine::load(&name).ok(),
    };
    let identity = description.as_ref().map_or_else(|| unknown(&name, &records), identity_of);
    Ok(Measured { name, records, system: description.map(system_of).transpose()?, identity, announced: Vec::new() })
}

/// What records tell of a machine that nobody described.
fn unknown(name: &str, records: &[Record]) -> Identity {
    let nodes = records.iter().map(|record| u32::from(record.home.0) + 1).max().unwrap_or(1);
    let locals = records.iter().flat_map(|record| record.local.as_slice().iter().map(|cpu| u32::from(cpu.0) + 1));
    let extent = records.iter().filter_map(|record| record.conditions.window).max();
    let lines = records.iter().filter(|record| record.experiment.starts_with("area-read"));
    Identity {
        title: format!("as measured: {name}"),
        nodes,
        processors: locals.max().unwrap_or(1).max(nodes),
        node_memory: extent.unwrap_or(Bytes::from_mib(1024)),
        line: lines.filter_map(|record| record.conditions.stride).min().unwrap_or(Bytes(64)),
    }
}

fn read_file(file: &Path, records: &mut Vec<Record>) -> Result<(), Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        Failure::flag("DATA", file.display(), format!("cannot be read: {error}"), "a file of records, JSON lines")
    })?;
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let record: Record = serde_json::from_str(line).map_err(|error| {
            let place = format!("{}:{}", file.display(), number + 1);
            Failure::flag("DATA", place, format!("no record: {error}"), "lines that `ccnuma bench --json=FILE` wrote")
        })?;
        records.push(record);
    }
    Ok(())
}
