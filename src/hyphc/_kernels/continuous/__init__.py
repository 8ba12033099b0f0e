"""Kernels of the continuous objective and of its optimisation."""
