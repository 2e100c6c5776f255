"""The command's verbs as functions. What they are given is checked by the command, whose messages the exceptions carry."""

from __future__ import annotations

import pathlib
import tempfile
from typing import Any, Mapping, Optional, Sequence, TypeVar, Union

from . import records
from ._command import Outcome, PathLike, Words, run as run_command, spelled
from ._errors import BadInput, Interrupted, RunFailed
from .machines import Machine
from .results import Results

#: A machine by its name, its file, or as :func:`ccnuma.machine` gives it.
AnyMachine = Union[str, PathLike, Machine]
#: One value, or several, each of which makes a run.
Some = Union[str, int, Sequence[Union[str, int]], range]
R = TypeVar("R", bound=records.Record)


def _machines(machine: Union[AnyMachine, Sequence[AnyMachine]]) -> list[str]:
    several = machine if isinstance(machine, (list, tuple)) else [machine]
    return [one.name if isinstance(one, Machine) else spelled(one) for one in several]


def _conclude(outcome: Outcome, kind: type[R], failure: Optional[str] = None) -> Results[R]:
    """The records of a run, unless it was interrupted, or has found a ``failure`` that makes its figures worthless."""
    found: Results[R] = Results.of(outcome, kind)
    if outcome.interrupted is not None:
        raise Interrupted(outcome.interrupted, outcome.command, found)
    if failure is not None and outcome.exit_code == 1:
        raise RunFailed(failure, outcome.command, 1, found)
    return found


def bench(
    machine: Optional[AnyMachine] = None,
    *experiments: str,
    suite: Optional[str] = None,
    state: Optional[str] = None,
    home: Optional[int] = None,
    local: Union[int, Sequence[int], None] = None,
    remote: Union[int, Sequence[int], None] = None,
    quick: bool = False,
    iterations: Optional[int] = None,
    lines: Optional[int] = None,
    nodes_per_distance: Optional[int] = None,
    seed: Optional[int] = None,
    array: Optional[int] = None,
    stride: Optional[int] = None,
    spacing: Optional[int] = None,
    chunk: Optional[int] = None,
    traffic: Optional[str] = None,
    pause: Optional[int] = None,
    round_trips: Optional[int] = None,
    seconds: Optional[float] = None,
    pages: Optional[str] = None,
    order: Optional[str] = None,
    window: Optional[int] = None,
    bound: Optional[float] = None,
    stable: Optional[int] = None,
    max_work: Optional[int] = None,
    svg: Optional[PathLike] = None,
    ccnuma: Optional[PathLike] = None,
    progress: Optional[bool] = None,
) -> Results[records.Measurement]:
    """Measures latencies and bandwidths: of this computer, or of a simulated ``machine``.

    Experiments are names as ``lmbench-read``; without any, a suite is run (``local``, ``remote``, ``interventions``, ...). The keywords
    are the flags of ``ccnuma bench``: nodes and CPUs are numbers, ``array`` and ``chunk`` in KiB, ``stride`` in bytes, ``spacing`` in
    lines, ``seconds`` in s, ``bound`` in ns.
    """
    words = Words(["bench", "--json", *experiments])
    words.flag("--machine", None if machine is None else _machines(machine))
    words.flag("--suite", suite).flag("--state", state).flag("--home", home).flag("--local", local).flag("--remote", remote)
    words.flag("--quick", quick).flag("--iterations", iterations).flag("--lines", lines).flag("--seed", seed)
    words.flag("--nodes-per-distance", nodes_per_distance).flag("--array", array).flag("--stride", stride)
    words.flag("--spacing", spacing).flag("--chunk", chunk).flag("--traffic", traffic).flag("--pause", pause)
    words.flag("--round-trips", round_trips).flag("--seconds", seconds).flag("--pages", pages).flag("--order", order)
    words.flag("--window", window).flag("--bound", bound).flag("--stable", stable).flag("--max-work", max_work)
    words.flag("--svg", svg)
    return _conclude(run_command(words, ccnuma=ccnuma, progress=progress), records.Measurement)


