"""Answers that rounding leaves in doubt, settled in exact arithmetic."""
