//! Programs that were recorded, replayed.

use std::path::Path;

use experiments::{Executable, Simulated, Simulation, Synchronisation};
use sim::{Mode, Options};
use workloads::{LockKind, Settings, Workload};

fn run(machine: &str, program: impl Into<Executable>, cpus: Option<u16>, options: Options) -> Simulated {
    let description = experiments::variant::resolve(machine).expect("a machine").description;
    Simulation::new(description, program, cpus, options).expect("it fits").run().expect("it runs")
}

/// Records `program` on a machine, and replays it on another.
fn recorded(folder: &Path, machine: &str, program: Workload, cpus: u16) -> (Simulated, Executable) {
    recorded_with(LockKind::default(), folder, machine, program, cpus)
}

/// The same of a program that takes such locks.
fn recorded_with(
    locks: LockKind,
    folder: &Path,
    machine: &str,
    program: Workload,
    cpus: u16,
) -> (Simulated, Executable) {
    let path = folder.join(format!("{}.references", program.name()));
    let description = experiments::variant::resolve(machine).expect("a machine").description;
    let simulation = Simulation::new(description, program, Some(cpus), Options::default()).expect("it fits");
    let synchronisation = Synchronisation { locks, ..Synchronisation::default() };
    let simulation = simulation.with_synchronisation(synchronisation).expect("there is room");
    let original = simulation.recorded_in(path.clone()).run().expect("it runs");
    let replay = Executable::named(path.to_str().expect("a name"), &Settings::default()).expect("a trace");
    (original, replay)
}

fn close(original: u64, replayed: u64, percent: u64, what: &str) {
    let most = original * percent / 100;
    assert!(original.abs_diff(replayed) <= most, "{what}: {replayed} replayed, {original} when recorded");
}

/// Programs whose threads share out their work beforehand refer to memory as they did, and miss as they did.
#[test]
fn a_static_program_misses_as_it_did() {
    let folder = tempfile::tempdir().expect("a folder");
    let machine = "origin2000-r12k-300-8p";
    for program in [
        Workload::new("swim", &Settings::default().with("side", 64).with("rounds", 1)),
        Workload::new("fft", &Settings::default().with("points", 4096)),
        Workload::new("radix", &Settings::default().with("keys", 8192)),
    ] {
        let program = program.expect("a program");
        let (original, replay) = recorded(folder.path(), machine, program, 8);
        let replayed = run(machine, replay, None, Options::default());
        let name = program.name();
        assert_eq!(replayed.row.cpus, 8);
        close(original.row.references, replayed.row.references, 1, name);
        close(original.row.secondary_misses, replayed.row.secondary_misses, 2, name);
        close(original.row.time_ns as u64, replayed.row.time_ns as u64, 3, name);
    }
}

/// Locks are taken in the recorded order, whatever the machine; look-ahead changes nothing.
#[test]
fn locks_keep_their_order_on_another_machine() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = Workload::new("raytrace", &Settings::default().with("pixels", 32)).expect("a program");
    for (locks, _) in LockKind::ALL {
        let (_, replay) = recorded_with(locks, folder.path(), "origin2000-r12k-300-8p", program, 8);
        let flash = |mode| run("flash-16p", replay.clone(), Some(8), Options { mode, ..Options::default() });
        let (ahead, lock_step) = (flash(Mode::default()), flash(Mode::LockStep));
        assert_eq!(ahead.row, lock_step.row);
        assert!(ahead.row.secondary_misses > 0);
    }
}

#[test]
fn a_trace_that_was_cut_off_is_replayed_to_its_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = Workload::new("counters", &Settings::default()).expect("a program");
    recorded(folder.path(), "origin2000-r12k-300-8p", program, 8);
    let path = folder.path().join("counters.references");
    let bytes = std::fs::read(&path).expect("recorded");
    // Several of the threads have lost all that they did.
    std::fs::write(&path, &bytes[..bytes.len() * 2 / 3]).expect("written");
    let replay = Executable::named(path.to_str().expect("a name"), &Settings::default()).expect("a trace");
    assert!(replay.remarks().iter().any(|remark| remark.contains("cut off")));
    let threads = replay.threads().expect("so many") as u16;
    assert!(threads < 8);
    run("origin2000-r12k-300-8p", replay, Some(threads), Options::default());
}

/// A file without a single block holds nothing to replay: the reason and the place are told.
#[test]
fn a_trace_that_was_cut_off_before_its_first_block_is_refused_with_the_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = Workload::new("counters", &Settings::default()).expect("a program");
    recorded(folder.path(), "origin2000-r12k-300-8p", program, 2);
    let path = folder.path().join("counters.references");
    let bytes = std::fs::read(&path).expect("recorded");
    // The header is behind 20 bytes of magic, its length and its checksum, of four bytes each.
    let header = 28 + u32::from_le_bytes([20, 21, 22, 23].map(|at| bytes[at])) as usize;
    // At the end of the header, and within the frame of the first block.
    for cut in [header, header + 10] {
        std::fs::write(&path, &bytes[..cut]).expect("written");
        let named = Executable::named(path.to_str().expect("a name"), &Settings::default());
        let error = named.map(drop).expect_err("nothing is left").to_string();
        let expected = format!(
            "counters: no thread refers to memory in this trace; {}: cut off after {header} bytes: what was recorded up to there \
             is read; record again for the rest",
            path.display()
        );
        assert_eq!(error, expected);
    }
}

#[test]
fn the_number_of_threads_is_the_traces() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = Workload::new("private", &Settings::default()).expect("a program");
    let (_, replay) = recorded(folder.path(), "origin2000-r12k-300-8p", program, 4);
    let description = experiments::variant::resolve("origin2000-r12k-300-8p").expect("a machine").description;
    let error = Simulation::new(description, replay.clone(), Some(3), Options::default()).expect_err("it cannot");
    let problem = "--cpus 3: the trace of private has 4 threads; accepted: 4, on a machine with at least 4 CPUs";
    assert_eq!(error.to_string(), problem);
    let small = experiments::variant::resolve("flash-3p").expect("a machine").description;
    let error = Simulation::new(small, replay, None, Options::default()).expect_err("it has too few processors");
    assert_eq!(error.to_string(), problem);
}

/// A trace that is damaged after it was opened ends the run with the place, although others wait for the thread.
#[test]
fn a_trace_that_is_damaged_while_it_is_replayed_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = Workload::new("counters", &Settings::default()).expect("a program");
    let (_, replay) = recorded(folder.path(), "origin2000-r12k-300-8p", program, 8);
    let path = folder.path().join("counters.references");
    let mut bytes = std::fs::read(&path).expect("recorded");
    let half = bytes.len() / 2;
    bytes[half..].iter_mut().for_each(|byte| *byte ^= 0x55);
    std::fs::write(&path, &bytes).expect("written");
    let description = experiments::variant::resolve("origin2000-r12k-300-8p").expect("a machine").description;
    let simulation = Simulation::new(description, replay, None, Options::default()).expect("it fits");
    let error = simulation.run().expect_err("it is damaged").to_string();
    let start = format!("{}: at byte ", path.display());
    assert!(error.starts_with(&start) && error.contains("is not as it was when the file was opened"), "{error}");
}
