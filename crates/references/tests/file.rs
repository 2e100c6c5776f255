//! Our own file: what is recorded is read, thread by thread; what is cut off is read up to there, and what is damaged refused.

use std::path::Path;

use proptest::prelude::*;
use references::{Access, AccessKind, Event, Header, Memory, Recorder, ReferenceError, Warning, open};

fn load(address: u64) -> Event {
    Event::Access(Access { kind: AccessKind::Load, dependent: address.is_multiple_of(3), bytes: 8, address })
}

/// Three threads, the second with nothing, and enough events for several blocks.
fn recorded(path: &Path, events: u64) -> [Vec<Event>; 3] {
    let header = Header { program: "swim".to_owned(), synchronised: true, ..Header::default() };
    let mut recorder = Recorder::create(path, &header).expect("created");
    let mut expected = [Vec::new(), Vec::new(), Vec::new()];
    for step in 0..events {
        let thread = step as usize % 2 * 2;
        let event = if step % 1000 == 999 { Event::Barrier } else { load(step * step % 100_003 * 8) };
        recorder.record(thread, event);
        expected[thread].push(event);
    }
    recorder.finish().expect("written");
    expected
}

/// The events of a thread in the trace at `path`.
fn read(path: &Path, thread: usize) -> Vec<Event> {
    let mut events = open(path).expect("a trace").events(thread).expect("there");
    events.gathered().expect("read to its end")
}

#[test]
fn what_is_recorded_is_read_by_thread() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("swim.references");
    let expected = recorded(&path, 100_000);
    let trace = open(&path).expect("it is read");
    assert_eq!((trace.header().program.as_str(), trace.header().threads), ("swim", 3));
    assert!(trace.warnings().is_empty());
    for (thread, expected) in expected.iter().enumerate() {
        assert!(read(&path, thread) == *expected, "thread {thread}");
    }
    assert_eq!(read(&path, 3), []);
    let bytes = std::fs::metadata(&path).expect("there").len();
    assert!(bytes < 500_000, "five bytes a random reference, not {bytes} for a hundred thousand");
}

/// The summary is what reading all events finds.
#[test]
fn the_memory_in_use_is_told_without_reading_the_events() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("swim.references");
    let mut recorder = Recorder::create(&path, &Header::default()).expect("created");
    for step in 0..5000_u64 {
        recorder.record(0, load(step * step % 100_003 * 80));
        recorder.record(1, load(0x10_0000_0000 + 8 * step));
        recorder.change(1, 64 + step % 3 * 8);
    }
    // An access that reaches into further memory after one that does not, and one by the shorter way.
    let narrow = Access { kind: AccessKind::Store, dependent: false, bytes: 16, address: 0x7000_03f0 };
    recorder.record(0, Event::Access(narrow));
    recorder.record(0, Event::Access(Access { bytes: 17, ..narrow }));
    recorder.refer(1, 3, 0x40_0000, Access { address: 0x9000_0000, ..narrow });
    recorder.finish().expect("written");
    let trace = open(&path).expect("it is read");
    let memory = trace.memory().expect("it is told");
    assert_eq!(*memory, Memory::of(&*trace).expect("it is read"));
    assert_eq!(memory.changes, [(64, 1667), (72, 1667), (80, 1666)]);
    assert!(memory.grains.contains(&(0x7000_0000 / 1024..0x7000_0000 / 1024 + 2)), "{memory:?}");
}

/// Data that wait to be written are a block of each thread, however long they run.
#[test]
fn what_threads_do_is_written_while_they_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("long.references");
    let mut recorder = Recorder::create(&path, &Header::default()).expect("created");
    let length = || std::fs::metadata(&path).expect("there").len();
    let mut lengths = vec![length()];
    for block in 0..8_u64 {
        // Some three bytes each: more than a block.
        (0..30_000).for_each(|step| recorder.record(0, load((block + step * step) % 100_003 * 8)));
        lengths.push(length());
    }
    assert!(lengths.windows(2).all(|pair| pair[0] < pair[1]), "{lengths:?}");
    recorder.finish().expect("written");
    assert!(length() - lengths[8] < 96 << 10, "{lengths:?} and {} in the end", length());
}

