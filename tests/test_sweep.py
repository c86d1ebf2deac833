"""Sweeps over many instances: true numbers with their factors, limits, resuming from checked files, profiles, plots."""

from __future__ import annotations

import json
from collections import namedtuple
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import inf, isnan, nan
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

import partls
from formulations import Instance, InvalidInput, random_instance
from relaxations import BoundStatus, ShorRelaxation, UnconstrainedRelaxation, compare, sweep
from relaxations.comparison.performance_profile import performance_profile
from relaxations.comparison.sweep_rows import SweepRow, factors_of
from relaxations.comparison.sweep_unit import definition_of, digest_of
from tests.test_plugging import Faulty

mpl.use("Agg")

GRID = {"M": [6, 12], "correlation": [0.0, 0.9], "eta": [0.0, 1.0]}
CHEAP = ["active-set", "strengthened"]
small = partial(random_instance, group_size=3)


def made(**options: Any) -> Any:
    return sweep(small, CHEAP, grid=GRID, **options)


# The instances


def test_random_instances_are_what_they_are_said_to_be() -> None:
    instance = random_instance(40, 0.8, 2.0, group_size=7, rows_per_column=200, seed=3)
    assert (instance.n_rows, instance.n_columns, instance.n_groups, instance.eta) == (8000, 40, 6, 2.0)
    seen = np.corrcoef(instance.X.T)
    wanted = 0.8 ** np.abs(np.subtract.outer(range(40), range(40)))
    np.testing.assert_allclose(seen, wanted, atol=0.06)
    assert digest_of(instance) == digest_of(random_instance(40, 0.8, 2.0, group_size=7, rows_per_column=200, seed=3))
    others = [random_instance(40, 0.8, 2.0, group_size=7, rows_per_column=200, seed=4),
              random_instance(40, 0.8, 1.0, group_size=7, rows_per_column=200, seed=3),
              random_instance(40, 0.8, 2.0, group_size=8, rows_per_column=200, seed=3)]
    assert len({digest_of(other) for other in [instance, *others]}) == 4


@pytest.mark.parametrize(("options", "told"), [
    ({"M": 0}, "M=0 must be a whole number"), ({"group_size": 2.5}, "group_size=2.5"),
    ({"correlation": 1.0}, "correlation=1.0 must be at least 0 and below 1"),
    ({"rows_per_column": 0}, "rows_per_column=0"),
])
def test_impossible_instances_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        random_instance(**options)


# The numbers


def test_every_row_is_that_of_compare() -> None:
    found = made()
    assert [dict(row.factors) for row in found.rows[::2]] == [
        dict(zip(GRID, values, strict=True)) for values in product(*GRID.values())
    ]
    for row in found.rows:
        factors = dict(row.factors)
        comparison = compare(small(**factors), relaxations=[row.relaxation])
        (alone,) = comparison.rows
        assert (row.bound, row.floor, row.reference) == (alone.bound, comparison.floor, comparison.optimum)
        assert row.gap_closed == pytest.approx(alone.gap_closed, abs=1e-12)
        assert (row.status, row.note, row.measured_against) == ("optimal", "", "optimum, every pattern solved")
        assert row.reference == pytest.approx(partls.solve_instance(small(**factors)).objective, rel=1e-9)
    assert found.ended == ""


def test_the_frame_is_tidy() -> None:
    found = made()
    frame = found.to_pandas()
    assert len(frame) == 16
    assert list(frame.columns[:4]) == ["M", "correlation", "eta", "relaxation"]
    assert {"bound", "gap_closed", "seconds", "prepare_seconds", "total_seconds", "status"} <= set(frame.columns)
    means = frame[frame.eta == 1.0].groupby("relaxation")["gap_closed"].mean()
    assert means["strengthened"] > means["active-set"]
    assert "correlation" in str(found.table("correlation", "M")) and "0.9" in str(found.table("correlation"))
    for row in found.table("M").rows:
        here = frame[(dict(row.factors)["M"] == frame.M) & (frame.relaxation == row.relaxation)]
        assert row.median_closed == pytest.approx(here["gap_closed"].median())
        assert row.median_seconds == here["seconds"].median()
        assert (row.instances, row.failed, row.not_run) == (4, 0, 0)
    assert "gap measured against: optimum, every pattern solved (8)" in " ".join(str(found).split())
    assert found._repr_html_().count("<tr>") == 3


