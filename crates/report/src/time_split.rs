//! Where the time of programs on simulated machines went, and what more processors bring.

use std::collections::{BTreeMap, BTreeSet};

use record::SimulationRow;

use crate::simulations::{varied, with};
use crate::{Cell, Column, StackedBars, Table, Tone};

/// The parts of a processor's time as they are shown: what each is called, and the records' names that it adds up.
const PARTS: [(&str, &[&str]); 13] = [
    ("busy", &["busy"]),
    // Private references of unoptimised code go to a small frame, and hardly beyond the caches.
    ("caches", &["primary", "secondary", "tertiary", "write-buffer", "write-through", "private."]),
    ("read local", &["read.local."]),
    ("read 2 hops", &["read.local-third.", "read.remote."]),
    ("read 3 hops", &["read.remote-third."]),
    ("write local", &["write.local."]),
    ("write 2 hops", &["write.local-third.", "write.remote."]),
    ("write 3 hops", &["write.remote-third."]),
    ("write-backs", &["writeback"]),
    ("TLB misses", &["translation"]),
    ("barrier", &["barrier"]),
    ("lock", &["lock"]),
    ("system", &["system", "descheduled"]),
];
/// Time that the parts do not name.
const REST: &str = "idle";

/// Kinds of misses, and the ends of their names.
const KINDS: [(&str, &str); 3] = [("clean", ".clean"), ("owned", ".owned"), ("invalidating", ".invalidating")];

/// Why processors missed, where that was asked for; the rest are upgrades.
const CAUSES: [&str; 5] = ["cold", "capacity", "conflict", "true-sharing", "false-sharing"];

/// Shares of a run's time: of each part, and of the rest.
fn shares(row: &SimulationRow) -> Vec<f64> {
    let all: f64 = row.spent_ns.values().sum();
    let of = |names: &[&str]| -> f64 {
        let named =
            |name: &str| names.iter().any(|part| name == *part || part.ends_with('.') && name.starts_with(part));
        row.spent_ns.iter().filter(|(name, _)| named(name)).map(|(_, ns)| ns).fold(0.0, |sum, ns| sum + ns)
    };
    let parts: Vec<f64> = PARTS.iter().map(|(_, names)| of(names)).collect();
    let rest = of(&[REST]);
    parts.into_iter().chain([rest]).map(|ns| if all > 0.0 { ns / all } else { 0.0 }).collect()
}

fn part_names() -> impl Iterator<Item = &'static str> {
    PARTS.iter().map(|(name, _)| *name).chain([REST])
}

/// The parts of a run's time, each with its name and its share.
pub fn parts_of(row: &SimulationRow) -> Vec<(&'static str, f64)> {
    part_names().zip(shares(row)).collect()
}

/// A table of the processors' time in percent by what it was spent on, and one of the misses: a line per run. Parts that no run spent
/// time on are left out, and what all runs have in common stands in the title.
pub fn time_split(rows: &[SimulationRow]) -> Vec<Table> {
    let names = Names::of(rows);
    let mut tables = vec![times(rows, &names)];
    tables.extend(rows.iter().any(|row| row.misses.values().any(|&count| count > 0)).then(|| misses(rows, &names)));
    tables
}

/// The words that the runs have in common, and the name of each beside that.
struct Names {
    common: String,
    own: Vec<String>,
    threads: bool,
}

impl Names {
    fn of(rows: &[SimulationRow]) -> Self {
        let varied = varied(rows);
        let all: Vec<Vec<String>> = rows.iter().map(|row| words(row, &varied)).collect();
        let common = |word: &&String| all.iter().all(|words| words.contains(word));
        let first = all.first().map_or(&[][..], Vec::as_slice);
        let of_all: Vec<&str> = first.iter().filter(common).map(String::as_str).collect();
        let own =
            all.iter().map(|words| words.iter().filter(|word| !common(word)).cloned().collect::<Vec<_>>().join(" "));
        Self {
            common: of_all.join(", "),
            own: own.collect(),
            threads: rows.iter().any(SimulationRow::has_other_threads),
        }
    }

    /// The columns that tell the runs apart.
    fn columns(&self) -> Vec<Column> {
        let differ = self.own.iter().any(|name| !name.is_empty());
        let mut columns: Vec<Column> = differ.then(|| Column::text("run")).into_iter().collect();
        columns.push(Column::number("CPUs", ""));
        columns.extend(self.threads.then(|| Column::number("threads", "")));
        columns
    }

