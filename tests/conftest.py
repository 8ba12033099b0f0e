"""Settings of all tests: where the data lies, how long hypothesis may take, which tests are slow, in which order files run."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
if "HYPHC_DATA" not in os.environ and DATA.is_dir():
    os.environ["HYPHC_DATA"] = str(DATA)

# The same result in any terminal, on any desktop and for any user: widths and backends that a shell, a display or a file in
# the home folder would decide otherwise, for processes that tests start too.
os.environ |= {"COLUMNS": "80", "LINES": "24", "MPLBACKEND": "agg", "MATPLOTLIBRC": os.devnull}
# Waiting threads of OpenMP sleep instead of spinning: with two test processes on two cores torch takes a seventh of the CPU time.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

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
    parser.addoption("--file-order", help="'reverse' or 'random:SEED': the order in which files are run")
    parser.addoption("--without-chromium", action="store_true", help="skip what needs a browser, as if there were none")


def pytest_configure(config: pytest.Config) -> None:
    # xdist would begin with the files of most tests, which are the doctests and other files that compile the same kernels
    config.option.loadscopereorder = False


def in_file_order(items: list[pytest.Item], order: str) -> list[pytest.Item]:
    """Return the tests with their files in another order, the same in every process; within a file nothing changes."""
    how, _, seed = order.partition(":")
    if (how, bool(seed)) not in {("reverse", False), ("random", True)}:
        raise pytest.UsageError(f"--file-order={order} is unknown; use 'reverse' or 'random:SEED'.")
    files = sorted({item.path for item in items}, reverse=True)
    if how == "random":
        Random(seed).shuffle(files)
    rank = {path: k for k, path in enumerate(files)}
    return sorted(items, key=lambda item: rank[item.path])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if order := config.getoption("--file-order"):
        items[:] = in_file_order(items, order)
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


@pytest.fixture(scope="session")
def chromium(request: pytest.FixtureRequest) -> tuple[str, str]:
    """The browser and its driver. Looked for when a test runs: what is collected does not depend on what is installed."""
    browsers = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
    browser, driver = next(filter(None, browsers), None), shutil.which("chromedriver")
    if request.config.getoption("--without-chromium") or not (browser and driver):
        pytest.skip("needs Chromium: apt-get install chromium chromium-driver")
    return browser, driver


@pytest.fixture
def set_tick(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Lets clocks of fits count how often the test's own thread asks them, however fast or busy the machine is."""

    def set_tick(seconds: float) -> None:
        now, own = [0.0], threading.current_thread()

        def monotonic() -> float:
            now[0] += seconds if threading.current_thread() is own else 0.0
            return now[0]

        monkeypatch.setattr("hyphc._runtime.run_control.time", SimpleNamespace(monotonic=monotonic))

    return set_tick


@pytest.fixture(scope="module")
def quick_certificate() -> Iterator[None]:
    """Let certificates draw 50 subsets of 8 leaves instead of 2 000 of 13: most of the time of a small ``hyphc fit``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hyphc.scores.certificate.DEFAULT_SUBSETS", 50)
        patch.setattr("hyphc.scores.certificate.DEFAULT_K", 8)
        yield


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """Writes a file into the test's folder."""

    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write
