"""One clock for all stages: what listeners are told, what the line shows, and what Ctrl-C does."""

from __future__ import annotations

import io
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hyphc import HypHC, Tree, as_similarity, baselines, dasgupta_cost, embed, refine
from hyphc._runtime import progress as display
from hyphc._runtime.progress import Progress, TaskProgress, progress_line
from hyphc._runtime.run_control import Clock
from numpy.testing import assert_allclose

X = np.random.default_rng(0).normal(size=(120, 5))
DOUBLED = np.concatenate([X, X[:40]])
SEARCH = ("start", "sweep 1", "sweeps", "other starts", "ratchet", "iterated")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def default_interrupts() -> Iterator[None]:
    """Python's own handler, which a process in the background may lack."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def told(cost: float = 1.5, share: float | None = 0.25) -> Progress:
    return Progress("embedding", cost, 10.0, lambda: None, share)


# --- what a callback is told -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"metric": "cosine"},
        {"metric": "cosine", "n_neighbors": 5},
        {"refine": False, "n_init": 2},
        {"metric": "cosine", "refine": False, "n_init": 2},
    ],
    ids=str,
)
def test_a_callback_sees_the_best_tree_of_all_points_and_its_cost(settings):
    checked: list[float] = []
    similarity = as_similarity(DOUBLED, **{k: v for k, v in settings.items() if k in ("metric", "n_neighbors")})

    def check(progress: Progress) -> None:
        if progress.iteration is None or progress.iteration % 20 == 0:
            assert_allclose(dasgupta_cost(progress.tree(), similarity), progress.cost, rtol=1e-9)
            checked.append(progress.cost)

    model = HypHC(max_iter=60, random_state=0, callback=check, **settings).fit(DOUBLED)
    assert len(checked) > 5
    assert all(later <= earlier * (1 + 1e-9) for earlier, later in pairwise(checked))
    if model.plan_.search:
        assert_allclose(checked[-1], model.cost_, rtol=1e-9)


def test_a_tree_kept_for_later_is_still_that_of_its_time():
    kept: list[Progress] = []
    similarity = as_similarity(X, "cosine")
    refine(baselines.random_tree(similarity, random_state=0), similarity, random_state=0, callback=kept.append)
    costs = [dasgupta_cost(progress.tree(), similarity) for progress in kept]
    assert_allclose(costs, [progress.cost for progress in kept], rtol=1e-12)
    assert costs[0] > costs[-1]


def test_the_share_is_that_of_the_stage_or_of_the_time_budget():
    seen: list[Progress] = []
    HypHC(metric="cosine", max_iter=50, n_init=2, random_state=0, callback=seen.append).fit(X)
    shares = [progress.share for progress in seen if progress.stage == "embedding"]
    assert_allclose(shares, np.arange(1, 101) / 100)
    assert {progress.share for progress in seen if progress.stage != "embedding"} == {None}
    assert {progress.stage for progress in seen} >= set(SEARCH)
    timed: list[Progress] = []
    HypHC(max_iter=50, random_state=0, time_budget=0.5, callback=timed.append).fit(X)
    assert all(progress.share == pytest.approx(min(1.0, progress.seconds / 0.5)) for progress in timed)


@pytest.mark.parametrize(
    "settings", [{}, {"verbose": 1}, {"callback": lambda progress: None}], ids=["silent", "verbose", "callback"]
)
def test_listening_changes_nothing(settings):
    quiet, heard = (HypHC(random_state=0, max_iter=50, **options).fit(X) for options in ({}, settings))
    assert np.array_equal(quiet.tree_.children, heard.tree_.children)
    assert np.array_equal(quiet.embedding_, heard.embedding_)


def test_a_callback_that_has_heard_enough_is_not_called_again():
    seen: list[str] = []
    similarity = as_similarity(X, "cosine")
    tree = baselines.random_tree(similarity, random_state=0)
    refine(tree, similarity, callback=lambda progress: seen.append(progress.stage) or progress.stage == "sweep 1")
    assert seen == ["start", "sweep 1"]


# --- Ctrl-C ----------------------------------------------------------------------------------------------------------


def interrupting(stage: str, act: Callable[[], object]) -> Callable[[Progress], None]:
    """A callback that acts once, in this stage, and must not be called afterwards."""
    done: list[str] = []

    def callback(progress: Progress) -> None:
        assert not done
        if progress.stage == stage and (progress.iteration or 0) in (0, 7):
            done.append(stage)
            act()

    return callback


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def cry() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("act", [press, cry])
@pytest.mark.parametrize("stage", ["embedding", *SEARCH])
def test_an_interrupt_in_any_stage_ends_the_fit_with_a_warning(stage, act, default_interrupts):
    callback = interrupting(stage, act)
    with pytest.warns(UserWarning, match=r"Interrupted after .* the best found until then"):
        model = HypHC(metric="cosine", max_iter=100, time_budget=60, random_state=0, callback=callback).fit(X)
    assert model.interrupted_
    assert model.tree_.n_leaves == len(X)
    assert_allclose(model.cost_, dasgupta_cost(model.tree_, as_similarity(X, "cosine")))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_while_the_start_is_made_ends_the_fit_with_the_start(monkeypatch, default_interrupts):
    monkeypatch.setattr("hyphc.search.search_context.LARGE", 100)
    start = baselines.bisecting_kmeans(as_similarity(X, "cosine"))

    def interrupted(similarity: object, n_jobs: object) -> Tree:
        press()
        return start

    monkeypatch.setattr("hyphc.fit.run.quick_tree", interrupted)
    with pytest.warns(UserWarning, match="Interrupted"):
        model = HypHC(metric="cosine", random_state=0).fit(X)
    assert model.tree_ == start


@pytest.mark.parametrize("act", [press, cry])
def test_an_interrupt_ends_embed_and_refine_too(act, default_interrupts):
    similarity = as_similarity(X, "cosine")
    with pytest.warns(UserWarning, match="Interrupted"):
        result = embed(similarity, max_iter=10**6, random_state=0, callback=interrupting("embedding", act))
    assert result.n_iter < 100
    with pytest.warns(UserWarning, match="Interrupted"):
        tree = refine(result.tree, similarity, time_budget=60, callback=interrupting("sweep 1", act))
    assert dasgupta_cost(tree, similarity) < result.cost


def test_what_sweeps_gained_before_an_interrupt_is_kept(monkeypatch, default_interrupts):
    from hyphc.search import spr_sweep

    similarity = as_similarity(np.random.default_rng(0).normal(size=(1_500, 5)), "cosine")
    tree = baselines.random_tree(similarity, random_state=0)
    drained: list[int] = []

    def drain(*arguments: object, kernel: Callable[..., None] = spr_sweep._drain) -> None:
        kernel(*arguments)
        drained.append(1)
        if len(drained) == 2:
            press()

    monkeypatch.setattr(spr_sweep, "_drain", drain)
    with pytest.warns(UserWarning, match="Interrupted"):
        refined = refine(tree, similarity, random_state=0)
    assert len(drained) == 2
    assert dasgupta_cost(refined, similarity) < dasgupta_cost(tree, similarity)


def test_a_second_interrupt_stops_at_once(default_interrupts, capsys):
    with pytest.raises(KeyboardInterrupt), Clock() as clock:  # noqa: PT012
        press()
        assert clock.should_stop()
        assert "Ctrl-C again stops at once" in capsys.readouterr().err
        press()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_interrupt_in_one_callback_stops_at_once(default_interrupts):
    def twice(progress: Progress) -> None:
        press()
        press()

    with pytest.raises(KeyboardInterrupt):
        HypHC(random_state=0, callback=twice).fit(X)


def test_a_handler_of_the_callers_own_stays_in_charge():
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        with Clock() as clock:
            press()
        assert heard == [signal.SIGINT]
        assert not clock.interrupted
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_clock_works_in_a_thread():
    costs: list[float] = []
    thread = threading.Thread(target=lambda: costs.append(HypHC(max_iter=5, random_state=0).fit(X).cost_))
    thread.start()
    thread.join()
    assert costs


# --- the line --------------------------------------------------------------------------------------------------------


def test_the_line_knows_the_time_left_of_a_stage_or_a_budget():
    assert progress_line(None, 10.0, None) == f"[{'-' * 24}] start  0:10 so far"
    assert progress_line(told(), 10.0, None) == f"[{'#' * 6}{'.' * 18}] embedding  cost 1.5  0:30 left in this stage"
    assert progress_line(told(share=None), 10.0, None).endswith("embedding  cost 1.5  0:10 so far")
    assert progress_line(told(share=None), 75.0, 100.0) == f"[{'#' * 18}{'.' * 6}] embedding  cost 1.5  0:25 left"


def test_a_terminal_shows_one_line_whose_last_cost_is_that_of_the_fit(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(display, "REDRAW", 0.01)
    model = HypHC(random_state=0, verbose=1).fit(DOUBLED)
    text = terminal.getvalue()
    assert text.count("\n") == 1
    assert len(text.split("\r")) > 3
    last = re.fullmatch(r"done after \d:\d\d  cost (\S+) *\n", text.split("\r")[-1])
    assert last is not None
    assert last[1] == f"{model.cost_:.8g}"


@pytest.mark.parametrize(
    "settings", [{}, {"metric": "cosine", "refine": False, "max_iter": 50}], ids=["search", "steps"]
)
def test_a_fit_that_is_over_soon_writes_one_line_to_a_pipe_whatever_its_steps(settings, monkeypatch, capsys):
    monkeypatch.setattr(display, "REPEAT", 3600.0)
    model = HypHC(random_state=0, verbose=1, **settings).fit(DOUBLED)
    (only,) = capsys.readouterr().err.splitlines()
    assert only.endswith(f"  cost {model.cost_:.8g}")


def test_a_pipe_gets_a_line_now_and_then(monkeypatch):
    monkeypatch.setattr(display, "REPEAT", 0.01)
    asked, pipe = threading.Semaphore(0), io.StringIO()
    shown = display.ProgressDisplay(pipe, lambda: asked.release() or "now")
    assert all(asked.acquire(timeout=60) for _ in range(3))
    shown.close("done")
    first, second, third, *_, last = pipe.getvalue().split("\n")[:-1]
    assert (first, second, third, last) == ("now", "now", "now", "done")


def last_line(capsys: pytest.CaptureFixture[str]) -> str:
    """Where kernels are compiled first, a fit takes long enough for other lines before it."""
    return capsys.readouterr().err.splitlines()[-1]


def test_the_last_cost_is_that_of_the_fit_also_when_the_search_gets_no_time(capsys):
    model = HypHC(random_state=0, verbose=1, time_budget=1e-6, max_iter=0).fit(DOUBLED)
    assert re.fullmatch(r"done after \d:\d\d  cost (\S+)", last_line(capsys))[1] == f"{model.cost_:.8g}"


def test_a_fit_that_fails_says_so_on_its_line(capsys):
    def fail(progress: Progress) -> None:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        HypHC(random_state=0, verbose=1, callback=fail).fit(X)
    assert last_line(capsys).startswith("failed after 0:")


def test_time_left_in_all_follows_from_the_work_done_and_not_from_what_was_found_done(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(display, "time", SimpleNamespace(monotonic=lambda: now[0]))
    line = TaskProgress()
    for stage, share, seconds in (("found", 0.0, 0.1), ("slow", 0.4, 10.0), ("trees", 0.6, 0.0)):
        line(f"stage: {stage}", 0, 4, share)
        now[0] += seconds
    assert line.line().endswith("stage: trees, 0 of 4 tasks  about 0:20 left in all")  # a fifth took 10 s, two are left
    line("stage: trees", 2, 4, 0.8)
    now[0] += 10.0
    assert line.line().endswith("stage: trees, 2 of 4 tasks  about 0:10 left in all")
    assert line.line().startswith(f"[{'#' * 19}{'.' * 5}]")
