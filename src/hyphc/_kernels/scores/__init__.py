"""Kernels of scores."""
