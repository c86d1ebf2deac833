"""What a model says about itself equals its own definition, solved by brute force over all sign patterns.

Tiny problems of every kind: degenerate tables, weights, both penalties with one eta or one per group, ridge, a
penalised intercept, free columns, signs given beforehand, several targets.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from partls import Instance, PartLSRegressor, PartLSRegressorCV, explain, solve_instance
from partls.estimators.eta_path import EtaPath
from partls.result import Result
from tests.families import FAMILIES
from tests.oracles import brute_force, sign_constrained, unique_optimum
from tests.strategies import Tiny, instances, penalised
from tests.tolerances import same_optimum

CERTAIN = 1e-9  # of ||y||^2: objectives that differ by less may tie, those that differ by more do not

SEEDS = [*range(21), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(21, 420))]  # 21 families


@st.composite
def asked(draw: st.DrawFn) -> tuple[Tiny, tuple[int, ...]]:
    """Return a tiny problem and the signs that are given for its groups."""
    tiny = draw(st.one_of(instances(), penalised()))
    signs = draw(st.lists(st.sampled_from([0, 0, 1, -1]), min_size=tiny.n_groups, max_size=tiny.n_groups))
    return tiny, tuple(signs)


def instance_of(tiny: Tiny) -> Instance:
    return Instance(tiny.X, tiny.y, list(tiny.labels), ungrouped="free", **spelled(tiny.options))


def spelled(options: dict[str, Any]) -> dict[str, Any]:
    """Return options as the toolkit takes them: the intercept's own eta needs a mapping."""
    if "eta_intercept" not in options:
        return options
    eta = dict(enumerate(options["eta"])) | {"(intercept)": options["eta_intercept"]}
    return {name: value for name, value in {**options, "eta": eta}.items() if name != "eta_intercept"}


def regressor(tiny: Tiny, signs: tuple[int, ...] | None, kind=PartLSRegressor, **more):
    given = {**spelled(tiny.options), **more}
    options = {name: value for name, value in given.items() if name != "sample_weight"}
    labels = [None if label < 0 else label for label in tiny.labels]
    return kind(labels, ungrouped="free", signs=signs, **options)


def size_of(tiny: Tiny) -> float:
    return float(np.square(tiny.weighted_y).sum())


def allowed(pattern: tuple[int, ...], signs: tuple[int, ...], freed: int | None = None) -> bool:
    return all(own in (0, sign) or k == freed for k, (own, sign) in enumerate(zip(signs, pattern, strict=True)))


def truth_of(tiny: Tiny) -> dict[tuple[int, ...], float]:
    return brute_force(tiny.X, tiny.y, tiny.labels, **tiny.options).objectives


def check_share(share: float, objective: float, base: float, size: float) -> None:
    """Compare a relative increase with two optima by brute force."""
    if base > 1e-6 * size:
        assert share == pytest.approx(objective / base - 1, rel=1e-6, abs=1e-6)
    elif base <= 1e-24 * size:  # an exact fit: what is worse has no share of it
        assert share == (np.inf if objective > CERTAIN * size else 0.0) or 1e-24 * size < objective <= CERTAIN * size


def check_certainty(tiny: Tiny, signs: tuple[int, ...], result: Result) -> None:
    truth, size = truth_of(tiny), size_of(tiny)
    best = min(value for pattern, value in truth.items() if allowed(pattern, signs))
    report = explain.sign_certainty(result, within=0.2)
    for k, row in enumerate(report.rows):
        flipped = [value for p, value in truth.items() if allowed(p, signs, freed=k) and p[k] == -row.sign]
        expected = min(flipped) if row.sign else best
        assert row.exact
        assert row.flipped_objective == same_optimum(expected, tiny.weighted_y)
        assert row.flipped_beta * row.sign <= 0
        check_share(row.increase, expected, best, size)
    listed = [tie.signs.values for tie in report.near_ties]
    known = {pattern: value for pattern, value in truth.items() if allowed(pattern, signs)}
    assert report.complete and len(listed) == len(set(listed))
    assert {p for p, value in known.items() if value < 1.2 * best - CERTAIN * size} <= set(listed)
    assert set(listed) <= {p for p, value in known.items() if value <= 1.2 * best + CERTAIN * size}
    assert {p for p, value in known.items() if value <= 1e-26 * size} <= set(listed)
    for tie in report.near_ties:
        assert tie.objective == same_optimum(truth[tie.signs.values], tiny.weighted_y)
        check_share(tie.increase, truth[tie.signs.values], best, size)
    assert report.near_ties[0].increase == 0


