"""What results show in a notebook, and what an interactive session lists."""

from __future__ import annotations

import numpy as np
import pytest

import partls
import relaxations
from partls import plotting

GROUPS = {"a<b": [0, 1], "c": [2, 3]}


@pytest.fixture(scope="module")
def model() -> partls.PartLSRegressor:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    return partls.PartLSRegressor(GROUPS).fit(X, X @ [1.0, 2.0, -1.0, 0.5] + rng.normal(size=30))


def test_results_show_their_tables_in_a_notebook(model: partls.PartLSRegressor) -> None:
    X = np.eye(4)
    shown = (
        model.result_, model.summary(), model.sign_certainty(), model.price_of_constraint(), model.contributions(X),
        model.bootstrap(n_resamples=3, random_state=0),
        relaxations.compare(model.result_.instance, relaxations=["shor"]),
    )
    for result in shown:
        page = result._repr_html_()
        assert page.count("<") == page.count(">")
        assert "<pre" in page or "<table" in page
        assert "a<b" not in page
    assert "a&lt;b" in model.summary()._repr_html_()


def test_contributions_print_as_a_table(model: partls.PartLSRegressor) -> None:
    few, many = str(model.contributions(np.eye(4))), str(model.contributions(np.ones((50, 4))))
    assert few.splitlines()[0].split() == ["row", "a<b", "c", "(intercept)", "prediction"]
    assert [line.split()[0] for line in few.splitlines()[2:-1]] == ["0", "1", "2", "3"]
    assert [line.split()[0] for line in many.splitlines()[2:-1]] == [*"01234", "(40", "45", "46", "47", "48", "49"]
    last = [float(figure) for figure in many.splitlines()[-2].split()[1:]]
    assert sum(last[:-1]) == pytest.approx(last[-1], rel=1e-4)


def test_pictures_are_methods_of_the_model(model: partls.PartLSRegressor) -> None:
    drawn = {
        plotting.EffectsDisplay: model.plot_effects(), plotting.SharesDisplay: model.plot_shares("c"),
        plotting.ContributionsDisplay: model.plot_contributions(np.ones((1, 4))),
        plotting.SignCertaintyDisplay: model.plot_sign_certainty(),
        plotting.SearchProgressDisplay: model.plot_search_progress(),
        plotting.SearchTreeDisplay: model.plot_search_tree(node_limit=10),
    }
    assert {type(display) for display in drawn.values()} == {getattr(plotting, name) for name in plotting.__all__}
    assert all(isinstance(display, kind) for kind, display in drawn.items())


def test_an_interactive_session_lists_the_public_names_only() -> None:
    assert dir(partls) == sorted([*partls.__all__, "__version__"])