    fn cells(&self, place: usize, row: &SimulationRow) -> Vec<Cell> {
        let differ = self.own.iter().any(|name| !name.is_empty());
        let mut cells: Vec<Cell> = differ.then(|| self.own[place].as_str().into()).into_iter().collect();
        cells.push(row.cpus.to_string().into());
        cells.extend(self.threads.then(|| row.threads.to_string().into()));
        cells
    }

    fn table(&self, what: &str, columns: Vec<Column>) -> Table {
        let mut all = self.columns();
        let named = all.len();
        all.extend(columns);
        Table::new(format!("{what}: {}", self.common), all).named_by(named)
    }
}

fn times(rows: &[SimulationRow], names: &Names) -> Table {
    let shares: Vec<Vec<f64>> = rows.iter().map(shares).collect();
    let shown: Vec<usize> =
        (0..=PARTS.len()).filter(|&part| part == 0 || shares.iter().any(|shares| shares[part] > 0.0)).collect();
    let parts: Vec<&str> = part_names().collect();
    let columns = shown.iter().map(|&part| Column::number(parts[part], "")).collect();
    let mut table = names.table("time breakdown, % of the processors' time", columns);
    for (place, (row, shares)) in rows.iter().zip(&shares).enumerate() {
        let of_part = |&part: &usize| match part {
            // Work, and waits for primary caches.
            0 => percent(shares[part]).into(),
            _ => Cell::new(percent(shares[part]), tone(shares[part])),
        };
        table.row(names.cells(place, row).into_iter().chain(shown.iter().map(of_part)).collect::<Vec<_>>());
    }
    table
}

/// A part of the time that is not spent on work, where it is large.
fn tone(share: f64) -> Tone {
    match share {
        share if share >= 0.4 => Tone::Bad,
        share if share >= 0.2 => Tone::Doubtful,
        _ => Tone::Plain,
    }
}

fn misses(rows: &[SimulationRow], names: &Names) -> Table {
    let causes = rows.iter().any(|row| row.causes.is_some());
    let mut columns: Vec<Column> =
        ["local", "clean", "owned", "invalidating"].map(|name| Column::number(name, "")).into();
    columns.push(Column::number("upgrades", ""));
    columns.extend(CAUSES.iter().filter(|_| causes).map(|name| Column::number(name.replace('-', " "), "")));
    let mut table = names.table("L2 misses, % of all", columns);
    for (place, row) in rows.iter().enumerate() {
        let misses: u64 = row.misses.values().sum();
        let share = |count: u64| if misses > 0 { percent(count as f64 / misses as f64) } else { "-".to_owned() };
        let mut cells = names.cells(place, row);
        cells.push(if misses > 0 { format!("{:.1}", row.local_pct).into() } else { "-".into() });
        cells.extend(KINDS.map(|(_, end)| {
            let counts = row.misses.iter().filter(|(name, _)| name.ends_with(end)).map(|(_, count)| count);
            Cell::from(share(counts.sum()))
        }));
        cells.push(share(row.upgrades).into());
        let count = |name: &&str| row.causes.as_ref().and_then(|counts| counts.get(*name)).copied().unwrap_or_default();
        cells.extend(CAUSES.iter().filter(|_| causes).map(|name| Cell::from(share(count(name)))));
        table.row(cells);
    }
    table.note("measured part of the run; local: home, or what answers in its place, on the requester's node; clean, owned, invalidating: state of the line at the home");
    table
}

/// The runs' time as bars that end where the time of the first run of the same program, times its processors, is 1: processor
/// time, so that equal bars are perfect speedup. What all runs have in common stands in the title alone.
pub fn time_bars<'a>(rows: &'a [SimulationRow]) -> StackedBars {
    let mut first: BTreeMap<&'a str, f64> = BTreeMap::new();
    let varied = varied(rows);
    let names: Vec<Vec<String>> = rows.iter().map(|row| words(row, &varied)).collect();
    let common = |word: &String| names.iter().all(|words| words.contains(word));
    let mut bar = |(row, words): (&'a SimulationRow, &Vec<String>)| {
        let SimulationRow { program, time_ns, cpus, .. } = row;
        let whole = time_ns * f64::from(*cpus);
        let unit = *first.entry(program).or_insert(whole);
        let height = if unit > 0.0 { whole / unit } else { 0.0 };
        let processors = if *cpus == 1 { "1 CPU".to_owned() } else { format!("{cpus} CPUs") };
        let own = words.iter().filter(|word| !common(word)).cloned();
        let name = own.chain([processors]).collect::<Vec<_>>().join(" ");
        (name, shares(row).into_iter().map(|share| share * height).collect())
    };
    let bars = rows.iter().zip(&names).map(&mut bar).collect();
    let of_all: Vec<&str> =
        names.first().into_iter().flatten().filter(|word| common(word)).map(String::as_str).collect();
    StackedBars {
        title: format!("time breakdown: {} (numbers: % of the bar)", of_all.join(", ")),
        axis: "processor time relative to the first run of the program".to_owned(),
        parts: part_names().map(str::to_owned).collect(),
        bars,
    }
}

