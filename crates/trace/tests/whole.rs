//! Metrics over the life of objects that come and go, some of whose counters are read now and then.

use std::collections::BTreeMap;

use trace::metric::{Overall, Resolved, parse, whole};
use trace::{Counter, Object, ObjectKind, Preamble, Trace, TraceWriter, Value};

#[test]
fn a_metric_is_that_of_an_object_s_whole_life() {
    let counters = [
        Counter::count(ObjectKind::Node, "busy", "", "w"),
        Counter::count(ObjectKind::Thread, "run", "", "w"),
        Counter::count(ObjectKind::Thread, "rare", "", "w"),
        Counter::level(ObjectKind::Thread, "node", "", "w"),
    ];
    let mut writer = TraceWriter::new(Vec::new(), &Preamble::default(), &counters).unwrap();
    let second = 1_000_000_000;
    writer.object(0, &Object::node(0, "")).unwrap();
    let sample = |writer: &mut TraceWriter<Vec<u8>>, time: u64, index, values: &[u64]| {
        let values: Vec<Value> = values.iter().map(|&value| Value::exact(value)).collect();
        writer.sample(time * second, index, &values).unwrap();
    };
    sample(&mut writer, 0, 0, &[0]);
    sample(&mut writer, 1, 0, &[10]);
    // A thread is seen first when it has run for a while, and lives for two samples more.
    writer.object(2 * second, &Object { newborn: true, ..Object::new(ObjectKind::Thread, 0, "t0", "") }).unwrap();
    for (time, run, rare) in [(2, 7, None), (3, 9, Some(5)), (4, 12, None)] {
        sample(&mut writer, time, 0, &[10 * time]);
        let rare = rare.map_or(Value::MISSING, Value::exact);
        writer.sample(time * second, 1, &[Value::exact(run), rare, Value::exact(0)]).unwrap();
    }
    sample(&mut writer, 5, 0, &[90]);
    let trace = Trace::read(&writer.finish().unwrap()[..]).unwrap();
    let metric = |name: &str, of: &str, formula: &str| {
        format!("[[metric]]\nname = \"{name}\"\nof = \"{of}\"\nwhat = \"w\"\nformula = \"{formula}\"\n")
    };
    let text = [
        metric("a", "node", "rate(busy)"),
        metric("b", "thread", "run"),
        metric("c", "thread", "rare"),
        metric("d", "thread", "node.busy"),
    ];
    let declared = parse("f", &format!("group = \"g\"\nwhat = \"w\"\n{}", text.concat())).unwrap();
    let (metrics, _) = Resolved::derive(&declared, &trace.counters, &BTreeMap::new());
    let overall = |object, metric, value| Overall { object, metric, value, estimate: false };
    let expected = [overall(0, 0, 18.0), overall(1, 1, 12.0), overall(1, 2, 5.0), overall(1, 3, 20.0)];
    assert_eq!(whole(&trace, &metrics), expected);
}
