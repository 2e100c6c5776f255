//! The schema of all records as JSON Schema, derived from their types.

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::provenance::Line;
use crate::{
    AdviceRow, ComputerRow, DeadlockRow, DescriptionRow, FindingRow, FitRow, MachineRow, ObservableRow, ProgramRow,
    PublicationRow, Record, ReproductionRow, Row, SCHEMA_VERSION, SampleRow, SimulationRow, SweepRunRow, TopologyRow,
    TraceInfoRow, VerificationRow,
};

/// The JSON Schema (draft 2020-12) of a line of any result: one definition for each kind of record, told apart by the field
/// `record`.
pub fn schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut kinds = Map::new();
    let of = &mut generator;
    add::<Record>(of, &mut kinds);
    add::<FitRow>(of, &mut kinds);
    add::<SimulationRow>(of, &mut kinds);
    add::<FindingRow>(of, &mut kinds);
    add::<AdviceRow>(of, &mut kinds);
    add::<ReproductionRow>(of, &mut kinds);
    add::<PublicationRow>(of, &mut kinds);
    add::<VerificationRow>(of, &mut kinds);
    add::<SampleRow>(of, &mut kinds);
    add::<TraceInfoRow>(of, &mut kinds);
    add::<ObservableRow>(of, &mut kinds);
    add::<TopologyRow>(of, &mut kinds);
    add::<DeadlockRow>(of, &mut kinds);
    add::<MachineRow>(of, &mut kinds);
    add::<DescriptionRow>(of, &mut kinds);
    add::<ComputerRow>(of, &mut kinds);
    add::<ProgramRow>(of, &mut kinds);
    add::<SweepRunRow>(of, &mut kinds);
    let any: Vec<Value> = kinds.keys().map(|kind| json!({ "$ref": format!("#/$defs/{kind}") })).collect();
    kinds.extend(generator.take_definitions(true));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": format!("urn:ccnuma:record:{SCHEMA_VERSION}"),
        "title": "A record of ccnuma",
        "description": "One line of the output of --json. The field `record` is its kind.",
        "oneOf": any,
        "$defs": kinds,
    })
}

/// Adds the schema of a line that holds an `R`.
fn add<R: Row>(generator: &mut SchemaGenerator, kinds: &mut Map<String, Value>) {
    let mut schema = <Line<'_, R> as schemars::JsonSchema>::json_schema(generator);
    // A line is described as what it holds.
    let row = R::json_schema(generator);
    if let Some(description) = row.get("description") {
        schema.insert("description".to_owned(), description.clone());
    }
    schema.insert("title".to_owned(), R::KIND.into());
    schema.insert("additionalProperties".to_owned(), false.into());
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.insert("record".to_owned(), json!({ "const": R::KIND, "description": "The kind of record." }));
        properties.insert(
            "schema".to_owned(),
            json!({ "const": SCHEMA_VERSION, "description": "The version of the schema that the record follows." }),
        );
    }
    kinds.insert(R::KIND.to_owned(), schema.into());
}
