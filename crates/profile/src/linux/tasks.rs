//! The threads and processes of the program that was started, as the kernel tells of them.

use std::collections::HashMap;

use host::discovery::{Inventory, KernelFiles};
use host::perf::{EventCode, EventGroup, NamedEvent, Scope, hardware_events, paranoia};
use host::statistics::{NodeMemory, Text, numa_maps, run_times, task_sched, task_stat, task_status};
use trace::{Blind, Counter, Object, ObjectKind, SourceDescription};

use super::events::why;
use super::tree::{Found, descendants};
use super::{Clock, no_file};
use crate::{CounterSource, Reading};

/// Looking for new threads, and reading what takes the kernel long, may take this part of all time.
const PART: u64 = 200;
/// Looked for no more often than this, in nanoseconds; and, whatever that takes, no less often than this: threads that nobody saw
/// are threads that nothing is told of.
const LOOK_NS: u64 = 5_000_000;
const LOOK_AT_LEAST_NS: u64 = 1_000_000_000;
/// `status` and `sched` are read no more often than this.
const DETAILS_NS: u64 = 100_000_000;
/// `numa_maps` makes the kernel walk all pages of a process: soon after it began, then half as often each time, down to once a
/// second.
const FIRST_MAPS_NS: u64 = 10_000_000;
const MAPS_NS: u64 = 1_000_000_000;

/// Counters of a thread, in this order, before those of events.
fn thread_counters() -> Vec<Counter> {
    let count = |name, unit, what| Counter::count(ObjectKind::Thread, name, unit, what);
    let level = |name, what| Counter::level(ObjectKind::Thread, name, "", what);
    vec![
        count("run_ns", "ns", "time on a CPU"),
        count("wait_ns", "ns", "run-queue wait, credited when scheduled"),
        level("cpu", "CPU, current or last"),
        level("node", "node of that CPU"),
        count("minor_faults", "", "minor page faults"),
        count("major_faults", "", "major page faults"),
        count("user_ticks", "ticks", "user time"),
        count("system_ticks", "ticks", "system time"),
        count("voluntary_switches", "", "voluntary context switches"),
        count("involuntary_switches", "", "involuntary context switches"),
        count("migrations", "", "CPU migrations"),
        count("pages_migrated", "pages", "pages migrated for it by NUMA balancing"),
        count("numa_faults", "", "NUMA hinting faults"),
        level("preferred_node", "node preferred by NUMA balancing"),
    ]
}

/// How many counters are of `schedstat`.
const TIMES: usize = 2;
/// Where the counters of the slower files begin, and end.
const DETAILS: usize = 8;
const EVENTS: usize = 14;

/// A thread that is watched.
struct Task {
    found: Found,
    /// When it began, by the kernel: with its number a name.
    started: u64,
    name: String,
    /// Where it was when it was last looked at.
    node: Option<u64>,
    schedstat: Option<Text>,
    stat: Option<Text>,
    /// Readings of `stat` when it slept, and how often it had been given a CPU by then: until it is again, nothing changes.
    asleep: Option<(u64, [Reading; DETAILS - TIMES])>,
    status: Option<Text>,
    sched: Option<Text>,
    events: Vec<EventGroup>,
}

/// A process that is watched.
struct Process {
    number: i32,
    maps: Option<Text>,
    due_ns: u64,
    /// How long after this reading the next is due.
    pace_ns: u64,
}

/// All threads and processes that descend from one.
pub(super) struct Tasks {
    files: KernelFiles,
    ancestor: i32,
    clock: Clock,
    counters: Vec<Counter>,
    objects: Vec<Object>,
    description: SourceDescription,
    node_of: Vec<Option<u64>>,
    /// Events of a thread, by groups that count together.
    groups: Vec<Vec<EventCode>>,
    user_only: bool,
    tasks: Vec<Task>,
    processes: Vec<Process>,
    keys: HashMap<(ObjectKind, i32, u64), u64>,
    /// The next key of a thread, and of a process.
    next: [u64; 2],
    memory: NodeMemory,
    nodes: Vec<usize>,
    page_kib: u64,
    look_due_ns: u64,
    details_due_ns: u64,
    changed: bool,
}

