"""Benchmarks in benchopt's spirit: a file in ``datasets`` or ``methods`` is a member, a neutral referee scores all.

``python -m benchmarks --help`` says how to run a study. Nothing here is installed with the package.
"""
