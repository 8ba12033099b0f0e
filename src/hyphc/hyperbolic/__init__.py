"""The Poincaré ball: its geometry, and trees to embeddings and back."""
