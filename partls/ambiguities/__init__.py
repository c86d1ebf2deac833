"""What the data do not determine: arbitrary signs, coefficients that are not unique, columns without effect."""
