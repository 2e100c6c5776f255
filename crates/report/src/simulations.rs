//! Tables of programs on simulated machines.

use std::collections::{BTreeMap, BTreeSet};

use record::{ProgramRow, SimulationRow};

use crate::quantity::Scale;
use crate::{Cell, Column, Table, Tone};

/// A line per parameter of each program.
pub fn programs(rows: &[ProgramRow]) -> Table {
    let mut table = Table::new(
        "",
        vec![
            Column::text("program"),
            Column::text("parameter"),
            Column::number("default", ""),
            Column::text("accepted"),
            Column::prose("meaning"),
        ],
    );
    let mut last = "";
    for row in rows {
        if row.program != last {
            last = &row.program;
            let blank = String::new;
            table.row([row.program.clone(), blank(), blank(), blank(), row.summary.clone()]);
        }
        let accepted = format!("{} to {}", row.least, row.most);
        table.row([String::new(), row.parameter.clone(), row.default.to_string(), accepted, row.meaning.clone()]);
    }
    table
}

/// A line per run. Parameters that are the same in all runs of a program are left out.
pub fn simulations(title: &str, rows: &[SimulationRow]) -> Table {
    let varied = varied(rows);
    let differ = rows.iter().any(|row| with(row, &varied).next().is_some());
    let threads = rows.iter().any(SimulationRow::has_other_threads);
    // References of waiting loops are no work.
    let spins = rows.iter().any(|row| row.spins > 0);
    let latency = rows.iter().any(|row| row.miss_latency_ns.is_some());
    let time = Scale::of_times(rows.iter().map(|row| row.time_ns));
    let held = Scale::of_times(rows.iter().map(|row| row.occupancy_ns.max(row.queued_ns)));
    let mut columns = vec![Column::text("program")];
    columns.extend(differ.then(|| Column::text("with")));
    // Where nothing else tells runs apart, it names them.
    let by_protocol = differ_by_protocol(rows, &varied);
    let protocol = Column::text("protocol");
    let protocol = if by_protocol { protocol } else { protocol.detail(5) };
    columns.extend([Column::text("machine"), protocol, Column::number("CPUs", "")]);
    columns.extend(threads.then(|| Column::number("threads", "")));
    columns.extend([
        Column::number("time", time.unit),
        Column::number("mean time", time.unit).detail(9),
        Column::number("references", "").detail(6),
    ]);
    columns.extend(spins.then(|| Column::number("spin references", "").detail(9)));
    columns.extend([
        Column::number("L1 misses", "").detail(8),
        Column::number("L2 misses", ""),
        Column::number("miss ratio", "%"),
    ]);
    columns.extend(latency.then(|| Column::number("miss latency", "ns")));
    columns.extend([
        Column::number("NACKs", "").detail(1),
        Column::number("writebacks", "").detail(8),
        Column::number("controller busy", held.unit).detail(7),
        Column::number("mean utilisation", "%").detail(3),
        Column::number("max utilisation", "%").detail(2),
        Column::number("controller wait", held.unit).detail(4),
    ]);
    let named = 2 + usize::from(differ) + usize::from(by_protocol);
    let mut table = Table::new(title, columns).named_by(named);
    for row in rows {
        let mut cells: Vec<Cell> = vec![row.program.clone().into()];
        cells.extend(differ.then(|| with(row, &varied).collect::<Vec<_>>().join(" ").into()));
        cells.extend([row.machine.clone(), row.protocol.clone(), row.cpus.to_string()].map(Cell::from));
        cells.extend(threads.then(|| row.threads.to_string().into()));
        cells.extend(
            [time.number(row.time_ns), time.number(row.mean_time_ns), row.references.to_string()].map(Cell::from),
        );
        cells.extend(spins.then(|| row.spins.to_string().into()));
        let misses = [row.primary_misses.to_string(), row.secondary_misses.to_string(), format!("{:.2}", row.miss_pct)];
        cells.extend(misses.map(Cell::from));
        cells.extend(latency.then(|| row.miss_latency_ns.map_or_else(|| "-".into(), |ns| format!("{ns:.1}").into())));
        cells.extend([
            row.refusals.to_string().into(),
            row.writebacks.to_string().into(),
            held.number(row.occupancy_ns).into(),
            utilisation(row.utilisation_pct),
            utilisation(row.max_utilisation_pct),
            held.number(row.queued_ns).into(),
        ]);
        table.row(cells);
    }
    table
}

/// The utilisation of a server in percent. Queueing grows without limit towards a hundred, so much of it deserves a look.
fn utilisation(percent: f64) -> Cell {
    let tone = match percent {
        percent if percent >= 80.0 => Tone::Bad,
        percent if percent >= 50.0 => Tone::Doubtful,
        _ => Tone::Plain,
    };
    Cell::new(format!("{percent:.1}"), tone)
}

/// The processors of a run, in words: with its threads, if those are more or fewer.
pub(crate) fn processors(row: &SimulationRow) -> String {
    match row.has_other_threads() {
        false => format!("{} processors", row.cpus),
        true => format!("{} processors with {} threads", row.cpus, row.threads),
    }
}

