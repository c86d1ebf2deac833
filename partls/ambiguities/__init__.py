"""What the data cannot tell: signs that are arbitrary, coefficients that are not unique, columns that say nothing."""
