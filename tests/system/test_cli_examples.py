"""Every example of every help text and every command of docs/cli.md runs; what the demo prints and writes."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from hyphc import HypHC, Tree, dendrogram_purity
from hyphc.cli import cache
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from commands import COMMANDS, Run, data_of, help_of

BEST_KNOWN = Path(__file__).parents[2] / "best_known"
pytestmark = pytest.mark.usefixtures("quick_certificate")


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    folder = tmp_path_factory.mktemp("examples")
    (folder / "best_known").mkdir()
    for file in BEST_KNOWN.glob("wine-cosine.*"):  # its data come with scikit-learn
        shutil.copy(file, folder / "best_known")
    return Run(folder)


@pytest.fixture(autouse=True)
def _keep_kernels(tmp_path, monkeypatch):
    """``hyphc clear-cache`` finds an empty folder, so that the other tests need not compile again; so does ``compile``."""
    monkeypatch.setattr(cache, "cache_folders", lambda: iter([tmp_path]))
    monkeypatch.setattr(cache, "kinds_of_input", dict)


@pytest.mark.parametrize(
    "command", [(), *((name,) for name in COMMANDS)], ids=lambda command: "".join(command) or "hyphc"
)
def test_every_example_of_every_help_runs(run, command):
    _, _, examples = help_of(*command).partition("examples:\n")
    lines = [line.strip() for line in examples.splitlines() if line.strip()]
    assert lines
    assert all(line.startswith("hyphc ") for line in lines)
    for line in lines:
        run(line)
    assert not [path for path in run.folder.iterdir() if path.name.startswith(".")]


def test_every_command_of_the_page_runs(run):
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    lines = [line for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) for line in block.splitlines()]
    assert len(lines) > 10
    for line in lines:
        run(line.partition("  #")[0].strip())


def test_demo_prints_costs_between_the_bounds_and_saves_the_tree_of_a_default_fit(run):
    printed = run("hyphc demo")
    table = printed[printed.index("Dasgupta cost") :]
    costs = {
        name.strip(): float(cost) for name, cost in re.findall(r"^([A-Za-z ,]+?)\s+(\d[\d.e+]+)", table, re.MULTILINE)
    }
    lower, upper = costs.pop("lower bound"), costs.pop("upper bound")
    assert len(costs) >= 5
    assert all(lower < cost < upper for cost in costs.values())
    folder = run.folder / "hyphc-demo"
    tree = Tree.load(folder / "digits.npz")
    model = HypHC(random_state=0).fit(load_digits().data)
    assert tree == model.tree_
    assert f"clusters: {model.n_clusters_} found" in printed
    for k in (10, model.n_clusters_):
        clusters = tree.cut() if k == model.n_clusters_ else tree.cut(k)
        index = adjusted_rand_score(load_digits().target, clusters)
        assert f"adjusted Rand index of {k} clusters and the digits: {index:.3f}" in printed
    assert f"purity of the tree: {dendrogram_purity(tree, load_digits().target):.3f}" in printed
    assert Tree.from_newick((folder / "digits.nwk").read_text()) == tree


def test_demo_ends_with_the_explorer_and_says_where_it_is(run):
    last = run("hyphc demo").splitlines()[-1]
    page = run.folder / last.split(": ")[1]
    assert page.name == "digits.html"
    sprite = data_of(page)["sprite"]
    assert (sprite["width"], sprite["height"], sprite["ink"]) == (8, 8, True)
    assert sprite["uri"].startswith("data:image/png;base64,")
