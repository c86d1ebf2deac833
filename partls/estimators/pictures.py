"""The pictures of a fitted model, as methods; ``partls.plotting`` has the displays they return."""

from __future__ import annotations

from typing import Any

from partls import plotting


class PictureMixin:
    """One method for each picture; ``ax`` draws on axes that are there, ``output`` names one of several targets."""

    def plot_effects(self, **options: Any) -> plotting.EffectsDisplay:
        """Draw the effect beta of each group."""
        return plotting.EffectsDisplay.from_estimator(self, **options)

    def plot_shares(self, group: str | int, **options: Any) -> plotting.SharesDisplay:
        """Draw the share alpha of each feature of a group."""
        return plotting.SharesDisplay.from_estimator(self, group, **options)

    def plot_contributions(self, X: Any, **options: Any) -> plotting.ContributionsDisplay:
        """Draw what each group adds to one prediction, that of the only row of X."""
        return plotting.ContributionsDisplay.from_estimator(self, X, **options)

    def plot_sign_certainty(self, **options: Any) -> plotting.SignCertaintyDisplay:
        """Draw what flipping the sign of each group costs."""
        return plotting.SignCertaintyDisplay.from_estimator(self, **options)

    def plot_search_progress(self, **options: Any) -> plotting.SearchProgressDisplay:
        """Draw the best objective and the lower bound against time."""
        return plotting.SearchProgressDisplay.from_estimator(self, **options)

    def plot_search_tree(self, **options: Any) -> plotting.SearchTreeDisplay:
        """Draw the search tree, explored again node by node."""
        return plotting.SearchTreeDisplay.from_estimator(self, **options)