def test_keys_of_any_form_become_columns() -> None:
    instance = small(6)
    point = namedtuple("Point", "M eta")(6, 0.5)
    assert sweep({"plain": instance}, CHEAP).factors == ("instance",)
    assert sweep({(6, 0.5): instance}, CHEAP, factors=["M", "eta"]).factors == ("M", "eta")
    assert sweep({(6, 0.5): instance}, CHEAP).factors == ("factor 1", "factor 2")
    assert dict(sweep({point: instance}, CHEAP).rows[0].factors) == {"M": 6, "eta": 0.5}
    assert dict(sweep([({"M": np.int64(6)}, instance)], CHEAP).rows[0].factors) == {"M": 6}

    def generated() -> Iterator[tuple[dict[str, int], Any]]:
        for seed in range(3):
            yield {"seed": seed}, partial(small, 6, seed=seed)

    assert [dict(row.factors)["seed"] for row in sweep(generated(), ["active-set"]).rows] == [0, 1, 2]


def test_the_optimum_may_be_given_by_key_or_by_a_function() -> None:
    by_function = made(optimum=partls.solve_instance)
    assert {row.measured_against for row in by_function.rows} == {"optimum, from the search"}
    instances = {seed: small(9, seed=seed) for seed in range(2)}
    optima = {seed: partls.solve_instance(instance).objective for seed, instance in instances.items()}
    by_key = sweep(instances, CHEAP, incumbent=optima)
    assert {row.reference for row in by_key.rows} == set(optima.values())
    assert {row.measured_against for row in by_key.rows} == {"best known solution, given"}


def test_failures_and_estimates_are_rows_that_say_so() -> None:
    def cannot() -> Instance:
        raise ZeroDivisionError("no rows")

    members = {"failed": Faulty(lambda b, s: replace(b, value=nan), "nan"),
               "guess": Faulty(lambda b, s: replace(b, value=-inf), "guess"), "cheap": "active-set"}
    found = sweep({"good": small(9), "bad": cannot}, members)
    failed, guess, cheap, *bad = found.rows
    assert (failed.status, failed.note, failed.gap_closed) == (BoundStatus.FAILED.value, "not a number", 0.0)
    assert guess.is_unproven and guess.estimate_closed == pytest.approx(0.0, abs=1e-9)
    assert cheap.status == "optimal"
    assert {row.note for row in bad} == {"instance: ZeroDivisionError: no rows"}
    assert "unproven" in str(found)
    assert found.plot() is not None


# Limits and processes


def test_several_processes_find_the_same() -> None:
    one, two = made(), made(n_jobs=2)
    assert [(row.factors, row.relaxation) for row in one.rows] == [(row.factors, row.relaxation) for row in two.rows]
    for mine, theirs in zip(one.rows, two.rows, strict=True):
        assert theirs.bound == pytest.approx(mine.bound, rel=1e-12)
        assert theirs.reference == pytest.approx(mine.reference, rel=1e-12)


@dataclass(frozen=True)
class Hanging:
    name: str = "hanging"

    def prepare(self, instance: Instance) -> Any:
        import threading

        threading.Event().wait(30)


def test_a_bound_that_hangs_costs_its_limit_and_no_other() -> None:
    found = sweep(small, [Hanging(), "active-set"], grid={"M": [6, 9]}, bound_time_limit=0.2)
    assert [(row.status, row.note) for row in found.rows[::2]] == [("failed", "time limit")] * 2
    assert [row.status for row in found.rows[1::2]] == ["optimal"] * 2
    assert found.ended == ""


def test_what_the_whole_limit_leaves_is_not_run_and_not_kept(tmp_path: Path) -> None:
    file = tmp_path / "sweep.jsonl"
    cut = sweep(small, [Hanging(), "active-set"], grid={"M": [6, 9]}, time_limit=0.3, resume=file)
    assert cut.ended == "time limit"
    assert {row.status for row in cut.rows} == {"not run"}
    assert all(isnan(row.gap_closed) for row in cut.rows)
    assert not file.exists()
    assert "Ended early: time limit" in " ".join(str(cut).split())


def test_ctrl_c_returns_what_there_is_and_the_file_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "sweep.jsonl"

    def pressing(done: int, total: int | None, rows: Any) -> None:
        assert total == 8
        if done == 3:
            raise KeyboardInterrupt

    cut = made(resume=file, progress=pressing)
    assert (len(cut.rows), cut.ended) == (6, "interrupted")
    seen: list[int] = []
    whole = made(resume=file, progress=lambda done, total, rows: seen.append(len(rows)))
    assert seen == [0, 0, 0, 2, 2, 2, 2, 2]
    assert whole.rows[:6] == cut.rows
    assert len(whole.rows) == 16


# Files


def test_a_file_is_resumed_and_grows(tmp_path: Path) -> None:
    file = tmp_path / "sweep.jsonl"
    first = made(resume=file)
    assert len(file.read_text().splitlines()) == 17
    assert made(resume=file).rows == first.rows  # times too: nothing is measured again
    more = sweep(small, [*CHEAP, "unconstrained"], grid=GRID, resume=file)
    assert [row for row in more.rows if row.relaxation in CHEAP] == list(first.rows)
    assert len(file.read_text().splitlines()) == 25
    assert list(tmp_path.iterdir()) == [file]


