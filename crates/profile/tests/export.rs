//! Exported files, read back by the libraries of others.

use std::collections::BTreeMap;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use profile::export::{Parquet, perfetto};
use prost::Message;
use record::Row;
use trace::metric::{Resolved, parse};
use trace::{Counter, Event, Object, ObjectKind, Preamble, Trace, TraceWriter, Value};

/// The parts of perfetto's messages that are written, declared apart from the encoder with the numbers of its .proto files.
mod pb {
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Trace {
        #[prost(message, repeated, tag = "1")]
        pub packet: Vec<TracePacket>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct TracePacket {
        #[prost(uint64, optional, tag = "8")]
        pub timestamp: Option<u64>,
        #[prost(uint32, optional, tag = "10")]
        pub trusted_packet_sequence_id: Option<u32>,
        #[prost(message, optional, tag = "11")]
        pub track_event: Option<TrackEvent>,
        #[prost(uint32, optional, tag = "13")]
        pub sequence_flags: Option<u32>,
        #[prost(message, optional, tag = "60")]
        pub track_descriptor: Option<TrackDescriptor>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct TrackDescriptor {
        #[prost(uint64, optional, tag = "1")]
        pub uuid: Option<u64>,
        #[prost(string, optional, tag = "2")]
        pub name: Option<String>,
        #[prost(uint64, optional, tag = "5")]
        pub parent_uuid: Option<u64>,
        #[prost(message, optional, tag = "8")]
        pub counter: Option<CounterDescriptor>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct CounterDescriptor {
        #[prost(string, optional, tag = "6")]
        pub unit_name: Option<String>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct TrackEvent {
        #[prost(int32, optional, tag = "9")]
        pub r#type: Option<i32>,
        #[prost(uint64, optional, tag = "11")]
        pub track_uuid: Option<u64>,
        #[prost(string, optional, tag = "23")]
        pub name: Option<String>,
        #[prost(double, optional, tag = "44")]
        pub double_counter_value: Option<f64>,
    }
}

fn example() -> (Trace, Vec<Resolved>) {
    let counters = [
        Counter::count(ObjectKind::Node, "busy", "cycles", "w"),
        Counter::count(ObjectKind::Thread, "run_ns", "ns", "w"),
    ];
    let mut writer = TraceWriter::new(Vec::new(), &Preamble::default(), &counters).unwrap();
    writer.object(0, &Object::node(0, "/hw/module/1/slot/n1/node")).unwrap();
    writer.object(0, &Object::new(ObjectKind::Thread, 0, "t0", "<b>prog</b>\u{e9}:4711")).unwrap();
    for tick in 0..4 {
        writer.sample(tick * 1_000_000_000, 0, &[Value::exact(tick * tick * 100)]).unwrap();
        writer.sample(tick * 1_000_000_000, 1, &[Value::exact(tick * 500_000_000)]).unwrap();
    }
    writer.event(3_000_000_000, &Event::Exit { code: Some(3), signal: None }).unwrap();
    let trace = Trace::read(&writer.finish().unwrap()[..]).unwrap();
    let toml = "group = \"g\"\nwhat = \"w\"\n[[metric]]\nname = \"busy\"\nof = \"node\"\nwhat = \"w\"\nunit = \"1/s\"\n\
        formula = \"rate(busy)\"\n[[metric]]\nname = \"cpu\"\nof = \"thread\"\nunit = \"%\"\nwhat = \"w\"\n\
        formula = \"percent(run_ns * 1e-9, seconds)\"\n";
    let (metrics, _) = Resolved::derive(&parse("f", toml).unwrap(), &trace.counters, &BTreeMap::new());
    (trace, metrics)
}

#[test]
fn a_timeline_has_a_track_for_every_object_and_metric() {
    let (trace, metrics) = example();
    let mut bytes = Vec::new();
    perfetto(&trace, &metrics, &mut bytes).unwrap();
    let decoded = pb::Trace::decode(&bytes[..]).unwrap();
    assert!(decoded.packet.iter().all(|packet| packet.trusted_packet_sequence_id == Some(1)));
    assert_eq!(decoded.packet[0].sequence_flags, Some(1));
    // Nothing is written that the declarations above do not know.
    assert_eq!(decoded.encoded_len(), bytes.len());
    let tracks: Vec<_> = decoded.packet.iter().filter_map(|packet| packet.track_descriptor.as_ref()).collect();
    let find = |name: &str| *tracks.iter().find(|track| track.name.as_deref() == Some(name)).expect(name);
    let thread = find("t0 <b>prog</b>\u{e9}:4711");
    assert_eq!(thread.parent_uuid, find("thread").uuid);
    let cpu = find("cpu");
    assert_eq!(cpu.parent_uuid, thread.uuid);
    assert_eq!(cpu.counter.as_ref().and_then(|counter| counter.unit_name.as_deref()), Some("%"));
    let values = |uuid| {
        let events = decoded.packet.iter().filter_map(|packet| Some((packet.timestamp?, packet.track_event.as_ref()?)));
        let of_track = events.filter(move |(_, event)| event.track_uuid == uuid);
        of_track.filter_map(|(time, event)| Some((time, event.double_counter_value?))).collect::<Vec<_>>()
    };
    assert_eq!(values(find("busy").uuid), [(0, 100.0), (1_000_000_000, 300.0), (2_000_000_000, 500.0)]);
    assert_eq!(values(cpu.uuid), [(0, 50.0), (1_000_000_000, 50.0), (2_000_000_000, 50.0)]);
    let kinds = decoded.packet.iter().filter_map(|packet| packet.track_event.as_ref()?.r#type);
    let count = |wanted| kinds.clone().filter(|kind| *kind == wanted).count();
    assert_eq!([1, 2, 3, 4].map(count), [2, 2, 1, 6]);
}

#[test]
fn parquet_has_a_row_for_every_value() {
    let (trace, metrics) = example();
    let path = tempfile::NamedTempFile::new().unwrap();
    let mut parquet = Parquet::new(path.reopen().unwrap()).unwrap();
    for i in 0..100_000 {
        let (object, metric) = (&trace.objects[i % 2], &metrics[i % 2].metric);
        parquet.write(&profile::lines::row(i as u64, object, metric, i as f64, i % 3 == 0)).unwrap();
    }
    parquet.finish().unwrap();
    let reader = SerializedFileReader::new(path.reopen().unwrap()).unwrap();
    let column = |name| record::SampleRow::COLUMNS.iter().position(|&column| column == name).unwrap();
    let [value, object, estimate] = ["value", "object", "estimate"].map(column);
    let mut rows = 0;
    for row in reader.get_row_iter(None).unwrap() {
        let row = row.unwrap();
        assert_eq!(row.get_double(value).unwrap(), f64::from(rows));
        assert_eq!(row.get_bool(estimate).unwrap(), rows % 3 == 0);
        assert_eq!(row.get_string(object).unwrap() == "t0", rows % 2 == 1);
        rows += 1;
    }
    assert_eq!(rows, 100_000);
}
