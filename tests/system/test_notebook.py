"""A notebook with a model, its tree and the explorer inline runs, and its outputs are what a browser can show."""

from __future__ import annotations

import json
import sys

import pytest

pytest.importorskip("nbclient", reason="needs nbclient and ipykernel: pip install nbclient ipykernel")
pytest.importorskip("ipykernel")

import nbformat
from nbclient import NotebookClient

CELLS = (
    "import numpy as np, pandas as pd\n"
    "from hyphc import HypHC\n"
    "X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=list('abc'))\n"
    "X.index = [f'sample {i}' for i in range(30)]\n"
    "model = HypHC(2, random_state=0).fit(X)\n"
    "model",
    "model.tree_",
    "model.explore(X=X, annotations={'even': [i % 2 == 0 for i in range(30)]})",
)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::UserWarning")
def test_a_notebook_shows_the_model_its_tree_and_the_explorer(tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    kernel = tmp_path / "data" / "kernels" / "here"
    kernel.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (kernel / "kernel.json").write_text(json.dumps({"argv": command, "display_name": "here", "language": "python"}))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    NotebookClient(notebook, kernel_name="here", timeout=300).execute()
    shown = [next(o for o in cell.outputs if o.output_type == "execute_result").data for cell in notebook.cells]
    assert "HypHC" in shown[0]["text/html"]
    assert "<svg" in shown[1]["text/html"]
    assert "sample 7" in shown[1]["text/html"]
    assert shown[2]["text/html"].startswith("<iframe srcdoc=")
    assert shown[2]["text/plain"].startswith("Page(")
    nbformat.validate(notebook)
