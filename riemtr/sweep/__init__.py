"""Grids of settings: the same cells whatever runs them, in a store that survives."""
