"""What a bound costs: nominal milliseconds from the size of a problem, so that decisions never read the clock.

Policies that weigh one bound against another must decide alike in every run and on every machine. Only ratios
matter to them, and a factor of two is of no consequence.
"""

from __future__ import annotations

from formulations.instance import Instance
from relaxations.protocol import Relaxation

_COLUMNS = 40
# Measured once: milliseconds of one node at 40 columns, the search's own share of about 1.5 included, and the power of
# the number of columns by which they grow.
_MEASURED = {
    "active-set": (1.5, 1.0),
    "unconstrained": (6.0, 1.0),
    "perspective": (15.0, 1.0),
    "shor": (1000.0, 3.5),
    "strengthened": (5.0, 2.0),
    "split-dnn": (3000.0, 3.5),
}
_UNKNOWN = (10.0, 2.0)


def nominal_work(relaxation: Relaxation, instance: Instance) -> float:
    """Return the milliseconds that one bound is taken to cost: the relaxation's own ``work``, or those measured."""
    own = getattr(relaxation, "work", None)
    if own is not None:
        return float(own(instance))
    milliseconds, power = _MEASURED.get(relaxation.name, _UNKNOWN)
    return float(milliseconds * (max(instance.reduction.n_columns, 1) / _COLUMNS) ** power)