/// Programs and their parameters that differ between runs.
pub(crate) fn varied(rows: &[SimulationRow]) -> BTreeSet<(&str, &str)> {
    let mut seen: BTreeMap<(&str, &str), BTreeSet<u64>> = BTreeMap::new();
    let mut barriers: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for row in rows {
        barriers.entry(&row.program).or_default().insert(&row.barrier);
        for (name, &value) in &row.parameters {
            seen.entry((&row.program, name)).or_default().insert(value);
        }
        seen.entry((&row.program, SEED)).or_default().insert(row.seed);
    }
    let numbers = seen.into_iter().filter(|(_, values)| values.len() > 1).map(|(key, _)| key);
    let barriers = barriers.into_iter().filter(|(_, kinds)| kinds.len() > 1).map(|(program, _)| (program, BARRIER));
    numbers.chain(barriers).collect()
}

/// The name under which runs are told apart by how their threads meet.
const BARRIER: &str = "barrier";
/// The name under which runs are told apart by their seeds.
const SEED: &str = "seed";

/// Words that distinguish a run beside program, machine and protocol: unusual policies, parameters that vary.
pub(crate) fn with<'r>(
    row: &'r SimulationRow,
    varied: &'r BTreeSet<(&str, &str)>,
) -> impl Iterator<Item = String> + 'r {
    let is_told = |name: &'static str| varied.contains(&(row.program.as_str(), name));
    let barrier = if is_told(BARRIER) { "" } else { "ideal" };
    let policies = [(&row.scheduler, "none"), (&row.barrier, barrier)].into_iter();
    let unusual =
        policies.filter(|(policy, usual)| !policy.is_empty() && policy != usual).map(|(policy, _)| policy.clone());
    // That a program of the user's own has its own is said of its barriers.
    let locks = Some(&row.locks).filter(|locks| !["", "llsc", "own"].contains(&locks.as_str()));
    let unusual = unusual.chain(locks.map(|locks| format!("{locks} locks")));
    let differing = row.parameters.iter().filter(|(name, _)| varied.contains(&(row.program.as_str(), name.as_str())));
    let seed = Some(row.seed).filter(|_| is_told(SEED));
    let seed = seed.map(|seed| format!("{SEED}={seed}"));
    unusual.chain(differing.map(|(name, value)| format!("{name}={value}"))).chain(seed)
}

/// Whether runs differ in their protocols and in nothing else that a table tells.
fn differ_by_protocol(rows: &[SimulationRow], varied: &BTreeSet<(&str, &str)>) -> bool {
    let mut seen: BTreeMap<(&str, &str, u64, Vec<String>), &str> = BTreeMap::new();
    rows.iter().any(|row| {
        let rest = (&*row.program, &*row.machine, u64::from(row.cpus), with(row, varied).collect());
        *seen.entry(rest).or_insert(&row.protocol) != row.protocol
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn row(program: &str, lines: u64) -> SimulationRow {
        SimulationRow {
            program: program.into(),
            machine: "arctic".into(),
            protocol: "origin".into(),
            cpus: 8,
            threads: 8,
            parameters: [("lines".into(), lines), ("work".into(), 20)].into(),
            time_ns: 12_345.0,
            references: 100,
            secondary_misses: 25,
            miss_pct: 25.0,
            ..SimulationRow::default()
        }
    }

    pub(crate) fn words(line: &str) -> Vec<&str> {
        line.split_whitespace().collect()
    }

    #[test]
    fn protocols_that_alone_tell_runs_apart_are_shown_on_any_terminal() {
        let under = |protocol: &str| SimulationRow { protocol: protocol.into(), ..row("radix", 8) };
        let shown = |rows: &[SimulationRow]| simulations("", rows).shown(&crate::View::of_width(60));
        let text = shown(&[under("bit-vector"), under("hybrid")]);
        assert!(text.contains("bit-vector") && text.contains("hybrid") && text.contains("columns not shown"), "{text}");
        let other = SimulationRow { machine: "flash-8p".into(), ..under("hybrid") };
        assert!(!shown(&[under("bit-vector"), other]).contains("hybrid"), "the machines tell them apart");
    }

    #[test]
    fn a_run_is_a_line_with_the_parameters_that_vary() {
        let text = simulations("", &[row("uniform", 8), row("uniform", 16), row("migratory", 64)]).to_string();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(words(lines[2])[..7], ["uniform", "lines=8", "arctic", "origin", "8", "12.35", "0.00"]);
        assert_eq!(words(lines[4])[..4], ["migratory", "arctic", "origin", "8"], "{text}");
        assert!(!text.contains("work=") && !text.contains("latency"), "{text}");
        let policies = SimulationRow { barrier: "at-memory".into(), locks: "at-memory".into(), ..row("uniform", 8) };
        let usual = SimulationRow { barrier: "ideal".into(), locks: "llsc".into(), ..row("migratory", 8) };
        let text = simulations("", &[policies, usual]).to_string();
        assert!(text.contains("at-memory at-memory locks") && !text.contains("llsc"), "{text}");
        assert!(!text.contains("ideal"), "it is as usual: {text}");
        let met = |barrier: &str| SimulationRow { barrier: barrier.into(), ..row("uniform", 8) };
        let text = simulations("", &[met("ideal"), met("tree")]).to_string();
        assert!(text.contains("ideal") && text.contains("tree"), "they differ: {text}");
    }
}
