"""Kernels behind ``hyphc.similarity``: an inverted file for nearest neighbours, and the weights of their graph."""