def test_the_best_reference_of_all_runs_counts(tmp_path: Path) -> None:
    file, instance = tmp_path / "sweep.jsonl", small(9)
    sweep({"a": instance}, ["active-set"], incumbent={"a": 1e3}, resume=file)
    optimum = partls.solve_instance(instance).objective
    both = sweep({"a": instance}, CHEAP, optimum={"a": optimum}, resume=file)
    assert {row.reference for row in both.rows} == {optimum}
    assert {row.measured_against for row in both.rows} == {"optimum, given"}


def spoilt(lines: list[str], change: str) -> list[str]:
    row = json.loads(lines[2])
    match change:
        case "not JSON":
            lines[2] = lines[2][:40]
        case "a field too few":
            row.pop("bound")
            lines[2] = json.dumps(row)
        case "a word for a number":
            lines[2] = json.dumps({**row, "bound": "much"})
        case "twice":
            lines[2] = lines[1]
        case "no header":
            lines.pop(0)
        case "duplicate keys":
            lines[2] = lines[2][:-1] + ', "bound": 1.0}'
        case "a list":
            lines[2] = "[1, 2]"
    return lines


@pytest.mark.parametrize(("change", "told"), [
    ("not JSON", "line 3 is not JSON: remove these lines"), ("a field too few", "line 3 lacks or does not know bound"),
    ("a word for a number", "line 3 holds 'much' where there should be a float"),
    ("twice", "line 3 repeats line 2"), ("no header", r"is not a file of a sweep \(line 1\)"),
    ("duplicate keys", "line 3 has duplicate keys"), ("a list", "line 3 is no row of a sweep"),
])
def test_a_bad_line_is_named_and_nothing_is_lost(tmp_path: Path, change: str, told: str) -> None:
    file = tmp_path / "sweep.jsonl"
    made(resume=file)
    file.write_text("\n".join(spoilt(file.read_text().splitlines(), change)) + "\n")
    before = file.read_bytes()
    with pytest.raises(InvalidInput, match=told) as refusal:
        made(resume=file)
    assert "\n" not in str(refusal.value)
    assert file.read_bytes() == before


def test_rows_of_another_instance_or_relaxation_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "sweep.jsonl"
    sweep({"a": small(9)}, {"bound": "shor"}, resume=file)
    with pytest.raises(InvalidInput, match=r"the instance instance=a is not the one that the file has 'bound' of"):
        sweep({"a": small(9, seed=1)}, {"bound": "shor"}, resume=file)
    with pytest.raises(InvalidInput, match=r"line 2: 'bound' was ShorRelaxation\(cuts=True.* and is .*cuts=False"):
        sweep({"a": small(9)}, {"bound": ShorRelaxation(cuts=False)}, resume=file)
    with pytest.raises(InvalidInput, match="cannot be written"):
        sweep({"a": small(9)}, CHEAP, resume=tmp_path / "missing" / "sweep.jsonl")


def test_a_write_that_fails_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "sweep.jsonl"
    sweep({"a": small(9)}, CHEAP, resume=file)
    before = file.read_bytes()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        sweep({"a": small(9), "b": small(6)}, CHEAP, resume=file)
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("row", [
    SweepRow((("M", 3), ("name", "x"), ("on", True)), "shor"),
    SweepRow((("a", None),), "b", bound=-inf, seconds=0.1, tie=True),
])
def test_a_row_survives_its_line(row: SweepRow) -> None:
    again = SweepRow.of(json.loads(json.dumps(row.document(), allow_nan=False)))
    assert repr(again) == repr(row)  # NaN is not equal to itself


def test_definitions_tell_options_and_no_addresses() -> None:
    assert "SCS" in definition_of(UnconstrainedRelaxation(solvers=("SCS",)))
    assert definition_of(Faulty(lambda b, s: b, "own")) == "own"


# Profiles and plots


def test_the_profile_is_that_of_the_definition() -> None:
    """Dolan and Moré (2002): rho_s(tau) is the share of the problems with r_ps <= tau."""
    times = {"a": [1.0, 2.0, inf, 4.0], "b": [2.0, 1.0, inf, inf], "c": [4.0, 8.0, inf, 4.0]}
    profile = performance_profile(times, 0.9)
    expected = {"a": {1: 0.5, 2: 0.75, inf: 0.75}, "b": {1: 0.25, 2: 0.5, inf: 0.5}, "c": {1: 0.25, 4: 0.5, 8: 0.75}}
    for label, shares in expected.items():
        for tau, share in shares.items():
            assert profile.at(label, tau) == share
    ax = profile.plot()
    assert ax.get_xscale() == "log"
    for line, label in zip(ax.lines, times, strict=True):
        assert line.get_label() == label
        assert list(line.get_ydata()) == [profile.at(label, tau) for tau in line.get_xdata()]
    mpl.pyplot.close("all")


