//! Account of where a run lost time, from samples of its references and the threads of a trace.

use std::collections::BTreeMap;
use std::path::PathBuf;

use host::perf::Mapping;
use record::{Attribution, DataObject, Evidence, LineLoss, Losses, PageHome, SourceLine, ThreadTime};
use rustc_hash::FxHashMap;
use trace::{ObjectKind, Trace};
use units::{CpuId, NodeId};

use super::{Done, LINE, Touched};

/// Threads that run for less than this part of the time that the busiest does take no part in the program's work.
const TAKES_PART: f64 = 0.05;

/// Life of a thread in a trace.
#[derive(Clone, Debug, Default)]
struct ThreadLife {
    title: String,
    process: Option<u64>,
    /// The last of each counter.
    totals: BTreeMap<String, f64>,
    /// When it was first and last seen.
    life: Option<(u64, u64)>,
    node: Option<u64>,
    /// How often it was seen on another node than before.
    node_moves: u64,
    cpu: Option<u64>,
    /// How often it was seen on another processor than before.
    cpu_moves: u64,
}

impl ThreadLife {
    fn told(&self, counter: &str) -> f64 {
        self.totals.get(counter).copied().unwrap_or(0.0)
    }

    /// How often it changed processors: as the kernel counts it, or else as often as it was seen to.
    fn moves(&self) -> u64 {
        self.totals.get("migrations").map_or(self.cpu_moves, |&moves| moves as u64)
    }

    /// The kernel's number, which stands behind its name.
    fn number(&self) -> Option<u32> {
        self.title.rsplit(':').next()?.parse().ok()
    }
}

/// Lives of the threads in a trace.
pub struct Lives<'t> {
    trace: &'t Trace,
    by_object: BTreeMap<usize, ThreadLife>,
    /// The process whose threads have run longest, which is the program, if it is started by a script: its object's key, and its
    /// number.
    busiest: Option<(u64, u32)>,
}

impl<'t> Lives<'t> {
    /// Reads the trace once from beginning to end.
    pub fn of(trace: &'t Trace) -> Self {
        let names: Vec<&str> = trace.counters_of(ObjectKind::Thread).map(|counter| counter.name.as_str()).collect();
        let mut by_object: BTreeMap<usize, ThreadLife> = BTreeMap::new();
        for tick in trace.ticks() {
            for (index, values) in tick.rows() {
                let object = &trace.objects[index];
                if object.kind != ObjectKind::Thread {
                    continue;
                }
                let life = by_object.entry(index).or_default();
                let since = life.life.map_or(tick.time_ns, |(since, _)| since);
                life.life = Some((since, tick.time_ns));
                (life.title, life.process) = (object.title.clone(), object.process);
                for (name, value) in names.iter().zip(values) {
                    let Some(total) = value.total else { continue };
                    life.totals.insert((*name).to_owned(), total as f64);
                    if *name == "node" {
                        life.node_moves += u64::from(life.node.is_some_and(|before| before != total));
                        life.node = Some(total);
                    }
                    if *name == "cpu" {
                        life.cpu_moves += u64::from(life.cpu.is_some_and(|before| before != total));
                        life.cpu = Some(total);
                    }
                }
            }
        }
        let busiest = busiest(trace, &by_object);
        Self { trace, by_object, busiest }
    }
}

fn busiest(trace: &Trace, lives: &BTreeMap<usize, ThreadLife>) -> Option<(u64, u32)> {
    let mut busy: BTreeMap<u64, f64> = BTreeMap::new();
    for life in lives.values() {
        *busy.entry(life.process?).or_default() += life.told("run_ns");
    }
    let (key, _) = busy.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let is_it = |object: &&trace::Object| object.kind == ObjectKind::Process && object.key == key;
    let title = &trace.objects.iter().find(is_it)?.title;
    Some((key, title.rsplit(':').next()?.parse().ok()?))
}

impl Touched {
    /// The file of the program that ran longest, which a script or a launcher may have started: what the kernel maps first.
    pub fn program(&self, lives: &Lives<'_>) -> Option<PathBuf> {
        let (_, process) = lives.busiest?;
        let is_file = |mapping: &&Mapping| mapping.process == process && mapping.name.starts_with('/');
        let file = self.mappings.iter().filter(is_file).find(|mapping| !mapping.name.starts_with("//"))?;
        Some(PathBuf::from(&file.name))
    }

