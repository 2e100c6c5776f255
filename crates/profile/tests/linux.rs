//! Sources of counters of a computer, from copies of its files: a server with two nodes, one without anything, this one.

use std::fs;
use std::path::Path;

use host::discovery::{Inventory, KernelFiles};
use profile::linux::{Wanted, sources};
use profile::session::{Keeper, Program, drive, exit_event};
use profile::{CounterSource, Live, Reading, Readings, Sampler, Sink};
use trace::{Event, Object, ObjectKind, TraceWriter, Value, WriteError};

/// Writes files of a computer.
fn write(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// Two nodes of two CPUs each, with NUMA balancing, resctrl and a memory controller that nobody may open.
fn server() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    write(
        root.path(),
        &[
            ("sys/devices/system/cpu/online", "0-3\n"),
            ("sys/devices/system/cpu/present", "0-3\n"),
            ("sys/devices/system/node/online", "0-1\n"),
            ("sys/devices/system/node/has_memory", "0-1\n"),
            (
                "proc/stat",
                "cpu 9 9 9 9\ncpu0 10 0 0 90\ncpu1 20 0 0 80\ncpu2 30 0 0 70 0 0 0 5\ncpu3 40 0 0 60\nintr 3\n",
            ),
            ("proc/vmstat", "nr_free_pages 1\nnuma_hit 5\nnuma_hint_faults 7\npgfault 99\npgmigrate_success 3\n"),
            ("proc/sys/kernel/perf_event_paranoid", "4\n"),
            ("proc/sys/kernel/numa_balancing", "0\n"),
            ("proc/filesystems", "nodev\tproc\nnodev\tresctrl\n"),
            ("proc/self/status", "Cpus_allowed_list:\t0-3\nMems_allowed_list:\t0-1\n"),
        ],
    );
    for node in 0..2 {
        let folder = format!("sys/devices/system/node/node{node}");
        let total = 1000 + node;
        write(
            root.path(),
            &[
                (&format!("{folder}/cpulist"), if node == 0 { "0-1\n" } else { "2-3\n" }),
                (&format!("{folder}/distance"), if node == 0 { "10 20\n" } else { "20 10\n" }),
                (&format!("{folder}/numastat"), "numa_hit 1\nnuma_miss 2\nlocal_node 30\nother_node 10\n"),
                (&format!("{folder}/vmstat"), "nr_free_pages 77\nnr_anon_pages 5\npgpromote_success 4\n"),
                (
                    &format!("{folder}/meminfo"),
                    &format!(
                        "Node {node} MemTotal: {total} kB\nNode {node} MemFree: 600 kB\nNode {node} MemUsed: 400 kB\n"
                    ),
                ),
                (&format!("sys/devices/system/cpu/cpu{}/cache/index3/id", 2 * node), &format!("{node}\n")),
                (&format!("sys/fs/resctrl/mon_data/mon_L3_0{node}/mbm_total_bytes"), &format!("{}\n", 5000 + node)),
                (&format!("sys/fs/resctrl/mon_data/mon_L3_0{node}/mbm_local_bytes"), "Unavailable\n"),
            ],
        );
    }
    root
}

/// All counters of an object by name, of those that could be read.
fn read(source: &mut dyn CounterSource, object: &str) -> Vec<(String, u64)> {
    let layout = Readings::new(source.counters());
    let mut readings = vec![Reading::MISSING; layout.of(source.objects())];
    source.read(&mut readings);
    let mut start = 0;
    for known in source.objects() {
        let end = start + layout.of_kind(known.kind);
        if known.name == object {
            let counters = source.counters().iter().filter(|counter| counter.of == known.kind);
            let read = counters.zip(&readings[start..end]).filter(|(_, reading)| reading.present);
            return read.map(|(counter, reading)| (counter.name.clone(), reading.raw)).collect();
        }
        start = end;
    }
    panic!("there is no {object}");
}

