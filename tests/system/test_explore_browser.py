"""The explorer page in headless Chromium; skipped where the browser, its driver or selenium is missing."""

from __future__ import annotations

import csv
import io
import re
import time
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hyphc import HypHC, Tree, as_similarity, baselines, describe, differences, geometry
from hyphc.explorer import explore
from hyphc.tree.condense import split_order
from hyphc.tree.prunings import flat_clusters
from scipy.cluster.hierarchy import linkage
from sklearn.datasets import load_digits

import strategies

webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium: pip install selenium")
plt = pytest.importorskip("matplotlib.pyplot")
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

pytestmark = pytest.mark.usefixtures("chromium")

HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"


@pytest.fixture(scope="module")
def downloads(tmp_path_factory):
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def browser(chromium, downloads):
    options = webdriver.ChromeOptions()
    options.binary_location, driver = chromium
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,800"):
        options.add_argument(flag)
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with webdriver.Chrome(options=options, service=webdriver.ChromeService(driver)) as browser:
        yield browser


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """A page of 300 digits with pictures, labels and features, and their tree."""
    data = load_digits()
    tree = baselines.average_linkage(as_similarity(data.data[:300], "cosine"))
    path = tmp_path_factory.mktemp("pages") / "digits.html"
    names = [f"digit {i}" for i in range(300)]
    explore(
        tree,
        path,
        labels=data.target[:300],
        images=data.images[:300],
        features=data.data[:300],
        names=names,
        title="Digits",
    )
    return tree, path


@pytest.fixture
def screen(browser):
    """Opens pages, and at the end of the test asserts that they wrote nothing to the console."""

    def opened(path, width=1280, height=800, scheme="light", motion="reduce"):
        emulate(browser, width, height, scheme, motion)
        browser.get(path.as_uri())
        wait(lambda: browser.execute_script("return document.documentElement.dataset.ready"))
        settle(browser)
        return browser

    yield opened
    assert browser.get_log("browser") == []


