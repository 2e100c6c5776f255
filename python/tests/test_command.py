"""Where the command is, how it is interrupted, what of a version it speaks."""

import pathlib
import signal
import stat
import subprocess
import sys
import textwrap

import pytest

import ccnuma as cc
from ccnuma import _command, _decode, _optional, _progress


def program(path, text):
    path.write_text(f"#!{sys.executable}\n{textwrap.dedent(text)}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_the_command_is_looked_for_in_order(tmp_path, monkeypatch):
    given, environment, beside, searched = (tmp_path / name / "ccnuma" for name in ("given", "environment", "beside", "searched"))
    for path in (given, environment, beside, searched):
        path.parent.mkdir()
        program(path, "")
    monkeypatch.setenv("CCNUMA", str(environment))
    monkeypatch.setenv("PATH", str(searched.parent))
    monkeypatch.setattr(sys, "executable", str(beside.parent / "python"))
    assert cc.find(given) == str(given)
    assert cc.find() == str(environment)
    monkeypatch.delenv("CCNUMA")
    assert cc.find() == str(beside)
    beside.unlink()
    assert cc.find() == str(searched)
    searched.unlink()
    with pytest.raises(cc.CommandNotFound, match="pip install ccnuma"):
        cc.find()
    monkeypatch.setenv("CCNUMA", str(searched))
    with pytest.raises(cc.CommandNotFound, match="CCNUMA="):
        cc.find()


@pytest.fixture
def interruptible():
    """Shells start what runs in the background so that it ignores interruptions."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interruption_keeps_what_is_done(monkeypatch, interruptible):
    # The first run takes no time, the others many seconds: the signal comes after the first record.
    take = _command.Outcome.add

    def add(outcome, line):
        take(outcome, line)
        if len(outcome.records) == 1:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(_command.Outcome, "add", add)
    with pytest.raises(cc.Interrupted, match="of 4 simulations done") as caught:
        cc.sim("flash-16p", "uniform", cpus=[1, 16], lines=64, references=[64, 1048576], progress=False)
    assert isinstance(caught.value, KeyboardInterrupt)
    assert 1 <= len(caught.value.results) < 4
    assert caught.value.results[0].result == "ok"


def test_progress_is_shown_as_the_command_tells_it(monkeypatch):
    seen = []

    class Tqdm:
        def __init__(self, total, leave):
            self.total, self.n = total, 0

        def set_description(self, what, refresh):
            self.what = what

        def refresh(self):
            seen.append((self.n, self.total, self.what))

        def close(self):
            seen.append("closed")

    class Module:
        tqdm = Tqdm

    monkeypatch.setattr(_optional, "need", lambda module, purpose: Module)
    cc.sim("flash-4p", "private", cpus=[1, 2, 4], lines=8, rounds=2, progress=True)
    assert seen[-1] == "closed"
    assert seen[-2][:2] == (3, 3) and "simulation" in seen[-2][2]


def test_nothing_is_shown_where_nobody_looks(capfd):
    cc.sim("flash-4p", "private", cpus=1, lines=8, rounds=2)
    assert capfd.readouterr() == ("", "")


def test_a_package_that_is_missing_is_named_with_how_to_install_it(monkeypatch, small):
    def fails(module):
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)

    monkeypatch.setattr(_optional.importlib, "import_module", fails)
    for call, extra in ((small.df, "pandas"), (small.polars, "polars"), (small.arrow, "arrow"), (lambda: cc.plot(small), "plot")):
        with pytest.raises(cc.MissingPackage, match=rf"pip install 'ccnuma\[{extra}\]'"):
            call()
    assert small.rows() and small[0].time_ns


def test_a_failure_carries_the_records_before_it(tmp_path, small):
    small.save(str(tmp_path / "some.jsonl"))
    fake = program(
        tmp_path / "ccnuma",
        f"""
        import sys
        print(open({str(tmp_path / 'some.jsonl')!r}).read(), end="")
        print("warning: it is late", file=sys.stderr)
        print("error: disk full", file=sys.stderr)
        sys.exit(1)
        """,
    )
    with pytest.warns(cc.CcnumaWarning, match="it is late"), pytest.raises(cc.RunFailed, match="^disk full$") as caught:
        cc.sim("arctic", "fft", ccnuma=fake)
    assert len(caught.value.results) == 6 and caught.value.exit_code == 1


def test_a_command_that_was_killed_is_an_error(tmp_path):
    fake = program(tmp_path / "ccnuma", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    with pytest.raises(cc.RunFailed, match="SIGKILL"):
        cc.verify("origin", ccnuma=fake)


def test_wrong_results_are_an_error(tmp_path, small):
    import json

    row = {**small.rows(origin=True)[0]}
    wrong = {**json.loads(json.dumps(small._rows[0])), "result": "wrong"}
    assert row["result"] == "ok"
    fake = program(tmp_path / "ccnuma", f"import sys\nprint({json.dumps(wrong)!r})\nsys.exit(1)\n")
    with pytest.raises(cc.RunFailed, match="wrong") as caught:
        cc.sim("arctic", "fft", ccnuma=fake)
    assert caught.value.results[0].result == "wrong"


def test_records_of_another_version_are_refused(small):
    row = dict(small._rows[0])
    assert _decode.record({**row, "a-new-field": 1}) == small[0]
    with pytest.raises(cc.RecordError, match="schema 99"):
        _decode.record({**row, "schema": 99})
    with pytest.raises(cc.RecordError, match="kind 'dream'"):
        _decode.record({**row, "record": "dream"})
    del row["time_ns"]
    with pytest.raises(cc.RecordError, match="without time_ns"):
        _decode.record(row)


def test_the_dataclasses_are_those_of_the_schema(root):
    wanted = subprocess.run(
        [sys.executable, str(root / "scripts/python-records"), "--print", cc.find()], capture_output=True, text=True, check=True
    ).stdout
    there = (root / "python/ccnuma/records.py").read_text()
    assert there == wanted, "run scripts/python-records"


def test_words_of_the_command_line():
    words = _command.Words().flag("--local", [0, 2]).flag("--quick", True).flag("--seed", None).together("--cpus", range(1, 4))
    assert words == ["--local", "0", "--local", "2", "--quick", "--cpus", "1,2,3"]
    assert _command.spelled(pathlib.Path("a") / "b") == "a/b"


def test_no_bar_without_reason():
    with _progress.Bar(False, "work", 3) as bar:
        bar.at(1, 3, "work")


def test_the_package_is_typed(root):
    pytest.importorskip("mypy")
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", str(root / "target/mypy")], cwd=root / "python", capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout
