"""The answer of a search solved again, and settled in exact arithmetic where rounding leaves it in doubt."""
