//! `ccnuma schema`: what records consist of.

use clap::Args;

use crate::failure::Failure;
use crate::output::print;

/// Print the schema of what --json writes, as JSON Schema: every kind of record, every field, its type, its meaning and its unit.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ccnuma schema > ccnuma-records.schema.json
  ccnuma bench --json=here.jsonl; python3 -c 'import polars; print(polars.read_ndjson(\"here.jsonl\", infer_schema_length=None))'

Every line of every --json is one record: the field `record` tells its kind, `schema` the version of the schema. The columns of
--csv are the same; a map such as parameters has a column for each of its keys (parameters.points), the elements of a list are
joined by spaces, and lists of parts (controllers, processors, regions) are in JSON alone.")]
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