def _program(program: Union[str, Sequence[str], None], command: Optional[Sequence[PathLike]]) -> tuple[list[str], list[str]]:
    """The words of built-in programs, and those of a program of one's own, which come last."""
    if (program is None) == (command is None):
        raise BadInput("either a built-in program or command=[...] with a program of your own; accepted: one of both")
    if command is not None:
        return [], ["--", *map(spelled, command)]
    return ([program] if isinstance(program, str) else list(program or [])), []


def _run(words: Words, last: Sequence[str], ccnuma: Optional[PathLike], progress: Optional[bool]) -> Outcome:
    """Runs it; standard output belongs to a program of one's own, so that records go to a file then."""
    if not last:
        return run_command([*words, "--json"], ccnuma=ccnuma, progress=progress)
    with tempfile.TemporaryDirectory(prefix="ccnuma-") as folder:
        file = pathlib.Path(folder) / "records.jsonl"
        return run_command([*words, f"--json={file}", *last], ccnuma=ccnuma, progress=progress, file=file)


def sim(
    machine: Union[AnyMachine, Sequence[AnyMachine]],
    program: Union[str, Sequence[str], None] = None,
    *,
    command: Optional[Sequence[PathLike]] = None,
    cpus: Optional[Some] = None,
    protocol: Optional[Some] = None,
    placement: Optional[Some] = None,
    scheduler: Optional[Some] = None,
    barrier: Optional[Some] = None,
    locks: Optional[Some] = None,
    vary: Optional[Mapping[str, Sequence[Any]]] = None,
    touch_again: bool = False,
    stats: bool = False,
    causes: bool = False,
    seed: Optional[int] = None,
    record: Optional[PathLike] = None,
    instructions: Optional[int] = None,
    stack: Optional[int] = None,
    spin_limit: Optional[int] = None,
    host_time: bool = False,
    no_caches: bool = False,
    svg: Optional[PathLike] = None,
    ccnuma: Optional[PathLike] = None,
    progress: Optional[bool] = None,
    **parameters: Some,
) -> Results[records.Simulation]:
    """Runs programs on simulated machines: a record for every combination of machines, programs, ``cpus``, policies, parameters.

    ``program`` is one of the built-in ones (:func:`programs`) or a file of recorded references, or several; further keywords are its
    parameters, as ``points=4096``. ``command=["./fft", "-p{cpus}"]`` runs a program of your own that was built with ``ccnuma cc``.
    ``vary={"tlb.miss_ns": [0, 700]}`` varies parameters of the machine. ``stack`` is in KiB, ``spin_limit`` in ms of simulated time.

    Raises :class:`RunFailed` where a program finds its own results wrong.
    """
    names, last = _program(program, command)
    words = Words(["sim", *names]).flag("--machine", _machines(machine)).together("--cpus", cpus)
    words.together("--protocol", protocol).together("--placement", placement).together("--scheduler", scheduler)
    words.together("--barrier", barrier).together("--locks", locks).flag("--seed", seed).flag("--record", record)
    words.flag("--touch-again", touch_again).flag("--stats", stats).flag("--causes", causes).flag("--svg", svg)
    words.flag("--instructions", instructions).flag("--stack", stack).flag("--spin-limit", spin_limit)
    words.flag("--host-time", host_time).flag("--no-caches", no_caches)
    for key, values in (vary or {}).items():
        words.flag("--vary", f"{key}={','.join(map(spelled, values))}")
    for key, value in parameters.items():
        words.together(f"--{key}", value)
    outcome = _run(words, last, ccnuma, progress)
    return _conclude(outcome, records.Simulation, "a program found its own results wrong: its figures mean nothing")


def programs(*, ccnuma: Optional[PathLike] = None) -> Results[records.Program]:
    """The built-in programs and their parameters: a record for each parameter."""
    return _conclude(run_command(["sim", "--list", "--json"], ccnuma=ccnuma, progress=False), records.Program)