    /// Where the run of which a trace tells lost time, as far as samples show: of the process that ran longest. Its addresses are
    /// those that `program`, its file, was linked for, if the kernel has loaded it elsewhere (`moves`).
    ///
    /// Threads stand for processors: each has a number of its own.
    pub fn attribution(&self, lives: &Lives<'_>, program: &str, moves: bool) -> Attribution {
        let Some((key, process)) = lives.busiest else {
            let why = |evidence| (evidence, "the program ended before the first sample".to_owned());
            let unseen = Evidence::ALL.into_iter().map(why).collect();
            return Attribution { usable_processors: self.usable, unseen, ..Attribution::default() };
        };
        let (trace, lives) = (lives.trace, &lives.by_object);
        let time_ns = trace.ticks().next_back().map_or(0, |tick| tick.time_ns) as f64;
        let most = lives.values().map(|life| life.told("run_ns")).fold(0.0, f64::max);
        let takes_part = |life: &&ThreadLife| most > 0.0 && life.told("run_ns") >= TAKES_PART * most;
        let (working, others): (Vec<&ThreadLife>, Vec<&ThreadLife>) =
            lives.values().filter(|life| life.process == Some(key)).partition(takes_part);
        // Others have numbers, too: who began an array may have done little else.
        let all = working.iter().chain(&others).enumerate();
        let numbers: FxHashMap<u32, CpuId> =
            all.filter_map(|(i, life)| Some((life.number()?, CpuId(i as u16)))).collect();
        let mappings: Vec<&Mapping> = self.mappings.iter().filter(|mapping| mapping.process == process).collect();
        let image = Image::of(&mappings, program, moves);
        let mut told = Attribution {
            program: program.to_owned(),
            machine: trace.preamble.machine.clone(),
            time_ns,
            line_bytes: LINE,
            page_bytes: self.page_bytes,
            threads: working.iter().enumerate().map(|(i, life)| thread_time(life, CpuId(i as u16))).collect(),
            usable_processors: self.usable,
            memory_kib: memory_kib(trace, key),
            ..Attribution::default()
        };
        told.unseen = self.unseen(&working, &told);
        told.losses = self.losses(process, &numbers, &image);
        let of_process = self.pages.range((process, 0)..=(process, u64::MAX));
        told.pages = of_process
            .clone()
            .map(|(&(_, start), page)| PageHome {
                start: image.linked(start),
                home: page.home,
                toucher: numbers.get(&page.toucher).copied(),
            })
            .collect();
        told.pages.sort_unstable_by_key(|page| page.start);
        told.objects = self.objects(of_process.map(|(&(_, start), page)| (start, page.site)), &mappings, &image);
        let sites =
            told.losses.iter().map(|loss| loss.site).chain(told.objects.iter().filter_map(|object| object.site));
        for site in sites {
            if let Some(library) = image.library(site, &mappings) {
                told.sites.insert(site, SourceLine { file: Some(library), ..SourceLine::default() });
            }
        }
        told
    }

    /// Evidence for a diagnosis that was missing, and why.
    fn unseen(&self, working: &[&ThreadLife], told: &Attribution) -> BTreeMap<Evidence, String> {
        let mut unseen = self.deaf.clone();
        let lock = "lock waits cannot be distinguished from other idle or busy time";
        unseen.insert(Evidence::Locks, lock.to_owned());
        unseen.insert(Evidence::Translation, "no samples of TLB misses".to_owned());
        unseen.insert(Evidence::FewerProcessors, "only one run".to_owned());
        if !working.iter().any(|life| life.totals.contains_key("wait_ns")) {
            let why =
                "no scheduler statistics of threads (/proc/PID/task/TID/schedstat), or the program ended too soon";
            unseen.insert(Evidence::RunQueue, why.to_owned());
        }
        if !working.iter().any(|life| life.totals.contains_key("migrations") || life.cpu.is_some()) {
            unseen.insert(Evidence::Moves, "the program ended before its first sample on a CPU".to_owned());
        }
        if told.memory_kib.is_empty() {
            let why = "no page locations (/proc/PID/numa_maps), or the program ended too soon";
            unseen.insert(Evidence::Residence, why.to_owned());
        }
        unseen
    }

