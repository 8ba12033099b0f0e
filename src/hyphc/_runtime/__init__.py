"""Helpers of all folders: validation, atomic writes, threads, array types, run control, storage, compilation."""
