"""How a problem is solved: branch and bound, enumeration of sign patterns, alternating least squares."""