def check_price(tiny: Tiny, signs: tuple[int, ...], result: Result) -> None:
    options, size, labels = {"labels": tiny.labels, **tiny.options}, size_of(tiny), np.array(tiny.labels)
    report = explain.price_of_constraint(result)
    free = sign_constrained(tiny.X, tiny.y, [0] * len(labels), **options).objective
    assert report.unconstrained == same_optimum(free, tiny.weighted_y)
    check_share(report.price, result.objective, free, size)
    for k, row in enumerate(report.rows):
        best = min(
            sign_constrained(
                tiny.X, tiny.y, np.where(labels == k, 0, np.append(pattern, 0)[labels]), **options
            ).objective
            for pattern in product((1, -1), repeat=tiny.n_groups) if pattern[k] == 1 and allowed(pattern, signs, k)
        )
        assert row.freed_objective == same_optimum(best, tiny.weighted_y)
        gain = result.objective - best
        assert row.gain == pytest.approx(gain, rel=1e-6, abs=1e-9 * size)
        assert row.gain_share == pytest.approx(row.gain / result.objective if row.gain else 0.0)
        assert bool(row.against) <= (row.gain > 0)
        if gain > 1e-6 * size and not signs[k]:  # with a given sign the group itself may turn, none of it opposed
            assert row.against


def check_contributions(tiny: Tiny, model: PartLSRegressor) -> None:
    labels, parts = np.array(tiny.labels), model.contributions(tiny.X)
    groups = [*range(tiny.n_groups), *([-1] if (labels < 0).any() else [])]
    terms = np.array([[sum(row[j] * model.coef_[j] for j in np.flatnonzero(labels == k)) for k in groups]
                      for row in tiny.X])
    size = 1.0 + np.abs(tiny.X * model.coef_).sum()
    np.testing.assert_allclose(parts.values[:, :-1], terms, rtol=0, atol=1e-13 * size)
    np.testing.assert_array_equal(parts.values[:, -1], model.intercept_)
    np.testing.assert_allclose(parts.predictions, model.predict(tiny.X), rtol=0, atol=1e-13 * size)


def check_bootstrap(tiny: Tiny, signs: tuple[int, ...], result: Result, n_resamples: int = 4) -> None:
    n, own = len(tiny.y), tiny.options.get("sample_weight")
    own = np.ones(n) if own is None else own
    stability = explain.bootstrap(result, n_resamples=n_resamples, random_state=5)
    generator = np.random.RandomState(5)
    for betas in stability.betas:
        drawn = np.zeros(n)
        while not drawn.any():
            drawn = generator.multinomial(n, np.full(n, 1 / n)) * own
        again = replace(tiny, options={**tiny.options, "sample_weight": drawn})
        refit = regressor(again, signs).fit(tiny.X, tiny.y, sample_weight=drawn)
        scale = 1.0 + np.abs(refit.coef_).max()
        if not ties_with_other_signs(again, signs, refit.signs_):  # of equally good signs a warm start keeps its own
            np.testing.assert_allclose(betas, refit.beta_, rtol=1e-6, atol=1e-7 * scale)
        truth = unique_optimum(tiny.X, tiny.y, tiny.labels, signs, **again.options)
        if truth is not None:
            labels = np.array(tiny.labels)
            expected = [truth.coef[labels == k].sum() for k in range(tiny.n_groups)]
            np.testing.assert_allclose(betas, expected, rtol=1e-6, atol=1e-6 * scale)


def ties_with_other_signs(tiny: Tiny, signs: tuple[int, ...], found: np.ndarray) -> bool:
    """Return whether a pattern is as good in which a group that has an effect turns."""
    known = {pattern: value for pattern, value in truth_of(tiny).items() if allowed(pattern, signs)}
    best = min(known.values()) + CERTAIN * size_of(tiny)
    return any(value <= best and (np.array(pattern) * found < 0).any() for pattern, value in known.items())


