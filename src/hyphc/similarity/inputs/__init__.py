"""Conversion of user inputs (data frames, mixed types, missing values, AnnData, networkx), and warnings about them."""
