"""Frame times of the explorer in headless Chromium: ``python benchmarks/explorer.py``; needs selenium, chromium and chromedriver.

The disk is dragged around with the whole tree in sight, which is the most there is to draw. A frame is the time from one
animation frame to the next, as a multiple of that on an empty page (the screen's own beat: 1.0 is as smooth as it gets);
it suffers when the machine is busy. "cpu" is the processor time of a frame in all of the browser, painting included, which
without a graphics processor is most of it; "script" is the page's own part, "slider" the time of a new cut with its colours,
lists and drawing; all in milliseconds.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from hyphc import Tree, as_similarity, baselines, datasets
from hyphc.explorer import explore
from selenium import webdriver

COLUMNS = ("page MB", "opens s", "visible", "frame", "95 %", "cpu", "script", "slider")

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


def trees() -> dict[str, Tree]:
    rows = {}
    for n in (2_000, 20_000, 100_000):
        rows[f"{n:,} leaves"] = baselines.bisecting_kmeans(as_similarity(datasets.planted(n, 16, random_state=0).data))
    n = 20_000
    rows[f"chain of {n:,}"] = Tree(np.column_stack([np.r_[0, np.arange(n, 2 * n - 2)], np.arange(1, n)]))
    return rows


def processor_ms(root: int) -> int:
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


def start() -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,800"):
        options.add_argument(flag)
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))


def measure(browser: webdriver.Chrome, page: Path, beat: float) -> list[float]:
    """The figures of one page, in the order of `COLUMNS`."""
    begin = time.perf_counter()
    browser.get(page.as_uri())
    while not browser.execute_script("return document.documentElement.dataset.ready"):
        time.sleep(0.01)
    opened = time.perf_counter() - begin
    used = processor_ms(browser.service.process.pid)
    frames, script, visible = browser.execute_async_script(PAN)
    used = processor_ms(browser.service.process.pid) - used
    slider = browser.execute_script(SLIDER)
    ratios = np.quantile(frames, [0.5, 0.95]) / beat
    return [
        page.stat().st_size / 1e6,
        opened,
        visible,
        *ratios,
        used / len(frames),
        np.median(script),
        np.median(slider),
    ]


def main() -> None:
    browser = start()
    try:
        browser.get("about:blank")
        beat = float(np.median(browser.execute_async_script(EMPTY)))
        print(f"empty frame: {beat:.1f} ms")
        print(f"{'tree':>16} " + " ".join(f"{name:>8}" for name in COLUMNS))
        with tempfile.TemporaryDirectory() as folder:
            for name, tree in trees().items():
                page = explore(tree, Path(folder) / "page.html", labels=np.arange(tree.n_leaves) % 10)
                figures = measure(browser, page, beat)
                print(f"{name:>16} " + " ".join(f"{figure:>8.4g}" for figure in figures), flush=True)
    finally:
        browser.quit()


if __name__ == "__main__":
    main()
