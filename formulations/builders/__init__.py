"""One CVXPY problem a file: from an ``Instance``, and the signs of a node, to a ``Model``."""