def emulate(browser, width, height, scheme, motion):
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [
        {"name": "prefers-color-scheme", "value": scheme},
        {"name": "prefers-reduced-motion", "value": motion},
    ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def wait(condition, seconds=120.0):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "the page did not get there in time"
        time.sleep(0.02)
    return found


def settle(browser):
    """Wait until what was asked for is drawn."""
    wait(lambda: browser.execute_script("return explorer.requested === null && !explorer.flight"))


def place_of(browser, node):
    """Where a node is on the screen, in pixels of the disk's canvas."""
    return browser.execute_script(
        """const { view, model, disk } = explorer, at = [0, 0], v = arguments[0];
        view.project(model.angle[v], model.grown[v], model.faded[v], at);
        return [disk.screenX(at[0]), disk.screenY(at[1])];""",
        node,
    )


def pointer(browser, canvas, x, y):
    """A chain of actions that starts at (x, y) of a canvas."""
    element = browser.find_element(By.ID, canvas)
    size = element.rect
    chain = webdriver.ActionChains(browser, duration=0)
    return chain.move_to_element_with_offset(element, round(x - size["width"] / 2), round(y - size["height"] / 2))


def text(browser, name):
    return browser.find_element(By.ID, name).text


def press(browser, *keys):
    webdriver.ActionChains(browser).send_keys(*keys).perform()
    settle(browser)


def biggest_cluster(browser):
    return browser.execute_script(
        "const m = explorer.model; return m.clusters.reduce((a, b) => (m.size[a] >= m.size[b] ? a : b))"
    )


def test_the_page_opens_from_disk_and_loads_nothing(digits, screen):
    browser = screen(digits[1])
    assert browser.title == "Digits"
    assert text(browser, "facts").startswith("300 points")
    loaded = browser.execute_script("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert all(name.startswith("data:") for name in loaded)
    drawn = browser.execute_script(
        """return ["disk", "dendrogram"].map((id) => {
          const canvas = document.getElementById(id);
          const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
          return new Set(new Uint32Array(pixels.buffer)).size;
        })"""
    )
    assert min(drawn) > 10  # colours, where an empty canvas has one


def test_hovering_a_leaf_shows_its_name_and_picture(digits, screen):
    browser = screen(digits[1])
    leaf, x, y = browser.execute_script("const c = explorer.disk.crown[0]; return [c.leaf, c.x, c.y]")
    pointer(browser, "disk", x, y).perform()
    assert f"digit {leaf}" in text(browser, "tooltip")
    assert browser.find_elements(By.CSS_SELECTOR, "#tooltip canvas.thumb")


def test_hovering_a_cluster_tells_its_size_in_disk_and_dendrogram(digits, screen):
    tree, path = digits
    browser = screen(path)
    node = biggest_cluster(browser)
    pointer(browser, "disk", *place_of(browser, node)).perform()
    assert f"Cluster of {tree.sizes[node]} points" in text(browser, "tooltip")
    pointer(browser, "dendrogram", 5, 5).perform()
    x, y = browser.execute_script(
        """const { dendrogram: d } = explorer, s = d.scene, i = s.node.indexOf(arguments[0]);
        return [d.middle(i), (d.y(d.level(s.node[i])) + d.y(d.level(s.node[s.above[i]]))) / 2];""",
        node,
    )
    pointer(browser, "dendrogram", x, y).perform()
    assert f"Cluster of {tree.sizes[node]} points" in text(browser, "tooltip")


def test_search_finds_names_and_labels_and_enter_goes_there(digits, screen):
    browser = screen(digits[1])
    press(browser, "/")
    press(browser, "digit 123")
    assert text(browser, "found") == "1 match"
    press(browser, Keys.ENTER)
    assert text(browser, "selected-name") == "digit 123"
    distance, depth = browser.execute_script(
        "const { model: m, view } = explorer; return [view.locate(m.angle[123], m.depth[123]).distance, m.depth[123]]"
    )
    assert distance < depth - 1  # nearer than from the middle of the whole tree
    press(browser, Keys.ESCAPE, "label:7")
    assert text(browser, "found") == f"{(load_digits().target[:300] == 7).sum()} matches"
    press(browser, Keys.ENTER, Keys.ENTER)
    assert text(browser, "found").startswith("2 of")


def test_a_double_click_brings_a_cluster_to_the_centre(digits, screen):
    browser = screen(digits[1], motion="no-preference")
    node = biggest_cluster(browser)
    before = browser.execute_script("return explorer.frames")
    pointer(browser, "disk", *place_of(browser, node)).double_click().perform()
    settle(browser)
    centre = browser.execute_script("return [explorer.disk.cx, explorer.disk.cy]")
    np.testing.assert_allclose(place_of(browser, node), centre, atol=1e-6)
    assert browser.execute_script("return explorer.frames") > before + 5  # it flew there
    width = browser.execute_script(
        "const { view, model } = explorer, v = arguments[0]; return view.boundary(model.hi[v]) - view.boundary(model.lo[v])",
        node,
    )
    assert width > np.pi  # and fills more than half of the circle
    press(browser, "0")
    view = browser.execute_script(
        "const { model: m, view } = explorer; return [view.alpha - view.beta, view.distance - m.depth[m.root]]"
    )
    np.testing.assert_allclose(view, 0, atol=1e-9)


def test_a_click_lists_the_members_of_a_cluster(digits, screen):
    tree, path = digits
    browser = screen(path)
    node = biggest_cluster(browser)
    pointer(browser, "disk", *place_of(browser, node)).click().perform()
    settle(browser)
    assert text(browser, "selected-name") == f"Cluster of {tree.sizes[node]} points"
    listed = [int(row.get_attribute("data-leaf")) for row in browser.find_elements(By.CSS_SELECTOR, "#members .row")]
    assert listed
    assert all(tree.lca(leaf, node) == node for leaf in listed)
    assert len(listed) < tree.sizes[node] or tree.sizes[node] < 40  # only rows in sight exist


def test_dragging_takes_the_point_along_and_the_wheel_goes_in_and_out(digits, screen):
    browser = screen(digits[1])
    node = biggest_cluster(browser)
    x, y = map(round, place_of(browser, node))
    off = np.array(place_of(browser, node)) - (x, y)
    pointer(browser, "disk", x, y).click_and_hold().move_by_offset(30, 0).move_by_offset(-80, 60).release().perform()
    settle(browser)
    np.testing.assert_allclose(np.array(place_of(browser, node)) - (x - 50, y + 60), off, atol=1.5)
    roll = """document.getElementById("disk").dispatchEvent(new WheelEvent("wheel", { deltaY: arguments[0], clientX: 300,
        clientY: 200, cancelable: true }));
        const { model: m, view } = explorer;
        return view.locate(m.angle[m.root], m.depth[m.root]).distance;"""
    near, far = browser.execute_script(roll, 0), browser.execute_script(roll, -400)
    assert far != pytest.approx(near, abs=0.01)
    for _ in range(20):
        from_root = browser.execute_script(roll, 400)
    assert from_root == pytest.approx(0, abs=1e-6)


def test_the_slider_cuts_the_tree_with_live_colours(digits, screen):
    browser = screen(digits[1])
    browser.execute_script("explorer.colourBy('cluster')")
    slider = browser.find_element(By.ID, "slider")
    seen = set()
    for key in (Keys.HOME, Keys.PAGE_UP, Keys.PAGE_UP, Keys.END):
        slider.send_keys(key)
        settle(browser)
        k = int(browser.find_element(By.ID, "clusters").get_attribute("value"))
        colours = browser.execute_script(
            "return new Set(Array.from({ length: 300 }, (_, leaf) => explorer.colours.css(leaf))).size"
        )
        rows = len(browser.find_elements(By.CSS_SELECTOR, "#legend .row"))
        assert rows == min(k, 60)
        assert colours <= k
        assert (colours > 1) == (k > 1)
        seen.add(k)
    assert {1, 300} < seen
    field = browser.find_element(By.ID, "clusters")
    field.send_keys(Keys.CONTROL, "a", Keys.NULL, "7", Keys.TAB)
    assert browser.execute_script("return explorer.model.clusters.length") == 7
    press(browser, "]")
    assert browser.execute_script("return explorer.model.clusters.length") == 8


def test_the_slider_cuts_the_condensed_tree_at_every_number(tmp_path, screen):
    X = np.random.default_rng(0).normal(size=(150, 2)) + 4 * np.random.default_rng(1).integers(3, size=(150, 2))
    tree = Tree.from_linkage(linkage(X, "single"))  # far points fall out near the root
    explore(tree, tmp_path / "condensed.html", criterion="condensed", min_size=6)
    browser = screen(tmp_path / "condensed.html")
    of_leaves = """const m = explorer.model;
        return Array.from({ length: m.n }, (_, leaf) => m.numbers[m.clusterOf(leaf)]);"""
    condensed, joined, lines = tree.condense(6), 0, []
    assert browser.execute_script("return explorer.model.most") == len(condensed.splits) + 1 > 5
    for k in range(1, len(condensed.splits) + 2):
        browser.execute_script("explorer.setCut(arguments[0])", k)
        assert browser.execute_script(of_leaves) == condensed.cut(k).tolist()
        joined += browser.execute_script("return explorer.model.parts.length") > k
        lines.append(browser.execute_script("return explorer.dendrogram.cutLevel()"))
    assert joined > 3  # else the test would not see where points join
    assert sorted(lines, reverse=True) == lines


def test_points_outside_the_cores_join_or_are_outliers_by_a_switch(tmp_path, screen):
    X = np.random.default_rng(0).normal(size=(150, 2)) + 4 * np.random.default_rng(1).integers(3, size=(150, 2))
    tree = Tree.from_linkage(linkage(X, "single"))
    explore(tree.with_n_clusters(4), tmp_path / "joined.html", min_size=6)
    browser = screen(tmp_path / "joined.html")
    joined = flat_clusters(tree, 4, min_size=6).joined
    assert joined.any()
    colours = """const { colours, model } = explorer;
        return Array.from({ length: model.n }, (_, leaf) => colours.node(leaf, model.clusterOf(leaf)) === colours.neutral);"""
    button = browser.find_element(By.ID, "outliers")
    assert button.text == f"Label {joined.sum()} points as outliers"
    assert button.get_attribute("role") == "switch"
    clusters = """const { model } = explorer, lines = model.csv(model.root).trim().split("\\r\\n").slice(1);
        const rows = lines.map((line) => line.split(","));
        return rows.sort((a, b) => a[0] - b[0]).map((row) => Number(row[2]));"""
    for on in (False, True, False):
        if (button.get_attribute("aria-checked") == "true") != on:
            button.click()
        assert browser.execute_script(colours) == (joined & on).tolist()
        labels = np.where(joined & on, -1, tree.cut(4, min_size=6))
        assert browser.execute_script(clusters) == labels.tolist()
        sizes = np.sort(np.bincount(labels[labels >= 0]))[::-1]
        shown = [int(count.text) for count in browser.find_elements(By.CSS_SELECTOR, "#legend .count")]
        assert shown == [*sizes, *([joined.sum()] if on else [])]
        browser.execute_script("explorer.select(arguments[0])", int(np.flatnonzero(joined)[0]))
        assert ("outlier" if on else "outside its core") in text(browser, "selected-facts")
    browser.execute_script("explorer.setCut(1)")
    assert not button.is_displayed()


def test_the_page_opens_with_the_clusters_that_were_found_and_a_button_leads_back_to_them(tmp_path, screen):
    X = np.random.default_rng(0).normal(size=(150, 2)) + 4 * np.random.default_rng(1).integers(3, size=(150, 2))
    tree = Tree.from_linkage(linkage(X, "average"))
    order = split_order(tree, 6)
    above = tree.parents[tree.n_leaves + order] - tree.n_leaves
    free = [t for t, up in zip(order[1:], above[1:], strict=True) if up == tree.n_leaves - 2]
    turns = np.zeros(149, dtype=int)
    turns[[order[0], free[-1]]] = 1, 2
    without, tree = tree, tree.with_found_splits(turns)
    assert tree.cut().tolist() == tree.cut(3, min_size=6).tolist() != without.cut(3, min_size=6).tolist()
    explore(tree, tmp_path / "found.html", criterion="condensed", min_size=6)
    browser = screen(tmp_path / "found.html")
    of_leaves = """const m = explorer.model;
        return Array.from({ length: m.n }, (_, leaf) => m.numbers[m.clusterOf(leaf)]);"""
    button = browser.find_element(By.ID, "as-found")
    assert browser.execute_script(of_leaves) == tree.cut().tolist()
    assert button.get_attribute("aria-pressed") == "true"
    browser.execute_script("explorer.setCut(4)")
    assert browser.execute_script(of_leaves) == tree.cut(4, min_size=6).tolist()
    assert button.get_attribute("aria-pressed") == "false"
    button.click()
    assert browser.execute_script(of_leaves) == tree.cut().tolist()
    assert browser.execute_script("return explorer.dendrogram.cutLevel()") is None
    explore(without.with_n_clusters(3), tmp_path / "given.html", criterion="condensed", min_size=6)
    assert not screen(tmp_path / "given.html").find_element(By.ID, "as-found").is_displayed()


def test_the_page_opens_with_the_clusters_of_the_fit_and_its_slider_cuts_as_the_tree_does(tmp_path, screen):
    data = load_digits()
    model = HypHC(random_state=0).fit(data.data[:300])
    tree = model.tree_
    explore(tree, tmp_path / "fit.html")
    browser = screen(tmp_path / "fit.html")
    assert int(browser.find_element(By.ID, "clusters").get_attribute("value")) == model.n_clusters_
    of_leaves = """const m = explorer.model;
        return Array.from({ length: m.n }, (_, leaf) => m.numbers[m.clusterOf(leaf)]);"""
    assert browser.execute_script(of_leaves) == model.labels_.tolist()
    for k in (*range(1, 51), 70, 300):
        browser.execute_script("explorer.setCut(arguments[0])", k)
        assert browser.execute_script(of_leaves) == tree.cut(k).tolist()
    explore(tree, tmp_path / "score.html", criterion="dasgupta")
    browser, differ = screen(tmp_path / "score.html"), 0
    for k in (*range(1, 51), 70, 300):
        browser.execute_script("explorer.setCut(arguments[0])", k)
        expected = tree.cut(k, criterion="dasgupta") if k <= 50 else tree.cut(k, criterion="height")
        differ += expected.tolist() != tree.cut(k, criterion="height").tolist()
        assert browser.execute_script(of_leaves) == expected.tolist()
        marked = browser.execute_script(
            "return [explorer.model.above.length, explorer.model.aboveCut.filter((x) => x).length]"
        )
        assert marked == [k - 1, k - 1]
    assert differ > 5  # else the test would not see by what the page cuts


def test_a_cut_that_is_none_by_height_is_drawn_in_steps_between_the_merges_that_it_keeps_and_undoes(tmp_path, screen):
    # two merges of four leaves each: the one at height 5 is heavy, so the best cut into 3 undoes that at 2
    tree = Tree([[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11], [12, 13]], [1, 1, 1, 1, 2, 5, 9.0],
                split_weights=[1, 1, 1, 1, 0, 30, 0])  # fmt: skip
    assert sorted(tree.clusters(3, criterion="dasgupta")) == [8, 9, 13]
    explore(tree.with_n_clusters(3), tmp_path / "steps.html", criterion="dasgupta")
    browser = screen(tmp_path / "steps.html")
    level, ends = browser.execute_script(
        """const { dendrogram, model } = explorer;
        dendrogram.byRank = false;
        return [dendrogram.cutLevel(), model.clusters.map((v) => dendrogram.endOf(v) * 9)];"""
    )
    assert level is None
    assert sorted(ends) == pytest.approx([1.5, 1.5, 7.0])
    level = browser.execute_script("explorer.setCut(2); return explorer.dendrogram.cutLevel() * 9")
    assert level == pytest.approx(7.0)


def test_export_writes_the_members_with_the_clusters_of_the_cut(digits, screen, downloads):
    tree, path = digits
    browser = screen(path)
    browser.execute_script("explorer.setCut(9)")
    node = int(tree.children[-1, np.argmax(tree.sizes[tree.children[-1]])])
    browser.execute_script("explorer.select(arguments[0])", node)
    browser.find_element(By.ID, "export").click()
    file = wait(lambda: next(downloads.glob("*.csv"), None))
    wait(lambda: file.stat().st_size > 0)
    rows = list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8-sig"))))
    data, cut = load_digits(), tree.cut(n_clusters=9)
    assert {int(row["row"]) for row in rows} == {i for i in range(300) if tree.lca(i, node) == node}
    for row in rows:
        i = int(row["row"])
        assert row["name"] == f"digit {i}"
        assert int(row["label"]) == data.target[i]
        assert int(row["cluster"]) == cut[i]
        assert float(row["feature 20"]) == data.data[i, 20]


def test_hostile_text_stays_text(screen, tmp_path):
    texts = [HOSTILE, "<b>bold</b>", 'quote " , comma', "line\nbreak"]
    path = explore(
        strategies.balanced(4), tmp_path / "page.html", labels=texts, names=texts, features=np.eye(4), title=HOSTILE
    )
    browser = screen(path)
    assert browser.title == HOSTILE
    assert browser.find_element(By.TAG_NAME, "h1").text == HOSTILE
    press(browser, "/", "window.hacked")
    assert text(browser, "found") == "1 match"
    press(browser, Keys.ENTER)
    assert text(browser, "selected-name") == HOSTILE
    browser.execute_script("explorer.hover(0, 300, 300)")
    assert HOSTILE in text(browser, "tooltip")
    assert HOSTILE in text(browser, "legend") + text(browser, "members")
    rows = list(csv.reader(io.StringIO(browser.execute_script("return explorer.model.csv(explorer.model.root)"))))
    assert sorted(row[1] for row in rows[1:]) == sorted(texts)
    assert browser.execute_script("return [document.scripts.length, window.hacked, document.images.length]") == [
        2,
        None,
        0,
    ]
    assert not browser.find_elements(By.TAG_NAME, "b")


def test_the_policy_stops_every_other_script(digits, screen):
    browser = screen(digits[1])
    browser.execute_script(
        """const script = document.createElement("script");
        script.textContent = "window.hacked = 1";
        document.body.append(script);"""
    )
    assert browser.execute_script("return window.hacked") is None
    (message,) = browser.get_log("browser")  # the refusal, and taken off the log
    assert "Content Security Policy" in message["message"]


def test_the_tree_can_be_walked_by_keyboard_alone(digits, screen):
    tree, path = digits
    browser = screen(path)
    press(browser, Keys.TAB)
    assert browser.switch_to.active_element.get_attribute("id") == "disk"
    children = tree.children[-1]
    press(browser, Keys.ARROW_DOWN)
    larger = int(children[np.argmax(tree.sizes[children])])
    selected = "return explorer.state.selected"
    assert browser.execute_script(selected) == larger
    assert f"{tree.sizes[larger]} points" in browser.find_element(By.ID, "said").get_attribute("textContent")
    press(browser, Keys.ARROW_LEFT)
    press(browser, Keys.ARROW_RIGHT)
    assert browser.execute_script(selected) in children
    press(browser, Keys.ENTER)
    node = browser.execute_script(selected)
    np.testing.assert_allclose(
        place_of(browser, node), browser.execute_script("return [explorer.disk.cx, explorer.disk.cy]"), atol=1e-6
    )
    press(browser, Keys.ARROW_UP)
    assert browser.execute_script(selected) == 2 * tree.n_leaves - 2
    press(browser, "?")
    assert browser.find_element(By.ID, "help-page").is_displayed()
    press(browser, Keys.ESCAPE)
    assert not browser.find_element(By.ID, "help-page").is_displayed()
    reached = set()
    for _ in range(19):
        press(browser, Keys.TAB)
        reached.add(browser.switch_to.active_element.get_attribute("id"))
    assert {"dendrogram", "search", "slider", "clusters", "theme", "help", "zoom-in"} <= reached
    assert {"heat", "rank", "png", "svg", "colour"} <= reached


def test_light_and_dark_follow_the_system_and_the_button(digits, screen):
    browser = screen(digits[1], scheme="dark")
    ground = "return getComputedStyle(document.body).backgroundColor"
    dark = browser.execute_script(ground)
    browser.find_element(By.ID, "theme").click()
    light = browser.execute_script(ground)
    assert sum(map(int, dark[4:-1].split(","))) < 120 < 600 < sum(map(int, light[4:-1].split(",")))
    assert screen(digits[1], scheme="light").execute_script(ground) == light


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_nothing_is_cut_off_at_common_sizes(digits, screen, width, height):
    browser = screen(digits[1], width=width, height=height)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    radius = browser.execute_script("return explorer.disk.radius")
    assert radius > 0.35 * min(width, height - 150)
    boxes = [browser.find_element(By.ID, name).rect for name in ("disk", "dendrogram", "search", "slider", "export")]
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= width and box["height"] > 20 for box in boxes)


@pytest.mark.parametrize("n", [1, 2, 20_000])
def test_the_smallest_trees_and_a_chain_of_20_000_work(n, screen, tmp_path):
    tree = strategies.chain(n) if n > 1 else Tree(np.empty((0, 2)))
    browser = screen(explore(tree, tmp_path / "page.html", labels=np.arange(n) % 2))
    press(browser, "+")
    press(browser, "]")
    press(browser, "e" if n == 1 else "c")
    browser.execute_script("explorer.select(0, true)")
    settle(browser)
    at = np.array(place_of(browser, 0))
    assert np.isfinite(at).all()
    assert browser.execute_script("return explorer.model.csv(explorer.model.root)").count("\r\n") == n + 1
    if n > 2:  # the two deepest leaves of the chain can be told apart
        assert np.hypot(*(at - place_of(browser, 1))) > 20


def test_the_view_is_the_moebius_transformation_of_the_geometry_module(digits, screen):
    browser = screen(digits[1])
    rng = np.random.default_rng(0)
    for _ in range(20):
        alpha, theta, beta = rng.uniform(-np.pi, np.pi, 3)
        distance, depth = rng.uniform(0, 6, 2)
        centre, point = (
            np.tanh(r / 2) * np.array([np.cos(a), np.sin(a)]) for a, r in ((alpha, distance), (theta, depth))
        )
        shown = browser.execute_script(
            """const [alpha, distance, beta, theta, depth] = arguments, at = [0, 0], { View } = explorer.parts;
            new View(alpha, distance, beta).project(theta, Math.sinh(depth), Math.exp(-depth), at);
            return at;""",
            *map(float, (alpha, distance, beta, theta, depth)),
        )
        turn = beta - alpha
        moved = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]) @ geometry.mobius_add(
            -centre, point
        )
        np.testing.assert_allclose(shown, moved, atol=1e-9)


