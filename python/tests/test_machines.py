"""Machines, their parameters, and what of them is refused."""

import pytest

import ccnuma as cc


def test_a_machine_has_parameters_and_says_where_each_is_from():
    m = cc.machine("arctic")
    assert (m.name, m.processors, m["l2.size_mib"]) == ("arctic", 64, 8)
    assert m["l2_size_mib"] == m["l2.size_mib"]
    assert m.source("l2.size_mib").startswith("machines/origin2000-r12k-300.toml:")
    assert "prestor/4.8" in m.calibrated_on


def test_a_parameter_is_changed_by_its_flattened_key():
    m = cc.machine("arctic").with_(l2_size_mib=16, tlb_miss_ns=0)
    assert (m["l2.size_mib"], m["tlb.miss_ns"]) == (16, 0)
    assert m.name == "arctic+l2.size_mib=16+tlb.miss_ns=0"
    assert cc.machine("arctic").with_({"l2.size_mib": 16, "tlb.miss_ns": 0}) == m
    assert cc.machine("flash-4p").with_(protocol="hybrid").name == "flash-4p+hybrid"
    assert cc.machine("arctic").with_(l2_way_prediction=False)["l2.way_prediction"] is False


def test_a_key_without_a_value_may_be_given_one():
    m = cc.machine("arctic")
    assert "l2.inclusion" not in m.parameters
    with pytest.raises(cc.BadInput, match="l2.inclusion"):
        m.with_(l2_inclusion="sometimes")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"l2_size_mi": 16}, r"did you mean l2\.size_mib\?"),
        ({"tlb_mis_ns": 16}, r"did you mean tlb\.miss_ns\?"),
        ({"tbl_entries": 3}, r"did you mean tlb\.entries"),
        ({"caches": 3}, r"accepted: TABLE_KEY or TABLE\.KEY"),
        ({"l2_size_mib": "large"}, r"l2\.size_mib.*accepted: .*64 MiB"),
    ],
)
def test_what_is_no_parameter_is_refused_with_the_likeliest_ones(change, expected):
    with pytest.raises(cc.BadInput, match=expected):
        cc.machine("arctic").with_(**change)


def test_a_file_is_a_machine(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('inherit = "arctic"\nname = "mine"\n[l2]\nsize_mib = 16\n')
    m = cc.machine(file)
    assert (m.name, m["l2.size_mib"]) == (str(file), 16)
    assert m.with_(l2_size_mib=4)["l2.size_mib"] == 4


def test_an_unknown_machine_is_refused_in_the_commands_words():
    with pytest.raises(cc.BadInput, match="artic") as caught:
        cc.machine("artic")
    assert (caught.value.exit_code, caught.value.command[1:3]) == (2, ("machines", "show"))
    assert isinstance(caught.value, ValueError)


def test_built_in_machines_are_listed():
    found = cc.machines()
    assert {"arctic", "stinger", "dsm-cluster"} <= {row.name for row in found}
    assert {row.processors for row in found if row.name == "stinger"} == {128}
