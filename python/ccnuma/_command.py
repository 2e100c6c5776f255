"""The command ``ccnuma``: where it is, and running it."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import warnings
from dataclasses import dataclass, field
from typing import IO, Any, Iterator, Mapping, Optional, Sequence, Union

from . import _decode, records
from ._errors import BadInput, CcnumaWarning, CommandNotFound, RunFailed
from ._progress import Bar

PathLike = Union[str, "os.PathLike[str]"]

#: How long an interrupted command may take to say what it has done.
_PATIENCE_S = 15.0
#: A line of progress, as `CCNUMA_PROGRESS=lines` has them on standard error.
_PROGRESS = re.compile(r"progress: (\d+) of (\d+|\?) (.*)")


def find(given: Optional[PathLike] = None) -> str:
    """The path of the command: ``given``, else the environment's ``CCNUMA``, else beside the interpreter, else on ``PATH``.

    Raises :class:`CommandNotFound` where there is none.
    """
    for origin, path in (("ccnuma=", given), ("CCNUMA=", os.environ.get("CCNUMA"))):
        if path:
            found = shutil.which(os.fspath(path))
            if found is None:
                raise CommandNotFound(f"{origin}{os.fspath(path)}: there is no such program; accepted: the path of the command ccnuma")
            return found
    beside = pathlib.Path(sys.executable).parent / "ccnuma"
    found = shutil.which(str(beside)) or shutil.which("ccnuma")
    if found is None:
        raise CommandNotFound(
            f"the command ccnuma is neither beside {sys.executable} nor on PATH; install it by `pip install ccnuma`,"
            " or set CCNUMA to its path"
        )
    return found


@dataclass
class Outcome:
    """What a command did."""

    command: list[str]
    exit_code: int = 0
    records: list[records.Record] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    error: Optional[str] = None
    interrupted: Optional[str] = None
    output: str = ""

    def add(self, line: str) -> None:
        """Takes in a line of JSON."""
        row = json.loads(line)
        self.rows.append(row)
        self.records.append(_decode.record(row))

    def said(self, line: str, bar: Bar) -> None:
        """Takes in a line of standard error."""
        progress = _PROGRESS.fullmatch(line)
        if progress:
            bar.at(int(progress[1]), None if progress[2] == "?" else int(progress[2]), progress[3])
        elif line.startswith("error: "):
            self.error = line.removeprefix("error: ")
        elif line.startswith("interrupted: "):
            self.interrupted = line.removeprefix("interrupted: ")
        elif line.startswith("warning: "):
            self.notes.append(line)
            warnings.warn(line.removeprefix("warning: "), CcnumaWarning, stacklevel=2)
        elif line.strip():
            self.notes.append(line)


def run(
    words: Sequence[str],
    *,
    ccnuma: Optional[PathLike] = None,
    progress: Optional[bool] = None,
    file: Optional[pathlib.Path] = None,
    environment: Optional[Mapping[str, str]] = None,
    program: bool = False,
) -> Outcome:
    """Runs the command, which writes its records to standard output, or to ``file`` where that is a program's own.

    With ``program`` the exit code, and errors without the command's own, are those of the program that it started.

    An interruption is passed on to the command, which prints what it has; then ``outcome.interrupted`` is set.
    Raises :class:`BadInput` and :class:`RunFailed` for what the command calls errors.
    """
    command = [find(ccnuma), *words]
    outcome = Outcome(command)
    with Bar(progress, what=words[0]) as bar:
        # A session of its own: an interruption reaches it once, from here.
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
            env={**os.environ, "CCNUMA_PROGRESS": "lines", "NO_COLOR": "1", **(environment or {})},
        )
        assert process.stdout is not None and process.stderr is not None
        listener = threading.Thread(target=_listen, args=(process.stderr, outcome, bar), daemon=True)
        listener.start()
        lines = _lines(process.stdout)
        try:
            _take(lines, outcome, file)
        except KeyboardInterrupt:
            _interrupt(process)
            _take(lines, outcome, file)
            outcome.interrupted = outcome.interrupted or "interrupted"
        except BaseException:
            process.kill()
            process.wait()
            raise
        outcome.exit_code = process.wait()
        listener.join()
    if file is not None and file.exists():
        for line in file.read_text().splitlines():
            outcome.add(line)
    if outcome.interrupted is None and outcome.error is not None:
        _refuse(outcome)
    if outcome.exit_code < 0 and not program:
        name = signal.Signals(-outcome.exit_code).name
        raise RunFailed(f"{shlex.join(command)} was ended by {name}", command, outcome.exit_code)
    return outcome


def _refuse(outcome: Outcome) -> None:
    from .results import Results

    kind = BadInput if outcome.exit_code == 2 else RunFailed
    found: Results[Any] = Results.of(outcome)
    raise kind(outcome.error or "", outcome.command, outcome.exit_code, found)


def _take(lines: Iterator[str], outcome: Outcome, file: Optional[pathlib.Path]) -> None:
    for line in lines:
        if file is None:
            outcome.add(line)
        else:
            outcome.output += line


def _lines(stream: IO[str]) -> Iterator[str]:
    # A generator ends with the exception that it is left by: readline goes on after an interruption.
    return iter(stream.readline, "")


def _interrupt(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGINT)
    # A command that does not end is ended, so that reading its output ends, too.
    timer = threading.Timer(_PATIENCE_S, process.kill)
    timer.daemon = True
    timer.start()


def _listen(stream: IO[str], outcome: Outcome, bar: Bar) -> None:
    for line in stream:
        outcome.said(line.rstrip("\n"), bar)


class Words(list[str]):
    """The words of a command line."""

    def flag(self, name: str, value: Any) -> Words:
        """Adds ``--name value``: nothing for ``None`` and ``False``, the flag alone for ``True``, once each for a list."""
        if value is None or value is False:
            return self
        if value is True:
            self.append(name)
            return self
        for element in value if isinstance(value, (list, tuple, range)) else [value]:
            self.extend([name, spelled(element)])
        return self

    def together(self, name: str, value: Any) -> Words:
        """Adds ``--name a,b,c``."""
        if value is None or value is False:
            return self
        if isinstance(value, (list, tuple, range)):
            return self.flag(name, ",".join(map(spelled, value)))
        return self.flag(name, value)


def spelled(value: Any) -> str:
    """A value as the command takes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    return str(value)
