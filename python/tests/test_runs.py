"""The command's verbs: records, tables, failures."""

import inspect
import re
import subprocess

import pytest

import ccnuma as cc


def test_simulations_are_a_record_for_each_combination(small):
    assert len(small) == 6
    assert [(run.program, run.cpus) for run in small[:2]] == [("private", 1), ("private", 2)]
    assert all(run.result == "ok" and run.time_ns > 0 for run in small)
    assert small.command[1:] and not small.failed


def test_tables_have_a_column_for_each_key_of_a_map(small):
    frame = small.df()
    assert list(frame["cpus"]) == [1, 2, 4] * 2
    assert {"parameters.lines", "spent_ns.busy", "time_ns"} <= set(frame.columns)
    assert "version" not in frame.columns and "version" in small.df(origin=True).columns
    # A column without any value is none.
    assert "causes" not in frame.columns
    assert small.polars()["time_ns"].to_list() == small.arrow()["time_ns"].to_pylist() == list(frame["time_ns"])


def test_parts_are_tables_of_their_own():
    runs = cc.sim("flash-4p", "counters", stats=True, causes=True)
    regions = runs.parts("regions")
    assert regions[0]["name"] == "counters" and regions[0]["causes.true-sharing"] > 0
    assert len(runs.parts("controllers")) == 4
    with pytest.raises(KeyError, match="accepted: controllers processors regions"):
        runs.parts("rooms")


def test_records_are_chosen_by_their_fields(small):
    chosen = small.where(program="private", cpus=[1, 4])
    assert [(run.program, run.cpus) for run in chosen] == [("private", 1), ("private", 4)]
    assert len(chosen.df()) == 2 and len(small) == 6
    with pytest.raises(cc.BadInput, match="accepted: program machine"):
        small.where(processor=1)


def test_records_are_saved_and_loaded(small, tmp_path):
    file = tmp_path / "runs.jsonl"
    small.save(str(file))
    assert list(cc.load(str(file))) == list(small)
    file.write_text("nonsense\n")
    with pytest.raises(cc.CcnumaError, match="runs.jsonl:1"):
        cc.load(str(file))


def test_measurements_of_a_simulated_machine():
    found = cc.bench("bitmap", "lmbench-read", home=1, local=2, remote=0, state="CEXM", lines=64, iterations=1)
    assert (len(found), found[0].home, found[0].local, found[0].remotes, found[0].unit) == (1, 1, 2, [0], "ns")
    assert 500 < found[0].median < 2000


def test_measurements_of_this_computer():
    found = cc.bench(None, "lmbench-read", lines=64, iterations=2)
    assert found[0].host is not None and 0 < found[0].median < 100_000


def test_a_counterexample_is_a_result():
    assert not cc.verify("moesi", caches=2).failed
    found = cc.verify("origin", caches=2, mutation="skip-wait")
    assert found.failed and found[0].result == "counterexample"
    assert any("cpu0: loads line 0" in note for note in found.notes)


def test_findings():
    found = cc.diagnose("flash-4p", "counters", no_trials=True)
    assert found[0].class_ == "lock contention" and found[0].object == "counters"
    assert "class" in found.df().columns
    assert any("not examined" in note for note in found.notes)


def test_advice_ranks_settings():
    found = cc.advise("flash-8p", "ocean", intervals=32, cpus=4, placement="fixed=0", only="placement")
    assert [row.rank for row in found] == list(range(1, len(found) + 1)) and found[0].gain_pct > 0
    assert any(row.kind == "present" and row.gain_pct == 0 and row.means is None for row in found)


def test_reproductions_tell_fits_from_predictions():
    found = cc.reproduce("flash/5.2")
    assert {figure.paper for figure in found} == {"flash"}
    assert {figure.calibrated for figure in found} == {True, False}
    figure = next(figure for figure in found if figure.theirs)
    assert figure.error_pct == pytest.approx(100 * (figure.ours / figure.theirs - 1))
    assert "prestor/4.6" in {row.name if "/" in row.name else f"prestor/{row.name}" for row in cc.publications("prestor")}


def test_a_fit_finds_what_a_machine_is_made_of():
    found = cc.fit("origin2000-r12k-300-8p", model="remote")
    assert {row.model for row in found} and any(row.unit == "ns" for row in found)


def test_parts_of_a_machine():
    parts = cc.topology("bitmap")
    assert sum(part.part == "node" for part in parts) == 8


def test_programs_of_ones_own_run_on_this_computer():
    with pytest.raises(cc.BadInput, match="built-in program"):
        cc.diagnose("flash-4p")
    found = cc.diagnose(command=["sh", "-c", "echo said; sleep 0.1"])
    assert "said" in found.output


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: cc.sim("arctic", "fft", cpus=65), "65"),
        (lambda: cc.sim("arctic", "fft", pints=4), "pints"),
        (lambda: cc.sim("arctic", "ftt"), "ftt"),
        (lambda: cc.bench("arctic", suite="remotes"), "remotes"),
        (lambda: cc.reproduce("prestor/4.999"), "prestor/4.999"),
        (lambda: cc.reproduce(), "publications"),
    ],
)
def test_bad_input_is_an_exception_with_the_commands_text(call, expected):
    with pytest.raises(cc.BadInput, match=expected) as caught:
        call()
    assert not str(caught.value).startswith("error: ")


#: Flags that are no keyword of the function: where records go, what the functions say otherwise, lists that have functions of their own,
#: text that is no record.
ELSEWHERE = {
    "bench": {"against"},
    "sim": {"list", "resume", "matrix"},
    "verify": {"transitions"},
    "diagnose": {"list", "matrix"},
    "advise": {"matrix"},
    "fit": set(),
    "reproduce": {"list", "resume"},
}
OF_ALL = {"json", "csv", "force", "help", "machine", "wide", "columns", "color", "version"}
OTHER_NAMES = {"nodes_per_distance": "nodes-per-distance"}


@pytest.mark.parametrize("verb", sorted(ELSEWHERE))
def test_keywords_are_the_flags_of_the_command(verb):
    said = subprocess.run([cc.find(), "help", verb], capture_output=True, text=True, check=True).stdout
    # Parameters of programs are keywords of any name.
    said = said.split("Parameters of programs")[0]
    flags = set(re.findall(r"^ +(?:-\w, )?--([a-z][a-z0-9-]*)", said, re.MULTILINE))
    here = {name.replace("_", "-") for name in inspect.signature(getattr(cc, verb)).parameters}
    missing = flags - here - ELSEWHERE[verb] - OF_ALL
    assert not missing, f"ccnuma {verb} has flags that cc.{verb}() has not"
    ours = {"machine", "program", "parameters", "command", "ccnuma", "progress", "experiments", "data", "what", "protocol"}
    unknown = here - flags - ours
    assert not unknown, f"cc.{verb}() has keywords that ccnuma {verb} has not"