def test_moving_there_and_back_loses_nothing_far_from_the_origin(digits, screen):
    browser = screen(digits[1])
    shift = browser.execute_script(
        """const { View } = explorer.parts, view = new View(1, 22, 0.3), before = [0, 0], after = [0, 0];
        const point = [1 + 1e-10, Math.sinh(21.5), Math.exp(-21.5)];
        view.project(...point, before);
        for (let i = 0; i < 50; i++) { view.translate(0.3, 0.2); view.translate(-0.3, -0.2); }
        view.project(...point, after);
        return [Math.hypot(...before), Math.hypot(before[0] - after[0], before[1] - after[1])];"""
    )
    assert 0.05 < shift[0] < 0.95
    assert shift[1] < 1e-3


def test_a_slider_fades_what_is_less_sure_and_clusters_say_their_support(screen, tmp_path):
    tree = strategies.balanced(16)
    values = np.linspace(0.2, 1.0, 15)
    page = screen(explore(tree.with_support(values), tmp_path / "sure.html"))
    assert not page.find_element(By.ID, "support-choice").get_attribute("hidden")
    before = page.get_screenshot_as_png()
    slide = "const s = document.getElementById('least'); s.value = arguments[0]; s.dispatchEvent(new Event('input'));"
    page.execute_script(slide, 0.99)
    settle(page)
    assert page.find_element(By.ID, "least-value").text == "0.99"
    assert re.fullmatch(r"\d+ of \d+ clusters of the cut have it", page.find_element(By.ID, "least-note").text)
    assert page.get_screenshot_as_png() != before
    page.find_element(By.ID, "disk").send_keys(Keys.ARROW_DOWN)
    settle(page)
    halves = [f"support {values[t]:.3g}" for t in (12, 13)]
    assert any(text in page.find_element(By.ID, "selected-facts").text for text in halves)


