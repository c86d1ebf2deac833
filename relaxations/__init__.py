"""What each problem proves: certified lower bounds at a node of the search, behind one protocol."""

from relaxations.active_set import ActiveSetRelaxation
from relaxations.bound import Bound, Bounder, BoundStatus, Relaxation

__all__ = ["ActiveSetRelaxation", "Bound", "BoundStatus", "Bounder", "Relaxation"]
