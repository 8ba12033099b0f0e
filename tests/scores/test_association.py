"""Flat clusters against a nuisance column: adjusted mutual information, permutation p-values, and the report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hyphc.cli import main
from hyphc.scores.association import cluster_association
from sklearn.metrics import adjusted_mutual_info_score

RNG = np.random.default_rng(0)
GROUP = np.repeat([0, 1, 2], 20)


def test_a_column_that_is_the_clusters_is_found():
    found = cluster_association(GROUP, np.array(["x", "y", "z"])[GROUP])
    assert found.adjusted_mutual_information == pytest.approx(1)
    assert found.p_value == 0.001
    assert found.is_clear


def test_the_score_is_scikit_learns_and_missing_values_are_left_out():
    column = RNG.integers(0, 4, 60).astype(object)
    clusters = np.where(np.arange(60) < 5, -1, GROUP)
    column[[50, 55]] = None, ""
    kept = (clusters >= 0) & ~np.isin(np.arange(60), [50, 55])
    found = cluster_association(clusters, column)
    expected = adjusted_mutual_info_score(clusters[kept], column[kept].astype(int))
    assert found.adjusted_mutual_information == pytest.approx(expected)
    assert (found.n_rows, found.n_classes) == (53, 4)


def test_p_values_of_independent_columns_are_uniform():
    p = np.array([cluster_association(GROUP, RNG.integers(0, 3, 60), random_state=k).p_value for k in range(60)])
    assert 0.3 < p.mean() < 0.7
    assert (p <= 0.05).mean() < 0.2


@pytest.mark.parametrize(
    ("clusters", "column"), [([0] * 9, ["a"] * 9), ([0] * 9, list("abc") * 3), ([0, 1, 2] * 3, ["a"] * 9)]
)
def test_one_cluster_or_one_class_has_nothing_in_common_with_anything(clusters, column):
    found = cluster_association(clusters, column)
    assert (found.adjusted_mutual_information, found.p_value, found.is_clear) == (0.0, 1.0, False)


def test_counts_are_binned_and_whole_numbers_of_many_rows_are_classes():
    clusters = np.repeat([0, 1], 40)
    counts = np.arange(80) * 17 + 3
    found = cluster_association(clusters, counts)
    assert found.n_classes == 5
    assert found.is_clear
    assert cluster_association(clusters, counts // 170).n_classes == len(np.unique(counts // 170)) == 8


def test_numbers_are_put_into_classes():
    found = cluster_association(GROUP, GROUP + RNG.normal(size=60) / 9)
    assert found.n_classes == 5
    assert found.is_clear


@pytest.mark.parametrize(
    ("column", "reason"), [([1, 2], "shape .* give a value for each row"), ([None] * 60, "choose another column")]
)
def test_columns_that_cannot_be_compared_are_refused(column, reason):
    with pytest.raises(ValueError, match=reason):
        cluster_association(GROUP, column)


@pytest.mark.usefixtures("quick_certificate")
def test_an_annotation_is_not_clustered_by_and_the_report_says_whether_groups_are_batches(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    rows = RNG.normal(size=(60, 2)) + 9 * np.eye(3)[GROUP][:, :2]
    table = pd.DataFrame(rows, columns=["a", "b"]).assign(batch=GROUP + 1, plate=RNG.integers(0, 2, 60))
    table.to_csv("t.csv", index=False)
    assert main(["fit", "t.csv", "--annotate", "batch,plate", "--n-clusters", "3", "--output", "out"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "features a, b (" in printed
    report = Path("out/report.md").read_text()
    assert "| clusters by batch | 1.0000 |" in report
    assert "groups follow this column" in report.split("clusters by batch")[1].splitlines()[0]
    assert "groups follow this column" not in report.split("clusters by plate")[1].splitlines()[0]