/// Speedups of runs that differ in nothing but the number of processors, over those with the fewest; none if there are no such runs.
/// The fewest are taken to be as fast as so many processors should be.
pub fn speedups(rows: &[SimulationRow]) -> Option<Table> {
    let varied = varied(rows);
    let mut groups: Vec<(String, BTreeMap<u32, &SimulationRow>)> = Vec::new();
    for row in rows {
        let key = label(row, &varied);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, runs)) => drop(runs.insert(row.cpus, row)),
            None => groups.push((key, [(row.cpus, row)].into())),
        }
    }
    let (groups, whole): (Vec<_>, Vec<_>) = groups.into_iter().map(comparable).unzip();
    let mut groups: Vec<(String, BTreeMap<u32, f64>)> = groups;
    groups.retain(|(_, times)| times.len() > 1);
    let mut cpus: Vec<u32> = groups.iter().flat_map(|(_, times)| times.keys().copied()).collect();
    cpus.sort_unstable();
    cpus.dedup();
    if cpus.is_empty() {
        return None;
    }
    let names: Vec<Vec<&str>> = groups.iter().map(|(key, _)| key.split(' ').collect()).collect();
    let common = |word: &&str| names.iter().all(|words| words.contains(word));
    let of_all: Vec<&str> = names.first().into_iter().flatten().copied().filter(common).collect();
    let differ = names.len() > 1;
    let mut columns: Vec<Column> = differ.then(|| Column::text("run")).into_iter().collect();
    columns.extend(
        cpus.iter().map(|&cpus| Column::number(if cpus == 1 { "1 CPU".into() } else { format!("{cpus} CPUs") }, "")),
    );
    let mut table = Table::new(format!("speedup: {}", of_all.join(", ")), columns).named_by(usize::from(differ));
    let mut smallest = BTreeSet::new();
    for ((_, times), words) in groups.iter().zip(&names) {
        let (&fewest, &base) = times.first_key_value()?;
        smallest.insert(fewest);
        let speedup = |cpus: &u32| {
            let time = times.get(cpus).filter(|&&time| time > 0.0);
            time.map_or_else(|| "-".to_owned(), |time| format!("{:.2}", f64::from(fewest) * base / time))
        };
        let own = words.iter().copied().filter(|word| !common(word)).collect::<Vec<_>>().join(" ");
        table.row(differ.then_some(own).into_iter().chain(cpus.iter().map(speedup)));
    }
    let counts = match smallest.iter().collect::<Vec<_>>()[..] {
        [1] => String::new(),
        [only] => format!(" (its {only} CPUs count as {only})"),
        _ => " (its N CPUs count as N)".to_owned(),
    };
    let whole = if whole.contains(&true) {
        "; whole programs, as not all runs have a parallel section of their own"
    } else {
        ""
    };
    table.note(format!("speedup relative to the smallest run{counts}{whole}"));
    Some(table)
}

/// The times of runs that are compared, and whether they are those of whole programs: measured parts are comparable only where the
/// same was measured.
fn comparable((key, runs): (String, BTreeMap<u32, &SimulationRow>)) -> ((String, BTreeMap<u32, f64>), bool) {
    let parts: BTreeSet<_> = runs.values().map(|row| &row.measured).collect();
    let whole = parts.len() > 1;
    let time = |row: &SimulationRow| if whole { row.run_ns } else { row.time_ns };
    ((key, runs.into_iter().map(|(cpus, row)| (cpus, time(row))).collect()), whole)
}

/// The words of a run's name: all that it is but for the number of its processors. Parameters that do not vary are left out, and
/// policies that are the usual ones.
fn words(row: &SimulationRow, varied: &BTreeSet<(&str, &str)>) -> Vec<String> {
    let SimulationRow { program, machine, protocol, .. } = row;
    let own = [program.as_str(), machine, protocol].map(str::to_owned).into_iter();
    own.chain(with(row, varied)).collect()
}

