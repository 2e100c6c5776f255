//! Studies over programs: what is published hangs together, and equal runs of many tables are one.

use std::collections::BTreeSet;

use bench::{Settings, SuiteScope};
use experiments::measurement::{Measurement, Subject};
use experiments::published::PublishedTable;
use experiments::{Reproduction, catalogue};

const PROTOCOLS: [&str; 6] = ["cv=2", "cv=2/LB", "hybrid", "hybrid/IR", "hybrid/IC", "dynamic-pointer"];

fn published(name: &str) -> PublishedTable {
    catalogue::select(name).expect("a table")[0].published().expect("readable")
}

fn figure(table: &PublishedTable, row: &str, column: &str) -> f64 {
    let cell = table.cells.iter().find(|cell| cell.row == row && cell.column == column);
    cell.and_then(|cell| cell.theirs).unwrap_or_else(|| panic!("{row}, {column}"))
}

fn prepared(selection: &str, quick: bool) -> Reproduction {
    let scope = SuiteScope { quick, ..SuiteScope::whole(Settings::simulated()) };
    Reproduction::prepare(selection, scope).expect("tables with machines")
}

fn programs(reproduction: &Reproduction) -> BTreeSet<&Measurement> {
    let is_program = |needed: &&Measurement| matches!(needed.subject, Subject::Program(_) | Subject::Scheduled(_));
    reproduction.measurements().iter().filter(is_program).collect()
}

/// Averages and quotients of the published tables follow from their rows, so they were transcribed right, and the averages are
/// geometric.
#[test]
fn published_averages_are_geometric_means() {
    for (name, within) in [("flash/5.3", 0.011), ("flash/5.4", 0.011)] {
        let table = published(name);
        for protocol in PROTOCOLS {
            let rows = table.cells.iter().filter(|cell| cell.column == protocol && cell.row != "average");
            let logarithms: Vec<f64> = rows.filter_map(|cell| cell.theirs).map(f64::ln).collect();
            assert_eq!(logarithms.len(), 9);
            let mean = (logarithms.iter().sum::<f64>() / 9.0).exp();
            let theirs = figure(&table, "average", protocol);
            assert!((mean - theirs).abs() < within, "{name} {protocol}: {mean} and {theirs}");
        }
    }
    let table = published("flash/5.3");
    for row in table.cells.iter().filter(|cell| cell.column == "best/worst") {
        let all = PROTOCOLS.map(|protocol| figure(&table, &row.row, protocol));
        let (best, worst) = (all.iter().copied().fold(0.0, f64::max), all.iter().copied().fold(9.0, f64::min));
        let theirs = figure(&table, &row.row, "best/worst");
        // FMA3D's 1.10 and APPLU's 1.59 are of figures with more places.
        assert!((best / worst - theirs).abs() < 0.04, "{}: {} and {theirs}", row.row, best / worst);
    }
}

/// The correlation of Table 5.4 is that of occupancy with lost parallel efficiency.
#[test]
fn the_published_correlation_follows_from_both_tables() {
    let (efficiency, occupancy) = (published("flash/5.3"), published("flash/5.4"));
    for row in ["swim", "wupwise", "mgrid", "apsi", "art", "equake", "fma3d", "gafort", "applu", "average"] {
        let pairs = PROTOCOLS.map(|each| (figure(&occupancy, row, each), -figure(&efficiency, row, each)));
        let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / 6.0;
        let (x, y) = (mean(|pair| pair.0), mean(|pair| pair.1));
        let sum = |of: &dyn Fn(f64, f64) -> f64| pairs.iter().map(|pair| of(pair.0 - x, pair.1 - y)).sum::<f64>();
        let r = sum(&|x, y| x * y) / (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt();
        assert!((r - figure(&occupancy, row, "R")).abs() < 0.03, "{row}: {r}");
    }
}

#[test]
fn tables_share_their_runs() {
    let (efficiency, occupancy) = (prepared("flash/5.3", false), prepared("flash/5.4", false));
    // Nine programs, six protocols on 63 processors and one of them on 8; occupancy needs no others, but for its correlation.
    assert_eq!(programs(&efficiency).len(), 9 * (6 + 1));
    assert_eq!(programs(&occupancy), programs(&efficiency));
    let accounted = prepared("flash/figure-5.22", false);
    // Cv=2/LB, whose account the equations take, and two ideal machines.
    assert_eq!(programs(&accounted).len(), 9 * 3 * 2);
}

#[test]
fn a_quick_run_takes_less_data_on_the_same_machines() {
    let (whole, quick) = (prepared("flash/figure-5.17", false), prepared("flash/figure-5.17", true));
    let cpus = |reproduction: &Reproduction| {
        let of = |needed: &&Measurement| match &needed.subject {
            Subject::Program(run) => run.cpus,
            other => panic!("{other:?}"),
        };
        programs(reproduction).iter().map(of).collect::<BTreeSet<_>>()
    };
    assert_eq!(cpus(&whole).into_iter().collect::<Vec<_>>(), [8, 16, 32, 48, 63]);
    assert_eq!(cpus(&quick).into_iter().collect::<Vec<_>>(), [8, 63], "what is between is left out");
    let swim = |reproduction: &Reproduction| {
        let side = programs(reproduction).iter().find_map(|needed| match &needed.subject {
            Subject::Program(run) if run.workload.program.name() == "swim" => Some(run.workload.parameters()[0].1),
            _ => None,
        });
        side.expect("swim is run")
    };
    assert!(swim(&quick) < swim(&whole));
}
