"""Sweeps: studies as mappings, on executors, interrupted and gone on with."""

import concurrent.futures
import os
import pathlib
import signal
import subprocess
import sys

import pytest

import ccnuma as cc
from ccnuma import sweeps

try:
    import tomllib
except ModuleNotFoundError:
    tomllib = None

STUDY = {
    "sim": {
        "machines": ["flash-4p", "flash-4p+hybrid"],
        "programs": ["private", {"name": "producer-consumer", "readers": [1, 2]}],
        "cpus": [3, 4],
        "parameters": {"lines": 8, "rounds": 2},
        "seeds": [0],
    }
}

has_sweep = subprocess.run([cc.find(), "help", "sweep"], capture_output=True).returncode == 0
needs_sweep = pytest.mark.skipif(not has_sweep, reason="the command has no `ccnuma sweep`")


@pytest.mark.skipif(tomllib is None, reason="Python before 3.11 reads no TOML")
def test_a_mapping_is_written_as_toml():
    study = {"sim": [{"machines": ["a"], "vary": {"tlb.miss_ns": [0, 0.5]}, "stats": True}, {"cpus": "1..4"}], "bench": {"suites": ["é\n\"x\""]}}
    read = tomllib.loads(sweeps.toml(study))
    assert read == {**study, "bench": [study["bench"]]}


def test_a_mapping_needs_a_directory():
    with pytest.raises(cc.BadInput, match="into"):
        cc.sweep(STUDY)


@needs_sweep
def test_a_study_runs_on_an_executor_and_is_done_once(tmp_path):
    into = tmp_path / "study"
    before = cc.runs(STUDY, into)
    assert {run["state"] for run in before} == {"left"}
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        found = cc.sweep(STUDY, into, executor=executor)
    assert len(found) == len(before) == 12
    assert {run["state"] for run in cc.runs(STUDY, into)} == {"done"}
    # Nothing is left: no call of an executor.
    assert list(cc.sweep(STUDY, into, executor=NoExecutor())) == list(found)
    assert (into / "results.parquet").exists()


@needs_sweep
def test_executors_and_the_command_give_the_same_bytes(tmp_path):
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        cc.sweep(STUDY, tmp_path / "a", executor=executor)
    cc.sweep(STUDY, tmp_path / "b", jobs=1)
    assert (tmp_path / "a/results.parquet").read_bytes() == (tmp_path / "b/results.parquet").read_bytes()


class NoExecutor(concurrent.futures.Executor):
    """An executor that must not be called."""

    def submit(self, call, /, *words, **named):
        raise AssertionError("something runs again")


class Interrupting(concurrent.futures.Executor):
    """An executor that is interrupted behind its third call."""

    def __init__(self):
        self.calls = 0

    def submit(self, call, /, *words, **named):
        future = concurrent.futures.Future()
        self.calls += 1
        if self.calls <= 3:
            future.set_result(call(*words, **named))
        return future


@needs_sweep
def test_an_interrupted_sweep_keeps_what_is_done(tmp_path, monkeypatch):
    completed = concurrent.futures.as_completed

    def as_completed(futures):
        done = 0
        for future in completed(futures):
            yield future
            done += 1
            if done == 3:
                signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(concurrent.futures, "as_completed", as_completed)
    with pytest.raises(cc.Interrupted, match="to go on, sweep again") as caught:
        cc.sweep(STUDY, tmp_path / "study", executor=Interrupting())
    assert len(caught.value.results) == 3
    monkeypatch.undo()
    assert len(cc.sweep(STUDY, tmp_path / "study")) == 12


@needs_sweep
def test_a_run_that_fails_is_an_error_with_its_text(tmp_path):
    # A pool that lacks the command on its computers.
    class Elsewhere(concurrent.futures.ThreadPoolExecutor):
        def submit(self, call, /, command, **named):
            return super().submit(call, ["false", *command[1:]], **named)

    with Elsewhere(1) as executor, pytest.raises(cc.RunFailed, match="11 more runs failed"):
        cc.sweep(STUDY, tmp_path / "study", executor=executor)


@needs_sweep
def test_a_wrong_study_is_refused_in_the_commands_words(tmp_path):
    with pytest.raises(cc.BadInput, match="machine"):
        cc.runs({"sim": {"machine": "flash-4p"}}, tmp_path / "study")


def by_parsl(folder):
    pytest.importorskip("parsl")
    from parsl.concurrent import ParslPoolExecutor
    from parsl.config import Config
    from parsl.executors import HighThroughputExecutor
    from parsl.providers import LocalProvider

    workers = HighThroughputExecutor(
        label="here", max_workers_per_node=2, cores_per_worker=1, address="127.0.0.1", encrypted=False, provider=LocalProvider()
    )
    return ParslPoolExecutor(Config(executors=[workers], run_dir=str(folder / "parsl"), usage_tracking=0))


def by_dask(folder):
    pytest.importorskip("distributed")
    from distributed import Client

    client = Client(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, local_directory=str(folder / "dask"))
    return client.get_executor()


@needs_sweep
@pytest.mark.parametrize("engine", [by_parsl, by_dask])
def test_an_engine_of_others_gives_the_same_bytes(engine, root, tmp_path, monkeypatch):
    # Its workers import the package, and its own programs are beside the interpreter.
    monkeypatch.setenv("PYTHONPATH", str(root / "python"))
    monkeypatch.setenv("PATH", f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}")
    executor = engine(tmp_path)
    try:
        found = cc.sweep(STUDY, tmp_path / "a", executor=executor)
    finally:
        executor.shutdown()
        client = getattr(executor, "_client", None)
        if client is not None:
            client.shutdown()
    assert len(found) == 12
    cc.sweep(STUDY, tmp_path / "b")
    assert (tmp_path / "a/results.parquet").read_bytes() == (tmp_path / "b/results.parquet").read_bytes()
