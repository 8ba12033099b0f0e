"""One fit in memory, from start to end: its plan, weighted leaves, constraints, new points, checkpoints."""
