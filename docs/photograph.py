"""Photographs of pages in headless Chromium, as small PNG files; needs selenium and pillow."""

from __future__ import annotations

import io
import time
from pathlib import Path

from PIL import Image

COLOURS = 255  # of the palette: drawings look the same, and take a third


def photograph(page: Path, path: Path, script: str = "", *, size: tuple[int, int] = (1280, 900)) -> None:
    """The page as it looks after a script has run in it."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox"):
        options.add_argument(argument)
    with webdriver.Chrome(options=options) as browser:
        screen = {
            "width": size[0],
            "height": size[1],
            "deviceScaleFactor": 1,
            "mobile": False,
        }  # windows have a least width
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        browser.get(page.as_uri())
        time.sleep(2)
        browser.execute_script(script)
        time.sleep(1)
        save_small(browser.get_screenshot_as_png(), path)


def save_small(picture: bytes, path: Path) -> None:
    """A PNG with a palette of its own that keeps rare colours apart; undithered, since noise would not compress."""
    drawn = Image.open(io.BytesIO(picture)).convert("RGB")
    drawn.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)
