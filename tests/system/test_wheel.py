"""The wheel, built and installed: nothing of the package is missing from it, and it works without the sources."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# As plain Python: a new place would compile every kernel anew, for half a minute.
SCRIPT = """
import hyphc
from sklearn.datasets import load_iris

model = hyphc.HypHC(3, max_iter=2, refine=False, random_state=0).fit(load_iris().data[::5])
page = model.tree_.explore("iris.html")
print(hyphc.__file__, hyphc.__version__, model.n_clusters_, page.stat().st_size > 50_000, sep="\\n")
"""


def run(*command: str, **options) -> str:
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    pytest.importorskip("hatchling", reason="needs hatchling, which builds the wheel: pip install hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    run("-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT))
    (built,) = folder.glob("hyphc-*.whl")
    return built


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel):
    sources = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src" / "hyphc").rglob("*.*")}
    sources = {name for name in sources if "__pycache__" not in name}
    assert {"hyphc/py.typed", "hyphc/explorer/assets/page.html", "hyphc/explorer/assets/main.js"} < sources
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
        metadata = next(archive.read(name).decode() for name in packed if name.endswith("METADATA"))
    assert {name for name in packed if not name.split("/")[0].endswith(".dist-info")} == sources
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in packed)
    assert all(f"Requires-Dist: {name}" in metadata for name in ("threadpoolctl", "psutil", "filelock"))


def test_the_same_sources_give_the_same_bytes_wherever_and_whenever_they_lie(wheel, tmp_path):
    copy = tmp_path / "elsewhere"
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copyfile(ROOT / name, copy / name)
    shutil.copytree(
        ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"), copy_function=shutil.copyfile
    )
    for path in sorted(copy.rglob("*"), reverse=True):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    run("-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path), str(copy))
    (built,) = tmp_path.glob("hyphc-*.whl")
    assert built.read_bytes() == wheel.read_bytes()


def test_the_installed_wheel_fits_and_writes_an_explorer_page(wheel, tmp_path):
    home = tmp_path / "site"
    run("-m", "pip", "install", "--quiet", "--no-deps", "--target", str(home), str(wheel))
    environment = {**os.environ, "PYTHONPATH": str(home), "NUMBA_DISABLE_JIT": "1"}
    file, version, n_clusters, whole = run("-c", SCRIPT, cwd=tmp_path, env=environment).splitlines()
    assert Path(file).is_relative_to(home)
    assert wheel.name.startswith(f"hyphc-{version}-")
    assert (n_clusters, whole) == ("3", "True")