#[test]
fn a_server_tells_of_its_nodes_and_says_what_it_does_not() {
    let root = server();
    let files = KernelFiles::at(root.path());
    let inventory = Inventory::discover(&files).unwrap();
    let mut all = sources(&files, &inventory, &Wanted::default()).unwrap();
    let node = read(&mut all, "n1");
    let value = |name: &str| node.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
    assert_eq!((value("cpu_busy"), value("cpu_idle"), value("cpu_stolen")), (Some(70), Some(130), Some(5)));
    assert_eq!((value("local_node"), value("other_node"), value("pgpromote_success")), (Some(30), Some(10), Some(4)));
    assert_eq!((value("memtotal"), value("memused"), value("nr_free_pages")), (Some(1001), Some(400), Some(77)));
    assert_eq!((value("mbm_total_bytes"), value("mbm_local_bytes")), (Some(5001), None));
    let told: Vec<_> = all.descriptions().into_iter().flat_map(|source| source.blind).collect();
    let why = |what: &str| told.iter().find(|blind| blind.what.contains(what)).map(|blind| blind.why.as_str());
    assert!(why("NUMA hinting faults").is_some_and(|why| why.contains("disabled")), "{told:?}");
    assert!(why("memory controller").is_none() && why("interconnect traffic").is_some(), "{told:?}");
    assert!(why("local/remote split").is_none(), "two nodes: {told:?}");
}

/// No sysfs but the CPUs, no numastat, no vmstat, one node: what there is is told, and what is missing, too.
#[test]
fn a_computer_that_tells_nothing_is_no_failure() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), &[("sys/devices/system/cpu/online", "0\n"), ("sys/devices/system/cpu/present", "0\n")]);
    let files = KernelFiles::at(root.path());
    let inventory = Inventory::discover(&files).unwrap();
    let all = sources(&files, &inventory, &Wanted { descendants: true, ..Wanted::default() }).unwrap();
    let blind: Vec<_> = all.descriptions().into_iter().flat_map(|source| source.blind).collect();
    for what in ["numastat", "CPU time", "vmstat", "memory bandwidth", "local/remote split", "schedstat"] {
        assert!(blind.iter().any(|blind| blind.what.contains(what) && !blind.why.is_empty()), "{what}: {blind:?}");
    }
    // Readings that belong to no node or thread count nothing.
    let mut all = all;
    all.refresh();
    let mut readings = vec![Reading::MISSING; Readings::new(all.counters()).of(all.objects())];
    all.read(&mut readings);
    assert!(readings.iter().zip(0..).all(|(reading, _)| !reading.present || reading.raw < u64::MAX));
}

#[test]
fn events_that_are_not_there_are_refused_with_what_is() {
    let root = server();
    write(
        root.path(),
        &[
            ("sys/bus/event_source/devices/uncore_imc_0/type", "13\n"),
            ("sys/bus/event_source/devices/uncore_imc_0/cpumask", "0\n"),
            ("sys/bus/event_source/devices/uncore_imc_0/format/event", "config:0-7\n"),
            ("sys/bus/event_source/devices/uncore_imc_0/events/reads", "event=4\n"),
        ],
    );
    let files = KernelFiles::at(root.path());
    let inventory = Inventory::discover(&files).unwrap();
    let ask = |event: &str| {
        let wanted = Wanted { events: vec![event.to_owned()], ..Wanted::default() };
        sources(&files, &inventory, &wanted).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let said = ask("uncore_upi/x/");
    assert!(said.contains("no monitoring unit `uncore_upi`") && said.contains("uncore_imc"), "{said}");
    let said = ask("uncore_imc/umask=1/");
    assert!(said.contains("accepted: event") && said.contains("reads"), "{said}");
}

/// A trace that makes a file when a process is called `sleep`.
struct Awaited<'a> {
    writer: &'a mut TraceWriter<Vec<u8>>,
    seen: std::path::PathBuf,
}

impl Awaited<'_> {
    fn look(&self, title: &str) {
        if title.starts_with("sleep:") {
            fs::write(&self.seen, "").unwrap();
        }
    }
}

