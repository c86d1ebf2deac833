"""Tell scikit-learn's callbacks, where the installed version has them (1.9 and later), how a fit proceeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from partls.result import PROVEN, Result
from partls.runtime.progress import SearchProgress, SearchState

__all__ = ["CallbackSupport", "FitReporter", "with_callbacks"]

Method = TypeVar("Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks
except ImportError:

    class CallbackSupport:  # type: ignore[no-redef]
        """Nothing: this version of scikit-learn has no callbacks."""

    def with_callbacks(method: Method) -> Method:
        """Return the method as it is."""
        return method


class FitReporter:
    """The observer of one fit: records each round, shows a live line if asked, and runs the callbacks.

    A round of the search is one subtask. A callback may ask to stop, and the search then ends as by Ctrl-C.
    """

    def __init__(self, estimator: Any, X: Any, y: Any) -> None:
        self.histories: list[tuple[SearchState, ...]] = []  # one for each target
        self._rounds: list[SearchState] = []
        self._estimator, self._data = estimator, {"X": X, "y": y}
        units = {"done": "starts", "left": "to go"} if estimator.method == "alternating" else {}
        self._line = SearchProgress(bool(estimator.verbose), **units)
        self._context = None
        if getattr(estimator, "_skl_callbacks", None):
            self._context = estimator._init_callback_context(max_subtasks=None)

    def __enter__(self) -> FitReporter:
        """Begin the fit."""
        self._line.__enter__()
        if self._context is not None:
            self._context.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        """End the fit."""
        if self.histories:
            last = self.histories[-1][-1]
            self._line.finish(last.nodes, last.n_open, last.objective, last.lower_bound)
        self._line.__exit__(kind, error, trace)
        if self._context is not None and error is None:
            fitted = {"coef_": self._estimator.coef_, "intercept_": self._estimator.intercept_}
            self._context.call_on_fit_task_end(
                estimator=self._estimator, **self._data, reconstruction_attributes=fitted
            )

    @property
    def can_begin_anew(self) -> bool:
        """Whether nobody else sees the rounds of a search that is given up."""
        return self._context is None

    def begin(self) -> None:
        """Forget the rounds of a search that was given up: it begins, or begins anew."""
        self._rounds = []

    def __call__(self, state: SearchState) -> bool:
        """Take note of a round; return whether a callback asks to stop."""
        self._rounds.append(state)
        self._line.update(state.nodes, state.n_open, state.objective, state.lower_bound)
        if self._context is None:
            return False
        task = self._context.subcontext("round of the search")
        task.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        return bool(task.call_on_fit_task_end(estimator=self._estimator, **self._data))

    def end_target(self, result: Result) -> None:
        """Close the history of one target with its result."""
        n_open = self._rounds[-1].n_open if self._rounds and result.status not in PROVEN else 0
        last = SearchState(result.n_nodes, n_open, result.objective, result.lower_bound, result.seconds)
        self.histories.append((*self._rounds, last))
        self._rounds = []
