"""A fit from start to end: its plan, weighted leaves, new points."""
