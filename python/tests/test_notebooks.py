"""The notebooks run from beginning to end, with less data."""

import os

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

NOTEBOOKS = {
    # Figures that each draws.
    "measure-this-computer": 1,
    "what-a-protocol-costs": 2,
    "why-my-program-is-slow": 3,
    "a-study-of-a-thesis": 3,
}


def test_every_notebook_is_listed_here(root):
    assert {path.stem for path in (root / "python/notebooks").glob("*.ipynb")} == set(NOTEBOOKS)


@pytest.mark.parametrize("name", sorted(NOTEBOOKS))
def test_a_notebook_runs(name, root, tmp_path, monkeypatch):
    notebook = nbformat.read(root / f"python/notebooks/{name}.ipynb", as_version=4)
    monkeypatch.setenv("CCNUMA_QUICK", "1")
    monkeypatch.setenv("PYTHONPATH", str(root / "python"))
    # The kernel chooses its own way of drawing.
    monkeypatch.delenv("MPLBACKEND", raising=False)
    assert os.environ["CCNUMA"]
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    figures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len(figures) == NOTEBOOKS[name]
    assert not any(output.output_type == "error" for output in outputs)


@pytest.mark.parametrize("name", sorted(NOTEBOOKS))
def test_committed_outputs_are_small_and_have_figures(name, root):
    path = root / f"python/notebooks/{name}.ipynb"
    assert path.stat().st_size < 400_000
    notebook = nbformat.read(path, as_version=4)
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert sum("image/png" in output.get("data", {}) for output in outputs) == NOTEBOOKS[name]