def solved(tiny: Tiny, signs: tuple[int, ...]) -> tuple[PartLSRegressor, Result]:
    """Return the estimator and the plain result, which need not have the same coefficients."""
    model = regressor(tiny, signs).fit(tiny.X, tiny.y, sample_weight=tiny.options.get("sample_weight"))
    return model, solve_instance(instance_of(tiny), signs=signs)


def check(tiny: Tiny, signs: tuple[int, ...], *, resamples: int = 2) -> None:
    model, result = solved(tiny, signs)
    for each in (model.result_, result):
        check_certainty(tiny, signs, each)
        check_price(tiny, signs, each)
    check_contributions(tiny, model)
    check_bootstrap(tiny, signs, model.result_, resamples)


def case(seed: int) -> tuple[Tiny, tuple[int, ...]]:
    """Return a member of some family, made smaller, with options and given signs of its own."""
    rng = np.random.default_rng([61, seed])
    tiny = FAMILIES[sorted(FAMILIES)[seed % len(FAMILIES)]](seed)
    keep = np.sort(rng.permutation(tiny.X.shape[1])[: rng.integers(2, 7)])
    labels = [tiny.labels[j] for j in keep]
    names = {label: k for k, label in enumerate(dict.fromkeys(label for label in labels if label >= 0))}
    labels = [names.get(label, -1) for label in labels] if names else [0] * len(labels)
    if rng.random() < 0.3 and max(labels) > 0:
        labels = [-1 if label == max(labels) else label for label in labels]
    rows = np.sort(rng.permutation(len(tiny.y))[: rng.integers(2, 16)])
    options = {"eta": float(rng.choice([0.0, 0.0, 0.3, 3.0])), "penalty": str(rng.choice(["l2", "l1"])),
               "fit_intercept": bool(rng.random() < 0.8)}
    options["penalize_intercept"] = options["fit_intercept"] and bool(rng.random() < 0.3)
    if rng.random() < 0.5:
        options["ridge"] = float(rng.choice([0.01, 0.5, 4.0]))
    if rng.random() < 0.5:
        options["eta"] = rng.choice([0.0, 0.3, 3.0], max(labels) + 1).tolist()
        if options["penalize_intercept"]:
            options["eta_intercept"] = float(rng.choice([0.0, 0.3, 3.0]))
    if rng.random() < 0.4:
        options["sample_weight"] = rng.choice([0.0, 0.5, 1.0, 3.0], len(rows), p=[0.1, 0.3, 0.3, 0.3])
        options["sample_weight"][:4] += 0.5  # a fold without weight is no fold
    signs = tuple(rng.choice([0, 1, -1], max(labels) + 1, p=[0.5, 0.25, 0.25]).tolist())
    return Tiny(tiny.X[np.ix_(rows, keep)], tiny.y[rows], tuple(labels), options), signs



ETAS, RIDGES = (3.0, 0.4, 0.0), (1.5, 0.0)


def at(tiny: Tiny, eta: float, ridge: float, **more) -> Tiny:
    """Return the problem with one eta for all groups."""
    options = {name: value for name, value in tiny.options.items() if name != "eta_intercept"}
    return replace(tiny, options={**options, "eta": eta, "ridge": ridge, **more})


def check_path(tiny: Tiny, signs: tuple[int, ...]) -> None:
    """Along the path, every problem has the optimum of its own eta and ridge, in the units of the data."""
    path, found = EtaPath(instance_of(tiny)), None
    for ridge, eta in product(RIDGES, ETAS):
        found = path.solve(eta, found, signs, ridge=ridge)
        at_eta = at(tiny, eta, ridge)
        best = min(value for p, value in truth_of(at_eta).items() if allowed(p, signs))
        assert found.objective == same_optimum(best, tiny.weighted_y)
        assert instance_of(at_eta).objective(found.coef, found.intercept) == same_optimum(best, tiny.weighted_y)
        fresh = solve_instance(instance_of(at_eta), signs=signs)
        assert found.objective == same_optimum(fresh.objective, tiny.weighted_y)
        for k, sign in enumerate(signs):
            members = found.coef[np.array(tiny.labels) == k]
            assert (members * (sign or np.sign(members.sum())) >= 0).all()


