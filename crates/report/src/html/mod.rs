//! A page about a run that needs nothing but a browser: what was found, where time went, when, and on which part of the machine.
//!
//! Everything is in the one file: styles, the plotting library (uPlot, under the MIT license), and the samples. Names come from
//! programs and their symbols and may be anything: the template escapes them, and what the script reads is data, not markup.

mod timeline;

use std::hash::{DefaultHasher, Hash, Hasher};

use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Value, context};
use plotters::style::RGBColor;
use record::{FindingRow, RegionStatistics, SimulationRow};
use serde::Serialize;
use trace::Trace;

pub use timeline::mean_loads;

/// Why there is no page: a fault of this crate, since whatever a page is about can be shown.
#[derive(Debug, thiserror::Error)]
pub enum HtmlError {
    /// The template is wrong.
    #[error("the page cannot be made: {0}")]
    Template(#[from] minijinja::Error),
    /// The samples cannot be written down.
    #[error("the samples cannot be put into the page: {0}")]
    Data(#[from] serde_json::Error),
}

/// A line of a program and what was lost there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SourceLoss {
    /// Where: file and line, or function, or address.
    pub place: String,
    /// The function, if it is known.
    pub function: String,
    /// Secondary misses.
    pub misses: u64,
    /// Time that was lost there, in percent of all processors' time.
    pub time_pct: f64,
}

/// Contents of a page. Parts that are empty are left out.
#[derive(Clone, Debug, Default)]
pub struct Page<'p> {
    /// Its title: the program and the machine.
    pub title: String,
    /// Facts about the run, by name.
    pub facts: Vec<(String, String)>,
    /// The run on a simulated machine.
    pub run: Option<&'p SimulationRow>,
    /// The findings, the largest gain first.
    pub findings: &'p [FindingRow],
    /// Lines of the program at which most was lost, worst first.
    pub lines: Vec<SourceLoss>,
    /// The machine as SVG, in the colours of its load.
    pub picture: Option<String>,
    /// Plots and heat maps as SVG.
    pub figures: Vec<String>,
    /// The trace of the run, for its timeline.
    pub trace: Option<&'p Trace>,
}

/// A region as the template shows it.
#[derive(Serialize)]
struct Region<'r> {
    name: &'r str,
    kib: u64,
    misses: u64,
    remote_pct: String,
    causes: Vec<String>,
    time_pct: String,
}

/// A part of the processors' time.
#[derive(Serialize)]
struct Part {
    name: String,
    percent: f64,
    shown: String,
    colour: String,
}

const CAUSES: [&str; 5] = ["cold", "capacity", "conflict", "true-sharing", "false-sharing"];

/// A word that the page's own scripts have: what has crept in otherwise is no script of ours, and does not run.
fn nonce(title: &str, data: Option<&str>) -> String {
    let mut hasher = DefaultHasher::new();
    (title, data).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// A value as the template sees it.
fn shown(data: impl Serialize) -> Value {
    Value::from(Serde(data))
}

/// The page as HTML.
///
/// # Errors
/// When it cannot be made, which would be a fault of this crate.
pub fn page(page: &Page<'_>) -> Result<String, HtmlError> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_template("page", include_str!("page.html"))?;
    let data = page.trace.map(timeline::data).transpose()?;
    let nonce = nonce(&page.title, data.as_deref());
    let warnings: Vec<String> =
        page.trace.iter().flat_map(|trace| &trace.warnings).map(std::string::ToString::to_string).collect();
    let blind = page.trace.map(|trace| &trace.preamble.sources);
    let page = environment.get_template("page")?.render(context! {
        title => shown(&page.title),
        nonce => shown(&nonce),
        facts => shown(&page.facts),
        findings => shown(page.findings),
        regions => shown(page.run.map(regions)),
        causes => shown(CAUSES),
        parts => shown(page.run.map(parts)),
        lines => shown(&page.lines),
        // Our own drawings and our own files: these alone are markup.
        figures => page.figures.iter().cloned().map(Value::from_safe_string).collect::<Vec<_>>(),
        picture => page.picture.clone().map(Value::from_safe_string),
        styles => Value::from_safe_string(concat!(
            include_str!("../../assets/uPlot.min.css"),
            include_str!("page.css")
        ).to_owned()),
        plotter => Value::from_safe_string(include_str!("../../assets/uPlot.iife.min.js").to_owned()),
        script => Value::from_safe_string(include_str!("page.js").to_owned()),
        data => data.map(Value::from_safe_string),
        warnings => shown(&warnings),
        sources => shown(blind),
    })?;
    Ok(page)
}

fn regions(row: &SimulationRow) -> Vec<Region<'_>> {
    let all: f64 = row.spent_ns.values().sum();
    let lost = |region: &RegionStatistics| region.stalled_ns + region.translation_ns + region.lock_ns;
    let percent = |part: f64, whole: f64| if whole > 0.0 { 100.0 * part / whole } else { 0.0 };
    let losing = row.regions.iter().flatten().filter(|region| lost(region) > 0.0);
    let region = |region: &RegionStatistics| -> (f64, u64) { (lost(region), region.misses) };
    losing
        .map(|each| {
            let (lost, misses) = region(each);
            let of = |count: u64| format!("{:.1}", percent(count as f64, misses as f64));
            Region {
                name: &each.name,
                kib: each.bytes / 1024,
                misses,
                remote_pct: of(each.remote_misses),
                causes: CAUSES.iter().map(|name| of(each.causes.get(*name).copied().unwrap_or_default())).collect(),
                time_pct: format!("{:.1}", percent(lost, all)),
            }
        })
        .collect()
}

/// Where the time went: the parts that took some, in the colours of the bars.
fn parts(row: &SimulationRow) -> Vec<Part> {
    let shares = crate::time_split::parts_of(row).into_iter().enumerate();
    let part = |(number, (name, share)): (usize, (&str, f64))| {
        let RGBColor(red, green, blue) = crate::bars::colour(number);
        let colour = format!("#{red:02x}{green:02x}{blue:02x}");
        Part { name: name.to_owned(), percent: 100.0 * share, shown: format!("{:.1}", 100.0 * share), colour }
    };
    shares.filter(|(_, (_, share))| *share > 0.0005).map(part).collect()
}
