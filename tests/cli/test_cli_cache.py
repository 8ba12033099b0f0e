"""``hyphc clear-cache`` removes the compiled kernels of the package, and nothing else."""

from __future__ import annotations

import re

import pytest
from hyphc.cli import cache, main
from numba import config
from numba.core.caching import _CacheLocator


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with compiled kernels beside its sources, in NUMBA_CACHE_DIR and in the user's cache folder."""
    package = tmp_path / "checkout" / "hyphc"
    (package / "kernels" / "__pycache__").mkdir(parents=True)
    (package / "kernels" / "sums.py").write_text("")
    monkeypatch.setattr(cache, "PACKAGE", package)
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "shared"))
    monkeypatch.setattr("numba.misc.appdirs.user_cache_dir", lambda *_, **__: str(tmp_path / "user"))
    return package


def write(*paths):
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"0123456789")


def test_compiled_kernels_are_removed_with_a_count_and_all_else_stays(package, tmp_path, capsys):
    beside = package / "kernels" / "__pycache__"
    own = _CacheLocator.get_suitable_cache_subpath(str(package / "kernels" / "sums.py"))
    compiled = [beside / "sums.py312.nbi", beside / "sums.py312.1.nbc", tmp_path / "shared" / own / "sums.nbi"]
    compiled += [tmp_path / "user" / own / "sums.1.nbc"]
    others = [beside / "sums.cpython-312.pyc", tmp_path / "shared" / "other_0123" / "sums.nbi"]
    write(*compiled, *others)
    assert main(["clear-cache"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"removed 2 files (20 bytes) from {package}",
        f"removed 1 file (10 bytes) from {tmp_path / 'shared'}",
        f"removed 1 file (10 bytes) from {tmp_path / 'user'}",
    ]
    assert [path for path in compiled if path.exists()] == []
    assert all(path.exists() for path in (*others, package / "kernels" / "sums.py"))


def test_without_compiled_kernels_the_command_says_where_it_looked(package, tmp_path, capsys):
    assert main(["clear-cache"]) == 0
    expected = f"no compiled kernels in {package}, {tmp_path / 'shared'}, {tmp_path / 'user'}\n"
    assert capsys.readouterr().out == expected


def test_a_file_that_may_not_be_removed_is_named(package, monkeypatch, capsys):
    file = package / "kernels" / "__pycache__" / "sums.nbi"
    write(file)

    def refuse(path, missing_ok):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("pathlib.Path.unlink", refuse)
    assert main(["clear-cache"]) == 1
    assert re.fullmatch(rf"hyphc: {re.escape(str(file))}: Permission denied\.\n", capsys.readouterr().err)
