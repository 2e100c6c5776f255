//! The published tables and figures that can be reproduced: a line each.

use bench::{Experiment, State, Suite};
use record::PublicationRow;

use crate::error::ExperimentError;
use crate::published::PublishedTable;
use crate::tables::{
    Shape, cluster_costs, cluster_programs, directory_states, distance, generations, ideal, interventions,
    invalidation_time, invalidations, loaded_latencies, local, programs, read_latencies, remote_cache, restart_curves,
    router_delay, routing_tables, sci_costs, sci_programs, seidl, servers, shared_region, sharing, stride_diagram,
    transposes, upgrades, utilisation, wait_time,
};

/// A published table, what its cells mean, and its form.
pub struct Entry {
    /// The file under `reference/`.
    pub file: &'static str,
    text: &'static str,
    /// The meaning of its cells.
    pub shape: &'static dyn Shape,
    /// The form that results of a suite can be printed in, on any machine.
    pub form: Option<Form>,
}

/// The form of a published table, whichever machine it is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// States by requests, on one node.
    Local,
    /// Distances.
    ByDistance,
    /// Nodes by distance.
    ByNode,
    /// Three series over a distance, by state.
    ThreeSeries(State),
    /// Numbers of sharers.
    BySharers,
}

impl Form {
    /// The suite that measures all that a table of this form needs.
    pub fn suite(self) -> Suite {
        match self {
            Self::Local => Suite::Local,
            Self::ByDistance | Self::ByNode => Suite::Remote,
            Self::ThreeSeries(State::Shrd) | Self::BySharers => Suite::Invalidations,
            Self::ThreeSeries(_) => Suite::Interventions,
        }
    }

    /// The title of a table of this form.
    pub fn title(self) -> String {
        match self {
            Self::Local => "Local results".to_owned(),
            Self::ByDistance => "Remote results by distance, unowned lines".to_owned(),
            Self::ByNode => "Remote results by node, unowned lines".to_owned(),
            Self::ThreeSeries(State::Shrd) => "Single-sharer invalidations".to_owned(),
            Self::ThreeSeries(state) => format!("{state} interventions"),
            Self::BySharers => "Invalidations by number of sharers".to_owned(),
        }
    }
}

impl Entry {
    /// The published table.
    ///
    /// # Errors
    /// When the file is wrong, which a test rules out.
    pub fn published(&self) -> Result<PublishedTable, ExperimentError> {
        Ok(PublishedTable::parse(self.file, self.text)?)
    }

    /// The paper and the table, as in `prestor/4.6`: the name of its file without `table-`.
    pub fn name(&self) -> String {
        let name = self.file.trim_start_matches("reference/").trim_end_matches(".toml");
        name.replace("table-", "")
    }
}

/// The tables of a selection that can be reproduced, as [`select`] reads it.
///
/// # Errors
/// When there is no such paper or table.
pub fn publications(selection: &str) -> Result<Vec<PublicationRow>, ExperimentError> {
    let row = |entry: &Entry| {
        let table = entry.published()?;
        let published = table.cells.iter().filter(|cell| cell.theirs.is_some()).count() as u64;
        let PublishedTable { title, section, machine, .. } = table;
        Ok(PublicationRow { name: entry.name(), title, section, machine, published })
    };
    select(selection)?.into_iter().map(row).collect()
}

macro_rules! entries {
    ($($file:literal => $shape:expr, $form:expr;)*) => {
        &[$(Entry {
            file: concat!("reference/", $file, ".toml"),
            text: include_str!(concat!("../../../reference/", $file, ".toml")),
            shape: &$shape,
            form: $form,
        }),*]
    };
}

use programs::Drawing::{ColumnsOverRows, FirstOverSecond, None as Undrawn, RowsOverColumns};
use programs::{CACHED_REMOTELY, Programs, SPECOMP, SPLASH};

const READ: Experiment = Experiment::LmbenchRead;
const RDEX: Experiment = Experiment::LmbenchRdex;