impl Tasks {
    pub(super) fn new(files: &KernelFiles, inventory: &Inventory, ancestor: i32, clock: Clock) -> Self {
        let mut description = SourceDescription { name: "threads and processes".to_owned(), ..Default::default() };
        description.sees.push("by thread: time, CPU, faults, context switches, migrations (/proc/PID/task)".to_owned());
        let own = |file: &str| {
            let path = format!("proc/self/{file}");
            std::fs::read(files.path(&path)).map_err(|error| no_file(file, &path, &error.to_string()))
        };
        for file in ["schedstat", "sched", "numa_maps"] {
            description.blind.extend(own(file).err());
        }
        let nodes: Vec<usize> = inventory.nodes.iter().map(|node| node.id.index()).collect();
        let mut counters = thread_counters();
        let (groups, user_only) = events(files, &mut counters, &mut description);
        let level = |name: &str, what: &str| Counter::level(ObjectKind::Process, name, "KiB", what);
        counters.push(level("kib_total", "resident memory"));
        counters.push(level("kib_near", "resident memory on the node of its threads"));
        for node in &nodes {
            let (small, huge) = (format!("kib_n{node}"), format!("huge_kib_n{node}"));
            let what = format!("resident memory on node {node}");
            counters.push(level(&small, &what));
            counters.push(level(&huge, &format!("{what}, in huge pages")));
        }
        if own("numa_maps").is_ok() {
            description.sees.push("by process: memory on each node (numa_maps), at most once a second".to_owned());
        }
        let last = inventory.cpus.iter().map(|cpu| cpu.id.index()).max().unwrap_or(0);
        let mut node_of = vec![None; last + 1];
        for cpu in &inventory.cpus {
            node_of[cpu.id.index()] = cpu.node.map(|node| u64::from(node.0));
        }
        let room = nodes.iter().max().map_or(0, |last| last + 1);
        Self {
            files: files.clone(),
            ancestor,
            clock,
            counters,
            objects: Vec::new(),
            description,
            node_of,
            groups,
            user_only,
            tasks: Vec::new(),
            processes: Vec::new(),
            keys: HashMap::new(),
            next: [0; 2],
            memory: NodeMemory { kib: vec![0; room], huge_kib: vec![0; room] },
            nodes,
            page_kib: inventory.page_size.0 / 1024,
            look_due_ns: 0,
            details_due_ns: 0,
            changed: false,
        }
    }

    /// A number that this thread or process keeps and no other gets.
    fn key(&mut self, kind: ObjectKind, number: i32, started: u64) -> u64 {
        let next = &mut self.next[usize::from(kind == ObjectKind::Process)];
        *self.keys.entry((kind, number, started)).or_insert_with(|| {
            *next += 1;
            *next - 1
        })
    }

    /// Begins to watch a thread; none if it is gone already.
    fn watch(&self, found: Found) -> Option<Task> {
        let folder = format!("proc/{}/task/{}", found.process, found.thread);
        let open = |file: &str| Text::open(&self.files.path(format!("{folder}/{file}"))).ok();
        let mut stat = open("stat")?;
        let (started, name) = task_stat(stat.read_whole().ok()?).map(|told| (told.started, told.name.to_owned()))?;
        let event =
            |codes: &Vec<EventCode>| EventGroup::open_with(codes, Scope::Thread(found.thread), self.user_only).ok();
        Some(Task {
            found,
            started,
            name,
            node: None,
            schedstat: open("schedstat"),
            stat: Some(stat),
            asleep: None,
            status: open("status"),
            sched: open("sched"),
            events: self.groups.iter().filter_map(event).collect(),
        })
    }

    /// Makes the objects anew, processes first.
    fn arrange(&mut self) {
        let mut objects = Vec::new();
        let mut process_keys: HashMap<i32, u64> = HashMap::new();
        let mut processes: Vec<(i32, u64)> = self
            .tasks
            .iter()
            .map(|task| (task.found.process, self.started_of(task.found.process, task.started)))
            .collect();
        processes.sort_unstable();
        processes.dedup_by_key(|(number, _)| *number);
        for (number, started) in processes {
            let key = self.key(ObjectKind::Process, number, started);
            process_keys.insert(number, key);
            let title = format!("{}:{number}", self.command(number));
            objects.push(Object { newborn: true, ..Object::new(ObjectKind::Process, key, format!("p{key}"), title) });
            if !self.processes.iter().any(|process| process.number == number) {
                let maps = Text::open(&self.files.path(format!("proc/{number}/numa_maps"))).ok();
                self.processes.push(Process { number, maps, due_ns: 0, pace_ns: FIRST_MAPS_NS });
            }
        }
        self.processes.retain(|process| process_keys.contains_key(&process.number));
        self.processes.sort_unstable_by_key(|process| process.number);
        for i in 0..self.tasks.len() {
            let Task { found, started, .. } = self.tasks[i];
            let key = self.key(ObjectKind::Thread, found.thread, started);
            let title = format!("{}:{}", self.tasks[i].name, found.thread);
            let object = Object::new(ObjectKind::Thread, key, format!("t{key}"), title);
            objects.push(Object { newborn: true, process: process_keys.get(&found.process).copied(), ..object });
        }
        self.objects = objects;
    }

