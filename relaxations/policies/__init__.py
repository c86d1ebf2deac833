"""Policies: relaxations that choose another relaxation at each node."""
