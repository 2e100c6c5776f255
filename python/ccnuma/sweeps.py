"""Many runs: a study's, one by one on whatever executes functions."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import os
import pathlib
import subprocess
from typing import Any, Iterator, Mapping, Optional, Union


from ._command import PathLike, find, run as run_command
from ._errors import BadInput, Interrupted, RunFailed
from ._progress import Bar
from .results import Results

Study = Union[PathLike, Mapping[str, Any]]


def sweep(
    study: Study,
    into: Optional[PathLike] = None,
    *,
    executor: Optional[concurrent.futures.Executor] = None,
    jobs: Optional[int] = None,
    ccnuma: Optional[PathLike] = None,
    progress: Optional[bool] = None,
) -> Results[Any]:
    """Does all runs of a study that are not done yet, and returns the records of all of them, in the study's order.

    ``study`` is a file of ``ccnuma sweep``, or a mapping of the same form, for which ``into`` names the directory of the results. With an
    ``executor`` of :mod:`concurrent.futures`, such as Parsl's, Dask's (``client.get_executor()``) or a thread pool, every run is one of
    its calls; ``into`` must then be a directory that its workers see. Without one, ``jobs`` runs at a time go on this computer.

    An interrupted sweep, and one of which runs failed, keeps what is done: the same call goes on where it stopped.
    """
    command = find(ccnuma)
    file, folder = _file(study, into)
    base = ["sweep", str(file), "--into", str(folder)]
    if executor is None:
        words = [*base, *(["-j", str(jobs)] if jobs is not None else []), "--json"]
        outcome = run_command(words, ccnuma=command, progress=progress)
        if outcome.interrupted is not None:
            raise Interrupted(outcome.interrupted, outcome.command, merged(file, folder, command))
        return merged(file, folder, command)
    left = [row["key"] for row in _listed(base, command) if row["state"] != "done"]
    futures = {executor.submit(_one, [command, *base, "--run", key]): key for key in left}
    failures = []
    try:
        with Bar(progress, "runs", len(left)) as bar:
            for done, future in enumerate(concurrent.futures.as_completed(futures), 1):
                code, said = future.result()
                if code != 0:
                    failures.append(said)
                bar.at(done, len(left), "runs")
    except KeyboardInterrupt:
        for future in futures:
            future.cancel()
        found = merged(file, folder, command)
        raise Interrupted(f"{len(found)} records are in {folder}; to go on, sweep again", [command, *base], found) from None
    if failures:
        more = f" (and {len(failures) - 1} more runs failed)" if len(failures) > 1 else ""
        raise RunFailed(failures[0] + more, [command, *base], 1, merged(file, folder, command))
    return merged(file, folder, command)


def runs(study: Study, into: Optional[PathLike] = None, *, ccnuma: Optional[PathLike] = None) -> list[dict[str, Any]]:
    """The runs of a study: key, state (``done``, ``running``, ``left``), machine, program and parameters of each."""
    file, folder = _file(study, into)
    return _listed(["sweep", str(file), "--into", str(folder)], find(ccnuma))


def merged(study: PathLike, into: PathLike, ccnuma: Optional[PathLike] = None) -> Results[Any]:
    """The records of what is done of a study, and ``results.parquet`` with them in ``into``."""
    words = ["sweep", os.fspath(study), "--into", os.fspath(into), "--merge", "--partial", "--json"]
    return Results.of(run_command(words, ccnuma=ccnuma, progress=False))


def _listed(base: list[str], command: str) -> list[dict[str, Any]]:
    return run_command([*base, "--list", "--json"], ccnuma=command, progress=False).rows


def _one(command: list[str]) -> tuple[int, str]:
    """Does one run: on another computer, perhaps, so it takes and returns plain data."""
    # An error is a line of its own then, however long.
    environment = {**os.environ, "CCNUMA_PROGRESS": "lines", "NO_COLOR": "1"}
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
    )
    said = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    return done.returncode, (said[-1].removeprefix("error: ") if said else f"{' '.join(command)}: exit code {done.returncode}")


def _file(study: Study, into: Optional[PathLike]) -> tuple[pathlib.Path, pathlib.Path]:
    """The study's file and the directory of its results: a mapping is written into that."""
    if not isinstance(study, Mapping):
        path = pathlib.Path(os.fspath(study)).absolute()
        return path, pathlib.Path(os.fspath(into)).absolute() if into is not None else path.with_suffix(".sweep")
    if into is None:
        raise BadInput("into is missing; accepted: a directory for the results of a study that is a mapping")
    folder = pathlib.Path(os.fspath(into)).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    file = folder.with_suffix(".toml")
    text = toml(study)
    if not file.exists() or file.read_text() != text:
        with contextlib.suppress(FileNotFoundError):
            if file.read_text() and not file.read_text().startswith(_WRITTEN):
                raise BadInput(f"{file} is a study that was not written from a mapping; accepted: another directory than {folder}")
        file.write_text(text)
    return file, folder


_WRITTEN = "# Written by ccnuma.sweep() from a mapping.\n"


def toml(study: Mapping[str, Any]) -> str:
    """A study as TOML."""
    return _WRITTEN + "".join(_tables(study))


def _tables(study: Mapping[str, Any]) -> Iterator[str]:
    for name, blocks in study.items():
        for block in blocks if isinstance(blocks, (list, tuple)) else [blocks]:
            if not isinstance(block, Mapping):
                raise BadInput(f"{name}: {block!r} is no table; accepted: a mapping of keys such as machines, or a list of them")
            yield f"\n[[{name}]]\n"
            yield from (f"{key} = {_value(value)}\n" for key, value in block.items())


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(f"{json.dumps(str(key))} = {_value(element)}" for key, element in value.items())
        return f"{{ {inner} }}"
    if isinstance(value, (list, tuple, range)):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, (bool, int, float)):
        return json.dumps(value)
    # A string of JSON is a basic string of TOML; escapes of surrogates, which TOML lacks, are avoided.
    return json.dumps(str(value), ensure_ascii=False)


