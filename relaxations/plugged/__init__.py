"""Relaxations made of a function that builds a CVXPY problem: the way for bounds from outside the toolkit."""
