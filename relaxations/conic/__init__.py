"""Relaxations solved through CVXPY: the one place that calls a conic solver."""
