"""Multipliers of products of known sign, by a primal-dual interior-point method: the Shor bound without a modeller."""
