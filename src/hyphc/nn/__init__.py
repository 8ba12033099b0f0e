"""HypHC in PyTorch: the clustering loss, the geometry under it, and a classifier trained jointly with it.

Needs the extra ``torch`` (PyTorch and geoopt). Nothing else of the package imports it.
"""

from __future__ import annotations

try:
    import geoopt  # noqa: F401
    import torch  # noqa: F401
except ImportError as error:
    raise ImportError(f"hyphc.nn needs PyTorch and geoopt ({error}); run: pip install hyphc[torch]") from error

from .classifier import HypHCClassifier
from .embedding import MAX_RADIUS, BallEncoder, LeafEmbedding, ToBall
from .geometry import lca_depth, lca_point
from .logistic import HyperbolicLogisticRegression
from .loss import HypHCLoss, block_loss, triplet_loss
from .sampling import BlockSampler, EdgeSampler, PairSampler, TripletSampler

__all__ = [
    "MAX_RADIUS",
    "BallEncoder",
    "BlockSampler",
    "EdgeSampler",
    "HypHCClassifier",
    "HypHCLoss",
    "HyperbolicLogisticRegression",
    "LeafEmbedding",
    "PairSampler",
    "ToBall",
    "TripletSampler",
    "block_loss",
    "lca_depth",
    "lca_point",
    "triplet_loss",
]
