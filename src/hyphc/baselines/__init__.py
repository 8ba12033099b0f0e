"""Trees to compare with and to start from: linkages, agglomeration, bisection, random; each a function of a similarity."""

from .agglomerate import graph_agglomeration
from .bisection import bisecting_kmeans
from .linkage import average_linkage, complete_linkage, single_linkage, ward_linkage
from .random import random_tree

__all__ = [
    "average_linkage",
    "bisecting_kmeans",
    "complete_linkage",
    "graph_agglomeration",
    "random_tree",
    "single_linkage",
    "ward_linkage",
]
