"""Clustering of cells in AnnData objects, with results where scanpy's functions look for them.

``import hyphc.scanpy as hsc``, then ``hsc.tl.hyphc(adata)``, and ``hsc.get.differences(adata)`` for the genes of the groups.
scanpy itself is not imported.
"""

from . import get, tl

__all__ = ["get", "tl"]