def test_a_tree_without_support_has_no_slider_for_it(screen, tmp_path):
    page = screen(explore(strategies.balanced(8), tmp_path / "plain.html"))
    assert not page.find_element(By.ID, "support-choice").is_displayed()


KINDS = np.array(["lake", "river", "sea"])


@pytest.fixture(scope="module")
def annotated(tmp_path_factory):
    """A page of 300 leaves with features, of which some are missing, and four columns of annotations; its tree and tables."""
    rng = np.random.default_rng(0)
    group = np.arange(300) // 100
    X = rng.normal(size=(300, 6)) + 4 * np.eye(3).repeat(2, axis=1)[group]
    tree = baselines.average_linkage(as_similarity(X, "cosine"))
    X[rng.random(X.shape) < 0.02] = np.nan
    table = pd.DataFrame(X, columns=[HOSTILE, *"bcdef"])
    beside = pd.DataFrame({"water": KINDS[group], HOSTILE: rng.normal(size=300), "wild": group == 1})
    beside.loc[:9, "water"] = None
    names = [f"the very long name of the sample {i}" for i in range(300)]
    path = tmp_path_factory.mktemp("pages") / "annotated.html"
    explore(tree.with_names(names), path, features=table, annotations=beside, rows_from=1, title="Waters")
    return tree, table, beside, path


