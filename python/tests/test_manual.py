"""The examples of the manual's chapter on Python run."""

import pytest

pyplot = pytest.importorskip("matplotlib.pyplot")


def test_the_examples_of_the_manual_run(root, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (root / "manual/src/python.md").read_text()
    blocks = [block.partition("\n")[2] for block in text.split("```")[1::2] if block.startswith("python\n")]
    assert len(blocks) >= 4
    names: dict = {}
    for number, block in enumerate(blocks):
        exec(compile(block, f"python.md, block {number + 1}", "exec"), names)
    pyplot.close("all")
