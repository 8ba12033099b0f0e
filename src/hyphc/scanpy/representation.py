"""What of an AnnData object is clustered: a graph of neighbours, an embedding, or the matrix."""

from __future__ import annotations

from typing import Any

from ..similarity.inputs.foreign_inputs import annotated_rows, preferred_embedding


def find_rows(adata: Any, use_rep: str | None) -> tuple[Any, str]:
    """Return the rows of an embedding, or of X, and their name; without ``use_rep``, X_pca if there is one, else X."""
    name = (preferred_embedding(adata) or "X") if use_rep is None else use_rep
    if name == "X":
        return annotated_rows(adata, None), name
    if name not in adata.obsm:
        keys = ", ".join(map(repr, adata.obsm)) or "none"
        raise ValueError(f"use_rep={name!r} is no embedding in obsm; choose 'X' or one of these: {keys}.")
    return annotated_rows(adata, name), name


def find_graph(adata: Any, neighbors_key: str | None, obsp: str | None) -> tuple[Any, str]:
    """Return a graph of ``obsp`` and its key; that of ``neighbors_key`` is its connectivities."""
    if obsp is None:
        if neighbors_key not in adata.uns:
            keys = [key for key, value in adata.uns.items() if hasattr(value, "get") and "connectivities_key" in value]
            found = f"uns has {', '.join(map(repr, keys))}" if keys else "run scanpy.pp.neighbors first"
            raise ValueError(f"neighbors_key={neighbors_key!r} is not in uns; {found}.")
        obsp = str(adata.uns[neighbors_key].get("connectivities_key", "connectivities"))
    if obsp not in adata.obsp:
        keys = list(adata.obsp)
        raise ValueError(
            f"obsp has no {obsp!r}; it has {', '.join(map(repr, keys)) or 'nothing: run scanpy.pp.neighbors'}."
        )
    return adata.obsp[obsp], obsp
