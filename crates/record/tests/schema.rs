//! The columns of every record, and what the writers make of them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::rc::Rc;

use proptest::prelude::*;
use record::{
    CheckResult, Conditions, ControllerStatistics, DescriptionRow, Format, Parameters, Provenance, Record,
    RecordWriter, ReproductionRow, Row, SimulationRow, Unit, VerificationResult, VerificationRow, Warning, WriteError,
};
use serde_json::Value;
use units::{Bytes, CpuId, Duration, NodeId};

fn record(locals: Vec<CpuId>, remotes: Vec<CpuId>) -> Record {
    Record {
        machine: "arctic".into(),
        experiment: "lmbench-read".into(),
        state: "CEXM".into(),
        home: NodeId(1),
        local: locals[0],
        xhops: 0,
        yhops: (!remotes.is_empty()).then_some(1),
        zhops: (!remotes.is_empty()).then_some(1),
        remotes,
        unit: Unit::Nanoseconds,
        min: 683.0,
        max: 684.5,
        median: 683.5,
        mean: 683.6,
        stdev: Some(0.4),
        n: 10,
        ci_low: Some(683.2),
        ci_high: Some(683.9),
        locals,
        parameters: Parameters::default(),
        conditions: Conditions::default(),
    }
}

fn reproduction() -> ReproductionRow {
    let (theirs, ours) = (Some(400.0), Some(410.0));
    ReproductionRow {
        paper: "prestor".into(),
        table: "4.8".into(),
        row: "UOWN".into(),
        column: "back-to-back, READ".into(),
        unit: Unit::Nanoseconds,
        theirs,
        ours,
        error_pct: ReproductionRow::error_of(theirs, ours),
        calibrated: true,
    }
}

fn verification() -> VerificationRow {
    VerificationRow {
        protocol: "origin".into(),
        caches: 3,
        lines: 1,
        states: 123_456,
        depth: 40,
        result: VerificationResult::Counterexample,
        seconds: 1.5,
    }
}

fn simulation() -> SimulationRow {
    SimulationRow {
        program: "hot-spot".into(),
        machine: "arctic".into(),
        protocol: "origin".into(),
        cpus: 8,
        threads: 8,
        parameters: [("work".into(), 20), ("hot".into(), 5)].into(),
        placement: "planned".into(),
        scheduler: "none".into(),
        processes: 1,
        barrier: "ideal".into(),
        locks: "llsc".into(),
        seed: 1,
        result: CheckResult::Ok,
        machine_digest: "0123456789abcdef".into(),
        time_ns: 1234.5,
        mean_time_ns: 1000.0,
        measured: None,
        run_ns: 2000.0,
        spent_ns: [("busy".into(), 800.0), ("read.local.clean".into(), 200.0)].into(),
        misses: [("read.local.clean".into(), 50)].into(),
        causes: None,
        regions: None,
        upgrades: 0,
        local_pct: 100.0,
        references: 100,
        spins: 0,
        primary_misses: 60,
        secondary_misses: 50,
        miss_pct: 50.0,
        miss_latency_ns: None,
        translation_misses: 3,
        refusals: 2,
        writebacks: 1,
        occupancy_ns: 500.0,
        utilisation_pct: 10.0,
        max_utilisation_pct: 20.0,
        queued_ns: 30.0,
        instruction_misses: None,
        data_misses: None,
        invalidations: vec![4, 0, 1],
        controllers: None,
        processors: None,
    }
}

fn controller() -> ControllerStatistics {
    ControllerStatistics {
        node: NodeId(0),
        occupancy_ns: 500.0,
        utilisation_pct: 20.0,
        queued_ns: 30.0,
        bus_ns: 100.0,
        memory_ns: 200.0,
        instruction_cache: None,
        data_cache: Some(Default::default()),
        remote_access_cache: None,
        handlers: [("GET".into(), Default::default())].into(),
        sent: [("SRPLY".into(), 50)].into(),
        invalidations: vec![],
        pages: None,
        link: None,
        switch: None,
    }
}

/// Where the records of these tests come from.
fn origin() -> Provenance {
    Provenance::of_software("0.1.0", Some("0123abc"))
}

/// The fields behind those of a record of a kind in CSV.
fn behind(kind: &str) -> String {
    format!(",{kind},1,0.1.0,0123abc,,,,,")
}

