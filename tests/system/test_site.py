"""The site builds without a warning, has a page for every public name, and its links lead somewhere, from disk too."""

from __future__ import annotations

import importlib.util
import os
import re
import runpy
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import hyphc
import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ["sphinx", "myst_parser", "furo", "numpydoc", "sphinx_copybutton"]
ABSENT = [name for name in PACKAGES if importlib.util.find_spec(name) is None]

pytestmark = pytest.mark.skipif(bool(ABSENT), reason=f"the site needs {', '.join(ABSENT)}: pip install 'hyphc[docs]'")


def build(source: Path, target: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """The command of the README, and what it says; kernels that are compiled on the way say so on standard error."""
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", *options, str(source), str(target)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONUTF8": "1"})


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """All pages. Their code is not run here: tests/system/test_docs.py runs it."""
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT / "docs", folder, "-D", "run_examples=0")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def reference():
    """The extension that writes the pages of names."""
    sys.path.insert(0, str(ROOT / "docs" / "_ext"))
    try:
        yield importlib.import_module("reference")
    finally:
        sys.path.remove(str(ROOT / "docs" / "_ext"))


class Page(HTMLParser):
    """Where a page leads to, and which places on it can be led to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.links += [value for name in ("href", "src") if (value := found.get(name))]
        self.anchors |= {value for name in ("id", "name") if (value := found.get(name))}


def test_every_public_name_has_a_page(site, reference):
    found, closed = reference.entries()
    assert set(found) | set(closed) == {*reference.DOORS, *reference.RESULTS}
    for door, names in found.items():
        module = reference.opened(door)
        if door in reference.DOORS:
            public = {name for name in module.__all__ if not name.startswith("__")}
            modules = {name for name in public if isinstance(getattr(module, name), type(sys))}
            assert {entry.name.rpartition(".")[2] for entry in names} == public - modules
        for entry in names:
            page = site / "reference" / f"{entry.page}.html"
            assert f'id="{entry.page}"' in page.read_text(encoding="utf-8"), entry.name


def test_the_index_lists_every_page_of_a_name_under_one_task(site, reference):
    found, _ = reference.entries()
    pages = [entry.page for names in found.values() for entry in names if entry.page == entry.name]
    tasks = [Page(site / "reference" / f"{reference.slug(task)}.html").links for task in reference.TASKS]
    index = Page(site / "reference" / "index.html").links
    for page in pages:
        own = [task for task in reference.TASKS if f"   {page}\n" in reference.sources()[f"{reference.slug(task)}.rst"]]
        assert len(own) == 1, page
        assert any(f"{page}.html" in links for links in tasks), page
    assert all(f"{reference.slug(task)}.html" in index for task in reference.TASKS)


def test_a_public_name_without_a_task_fails_the_build(reference):
    class Unheard:
        __module__ = "hyphc.unheard.of"

    with pytest.raises(LookupError, match=r"hyphc\.Unheard.* has no task: add its module to TASKS"):
        reference.task_of(reference.Entry("hyphc.Unheard", "hyphc.Unheard", Unheard))
    assert reference.task_of_module("hyphc.tree.core") == "Work with trees"
    assert reference.task_of_module("hyphc.tree.compare") == "Compare and combine trees"  # the longest name counts
    assert reference.task_of_module("hyphc.treetops") is None


def theme_options(monkeypatch, address: str | None) -> dict[str, object]:
    """What conf.py sets for a repository's address."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    if address is None:
        monkeypatch.delenv("HYPHC_REPOSITORY", raising=False)
    else:
        monkeypatch.setenv("HYPHC_REPOSITORY", address)
    return runpy.run_path(str(ROOT / "docs" / "conf.py"))["html_theme_options"]


def test_pages_can_be_edited_where_the_repository_has_an_address(monkeypatch, reference):
    metadata = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    known = metadata.get("urls", {}).get("Repository")
    assert ("source_edit_link" in theme_options(monkeypatch, None)) == (known is not None)
    link = theme_options(monkeypatch, "https://example.org/us/hyphc/")["source_edit_link"]
    assert link.format(filename="faq.md") == "https://example.org/us/hyphc/edit/main/docs/faq.md"
    for page, suffix in (("faq", ".md"), ("reference/hyphc.HypHC", "")):  # the source of the latter is a docstring
        context = {"page_source_suffix": ".md"}
        reference.hide_edit_link(None, page, "page.html", context, None)
        assert context["page_source_suffix"] == suffix


def test_the_changelog_is_a_page_with_a_place_for_every_version(site):
    versions = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    page = (site / "changelog.html").read_text(encoding="utf-8")
    assert versions
    assert all(re.search(rf"<h2>{re.escape(version)}\b", page) for version in versions)


