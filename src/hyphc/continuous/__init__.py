"""The paper's method: the continuous cost, and its descent from a start to an embedding."""