def test_the_profile_of_a_sweep_counts_preparation_and_the_target() -> None:
    rows = [SweepRow((("i", i),), name, bound, bound, 0.0, 1.0, True, "", False, seconds, prepare, "optimal")
            for i in range(2) for name, bound, seconds, prepare in (("fast", 0.9, 1.0, 0.0), ("sure", 1.0, 1.0, 3.0))]
    from relaxations import Sweep

    found = Sweep.of(rows, "")
    easy, hard = found.profile(0.8), found.profile(0.95)
    assert (easy.at("fast", 1), easy.at("sure", 1), easy.at("sure", 4)) == (1.0, 0.0, 1.0)
    assert (hard.at("fast", 100), hard.at("sure", 1)) == (0.0, 1.0)
    with pytest.raises(InvalidInput, match="target=2 must be a share"):
        found.profile(2)


@pytest.mark.parametrize("value", ["gap_closed", "seconds", "total_seconds"])
def test_the_plot_has_a_panel_for_each_value_and_no_text_over_another(value: str) -> None:
    found = made()
    figure = found.plot("M", columns="correlation", rows="eta", value=value)
    figure.canvas.draw()
    axes = [ax for ax in figure.axes]
    assert [ax.get_title() for ax in axes] == [
        f"eta = {eta}, correlation = {corr}" for eta in GRID["eta"] for corr in GRID["correlation"]
    ]
    frame = found.to_pandas()
    for ax in axes:
        eta, corr = (float(part.split(" = ")[1]) for part in ax.get_title().split(", "))
        lines = {line.get_label(): line for line in ax.lines if line.get_label() in CHEAP}
        assert set(lines) == set(CHEAP)
        for label, line in lines.items():
            here = frame[(frame.eta == eta) & (frame.correlation == corr) & (frame.relaxation == label)]
            assert list(line.get_xdata()) == list(here["M"])
            np.testing.assert_allclose(line.get_ydata(), here[value])
    boxes = [ax.title.get_window_extent() for ax in axes] + [figure.legends[0].get_window_extent()]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])
    mpl.pyplot.close("all")


# What cannot be meant


@pytest.mark.parametrize(("call", "told"), [
    (lambda: sweep(small, CHEAP), "grid: give the values of each argument"),
    (lambda: sweep({"a": small(6)}, CHEAP, grid=GRID), "grid is for a function"),
    (lambda: sweep([small(6)], CHEAP), "instances: Instance is not a pair of a key and an instance"),
    (lambda: sweep([("a", small(6)), ("a", small(9))], CHEAP), "is given twice"),
    (lambda: sweep([({"M": 6}, small(6)), ({"N": 9}, small(9))], CHEAP), "has other factors than"),
    (lambda: sweep({"a": 3}, CHEAP), "instance instance=a is int: give a formulations.Instance"),
    (lambda: sweep({(1, 2): small(6)}, CHEAP, factors=["M"]), r"has 2 value\(s\) but factors names 1"),
    (lambda: sweep([({"bound": 1}, small(6))], CHEAP), "factor 'bound': a factor needs a name"),
    (lambda: sweep([({"M": [1]}, small(6))], CHEAP), r"factor 'M' is \[1\]: give a number or text"),
    (lambda: sweep({"a": small(6)}, ["shorr"]), 'did you mean "shor"'),
    (lambda: sweep({"a": small(6)}, CHEAP, n_jobs=0), "n_jobs=0 must be a whole number"),
    (lambda: sweep({"a": small(6)}, CHEAP, time_limit=-1), "time_limit=-1 must be None or a number"),
    (lambda: sweep({"a": small(6)}, CHEAP, bound_time_limit="1"), "bound_time_limit='1'"),
    (lambda: sweep({"a": small(6)}, CHEAP, optimum=3.0), "3.0 is neither a mapping from keys nor a function"),
    (lambda: sweep({"a": small(6)}, CHEAP).plot("M"), r"'M' is not one of the factors \['instance'\]"),
    (lambda: sweep({"a": small(6)}, CHEAP).plot(value="gap"), "value='gap' is not one of"),
    (lambda: factors_of({3: 1}, None), "factor 3: a factor needs a name"),
])
def test_what_cannot_be_meant_is_refused_in_one_line(call: Any, told: str) -> None:
    with pytest.raises(InvalidInput, match=told) as refusal:
        call()
    assert "\n" not in str(refusal.value)