def test_the_heat_map_shows_means_of_the_leaves_under_each_pixel(annotated, screen):
    _, table, _, path = annotated
    browser = screen(path)
    cells, order, columns, told = browser.execute_script(
        """const { heatmap, model, colours } = explorer, cells = explorer.across.cells(), width = cells.length - 1;
        const pixels = new Uint32Array(width * 6), told = [];
        heatmap.fill(pixels, cells, width);
        for (let r = 0; r < 6; r++)
          for (let i = 0; i < width; i += 37) told.push([r, i, colours.diverging.indexOf(pixels[r * width + i])]);
        return [Array.from(cells), Array.from(model.order), Array.from(model.featureOrder), told];"""
    )
    z = ((table - table.mean()) / table.std(ddof=0)).to_numpy()
    assert sorted(columns) == list(range(6))
    assert cells[-1] == 300
    assert len(told) > 60
    for row, i, step in told:
        leaves = order[cells[i] : max(cells[i] + 1, cells[i + 1])]
        values = z[leaves, columns[row]]
        if np.isfinite(values).any():
            expected = np.clip((np.nanmean(values) / 2.5 + 1) * 127.5, 0, 255)
            assert abs(step - expected) <= 0.51
        else:
            assert step == -1


def test_what_is_missing_is_called_missing_and_left_out_of_means(annotated, screen):
    _, table, beside, path = annotated
    browser = screen(path)
    gaps = int(table.isna().sum().sum())
    assert f"{gaps} of 1\u202f800 values missing: grey in the heat map" in text(browser, "facts")
    order = np.array(browser.execute_script("return Array.from(explorer.model.order)"))
    column = browser.find_elements(By.CSS_SELECTOR, "#colour option")[-1].get_attribute("value")
    told = "return explorer.model.{}.told(arguments[0], arguments[1])"
    browser.execute_script("explorer.colourBy(arguments[0])", column)
    assert "missing" in text(browser, "legend")
    feature = told.format("featureColumns[5]")
    values = table["f"].to_numpy()[order]
    at = int(np.flatnonzero(np.isnan(values))[0])
    assert browser.execute_script(feature, at, at + 1) == "missing"
    known = np.nanmean(values[at - 1 : at + 2])
    shown, words = browser.execute_script(feature, at - 1, at + 2).split(" ", 1)
    assert float(shown) == pytest.approx(known, rel=5e-3)
    assert words == f"(missing in {int(np.isnan(values[at - 1 : at + 2]).sum())} of 3)"
    lacking = int(np.flatnonzero(beside["water"].isna().to_numpy()[order])[0])
    assert browser.execute_script(told.format("columns[0]"), lacking, lacking + 1) == "missing"


def test_the_disk_keeps_its_room_beside_a_heat_map_and_names_are_not_clipped(annotated, screen):
    browser = screen(annotated[3])
    assert browser.execute_script("return explorer.heatmap.rows") > 0
    radius, half, reach = browser.execute_script(
        """const { disk, model } = explorer, ctx = document.createElement("canvas").getContext("2d");
        ctx.font = `11px ${getComputedStyle(document.body).fontFamily}`;
        const wide = disk.crown.map(({ leaf }) => ctx.measureText(model.shortName(leaf, disk.letters)).width);
        return [disk.radius, Math.min(disk.width, disk.height) / 2, disk.radius + 14 + Math.max(0, ...wide)];"""
    )
    assert radius > 0.55 * half
    assert half > 150
    assert reach <= half