const fn three_series(state: State, experiment: Experiment) -> interventions::ThreeSeries {
    interventions::ThreeSeries { state, experiment }
}

const fn programs(words: &'static str, programs: &'static [&'static str], drawing: programs::Drawing) -> Programs {
    Programs { words, programs, drawing }
}

const fn sci(words: &'static str) -> sci_programs::SciPrograms {
    sci_programs::SciPrograms { words }
}

/// All tables and figures, in the order of their papers. A new one is a line here and a file under `reference/`.
pub const ENTRIES: &[Entry] = entries! {
    "prestor/figure-2.1" => stride_diagram::StrideDiagram, None;
    "prestor/figure-4.4" => restart_curves::RestartCurves, None;
    "prestor/figure-4.5" => restart_curves::RestartCurves, None;
    "prestor/figure-4.6" => restart_curves::RestartCurves, None;
    "prestor/table-4.6" => local::Local, Some(Form::Local);
    "prestor/table-4.7" => local::Local, Some(Form::Local);
    "prestor/table-4.8" => local::Local, Some(Form::Local);
    "prestor/table-4.9" => local::Local, Some(Form::Local);
    "prestor/table-4.10" => generations::Generations, None;
    "prestor/table-4.11" => distance::ByDistance, Some(Form::ByDistance);
    "prestor/table-4.12" => distance::ByDistance, Some(Form::ByDistance);
    "prestor/table-4.13" => distance::ByNode, Some(Form::ByNode);
    "prestor/figure-4.7" => distance::LinkSteps, None;
    "prestor/table-4.14" => router_delay::RouterDelay, None;
    "prestor/table-4.15" => three_series(State::Cexm, READ), Some(Form::ThreeSeries(State::Cexm));
    "prestor/table-4.16" => three_series(State::Cexh, READ), Some(Form::ThreeSeries(State::Cexh));
    "prestor/table-4.17" => three_series(State::Dext, RDEX), Some(Form::ThreeSeries(State::Dext));
    "prestor/table-4.18" => three_series(State::Dexd, READ), Some(Form::ThreeSeries(State::Dexd));
    "prestor/table-4.19" => invalidations::BySharers, Some(Form::BySharers);
    "prestor/figure-4.12" => invalidations::SharersOverUnowned, None;
    "prestor/figure-4.13" => invalidations::SharersBandwidthRatios, None;
    "prestor/table-4.20" => three_series(State::Shrd, RDEX), Some(Form::ThreeSeries(State::Shrd));
    "prestor/table-6.1" => shared_region::SharedRegion, None;
    "prestor/figure-6.1" => utilisation::Utilisation, None;
    "prestor/figure-6.2" => utilisation::Utilisation, None;
    "prestor/figure-6.3" => directory_states::DirectoryStates, None;
    "prestor/figure-6.4" => transposes::Transposes { cpus: 8 }, None;
    "prestor/figure-6.5" => transposes::Transposes { cpus: 16 }, None;
    "prestor/table-A.1" => invalidations::ByNodeAndSharers, None;
    "seidl/table-1" => seidl::Constants, None;
    "seidl/table-2" => seidl::Limits, None;
    "flash/figure-3.1" => programs("total-speedup", SPLASH, RowsOverColumns("processors")), None;
    "flash/figure-3.5" => programs("local", SPECOMP, RowsOverColumns("processors")), None;
    "flash/figure-3.6" => programs("misses over 1", SPECOMP, RowsOverColumns("processors")), None;
    "flash/figure-3.7" => programs("rate", SPECOMP, Undrawn), None;
    "flash/figure-3.8" => programs("efficiency gang cache-affinity", SPECOMP, Undrawn), None;
    "flash/figure-4.2" => programs("time", SPECOMP, Undrawn), None;
    "flash/figure-4.3" => programs("total-speedup batch", SPECOMP, Undrawn), None;
    "flash/figure-4.4" => programs("time two over batch pinned", SPECOMP, Undrawn), None;
    "flash/figure-4.5" => programs("efficiency", SPECOMP, RowsOverColumns("processors")), None;
    "flash/table-5.2" => read_latencies::ReadLatencies, None;
    "flash/figure-5.7" => upgrades::UpgradeLatencies, None;
    "flash/figure-5.8" => upgrades::UpgradeLatencies, None;
    "flash/figure-5.9" => invalidation_time::InvalidationTime, None;
    "flash/figure-5.10" => programs("faster at 8", SPECOMP, Undrawn), None;
    "flash/figure-5.12" => programs("faster", SPECOMP, Undrawn), None;
    "flash/figure-5.13" => programs("faster", SPECOMP, Undrawn), None;
    "flash/table-5.3" => programs("common-efficiency", SPECOMP, Undrawn), None;
    "flash/table-5.4" => programs("occupancy over cv=2", SPECOMP, Undrawn), None;
    "flash/figure-5.14" => programs("average", SPECOMP, FirstOverSecond), None;
    "flash/figure-5.15" => remote_cache::RemoteCacheHitRates, None;
    "flash/figure-5.16" => programs("hybrid/RAC", SPECOMP, Undrawn), None;
    "flash/figure-5.17" => programs("hybrid over hybrid/RAC", CACHED_REMOTELY, ColumnsOverRows("processors")), None;
    "flash/figure-5.18" => programs("hybrid/RAC", CACHED_REMOTELY, ColumnsOverRows("processors")), None;
    "flash/figure-5.19" => wait_time::WaitTime, None;
    "flash/figure-5.20" => programs("time", SPECOMP, Undrawn), None;
    "flash/figure-5.21" => programs("average", SPECOMP, ColumnsOverRows("processors")), None;
    "flash/figure-5.22" => programs("speedup", SPECOMP, Undrawn), None;
    "flash/figure-5.23" => programs("latency over 8", SPECOMP, Undrawn), None;
    "flash/figure-5.24" => programs("", SPECOMP, Undrawn), None;
    "flash/figure-5.25" => programs("time 1-OTT over unchanged", SPECOMP, ColumnsOverRows("processors")), None;
    "flash/figure-5.26" => programs("time 1-OTT", SPECOMP, ColumnsOverRows("processors")), None;
    "flash/figure-6.1" => programs("misses over 8", SPECOMP, Undrawn), None;
    "flash/figure-6.3" => programs("", SPECOMP, Undrawn), None;
    "flash/figure-6.5" => programs("", SPECOMP, Undrawn), None;
    "flash/figure-6.7" => programs("speedup apsi", SPECOMP, RowsOverColumns("processors")), None;
    "flash/figure-6.8" => programs("gafort tuned", SPECOMP, ColumnsOverRows("swaps that go anywhere (%)")), None;
    "flash/figure-6.9" => programs("time", SPECOMP, Undrawn), None;
    "flash/figure-6.10" => programs("efficiency", SPECOMP, Undrawn), None;
    "flash/study-sharing" => sharing::Sharing, None;
    "flash/study-ideal" => ideal::Ideal, None;
    "flash/table-A.1" => routing_tables::RoutingTables, None;
    "hexsel/table-1" => sci(""), None;
    "hexsel/table-2" => sci_costs::SciCosts, None;
    "hexsel/figure-1" => sci("compared"), None;
    "hexsel/figure-2" => sci("compared"), None;
    "hexsel/table-3" => sci("compared"), None;
    "hexsel/figure-3" => sci(""), None;
    "hexsel/figure-4" => sci(""), None;
    "hexsel/figure-5" => sci(""), None;
    "hexsel/table-4" => sci(""), None;
    "hexsel/figure-6" => sci(""), None;
    "lai/table-3" => cluster_costs::ClusterCosts, None;
    "lai/table-4" => cluster_programs::ClusterPrograms, None;
    "lai/figure-5" => cluster_programs::ClusterPrograms, None;
    "lai/figure-6" => cluster_programs::ClusterPrograms, None;
    "lai/figure-7" => cluster_programs::ClusterPrograms, None;
    "lai/figure-8" => cluster_programs::ClusterPrograms, None;
    "servers/table-mlc" => servers::Mlc, None;
    "servers/table-loaded" => loaded_latencies::LoadedLatencies, None;
    "servers/table-rome" => servers::Rome, None;
};

/// The entries that a selection names: all (empty), a paper (`prestor`), a table (`prestor/4.6`), a figure
/// (`prestor/figure-4.6`) or a study (`flash/study-sharing`).
///
/// # Errors
/// When there is no such paper or table.
pub fn select(selection: &str) -> Result<Vec<&'static Entry>, ExperimentError> {
    let (paper, table) = selection.split_once('/').unwrap_or((selection, ""));
    let chosen = ENTRIES.iter().filter(|entry| {
        let name = entry.name();
        let of_paper = selection.is_empty() || name.split('/').next() == Some(paper);
        // A figure whose number no table has need not be called a figure, nor a study a study.
        let kinds = ["figure", "study"].map(|kind| format!("{paper}/{kind}-{table}"));
        of_paper && (table.is_empty() || name == selection || kinds.contains(&name))
    });
    let mut chosen: Vec<&Entry> = chosen.collect();
    if chosen.len() > 1 && !table.is_empty() {
        chosen.retain(|entry| entry.name() == selection);
    }
    if chosen.is_empty() {
        let accepted = ENTRIES.iter().map(Entry::name).collect::<Vec<_>>().join(" ");
        return Err(ExperimentError::Unknown { selection: selection.to_owned(), accepted });
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_readable_and_called_what_it_holds() {
        for entry in ENTRIES {
            let table = entry.published().unwrap();
            assert_eq!(entry.name(), format!("{}/{}", table.paper, table.id), "{}", entry.file);
            assert!(!table.columns.is_empty(), "{} is empty", entry.file);
        }
    }

    #[test]
    fn names_select_papers_tables_and_figures() {
        let names = |selection: &str| select(selection).unwrap().iter().map(|e| e.name()).collect::<Vec<_>>();
        assert_eq!(names("prestor/4.6"), ["prestor/4.6"]);
        assert_eq!(names("prestor/figure-4.6"), ["prestor/figure-4.6"]);
        assert_eq!(names("prestor/2.1"), ["prestor/figure-2.1"]);
        assert_eq!(names("flash/A.1"), ["flash/A.1"]);
        assert_eq!(names("flash/5.8"), ["flash/figure-5.8"]);
        assert_eq!(names("flash/sharing"), ["flash/study-sharing"]);
        assert_eq!(names("").len(), ENTRIES.len());
        assert_eq!(names("seidl"), ["seidl/1", "seidl/2"]);
        assert_eq!(names("hexsel").len(), 10);
        assert_eq!(
            (names("hexsel/3"), names("hexsel/5")),
            (vec!["hexsel/3".to_owned()], vec!["hexsel/figure-5".into()])
        );
        let papers = ["prestor", "seidl", "flash", "hexsel", "lai", "servers"];
        assert_eq!(papers.map(|paper| names(paper).len()).iter().sum::<usize>(), ENTRIES.len());
    }

    #[test]
    fn what_can_be_reproduced_is_listed_with_its_published_figures() {
        let all = publications("").expect("a list");
        assert_eq!(all.len(), ENTRIES.len());
        let table = all.iter().find(|row| row.name == "prestor/4.8").expect("it is there");
        assert_eq!((table.machine.as_deref(), table.title.is_empty()), (Some("arctic"), false));
        assert!(table.published > 10, "{table:?}");
        assert_eq!(publications("seidl").expect("a paper").len(), 2);
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        for selection in ["prestor/9.9", "prester", "flash/4.6"] {
            let error = select(selection).err().unwrap().to_string();
            assert!(error.starts_with(selection) && error.contains("prestor/4.13 "), "{error}");
        }
    }
}
