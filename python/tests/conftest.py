"""The package is imported from this repository, and the command is the one that `CCNUMA` names or the last build."""

import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
os.environ.setdefault("CCNUMA", str(ROOT / "target/debug/ccnuma"))
os.environ.setdefault("MPLBACKEND", "Agg")


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def small():
    """Simulations that take no time, of two programs on three numbers of processors."""
    import ccnuma as cc

    return cc.sim("flash-4p", ["private", "producer-consumer"], cpus=[1, 2, 4], lines=8, rounds=2, progress=False)
