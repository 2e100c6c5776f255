//! Runs in words: the program or experiment, the machine, and what else differs among the runs of a study.

use std::collections::{BTreeMap, BTreeSet};

use record::SweepRunRow;

use super::StudyRun;

/// Gives every run its words.
pub(super) fn label(runs: &mut [StudyRun]) {
    let mut values: BTreeMap<(Option<String>, String), BTreeSet<String>> = BTreeMap::new();
    for run in &*runs {
        for (name, value) in fields(&run.row) {
            values.entry((run.row.program.clone(), name)).or_default().insert(value);
        }
    }
    for StudyRun { row, .. } in runs {
        let differs = |name: &String| values.get(&(row.program.clone(), name.clone())).is_some_and(|all| all.len() > 1);
        let told = fields(row).into_iter().filter(|(name, _)| differs(name));
        let told: Vec<String> = told.map(|(name, value)| format!(" {name}={value}")).collect();
        let what = row.program.as_deref().unwrap_or(&row.run);
        row.run = format!("{what}{} on {}", told.concat(), row.machine);
    }
}

/// Fields that may differ among runs of a program beside the machine, which is always told.
fn fields(row: &SweepRunRow) -> Vec<(String, String)> {
    let mut fields: Vec<(String, String)> =
        row.parameters.iter().map(|(name, value)| (name.clone(), value.to_string())).collect();
    let mut add = |name: &str, value: Option<String>| fields.extend(value.map(|value| (name.to_owned(), value)));
    add("cpus", row.cpus.map(|cpus| cpus.to_string()));
    add("protocol", Some(row.protocol.clone()));
    add("placement", row.placement.clone());
    add("scheduler", row.scheduler.clone());
    add("barrier", row.barrier.clone());
    add("locks", row.locks.clone());
    add("seed", Some(row.seed.to_string()));
    fields
}
