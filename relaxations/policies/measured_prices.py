"""Seconds measured by ``python -m benchmarks.prices write``: (preparations, bounds) at each number of columns."""

COLUMNS = (20, 40, 80, 160)
MEASURED = {
    "active-set": ((1e-4, 2e-4, 1e-3, 5e-3), (6e-6, 1.5e-5, 4e-5, 1.2e-4)),
    "unconstrained": ((0.01, 0.012, 0.015, 0.02), (4e-3, 5e-3, 1e-2, 3e-2)),
    "perspective": ((0.2, 1.5, 20.0, 150.0), (8e-3, 1.5e-2, 4e-2, 1.5e-1)),
    "shor": ((0.01, 0.02, 0.05, 0.2), (0.05, 0.3, 5.0, 60.0)),
    "strengthened": ((1e-3, 2e-3, 5e-3, 2e-2), (5e-4, 1e-3, 5e-3, 3e-2)),
    "split-dnn": ((0.02, 0.05, 0.2, 1.0), (0.3, 4.0, 60.0, 600.0)),
}