def test_a_strip_shows_the_commonest_class_and_the_mean_number(annotated, screen):
    _, _, beside, path = annotated
    browser = screen(path)
    order = browser.execute_script("return Array.from(explorer.model.order)")
    for start, end in ((0, 300), (10, 17), (150, 151), (0, 40)):
        classes, mean = browser.execute_script(
            """const [water, number] = explorer.model.columns, [from, to] = arguments;
            return [water.classes[water.commonest(from, to)] ?? null, number.mean(from, to)];""",
            start,
            end,
        )
        rows = beside.iloc[order[start:end]]
        counts = rows["water"].map(lambda value: value if isinstance(value, str) else None).value_counts(dropna=False)
        assert counts[classes] == counts.max() if classes is not None else counts.iloc[0] == counts.max()
        assert mean == pytest.approx(rows[HOSTILE].mean(), rel=1e-5)


def test_leaves_and_band_take_the_colours_of_any_column_under_its_own_name(annotated, screen):
    browser = screen(path := annotated[3])
    choices = [option.text for option in browser.find_elements(By.CSS_SELECTOR, "#colour option")]
    assert choices == ["cluster", "water", HOSTILE, "wild", HOSTILE, *"bcdef"]
    browser.execute_script("explorer.colourBy('column 0')")
    legend = text(browser, "legend")
    assert all(kind in legend for kind in KINDS)
    assert "missing" in legend
    assert browser.find_element(By.ID, "legend").get_attribute("aria-label") == "water"
    same = browser.execute_script(
        """const { colours, model } = explorer, { scene } = explorer.disk, water = model.columns[0];
        const lead = (i) => water.leaders()[scene.node[i]];
        const expected = (i) => (lead(i) < 0 ? colours.neutral : colours.of(water, lead(i)));
        return scene.bands.every((i) => colours.node(scene.node[i], scene.cluster[i]) === expected(i));"""
    )
    assert same
    browser.execute_script("explorer.colourBy('column 1')")
    settle(browser)
    assert browser.find_elements(By.CSS_SELECTOR, "#legend .scale")
    press(browser, "c")
    assert browser.execute_script("return explorer.colours.column") is None
    press(browser, "c")
    assert browser.execute_script("return explorer.colours.column === explorer.model.columns[1]")
    assert screen(path).execute_script("return [document.scripts.length, window.hacked]") == [2, None]


def test_the_panel_tells_what_distinguishes_a_cluster_as_the_package_does(annotated, screen):
    tree, table, _, path = annotated
    browser = screen(path)
    node = biggest_cluster(browser)
    for compare in ("rest", "parts"):
        found = differences(tree, table, compare=compare, top=4).of(node)
        shown = browser.execute_script(
            "return explorer.model.differing(arguments[0], arguments[1]).slice(0, 4)", node, compare
        )
        assert [table.columns[j] for j, _, _ in shown] == [row.column for row in found]
        assert [effect for _, effect, _ in shown] == pytest.approx([row.effect for row in found], rel=1e-5)
        assert [sure for _, _, sure in shown] == [row.sure for row in found]
    browser.execute_script("explorer.select(arguments[0])", node)
    assert "Compared with the rest" in text(browser, "selected-features")
    assert differences(tree, table, compare="rest").of(node)[0].column in text(browser, "selected-features")


def test_rows_count_from_where_they_are_told_to_and_names_are_short_where_they_agree(annotated, screen):
    browser = screen(annotated[3])
    rows = list(csv.DictReader(io.StringIO(browser.execute_script("return explorer.model.csv(explorer.model.root)"))))
    assert all(row["name"].endswith(f" {int(row['row']) - 1}") for row in rows)
    assert {row["water"] for row in rows} == {"", *KINDS}
    short = browser.execute_script("return [7, 8, 123].map((leaf) => explorer.model.shortName(leaf, 14))")
    assert len(set(short)) == 3
    assert all(len(name) <= 14 and name.endswith(end) for name, end in zip(short, ("7", "8", "123"), strict=True))


