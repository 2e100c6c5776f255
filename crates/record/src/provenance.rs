//! Where a record comes from: the software, and for what was measured the computer, the time and the command.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Row;

/// The version of the schema of records: another one means that a column was renamed, removed, or changed its type or unit.
pub const SCHEMA_VERSION: u32 = 1;

/// Origin of a record, in fields behind its own.
///
/// The fields of the computer are absent (`null`) in what was simulated or only computed, in which equal runs give equal bytes on
/// every computer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// The version of the schema that the record follows.
    pub schema: u32,
    /// The version of `ccnuma`.
    pub version: String,
    /// The commit that `ccnuma` was built from, `-modified` behind it if files had been changed; absent if that is not known.
    pub commit: Option<String>,
    /// The name of the computer.
    pub host: Option<String>,
    /// Its processor's model.
    pub host_processor: Option<String>,
    /// Its kernel's release.
    pub host_kernel: Option<String>,
    /// When the run began, in UTC: `2026-01-31T23:59:59Z`.
    pub date: Option<String>,
    /// The command line of the run, quoted as a shell takes it.
    pub command: Option<String>,
}

impl Provenance {
    /// Provenance of a run that tells nothing of the computer that it is on.
    pub fn of_software(version: &str, commit: Option<&str>) -> Self {
        Self {
            schema: SCHEMA_VERSION,
            version: version.to_owned(),
            commit: commit.map(str::to_owned),
            host: None,
            host_processor: None,
            host_kernel: None,
            date: None,
            command: None,
        }
    }
}

/// A record with its kind and origin: what a line of JSON holds.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Line<'a, R: Row> {
    #[serde(flatten)]
    pub(crate) row: &'a R,
    /// The kind of record.
    pub(crate) record: &'static str,
    #[serde(flatten)]
    pub(crate) provenance: &'a Provenance,
}

impl<'a, R: Row> Line<'a, R> {
    /// The columns behind those of the row.
    pub(crate) const COLUMNS: [&'static str; 9] =
        ["record", "schema", "version", "commit", "host", "host_processor", "host_kernel", "date", "command"];

    pub(crate) fn new(row: &'a R, provenance: &'a Provenance) -> Self {
        Self { row, record: R::KIND, provenance }
    }
}
