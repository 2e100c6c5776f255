//! Classes of pairs of processors, as what they pass to each other shows them.

use bench::{Experiment, State};
use fit::remote::parted;
use record::Record;
use units::{CpuId, ranges};

/// A class: what the first processor waits for lines that these others have modified.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Class {
    pub(super) least_ns: f64,
    pub(super) most_ns: f64,
    pub(super) partners: Vec<CpuId>,
}

/// The classes of the processors whose modified lines, homed at the reader, the first processor reads; nearest first.
pub(super) fn clustered(records: &[Record]) -> Vec<Class> {
    let modified = |record: &&Record| {
        record.experiment == Experiment::LmbenchRead.name()
            && record.state == State::Dexd.name()
            && record.remotes.len() == 1
    };
    let Some(first) = records.iter().filter(modified).map(|record| record.local).min() else { return Vec::new() };
    // The suite measures those of the reader's home first.
    let mut pairs: Vec<(CpuId, f64)> = Vec::new();
    for record in records.iter().filter(modified).filter(|record| record.local == first && record.xhops == 0) {
        if !pairs.iter().any(|pair| pair.0 == record.remotes[0]) {
            pairs.push((record.remotes[0], record.headline()));
        }
    }
    let class = |members: Vec<&(CpuId, f64)>| {
        let mut partners: Vec<CpuId> = members.iter().map(|pair| pair.0).collect();
        partners.sort_unstable();
        Class { least_ns: members[0].1, most_ns: members[members.len() - 1].1, partners }
    };
    parted(&pairs, |pair| (pair.1, 0.0)).into_iter().map(class).collect()
}

/// The classes in words; `figures` says which of each record's they are, if need be.
pub(super) fn in_words(records: &[Record], figures: &str) -> Option<String> {
    let class = |Class { least_ns, most_ns, partners }: &Class| {
        format!("{least_ns:.1} to {most_ns:.1} ns with CPU {}", ranges(partners.iter().map(|cpu| cpu.0)))
    };
    let classes: Vec<String> = clustered(records).iter().map(class).collect();
    (!classes.is_empty())
        .then(|| format!("classes of pairs, lines modified by another core{figures}: {}", classes.join("; ")))
}
