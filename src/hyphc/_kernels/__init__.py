"""Compiled loops: arrays in, arrays out, no options and no errors. The folders mirror those of their callers."""
