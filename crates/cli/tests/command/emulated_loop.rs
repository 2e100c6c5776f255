//! The loop of a server on AArch64, under QEMU's user-mode emulation: a Neoverse N1 is measured, described from its records (by this
//! computer's command), loaded, set beside what was measured, and simulated, by the command as it is built for AArch64.
//!
//! Skipped, with a line that says so, where the Rust target or the emulator is missing. An emulator has its own idea of time: figures
//! are asserted to be there, and to be figures.

#![cfg(not(target_arch = "aarch64"))]

#[path = "../../../host/tests/computers/builder.rs"]
#[allow(dead_code, reason = "each test file uses what it needs")]
mod builder;
#[path = "../../../host/tests/emulated/aarch64/emulator.rs"]
#[allow(dead_code, reason = "each test file uses what it needs")]
mod emulator;

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::common::ccnuma_in;
use builder::{Computer, Place};
use emulator::{Emulator, IMPLEMENTER_AND_PART};
use host::discovery::{Inventory, KernelFiles};
use serde_json::Value;
use units::{CpuId, NodeId};

/// Cores of the emulated computer, where this one has as many.
const CORES: usize = 2;
/// Memory of its only node.
const MEMORY_MIB: u64 = 2048;

/// An emulator, the computer whose kernel's files emulated programs see, and the folder that they run in.
struct Emulated {
    emulator: Emulator,
    computer: Computer,
    folder: tempfile::TempDir,
}

impl Emulated {
    /// The output of the command built for AArch64, whose arguments are the words of `line`.
    #[track_caller]
    fn run(&self, line: &str) -> String {
        let mut command = self.emulator.program("ccnuma", self.computer.root());
        command.args(line.split_whitespace()).current_dir(self.folder.path());
        printed(line, &command.output().expect("the emulator was there a moment ago"))
    }

    /// The output of this computer's command in the same folder.
    #[track_caller]
    fn run_here(&self, line: &str) -> String {
        let output = ccnuma_in(self.folder.path(), line);
        assert_eq!(output.status.code(), Some(0), "ccnuma {line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// This computer's command describes what was measured: a fit simulates, for minutes where it is emulated.
    #[track_caller]
    fn describe_here(&self) {
        let line = "fit all.jsonl --machine-out mine.toml";
        printed(line, &ccnuma_in(self.folder.path(), line));
    }

    fn text(&self, file: &str) -> String {
        fs::read_to_string(self.folder.path().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }
}

/// The output of a command, which must have measured everything and ended well. By an emulator's time a description need not be
/// confirmed.
#[track_caller]
fn printed(line: &str, output: &Output) -> String {
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let well = output.status.success() || errors.contains("NOT CONFIRMED");
    assert!(well && !errors.contains("not measured"), "ccnuma {line}: {}\n{errors}\n{text}", output.status);
    text.into_owned()
}

/// The records among lines of text.
fn rows(text: &str) -> Vec<Value> {
    let records = text.lines().filter(|line| line.starts_with('{'));
    records.map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))).collect()
}

/// A Neoverse N1 of a core for each of `cpus`, with a small third-level cache, as the Linux of an AArch64 server shows it. Memory has
/// the number of a node that this process may use, and base pages alone, since an emulator does not show which pages are huge.
fn neoverse(cpus: &[CpuId], node: NodeId) -> Computer {
    let all = units::ranges(cpus.iter().map(|cpu| cpu.0));
    let computer = Computer::new(&all, &all);
    let (implementer, part) = IMPLEMENTER_AND_PART;
    let core = |cpu: &CpuId| format!("processor\t: {cpu}\nCPU implementer\t: {implementer}\nCPU part\t: {part}\n");
    computer.file("proc/cpuinfo", &cpus.iter().map(core).collect::<String>());
    for (core, &cpu) in (0..).zip(cpus) {
        let own = cpu.to_string();
        let untold = Place { die: -1, cluster: -1, ..Place::default() };
        computer.cpu(cpu.0, Place { core, core_cpus: &own, socket_cpus: &all, ..untold });
        computer.cache(cpu.0, 0, (1, "Data", "64K", 4), &own);
        computer.cache(cpu.0, 1, (1, "Instruction", "64K", 4), &own);
        computer.cache(cpu.0, 2, (2, "Unified", "1024K", 8), &own);
        computer.cache(cpu.0, 3, (3, "Unified", "4096K", 16), &all);
    }
    computer.file("sys/devices/system/node/online", &node.to_string());
    computer.node(node.0, &all, MEMORY_MIB << 10, "10");
    computer.file("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]");
    for file in ["current_clocksource", "available_clocksource"] {
        computer.file(&format!("sys/devices/system/clocksource/clocksource0/{file}"), "arch_sys_counter");
    }
    computer
}

