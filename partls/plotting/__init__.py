"""Pictures of a fitted model, in scikit-learn's manner: ``Display.from_estimator(model, ax=...)`` returns the display.

A display holds what it shows, draws it on ``ax`` (or on a figure of its own, large enough for its lines) and keeps
``ax_`` and ``figure_``. Blue is positive and vermilion negative, which everyone can tell apart.
"""

from partls.plotting.contributions import ContributionsDisplay
from partls.plotting.effects import EffectsDisplay
from partls.plotting.search_progress import SearchProgressDisplay
from partls.plotting.search_tree import SearchTreeDisplay
from partls.plotting.shares import SharesDisplay
from partls.plotting.sign_certainty import SignCertaintyDisplay

__all__ = [
    "ContributionsDisplay",
    "EffectsDisplay",
    "SearchProgressDisplay",
    "SearchTreeDisplay",
    "SharesDisplay",
    "SignCertaintyDisplay",
]
