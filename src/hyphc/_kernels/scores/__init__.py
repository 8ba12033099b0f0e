"""Kernels of scores: split weights, purity, triplets, optimal trees of subsets."""
