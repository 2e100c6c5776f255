"""Memory performance of cache-coherent NUMA machines, real or simulated: the command ``ccnuma`` from Python.

>>> import ccnuma as cc
>>> m = cc.machine("arctic")
>>> cc.bench(m, suite="local").df()
>>> runs = cc.sim([m, m.with_(l2_size_mib=16)], "fft", cpus=[1, 4, 16])
>>> cc.plot(runs, "speedup")

Functions are the command's verbs, results are sequences of dataclasses (:mod:`ccnuma.records`) with ``df()``, ``polars()`` and
``arrow()``. The command is looked for at ``ccnuma=``, the environment's ``CCNUMA``, beside the interpreter, and on ``PATH``.
"""

from . import records
from ._command import find
from ._errors import (
    BadInput,
    CcnumaError,
    CcnumaWarning,
    CommandNotFound,
    Interrupted,
    MissingPackage,
    RecordError,
    RunFailed,
)
from .calls import advise, against, bench, diagnose, fit, programs, publications, reproduce, sar, sim, topology, verify
from .machines import Machine, machine, machines
from .plots import plot
from .results import Results, load
from .sweeps import merged, runs, sweep
from .traces import Run, Trace, run, trace

__all__ = [
    "BadInput",
    "CcnumaError",
    "CcnumaWarning",
    "CommandNotFound",
    "Interrupted",
    "Machine",
    "MissingPackage",
    "RecordError",
    "Results",
    "Run",
    "RunFailed",
    "Trace",
    "advise",
    "against",
    "bench",
    "diagnose",
    "find",
    "fit",
    "load",
    "machine",
    "machines",
    "merged",
    "plot",
    "programs",
    "publications",
    "records",
    "reproduce",
    "run",
    "runs",
    "sar",
    "sim",
    "sweep",
    "topology",
    "trace",
    "verify",
]
