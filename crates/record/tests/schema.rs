//! The columns of every record, and what the writers make of them.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use proptest::prelude::*;
use record::{
    CheckResult, Conditions, ControllerStatistics, Format, OneOrMany, Record, RecordWriter, ReproductionRow, Row,
    SimulationRow, Unit, VerificationResult, VerificationRow, Warning, WriteError,
};
use units::{CpuId, Duration, NodeId};

fn record(locals: Vec<CpuId>, remotes: Vec<CpuId>) -> Record {
    Record {
        machine: "arctic".into(),
        experiment: "lmbench-read".into(),
        state: "CEXM".into(),
        home: NodeId(1),
        local: OneOrMany::from(locals),
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
        parameters: [("work".into(), 20), ("hot".into(), 5)].into(),
        placement: "planned".into(),
        scheduler: "none".into(),
        processes: 1,
        barrier: "ideal".into(),
        locks: "llsc".into(),
        seed: 1,
        result: CheckResult::Ok,
        machine_digest: "0123456789abcdef".into(),
        version: "0.1.0".into(),
        time_ns: 1234.5,
        mean_time_ns: 1000.0,
        run_ns: 2000.0,
        spent_ns: [("busy".into(), 800.0), ("read.local.clean".into(), 200.0)].into(),
        misses: [("read.local.clean".into(), 50)].into(),
        causes: None,
        regions: None,
        upgrades: 0,
        local_pct: 100.0,
        references: 100,
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
    }
}

fn written<R: Row>(format: Format, rows: &[R]) -> String {
    let mut out = Vec::new();
    let mut writer = RecordWriter::new(format, &mut out);
    rows.iter().try_for_each(|row| writer.write(row)).expect("memory takes everything");
    drop(writer);
    String::from_utf8(out).expect("records are text")
}

/// The keys of a JSON object in the order in which they stand.
fn keys(json: &str, columns: &[&str]) -> Vec<String> {
    let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(json).expect("a JSON object");
    let mut keys: Vec<String> = object.keys().cloned().collect();
    assert_eq!(keys.len(), columns.len(), "{json}");
    keys.sort_by_key(|key| json.find(&format!("\"{key}\":")).expect("the key stands in its text"));
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
         ci_low ci_high series relation pages_asked pages_obtained stride window order preparation check clock_mhz repeated kept disturbances"
    );
    assert_eq!(ReproductionRow::COLUMNS.join(" "), "paper table row column unit theirs ours error_pct calibrated");
    assert_eq!(VerificationRow::COLUMNS.join(" "), "protocol caches lines states depth result seconds");
}

#[test]
fn one_requester_is_a_number_several_are_a_list() {
    let json = written(Format::JsonLines, &[record(vec![CpuId(2)], vec![CpuId(0)])]);
    assert!(json.contains(r#""home":1,"local":2,"remotes":[0],"xhops":0,"yhops":1,"zhops":1,"unit":"ns""#), "{json}");
    let json = written(Format::JsonLines, &[record(vec![CpuId(2), CpuId(4)], vec![])]);
    assert!(json.contains(r#""local":[2,4],"remotes":[],"xhops":0,"yhops":null,"zhops":null"#), "{json}");
}

#[test]
fn csv_joins_lists_quotes_commas_and_leaves_absent_values_empty() {
    let csv = written(Format::Csv, &[record(vec![CpuId(2)], vec![CpuId(0), CpuId(4)]), record(vec![CpuId(2)], vec![])]);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], Record::COLUMNS.join(","));
    assert_eq!(
        lines[1],
        "arctic,lmbench-read,CEXM,1,2,0 4,0,1,1,ns,683.0,684.5,683.5,683.6,0.4,10,683.2,683.9,,,,,,,,,,,0,0,"
    );
    assert_eq!(
        lines[2],
        "arctic,lmbench-read,CEXM,1,2,,0,,,ns,683.0,684.5,683.5,683.6,0.4,10,683.2,683.9,,,,,,,,,,,0,0,"
    );
    assert!(written(Format::Csv, &[reproduction()]).contains(r#"UOWN,"back-to-back, READ",ns,400.0,410.0,2.5,true"#));
}

#[test]
fn csv_names_parameters_and_keeps_parts_as_json() {
    let with = SimulationRow { controllers: Some(vec![controller()]), ..simulation() };
    let csv = written(Format::Csv, &[simulation(), with]);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(
        lines[1],
        "hot-spot,arctic,origin,8,hot=5 work=20,planned,none,1,ideal,llsc,1,ok,0123456789abcdef,0.1.0,1234.5,1000.0,2000.0,busy=800.0 read.local.clean=200.0,read.local.clean=50,,,0,100.0,100,60,50,50.0,,3,2,1,500.0,10.0,20.0,30.0,,,4 0 1,,"
    );
    assert!(lines[2].contains(r#","[{""#) && lines[2].contains(r#"""SRPLY"":50"#), "{}", lines[2]);
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
        let mut writer = RecordWriter::new(format, destination.clone());
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
    let destination = Destination { capacity: Some(150), ..Destination::default() };
    let mut writer = RecordWriter::new(Format::JsonLines, destination.clone());
    writer.write(&verification()).expect("the first fits");
    let error = writer.write(&verification()).expect_err("the second does not");
    assert!(matches!(error, WriteError::Io(_)), "{error}");
    let kept = String::from_utf8(destination.state.borrow().1.clone()).expect("text");
    assert_eq!(serde_json::from_str::<VerificationRow>(&kept).expect("a whole record"), verification());
}

proptest! {
    /// What was written is read back as it was, whatever the roles and figures.
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
