from __future__ import annotations

import re
import subprocess
import sys

import pytest
from hyphc import Tree
from hyphc.cli import main


def test_demo_prints_costs_between_the_bounds_and_saves_the_cheapest_tree(tmp_path, capsys):
    assert main(["demo", "--output", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    costs = {
        name.strip(): float(cost) for name, cost in re.findall(r"^([A-Za-z ]+?)\s+(\d[\d.e+]+)", printed, re.MULTILINE)
    }
    lower, upper = costs.pop("lower bound"), costs.pop("upper bound")
    assert len(costs) >= 5
    assert all(lower < cost < upper for cost in costs.values())
    tree = Tree.load(tmp_path / "out" / "digits.npz")
    assert tree.n_leaves == 1797
    assert Tree.from_newick((tmp_path / "out" / "digits.nwk").read_text()) == tree


def test_module_and_help_work():
    done = subprocess.run([sys.executable, "-m", "hyphc", "--help"], capture_output=True, text=True, check=True)
    assert "demo" in done.stdout
    with pytest.raises(SystemExit) as error:
        main(["demo", "--help"])
    assert error.value.code == 0


def test_mistakes_end_with_one_sentence(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["demo", "--output", str(tmp_path / "file" / "inside")]) == 1
    message = capsys.readouterr().err
    assert message.startswith("hyphc: ")
    assert message.count("\n") == 1


def test_an_unknown_command_is_a_usage_error(capsys):
    with pytest.raises(SystemExit) as error:
        main(["nothing"])
    assert error.value.code == 2