def verify(
    protocol: Optional[str] = None,
    *,
    caches: Optional[int] = None,
    lines: Optional[int] = None,
    processors_per_node: Optional[int] = None,
    accesses: Optional[str] = None,
    mutation: Optional[str] = None,
    max_states: Optional[int] = None,
    litmus: Optional[str] = None,
    all: bool = False,
    random: bool = False,
    seeds: Optional[int] = None,
    first_seed: Optional[int] = None,
    nodes: Optional[int] = None,
    cores: Optional[int] = None,
    references: Optional[int] = None,
    stats: bool = False,
    ccnuma: Optional[PathLike] = None,
    progress: Optional[bool] = None,
) -> Results[records.Verification]:
    """Explores every reachable state of a coherence protocol, or tests it at random (``random=True``) or by a litmus test.

    A broken property is a result, not an exception: ``results.failed`` is set, and ``results.notes`` has the counterexample.
    """
    words = Words(["verify", "--json", *([protocol] if protocol else [])])
    words.flag("--caches", caches).flag("--lines", lines).flag("--processors-per-node", processors_per_node)
    words.flag("--accesses", accesses).flag("--mutation", mutation).flag("--max-states", max_states).flag("--litmus", litmus)
    words.flag("--all", all).flag("--random", random).flag("--seeds", seeds).flag("--first-seed", first_seed)
    words.flag("--nodes", nodes).flag("--cores", cores).flag("--references", references).flag("--stats", stats)
    return _conclude(run_command(words, ccnuma=ccnuma, progress=progress), records.Verification)


def _with(words: Words, flags: Mapping[str, object]) -> Words:
    """``words`` with a flag for each key, one of a run or a parameter of its program."""
    for key, value in flags.items():
        words.flag(f"--{key}", value)
    return words


def diagnose(
    machine: Union[AnyMachine, Sequence[AnyMachine], None] = None,
    program: Optional[str] = None,
    *,
    command: Optional[Sequence[PathLike]] = None,
    no_trials: bool = False,
    cpus: Optional[int] = None,
    placement: Optional[str] = None,
    scheduler: Optional[str] = None,
    barrier: Optional[str] = None,
    locks: Optional[str] = None,
    seed: Optional[int] = None,
    ccnuma: Optional[PathLike] = None,
    progress: Optional[bool] = None,
    **parameters: Some,
) -> Results[records.Finding]:
    """Finds what keeps a program from being faster, the costliest first: on a simulated machine, whose remedies it tries, or here.

    Without a machine, ``command=["./prog"]`` is any program, which runs on this computer. ``results.notes`` tells what could not be
    examined, and why.
    """
    names, last = _program(program, command)
    words = Words(["diagnose", *names]).flag("--machine", None if machine is None else _machines(machine))
    words.flag("--no-trials", no_trials)
    run = {"cpus": cpus, "placement": placement, "scheduler": scheduler, "barrier": barrier, "locks": locks, "seed": seed}
    return _conclude(_run(_with(words, {**run, **parameters}), last, ccnuma, progress), records.Finding)


def advise(
    machine: AnyMachine,
    program: Optional[str] = None,
    *,
    command: Optional[Sequence[PathLike]] = None,
    only: Union[str, Sequence[str], None] = None,
    jobs: Optional[int] = None,
    cpus: Optional[int] = None,
    placement: Optional[str] = None,
    scheduler: Optional[str] = None,
    barrier: Optional[str] = None,
    locks: Optional[str] = None,
    seed: Optional[int] = None,
    ccnuma: Optional[PathLike] = None,
    progress: Optional[bool] = None,
    **parameters: Some,
) -> Results[records.Advice]:
    """Tries placements of memory and threads and memory modes of a simulated ``machine``: a record for each, the fastest first.

    ``gain_pct`` is the reduction of the present time, ``means`` what gets the setting, ``variant`` the machine's name with it. ``only``
    is some of placement, memory-mode, prefetchers, threads.
    """
    names, last = _program(program, command)
    words = Words(["advise", *names]).flag("--machine", _machines(machine)).together("--only", only).flag("--jobs", jobs)
    run = {"cpus": cpus, "placement": placement, "scheduler": scheduler, "barrier": barrier, "locks": locks, "seed": seed}
    outcome = _run(_with(words, {**run, **parameters}), last, ccnuma, progress)
    return _conclude(outcome, records.Advice, "the program found its own results wrong")


