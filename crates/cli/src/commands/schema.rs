//! `ccnuma schema`: what records consist of.

use clap::Args;

use crate::failure::Failure;
use crate::output::print;

/// Print the JSON Schema of the output of --json: every kind of record and every field with its type, meaning and unit.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ccnuma schema > ccnuma-records.schema.json
  ccnuma bench --json=here.jsonl; python3 -c 'import polars; print(polars.read_ndjson(\"here.jsonl\", infer_schema_length=None))'

Every line of --json is one record: the field `record` is its kind, `schema` the version of the schema. --csv has the same
columns; a map such as parameters has one column per key (parameters.points), the elements of a list are joined by spaces, and
lists of parts (controllers, processors, regions) are only in JSON.")]
pub struct SchemaCommand {}

impl SchemaCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// When standard output fails.
    pub fn run(self) -> Result<(), Failure> {
        print(format!("{}\n", serde_json::to_string_pretty(&record::schema()).map_err(Failure::run)?))
    }
}
