"""Simulated machines: descriptions, and changes of their parameters."""

from __future__ import annotations

import dataclasses
import difflib
import json
from types import MappingProxyType
from typing import Any, Mapping, Optional, Sequence, Union

from . import records
from ._command import PathLike, Words, run, spelled
from ._errors import BadInput
from .results import Results

Value = Union[str, int, float, bool, Sequence[str]]


@dataclasses.dataclass(frozen=True)
class Machine:
    """A simulated machine: a name that ``-m`` takes, and its parameters.

    ``parameters`` maps keys as ``l2.size_mib`` to values, ``sources`` to the file and line that each value is from; ``m["l2.size_mib"]``
    is one of them. :meth:`with_` makes another machine.
    """

    name: str
    title: str
    parameters: Mapping[str, Value] = dataclasses.field(repr=False, compare=False)
    sources: Mapping[str, str] = dataclasses.field(repr=False, compare=False)
    calibrated_on: Sequence[str] = dataclasses.field(repr=False, compare=False)
    description: str = dataclasses.field(repr=False, compare=False)
    ccnuma: Optional[PathLike] = dataclasses.field(repr=False, compare=False, default=None)

    @property
    def processors(self) -> int:
        """How many processors it has."""
        return int(str(self.parameters["topology.processors"]))

    def __getitem__(self, key: str) -> Value:
        return self.parameters[self._key(key)]

    def source(self, key: str) -> Optional[str]:
        """Where a parameter's value comes from: a file and line of the repository, or the change that set it."""
        return self.sources.get(self._key(key))

    def with_(self, changes: Optional[Mapping[str, Value]] = None, *, protocol: Optional[str] = None, **parameters: Value) -> Machine:
        """The machine with other parameters: ``m.with_(l2_size_mib=16)``, or ``m.with_({"l2.size_mib": 16})``.

        Keywords are the keys of a machine's file with ``_`` for the dot. Raises :class:`BadInput` for a key that there is not, with the
        most similar ones, and for a value that is not accepted.
        """
        name = self.name + (f"+{protocol}" if protocol else "")
        for key, value in {**(changes or {}), **parameters}.items():
            name += f"+{self._key(key, new=True)}={spelled(value)}"
        return machine(name, ccnuma=self.ccnuma)

    def _key(self, given: str, new: bool = False) -> str:
        if given in self.parameters:
            return given
        flat = {key.replace(".", "_"): key for key in self.parameters}
        name = given.replace(".", "_")
        if name in flat:
            return flat[name]
        # A key that has no value here may have one: the command knows, and says what is accepted.
        tables = sorted({key.split(".")[0] for key in self.parameters if "." in key}, key=len, reverse=True)
        table = next((table for table in tables if name.startswith(table + "_")), None)
        if new and table is not None:
            return f"{table}.{name[len(table) + 1:]}"
        similar = [flat[near] for near in difflib.get_close_matches(name, flat, n=3, cutoff=0.5)]
        hint = f", did you mean {' or '.join(similar)}?" if similar else ""
        raise BadInput(
            f"{given}: {self.name} has no such parameter{hint}; accepted: TABLE_KEY or TABLE.KEY with a table of {' '.join(sorted(tables))}"
        )

    def __str__(self) -> str:
        return self.name

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{key}</td><td>{_escaped(value)}</td><td>{_escaped(self.sources.get(key, ''))}</td></tr>"
            for key, value in self.parameters.items()
        )
        head = "<tr><th>parameter</th><th>value</th><th>from</th></tr>"
        return f"<details><summary><b>{_escaped(self.name)}</b>: {_escaped(self.title)}</summary><table>{head}{rows}</table></details>"


def _escaped(value: Any) -> str:
    return str(value).replace("&", "&amp;").replace("<", "&lt;")


def machine(name: PathLike, *, ccnuma: Optional[PathLike] = None) -> Machine:
    """The machine of a name as ``arctic``, ``flash-64p+hybrid`` or ``arctic+l2.size_mib=16``, or of a TOML file.

    Raises :class:`BadInput` where there is none, or its description is wrong.
    """
    outcome = run(["machines", "show", spelled(name), "--json"], ccnuma=ccnuma, progress=False)
    record = outcome.records[0]
    assert isinstance(record, records.Description)
    values, sources = _parameters(record.description)
    calibrated = values.pop("calibrated_on", [])
    return Machine(
        # A file is named by its path: its own name says nothing to the command.
        name=spelled(name),
        title=str(values.pop("title", "")),
        parameters=MappingProxyType({key: value for key, value in values.items() if key != "name"}),
        sources=MappingProxyType(sources),
        calibrated_on=tuple(calibrated) if isinstance(calibrated, list) else (),
        description=record.description,
        ccnuma=ccnuma,
    )


def _parameters(text: str) -> tuple[dict[str, Value], dict[str, str]]:
    """Values and sources of a resolved description: tables of ``key = value # source``, with values that are JSON, too."""
    decoder = json.JSONDecoder()
    table, values, sources = "", {}, {}
    for line in text.splitlines():
        if line.startswith("["):
            table = line.strip("[]") + "."
        elif line.strip():
            key, _, rest = line.partition(" = ")
            value, end = decoder.raw_decode(rest)
            values[table + key] = value
            source = rest[end:].strip().removeprefix("#").strip()
            if source:
                sources[table + key] = source
    return values, sources


def machines(*, ccnuma: Optional[PathLike] = None) -> Results[records.Machine]:
    """The machines that are built in. Families such as ``flash-64p`` have a name for every size; the manual lists them."""
    return Results.of(run(Words(["machines", "--json"]), ccnuma=ccnuma, progress=False), records.Machine)
