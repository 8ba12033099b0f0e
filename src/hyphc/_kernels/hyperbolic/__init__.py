"""Kernels that decode."""
