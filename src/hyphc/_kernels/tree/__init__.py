"""Kernels of trees."""
