"""Traces as tables, with units in the names of columns."""

import pytest

import ccnuma as cc


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    path = tmp_path_factory.mktemp("traces") / "fft.arrows"
    return cc.run(["fft", "--cpus", "8", "--points", "4096"], "bitmap", sample="50us", output=path)


def test_a_run_tells_what_it_did_and_where_its_trace_is(simulated):
    assert simulated.exit_code == 0 and len(simulated) > 0
    assert simulated.trace.path.exists()


def test_counters_are_columns_with_units(simulated):
    frame = simulated.trace.df()
    assert list(frame.columns[:3]) == ["time_ns", "object", "name"]
    assert "node.mdidle_cycles" in frame.columns and "thread.rsmiss" in frame.columns
    assert {"n0", "t0"} <= set(frame["name"])
    assert frame["time_ns"].max() > 0
    assert simulated.trace.polars().height == simulated.trace.arrow().num_rows == len(frame)


def test_metrics_follow_from_counters(simulated):
    found = simulated.trace.metrics("mem", node=0)
    assert {(row.object, row.metric) for row in found} == {("n0", "mem")}
    assert all(0 <= row.value <= 100 for row in found if row.value is not None)
    assert len(simulated.trace.metrics(all=True)) > len(found)
    assert any(row.about == "machine" for row in simulated.trace.info())


def test_the_exit_code_of_a_program_here_is_its_own(tmp_path):
    run = cc.run(["sh", "-c", "sleep 0.05; exit 3"], output=tmp_path / "t.arrows")
    assert run.exit_code == 3
    assert run.trace.df()["time_ns"].is_monotonic_increasing


def test_a_trace_that_was_cut_is_read_up_to_the_cut(tmp_path):
    # The sampler flushes twice a second.
    run = cc.run(["sleep", "1.3"], sample="50ms", output=tmp_path / "t.arrows")
    whole = run.trace.path.read_bytes()
    cut = tmp_path / "cut.arrows"
    cut.write_bytes(whole[:-100])
    assert 0 < len(cc.trace(cut).df()) < len(run.trace.df())


def test_what_is_no_trace_is_refused(tmp_path):
    with pytest.raises(cc.BadInput, match="there is no such file"):
        cc.trace(tmp_path / "none.arrows")
    (tmp_path / "text.arrows").write_text("nothing of the sort")
    with pytest.raises(cc.BadInput, match="no trace"):
        cc.trace(tmp_path / "text.arrows").df()