    fn losses(&self, process: u32, numbers: &FxHashMap<u32, CpuId>, image: &Image) -> Vec<LineLoss> {
        let (cycle_ns, period) = (self.cycle_ns.unwrap_or(0.0), self.loads.as_ref().map_or(1, |(_, period)| *period));
        // Lines of which threads use different words alone are shared falsely.
        let mut words: FxHashMap<u64, (u32, u32)> = FxHashMap::default();
        let mut by_thread: FxHashMap<(u64, u32), u32> = FxHashMap::default();
        for (&(of, thread, _, line), done) in &self.done {
            if of == process {
                *by_thread.entry((line, thread)).or_default() |= done.words;
            }
        }
        for (&(line, _), &mask) in &by_thread {
            let (once, twice) = words.entry(line).or_default();
            *twice |= *once & mask;
            *once |= mask;
        }
        let mut losses: Vec<LineLoss> = Vec::new();
        for (&(of, thread, site, line), done) in &self.done {
            let Some(&cpu) = numbers.get(&thread).filter(|_| of == process) else { continue };
            let is_false = words.get(&line).is_some_and(|(_, twice)| *twice == 0);
            losses.push(LineLoss {
                cpu,
                site: image.linked(site),
                line: Some(image.linked(line)),
                count: counted(done, period, is_false),
                stalled_ns: stalled(done, period as f64 * cycle_ns, is_false),
                interventions: done.modified * period,
                invalidations: 0,
                read: done.words,
                written: 0,
            });
        }
        losses.sort_unstable_by_key(|loss| (loss.line, loss.cpu, loss.site));
        losses
    }

    /// Named stretches of memory: pages next to each other that were first touched from one place have that for a name.
    fn objects(
        &self,
        pages: impl Iterator<Item = (u64, u64)>,
        mappings: &[&Mapping],
        image: &Image,
    ) -> Vec<DataObject> {
        let mut objects: Vec<DataObject> = Vec::new();
        for (start, site) in pages {
            let (at, site) = (image.linked(start), image.linked(site));
            if image.contains(start) {
                // Variables are known by their names.
                continue;
            }
            let mapping =
                mappings.iter().rev().find(|mapping| (mapping.start..mapping.start + mapping.bytes).contains(&start));
            let name = match mapping.map(|mapping| mapping.name.as_str()) {
                Some("[stack]") => "stack",
                Some(file) if file.starts_with('/') && !file.starts_with("//") => {
                    file.rsplit('/').next().unwrap_or(file)
                }
                _ => "memory first touched",
            };
            match objects.last_mut() {
                Some(last) if last.start + last.bytes == at && last.name == name && last.site == Some(site) => {
                    last.bytes += self.page_bytes;
                }
                _ => objects.push(DataObject {
                    name: name.to_owned(),
                    start: at,
                    bytes: self.page_bytes,
                    site: Some(site),
                }),
            }
        }
        objects
    }
}

/// By node, how much memory the process of this key had there when it had most in all, in KiB.
fn memory_kib(trace: &Trace, key: u64) -> Vec<u64> {
    let names: Vec<&str> = trace.counters_of(ObjectKind::Process).map(|counter| counter.name.as_str()).collect();
    let is_it = |object: &trace::Object| object.kind == ObjectKind::Process && object.key == key;
    let mut most = Vec::new();
    for tick in trace.ticks() {
        for (_, values) in tick.rows().filter(|(index, _)| is_it(&trace.objects[*index])) {
            let mut by_node = Vec::new();
            for (name, value) in names.iter().zip(values) {
                let node = name.strip_prefix("kib_n").and_then(|node| node.parse::<usize>().ok());
                if let (Some(node), Some(kib)) = (node, value.total) {
                    by_node.resize(by_node.len().max(node + 1), 0);
                    by_node[node] = kib;
                }
            }
            if by_node.iter().sum::<u64>() > most.iter().sum() {
                most = by_node;
            }
        }
    }
    most
}

fn thread_time(life: &ThreadLife, cpu: CpuId) -> ThreadTime {
    let (since, until) = life.life.unwrap_or_default();
    let lived = (until - since) as f64;
    let (run, wait) = (life.told("run_ns"), life.told("wait_ns"));
    let spent = [("busy", run), ("waiting for a CPU", wait), ("idle", (lived - run - wait).max(0.0))];
    ThreadTime {
        cpu,
        node: NodeId(life.node.unwrap_or_default() as u16),
        time_ns: lived,
        spent_ns: spent.into_iter().map(|(name, ns)| (name.to_owned(), ns)).collect(),
        migrations: life.moves(),
        node_moves: life.node_moves,
        title: Some(life.title.clone()),
    }
}

fn counted(done: &Done, period: u64, is_false: bool) -> Losses<u64> {
    let shared = done.modified * period;
    Losses {
        cold: done.first,
        unsettled: done.later + (done.misses - done.modified) * period,
        false_sharing: if is_false { shared } else { 0 },
        true_sharing: if is_false { 0 } else { shared },
        ..Losses::default()
    }
}

/// Costs of loads: those that a changed line answered have their part, for each took what they took on average.
fn stalled(done: &Done, ns: f64, is_false: bool) -> Losses<f64> {
    let all = done.cycles as f64 * ns;
    let shared = if done.misses > 0 { all * done.modified as f64 / done.misses as f64 } else { 0.0 };
    Losses {
        unsettled: all - shared,
        false_sharing: if is_false { shared } else { 0.0 },
        true_sharing: if is_false { 0.0 } else { shared },
        ..Losses::default()
    }
}

/// Where the program's own file is in memory.
struct Image {
    start: u64,
    end: u64,
    /// How much further than it was linked for.
    moved: u64,
}

impl Image {
    fn of(mappings: &[&Mapping], program: &str, moves: bool) -> Self {
        let name = program.rsplit('/').next().unwrap_or(program);
        let own = || mappings.iter().filter(|mapping| mapping.name.rsplit('/').next() == Some(name));
        let start = own().map(|mapping| mapping.start - mapping.offset.min(mapping.start)).min().unwrap_or(0);
        let mut end = own().map(|mapping| mapping.start + mapping.bytes).max().unwrap_or(0);
        // Data that begin as zeros follow without a name.
        while let Some(next) = mappings.iter().find(|mapping| mapping.start == end && mapping.name == "//anon") {
            end = next.start + next.bytes;
        }
        Self { start, end, moved: if moves { start } else { 0 } }
    }

    fn contains(&self, at: u64) -> bool {
        (self.start..self.end).contains(&at)
    }

    /// The address that the linker gave it.
    fn linked(&self, at: u64) -> u64 {
        if self.contains(at) { at - self.moved } else { at }
    }

    /// The library that an address of code is in, if it is in one.
    fn library(&self, at: u64, mappings: &[&Mapping]) -> Option<String> {
        let inside = mappings.iter().find(|mapping| (mapping.start..mapping.start + mapping.bytes).contains(&at))?;
        let file = inside.name.rsplit('/').next().filter(|_| inside.name.starts_with('/') && !self.contains(at))?;
        Some(file.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(start: u64, bytes: u64, offset: u64, name: &str) -> Mapping {
        Mapping { process: 1, start, bytes, offset, name: name.to_owned() }
    }

    #[test]
    fn addresses_of_a_program_that_was_moved_are_those_it_was_linked_for() {
        let all = [
            mapping(0x5000, 0x1000, 0x1000, "/bin/p"),
            mapping(0x6000, 0x1000, 0x2000, "/bin/p"),
            mapping(0x7000, 0x800, 0, "//anon"),
            mapping(0x9000, 0x1000, 0, "/lib/libc.so.6"),
        ];
        let all: Vec<&Mapping> = all.iter().collect();
        let image = Image::of(&all, "./p", true);
        assert_eq!(
            (image.start, image.end, image.linked(0x5010), image.linked(0x7008)),
            (0x4000, 0x7800, 0x1010, 0x3008)
        );
        assert_eq!((image.linked(0x9010), image.library(0x9010, &all).as_deref()), (0x9010, Some("libc.so.6")));
        assert_eq!((image.library(0x5010, &all), Image::of(&all, "./p", false).linked(0x5010)), (None, 0x5010));
    }

    #[test]
    fn what_a_changed_line_answered_is_shared_falsely_or_not() {
        let done = Done { misses: 4, modified: 1, cycles: 400, ..Done::default() };
        let (count, cost) = (counted(&done, 10, true), stalled(&done, 0.5, true));
        assert_eq!((count.false_sharing, count.true_sharing, count.unsettled), (10, 0, 30));
        assert_eq!((cost.false_sharing, cost.unsettled, cost.misses()), (50.0, 150.0, 200.0));
        assert_eq!(stalled(&done, 0.5, false).true_sharing, 50.0);
    }
}
