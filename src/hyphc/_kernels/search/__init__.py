"""Kernels of the tree search: prune and regraft."""
