"""What a command found: a sequence of records, and tables of them."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any, Generic, Iterator, Optional, Sequence, TypeVar, Union, overload

from . import _optional, records
from ._command import Outcome
from ._errors import BadInput, CcnumaError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

R = TypeVar("R", bound=records.Record, covariant=True)

#: Columns that tell where a record comes from.
ORIGIN = ("record", "schema", "version", "commit", "host", "host_processor", "host_kernel", "date", "command")


class Results(Sequence[R], Generic[R]):
    """The records of a run, in the command's order.

    It is a sequence of dataclasses; :meth:`df`, :meth:`polars` and :meth:`arrow` make tables of them. ``notes`` has what the command
    said beside them, such as a counterexample; ``command`` its words; ``failed`` whether it found a failure (a counterexample, a fit
    that is not confirmed); ``interrupted`` what it said when it was interrupted; ``output`` what a program of your own printed;
    ``descriptions`` the simulated machines, where the command wrote them.
    """

    def __init__(self, found: Sequence[R], rows: Sequence[dict[str, Any]], outcome: Outcome) -> None:
        self._records = tuple(found)
        self._rows = tuple(rows)
        self.command: tuple[str, ...] = tuple(outcome.command)
        self.notes: tuple[str, ...] = tuple(outcome.notes)
        self.failed: bool = outcome.exit_code == 1
        self.interrupted: Optional[str] = outcome.interrupted
        self.output: str = outcome.output
        self.descriptions: tuple[records.Description, ...] = tuple(
            record for record in outcome.records if isinstance(record, records.Description)
        )

    @classmethod
    def of(cls, outcome: Outcome, kind: Optional[type[records.Record]] = None) -> Results[Any]:
        """The records of one kind, by default all but descriptions and structures of machines that come with others."""
        beside = (records.Description, records.Computer)
        alone = all(isinstance(record, beside) for record in outcome.records)
        chosen = [
            (record, row)
            for record, row in zip(outcome.records, outcome.rows)
            if (isinstance(record, kind) if kind else alone or not isinstance(record, beside))
        ]
        return Results([record for record, _ in chosen], [row for _, row in chosen], outcome)

    @overload
    def __getitem__(self, index: int) -> R: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[R]: ...
    def __getitem__(self, index: Union[int, slice]) -> Union[R, Sequence[R]]:
        return self._records[index]

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[R]:
        return iter(self._records)

    def where(self, **values: Any) -> Results[R]:
        """The records whose fields have these values, or one of those of a list: ``where(series="places", state=["CEXH", "CEXM"])``."""
        for name in values:
            if self._rows and name not in self._rows[0]:
                raise BadInput(f"{name}: there is no such field; accepted: {' '.join(self._rows[0])}")
        chosen = [number for number, row in enumerate(self._rows) if all(_matches(row[name], value) for name, value in values.items())]
        found: Results[R] = copy.copy(self)
        found._records = tuple(self._records[number] for number in chosen)
        found._rows = tuple(self._rows[number] for number in chosen)
        return found

    def rows(self, origin: bool = False) -> list[dict[str, Any]]:
        """The records as flat rows: a map such as ``spent_ns`` has a column for each key (``spent_ns.busy``).

        Lists of parts (controllers, processors, regions) are left to :meth:`parts`, columns without any value are left out, and so is
        where the records come from (version, host, date), unless ``origin``.
        """
        flat = [_flat(row) for row in self._rows]
        columns: dict[str, None] = {}
        for row in flat:
            columns.update((name, None) for name, value in row.items() if value is not None)
        kept = [name for name in columns if origin or name not in ORIGIN]
        return [{name: row.get(name) for name in kept} for row in flat]

    def parts(self, name: str) -> list[dict[str, Any]]:
        """The parts of all records, such as ``regions`` or ``controllers``: a row each, after what tells the record apart."""
        found = []
        for row in self._rows:
            if name not in row:
                lists = sorted(key for key, value in row.items() if isinstance(value, list) and any(isinstance(part, dict) for part in value))
                raise KeyError(f"{name}: there are no such parts; accepted: {' '.join(lists) or 'none here'}")
            head = {key: row[key] for key in ("program", "machine", "protocol", "cpus", "seed") if key in row}
            found += [{**head, **_flat(part)} for part in row[name] or []]
        return found

    def df(self, origin: bool = False) -> pandas.DataFrame:
        """The rows as a pandas DataFrame."""
        frame: pandas.DataFrame = _optional.need("pandas", "df()").DataFrame(self.rows(origin))
        return frame

    def polars(self, origin: bool = False) -> polars.DataFrame:
        """The rows as a polars DataFrame."""
        frame: polars.DataFrame = _optional.need("polars", "polars()").DataFrame(self.rows(origin), infer_schema_length=None)
        return frame

    def arrow(self, origin: bool = False) -> pyarrow.Table:
        """The rows as an Arrow table."""
        return _optional.need("pyarrow", "arrow()").Table.from_pylist(self.rows(origin))

    def save(self, path: str) -> None:
        """Writes the records as JSON lines, which ``ccnuma`` and :func:`ccnuma.load` read."""
        with open(path, "w", encoding="utf-8") as file:
            for row in self._rows:
                file.write(json.dumps(row) + "\n")

    def __repr__(self) -> str:
        kinds = sorted({row["record"] for row in self._rows})
        state = ", interrupted" if self.interrupted else ", failed" if self.failed else ""
        return f"<{len(self)} {' and '.join(kinds) or 'record'} record{'s' * (len(self) != 1)}{state}>"

    def _repr_html_(self) -> Optional[str]:
        if _optional.have("pandas") is None:
            return None
        html: str = self.df()._repr_html_()  # type: ignore[operator]
        return html


def _matches(found: Any, wanted: Any) -> bool:
    return found in wanted if isinstance(wanted, (list, tuple, set)) else bool(found == wanted)


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict):
            found.update((f"{key}.{name}", inner) for name, inner in _flat(value).items())
        elif not (isinstance(value, list) and any(isinstance(part, dict) for part in value)):
            found[key] = value
    return found


def load(path: str) -> Results[Any]:
    """The records of a file that ``ccnuma --json=FILE`` or :meth:`Results.save` wrote."""
    outcome = Outcome(command=[])
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                outcome.add(line)
            except (ValueError, AttributeError) as error:
                raise CcnumaError(f"{path}:{number}: not a record: {error}; accepted: what --json=FILE writes") from None
    return Results.of(outcome)