    /// When a process began: its first thread did, if that is still there.
    fn started_of(&self, process: i32, otherwise: u64) -> u64 {
        let first = self.tasks.iter().find(|task| task.found.process == process && task.found.thread == process);
        first.map_or(otherwise, |task| task.started)
    }

    /// The name of a process's program, without its folder.
    fn command(&self, process: i32) -> String {
        let line = std::fs::read(self.files.path(format!("proc/{process}/cmdline"))).unwrap_or_default();
        let program = line.split(|&byte| byte == 0).next().unwrap_or_default();
        let program = String::from_utf8_lossy(program);
        let name = program.rsplit('/').next().unwrap_or_default();
        match name.is_empty() {
            true => {
                self.files.text(&format!("proc/{process}/comm")).ok().flatten().unwrap_or_default().trim().to_owned()
            }
            false => name.to_owned(),
        }
    }

    fn read_process(&mut self, process: usize, readings: &mut [Reading]) {
        let now = self.clock.now();
        let process = &mut self.processes[process];
        if now < process.due_ns {
            return;
        }
        let told = process.maps.as_mut().and_then(|maps| maps.read().ok());
        if let Some(text) = told {
            numa_maps(text, self.page_kib, &mut self.memory);
            let total: u64 = self.memory.kib.iter().sum();
            let threads = self.tasks.iter().filter(|task| task.found.process == process.number);
            let at = threads.filter_map(|task| self.memory.kib.get(usize::try_from(task.node?).ok()?).copied());
            let (near, threads) = at.fold((0, 0), |(sum, count), kib| (sum + kib, count + 1_u64));
            readings[0] = Reading::of(total);
            readings[1] = near.checked_div(threads).map_or(Reading::MISSING, Reading::of);
            for (readings, &node) in readings[2..].chunks_exact_mut(2).zip(&self.nodes) {
                readings
                    .copy_from_slice(&[Reading::of(self.memory.kib[node]), Reading::of(self.memory.huge_kib[node])]);
            }
        }
        let spent = self.clock.now() - now;
        process.due_ns = now + process.pace_ns.max(spent * PART);
        process.pace_ns = (process.pace_ns * 2).min(MAPS_NS);
    }
}

/// The events that threads can be counted for here, two in a group, and their counters.
fn events(
    files: &KernelFiles,
    counters: &mut Vec<Counter>,
    description: &mut SourceDescription,
) -> (Vec<Vec<EventCode>>, bool) {
    let (mut groups, mut refused): (Vec<Vec<NamedEvent>>, Vec<(String, &str)>) = (Vec::new(), Vec::new());
    let mut user_only = false;
    let paranoia = paranoia(files);
    for pair in hardware_events().chunks(2) {
        let mut group = Vec::new();
        for event in pair {
            match EventGroup::open(&[event.code], Scope::Thread(0)) {
                Ok((_, only)) => {
                    user_only |= only;
                    group.push(*event);
                }
                Err(error) => refused.push((why(&error, paranoia), event.name)),
            }
        }
        if !group.is_empty() {
            groups.push(group);
        }
    }
    for event in groups.iter().flatten() {
        counters.push(Counter::count(ObjectKind::Thread, event.name, event.unit, event.what).in_turns());
    }
    if !groups.is_empty() {
        let names: Vec<&str> = groups.iter().flatten().map(|event| event.name).collect();
        description.sees.push(format!("by thread, from its first sample: {}", names.join(", ")));
    }
    if user_only {
        let why = format!("kernel.perf_event_paranoid is {}", paranoia.unwrap_or_default());
        description.blind.push(Blind::new("kernel-mode events of threads", why, "sysctl kernel.perf_event_paranoid=1"));
    }
    refused.sort();
    for same in refused.chunk_by(|(a, _), (b, _)| a == b) {
        let names: Vec<&str> = same.iter().map(|(_, name)| *name).collect();
        let (why, advice) = same[0].0.split_once("; ").unwrap_or((&same[0].0, ""));
        description.blind.push(Blind::new(format!("by thread: {}", names.join(", ")), why, advice));
    }
    (groups.iter().map(|group| group.iter().map(|event| event.code).collect()).collect(), user_only)
}

