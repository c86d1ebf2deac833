"""Presolve: what can be settled about a problem before the search. One rule a file, with its proof."""
