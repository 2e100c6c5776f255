//! A trace says again what was written, and a part of it what was flushed before the cut.

use proptest::prelude::*;
use trace::{Counter, Event, Object, ObjectKind, Preamble, Register, Trace, TraceWarning, TraceWriter, Value};

fn preamble() -> Preamble {
    Preamble { machine: "a \"machine\" <of> ours".into(), command: vec!["prog".into()], ..Preamble::default() }
}

fn counters() -> Vec<Counter> {
    let register = Register::Halving { width: 16, group: 1, clock: Some(50_000_000) };
    vec![
        Counter::count(ObjectKind::Node, "busy", "cycles", "w").at_most(1e8),
        Counter::with(ObjectKind::Link, "sent", "micropackets", "w", register),
        Counter::level(ObjectKind::Thread, "cpu", "", "w"),
        Counter::count(ObjectKind::Node, "idle", "cycles", "w").in_turns(),
    ]
}

/// A trace of `ticks` samples of a node and a thread that comes later, flushed after each, and where each flush ended.
fn written(ticks: u64) -> (Vec<u8>, Vec<usize>) {
    let mut bytes = Shared::default();
    let mut writer = TraceWriter::new(bytes.clone(), &preamble(), &counters()).unwrap();
    let mut ends = Vec::new();
    let node = writer.object(0, &Object::node(1, "/hw/n1")).unwrap();
    let mut thread = None;
    for tick in 0..ticks {
        writer.sample(tick * 10, node, &[Value::exact(tick), Value { total: Some(7), counted: 0.25 }]).unwrap();
        if tick == 2 {
            let object = Object { newborn: true, ..Object::new(ObjectKind::Thread, 9, "t9", "prog:9") };
            thread = Some(writer.object(tick * 10, &object).unwrap());
        }
        if let Some(thread) = thread {
            writer.sample(tick * 10, thread, &[Value::MISSING]).unwrap();
        }
        writer.flush().unwrap();
        ends.push(bytes.0.borrow().len());
    }
    writer.event(ticks * 10, &Event::Exit { code: Some(3), signal: None }).unwrap();
    writer.finish().unwrap();
    (bytes.take(), ends)
}

/// Bytes that can be looked at while they are written.
#[derive(Clone, Default)]
struct Shared(std::rc::Rc<std::cell::RefCell<Vec<u8>>>);

impl Shared {
    fn take(&mut self) -> Vec<u8> {
        self.0.take()
    }
}

impl std::io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn what_was_written_is_read() {
    let (bytes, _) = written(5);
    let trace = Trace::read(&bytes[..]).unwrap();
    assert_eq!((&trace.preamble, &trace.counters), (&preamble(), &counters()));
    assert_eq!(trace.warnings, []);
    assert_eq!(trace.objects.iter().map(|object| object.name.as_str()).collect::<Vec<_>>(), ["n1", "t9"]);
    assert!(trace.objects[1].newborn);
    let last = trace.ticks().next_back().unwrap();
    assert_eq!(last.time_ns, 40);
    let rows: Vec<_> = last.rows().map(|(object, values)| (object, values.to_vec())).collect();
    let node = vec![Value::exact(4), Value { total: Some(7), counted: 0.25 }];
    assert_eq!(rows, [(0, node), (1, vec![Value::MISSING])]);
    assert_eq!(trace.ticks().map(|tick| tick.rows().count()).collect::<Vec<_>>(), [1, 1, 2, 2, 2]);
    assert!(matches!(trace.events.last(), Some((50, Event::Exit { code: Some(3), signal: None }))));
}

#[test]
fn a_trace_cut_at_any_byte_is_read_up_to_the_last_flush() {
    let (bytes, ends) = written(6);
    let schema = Trace::read(&bytes[..ends[0]]).unwrap();
    assert_eq!((schema.ticks().len(), &schema.warnings[..]), (1, &[TraceWarning::Unfinished][..]));
    let mut read_something = 0;
    for cut in 0..bytes.len() {
        let whole = ends.iter().filter(|&&end| end <= cut).count();
        match Trace::read(&bytes[..cut]) {
            Err(error) => assert!(whole == 0, "at {cut}: {error}"),
            Ok(trace) => {
                read_something += 1;
                assert_eq!(trace.ticks().len(), whole, "at {cut}");
                assert_eq!(trace.warnings.len(), 1, "at {cut}: {:?}", trace.warnings);
                let whole_batches = ends.contains(&cut) || trace.warnings[0] == TraceWarning::Unfinished;
                assert!(
                    whole_batches || matches!(trace.warnings[0], TraceWarning::Cut { .. }),
                    "at {cut}: {:?}",
                    trace.warnings
                );
            }
        }
    }
    assert!(read_something > bytes.len() / 2);
}

#[test]
fn what_is_no_trace_is_refused_with_the_reason() {
    for (bytes, said) in
        [(&b""[..], "not a trace"), (b"hello world, this is text", "not a trace"), (&[0xff; 64], "not a trace")]
    {
        let error = Trace::read(bytes).unwrap_err().to_string();
        assert!(error.contains(said) && error.contains("accepted"), "{error}");
    }
}

#[test]
fn counters_need_names_of_their_own() {
    let twice = [Counter::count(ObjectKind::Node, "a", "", ""), Counter::level(ObjectKind::Node, "a", "", "")];
    let named = |name: &str| Counter::count(ObjectKind::Node, name, "", "");
    for (counters, said) in
        [(twice.to_vec(), "two of this name"), (vec![named("a.b")], "formulas"), (vec![named("")], "formulas")]
    {
        let Err(error) = TraceWriter::new(Vec::new(), &preamble(), &counters) else { panic!("{counters:?}") };
        assert!(error.to_string().contains(said), "{error}");
    }
}

proptest! {
    #[test]
    fn damaged_bytes_are_no_danger(at in 0.0_f64..1.0, bytes in prop::collection::vec(any::<u8>(), 1..9), cut in 0.0_f64..1.2) {
        let (mut trace, _) = written(4);
        let start = (at * (trace.len() - bytes.len()) as f64) as usize;
        trace[start..start + bytes.len()].copy_from_slice(&bytes);
        trace.truncate((cut * trace.len() as f64) as usize);
        if let Ok(trace) = Trace::read(&trace[..]) {
            for tick in trace.ticks() {
                for (object, values) in tick.rows() {
                    prop_assert_eq!(values.len(), trace.counters_of(trace.objects[object].kind).count());
                }
            }
        }
    }
}
