"""Inputs as people have them: data frames, mixed types, missing values, AnnData and networkx, and warnings about them."""
