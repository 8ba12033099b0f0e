"""The explorer's content security policy, in Chromium, by trying: whatever runs in the page reaches nothing outside of it."""

from __future__ import annotations

import csv
import io
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hyphc import Tree, explore

webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium: pip install selenium")

pytestmark = pytest.mark.usefixtures("chromium")

# What an intruder would try once text of the data ran as script, and how it would know that it worked; HERE is a server that
# counts who comes, made(…) puts a new element into the page. A try may throw.
TRIES = {
    "an inline script": "made('script', { textContent: 'window.hacked = 1' });",
    "a script from elsewhere": "made('script', { src: HERE });",
    "a script of data": "made('script', { src: 'data:text/javascript,window.hacked=1' });",
    "a script of a blob": "made('script', { src: blob('window.hacked = 1') });",
    "eval": "eval('window.hacked = 1');",
    "a function of text": "new Function('window.hacked = 1')();",
    "a timer of text": "setTimeout('window.hacked = 1', 0);",
    "a handler in markup": "made('div', { innerHTML: '<img src=x onerror=\"window.hacked = 1\">' });",
    "an address that is script": "made('a', { href: 'javascript:window.hacked=1' }).click();",
    "a module": "import(HERE).catch(() => {});",
    "a worker": "new Worker(blob(`fetch('${HERE}')`));",
    "fetch": "fetch(HERE, { mode: 'no-cors' }).catch(() => {});",
    "a request": "const r = new XMLHttpRequest(); r.open('GET', HERE); r.send();",
    "a beacon": "navigator.sendBeacon(HERE, 'x');",
    "a socket": "new WebSocket(HERE.replace('http', 'ws'));",
    "a stream of events": "new EventSource(HERE);",
    "a picture": "made('img', { src: HERE });",
    "a picture in a style": "document.body.style.backgroundImage = `url(${HERE})`;",
    "a style": "made('style', { textContent: `body { background: url(${HERE}) }` });",
    "a sheet of styles": "made('link', { rel: 'stylesheet', href: HERE });",
    "a font": "new FontFace('x', `url(${HERE})`).load().catch(() => {});",
    "a frame": "made('iframe', { src: HERE });",
    "a frame of markup": "made('iframe', { srcdoc: '<script>parent.hacked = 1</script>' });",
    "an object": "made('object', { data: HERE });",
    "an embedded page": "made('embed', { src: HERE });",
    "sound": "new Audio(HERE).load();",
    "a form": "made('form', { action: HERE, method: 'post' }).submit();",
    "a base": "made('base', { href: HERE });"
    " if (new URL('x', document.baseURI).origin === new URL(HERE).origin) window.hacked = 1;",
    "a manifest": "made('link', { rel: 'manifest', href: HERE });",
    "an icon": "made('link', { rel: 'icon', href: HERE });",
    "fetching ahead": "made('link', { rel: 'prefetch', href: HERE });",
}
HELP = """const HERE = arguments[0];
const blob = (text) => URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
const made = (tag, fields) => {
  const element = Object.assign(document.createElement(tag), fields);
  (["link", "base"].includes(tag) ? document.head : document.body).append(element);
  return element;
};
window.hacked = undefined;
"""


@pytest.fixture(scope="module")
def server():
    """Its address, and the paths that were asked for."""
    visits: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            visits.append(self.path)
            self.send_response(204)
            self.end_headers()

        do_POST = do_GET

        def log_message(self, *arguments: object) -> None:
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{running.server_port}/", visits
    running.shutdown()
    running.server_close()


@pytest.fixture(scope="module")
def browser(chromium):
    options = webdriver.ChromeOptions()
    options.binary_location, driver = chromium
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu"):
        options.add_argument(flag)
    with webdriver.Chrome(options=options, service=webdriver.ChromeService(driver)) as browser:
        yield browser


def attempt(browser, code: str, here: str) -> bool:
    """Whether the code got its way within the page, after a moment for what is asynchronous.

    It runs from a timer, as code of the page: what the driver itself runs may always call eval.
    """
    browser.execute_script(f"{HELP} setTimeout(() => {{ try {{ {code} }} catch (error) {{}} }}, 0)", here)
    return succeeded_meanwhile(browser)


def succeeded_meanwhile(browser) -> bool:
    return bool(browser.execute_async_script("setTimeout(() => arguments[0](window.hacked), 60);"))


def test_whatever_runs_in_the_page_starts_no_other_script_and_reaches_no_other_place(server, browser, tmp_path):
    here, visits = server
    page = explore(Tree([[0, 1], [3, 2]]), tmp_path / "page.html", labels=["a", "a", "b"])
    succeeded = []
    browser.get(page.as_uri())
    for number, (what, code) in enumerate(TRIES.items()):
        if attempt(browser, code, f"{here}{number}"):
            succeeded.append(what)
    browser.execute_async_script("setTimeout(arguments[0], 500);")
    assert not succeeded
    assert not [list(TRIES)[int(path.strip("/"))] for path in visits]
    assert browser.current_url == page.as_uri()


# Chromium takes neither icons nor manifests without a window, and files may not ask for modules and sockets of others.
NEVER = {"an icon", "a manifest", "a module", "a socket", "a worker", "fetching ahead"}
MOMENTS = 500  # of 60 ms, that what does succeed may take on a busy machine


def test_without_the_policy_the_same_tries_succeed(server, browser, tmp_path):
    here, visits = server
    bare = Path(tmp_path / "bare.html")
    bare.write_text("<!doctype html><title>bare</title><body>")
    for number, (what, code) in enumerate(TRIES.items()):
        browser.get(bare.as_uri())
        done = attempt(browser, code, f"{here}bare/{number}")
        moments = iter(range(0 if what in NEVER else MOMENTS))
        while not done and f"/bare/{number}" not in visits and next(moments, None) is not None:
            done = succeeded_meanwhile(browser)
        assert done or f"/bare/{number}" in visits or what in NEVER, what


def test_no_cell_that_the_page_exports_begins_as_a_formula_does(browser, tmp_path):
    texts = ["=cmd|' /C calc'!A0", "+1+2", "-2+3", "@SUM(1)", "-1", "+5e3", "plain"]
    chain = [[0, 1], *([6 + k, k + 1] for k in range(1, 6))]
    page = explore(Tree(chain), tmp_path / "page.html", labels=texts, names=texts)
    browser.get(page.as_uri())
    table = browser.execute_script("return explorer.model.csv(explorer.model.root)")
    names = {row[1] for row in list(csv.reader(io.StringIO(table)))[1:]}
    assert names == {f"'{text}" for text in texts[:4]} | set(texts[4:])