def test_pages_have_search_a_dark_style_and_buttons_that_copy(site):
    page = (site / "tutorial.html").read_text(encoding="utf-8")
    for what in ("search.html", "theme-toggle", "copybutton.js"):
        assert what in page, what


def test_the_reference_tells_what_our_docstrings_say_and_not_those_of_others(site):
    """A property without a docstring would have that of ``int``, a module of torch its parent's."""
    foreign = re.compile(
        "Convert a (?:number|string)|Alias for field|overridden by all subclasses|extra representation"
    )
    pages = (site / "reference").glob("*.html")
    assert [page.name for page in pages if foreign.search(page.read_text(encoding="utf-8"))] == []


def test_methods_of_mixins_stand_on_the_pages_of_the_classes_that_have_them(site):
    page = (site / "reference" / "hyphc.HypHC.html").read_text(encoding="utf-8")
    for name in ("fit", "plot", "explore", "differences", "to_pandas"):
        assert f'id="hyphc.HypHC.{name}"' in page, name


def test_every_public_module_is_a_door(reference):
    modules = {f"hyphc.{name}" for name in hyphc.__all__ if name in hyphc._MODULES}
    assert modules <= set(reference.DOORS)


def test_links_lead_to_files_and_places_that_are_there(site):
    pages = {path: Page(path) for path in site.rglob("*.html")}
    assert len(pages) > 100
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            places = pages[target].anchors if target in pages else set()
            if not target.is_file() or (parts.fragment and places and unquote(parts.fragment) not in places):
                broken.append(f"{path.relative_to(site)} → {link}")
    assert broken == []


def test_pages_open_from_disk_without_a_network(site):
    """Nothing is loaded from elsewhere: scripts, styles, fonts and images lie beside the page."""
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert not re.findall(r'<(?:script|img|link rel="stylesheet")[^>]+(?:src|href)="(?:https?:)?//', text), path
    assert (site / "searchindex.js").stat().st_size > 10_000


def test_code_stands_beside_the_picture_that_it_draws(site):
    gallery = (site / "gallery.html").read_text(encoding="utf-8")
    boxes = re.findall(r'<div class="beside docutils container">.*?</div>\s*</div>\s*<p><img', gallery, re.DOTALL)
    assert len(boxes) >= 6


def test_lines_do_not_end_within_numbers_and_options(site):
    page = (site / "faq.html").read_text(encoding="utf-8")
    assert re.search(r'<code class="[^"]*\bwhole\b[^"]*"><span class="pre">--categories</span>', page)
    assert "8\N{NO-BREAK SPACE}000 leaves" in (site / "decoding.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_site_builds_with_all_its_examples_run(tmp_path):
    done = build(ROOT / "docs", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_page_that_breaks_its_promise_fails_the_build(tmp_path):
    (tmp_path / "conf.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / 'docs' / '_ext')!r})\nextensions = ['myst_parser', 'examples']\n"
    )
    (tmp_path / "index.md").write_text("# A page\n\n```{toctree}\nbroken\n```\n\n```python\nprint(1 + 1)\n# 2\n```\n")
    (tmp_path / "broken.md").write_text("# Another\n\n```python\nprint(1 + 1)\n# 3\n```\n\n```python\nx = 1 / 0\n```\n")
    done = build(tmp_path, tmp_path / "html")
    assert done.returncode != 0
    assert "promises" in done.stderr
    assert "broken.md" in done.stderr
    assert "index.md" not in done.stderr
    assert "ZeroDivisionError" in done.stderr


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("the size |v| of a cluster", r"the size \|v\| of a cluster"),
        ("as ``x_`` and labels_ are", r"as ``x_`` and labels\_ are"),
        ("labels_ : array (n,)", "labels_ : array (n,)"),
        ("as ``refine`` does", "as :py:obj:`refine <hyphc.refine>` does"),
        ("docs/tree_search.md tells it", ":doc:`tree_search </tree_search>` tells it"),
        ("docs/notes/speed.md has more", ":doc:`notes/speed </notes/speed>` has more"),
        (">>> a | b", ">>> a | b"),
        ("C(T*) of the best", r"C(T\*) of the best"),
        ("is **not** this", "is **not** this"),
    ],
)
def test_docstrings_mean_what_they_say(reference, line, written):
    assert reference.escaped(line) == written


def test_an_attribute_is_not_taken_for_the_function_of_its_name(reference):
    assert "split_weights" in reference.own_names("hyphc.Tree.cut", hyphc.Tree.cut)
    assert reference.escaped("kept like ``split_weights``", {"split_weights"}) == "kept like ``split_weights``"
