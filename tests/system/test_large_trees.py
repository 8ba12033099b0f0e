"""Trees of a million leaves, each below the other, survive text formats: nothing recurses, and nothing takes n² time."""

from __future__ import annotations

import pytest
from hyphc import Tree

from strategies import chain


@pytest.fixture(scope="module")
def deep():
    return chain(1_000_000)


def test_a_chain_of_a_million_leaves_survives_newick(deep):
    assert Tree.from_newick(deep.to_newick()) == deep


def test_a_chain_of_a_million_leaves_survives_json(deep):
    assert Tree.from_json(deep.to_json()) == deep