/// The same in a line.
fn label(row: &SimulationRow, varied: &BTreeSet<(&str, &str)>) -> String {
    words(row, varied).join(" ")
}

fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cpus: u32, time_ns: f64) -> SimulationRow {
        let share = |part: f64| part * time_ns * f64::from(cpus);
        let spent = [
            ("busy", 0.5),
            ("read.local.clean", 0.125),
            ("read.local-third.owned", 0.0625),
            ("read.remote.clean", 0.0625),
            ("write.remote-third.invalidating", 0.0625),
            ("writeback", 0.0625),
            ("idle", 0.125),
        ];
        SimulationRow {
            program: "fft".into(),
            machine: "arctic".into(),
            protocol: "origin".into(),
            cpus,
            time_ns,
            spent_ns: spent.map(|(name, part)| (name.to_owned(), share(part))).into(),
            misses: [("read.local.clean".to_owned(), 6), ("write.remote-third.invalidating".to_owned(), 2)].into(),
            upgrades: 2,
            local_pct: 75.0,
            ..SimulationRow::default()
        }
    }

    #[test]
    fn parts_add_up_and_hops_are_told_apart() {
        let tables = time_split(&[row(4, 1000.0)]);
        let text: String = tables.iter().map(ToString::to_string).collect();
        assert!(text.contains(": fft, arctic, origin\n"), "what all runs are is said once: {text}");
        let lines = text.lines().filter(|line| line.starts_with("   4"));
        let cells: Vec<Vec<&str>> = lines.map(|line| line.split_whitespace().collect()).collect();
        let expected =
            [&["4", "50.0", "12.5", "12.5", "6.2", "6.2", "12.5"][..], &["4", "75.0", "75.0", "0.0", "25.0", "25.0"]];
        assert_eq!(cells, expected, "{text}");
        assert!(!text.contains("lock"), "nobody locked: {text}");
        assert!((shares(&row(4, 1000.0)).iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn speedup_is_over_the_fewest_and_only_of_runs_that_are_alike() {
        let other = SimulationRow { barrier: "llsc".into(), ..row(8, 300.0) };
        let text = speedups(&[row(8, 300.0), row(2, 1000.0), other]).expect("two are alike").to_string();
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(text.starts_with("speedup: fft, arctic, origin\n"), "{text}");
        assert_eq!(lines[2], ["2.00", "6.67"], "{text}");
        assert_eq!(lines.len(), 4, "{text}");
        assert!(text.ends_with("smallest run (its 2 CPUs count as 2)\n"), "{text}");
        assert!(speedups(&[row(8, 300.0)]).is_none());
    }

    #[test]
    fn runs_of_which_not_the_same_was_measured_are_compared_whole() {
        let of = |cpus, time_ns, measured: &str| SimulationRow {
            measured: Some(measured.to_owned()),
            run_ns: 2000.0 / f64::from(cpus),
            ..row(cpus, time_ns)
        };
        let text = speedups(&[of(1, 2000.0, "whole"), of(4, 100.0, "sections")]).expect("two are alike").to_string();
        assert!(text.contains("4.00") && text.contains("whole programs"), "{text}");
        let text = speedups(&[of(1, 2000.0, "sections"), of(4, 100.0, "sections")]).expect("two are alike").to_string();
        assert!(text.contains("20.00") && !text.contains("whole programs"), "{text}");
    }

    #[test]
    fn bars_are_processor_time() {
        let bars = time_bars(&[row(2, 1000.0), row(8, 300.0)]);
        let heights: Vec<f64> = bars.bars.iter().map(|(_, parts)| parts.iter().sum()).collect();
        assert!((heights[0] - 1.0).abs() < 1e-12 && (heights[1] - 1.2).abs() < 1e-12, "{heights:?}");
        let names: Vec<&str> = bars.bars.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["2 CPUs", "8 CPUs"]);
        assert!(bars.title.contains("fft, arctic, origin"), "what both are is said once: {}", bars.title);
        let other = SimulationRow { machine: "stinger".into(), ..row(1, 700.0) };
        let bars = time_bars(&[row(2, 1000.0), other]);
        let names: Vec<&str> = bars.bars.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["arctic 2 CPUs", "stinger 1 CPU"]);
    }
}
