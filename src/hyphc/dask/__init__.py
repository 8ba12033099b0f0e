"""HypHC beyond one machine, on Dask: workers read rows block by block, and the tree is the same for any number of workers.

Needs the extra ``dask`` (dask, distributed, pyarrow, zarr). Nothing else of the package imports it.
"""

from __future__ import annotations

try:
    import dask.array  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(f"hyphc.dask needs Dask ({error}); run: pip install 'hyphc[dask]'") from error

from .estimator import DaskHypHC

__all__ = ["DaskHypHC"]
