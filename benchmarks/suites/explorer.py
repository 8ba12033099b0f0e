"""Frame times of the explorer in headless Chromium.

Needs selenium, chromium and chromedriver.

The disk is dragged around with the whole tree in sight, which is the most there is to draw. A frame is the time from one
animation frame to the next, as a multiple of that on an empty page (the screen's own beat: 1.0 is as smooth as it gets);
it suffers when the machine is busy. "processor" is the processor time of a frame in all of the browser, painting included,
which without a graphics processor is most of it; "script" is the page's own part, "slider" the time of a new cut with its
colours, lists and drawing; all in milliseconds.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from hyphc import Tree, as_similarity, baselines, datasets

from ..harness.markdown import spaced, table
from ..harness.store import Store
from ..harness.task import Record, Task

SOURCES = ("_runtime", "tree", "hyperbolic", "explorer")
SIZES = (2_000, 20_000, 100_000)
CHAIN = 20_000
# Leaves and columns of pages with a heat map and a strip: as many values as a page takes at the most.
HEAT_MAPS = {20_000: 100, 100_000: 50}

EMPTY = """const done = arguments[0], times = [];
const tick = (now) => (times.push(now) > 60 ? done(times.slice(1).map((t, i) => t - times[i])) : requestAnimationFrame(tick));
requestAnimationFrame(tick);"""

PAN = """const done = arguments[0], frames = [], script = [];
let last = null;
const tick = (now) => {
  if (last !== null) frames.push(now - last);
  last = now;
  const begin = performance.now();
  explorer.jumpHome();
  explorer.view.translate(0.5 * Math.cos(frames.length / 10), 0.5 * Math.sin(frames.length / 10));
  explorer.frame(now);
  script.push(performance.now() - begin);
  if (frames.length < 60) requestAnimationFrame(tick);
  else done([frames, script, explorer.disk.scene.count]);
};
requestAnimationFrame(tick);"""

SLIDER = """const times = [];
for (const k of [3, 10, 40, 150, 600]) {
  const begin = performance.now();
  explorer.setCut(k);
  explorer.frame(begin);
  times.push(performance.now() - begin);
}
return times;"""


def tasks() -> list[Task]:
    pages = [Task("explorer", str(n), "bisecting", "frames") for n in SIZES]
    pages += [Task("explorer", str(n), "heat map", "frames") for n in HEAT_MAPS]
    return [*pages, Task("explorer", str(CHAIN), "chain", "frames")]


def records(task: Task) -> Iterator[Record]:
    """Size of the page, seconds until it is open, and the times of a frame."""
    from hyphc import explore

    tree = _tree(task.kind, int(task.case))
    yield {"n": tree.n_leaves}
    browser = _start()
    try:
        browser.get("about:blank")
        beat = float(np.median(browser.execute_async_script(EMPTY)))
        with tempfile.TemporaryDirectory() as folder:
            beside = _table(tree.n_leaves) if task.kind == "heat map" else {}
            page = explore(tree, Path(folder) / "page.html", labels=np.arange(tree.n_leaves) % 10, **beside)
            yield {"beat_ms": beat, **_measure(browser, page, beat)}
    finally:
        browser.quit()


def _tree(kind: str, n: int) -> Tree:
    if kind == "chain":
        return Tree(np.column_stack([np.r_[0, np.arange(n, 2 * n - 2)], np.arange(1, n)]))
    return baselines.bisecting_kmeans(as_similarity(datasets.planted(n, 16, random_state=0).data, "cosine"))


def _table(n: int) -> dict[str, Any]:
    """Features and a column of numbers, for a heat map with a strip."""
    values = np.random.default_rng(0).normal(size=(n, HEAT_MAPS[n])).astype(np.float32)
    return {"features": values, "annotations": {"number": values[:, 0]}}


def _processor_ms(root: int) -> int:
    """Processor time that a process and all below it have used so far, from /proc."""
    processes = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:  # it has ended meanwhile
            continue
        processes[int(folder.name)] = (int(fields[1]), int(fields[11]) + int(fields[12]))
    family, size = {root}, 0
    while len(family) > size:
        size = len(family)
        family |= {child for child, (parent, _) in processes.items() if parent in family}
    return sum(processes[child][1] for child in family if child in processes) * 1000 // os.sysconf("SC_CLK_TCK")


def _start() -> Any:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,800"):
        options.add_argument(flag)
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))


def _measure(browser: Any, page: Path, beat: float) -> Record:
    begin = time.perf_counter()
    browser.get(page.as_uri())
    while not browser.execute_script("return document.documentElement.dataset.ready"):
        time.sleep(0.01)
    opened = time.perf_counter() - begin
    used = _processor_ms(browser.service.process.pid)
    frames, script, visible = browser.execute_async_script(PAN)
    used = _processor_ms(browser.service.process.pid) - used
    slider = browser.execute_script(SLIDER)
    return {
        "page_mb": page.stat().st_size / 1e6,
        "opens": opened,
        "visible": visible,
        "frame": float(np.median(frames)) / beat,
        "slow_frame": float(np.quantile(frames, 0.95)) / beat,
        "processor_ms": used / len(frames),
        "script_ms": float(np.median(script)),
        "slider_ms": float(np.median(slider)),
    }


COLUMNS = {
    "page_mb": "page, MB",
    "opens": "opens, s",
    "visible": "nodes drawn",
    "frame": "frame / empty",
    "slow_frame": "95 %",
    "processor_ms": "processor, ms",
    "script_ms": "script, ms",
    "slider_ms": "slider, ms",
}


def frames_table(store: Store) -> str:
    rows = []
    for result in map(store.of, tasks()):
        for record in (result or {}).get("records", []):
            about = {"chain": ", a chain", "heat map": f", {HEAT_MAPS.get(result['n'])} columns"}.get(
                result["kind"], ""
            )
            name = spaced(result["n"]) + about
            figures = {column: f"{record[column]:.3g}" for column in COLUMNS} | {"visible": spaced(record["visible"])}
            rows.append([name, *figures.values()])
    return table(["leaves", *COLUMNS.values()], rows, "explorer")


TABLES: dict[str, Callable[[Store], str]] = {"frames": frames_table}
