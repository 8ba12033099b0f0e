"""Settings of all tests: where the data lies, how long hypothesis may take, which tests are slow."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
if "HYPHC_DATA" not in os.environ and DATA.is_dir():
    os.environ["HYPHC_DATA"] = str(DATA)

# compilation makes the first example slow
COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
# the same examples every time: whoever changes nothing sees nothing fail
settings.register_profile("hyphc", derandomize=True, **COMMON)
# Other examples every time, and more of them where a test names no number of its own. What fails is printed as a decorator
# that brings it back.
settings.register_profile("explore", max_examples=500, print_blob=True, database=None, **COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "hyphc"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--run-slow", action="store_true", help="also run tests that take minutes")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--run-slow"):
        for item in items:
            if "slow" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="slow: run with --run-slow"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """The tests of a file run in one process: what they share, such as the built site, is made once."""
    from xdist.scheduler import LoadFileScheduling

    return LoadFileScheduling(config, log)


@pytest.fixture
def needs_data() -> Path:
    """Where the files of the UCI sets and graphs lie; the test is skipped without them."""
    home = os.environ.get("HYPHC_DATA")
    if not home:
        pytest.skip("needs the data files: point HYPHC_DATA at them")
    return Path(home)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """Writes a file into the test's folder."""

    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write
