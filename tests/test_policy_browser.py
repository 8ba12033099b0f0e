"""The explorer's content security policy, in Chromium, by trying: whatever runs in the page reaches nothing outside of it."""

from __future__ import annotations

import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hyphc import Tree, explore

webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium: pip install selenium")

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
if not (BROWSER and DRIVER):
    pytest.skip("needs Chromium: apt-get install chromium chromium-driver", allow_module_level=True)

# What an intruder would try once text of the data ran as script, and how it would know that it worked; HERE is a server that
# counts who comes. A try may throw.
TRIES = {
    "an inline script": "const s = document.createElement('script'); s.textContent = 'window.hacked = 1'; document.body.append(s);",
    "a script from elsewhere": "const s = document.createElement('script'); s.src = HERE; document.body.append(s);",
    "a script of data": "const s = document.createElement('script'); s.src = 'data:text/javascript,window.hacked=1'; document.body.append(s);",
    "a script of a blob": "const s = document.createElement('script');"
    " s.src = URL.createObjectURL(new Blob(['window.hacked = 1'], { type: 'text/javascript' })); document.body.append(s);",
    "eval": "eval('window.hacked = 1');",
    "a function of text": "new Function('window.hacked = 1')();",
    "a timer of text": "setTimeout('window.hacked = 1', 0);",
    "a handler in markup": "const d = document.createElement('div'); d.innerHTML = '<img src=x onerror=\"window.hacked = 1\">'; document.body.append(d);",
    "an address that is script": "const a = document.createElement('a'); a.href = 'javascript:window.hacked=1'; document.body.append(a); a.click();",
    "a module": "import(HERE).catch(() => {});",
    "a worker": "new Worker(URL.createObjectURL(new Blob([`fetch('${HERE}')`], { type: 'text/javascript' })));",
    "fetch": "fetch(HERE, { mode: 'no-cors' }).catch(() => {});",
    "a request": "const r = new XMLHttpRequest(); r.open('GET', HERE); r.send();",
    "a beacon": "navigator.sendBeacon(HERE, 'x');",
    "a socket": "new WebSocket(HERE.replace('http', 'ws'));",
    "a stream of events": "new EventSource(HERE);",
    "a picture": "const i = new Image(); i.src = HERE; document.body.append(i);",
    "a picture in a style": "document.body.style.backgroundImage = `url(${HERE})`;",
    "a style": "const s = document.createElement('style'); s.textContent = `body { background: url(${HERE}) }`; document.body.append(s);",
    "a sheet of styles": "const l = document.createElement('link'); l.rel = 'stylesheet'; l.href = HERE; document.head.append(l);",
    "a font": "new FontFace('x', `url(${HERE})`).load().catch(() => {});",
    "a frame": "const f = document.createElement('iframe'); f.src = HERE; document.body.append(f);",
    "a frame of markup": "const f = document.createElement('iframe'); f.srcdoc = '<script>parent.hacked = 1</script>'; document.body.append(f);",
    "an object": "const o = document.createElement('object'); o.data = HERE; document.body.append(o);",
    "an embedded page": "const e = document.createElement('embed'); e.src = HERE; document.body.append(e);",
    "sound": "const a = new Audio(HERE); a.load();",
    "a form": "const f = document.createElement('form'); f.action = HERE; f.method = 'post'; document.body.append(f); f.submit();",
    "a base": "const b = document.createElement('base'); b.href = HERE; document.head.append(b);"
    " if (new URL('x', document.baseURI).origin === new URL(HERE).origin) window.hacked = 1;",
    "a manifest": "const l = document.createElement('link'); l.rel = 'manifest'; l.href = HERE; document.head.append(l);",
    "an icon": "const l = document.createElement('link'); l.rel = 'icon'; l.href = HERE; document.head.append(l);",
    "fetching ahead": "const l = document.createElement('link'); l.rel = 'prefetch'; l.href = HERE; document.head.append(l);",
}


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
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


def attempt(browser, code: str, here: str) -> bool:
    """Whether the code got its way within the page, after a moment for what is asynchronous.

    It runs from a timer, as code of the page: what the driver itself runs may always call eval.
    """
    code = f"setTimeout(() => {{ try {{ {code} }} catch (error) {{}} }}, 0)"
    browser.execute_script(f"const HERE = arguments[0]; window.hacked = undefined; {code}", here)
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


def test_without_the_policy_the_same_tries_succeed(server, browser, tmp_path):
    here, visits = server
    bare = Path(tmp_path / "bare.html")
    bare.write_text("<!doctype html><title>bare</title><body>")
    succeeded = set()
    for number, (what, code) in enumerate(TRIES.items()):
        browser.get(bare.as_uri())
        if attempt(browser, code, f"{here}bare/{number}"):
            succeeded.add(what)
    reached = {list(TRIES)[int(path.rsplit("/", 1)[1])] for path in visits if path.startswith("/bare/")}
    # Chromium takes neither icons nor manifests without a window, and files may not ask for modules and sockets of others
    assert TRIES.keys() - succeeded - reached <= {"an icon", "a manifest", "a module", "a socket", "a worker", "fetching ahead"}
