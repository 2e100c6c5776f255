"""Traces of counters over time: running a program under the sampler, and reading what it wrote."""

from __future__ import annotations

import json
import os
import pathlib
import tempfile
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence, Union

from . import _optional, records
from ._command import PathLike, Words, run as run_command, spelled
from ._errors import BadInput, Interrupted
from .calls import AnyMachine, _machines
from .results import Results

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class Trace:
    """A trace file, as ``ccnuma run`` and ``ccnuma sar`` write it.

    :meth:`arrow`, :meth:`df` and :meth:`polars` are its samples with a row an object and time, and a column a counter with its unit
    in the name (``node.mdidle_cycles``); :meth:`metrics` is what follows from the counters.
    """

    def __init__(self, path: PathLike, ccnuma: Optional[PathLike] = None) -> None:
        self.path = pathlib.Path(os.fspath(path))
        self._ccnuma = ccnuma
        if not self.path.exists():
            raise BadInput(f"{self.path}: there is no such file; accepted: a trace that ccnuma run or ccnuma sar -o wrote")

    def arrow(self) -> pyarrow.Table:
        """The samples as an Arrow table. Counters are totals; descriptions of objects are left out."""
        pyarrow = _optional.need("pyarrow", "reading a trace")
        _optional.need("pyarrow.ipc", "reading a trace")
        _optional.need("pyarrow.compute", "reading a trace")
        batches: list[Any] = []
        with pyarrow.OSFile(str(self.path)) as file:
            try:
                reader = pyarrow.ipc.open_stream(file)
            except pyarrow.ArrowInvalid as error:
                raise BadInput(f"{self.path}: this is no trace: {error}; accepted: what ccnuma run or ccnuma sar -o wrote") from None
            schema = reader.schema
            while True:
                try:
                    batches.append(reader.read_next_batch())
                except (StopIteration, pyarrow.ArrowInvalid, OSError):
                    # A file that a killed sampler left is read up to the cut.
                    break
        table = pyarrow.Table.from_batches(batches, schema)
        table = table.filter(pyarrow.compute.is_null(table["event"])).drop_columns(["event", "detail"])
        return table.rename_columns([_titled(schema.field(name)) for name in table.column_names])

    def df(self) -> pandas.DataFrame:
        """The samples as a pandas DataFrame."""
        _optional.need("pandas", "df()")
        frame: pandas.DataFrame = self.arrow().to_pandas()
        return frame

    def polars(self) -> polars.DataFrame:
        """The samples as a polars DataFrame."""
        frame: polars.DataFrame = _optional.need("polars", "polars()").from_arrow(self.arrow())
        return frame

    def metrics(
        self,
        *metrics: str,
        node: Union[int, Sequence[int], None] = None,
        thread: Union[str, Sequence[str], None] = None,
        link: Union[str, Sequence[str], None] = None,
        start: Optional[str] = None,
        end: Optional[str] = None,
        all: bool = False,
    ) -> Results[records.Sample]:
        """Metrics over time: the main ones, those named, or ``all``; of all objects, or of some; between two times as ``"0.5s"``."""
        words = Words(["dump", str(self.path), "--json"]).flag("--metric", list(metrics)).flag("--all", all)
        words.flag("--node", node).flag("--thread", thread).flag("--link", link).flag("--from", start).flag("--to", end)
        return Results.of(run_command(words, ccnuma=self._ccnuma), records.Sample)

    def info(self) -> Results[records.Trace]:
        """What the file holds: machine, objects, metrics, counters, times."""
        return Results.of(run_command(["info", str(self.path), "--counters", "--json"], ccnuma=self._ccnuma), records.Trace)

    def perfetto(self, path: PathLike) -> None:
        """Writes a timeline for ui.perfetto.dev."""
        run_command(["dump", str(self.path), "--json", "--perfetto", spelled(path)], ccnuma=self._ccnuma)

    def __repr__(self) -> str:
        return f"Trace({str(self.path)!r})"


def _titled(field: Any) -> str:
    """A column's name with its unit."""
    name: str = field.name
    about = json.loads((field.metadata or {}).get(b"ccnuma.counter", b"{}"))
    unit = {"%": "pct"}.get(about.get("unit", ""), about.get("unit", "").replace("/", "_per_").replace(" ", "_"))
    return name if not unit or name.endswith(f"_{unit}") else f"{name}_{unit}"


def trace(path: PathLike, *, ccnuma: Optional[PathLike] = None) -> Trace:
    """The trace of a file."""
    return Trace(path, ccnuma)


class Run(Results[records.Sample]):
    """What ``ccnuma run`` told of a program: samples at its end; ``trace`` has all of them, ``exit_code`` is the program's."""

    trace: Trace
    exit_code: int


def run(
    command: Union[str, Sequence[PathLike]],
    machine: Optional[AnyMachine] = None,
    *,
    output: Optional[PathLike] = None,
    sample: Optional[str] = None,
    node: Union[int, Sequence[int], None] = None,
    metric: Union[str, Sequence[str], None] = None,
    all: bool = False,
    force: bool = False,
    environment: Optional[Mapping[str, str]] = None,
    ccnuma: Optional[PathLike] = None,
) -> Run:
    """Starts a program, samples it and the machine every ``sample`` (``"10ms"``), and writes a trace to ``output``.

    With a ``machine``, ``command`` is a program of ``ccnuma sim`` and its flags, or the path of one built with ``ccnuma cc``. A file
    that is there is kept beside it with ``.old`` in its name, unless ``force``.
    """
    several = [command] if isinstance(command, str) else list(command)
    path = pathlib.Path(os.fspath(output or f"{pathlib.PurePath(os.fspath(several[0])).name}.arrows"))
    words = Words(["run", "--output", str(path)]).flag("--machine", None if machine is None else _machines(machine))
    words.flag("--sample", sample).flag("--node", node).flag("--metric", metric).flag("--all", all).flag("--force", force)
    with tempfile.TemporaryDirectory(prefix="ccnuma-") as folder:
        file = pathlib.Path(folder) / "records.jsonl"
        last = ["--", *map(spelled, several)]
        outcome = run_command([*words, f"--json={file}", *last], ccnuma=ccnuma, file=file, environment=environment, program=True)
    chosen = [
        (record, row) for record, row in zip(outcome.records, outcome.rows) if isinstance(record, records.Sample)
    ]
    found = Run([record for record, _ in chosen], [row for _, row in chosen], outcome)
    found.trace, found.exit_code = Trace(path, ccnuma), outcome.exit_code
    if outcome.interrupted is not None:
        raise Interrupted(outcome.interrupted, outcome.command, found)
    return found
