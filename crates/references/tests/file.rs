//! Our own file: what is recorded is read, thread by thread, and as far as there is something to read.

use proptest::prelude::*;
use references::{Access, AccessKind, Event, Header, Recorder, Warning, open};

fn load(address: u64) -> Event {
    Event::Access(Access { kind: AccessKind::Load, dependent: address.is_multiple_of(3), bytes: 8, address })
}

/// Three threads, the last with nothing, and enough events for several blocks.
fn recorded(path: &std::path::Path, events: u64) -> [Vec<Event>; 3] {
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

#[test]
fn what_is_recorded_is_read_by_thread() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("swim.references");
    let expected = recorded(&path, 100_000);
    let trace = open(&path).expect("it is read");
    assert_eq!((trace.header().program.as_str(), trace.header().threads), ("swim", 3));
    assert!(trace.warnings().is_empty());
    for (thread, expected) in expected.iter().enumerate() {
        assert!(trace.events(thread).expect("there").eq(expected.iter().copied()), "thread {thread}");
    }
    assert_eq!(trace.events(3).expect("there").count(), 0);
    let bytes = std::fs::metadata(&path).expect("there").len();
    assert!(bytes < 500_000, "five bytes a random reference, not {bytes} for a hundred thousand");
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
    let trace = open(&path).expect("it is read");
    let first: Vec<_> = trace.events(0).expect("there").collect();
    assert_eq!(first, [Event::Change { address: 64 }]);
    let second: Vec<_> = trace.events(1).expect("there").collect();
    let plain = Event::Access(Access { kind: AccessKind::Load, dependent: false, bytes: 8, address: 64 });
    assert_eq!(second, [plain, Event::Await { address: 64, changes: 1 }, Event::Change { address: 64 }]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    /// Whatever is cut or changed, reading ends, and what is before the first fault's block is as it was.
    #[test]
    fn a_damaged_file_is_read_as_far_as_it_goes(cut in 0.0..1.0_f64, place in 0.0..1.0_f64, byte in any::<u8>()) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("cut.references");
        let expected = recorded(&path, 3000);
        let mut bytes = std::fs::read(&path).expect("there");
        bytes.truncate((bytes.len() as f64 * cut) as usize);
        let whole = bytes.clone();
        std::fs::write(&path, &whole).expect("written");
        if let Ok(trace) = open(&path) {
            for (thread, expected) in expected.iter().enumerate() {
                let read: Vec<_> = trace.events(thread).expect("there").collect();
                prop_assert!(expected.starts_with(&read), "thread {thread}");
            }
            let cut_off = |warning: &Warning| matches!(warning, Warning::CutOff { .. });
            prop_assert!(trace.warnings().iter().all(cut_off));
        }
        if !bytes.is_empty() {
            let place = (bytes.len() as f64 * place) as usize % bytes.len();
            bytes[place] ^= byte;
            std::fs::write(&path, &bytes).expect("written");
            if let Ok(trace) = open(&path) {
                for thread in 0..trace.header().threads.min(8) {
                    prop_assert!(trace.events(thread).expect("there").count() <= 1 << 20);
                }
            }
        }
    }
}