def check_cross_validation(tiny: Tiny, signs: tuple[int, ...]) -> None:
    """Errors on held-out rows are those of the models of the training rows, by brute force where these are unique."""
    if len(tiny.y) < 4:
        return
    Y = np.column_stack([tiny.y, tiny.y[::-1]])
    own = tiny.options.get("sample_weight")
    weights = np.ones(len(Y)) if own is None else own
    half = np.arange(len(Y)) % 2 == 0
    if not (weights[half].any() and weights[~half].any()):
        return  # nothing to learn from: refused
    folds = [(np.flatnonzero(half), np.flatnonzero(~half)), (np.flatnonzero(~half), np.flatnonzero(half))]
    model = regressor(at(tiny, 0.0, 0.0), signs, chosen, etas=ETAS, ridges=RIDGES, cv=folds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the best may be the largest
        model.fit(tiny.X, Y, sample_weight=own)
    shares = [weights[test].sum() for _, test in folds]
    assert (model.etas_.tolist(), model.ridges_.tolist()) == (list(ETAS), list(RIDGES))
    for f, (train, test) in enumerate(folds):
        for (e, eta), (r, ridge) in product(enumerate(ETAS), enumerate(RIDGES)):
            options = at(tiny, eta, ridge, sample_weight=weights[train]).options
            found = [unique_optimum(tiny.X[train], y[train], tiny.labels, signs, **options) for y in Y.T]
            if None in found:
                continue
            errors = [
                np.average(np.square(y[test] - tiny.X[test] @ one.coef - one.intercept), weights=weights[test])
                for y, one in zip(Y.T, found, strict=True)
            ]
            assert model.mse_path_[e, r, f] == pytest.approx(np.mean(errors), rel=1e-6, abs=1e-9 * np.square(Y).max())
    means = np.average(model.mse_path_, axis=2, weights=shares)
    e, r = np.unravel_index(int(np.argmin(means)), means.shape)
    assert (model.eta_, model.ridge_) == (ETAS[e], RIDGES[r])


def chosen(groups, *, eta: float, ridge: float, **options) -> PartLSRegressorCV:
    return PartLSRegressorCV(groups, **options)


LAWS = {"explanations": check, "path": check_path, "cross-validation": check_cross_validation}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("seed", SEEDS)
def test_seeded_problems(law, seed):
    LAWS[law](*case(seed))


@pytest.mark.parametrize("law", LAWS)
def test_degenerate_problems(law):
    @settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
    @given(asked())
    def holds(problem):
        LAWS[law](*problem)

    holds()


def test_several_targets_are_explained_one_by_one():
    tiny, _ = case(5)
    Y, signs = np.column_stack([tiny.y, -tiny.y, tiny.y[::-1]]), (1,) + (0,) * (tiny.n_groups - 1)
    model = regressor(tiny, signs).fit(tiny.X, Y, sample_weight=tiny.options.get("sample_weight"))
    for k, target in enumerate(Y.T):
        alone = replace(tiny, y=target)
        check_certainty(alone, signs, model.result_[k])
        check_price(alone, signs, model.result_[k])
        one, _ = solved(alone, signs)
        assert model.sign_certainty(output=k) == one.sign_certainty()
        assert model.price_of_constraint(output=k) == one.price_of_constraint()
        np.testing.assert_array_equal(model.bootstrap(3, random_state=1, output=k).betas,
                                      one.bootstrap(3, random_state=1).betas)
        np.testing.assert_array_equal(model.contributions(tiny.X, output=k).values, one.contributions(tiny.X).values)


def test_a_given_sign_is_no_part_of_the_price_of_another_group():
    """Freed, one group keeps the wrong sign imposed on the other: the seed's price differs with and without it."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 4))
    tiny = Tiny(X, X @ [1.0, -0.5, 2.0, 1.0] + rng.normal(size=30), (0, 0, 1, 1))
    signs = (0, -1)
    model, result = solved(tiny, signs)
    check_price(tiny, signs, result)
    freed = model.price_of_constraint().rows[0].freed_objective
    forgotten = explain.price_of_constraint(replace(result, given_signs=None)).rows[0].freed_objective
    assert freed > 1.5 * forgotten
