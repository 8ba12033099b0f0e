"""Bisecting k-means of Apache Spark, and the cost of a tree above clusters. Needs ``pip install pyspark`` and Java."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from hyphc import Tree, dasgupta_cost
from hyphc.fit.weighted_leaves import grouped
from hyphc.similarity import Features, unit_rows

Labels = npt.NDArray[np.int64]


def bisecting_kmeans(rows: Path, k: int) -> tuple[Labels, Tree]:
    """Clusters of the rows of an NPY file by cosine, and Spark's tree above them; on two threads, as the workers beside it."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyspark.ml.clustering import BisectingKMeans
    from pyspark.ml.functions import array_to_vector
    from pyspark.sql import SparkSession

    X = np.load(rows)
    with tempfile.TemporaryDirectory() as folder:
        values = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), X.shape[1]).cast(pa.list_(pa.float32()))
        pq.write_table(pa.table({"row": pa.array(np.arange(len(X))), "x": values}), f"{folder}/rows.parquet")
        spark = SparkSession.builder.master("local[2]").config("spark.driver.memory", "8g").getOrCreate()
        try:
            table = spark.read.parquet(f"{folder}/rows.parquet")
            table = table.select("row", array_to_vector(table.x.cast("array<double>")).alias("features")).cache()
            method = BisectingKMeans(k=k, distanceMeasure="cosine", seed=0)
            model = method.fit(table)
            found = model.transform(table).select("row", "prediction").toPandas()
            model.write().overwrite().save(f"{folder}/model")
            nodes = pq.read_table(f"{folder}/model/data/data").to_pylist()
        finally:
            spark.stop()
    labels = np.empty(len(X), dtype=np.int64)
    labels[found["row"].to_numpy()] = found["prediction"].to_numpy()
    return _compact(labels, nodes)


def _compact(labels: Labels, nodes: list[dict[str, Any]]) -> tuple[Labels, Tree]:
    """Labels from 0 on and the tree of those that have rows: Spark numbers inner nodes from −1 down."""
    present, labels = np.unique(labels, return_inverse=True)
    number = {int(leaf): at for at, leaf in enumerate(present)}
    children = {int(node["index"]): [int(child) for child in node["children"]] for node in nodes}
    root = (children.keys() - {child for some in children.values() for child in some}).pop()
    merges: list[tuple[int, int]] = []
    waiting = [root]
    order = []
    while waiting:
        order.append(waiting.pop())
        waiting += children[order[-1]]
    for node in reversed(order):  # children before their parents
        ends = [number[child] for child in children[node] if child in number]
        if len(ends) == 2:
            merges.append((ends[0], ends[1]))
            number[node] = len(present) + len(merges) - 1
        elif ends:
            number[node] = ends[0]
    return labels, Tree(np.array(merges))


def cost_above(rows: Path, labels: Labels, tree: Tree) -> float:
    """Dasgupta's cost under cosines of a tree whose leaves are clusters: pairs within one cost its size."""
    similarity = Features(unit_rows(np.load(rows)), offset=0.5, scale=0.5)
    coarse = grouped(similarity, labels)
    sizes = coarse.sizes
    lengths = (np.asarray(coarse.features(), dtype=np.float64) ** 2).sum(axis=1)
    within = 0.25 * sizes * (sizes - 1) + 0.25 * (lengths - sizes)
    return float(dasgupta_cost(tree, coarse) + sizes @ within)
