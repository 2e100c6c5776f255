"""Drawings: axes have labels with units, and show what the results hold."""

import pytest

import ccnuma as cc

pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def close():
    yield
    pyplot.close("all")


def test_where_time_went_adds_up(small):
    ax = cc.plot(small, "time")
    assert ax.get_xlabel() == "processor time (%)"
    widths = {}
    for bar in ax.patches:
        row = round(bar.get_y() + bar.get_height() / 2)
        widths[row] = widths.get(row, 0) + bar.get_width()
    assert sorted(widths) == list(range(6))
    # Causes below a twentieth of a percent are not drawn.
    assert all(99 < width < 100.001 for width in widths.values()), widths
    assert [label.get_text() for label in ax.get_yticklabels()][:2] == ["private 1 CPU", "private 2 CPUs"]


def test_speedup_is_relative_to_the_smallest_run(small):
    ax = cc.plot(small, "speedup", title="how far")
    lines = {line.get_label(): line for line in ax.lines}
    assert set(lines) == {"linear", "private", "producer-consumer"}
    drawn = list(lines["private"].get_ydata())
    assert drawn[0] == 1 and drawn[2] == pytest.approx(small[0].time_ns / small[2].time_ns)
    assert ax.get_title(loc="left") == "how far"


def test_published_figures_stand_beside_simulated_ones():
    ax = cc.plot(cc.reproduce("flash/5.2"))
    assert ax.get_xlabel().startswith("published (") and ax.get_ylabel().startswith("simulated (")
    names = {text.get_text() for text in ax.get_legend().get_texts()}
    assert names == {"equal", "cycles", "cycles, calibrated"}


def test_latency_over_distance_and_size():
    found = cc.bench("bitmap", suite="remote", nodes_per_distance=1, iterations=1, lines=64)
    ax = cc.plot(found, "latency")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("router hops", "Latency (ns)")
    assert cc.plot(found, "bandwidth").get_ylabel() == "Bandwidth (MB/s)"


def test_findings_are_bars():
    ax = cc.plot(cc.diagnose("flash-4p", "counters", no_trials=True))
    assert "time (%)" in ax.get_xlabel()


def test_what_cannot_be_drawn_is_refused(small):
    with pytest.raises(cc.BadInput, match="accepted: time speedup"):
        cc.plot(small, "pie")
    with pytest.raises(cc.BadInput, match="no record"):
        cc.plot(cc.Results.of(__import__("ccnuma")._command.Outcome([])))