impl Sink for Awaited<'_> {
    fn object(&mut self, time_ns: u64, object: &Object) -> Result<(), WriteError> {
        self.look(&object.title);
        Sink::object(self.writer, time_ns, object)
    }

    fn event(&mut self, time_ns: u64, event: &Event) -> Result<(), WriteError> {
        if let Event::Renamed { title, .. } = event {
            self.look(title);
        }
        Sink::event(self.writer, time_ns, event)
    }

    fn sample(&mut self, time_ns: u64, index: u32, values: &[Value]) -> Result<(), WriteError> {
        Sink::sample(self.writer, time_ns, index, values)
    }
}

impl Keeper for Awaited<'_> {}

/// A program of two processes, on this computer.
#[test]
fn threads_and_children_of_a_program_are_followed() {
    let files = KernelFiles::live();
    let inventory = Inventory::discover(&files).unwrap();
    let mut all = sources(&files, &inventory, &Wanted { descendants: true, ..Wanted::default() }).unwrap();
    let mut sampler = Sampler::new(all.counters(), Some(2_000_000));
    let mut writer = TraceWriter::new(Vec::new(), &Default::default(), all.counters()).unwrap();
    // The child lives until it has been seen, however seldom anybody looks; then the shell ends with a status of its own.
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    let script = "sleep 6000 & while [ ! -e \"$0\" ]; do :; done; kill $!; exit 7";
    let command = ["sh".into(), "-c".into(), script.into(), seen.clone().into_os_string()];
    let mut program = Program::start(&command, &mut all).unwrap();
    let mut both = Awaited { writer: &mut writer, seen };
    drive(&mut all, &mut sampler, &mut both, |_, _| {
        Ok::<_, trace::WriteError>(match program.ended() {
            Some(status) => std::ops::ControlFlow::Break(Some(exit_event(status))),
            None => std::ops::ControlFlow::Continue(()),
        })
    })
    .unwrap();
    let trace = trace::Trace::read(&writer.finish().unwrap()[..]).unwrap();
    assert_eq!(trace.warnings, []);
    let titles = |kind| {
        let of_kind = trace.objects.iter().filter(move |object| object.kind == kind);
        of_kind.map(|object| object.title.split(':').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let processes = titles(ObjectKind::Process);
    assert!(processes.contains(&"sh".to_owned()), "{processes:?}");
    // The child begins as a copy of the shell, and is seen as sleep from its exec on.
    let renamed = trace
        .events
        .iter()
        .any(|(_, event)| matches!(event, Event::Renamed { title, .. } if title.starts_with("sleep:")));
    assert!(renamed || processes.contains(&"sleep".to_owned()), "{processes:?} {:?}", trace.events);
    assert!(trace.events.iter().any(|(_, event)| matches!(event, Event::Exit { code: Some(7), .. })));
    let shell =
        trace.objects.iter().position(|object| object.kind == ObjectKind::Thread && object.title.starts_with("sh:"));
    let shell = shell.expect("the shell's thread");
    let ran = trace.ticks().flat_map(|tick| tick.rows().collect::<Vec<_>>()).filter(|(object, _)| *object == shell);
    let ran = ran.filter_map(|(_, values)| values[0].total).max().unwrap_or(0);
    // Where schedstat is told at all, a loop takes some time.
    assert!(ran > 0 || fs::read("/proc/self/schedstat").is_err(), "{ran} ns");
}

#[test]
fn sources_without_objects_make_no_rows() {
    let (mut live, files) = (Live::new(Vec::new(), &[]), KernelFiles::live());
    let inventory = Inventory::discover(&files).unwrap();
    let mut all = sources(&files, &inventory, &Wanted::default()).unwrap();
    let mut sampler = Sampler::new(all.counters(), None);
    sampler.refresh(&mut all, &mut live).unwrap();
    sampler.sample(&mut all, &mut live).unwrap();
    assert!(live.objects().iter().all(|object| object.kind != ObjectKind::Thread));
    assert!(live.sampled().count() >= inventory.nodes.len());
}
