"""Long runs in one process: a million points added, a thousand fits, 32 threads."""
