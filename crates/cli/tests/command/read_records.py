"""Reads the --json and --csv files of every command with the readers that analysts use, as far as they are installed.

Arguments: the folder, and the names of the files without their endings. Prints a line for each reader; fails if one cannot read a
file, finds another number of records than there are, or a column that is not of one type."""

import csv
import importlib
import json
import pathlib
import sys


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def one_type(path):
    """Every column of JSON has one type, absent values aside; so have the elements of lists and the values of maps."""
    types = {}

    def note(place, value):
        if value is None:
            return
        types.setdefault(place, set()).add(type(value).__name__)
        if isinstance(value, list):
            for element in value:
                note(place + "[]", element)
        if isinstance(value, dict):
            for key, element in value.items():
                note(place + "." + key, element)

    for record in lines(path):
        for column, value in record.items():
            note(column, value)
    mixed = {place: found for place, found in types.items() if len(found) > 1}
    assert not mixed, f"{path.name}: {mixed}"


def with_pandas(pandas, path):
    read = pandas.read_csv if path.suffix == ".csv" else lambda path: pandas.read_json(path, lines=True)
    return len(read(path))


def with_polars(polars, path):
    # Columns that are absent in the first hundred records have types nevertheless.
    read = polars.read_csv if path.suffix == ".csv" else polars.read_ndjson
    return read(path, infer_schema_length=None).height


def with_duckdb(duckdb, path):
    # Names are the same to DuckDB in upper and lower case: Hubs' and MAGIC's handlers, far down, are left as JSON.
    read = "read_csv('{}', sample_size=-1)" if path.suffix == ".csv" else "read_json('{}', sample_size=-1, maximum_depth=2)"
    return duckdb.sql(f"SELECT count(*) FROM {read.format(path)}").fetchall()[0][0]


def with_pyarrow(pyarrow, path):
    module = importlib.import_module("pyarrow.csv" if path.suffix == ".csv" else "pyarrow.json")
    # Descriptions of machines have lines of their own.
    if path.suffix == ".csv":
        return module.read_csv(path, parse_options=module.ParseOptions(newlines_in_values=True)).num_rows
    return module.read_json(path).num_rows


def records(path):
    if path.suffix == ".csv":
        with path.open(newline="") as file:
            return sum(1 for _ in csv.reader(file)) - 1
    return len(lines(path))


def main():
    folder, names = pathlib.Path(sys.argv[1]), sys.argv[2:]
    for name in names:
        one_type(folder / f"{name}.jsonl")
    for reader in ["pandas", "polars", "duckdb", "pyarrow"]:
        try:
            module = importlib.import_module(reader)
        except ImportError as error:
            print(f"skipped: {reader} is not installed ({error})")
            continue
        for name in names:
            for ending in [".jsonl", ".csv"]:
                path = folder / f"{name}{ending}"
                if ending == ".jsonl" and not path.read_text():
                    # No line, no columns: not every reader takes that for a table.
                    continue
                found, wanted = globals()[f"with_{reader}"](module, path), records(path)
                assert found == wanted, f"{reader} finds {found} of {wanted} records in {path.name}"
        print(f"{reader}: {len(names)} commands, {module.__version__}")


main()
