"""Solvers side by side: the same problems, starts, tolerances, counters and clock for all."""