impl Task {
    /// Reads the files that are quickly read; whether it has another name now.
    fn read_fast(&mut self, node_of: &[Option<u64>], readings: &mut [Reading]) -> bool {
        let (times, places) = readings[..DETAILS].split_at_mut(TIMES);
        let ran = self.schedstat.as_mut().and_then(|file| run_times(file.read_whole().ok()?));
        if let Some(ran) = ran {
            times.copy_from_slice(&[Reading::of(ran.run_ns), Reading::of(ran.wait_ns)]);
        }
        if let (Some((turns, told)), Some(ran)) = (&self.asleep, ran)
            && *turns == ran.turns
        {
            places.copy_from_slice(told);
            return false;
        }
        let Some(stat) = self.stat.as_mut().and_then(|file| task_stat(file.read_whole().ok()?)) else { return false };
        self.node = node_of.get(usize::from(stat.cpu)).copied().flatten();
        let counts = [stat.minor_faults, stat.major_faults, stat.user_ticks, stat.system_ticks];
        places[0] = Reading::of(u64::from(stat.cpu));
        places[1] = self.node.map_or(Reading::MISSING, Reading::of);
        places[2..].copy_from_slice(&counts.map(Reading::of));
        let sleeps = stat.state != 'R';
        self.asleep = ran.filter(|_| sleeps).and_then(|ran| Some((ran.turns, (&*places).try_into().ok()?)));
        let renamed = self.name != stat.name;
        if renamed {
            self.name = stat.name.to_owned();
        }
        renamed
    }

    fn read_details(&mut self, readings: &mut [Reading]) {
        if let Some(status) = self.status.as_mut().and_then(|file| task_status(file.read_whole().ok()?)) {
            readings[0] = Reading::of(status.voluntary);
            readings[1] = Reading::of(status.involuntary);
        }
        if let Some(sched) = self.sched.as_mut().and_then(|file| Some(task_sched(file.read_whole().ok()?))) {
            let told = [sched.migrations, sched.pages_migrated, sched.numa_faults, sched.preferred_node];
            for (reading, told) in readings[2..].iter_mut().zip(told) {
                *reading = told.map_or(Reading::MISSING, Reading::of);
            }
        }
    }

    fn read_events(&self, readings: &mut [Reading]) {
        let mut rest = readings.iter_mut();
        for group in &self.events {
            let Ok(answer) = group.read() else { return };
            for (reading, &count) in rest.by_ref().zip(answer.counts()).take(answer.counts().len()) {
                *reading = Reading::in_turns(count, answer.enabled_ns, answer.running_ns);
            }
        }
    }
}

impl CounterSource for Tasks {
    fn describe(&self) -> SourceDescription {
        self.description.clone()
    }

    fn counters(&self) -> &[Counter] {
        &self.counters
    }

    fn objects(&self) -> &[Object] {
        &self.objects
    }

    fn refresh(&mut self) -> bool {
        let now = self.clock.now();
        if now < self.look_due_ns {
            return false;
        }
        let found = descendants(&self.files, self.ancestor);
        let same = found.iter().eq(self.tasks.iter().map(|task| &task.found));
        let changed = !same || std::mem::take(&mut self.changed);
        if !same {
            let mut known: HashMap<Found, Task> = self.tasks.drain(..).map(|task| (task.found, task)).collect();
            let tasks = found.into_iter().filter_map(|found| known.remove(&found).or_else(|| self.watch(found)));
            self.tasks = tasks.collect();
        }
        if changed {
            self.arrange();
        }
        let spent = self.clock.now() - now;
        self.look_due_ns = now + (spent * PART).clamp(LOOK_NS, LOOK_AT_LEAST_NS);
        changed
    }

    fn now(&mut self) -> u64 {
        self.clock.now()
    }

    fn read(&mut self, readings: &mut [Reading]) {
        readings.fill(Reading::MISSING);
        let now = self.clock.now();
        let (per_process, per_thread) =
            (2 + 2 * self.nodes.len(), EVENTS + self.groups.iter().map(Vec::len).sum::<usize>());
        let (mut of_processes, mut of_threads) = readings.split_at_mut(self.processes.len() * per_process);
        let details = now >= self.details_due_ns;
        for task in &mut self.tasks {
            let (own, rest) = of_threads.split_at_mut(per_thread);
            self.changed |= task.read_fast(&self.node_of, own);
            if details {
                task.read_details(&mut own[DETAILS..EVENTS]);
            }
            task.read_events(&mut own[EVENTS..]);
            of_threads = rest;
        }
        if details {
            let spent = self.clock.now() - now;
            self.details_due_ns = now + DETAILS_NS.max(spent * PART);
        }
        // After the threads: what of its memory is near them depends on where they are.
        for process in 0..self.processes.len() {
            let (own, rest) = of_processes.split_at_mut(per_process);
            self.read_process(process, own);
            of_processes = rest;
        }
    }
}
