"""The plan of a fit: which start, which stages, which budgets, and why. All thresholds of ``HypHC`` are here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Literal

from ..baselines.first_tree import Quick, quick_method
from ..continuous.solver import EmbedSettings, is_equal
from ..search import search_context as search
from ..similarity import Similarity

# With a search to follow, a continuous stage gets this many triplets (about a second), on a graph so many steps
# (some seconds: ten times as many gain nothing that the search does not find), and this share of a time budget.
TRIPLETS_BEFORE_SEARCH = 200_000_000
STEPS_BEFORE_SEARCH = 400
EMBED_SHARE = 0.2
# Up to this many leaves average linkage takes a moment, and the result is never worse than it.
LINKAGE_UP_TO = 2_000

Start = Literal["continuous stage"] | Quick


@dataclass(frozen=True, repr=False)
class FitPlan:
    """What a fit does once the similarity is known. ``print(plan)`` says it in words.

    Attributes
    ----------
    start : {"continuous stage", "average linkage", "agglomeration along edges", "bisecting k-means"}
        What makes the first tree.
    linkage : bool
        Whether average linkage is tried too, and the cheaper of the two trees searched.
    search : tuple of str
        Stages of the search; empty without one.
    embed : EmbedSettings or None
        Settings of the continuous stage, its budgets among them; None without one.
    embed_share : float
        The share of a time budget after which the continuous stage ends.
    effort : float
        Of the search, as a multiple of the usual.
    time_budget : float or None
        Seconds for everything.
    rows : str
        What was done to the rows before; empty if nothing was decided.
    because : str
        Why the search is left out; empty if it is not.
    within : str
        Constraints on the tree; empty without any.

    Examples
    --------
    >>> from hyphc import as_similarity
    >>> plan_fit(as_similarity([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]], "cosine"), EmbedSettings())
    start: bisecting k-means or average linkage, the cheaper; search: sweeps, other starts, ratchet, iterated
    """

    start: Start
    linkage: bool
    search: tuple[str, ...]
    embed: EmbedSettings | None
    embed_share: float = 1.0
    effort: float = 1.0
    time_budget: float | None = None
    because: str = ""
    rows: str = ""
    within: str = ""

    def __repr__(self) -> str:
        return "; ".join(self._words())

    def _words(self) -> Iterator[str]:
        if self.rows:
            yield self.rows
        limits = ", ".join(self._limits())
        first = f"{self.start} (at most {limits})" if limits else self.start
        yield f"start: {first}" + (" or average linkage, the cheaper" if self.linkage else "")
        if self.search:
            multiple = "" if self.effort == 1 else f" ({self.effort:g} times the effort)"
            yield f"search: {', '.join(self.search)}{multiple}"
        if self.because:
            yield self.because
        if self.within:
            yield self.within
        if self.time_budget is not None:
            yield f"all within {self.time_budget:g} s"

    def _limits(self) -> Iterator[str]:
        """Yield the budgets of the continuous stage in words."""
        if self.embed is None:
            return
        if self.embed.max_iter is not None:
            yield f"{_spaced(self.embed.max_iter)} steps"
        if self.embed.max_triplets is not None:
            yield f"{_spaced(self.embed.max_triplets)} triplets"
        if self.time_budget is not None and self.embed_share < 1.0:
            yield f"{self.embed_share:.0%} of the time"


def plan_fit(
    similarity: Similarity,
    settings: EmbedSettings,
    *,
    refine: bool = True,
    effort: float = 1.0,
    time_budget: float | None = None,
) -> FitPlan:
    """Plan a fit of distinct points.

    Parameters
    ----------
    similarity : Similarity
    settings : EmbedSettings
        Of the continuous stage. Any that is not the default means that there is one.
    refine : bool
        Whether the search follows.
    effort : float
        Of the search.
    time_budget : float, optional
        Seconds.
    """
    if not refine:
        because = "no search because refine=False"
        return FitPlan("continuous stage", False, (), settings, time_budget=time_budget, because=because)
    linkage = similarity.n <= LINKAGE_UP_TO
    stages = ("sweeps", *search.later_stages(similarity, time_budget is not None))
    if asks_for_continuous_stage(settings):
        embed = _before_search(settings, similarity)
        return FitPlan("continuous stage", linkage, stages, embed, EMBED_SHARE, effort, time_budget)
    start = quick_method(similarity)
    return FitPlan(start, linkage and start != "average linkage", stages, None, effort=effort, time_budget=time_budget)


def asks_for_continuous_stage(settings: EmbedSettings) -> bool:
    """Return whether any setting is not its default. Without one, the search alone reaches the same cost sooner."""
    return not all(is_equal(getattr(settings, field.name), field.default) for field in fields(settings))


def _before_search(settings: EmbedSettings, similarity: Similarity) -> EmbedSettings:
    """Return the settings with the budgets of a stage that is followed by a search; a preset has its own."""
    if settings.max_triplets is not None or settings.preset is not None:
        return settings
    steps = STEPS_BEFORE_SEARCH if similarity.is_sparse else None
    max_iter = steps if settings.max_iter is None else settings.max_iter
    return replace(settings, max_iter=max_iter, max_triplets=TRIPLETS_BEFORE_SEARCH)


def _spaced(number: int) -> str:
    return f"{number:,}".replace(",", " ")
