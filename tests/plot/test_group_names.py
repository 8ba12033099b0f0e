"""Names of groups in plots: whole terms, and "high" or "low" of a term that is too long."""

from __future__ import annotations

from hyphc.plot.common import shorten_group_name
from hypothesis import given
from hypothesis import strategies as st

TERMS = st.lists(st.from_regex(r"[a-z_]{1,30}( high| low)?", fullmatch=True), min_size=1, max_size=4)


@given(TERMS, st.integers(3, 60))
def test_a_short_name_has_room_and_begins_as_the_long_one(terms, length):
    name = ", ".join(terms)
    short = shorten_group_name(name, length)
    assert len(short) <= length
    assert (short == name) == (len(name) <= length)
    assert name.startswith(short.split("…")[0])


@given(TERMS, st.integers(20, 60))
def test_terms_are_left_out_as_a_whole_where_the_first_has_room(terms, length):
    short = shorten_group_name(", ".join(terms), length)
    if len(terms[0]) < length and len(", ".join(terms)) > length:
        assert short.removesuffix("…") in [", ".join(terms[:k]) for k in range(1, len(terms))]


def test_the_side_of_a_long_column_stays():
    assert shorten_group_name("flipper_length_mm low", 14) == "flipper_l… low"
    assert shorten_group_name("flipper_length_mm high, body_mass_g high", 14) == "flipper… high…"
