"""Questions to answer: each module has ``cases(quick)`` and ``page(table)``."""
