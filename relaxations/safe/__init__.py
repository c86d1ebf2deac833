"""Safe bounds: from an approximate dual to a lower bound that holds, by NumPy alone."""
