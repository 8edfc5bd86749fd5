"""Benchmarks: every figure the README states is printed by a script here."""