def fit(
    machine: Optional[AnyMachine] = None,
    *data: PathLike,
    model: Optional[str] = None,
    largest: Optional[int] = None,
    most_caches: Optional[int] = None,
    data_out: Optional[PathLike] = None,
    machine_out: Optional[PathLike] = None,
    svg: Optional[PathLike] = None,
    force: bool = False,
    ccnuma: Optional[PathLike] = None,
    progress: Optional[bool] = None,
) -> Results[records.Fit]:
    """Fits models of the memory hierarchy: to files of measurements (``data``), else to what it measures here or on ``machine``.

    ``machine_out`` describes the measured machine, so that it can be simulated. ``results.failed``: the simulation of it differs from
    what was measured. ``largest`` is in MiB.
    """
    words = Words(["fit", "--json", *map(spelled, data)])
    words.flag("--machine", None if machine is None else _machines(machine)).flag("--model", model).flag("--largest", largest)
    words.flag("--most-caches", most_caches).flag("--data-out", data_out).flag("--machine-out", machine_out)
    words.flag("--svg", svg).flag("--force", force)
    return _conclude(run_command(words, ccnuma=ccnuma, progress=progress), records.Fit)


def against(
    machine: AnyMachine,
    file: PathLike,
    *,
    ccnuma: Optional[PathLike] = None,
    progress: Optional[bool] = None,
) -> Results[records.Fit]:
    """Repeats the records of ``file`` on a simulated ``machine``: each as measured (``value``) and simulated (``held``)."""
    words = Words(["bench", "--json"]).flag("--machine", _machines(machine)).flag("--against", file)
    return _conclude(run_command(words, ccnuma=ccnuma, progress=progress), records.Fit)


def reproduce(
    what: Optional[str] = None,
    *,
    all: bool = False,
    quick: bool = False,
    iterations: Optional[int] = None,
    lines: Optional[int] = None,
    nodes_per_distance: Optional[int] = None,
    seed: Optional[int] = None,
    svg: Optional[PathLike] = None,
    ccnuma: Optional[PathLike] = None,
    progress: Optional[bool] = None,
) -> Results[records.Reproduction]:
    """Reruns a published table or figure, as ``prestor/4.6``, or a whole paper: ``theirs`` is published, ``ours`` simulated.

    ``calibrated`` marks figures that the machine was fitted to: all others are predictions.
    """
    words = Words(["reproduce", "--json", *([what] if what else [])]).flag("--all", all).flag("--quick", quick)
    words.flag("--iterations", iterations).flag("--lines", lines).flag("--nodes-per-distance", nodes_per_distance)
    words.flag("--seed", seed).flag("--svg", svg)
    if what is None and not all:
        raise BadInput("what is missing; accepted: a paper, a table or a figure of publications(), or all=True")
    return _conclude(run_command(words, ccnuma=ccnuma, progress=progress), records.Reproduction)


def publications(paper: Optional[str] = None, *, ccnuma: Optional[PathLike] = None) -> Results[records.Publication]:
    """The published tables and figures that can be reproduced, of one paper or of all."""
    words = ["reproduce", "--list", "--json", *([paper] if paper else [])]
    return _conclude(run_command(words, ccnuma=ccnuma, progress=False), records.Publication)


def topology(
    machine: Optional[AnyMachine] = None,
    *,
    routes: bool = False,
    svg: Optional[PathLike] = None,
    ccnuma: Optional[PathLike] = None,
) -> Results[records.Topology]:
    """The parts of a simulated machine or of this computer: nodes, routers, links; here also caches, pages, limits."""
    words = Words(["topology", "--json"]).flag("--machine", None if machine is None else _machines(machine))
    words.flag("--routes", routes).flag("--svg", svg)
    return _conclude(run_command(words, ccnuma=ccnuma, progress=False), records.Topology)


def sar(
    interval: Optional[str] = None,
    count: int = 1,
    *,
    node: Union[int, Sequence[int], None] = None,
    metric: Union[str, Sequence[str], None] = None,
    all: bool = False,
    ccnuma: Optional[PathLike] = None,
) -> Results[records.Sample]:
    """So many samples of what this computer's nodes and links do, ``interval`` apart (``"50ms"``; seconds without a unit)."""
    words = Words(["sar", interval or "1", str(count), "--json"]).flag("--node", node).flag("--metric", metric).flag("--all", all)
    return _conclude(run_command(words, ccnuma=ccnuma, progress=False), records.Sample)
