"""k-nearest-neighbour search, exact and approximate, and the weighted graphs made of it."""
