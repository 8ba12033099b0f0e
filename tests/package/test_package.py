"""The package as a whole: lazy imports, public names, versions, doctests, the README's commands and links."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import hyphc
import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = [name for _, name, _ in pkgutil.walk_packages(hyphc.__path__, "hyphc.") if not name.endswith("__main__")]


def run_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_import_is_lazy():
    heavy = ["torch", "matplotlib", "sklearn", "numba", "scipy", "numpy", "networkx", "pandas", "psutil", "filelock"]
    loaded = run_python(f"import sys, hyphc; print([m for m in {heavy} if m in sys.modules])")
    assert loaded == "[]"


def test_scoring_loads_none_of_the_extras():
    extras = ["torch", "geoopt", "matplotlib", "networkx", "pyarrow"]
    code = f"import sys, hyphc; hyphc.dasgupta_cost; hyphc.datasets; print([m for m in {extras} if m in sys.modules])"
    assert run_python(code) == "[]"


def test_public_names_are_there_and_documented():
    assert sorted(hyphc.__all__) == hyphc.__all__ == dir(hyphc)
    for name in hyphc.__all__:
        assert getattr(hyphc, name).__doc__


@pytest.mark.parametrize(
    "name", ["similarity", "tree", "baselines", "datasets", "geometry", "io", "plot", "nn", "theory"]
)
def test_public_modules_can_be_imported_by_name(name):
    module = importlib.import_module(f"hyphc.{name}")
    assert module.__doc__
    assert [public for public in vars(module) if not public.startswith("_")]


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = hyphc.nothing


def test_version_is_the_packages():
    assert f'version = "{hyphc.__version__}"' in (ROOT / "pyproject.toml").read_text()
    assert f"version: {hyphc.__version__}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {hyphc.__version__}" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0


def code_fence_lines(text: str) -> list[str]:
    inside, lines = False, []
    for line in text.splitlines():
        if line.startswith("```"):
            inside = not inside
        elif inside and line.strip():
            lines.append(line)
    return lines


def test_the_readme_opens_with_the_two_commands():
    first, second = code_fence_lines((ROOT / "README.md").read_text())[:2]
    assert first.endswith("hyphc demo")
    assert "pytest" in second


def test_links_of_the_pages_exist():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"
