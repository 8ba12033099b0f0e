"""The explorer page in headless Chromium; skipped where the browser, its driver or selenium is missing."""

from __future__ import annotations

import csv
import io
import re
import shutil
import time

import numpy as np
import pytest
from hyphc import HypHC, Tree, as_similarity, baselines, geometry
from hyphc.explorer import explore
from sklearn.datasets import load_digits

import strategies

webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium: pip install selenium")
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
if not (BROWSER and DRIVER):
    pytest.skip("needs Chromium: apt-get install chromium chromium-driver", allow_module_level=True)

HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"


@pytest.fixture(scope="module")
def downloads(tmp_path_factory):
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def browser(downloads):
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,800"):
        options.add_argument(flag)
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


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


def wait(condition, seconds=20.0):
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
    differ = 0
    for k in (*range(1, 51), 70, 300):
        browser.execute_script("explorer.setCut(arguments[0])", k)
        expected = tree.cut(k) if k <= 50 else tree.cut(k, criterion="height")
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
    assert sorted(tree.clusters(3)) == [8, 9, 13]
    explore(tree.with_n_clusters(3), tmp_path / "steps.html")
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
    for _ in range(14):
        press(browser, Keys.TAB)
        reached.add(browser.switch_to.active_element.get_attribute("id"))
    assert {"dendrogram", "search", "slider", "clusters", "theme", "help", "zoom-in"} <= reached


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
