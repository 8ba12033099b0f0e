"""Kernels of trees: passes, common ancestors, orders."""
