"""scikit-learn's contract for `HypHC` as it is by default, with all iterations of its embeddings."""

from __future__ import annotations

from hyphc import HypHC
from sklearn.utils.estimator_checks import parametrize_with_checks

from contract import expected_failures


@parametrize_with_checks([HypHC(random_state=0)], expected_failed_checks=expected_failures)
def test_scikit_learns_contract(estimator, check):
    check(estimator)