def test_pictures_are_exported_as_png_and_svg_with_hostile_text_as_text(annotated, screen, downloads):
    browser = screen(annotated[3])
    browser.execute_script("explorer.colourBy('column 0')")
    for kind in ("png", "svg"):
        browser.find_element(By.ID, kind).click()
        file = wait(lambda kind=kind: next(downloads.glob(f"tree.{kind}"), None))
        wait(lambda file=file: file.stat().st_size > 0)
    pixels = plt.imread(downloads / "tree.png")
    assert pixels.shape[:2] == tuple(
        2 * side
        for side in browser.execute_script(
            "const p = new explorer.parts.Picture(explorer); return [p.height, p.width];"
        )
    )
    assert len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) > 50
    drawing = ElementTree.parse(downloads / "tree.svg").getroot()
    texts = [element.text for element in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert {"Waters", "water", *KINDS, "height"} <= set(texts)
    assert any(name and name.startswith("</script>") for name in texts)
    assert not list(drawing.iter("{http://www.w3.org/2000/svg}script"))
    assert len(list(drawing.iter("{http://www.w3.org/2000/svg}path"))) > 5


def test_a_page_in_a_frame_of_a_notebook_runs_and_reaches_nothing_outside(annotated, browser, tmp_path):
    tree, table, _, _ = annotated
    page = explore(tree, features=table, title=HOSTILE)
    around = "<!doctype html><meta charset=utf-8><p id=outside>notebook</p>"
    (tmp_path / "notebook.html").write_text(f"{around}{page._repr_html_()}", encoding="utf-8")
    emulate(browser, 1280, 800, "light", "reduce")
    browser.get((tmp_path / "notebook.html").as_uri())
    frame = browser.find_element(By.TAG_NAME, "iframe")
    browser.switch_to.frame(frame)
    wait(lambda: browser.execute_script("return document.documentElement.dataset.ready"))
    assert text(browser, "facts").startswith("300 points")
    refused = browser.execute_script(
        "try { return String(parent.document.getElementById('outside')) } catch (error) { return error.name }"
    )
    assert refused == "SecurityError"
    browser.switch_to.default_content()
    assert browser.execute_script("return window.hacked") is None
    browser.get_log("browser")


@pytest.mark.parametrize("n", [20_000, 100_000])
def test_large_trees_with_a_heat_map_are_drawn_pixel_by_pixel(n, screen, tmp_path):
    rng = np.random.default_rng(0)
    tree = strategies.balanced(n)
    table = np.repeat(rng.normal(size=(n // 1000, 10)), 1000, axis=0) + 0.1 * rng.normal(size=(n, 10))
    page = explore(tree, tmp_path / "large.html", features=table, annotations={"group": np.arange(n) // 1000})
    browser = screen(page)
    assert browser.execute_script("return explorer.heatmap.rows") > 0
    browser.execute_script("explorer.colourBy('feature 3'); explorer.select(explorer.model.clusters[0], true)")
    settle(browser)
    colours = browser.execute_script(
        """const canvas = document.getElementById("heatmap");
        const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        return new Set(new Uint32Array(pixels.buffer)).size;"""
    )
    assert colours > 50


@pytest.fixture(scope="module")
def uneven(tmp_path_factory):
    """Pages of 30 and 700 leaves of a fit, whose gaps on the circle differ widely, with features and classes."""
    pages = {}
    for n in (30, 700):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, 5)) + 8 * np.eye(5)[rng.integers(0, 3, n)]
        model = HypHC(random_state=0).fit(X)
        kind = np.array(list("abcd"))[rng.integers(0, 4, n)]
        path = tmp_path_factory.mktemp("pages") / f"{n}.html"
        explore(model.tree_, path, features=X, annotations={"kind": kind}, embedding=model.embedding_)
        pages[n] = path, kind
    return pages


@pytest.mark.parametrize("n", [30, 700])
def test_every_leaf_has_the_same_width_in_strips_heat_map_and_dendrogram(n, uneven, screen):
    browser = screen(uneven[n][0])
    widths, offsets = browser.execute_script(
        """const { across, model, dendrogram } = explorer, { scene } = dendrogram;
        const cells = across.cells().slice(0, -1), widths = new Array(model.n).fill(0);
        for (const p of cells) widths[p]++;
        const leaves = Array.from({ length: scene.count }, (_, i) => i).filter((i) => scene.node[i] < model.n);
        const middle = (v) => across.left + ((model.first[v] + 0.5) / model.n) * (across.right - across.left);
        return [widths, leaves.map((i) => dendrogram.middle(i) - middle(scene.node[i]))];"""
    )
    assert max(widths) - min(widths) <= 1
    np.testing.assert_allclose(offsets, 0, atol=1e-6)


@pytest.mark.parametrize("n", [30, 700])
def test_a_centred_cluster_fills_the_dendrogram_with_leaves_of_one_width(n, uneven, screen):
    browser = screen(uneven[n][0])
    node = biggest_cluster(browser)
    browser.execute_script("explorer.select(arguments[0], true)", node)
    settle(browser)
    from_, to, left, right, widths = browser.execute_script(
        """const { across, model } = explorer, v = arguments[0], leaves = Array.from(model.leaves(v));
        const widths = leaves.map((leaf) => across.to(leaf) - across.from(leaf));
        return [across.from(v), across.to(v), across.left, across.right, widths];""",
        node,
    )
    assert left <= from_ + 1e-6
    assert to <= right + 1e-6
    assert to - from_ > 0.85 * (right - left)
    np.testing.assert_allclose(widths, (to - from_) / len(widths))


def test_a_strip_shows_true_shares_where_a_pixel_holds_many_leaves(screen, tmp_path):
    n, rng = 40_000, np.random.default_rng(0)
    kind = np.where(rng.random(n) < 0.3, "rare", "usual")
    kind[rng.random(n) < 0.02] = "odd"
    page = explore(strategies.balanced(n), tmp_path / "shares.html", annotations={"kind": kind})
    shares = screen(page).execute_script(
        """const { heatmap, across, model, colours } = explorer, [kind] = model.columns;
        const cells = across.cells(), width = cells.length - 1, pixels = new Uint32Array(10 * width);
        heatmap.fillShares(pixels, kind, cells, width, 10);
        const shades = kind.classes.map((_, code) => parseInt(colours.table[colours.of(kind, code)].slice(1), 16));
        const seen = pixels.map((p) => ((p & 255) << 16) | (p & 65280) | ((p >> 16) & 255));
        const share = (code) => seen.filter((p) => p === shades[code]).length / seen.length;
        return Object.fromEntries(kind.classes.map((name, code) => [name, share(code)]));"""
    )
    assert shares == pytest.approx({name: (kind == name).mean() for name in shares}, abs=0.01)


def test_collapsed_groups_are_as_wide_as_they_have_points(screen, tmp_path, monkeypatch):
    monkeypatch.setattr("hyphc.explorer.page.MAX_LEAVES", 8)
    tree = strategies.chain(20)
    browser = screen(explore(tree, tmp_path / "groups.html", annotations={"kind": np.arange(20) % 2}))
    widths, weights = browser.execute_script(
        """const { across, model } = explorer, leaves = Array.from(model.order);
        return [leaves.map((leaf) => across.to(leaf) - across.from(leaf)), leaves.map((leaf) => model.weight[leaf])];"""
    )
    assert max(weights) == 13
    np.testing.assert_allclose(np.array(widths) / np.sum(widths), np.array(weights) / 20)


@pytest.mark.parametrize("n", [30, 700])
def test_in_the_page_distinct_points_never_look_like_duplicates_and_a_line_says_how(n, uneven, screen):
    browser = screen(uneven[n][0])
    least, rule = browser.execute_script(
        """const { dendrogram: d, model } = explorer;
        d.byRank = false;
        d.stretch();
        const rises = Array.from({ length: model.n - 1 }, (_, t) => d.y(0) - d.y(d.level(model.n + t)));
        return [Math.min(...rises), d.rule()];"""
    )
    assert least >= 5
    assert rule == "heights drawn at least 5 px unless 0"
    flat = browser.execute_script(
        "const { dendrogram: d, model } = explorer; model.heights[0] = 0; return d.y(0) - d.y(d.level(model.n));"
    )
    assert flat == 0  # duplicates


def test_colours_of_the_page_on_light_ground_are_those_of_its_data(annotated, screen):
    browser = screen(annotated[3])
    own, shown, classes, kinds = browser.execute_script(
        """const { colours, model } = explorer, water = model.columns[0];
        const own = model.palette.clusters.light, byNumber = [];
        model.clusters.forEach((_, index) => (byNumber[model.numbers[index]] = colours.table[colours.cluster(index)]));
        return [own, byNumber, water.classes.map((_, code) => colours.table[colours.of(water, code)]), water.colours.light];"""
    )
    assert shown == own[: len(shown)]
    assert classes == kinds


def test_the_page_says_when_names_are_left_out(annotated, screen):
    browser = screen(annotated[3])
    texts = browser.execute_script(
        """const svg = new explorer.parts.Svg(10, 10), { disk, dendrogram, view, state } = explorer;
        disk.paint(svg, view, []);
        dendrogram.paint(svg, state);
        return [svg.parts.join(""), disk.crown.length, dendrogram.wayToNames()];"""
    )
    assert f"{texts[1]} of 300 names" in texts[0]
    assert texts[2] == "zoom in for names"
    assert texts[2] in texts[0]


def test_the_page_says_when_features_are_thinned(screen, tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 90))
    browser = screen(explore(strategies.balanced(40), tmp_path / "wide.html", features=X))
    step, said = browser.execute_script("return [explorer.heatmap.nameStep(), explorer.dendrogram.more]")
    assert step > 1
    assert re.fullmatch(rf"every {step}(nd|rd|th) feature name is shown", said)


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    """A page of 120 leaves in three groups, with texts, names that begin alike, and the number of clusters that a fit found."""
    rng = np.random.default_rng(0)
    X = np.repeat(8.0 * np.eye(3), 40, axis=0) + rng.normal(size=(120, 3))
    topics = ["owl bird wing feather", "wine grape red bottle", "river stone water bank"]
    texts = [f"{topics[i // 40]} {'long ' * 30}end{i}" for i in range(120)]
    model = HypHC(random_state=0).fit(X)
    tree = model.tree_.with_names([f"sample_of_2024_{i:03d}" for i in range(120)])
    found = describe(tree, texts=texts, min_size=2)
    path = tmp_path_factory.mktemp("described") / "page.html"
    explore(tree, path, names=found, cluster_number=model.cluster_number_, outliers="label")
    return model, found, texts, path


def test_the_full_text_of_a_member_is_in_list_tooltip_and_panel(described, screen):
    _, _, texts, path = described
    browser = screen(path)
    row = browser.find_element(By.CSS_SELECTOR, "#members [data-leaf]")
    leaf = int(row.get_attribute("data-leaf"))
    assert row.get_attribute("title") == f"sample_of_2024_{leaf:03d}\n{texts[leaf]}"
    assert texts[leaf] in row.get_attribute("textContent")
    browser.execute_script("explorer.hover(arguments[0], 300, 300)", leaf)
    assert texts[leaf] in text(browser, "tooltip")
    tip = "const tip = explorer.byId('tooltip'); return tip.scrollHeight - tip.clientHeight"
    assert browser.execute_script(tip) <= 0
    browser.execute_script("explorer.select(arguments[0])", leaf)
    assert text(browser, "selected-text") == texts[leaf]
    assert texts[leaf] in browser.find_element(By.ID, "said").get_attribute("textContent")


def test_labels_leave_out_what_all_names_begin_with_and_say_so(described, screen):
    browser = screen(described[3])
    assert browser.execute_script("return [5, 77].map((leaf) => explorer.model.shortName(leaf, 12))") == ["005", "077"]
    assert browser.execute_script("return explorer.model.shortName(5, 18)") == "sample_of_2024_005"
    assert "names without “sample_of_2024_”" in text(browser, "facts")


def test_groups_have_names_around_the_disk_within_it_and_below_the_dendrogram(described, screen):
    model, found, _, path = described
    browser = screen(path)
    assert model.n_clusters_ == 3
    crown, below, inner = browser.execute_script(
        """const svg = new explorer.parts.Svg(10, 10), { disk, dendrogram } = explorer;
        disk.drawInnerNames(svg);
        const crown = disk.crown.map(({ leaf, turn }) => disk.crownName(leaf, disk.lettersAt(turn)));
        return [crown, dendrogram.groups.map(([name]) => name), svg.parts.join("")];"""
    )
    own = {found.names[node] for node in model.tree_.clusters(3)}
    assert own <= set(crown)
    assert own <= set(below)
    assert any(found.names[node].split(",")[0] in inner for node in model.tree_.children[-1])


def test_the_cut_is_explained_with_its_number_and_p_values(described, screen):
    model, _, _, path = described
    browser = screen(path)
    words = text(browser, "cut-words")
    assert words.startswith("3 clusters: the highest 2 of ")
    assert "(the dashed line)" in words
    p = np.nanmax(model.cluster_number_.p_values[model.cluster_number_.splits[:2]])
    assert f"Their largest p {'< 0.001' if p < 0.001 else f'= {p:.3g}'}" in words
    assert f"As the fit found: {model.cluster_number_.why}" in words
    stepped = browser.execute_script("return explorer.panel.cutWords(null)")
    assert "splits are undone, those found by the fit first (a step of the dashed line for each)" in stepped
    browser.execute_script("explorer.setCut(1)")
    assert text(browser, "cut-words").startswith("One cluster: nothing is cut. The fit found 3")


def test_arrow_keys_walk_the_list_of_members(described, screen):
    browser = screen(described[3])
    order = browser.execute_script("return Array.from(explorer.model.order)")
    browser.find_element(By.CSS_SELECTOR, "#members [tabindex='0']").send_keys(Keys.ARROW_DOWN)
    here = "return Number(document.activeElement.dataset.leaf)"
    assert browser.execute_script(here) == order[1]
    press(browser, Keys.END)
    assert browser.execute_script(here) == order[-1]
    press(browser, Keys.ARROW_UP, Keys.ENTER)
    assert browser.execute_script("return explorer.state.selected") == order[-2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_controls_overlap_in_a_narrow_page(described, annotated, screen, scheme):
    for path in (described[3], annotated[3]):
        browser = screen(path, width=400, height=800, scheme=scheme)
        overlaps = browser.execute_script(
            """const all = [...document.querySelectorAll("button, input, select, output, h1, h2, p:not(.unseen)")];
            const shown = all.filter((e) => e.offsetParent && e.textContent + e.value !== "" && !e.closest("#members, #legend"));
            const boxes = shown.map((e) => [e.id, e.getBoundingClientRect()]);
            const apart = (low, high, a, b) => a[high] <= b[low] + 1 || b[high] <= a[low] + 1;
            const cross = ([, a], [, b]) => !apart("left", "right", a, b) && !apart("top", "bottom", a, b);
            return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => cross(a, b)).map((b) => [a[0], b[0]]));"""
        )
        assert [pair for pair in overlaps if pair != ["search", "found"]] == []
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 400