/// However well a thread's steps are foretold, they are written every million.
#[test]
fn a_long_loop_is_written_while_it_runs_and_read_block_by_block() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("loop.references");
    let mut recorder = Recorder::create(&path, &Header::default()).expect("created");
    let length = || std::fs::metadata(&path).expect("there").len();
    let before = length();
    let address = |step: u64| step % 4096 * 8;
    let access = |step: u64| Access { kind: AccessKind::Load, dependent: false, bytes: 8, address: address(step) };
    let steps = (1 << 20) + 5000;
    for step in 0..steps {
        recorder.refer(0, 2, 0x40_0000, access(step));
        if step == (1 << 20) - 2 {
            // The step that fills the block is told late, with two more.
            let events = [Event::Instructions(1), Event::Site(7), Event::Barrier];
            events.into_iter().for_each(|event| recorder.record(0, event));
        }
    }
    assert!(length() > before, "a million steps are more than a block");
    recorder.finish().expect("written");
    assert!(length() - before < steps / 1000, "{} bytes for {steps} references", length() - before);

    let mut events = open(&path).expect("a trace").events(0).expect("there");
    let (mut accesses, mut sum) = (0, 0);
    let each = |step: references::Step| {
        if let (_, Event::Access(access)) = step.parts() {
            (accesses, sum) = (accesses + 1, sum + access.address);
        }
    };
    events.for_each(each).expect("read");
    assert_eq!((accesses, sum), (steps, (0..steps).map(address).sum()));
}

#[test]
fn changes_are_counted_and_awaited_in_their_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lock.references");
    let mut recorder = Recorder::create(&path, &Header::default()).expect("created");
    recorder.saw(1, 64, 8);
    recorder.change(0, 64);
    recorder.saw(1, 64, 8);
    recorder.change(1, 64);
    recorder.finish().expect("written");
    assert_eq!(read(&path, 0), [Event::Change { address: 64 }]);
    let plain = Event::Access(Access { kind: AccessKind::Load, dependent: false, bytes: 8, address: 64 });
    assert_eq!(read(&path, 1), [plain, Event::Await { address: 64, changes: 1 }, Event::Change { address: 64 }]);
}

#[test]
fn a_file_of_another_version_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("old.references");
    std::fs::write(&path, b"ccnuma-references 1\n\x40\0\0\0{\"program\":\"swim\"}").expect("written");
    let error = open(&path).map(drop).expect_err("it is old").to_string();
    assert_eq!(
        error,
        format!("{}: recorded references of version 1; accepted: version 3; record the program again", path.display())
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// A file that was cut off is read up to the last whole block, and that is told.
    #[test]
    fn a_file_that_was_cut_off_is_read_as_far_as_it_goes(cut in 0.0..1.0_f64) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("cut.references");
        let expected = recorded(&path, 60_000);
        let bytes = std::fs::read(&path).expect("there");
        let left = (bytes.len() as f64 * cut) as usize;
        std::fs::write(&path, &bytes[..left]).expect("written");
        if let Ok(trace) = open(&path) {
            for (thread, expected) in expected.iter().enumerate() {
                prop_assert!(expected.starts_with(&read(&path, thread)), "thread {thread}");
            }
            let whole = match trace.warnings() {
                [Warning::CutOff { bytes, .. }] => *bytes,
                other => return Err(TestCaseError::fail(format!("{other:?}"))),
            };
            prop_assert!(whole <= left as u64 && trace.memory().is_none());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A byte that has changed is noticed when the file is opened, and where it is.
    #[test]
    fn a_damaged_file_is_refused(place in 0.0..1.0_f64, byte in 1..=u8::MAX) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("damaged.references");
        recorded(&path, 3000);
        let mut bytes = std::fs::read(&path).expect("there");
        let place = (bytes.len() as f64 * place) as usize;
        bytes[place] ^= byte;
        std::fs::write(&path, &bytes).expect("written");
        match open(&path).map(drop) {
            Err(ReferenceError::Damaged { path: named, at, .. }) => prop_assert!(named == path && at <= place as u64),
            Err(ReferenceError::Version { .. } | ReferenceError::Unknown { .. }) => prop_assert!(place < 20),
            other => return Err(TestCaseError::fail(format!("byte {place}: {other:?}"))),
        }
    }

    /// Whatever follows the first line, opening ends, and so does reading.
    #[test]
    fn foreign_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("foreign.references");
        std::fs::write(&path, [b"ccnuma-references 3\n", &bytes[..]].concat()).expect("written");
        prop_assert!(open(&path).is_err());
    }
}

#[test]
fn what_is_appended_is_noticed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("two.references");
    recorded(&path, 3000);
    let mut bytes = std::fs::read(&path).expect("there");
    let length = bytes.len();
    bytes.extend_from_within(..);
    std::fs::write(&path, &bytes).expect("written");
    let error = open(&path).map(drop).expect_err("it is two").to_string();
    assert!(error.ends_with(&format!("at byte {length}: it goes on after its end")), "{error}");
}