const COLUMNS_BEHIND: [&str; 9] =
    ["record", "schema", "version", "commit", "host", "host_processor", "host_kernel", "date", "command"];

fn written<R: Row>(format: Format, rows: &[R]) -> String {
    let mut out = Vec::new();
    let mut writer = RecordWriter::new(format, &mut out, origin());
    rows.iter().try_for_each(|row| writer.write(row)).expect("memory takes everything");
    drop(writer);
    String::from_utf8(out).expect("records are text")
}

/// The keys of a JSON object in the order in which they stand.
fn keys(json: &str, columns: &[&str]) -> Vec<String> {
    let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(json).expect("a JSON object");
    let mut keys: Vec<String> = object.keys().cloned().collect();
    assert_eq!(keys.len(), columns.len() + COLUMNS_BEHIND.len(), "{json}");
    keys.sort_by_key(|key| json.find(&format!("\"{key}\":")).expect("the key stands in its text"));
    assert_eq!(keys.split_off(columns.len()), COLUMNS_BEHIND);
    keys
}

#[test]
fn json_has_exactly_the_columns_in_order() {
    fn check<R: Row>(row: &R) {
        assert_eq!(keys(&written(Format::JsonLines, std::slice::from_ref(row)), R::COLUMNS), R::COLUMNS);
    }
    check(&record(vec![CpuId(2)], vec![CpuId(0)]));
    check(&record(vec![CpuId(2), CpuId(3)], vec![]));
    check(&reproduction());
    check(&verification());
    check(&simulation());
    check(&SimulationRow { controllers: Some(vec![controller()]), ..simulation() });
}

#[test]
fn columns_are_those_that_scripts_rely_on() {
    assert_eq!(
        Record::COLUMNS.join(" "),
        "machine experiment state home local remotes xhops yhops zhops unit min max median mean stdev n \
         ci_low ci_high locals array offset reads writes pause_cycles series relation pages_asked pages_obtained stride window order preparation check clock_mhz repeated kept disturbances"
    );
    assert_eq!(ReproductionRow::COLUMNS.join(" "), "paper table row column unit theirs ours error_pct calibrated");
    assert_eq!(VerificationRow::COLUMNS.join(" "), "protocol caches lines states depth result seconds");
}

