"""Records from JSON: dataclasses of :mod:`ccnuma.records`."""

from __future__ import annotations

import dataclasses
import keyword
import typing
from typing import Any, Callable, Literal, Union

from . import records
from ._errors import RecordError

Decoder = Callable[[Any], Any]


def record(value: dict[str, Any]) -> records.Record:
    """The record of a line of JSON.

    Fields that this version does not know are left out; a kind or a version of the schema that it does not know, or a field that is
    missing, is an error.
    """
    kind = records.KINDS.get(value.get("record", ""))
    if kind is None or value.get("schema") != records.SCHEMA:
        raise RecordError(
            f"a record of kind {value.get('record')!r} and schema {value.get('schema')!r}, written by ccnuma {value.get('version')};"
            f" accepted: schema {records.SCHEMA} of {' '.join(records.KINDS)}; install the package and the command of one version"
        )
    return typing.cast(records.Record, _class(kind)(value))


_CLASSES: dict[type[Any], Decoder] = {}


def _class(kind: type[Any]) -> Decoder:
    if kind not in _CLASSES:
        _CLASSES[kind] = _decoder_of_class(kind)
    return _CLASSES[kind]


def _decoder_of_class(kind: type[Any]) -> Decoder:
    hints = typing.get_type_hints(kind)
    fields = []
    for field in dataclasses.fields(kind):
        key = field.name[:-1] if field.name.endswith("_") and keyword.iskeyword(field.name[:-1]) else field.name
        fields.append((field.name, key, _decoder(hints[field.name]), field.default is dataclasses.MISSING))

    def decode(value: Any) -> Any:
        found = {}
        for name, key, of, required in fields:
            if key in value:
                found[name] = of(value[key])
            elif required:
                raise RecordError(f"a {kind.__name__} without {key}; install the package and the command of one version")
        return kind(**found)

    return decode


def _as_it_is(value: Any) -> Any:
    return value


def _decoder(hint: Any) -> Decoder:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Union:
        inner = _decoder(next(kind for kind in arguments if kind is not type(None)))
        return inner if inner is _as_it_is else lambda value: None if value is None else inner(value)
    if origin is list:
        inner = _decoder(arguments[0])
        return inner if inner is _as_it_is else lambda value: [inner(element) for element in value]
    if origin is dict:
        inner = _decoder(arguments[1])
        return inner if inner is _as_it_is else lambda value: {key: inner(element) for key, element in value.items()}
    if hint is float:
        # JSON has one kind of numbers: 12 is a float here.
        return float
    if origin is Literal or hint in (int, str, bool):
        return _as_it_is
    return _class(hint)
