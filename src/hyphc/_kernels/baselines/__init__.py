"""Kernels of bisection and agglomeration."""