#[test]
fn the_first_requester_is_a_number_and_all_are_a_list() {
    let json = written(Format::JsonLines, &[record(vec![CpuId(2)], vec![CpuId(0)])]);
    assert!(json.contains(r#""home":1,"local":2,"remotes":[0],"xhops":0,"yhops":1,"zhops":1,"unit":"ns""#), "{json}");
    assert!(json.contains(r#""locals":[2],"#), "{json}");
    let json = written(Format::JsonLines, &[record(vec![CpuId(2), CpuId(4)], vec![])]);
    assert!(json.contains(r#""local":2,"remotes":[],"xhops":0,"yhops":null,"zhops":null"#), "{json}");
    assert!(json.contains(r#""locals":[2,4],"#), "{json}");
}

#[test]
fn titles_tell_parameters() {
    let mut row = record(vec![CpuId(2)], vec![]);
    assert_eq!(row.title(), "lmbench-read");
    row.parameters.array = Some(Bytes::from_kib(4));
    row.conditions.stride = Some(Bytes(64));
    assert_eq!(row.title(), "lmbench-read, 4 KiB by 64 B");
    row.parameters = Parameters { array: None, offset: None, reads: Some(2), writes: Some(1), pause_cycles: Some(8) };
    assert_eq!(row.title(), "lmbench-read, 2:1, pause 8");
}

#[test]
fn csv_joins_lists_quotes_commas_and_leaves_absent_values_empty() {
    let csv = written(Format::Csv, &[record(vec![CpuId(2)], vec![CpuId(0), CpuId(4)]), record(vec![CpuId(2)], vec![])]);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], [Record::COLUMNS, &COLUMNS_BEHIND].concat().join(","));
    let figures = "ns,683.0,684.5,683.5,683.6,0.4,10,683.2,683.9,2,,,,,,,,,,,,,,,,0,0,";
    let behind = behind("measurement");
    assert_eq!(lines[1], format!("arctic,lmbench-read,CEXM,1,2,0 4,0,1,1,{figures}{behind}"));
    assert_eq!(lines[2], format!("arctic,lmbench-read,CEXM,1,2,,0,,,{figures}{behind}"));
    assert!(written(Format::Csv, &[reproduction()]).contains(r#"UOWN,"back-to-back, READ",ns,400.0,410.0,2.5,true"#));
}

/// The columns of CSV by their names.
fn columns(csv: &str, line: usize) -> BTreeMap<String, String> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let header = reader.headers().expect("a header").clone();
    let record = reader.records().nth(line).expect("a line").expect("as many cells as columns");
    header.iter().zip(&record).map(|(name, cell)| (name.to_owned(), cell.to_owned())).collect()
}

#[test]
fn every_key_of_a_map_is_a_column_of_csv_and_parts_are_left_out() {
    let with = SimulationRow { controllers: Some(vec![controller()]), ..simulation() };
    let csv = written(Format::Csv, &[simulation(), with]);
    for line in [0, 1] {
        let cells = columns(&csv, line);
        assert_eq!((cells["parameters.hot"].as_str(), cells["parameters.work"].as_str()), ("5", "20"));
        assert_eq!((cells["spent_ns.read.local.clean"].as_str(), cells["invalidations"].as_str()), ("200.0", "4 0 1"));
        assert!(["parameters", "spent_ns", "misses", "controllers"].iter().all(|name| !cells.contains_key(*name)));
        assert!(cells.values().all(|cell| !cell.contains('=') && !cell.contains('{')), "{cells:?}");
    }
}

#[test]
fn csv_without_records_has_a_header() {
    let mut out = Vec::new();
    let mut writer = RecordWriter::<_, VerificationRow>::new(Format::Csv, &mut out, origin());
    writer.finish().expect("memory takes everything");
    writer.write(&verification()).expect("memory takes everything");
    writer.finish().expect("memory takes everything");
    drop(writer);
    let text = String::from_utf8(out).expect("text");
    assert_eq!(text.lines().filter(|line| line.starts_with("protocol,caches,")).count(), 1, "{text}");
    assert_eq!(text.lines().count(), 2, "{text}");
}

#[test]
fn keys_that_the_first_record_has_not_are_expected_or_refused() {
    let other = SimulationRow { parameters: [("points".into(), 64)].into(), ..simulation() };
    let mut out = Vec::new();
    let mut writer = RecordWriter::new(Format::Csv, &mut out, origin());
    writer.expect_keys("parameters", ["points", "hot"].map(str::to_owned));
    writer.write(&simulation()).expect("a first");
    writer.write(&other).expect("a second");
    drop(writer);
    let csv = String::from_utf8(out).expect("text");
    let of = |line| ["hot", "points", "work"].map(|name| columns(&csv, line)[&format!("parameters.{name}")].clone());
    assert_eq!((of(0), of(1)), (["5", "", "20"].map(String::from), ["", "64", ""].map(String::from)));
    let mut writer = RecordWriter::new(Format::Csv, Vec::new(), origin());
    writer.write(&simulation()).expect("a first");
    let error = writer.write(&other).expect_err("nothing is lost in silence");
    assert!(error.to_string().ends_with("no column parameters.points"), "{error}");
}

/// The schema of a field of a kind of record, its `$ref`s followed one step.
fn property<'a>(schema: &'a Value, kind: &str, name: &str) -> &'a Value {
    let property = &schema["$defs"][kind]["properties"][name];
    let alternatives = property["anyOf"].as_array().into_iter().flatten();
    let items = [property, &property["items"]].into_iter().chain(alternatives);
    let reference = items.filter_map(|part| part["$ref"].as_str()).next();
    reference.map_or(property, |path| schema.pointer(path.trim_start_matches('#')).expect("a definition"))
}

#[test]
fn the_schema_has_the_columns_and_knows_maps_and_parts() {
    fn check<R: Row>(schema: &Value) {
        let line = &schema["$defs"][R::KIND];
        let properties = line["properties"].as_object().expect("properties");
        let mut expected: Vec<&str> = R::COLUMNS.iter().chain(&COLUMNS_BEHIND).copied().collect();
        expected.sort_unstable();
        let mut found: Vec<&str> = properties.keys().map(String::as_str).collect();
        found.sort_unstable();
        assert_eq!(found, expected, "{}", R::KIND);
        let required: Vec<&str> =
            line["required"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
        assert!(expected.iter().all(|name| required.contains(name)), "{}: {required:?}", R::KIND);
        for (name, stated) in properties {
            let found = property(schema, R::KIND, name);
            let text = found.to_string();
            let is_list =
                stated["type"].as_array().map_or(stated["type"] == "array", |all| all.contains(&"array".into()));
            let is_object =
                found["type"].as_array().map_or(found["type"] == "object", |all| all.contains(&"object".into()));
            assert_eq!(R::PARTS.contains(&name.as_str()), is_list && is_object, "{}.{name}: {text}", R::KIND);
            assert_eq!(R::MAPS.contains(&name.as_str()), !is_list && is_object, "{}.{name}: {text}", R::KIND);
            assert!(stated["description"].is_string(), "{}.{name} is not described", R::KIND);
        }
    }
    let schema = record::schema();
    check::<Record>(&schema);
    check::<SimulationRow>(&schema);
    check::<ReproductionRow>(&schema);
    check::<record::PublicationRow>(&schema);
    check::<VerificationRow>(&schema);
    check::<DescriptionRow>(&schema);
    check::<record::ComputerRow>(&schema);
    check::<record::FitRow>(&schema);
    check::<record::FindingRow>(&schema);
    check::<record::AdviceRow>(&schema);
    check::<record::SampleRow>(&schema);
    check::<record::TraceInfoRow>(&schema);
    check::<record::ObservableRow>(&schema);
    check::<record::TopologyRow>(&schema);
    check::<record::DeadlockRow>(&schema);
    check::<record::MachineRow>(&schema);
    check::<record::ProgramRow>(&schema);
    check::<record::SweepRunRow>(&schema);
    assert_eq!(schema["oneOf"].as_array().map(Vec::len), Some(18));
}

#[test]
fn what_was_written_is_read_and_what_is_no_record_is_named() {
    let mut out = Vec::new();
    let mut writer = RecordWriter::new(Format::JsonLines, &mut out, origin());
    let machine =
        DescriptionRow { machine: "arctic".into(), machine_digest: "0f".into(), description: "a = 1\n".into() };
    let computer = record::ComputerRow {
        machine: "arctic".into(),
        vendor: None,
        model: Some("R12000".into()),
        microarchitecture: None,
        page_kib: Some(16),
        vector_bytes: Some(8),
        nodes: vec![record::ComputerNode { node: NodeId(0), memory_kib: 1024, distances: vec![10] }],
        cores: vec![record::ComputerCore { cpus: vec![CpuId(0)], node: NodeId(0), socket: 0 }],
        caches: Vec::new(),
    };
    writer.describe(&machine).expect("memory takes everything");
    writer.describe(&computer).expect("memory takes everything");
    writer.write(&simulation()).expect("memory takes everything");
    drop(writer);
    let text = String::from_utf8(out).expect("text");
    let contents = record::read::<SimulationRow>(&text).expect("records");
    assert_eq!((contents.rows, contents.machines), (vec![(simulation(), origin())], vec![machine]));
    assert_eq!(contents.computers, [computer]);
    let marked = record::read::<SimulationRow>(&format!("\u{feff}{text}")).expect("records behind a byte-order mark");
    assert_eq!(marked.rows, [(simulation(), origin())]);
    let refused = |text: &str| record::read::<Record>(text).map(drop).expect_err(text).to_string();
    assert_eq!(refused(&text), "line 3 is a record of the kind simulation; accepted: measurement");
    assert!(refused("\nnotes\n").starts_with("line 2 is not a record: expected "));
    assert_eq!(refused("{\"machine\":\"host\"}"), "line 1 is not a record: the field `schema` is missing");
    let later = text.replace("\"schema\":1", "\"schema\":2");
    assert_eq!(refused(&later), "line 1 is a record of schema 2; accepted: schema 1");
    let damaged = text.replace("\"time_ns\":1234.5,", "");
    let refused = record::read::<SimulationRow>(&damaged).map(drop).expect_err("a field is missing").to_string();
    assert!(refused.starts_with("line 3 is not a record: missing field `time_ns`"), "{refused}");
}

#[test]
fn errors_need_both_figures() {
    assert_eq!(ReproductionRow::error_of(Some(200.0), Some(190.0)), Some(-5.0));
    assert_eq!(ReproductionRow::error_of(None, Some(190.0)), None);
    assert_eq!(ReproductionRow::error_of(Some(0.0), Some(190.0)), None);
}

#[test]
fn warnings_say_what_to_do() {
    let warnings = [
        Warning::RestartUnsettled { max_work: 256, bound: Duration(5000), stable: 19 },
        Warning::RemotesUnused { state: "UOWN".into(), remotes: vec![CpuId(3)] },
        Warning::Scatter { stdev_pct: 12.0, n: 3 },
    ];
    for warning in warnings {
        let text = warning.to_string();
        assert!(text.ends_with(&warning.advice()) && text.len() > warning.advice().len() + 2, "{text}");
        let json = serde_json::to_string(&warning).expect("a warning is data");
        assert_eq!(serde_json::from_str::<Warning>(&json).expect("what was written"), warning);
    }
}

/// Keeps what was flushed apart from what was only written, and fails after so many bytes.
#[derive(Clone, Default)]
struct Destination {
    state: Rc<RefCell<(Vec<u8>, Vec<u8>)>>,
    capacity: Option<usize>,
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.state.borrow_mut();
        if self.capacity.is_some_and(|capacity| state.0.len() + bytes.len() > capacity) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        state.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut state = self.state.borrow_mut();
        state.1 = state.0.clone();
        Ok(())
    }
}

#[test]
fn every_record_is_flushed_as_it_is_written() {
    for format in [Format::JsonLines, Format::Csv] {
        let destination = Destination::default();
        let mut writer = RecordWriter::new(format, destination.clone(), origin());
        for count in 1..4 {
            writer.write(&verification()).expect("room enough");
            let flushed = String::from_utf8(destination.state.borrow().1.clone()).expect("text");
            let headers = usize::from(format == Format::Csv);
            assert_eq!(flushed.lines().count(), count + headers, "{flushed}");
            assert!(flushed.ends_with('\n'));
        }
    }
}

#[test]
fn a_full_destination_is_an_error_and_keeps_what_it_has() {
    let destination = Destination { capacity: Some(350), ..Destination::default() };
    let mut writer = RecordWriter::new(Format::JsonLines, destination.clone(), origin());
    writer.write(&verification()).expect("the first fits");
    let error = writer.write(&verification()).expect_err("the second does not");
    assert!(matches!(error, WriteError::Io(_)), "{error}");
    let kept = String::from_utf8(destination.state.borrow().1.clone()).expect("text");
    assert_eq!(serde_json::from_str::<VerificationRow>(&kept).expect("a whole record"), verification());
}

proptest! {
    /// Records are read back as they were written, whatever the roles and figures.
    #[test]
    fn records_survive_json(
        locals in prop::collection::vec(any::<u16>().prop_map(CpuId), 1..5),
        remotes in prop::collection::vec(any::<u16>().prop_map(CpuId), 0..40),
        min in -1e9..1e9f64,
        text in ".*",
    ) {
        let row = Record { min, machine: text, ..record(locals, remotes) };
        let json = written(Format::JsonLines, std::slice::from_ref(&row));
        prop_assert_eq!(json.lines().count(), 1);
        // The JSON parser may be off by the last digit.
        let back: Record = serde_json::from_str(&json).expect("a record");
        prop_assert!((back.min - min).abs() <= min.abs() * 1e-15);
        prop_assert_eq!(Record { min, ..back }, row);
    }
}

#[test]
fn findings_have_their_columns() {
    let finding = record::FindingRow {
        program: "art".into(),
        machine: "flash-scaled-16p".into(),
        cpus: 16,
        rank: 1,
        class: "hot spot".into(),
        object: None,
        place: None,
        cost_pct: 4.5,
        bound_pct: Some(9.0),
        gain_pct: None,
        evidence: "a controller is busy".into(),
        remedy: "spread the data".into(),
        trial: None,
    };
    let columns = <record::FindingRow as Row>::COLUMNS;
    assert_eq!(keys(&written(Format::JsonLines, &[finding]), columns), columns);
}
