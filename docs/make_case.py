"""Runs case_pbmc.md, checks what it prints and draws its pictures: ``python docs/make_case.py``; needs scanpy, and selenium for one."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))
from snippets import promised

PAGE, IMAGES = HERE / "case_pbmc.md", HERE / "images"
# A block of code, or the picture that shows what the last block left in ``ax``, or wrote as a page.
PART = re.compile(r"```python\n(?P<code>.*?)```|!\[[^]]*\]\((?P<picture>[^)]+)\)", re.DOTALL)
CLUSTER = 5  # the one that is selected in the picture of the explorer


def run_case() -> int:
    """Run the page in a folder of its own; the number of promises that were not kept."""
    names: dict[str, Any] = {}
    broken = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for part in PART.finditer(PAGE.read_text(encoding="utf-8")):
            if part["picture"]:
                draw(IMAGES / Path(part["picture"]).name, names)
                continue
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(part["code"], str(PAGE), "exec"), names)
            told = printed.getvalue().strip()
            if told != promised(part["code"]).strip():
                broken += 1
                print(f"The page promises\n{promised(part['code'])}\nand its code prints\n{told}\n")
        os.chdir(HERE)
    return broken


def draw(path: Path, names: dict[str, Any]) -> None:
    if path.name == "case_explorer.png":
        tree = names["tree"]
        photograph(Path("cells.html").resolve(), path, int(tree.clusters(tree.n_clusters)[CLUSTER]))
        return
    names["ax"].figure.savefig(path, dpi=110)
    plt.close("all")


def photograph(page: Path, path: Path, node: int) -> None:
    """The explorer in headless Chromium, with a cluster selected."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--window-size=1280,900"):
        options.add_argument(argument)
    with webdriver.Chrome(options=options) as browser:
        browser.get(page.as_uri())
        time.sleep(2)
        browser.execute_script("explorer.select(arguments[0])", node)
        time.sleep(1)
        browser.save_screenshot(str(path))


if __name__ == "__main__":
    sys.exit(run_case())