/// The emulated computer, with the command built for it; none where there is no emulator.
fn emulated() -> Option<(Emulated, usize)> {
    let emulator = Emulator::find("the loop of a server on AArch64")?;
    let own = Inventory::discover(&KernelFiles::live()).expect("this computer's");
    let cpus: Vec<CpuId> = own.usable_cpus().into_iter().take(CORES).collect();
    let node = own.usable_nodes().first().copied().unwrap_or_default();
    let built = emulator
        .cargo("build", Path::new(env!("CARGO_MANIFEST_DIR")))
        // The full-screen view takes long to compile and shows nothing here.
        .args(["--bin", "ccnuma", "--no-default-features"])
        .output()
        .expect("cargo runs, as it runs this test");
    assert!(built.status.success(), "for AArch64:\n{}", String::from_utf8_lossy(&built.stderr));
    let folder = tempfile::tempdir().expect("a folder");
    Some((Emulated { emulator, computer: neoverse(&cpus, node), folder }, cpus.len()))
}

#[track_caller]
fn is_figure(row: &Value, key: &str) {
    assert!(row[key].as_f64().is_some_and(|value| value.is_finite() && value > 0.0), "no {key} in {row}");
}

/// The records are of the computer that the kernel's files show, and every kind of figure that a fit needs is among them.
fn check_records(records: &[Value], cores: usize) {
    let computer = records.iter().find(|row| row["record"] == "computer").expect("its structure");
    assert_eq!((computer["vendor"].as_str(), computer["model"].as_str()), (Some("Arm"), Some("Neoverse-N1")));
    assert_eq!(computer["cores"].as_array().map(Vec::len), Some(cores), "{computer}");
    let measurements = || records.iter().filter(|row| row["record"] == "measurement");
    for row in measurements() {
        ["min", "median", "max", "clock_mhz"].iter().for_each(|key| is_figure(row, key));
    }
    let alone = [("area-read", "UOWN"), ("lmbench-read", "UOWN"), ("bw-read", "UOWN"), ("stream-triad", "UOWN")];
    let between_cores = [("lmbench-read", "DEXD"), ("lmbench-read", "CEXH"), ("lmbench-cas", "DEXT")];
    let wanted = alone.iter().chain(between_cores.iter().filter(|_| cores > 1));
    for &(experiment, state) in wanted {
        let found = measurements().any(|row| row["experiment"] == experiment && row["state"] == state);
        assert!(found, "{experiment} {state} was not measured");
    }
}

/// The description has what was announced and measured, each value with its origin, and the family that stands in for the maker's.
fn check_description(text: &str, cores: usize) {
    for origin in ["# announced", "# measured", "# calibrated: load, local memory", "# default: ", "# assumed"] {
        assert!(text.contains(origin), "no {origin} in\n{text}");
    }
    assert!(text.contains("# not described: the family of Arm's processors"), "{text}");
    let described: toml::Table = text.parse().expect("TOML");
    assert_eq!(described["title"].as_str(), Some("as measured: Neoverse-N1"));
    let value = |table: &str, key: &str| described[table][key].as_integer();
    assert_eq!(value("topology", "processors"), Some(cores as i64));
    assert_eq!(value("topology", "node_memory_mib"), Some(MEMORY_MIB as i64));
    assert_eq!((value("l1", "size_kib"), value("l1", "ways")), (Some(64), Some(4)));
    assert_eq!((value("l2", "size_mib"), value("l2", "ways")), (Some(1), Some(8)));
}

/// The simulation of the described machine has a figure beside each that was measured.
fn check_against(found: &[Value], records: &[Value]) {
    let measurements = records.iter().filter(|row| row["record"] == "measurement").count();
    assert_eq!(found.len(), measurements);
    for row in found {
        ["value", "held"].iter().for_each(|key| is_figure(row, key));
    }
}

/// The record of a run among what was printed, without what tells of the program that made it.
fn run_of(printed: &str) -> Value {
    let mut row = rows(printed).pop().expect("a record");
    let fields = row.as_object_mut().expect("fields");
    for provenance in ["commit", "date", "command", "host", "host_processor", "host_kernel"] {
        fields.remove(provenance);
    }
    row
}

#[test]
fn a_neoverse_is_measured_described_loaded_and_simulated() {
    let Some((emulated, cores)) = emulated() else { return };
    emulated.run("bench --suite fit --iterations 2 --lines 256 --array 1024 --json=all.jsonl");
    let records = rows(&emulated.text("all.jsonl"));
    check_records(&records, cores);

    emulated.describe_here();
    check_description(&emulated.text("mine.toml"), cores);
    assert!(emulated.run("machines show mine.toml").contains("as measured: Neoverse-N1"));
    check_against(&rows(&emulated.run_here("bench -m mine.toml --against all.jsonl --json")), &records);

    // A simulation is the same on every computer.
    let line = "sim -m mine.toml fft --points 256 --json";
    let run = run_of(&emulated.run(line));
    is_figure(&run, "time_ns");
    assert_eq!(run, run_of(&emulated.run_here(line)));
}
