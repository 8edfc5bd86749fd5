"""L5: riemtr among its neighbours: pymanopt, both ways, and scikit-learn."""
