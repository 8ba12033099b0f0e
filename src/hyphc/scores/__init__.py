"""How good a tree is: exact scores, bounds, certificates."""
