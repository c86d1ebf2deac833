"""The command line on real files: what it prints, how it ends, what it leaves behind."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
import threading
import tomllib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes
from typer.testing import CliRunner, Result

import partls
from formulations.equivalence import from_coef
from partls import demo
from partls.cli import app, group_drafts
from partls.result import Status
from tests.oracles import brute_force
from tests.test_limits import in_terminal

GROUPS = {"size": ["area", "rooms"], "place": ["noise", "distance"], "age": ["age"]}
COLUMNS = [column for members in GROUPS.values() for column in members]


def houses(n_rows: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n_rows, 5)) + 0.6 * rng.normal(size=(n_rows, 1))
    data = pd.DataFrame(X, columns=COLUMNS)
    data["price"] = X @ [2.0, 0.7, -1.0, 0.6, -0.4] + 5 + rng.normal(size=n_rows)
    data["times"] = rng.integers(1, 4, n_rows)
    return data


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    houses().to_csv("houses.csv", index=False)
    lines = [f"{name} = {json.dumps(members)}" for name, members in GROUPS.items()]
    Path("groups.toml").write_text("[groups]\n" + "\n".join(lines), encoding="utf-8")
    return tmp_path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


FIT = ("fit", "houses.csv", "--target", "price", "--groups", "groups.toml", "--drop", "times")
BY_GROUP = ("--eta", "place=4", "--eta", "size=0.5", "--eta", "age=0")


def words(text: str) -> str:
    """What is printed, whatever the line it stands on."""
    return " ".join(text.split())


def document(*arguments: object, code: int = 0) -> dict:
    result = run(*arguments, "--json")
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def message(*arguments: object) -> str:
    """The one message of a command that refuses its input: nothing on standard output, no traceback."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr


def oracle(**options) -> float:
    data = houses()
    labels = [list(GROUPS).index(name) for name, members in GROUPS.items() for _ in members]
    return brute_force(data[COLUMNS].to_numpy(), data["price"].to_numpy(), labels, **options).objective


# fit


def test_fit_finds_the_optimum_and_prints_it(folder: Path) -> None:
    told = document(*FIT)
    assert told["status"] == "OPTIMAL"
    assert told["objective"] == pytest.approx(oracle(fit_intercept=True), rel=1e-9)
    assert told["rows"] == 80
    assert list(told["groups"]) == list(GROUPS)
    for group in told["groups"].values():
        assert sum(group["alpha"].values()) == pytest.approx(1)
    shown = run(*FIT)
    assert shown.exit_code == 0
    assert re.search(r"size .*\+ .*area", shown.stdout)
    assert "optimal" in shown.stdout and "proven gap" in words(shown.stdout)
    assert shown.stderr == ""  # quiet when piped


@pytest.mark.parametrize(("given", "options"), [
    (("--eta", "3"), {"eta": 3.0}),
    (("--eta", "3", "--penalty", "l1"), {"eta": 3.0, "penalty": "l1"}),
    (("--no-intercept",), {"fit_intercept": False}),
    (("--ridge", "2"), {"ridge": 2.0}),
    (("--ridge", "2", "--memory", "0", "--method", "enumerate"), {"ridge": 2.0}),
    ((*BY_GROUP, "--ridge", "0.5", "--penalty", "l1"), {"eta": [0.5, 4.0, 0.0], "ridge": 0.5, "penalty": "l1"}),
    ((*BY_GROUP, "--memory", "0", "--no-intercept"), {"eta": [0.5, 4.0, 0.0], "fit_intercept": False}),
    (("--method", "enumerate"), {}),
    (("--relaxation", "unconstrained", "--n-jobs", "2"), {}),
    (("--memory", "0"), {}),
    (("--memory", "0", "--eta", "3", "--penalty", "l1"), {"eta": 3.0, "penalty": "l1"}),
], ids=" ".join)
def test_the_options_of_fit(given: tuple[str, ...], options: dict, folder: Path) -> None:
    told = document(*FIT, *given)
    assert told["objective"] == pytest.approx(oracle(**{"fit_intercept": True, **options}), rel=1e-9)
    assert told["folded"] == ("--memory" in given)
    assert told["rows"] == 80


@pytest.mark.parametrize(("given", "told"), [
    (("--eta", "size=1"), 'error: --eta misses "place", "age": give each group a number, 0 for no penalty\n'),
    ((*BY_GROUP, "--eta", "ages=1"), "error: --eta names group 'ages', which does not exist: groups are"),
    ((*BY_GROUP, "--eta", "1"), "error: --eta 1 is for all groups: give it alone, or --eta GROUP=NUMBER for each\n"),
    (("--eta", "1", "--eta", "2"), "error: --eta 1 is for all groups: give it alone"),
    ((*BY_GROUP, "--eta", "age=1"), "error: --eta is given twice for a group: keep one of"),
], ids=" ".join)
def test_wrong_penalties_are_refused_before_the_search(given: tuple[str, ...], told: str, folder: Path) -> None:
    for command in (FIT, ("compare", *FIT[1:])):
        said = message(*command, *given)
        assert told in said and said.count("\n") == 1


@pytest.mark.parametrize("given", [BY_GROUP, ("--ridge", "1"), (*BY_GROUP, "--ridge", "1", "--penalty", "l1")])
def test_a_proof_states_ridge_and_eta_by_group(given: tuple[str, ...], folder: Path) -> None:
    document(*FIT, *given, "--certificate", "proof.json")
    told = document("verify", "proof.json", *FIT[1:])
    assert told["verified"]
    assert told["problem"]["ridge"] == (1.0 if "--ridge" in given else 0.0)


def test_compare_and_explain_know_ridge_and_eta_by_group(folder: Path) -> None:
    options = {"eta": [0.5, 4.0, 0.0], "ridge": 0.5}
    compared = document("compare", *FIT[1:], *BY_GROUP, "--ridge", "0.5", "--relaxation", "perspective")
    assert compared["optimum"] == pytest.approx(oracle(**options), rel=1e-9)
    for treated in ((), ("--standardize",)):
        told = document(*FIT, *BY_GROUP, "--ridge", "0.5", *treated, "--out", "model.json", "--force")
        explained = document("explain", "model.json", "houses.csv")
        assert explained["price_of_constraint"]["objective"] == pytest.approx(told["objective"], rel=1e-9)
        model = partls.PartLSRegressor.load("model.json")
        assert (model.eta, model.ridge) == ({"size": 0.5, "place": 4.0, "age": 0.0}, 0.5)


def test_a_group_may_have_the_sign_of_equality_in_its_name(folder: Path) -> None:
    written = Path("groups.toml").read_text(encoding="utf-8")
    Path("groups.toml").write_text(written.replace("age =", '"age=old" ='), encoding="utf-8")
    told = document(*FIT, "--eta", "place=4", "--eta", "size=0.5", "--eta", "age=old=2")
    assert told["objective"] == pytest.approx(oracle(eta=[0.5, 4.0, 2.0]), rel=1e-9)


def test_weights_count_rows_so_often(folder: Path) -> None:
    weighted = document(*FIT[:-2], "--weights", "times")
    data = houses()
    repeated = data.loc[data.index.repeat(data["times"])].drop(columns="times")
    repeated.to_csv("repeated.csv", index=False)
    plain = document("fit", "repeated.csv", *FIT[2:-2])
    assert weighted["objective"] == pytest.approx(plain["objective"], rel=1e-10)
    assert weighted["rows"] == 80 < plain["rows"]


def test_a_saved_model_predicts_the_same_everywhere(folder: Path) -> None:
    told = document(*FIT, "--out", "model.json")
    data = houses()
    expected = data[COLUMNS].to_numpy() @ [told["coef"][name] for name in COLUMNS] + told["intercept"]
    model = partls.PartLSRegressor.load("model.json")
    np.testing.assert_allclose(model.predict(data[COLUMNS]), expected, rtol=1e-12)
    shuffled = data[["noise", "price", "age", "rooms", "distance", "area"]]
    shuffled.to_parquet("new.parquet")
    for out in ("p.csv", "p.parquet", "p.feather"):
        assert run("predict", "model.json", "new.parquet", "--out", out).exit_code == 0
        reader = {"csv": pd.read_csv, "parquet": pd.read_parquet, "feather": pd.read_feather}[out[2:]]
        np.testing.assert_allclose(reader(out)["predicted price"], expected, rtol=1e-12)
    np.testing.assert_allclose(document("predict", "model.json", "houses.csv")["predictions"], expected, rtol=1e-12)
    assert not list(folder.glob("*.part"))


def test_standardised_models_are_saved_in_the_units_of_the_data(folder: Path) -> None:
    told = document(*FIT, "--standardize", "--eta", "5", "--out", "model.json")
    data = houses()
    Z = data[COLUMNS].to_numpy()
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    labels = [list(GROUPS).index(name) for name, members in GROUPS.items() for _ in members]
    expected = brute_force(Z, data["price"].to_numpy(), labels, eta=5.0, fit_intercept=True)
    assert told["objective"] == pytest.approx(expected.objective, rel=1e-9)
    scaled = Z @ [told["coef"][name] for name in COLUMNS] + told["intercept"]
    model = partls.PartLSRegressor.load("model.json")
    np.testing.assert_allclose(model.predict(data[COLUMNS]), scaled, rtol=1e-10)
    np.testing.assert_allclose(model.beta_, from_coef(model.coef_, model.partition_)[1])
    explained = document("explain", "model.json", "houses.csv")
    assert explained["price_of_constraint"]["objective"] == pytest.approx(told["objective"], rel=1e-9)


def test_text_and_gaps_are_treated_alike_in_fit_and_predict(folder: Path) -> None:
    data = houses().drop(columns="times")
    data["town"] = np.where(data["age"] > 0, "oslo", "rome")
    data.loc[3, "area"] = np.nan
    data.loc[5, "town"] = None
    data.to_csv("towns.csv", index=False)
    Path("towns.toml").write_text(
        Path("groups.toml").read_text(encoding="utf-8").replace('age = ["age"]', 'age = ["age", "town"]'), "utf-8"
    )
    fit = ("fit", "towns.csv", "--target", "price", "--groups", "towns.toml", "--encode", "onehot", "--out", "m.json")
    told = document(*fit, "--missing", "mean")
    assert list(told["groups"]["age"]["alpha"]) == ["age", "town_oslo", "town_rome", "town_(missing)"]
    area = data["area"].fillna(data["area"].mean())
    hand = data.assign(area=area)[COLUMNS].to_numpy() @ [told["coef"][name] for name in COLUMNS] + told["intercept"]
    hand += data["town"].fillna("(missing)").map(lambda town: told["coef"][f"town_{town}"]).to_numpy()
    np.testing.assert_allclose(document("predict", "m.json", "towns.csv")["predictions"], hand, rtol=1e-9)
    assert document(*fit, "--missing", "drop", "--force")["rows_dropped"] == 2
    predicted = document("predict", "m.json", "towns.csv")["predictions"]
    assert [i for i, value in enumerate(predicted) if value is None] == [3, 5]
    assert 'missing values: "area" 1, "town" 1' in message(*fit, "--force")


def test_a_text_column_in_no_group_is_asked_for_by_its_own_name(folder: Path) -> None:
    houses().assign(town="oslo").to_csv("houses.csv", index=False)
    told = message(*FIT, "--encode", "onehot")
    assert 'in no group: "town_oslo"' in told and 'lists a text column by its own name, as "town"' in told


def test_ungrouped_columns_may_be_free(folder: Path) -> None:
    Path("some.toml").write_text('[groups]\nsize = ["area", "rooms"]\n', encoding="utf-8")
    told = message("fit", "houses.csv", "--target", "price", "--groups", "some.toml")
    assert "in no group" in told and "--ungrouped free" in told and "--drop" in told
    free = document("fit", "houses.csv", "--target", "price", "--groups", "some.toml", "--ungrouped", "free")
    assert list(free["groups"]) == ["size"]


# How a run ends


def hard_files(folder: Path) -> tuple[str, ...]:
    """60 groups, a target that is noise and the weakest bound: a search that does not end by itself for a long time."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 240)) + rng.normal(size=(400, 1))
    data = pd.DataFrame(X, columns=[f"x{j}" for j in range(240)]).assign(y=rng.normal(size=400))
    data.to_parquet(folder / "hard.parquet")
    rows = "".join(f"x{j},g{j % 60}\n" for j in range(240))
    (folder / "hard.csv").write_text("feature,group\n" + rows, encoding="utf-8")
    hard = ("fit", str(folder / "hard.parquet"), "--target", "y", "--groups", str(folder / "hard.csv"))
    return (*hard, "--relaxation", "active-set")


def test_a_limit_ends_with_3_and_a_usable_model(folder: Path) -> None:
    told = document(*hard_files(folder), "--time-limit", "0", "--out", "model.json", code=3)
    assert told["status"] == "TIME_LIMIT"
    assert not told["proven"]
    assert 0 < told["lower_bound"] < told["objective"]
    assert partls.PartLSRegressor.load("model.json").objective_ == told["objective"]
    result = run(*hard_files(folder), "--time-limit", "0")
    assert result.exit_code == 3
    assert "time limit: no model can be more than" in result.stderr
    assert "use --out to keep the best model so far" in result.stderr


def test_a_gap_that_is_reached_ends_with_0(folder: Path) -> None:
    told = document(*hard_files(folder), "--gap", "0.99")
    assert told["status"] == "GAP_REACHED"


def test_a_heuristic_proves_nothing_but_its_gap(folder: Path) -> None:
    heuristic = (*hard_files(folder), "--method", "alternating")
    told = document(*heuristic, code=3)
    assert told["status"] == "HEURISTIC" and not told["proven"]
    assert document(*heuristic, "--gap", "0.99")["objective"] == told["objective"]  # within the gap, and repeatable


def test_a_checkpoint_is_gone_on_from(folder: Path) -> None:
    fit = (*hard_files(folder), "--checkpoint", "run.ckpt")
    first = document(*fit, "--time-limit", "1", code=3)
    second = run(*fit, "--time-limit", "1", "--json")
    told = json.loads(second.stdout)
    assert told["nodes"] > first["nodes"]
    assert told["lower_bound"] >= first["lower_bound"]
    assert "the same command resumes from run.ckpt" in second.stderr
    assert "belongs to other data" in message(*FIT, "--checkpoint", "run.ckpt")
    folded = (*FIT, "--memory", "0", "--checkpoint", "folded.ckpt")
    assert document(*folded)["nodes"] == document(*folded)["nodes"]  # the rows fold alike


@pytest.mark.parametrize("given", [
    (), ("--eta", "2", "--penalty", "l1"), ("--standardize",), ("--weights", "times"), ("--missing", "mean"),
    ("--encode", "onehot"), ("--method", "enumerate"),
], ids=str)
def test_a_proof_is_verified_from_the_file(given: tuple[str, ...], folder: Path) -> None:
    data = houses()
    if "--missing" in given:
        data.loc[3, "area"] = np.nan
    if "--encode" in given:
        data["age"] = np.where(data["age"] > 0, "old", "new")
    data.to_csv("houses.csv", index=False)
    columns = FIT[2:-2] if "--weights" in given else FIT[2:]
    treated = [] if {"--eta", "--method"} & {*given} else given
    told = document("fit", "houses.csv", *columns, *given, "--certificate", "proof.json")
    checked = document("verify", "proof.json", "houses.csv", *columns, *treated)
    assert checked["verified"]
    assert checked["objective"] == pytest.approx(told["objective"], rel=1e-12)
    assert checked["lower_bound"] >= told["objective"] * (1 - 1e-9)
    alone = document("verify", "proof.json", "houses.csv")  # the proof says how the table was prepared
    assert {**alone, "used": None} == {**checked, "used": None}
    assert alone["used"]["target"] == "price"
    data.loc[0, "price"] += 1e-9
    data.to_csv("houses.csv", index=False)
    refused = run("verify", "proof.json", "houses.csv", *columns, *treated, "--json")
    assert refused.exit_code == 1
    assert json.loads(refused.stdout) == {"verified": False, "reason": refused.stderr.strip()[len("NOT verified: "):]}
    assert "partls verify needs every row" in message(
        "verify", "proof.json", "houses.csv", *columns, *treated, "--memory", "0"
    )


@pytest.mark.parametrize(("given", "told"), [
    (("--target", "area"), '--target "area": the proof has "price"'),
    (("--weights", "times"), '--weights "times": the proof has none'),
    (("--missing", "mean"), '--missing "mean": the proof has "error"'),
    (("--drop", "area"), '--drop "area": the proof uses it'),
    (("--standardize",), "--standardize: the proof is about the columns as they are"),
    (("--groups", "other.toml"), '--groups other.toml: other columns in "size", "place" than the proof has'),
], ids=str)
def test_an_option_that_disagrees_with_the_proof_is_named(given: tuple[str, ...], told: str, folder: Path) -> None:
    document(*FIT, "--certificate", "proof.json")
    other = {"size": ["area"], "place": ["noise", "distance", "rooms"], "age": ["age"]}
    lines = [f"{name} = {json.dumps(members)}" for name, members in other.items()]
    Path("other.toml").write_text("[groups]\n" + "\n".join(lines), encoding="utf-8")
    said = message("verify", "proof.json", "houses.csv", *given)
    assert told in said and said.count("\n") == 1
    assert run("verify", "proof.json", "houses.csv", "--groups", "groups.toml", "--drop", "times").exit_code == 0


def test_a_proof_written_in_python_needs_the_columns(folder: Path) -> None:
    data = houses()
    partls.solve(data[COLUMNS], data["price"], GROUPS, certificate="proof.json")
    said = message("verify", "proof.json", "houses.csv")
    assert said == "error: proof.json does not say how the table was prepared: give --target and --groups\n"


def test_ctrl_c_while_the_proof_is_written_keeps_the_model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("partls.prove.certificate.certify", interrupted)
    ended = run(*FIT, "--json", "--out", "model.json", "--certificate", "proof.json")
    assert (ended.exit_code, ended.stderr) == (130, "interrupted\n")
    assert partls.PartLSRegressor.load("model.json").objective_ == json.loads(ended.stdout)["objective"]
    assert not Path("proof.json").exists()


def test_a_proof_that_cannot_be_written_keeps_the_model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("partls.prove.certificate.certify", full)
    ended = run(*FIT, "--json", "--out", "model.json", "--certificate", "proof.json")
    assert ended.stderr == "the certificate proof.json is not written: No space left on device\n"
    assert (ended.exit_code, Path("model.json").exists(), Path("proof.json").exists()) == (3, True, False)


def test_a_limit_leaves_a_proof_of_the_root_alone(folder: Path) -> None:
    hard = hard_files(folder)
    without_time = run(*hard, "--time-limit", "0", "--certificate", "proof.json")
    assert "the certificate proof.json is not written: exact arithmetic on data of this size" in without_time.stderr
    assert (without_time.exit_code, Path("proof.json").exists()) == (3, False)
    document(*hard, "--time-limit", "1", "--certificate", "proof.json", code=3)
    assert run("verify", "proof.json", hard[1]).exit_code == 1
    assert document("verify", "proof.json", hard[1], "--gap", "1")["verified"]


@pytest.mark.parametrize("ctrl_c", ["default_int_handler", "SIG_IGN"])  # the second in the background of a script
def test_the_end_that_a_batch_system_announces_is_a_ctrl_c(ctrl_c: str, folder: Path) -> None:
    arguments = ["partls", *hard_files(folder), "--time-limit", "300", "--out", "model.json", "--json"]
    script = (
        "import os, signal, sys, threading, time\n"
        f"signal.signal(signal.SIGINT, signal.{ctrl_c})\n"
        "def end():\n"
        "    while signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:\n"
        "        time.sleep(0.01)\n"
        "    time.sleep(0.3)\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "threading.Thread(target=end, daemon=True).start()\n"
        f"sys.argv = {arguments}\nfrom partls.cli import main\nmain()\n"
    )
    root = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": root},
        cwd=folder, timeout=120,
    )
    assert done.returncode == 130, done.stderr
    assert not done.stdout or json.loads(done.stdout)["status"] == "INTERRUPTED"  # or it came while reading


def test_the_sign_of_a_whole_text_column_is_said_to_be_arbitrary(folder: Path) -> None:
    """Every value may rise while the intercept falls: both signs have one optimum."""
    data = houses().assign(town=np.where(houses()["age"] > 0, "oslo", "rome"))
    data.to_csv("towns.csv", index=False)
    written = Path("groups.toml").read_text(encoding="utf-8")
    Path("towns.toml").write_text(written.replace("[groups]", '[groups]\ntown = ["town"]'), encoding="utf-8")
    fit = ("fit", "towns.csv", "--target", "price", "--groups", "towns.toml", "--encode", "onehot")
    fit = (*fit, "--drop", "times")

    def either_sign(*options: str) -> list[str]:
        return list(document(*fit, *options)["ambiguities"]["either_sign"])

    assert either_sign() == ["town"]
    shown = " ".join(run(*fit).stdout.split())
    assert "│ town │ ± │" in shown
    assert 'either sign fits equally well for 1 group, "town": compare the columns of the group' in shown
    assert "presolve: 1 group without a search, its sign is arbitrary" in shown
    assert "presolve" not in run(*fit, "--no-presolve").stdout
    assert (document(*fit, "--no-presolve")["presolve"], either_sign("--no-presolve")) == (None, ["town"])
    assert either_sign("--eta", "1") == either_sign("--ridge", "1e-3") == either_sign("--no-intercept") == []
    assert either_sign(*BY_GROUP, "--eta", "town=0") == ["town"]
    assert either_sign(*BY_GROUP, "--eta", "town=1") == []
    X = pd.get_dummies(data[[*COLUMNS, "town"]], columns=["town"]).astype(float)
    groups = {**GROUPS, "town": ["town_oslo", "town_rome"]}
    both = [partls.solve(X, data["price"], groups, signs={"town": sign}).objective for sign in ("+", "-")]
    assert both[0] == pytest.approx(both[1], rel=1e-9)


def test_ctrl_c_saves_the_incumbent(folder: Path) -> None:
    arguments = ["partls", *hard_files(folder), "--time-limit", "300", "--out", str(folder / "model.json"), "--json"]
    script = (
        "import signal, sys\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"sys.argv = {arguments}\nfrom partls.cli import main\nmain()\n"
    )
    out, shown, code = in_terminal(script, interrupt_at=b"incumbent")
    assert code == 130, shown
    told = json.loads(out)  # one document and nothing else
    assert told["status"] == "INTERRUPTED"
    assert "reading" in shown
    assert "the best model so far is saved to" in shown
    assert re.search(r"searching.*gap .*\d s", shown)
    assert re.search(r"[\d,]+ nodes .*nodes/s .*open .*incumbent .*bound", shown)
    model = partls.PartLSRegressor.load(folder / "model.json")
    assert model.status_ is partls.Status.INTERRUPTED
    assert model.objective_ == told["objective"]


def test_the_installed_command_ends_with_2_and_one_line(folder: Path) -> None:
    code = "from partls.cli import main; main()"
    root = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code, "fit", "nowhere.csv", "--target", "y", "--groups", "groups.toml"],
        capture_output=True, text=True, env={"PYTHONPATH": root, "PATH": ""}, timeout=120,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: nowhere.csv: there is no such file\n"


def test_bad_input_is_one_message(folder: Path) -> None:
    def fit(**changes: str) -> str:
        options = {"target": "price", "groups": "groups.toml", "drop": "times", **changes}
        given = [part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", value)]
        return message("fit", "houses.csv", *given)

    Path("folder").mkdir()
    assert "folder: this is a directory; give the file that lists the groups" in fit(groups="folder")
    assert fit(groups="group.toml") == 'error: group.toml: there is no such file; did you mean "groups.toml"?\n'
    assert 'houses.csv"?' in message("fit", "house.csv", *FIT[2:])
    assert 'has no column "prise"; did you mean "price"?' in fit(target="prise")
    assert 'did you mean "enumerate"?' in fit(method="enumerat")
    assert 'did you mean "perspective"?' in fit(relaxation="perspectiv")
    assert fit(penalty="l3") == "error: --penalty l3 is not one of l2, l1\n"
    names = "auto, bnb, enumerate, alternating"
    assert fit(method="bnbb") == f'error: --method bnbb is not one of {names}; did you mean "bnb"?\n'
    for eta in ("-1.0", "inf", "nan"):
        assert fit(eta=eta, groups="unread.toml") == f"error: --eta {eta} must be a finite number >= 0\n"
        assert fit(ridge=eta, groups="unread.toml") == f"error: --ridge {eta} must be a finite number >= 0\n"
        assert fit(eta=f"size={eta}", groups="unread.toml") == f"error: --eta size={eta} must be a finite number >= 0\n"
    assert fit(eta="size=much") == "error: --eta size=much: 'much' is not a number\n"
    assert fit(eta="much") == "error: --eta much: 'much' is not a number\n"
    assert "--time-limit -1.0 must be a number >= 0" in fit(time_limit="-1")
    assert "--gap -1.0 must be" in fit(gap="-1")
    assert "--n-jobs 0 must be" in fit(n_jobs="0")
    assert 'did you mean "free"?' in fit(ungrouped="fre")
    assert '--drop "price": this column is the target' in fit(drop="price")
    assert '--weights "price": this column is the target' in fit(weights="price")
    assert 'group "age" lists "age", which --target names: take it out' in fit(target="age")
    assert "--out folder is a directory" in fit(out="folder")
    assert "the directory nowhere does not exist" in fit(out="nowhere/model.json")
    assert '--decimal ";" must be' in fit(decimal=";")
    assert '--delimiter "ab" must be one character' in fit(delimiter="ab")
    assert "--memory -1.0 must be at least 0" in fit(memory="-1")
    assert "--report needs every row, and those of houses.csv do not fit into --memory 0" in fit(
        memory="0", report="page.html"
    )
    assert "--certificate needs every row" in fit(memory="0", certificate="proof.json")
    assert "--method alternating proves nothing" in fit(method="alternating", certificate="proof.json")
    assert "--checkpoint is for branch and bound" in fit(method="enumerate", checkpoint="run.ckpt")
    assert "the directory nowhere does not exist" in fit(checkpoint="nowhere/run.ckpt")
    assert "--relaxation" in message(*FIT, "--relaxaton", "x")
    assert "fit" in message("fitt")


def test_too_many_groups_to_enumerate(folder: Path) -> None:
    names = [f"x{j}" for j in range(30)]
    pd.DataFrame(np.eye(40, 30), columns=names).assign(y=1.0).to_csv("many.csv", index=False)
    Path("many.json").write_text(json.dumps({name: [name] for name in names}), encoding="utf-8")
    told = message("fit", "many.csv", "--target", "y", "--groups", "many.json", "--method", "enumerate")
    assert 'use the method "bnb", which proves the same optimum, or, in Python, raise max_groups' in told


def test_no_output_replaces_an_input_or_another_output(folder: Path) -> None:
    document(*FIT, "--out", "model.json")
    Path("link.csv").symlink_to("houses.csv")
    Path("hard.csv").hardlink_to("houses.csv")
    Path("data.toml").write_bytes(Path("houses.csv").read_bytes())
    Path("many").mkdir()
    houses().to_parquet("many/0.parquet")
    before = {path: path.read_bytes() for path in folder.rglob("*.*")}
    for option in ("--out", "--report", "--certificate", "--checkpoint"):
        for name in ("houses.csv", "many/../houses.csv", folder / "houses.csv", "link.csv", "hard.csv"):
            assert message(*FIT, option, name) == f"error: {option} {name} is the file of the data: give another name\n"
        assert f"{option} groups.toml is the file of the groups: " in message(*FIT, option, "groups.toml")
        for other in {"--out", "--report", "--certificate", "--checkpoint"} - {option}:
            assert re.search("--.* new is the file of --.*: give another", message(*FIT, option, "new", other, "new"))
    told = message("predict", "model.json", "houses.csv", "--out", "houses.csv")
    assert told == "error: --out houses.csv is the file of the data: give another name\n"
    assert "is the file of the model" in message("predict", "model.json", "houses.csv", "--out", "model.json")
    told = message("predict", "model.json", "many", "--out", "many/1.parquet")
    assert told == "error: --out many/1.parquet lies in the folder of the data: give another place\n"
    told = message("groups", "init", "data.toml", "--out", "data.toml", "--force")
    assert told == "error: --out data.toml is the file of the data: give another name\n"
    assert {path: path.read_bytes() for path in folder.rglob("*.*")} == before
    os.mkfifo("pipe")
    for option in ("--certificate", "--checkpoint"):  # which replace what is there
        assert message(*FIT, option, "pipe") == f"error: {option} pipe is a device or a pipe; give the name of a file\n"


def test_what_cannot_be_saved_is_shown_and_leaves_nothing_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document(*FIT, "--out", "model.json")
    before = {path: path.read_bytes() for path in folder.iterdir()}

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    for option in ("--out", "--report"):
        ended = run(*FIT, option, "model.json", "--force")
        assert ended.exit_code == 2
        assert "proven gap" in words(ended.stdout)
        assert "model.json" in ended.stderr and "No space left on device" in ended.stderr
    for command in (
        ("predict", "model.json", "houses.csv", "--out", "p.csv"), ("groups", "init", "houses.csv", "--out", "g.toml")
    ):
        assert message(*command) == f"error: {command[-1]} cannot be used (No space left on device)\n"
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_a_model_is_written_once_and_read_once(folder: Path) -> None:
    os.mkfifo("pipe.json")
    written: list[bytes] = []
    reader = threading.Thread(target=lambda: written.append(Path("pipe.json").read_bytes()), daemon=True)
    reader.start()
    assert run(*FIT, "--out", "pipe.json").exit_code == 0
    reader.join(60)
    writer = threading.Thread(target=lambda: Path("pipe.json").write_bytes(written[0]), daemon=True)
    writer.start()
    told = document("predict", "pipe.json", "houses.csv")
    writer.join(60)
    assert told["target"] == "price" and told["rows"] == 80
    assert json.loads(written[0])["preparation"]["target"] == "price"


def test_a_column_left_out_leaves_its_group(folder: Path) -> None:
    told = document(*FIT, "--drop", "rooms", "--drop", "age")
    assert list(told["groups"]) == ["size", "place"]
    assert list(told["groups"]["size"]["alpha"]) == ["area"]
    left = ("--target", "price", "--drop", "times", "--drop", "rooms", "--drop", "age")
    checked = run("groups", "check", "houses.csv", "groups.toml", *left)
    assert checked.stdout == "groups.toml: 3 columns in 2 groups: size (1), place (2)\n"


def test_columns_in_no_group_and_rows_left_out_are_shown(folder: Path) -> None:
    data = houses()
    data.loc[[3, 5], "rooms"] = np.nan
    data.to_csv("houses.csv", index=False)
    shown = run("fit", "houses.csv", *FIT[2:6], "--ungrouped", "free", "--missing", "drop").stdout
    assert "(ungrouped)" in shown and "coefficients: times " in shown
    assert "on 78 rows (2 with missing values left out)" in shown


@pytest.mark.parametrize(("options", "status", "limit"), [
    ((), Status.OPTIMAL, 30.0), (("--time-limit", "7"), Status.OPTIMAL, 7.0),
    (("--time-limit", "700"), Status.OPTIMAL, 30.0), ((), Status.INTERRUPTED, 0.0),
])
def test_the_page_takes_no_longer_than_the_search_may(
    folder: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], status: Status, limit: float
) -> None:
    limits = []
    monkeypatch.setattr("partls.report.write_report", lambda *_, time_limit, **__: limits.append(time_limit))
    monkeypatch.setattr(partls.PartLSRegressor, "status_", property(lambda _: status, lambda *_: None), raising=False)
    result = run(*FIT, "--report", "page.html", *options)
    assert result.exit_code == (130 if status is Status.INTERRUPTED else 0)
    assert limits == [limit]


def test_a_hostile_column_name_is_shown_and_not_obeyed(folder: Path) -> None:
    name = "\x1b[2J<img onerror=1>[red]"
    data = houses().rename(columns={"age": name})
    data.to_parquet("evil.parquet")
    groups = f"[groups]\nall = {json.dumps(COLUMNS[:-1])}\n{json.dumps(name)} = [{json.dumps(name)}]\n"
    Path("evil.toml").write_text(groups, encoding="utf-8")
    result = run("fit", "evil.parquet", "--target", "price", "--groups", "evil.toml", "--drop", "times")
    assert result.exit_code == 0
    assert "\x1b" not in result.output
    assert result.stdout.count("<img onerror=1>[red]") == 2  # as a group and as a feature, in full
    told = message("fit", "evil.parquet", "--target", "price", "--groups", "groups.toml", "--drop", "times")
    assert "\x1b" not in told and "\\x1b[2J<img" in told


def test_names_take_one_line_and_leave_room_for_the_figures(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    long, broken = "a" * 3000, "b\nerror: none"
    houses().rename(columns={"area": long, "rooms": broken}).to_parquet("odd.parquet")
    groups = {"q\nnext": [long, broken], "place": ["noise", "distance", "age"]}
    lines = [f"{json.dumps(name)} = {json.dumps(members)}" for name, members in groups.items()]
    Path("odd.toml").write_text("[groups]\n" + "\n".join(lines), encoding="utf-8")
    fit = ("fit", "odd.parquet", "--target", "price", "--groups", "odd.toml", "--drop", "times")
    for shown in (run(*fit, "--out", "model.json"), run("explain", "model.json", "odd.parquet", "--bootstrap", "2")):
        assert shown.exit_code == 0
        assert "q\\nnext " in shown.stdout and "b\\nerror: none " in shown.stdout and "a" * 59 + "… " in shown.stdout
        assert not re.search("^(next|error)|a{60}", shown.stdout, re.MULTILINE)
    told = message("fit", "odd.parquet", *FIT[2:])
    assert "cannot use these groups: 3 problems\n  - group " in told  # these lines are wanted
    assert '"b\\nerror: none"' in told
    checked = run("groups", "check", "odd.parquet", "groups.toml", "--target", "price")
    assert '"b\\nerror: none"' in checked.stderr


def test_extreme_numbers_and_a_single_row(folder: Path) -> None:
    groups = ("--target", "y", "--groups", "g.toml")
    Path("g.toml").write_text('[groups]\nall = ["a", "b"]\n', encoding="utf-8")
    Path("one.csv").write_text("a,b,y\n1,2,3\n", encoding="utf-8")
    assert document("fit", "one.csv", *groups)["intercept"] == 3
    Path("tiny.csv").write_text("a,b,y\n1e-100,2,1\n3e-100,1,2\n2e-100,5,3\n", encoding="utf-8")
    assert document("fit", "tiny.csv", *groups)["status"] == "OPTIMAL"
    Path("huge.csv").write_text("a,b,y\n1e308,2,1\n-1e308,1,2\n1e999,5,3\n", encoding="utf-8")
    assert 'infinite values: "a" 1, the first in row 3' in message("fit", "huge.csv", *groups)
    told = 'values beyond 1e+150: "a" 3, the first in row 1'
    Path("huge.csv").write_text("a,b,y\n1e308,2,1\n-1e308,1,2\n1e308,5,3\n", encoding="utf-8")  # no sum overflows
    for memory in ("0", "1024"):
        assert told in message("fit", "huge.csv", *groups, "--memory", memory)


# The other commands


def test_explain(folder: Path) -> None:
    assert run(*FIT, "--out", "model.json").exit_code == 0
    told = document("explain", "model.json", "houses.csv", "--bootstrap", "5")
    assert set(told) == {"summary", "sign_certainty", "price_of_constraint", "bootstrap"}
    result = partls.solve(houses()[COLUMNS], houses()["price"], GROUPS)
    by_hand = partls.solve(houses()[COLUMNS], houses()["price"], GROUPS, signs={"size": "-"})
    assert result.signs[0] == 1
    assert told["sign_certainty"]["rows"][0]["flipped_objective"] == pytest.approx(by_hand.objective, rel=1e-9)
    shown = run("explain", "model.json", "houses.csv")
    assert shown.exit_code == 0
    for word in ("80 rows", "Sign certainty", "Price of constraint", "optimal by bnb"):
        assert word in shown.stdout
    folded = document("explain", "model.json", "houses.csv", "--memory", "0")
    assert folded["price_of_constraint"]["price"] == pytest.approx(told["price_of_constraint"]["price"], rel=1e-6)
    assert folded["summary"]["n_rows"] == 80
    few = ("--memory", "0", "--bootstrap", "5")
    assert "--bootstrap needs every row" in message("explain", "model.json", "houses.csv", *few)


def test_explain_in_no_time_leaves_the_price_out(folder: Path) -> None:
    run(*FIT, "--out", "model.json")
    assert document("explain", "model.json", "houses.csv", "--time-limit", "0")["price_of_constraint"] is None
    shown = run("explain", "model.json", "houses.csv", "--time-limit", "0")
    assert (shown.exit_code, "Price" in shown.stdout) == (0, False)
    assert "the price of the constraint is left out" in shown.stderr


def test_explain_stops_the_bootstrap_in_time(folder: Path) -> None:
    run(*FIT, "--out", "model.json")
    arguments = ("explain", "model.json", "houses.csv", "--time-limit", "0", "--bootstrap", "7")
    shown = run(*arguments)
    assert shown.exit_code == 0
    assert "1 resample of the rows" in shown.stdout
    assert "--time-limit ended the bootstrap after 1 of 7 resamples" in shown.stderr
    told = document(*arguments)["bootstrap"]
    assert len(told["betas"]) == 1 and told["rows"][0]["deviation"] is None


@pytest.mark.parametrize(("where", "shown"), [
    ("sign_certainty", ["optimal by bnb"]),
    ("price_of_constraint", ["optimal by bnb", "Sign certainty"]),
    ("bootstrap", ["optimal by bnb", "Sign certainty", "Price of constraint"]),
])
def test_ctrl_c_leaves_what_is_explained_by_then(
    folder: Path, monkeypatch: pytest.MonkeyPatch, where: str, shown: list[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    run(*FIT, "--out", "model.json")
    monkeypatch.setattr(f"partls.explain.{where}", interrupted)
    ended = run("explain", "model.json", "houses.csv", "--bootstrap", "5")
    assert (ended.exit_code, ended.stderr) == (130, "interrupted\n")
    parts = ("optimal by bnb", "Sign certainty", "Price of constraint")
    assert [word for word in parts if word in ended.stdout] == shown
    assert run("explain", "model.json", "houses.csv", "--bootstrap", "5", "--json").stdout == ""


def test_ctrl_c_outside_of_a_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("typer.main.get_command", lambda app: SimpleNamespace(main=interrupted))
    with pytest.raises(SystemExit, match="130"):
        partls.cli.main()
    assert capsys.readouterr().err == "interrupted\n"


def test_explain_wants_the_data_of_the_fit(folder: Path) -> None:
    assert run(*FIT, "--out", "model.json").exit_code == 0
    houses(40).to_csv("other.csv", index=False)
    assert "give the same file" in message("explain", "model.json", "other.csv")
    assert 'has no column "price"' in message("explain", "model.json", write_without("price"))


def write_without(column: str) -> str:
    houses().drop(columns=column).to_csv("less.csv", index=False)
    return "less.csv"


def test_predict_refuses_what_it_cannot_use(folder: Path) -> None:
    assert run(*FIT, "--out", "model.json").exit_code == 0
    less = write_without("rooms")
    assert 'lacks "rooms", which the model needs' in message("predict", "model.json", less)
    assert "the name must end in" in message("predict", "model.json", "houses.csv", "--out", "p.xlsx")
    assert "there is no such file" in message("predict", "none.json", "houses.csv")
    assert "is a directory" in message("predict", ".", "houses.csv")
    Path("broken.json").write_text("{", encoding="utf-8")
    assert "is not a usable model" in message("predict", "broken.json", "houses.csv")
    changed = json.loads(Path("model.json").read_text(encoding="utf-8"))
    for wrong in ({"features": ["a"]}, {"missing": "guess"}, {"levels": 3}, {"means": {"area": "x"}}):
        bad = {**changed, "preparation": {**changed["preparation"], **wrong}}
        Path("bad.json").write_text(json.dumps(bad), encoding="utf-8")
        assert '"preparation"' in message("predict", "bad.json", "houses.csv")


def test_predict_says_which_value_it_cannot_use(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(*FIT, "--out", "model.json").exit_code == 0
    for value, told in (
        (np.nan, 'column "rooms" has no value in row 42: fill it in, or fit with --missing mean'),
        (np.inf, 'column "rooms" is infinite in row 42: correct it'),
    ):
        data = houses()
        data.loc[[41, 50], "rooms"] = value
        data.to_parquet("new.parquet")
        assert message("predict", "model.json", "new.parquet") == f"error: new.parquet: {told}\n"
    monkeypatch.setattr("partls.cli.tables.columnar.BATCH_ROWS", 20)
    assert f"{told}\n" in message("predict", "model.json", "new.parquet", "--out", "p.csv")
    assert message("predict", "model.json", "new.parquet", "--json") == f"error: new.parquet: {told}\n"
    assert not list(folder.glob("p.csv*"))
    half = run("predict", "model.json", "new.parquet")
    assert (half.exit_code, len(half.stdout.splitlines())) == (2, 41)
    assert half.stderr.endswith(f"{told}; the output is incomplete: it ends after 40 predictions\n")


def test_a_model_saved_in_python_predicts_too(folder: Path) -> None:
    model = partls.PartLSRegressor(GROUPS).fit(houses()[COLUMNS], houses()["price"])
    model.save("python.json")
    told = document("predict", "python.json", "houses.csv")["predictions"]
    np.testing.assert_allclose(told, model.predict(houses()[COLUMNS]), rtol=1e-12)
    assert "does not say which column is the target" in message("explain", "python.json", "houses.csv")


def test_compare(folder: Path) -> None:
    arguments = ("compare", *FIT[1:], "--relaxation", "active-set", "--relaxation", "unconstrained")
    told = document(*arguments, "--depth", "1")
    assert told["optimum"] == pytest.approx(oracle(fit_intercept=True), rel=1e-9)
    assert [(row["relaxation"], row["depth"]) for row in told["relaxations"]] == [
        ("active-set", 0), ("unconstrained", 0), ("active-set", 1), ("unconstrained", 1)
    ]
    assert all(row["bound"] <= told["optimum"] * (1 + 1e-9) for row in told["relaxations"] if row["depth"] == 0)
    shown = run(*arguments)
    words = " ".join(shown.stdout.split())
    assert "gap closed" in words and "(optimum, from the search)" in words and "0 (zero line)" in words
    document_told = document(*arguments)
    assert document_told["measured_against"] == "optimum, from the search"
    assert document_told["best_known"] == document_told["optimum"]
    told = message("compare", *FIT[1:], "--relaxation", "activ-set")
    assert told.startswith("error: --relaxation activ-set is not one of active-set, ")
    assert 'did you mean "active-set"?' in told


@pytest.mark.parametrize("by", ["correlation", "prefix", "column"])
def test_a_drafted_groups_file_can_be_used(by: str, folder: Path) -> None:
    init = ("groups", "init", "houses.csv", "--target", "price", "--drop", "times", "--by", by)
    assert run(*init, "--out", "draft.toml").exit_code == 0
    drafted = tomllib.loads(Path("draft.toml").read_text(encoding="utf-8"))["groups"]
    assert sorted(column for members in drafted.values() for column in members) == sorted(COLUMNS)
    assert document(*init)["groups"] == drafted
    assert "is there already; replace it with --force" in message(*init, "--out", "draft.toml")
    assert run("groups", "check", "houses.csv", "draft.toml", "--target", "price", "--drop", "times").exit_code == 0
    fit = ("fit", "houses.csv", "--target", "price", "--groups", "draft.toml", "--drop", "times")
    assert document(*fit)["status"] == "OPTIMAL"


def test_drafts_find_what_belongs_together(folder: Path) -> None:
    rng = np.random.default_rng(1)
    wave, drift = rng.normal(size=(2, 60))
    columns = {"sea_1": wave, "air.t": drift, "sea_2": wave + 0.1 * drift, "air.p": -drift, "flat": np.ones(60)}
    pd.DataFrame(columns).assign(town="oslo", y=1.0).to_csv("w.csv", index=False)
    init = ("groups", "init", "w.csv", "--target", "y")
    assert sorted(map(sorted, document(*init)["groups"].values())) == [  # what moves against each other stays apart
        ["air.p"], ["air.t"], ["flat"], ["sea_1", "sea_2"], ["town"]
    ]
    assert document(*init, "--by", "prefix")["groups"] == {
        "sea": ["sea_1", "sea_2"], "air": ["air.t", "air.p"], "flat": ["flat"], "town": ["town"]
    }
    data = pd.DataFrame(np.eye(6), columns=["GarageArea", "GarageCars", "q1_a", "q2_a", "q1_b", "SOx"])
    data.assign(x1=1.0, x2=2.0).to_csv("n.csv", index=False)
    assert document("groups", "init", "n.csv", "--by", "prefix")["groups"] == {
        "Garage": ["GarageArea", "GarageCars"], "q1": ["q1_a", "q1_b"], "q2": ["q2_a"], "SOx": ["SOx"],
        "x": ["x1", "x2"],
    }
    assert "--by prefx is not one of correlation, prefix, column" in message(*init, "--by", "prefx")
    assert "--threshold 3.0 must be between 0 and 1" in message(*init, "--threshold", "3")
    assert "let the name end in .toml" in message(*init, "--out", "groups.csv")


def test_a_draft_leaves_out_what_no_model_can_use_and_says_why(folder: Path) -> None:
    rng = np.random.default_rng(3)
    data = houses(60).drop(columns="times")
    data.insert(0, "Id", rng.permutation(1000)[:60])
    data["row"] = range(1, 61)
    data["sold"] = pd.date_range("2020-01-01", periods=60).astype(str)
    data["owner"] = [f"owner {j}" for j in range(60)]
    data["town"] = ["oslo", "rome", "bern"] * 20
    data["Month"] = rng.permutation(60)  # different whole numbers, but not called or ordered as identifiers are
    data.to_csv("sales.csv", index=False)
    assert run("groups", "init", "sales.csv", "--target", "price", "--out", "draft.toml").exit_code == 0
    written = Path("draft.toml").read_text(encoding="utf-8")
    draft = tomllib.loads(written)
    assert draft["drop"] == ["Id", "row", "sold", "owner"]
    for reason in ("Id: an identifier: a different whole number", "row: row numbers", "sold: dates",
                   "owner: text with 60 different values in 60 rows"):
        assert f"#   {reason}" in written
    assert draft["encode"] == "onehot" and draft["groups"]["town"] == ["town"]
    assert {"Month"} <= {column for members in draft["groups"].values() for column in members}
    fitted = document("fit", "sales.csv", "--target", "price", "--groups", "draft.toml")
    assert fitted["status"] == "OPTIMAL" and "town_oslo" in fitted["coef"] and "owner_owner 1" not in fitted["coef"]
    assert run("groups", "check", "sales.csv", "draft.toml", "--target", "price").exit_code == 0
    lines = written.replace('"owner"]', "]").replace("[groups]", '[groups]\nowner = ["owner"]')
    Path("draft.toml").write_text(lines, encoding="utf-8")
    warned = run("fit", "sales.csv", "--target", "price", "--groups", "draft.toml")
    assert 'rows (60): "owner" (60)' in warned.stderr and warned.stderr.count("\n") == 1


@pytest.mark.parametrize(("line", "told"), [
    ('drop = "Id"', 'drop is not a list of columns; write drop = ["column", ...]'),
    ('encode = "dummies"', "encode = 'dummies' is not \"onehot\""),
    ('drop = ["Idd"]', 'draft.toml, drop: houses.csv has no column "Idd"'),
])
def test_what_a_groups_file_says_besides_is_checked(line: str, told: str, folder: Path) -> None:
    Path("draft.toml").write_text(line + "\n" + Path("groups.toml").read_text(encoding="utf-8"), encoding="utf-8")
    said = message(*FIT[:5], "draft.toml", *FIT[6:])
    assert told in said and said.count("\n") == 1


@pytest.mark.parametrize(("columns", "name"), [
    (["GarageCars", "GarageArea"], "Garage"), (["TotalBsmtSF", "BsmtFinSF1"], "Bsmt SF"), (["a", "b"], "like b"),
    (["sea_1", "sea_2"], "sea"), (["area", "area_2"], "like b"), (["b"], "b"),
])
def test_a_draft_is_named_after_what_its_columns_share(columns: list[str], name: str) -> None:
    assert group_drafts._name_of(columns, "b") == name


def test_shares_of_unlike_units_are_told(folder: Path) -> None:
    data = houses()
    data["area"] *= 1000
    data.to_csv("houses.csv", index=False)
    assert 'the features of "size" differ more than 100-fold' in " ".join(run(*FIT).stdout.split())
    assert "differ more than" not in run(*FIT, "--standardize").stdout
    assert re.search(r"area <1%", run(*FIT).stdout)


def test_check_tells_everything_at_once(folder: Path) -> None:
    data = houses()
    data["town"] = "oslo"
    data.to_csv("houses.csv", index=False)
    wrong = {
        "size": ["area", "romms"], "place": ["noise", "area"], "none": [], "odd": [f"wrong{j}" for j in range(8)],
        "late": ["price"],
    }
    text = "[groups]\n" + "\n".join(f"{name} = {json.dumps(members)}" for name, members in wrong.items())
    Path("bad.toml").write_text(text, encoding="utf-8")
    check = ("groups", "check", "houses.csv", "bad.toml", "--target", "price", "--weights", "times")
    told = message(*check)
    for problem in (
        'group "size": unknown column "romms"; did you mean "rooms"?',
        'column "area" is in group "size" and in group "place"',
        'group "none" is empty',
        'group "late": "price" is not among the features',
        *(f'unknown column "wrong{j}"' for j in range(8)),
        'in no group: "rooms", "distance", "age", "town": add them to a group, or leave them out with --drop',
        '1 column holds text: "town": use --encode onehot',
    ):
        assert problem in told, problem
    listed = run(*check, "--json")
    assert listed.exit_code == 2
    assert len(json.loads(listed.stdout)["problems"]) == told.count("\n- ") + 1
    asked = message("groups", "check", "houses.csv", "groups.toml")
    assert '"price"' in asked and "or name the target with --target" in asked
    assert "is a directory" in message("groups", "check", "houses.csv", ".")
    used = ("--target", "price", "--drop", "times", "--drop", "town")
    fine = run("groups", "check", "houses.csv", "groups.toml", *used)
    assert fine.exit_code == 0
    assert "5 columns in 3 groups: size (2), place (2), age (1)" in fine.stdout
    coded = run("groups", "check", "houses.csv", "groups.toml", *used[:4], "--encode", "onehot", "--ungrouped", "free")
    assert coded.exit_code == 0
    assert "did you mean" in message("groups", "check", "houses.csv", "groups.toml", *used, "--encode", "onehto")
    Path("twice.json").write_text('{"a": ["a*"], "a": ["[!a]*"]}', encoding="utf-8")
    assert '- 2 groups are called "a"' in message("groups", "check", "houses.csv", "twice.json", *used)
    Path("pattern.toml").write_text('[groups]\nsome = ["a*"]\nrest = ["[!a]*"]\n', encoding="utf-8")
    fine = run("groups", "check", "houses.csv", "pattern.toml", *used)
    assert "5 columns in 2 groups: some (2), rest (3)" in fine.stdout


@pytest.mark.parametrize(("member", "sizes"), [
    ('"town"', "(3)"), ('"town_*"', "(3)"), ('"town_oslo", "town_r*", "town_(missing)"', "(3)"), ('"t*"', "(3)"),
    ('"town_oslo", "town_rome"', ""), ('"tow?"', ""), ('"town_bonn"', ""),
])
def test_check_knows_codes_as_fit_does(member: str, sizes: str, folder: Path) -> None:
    data = houses(30)
    data["town"] = ["oslo", "rome", None] * 10
    data.to_csv("houses.csv", index=False)
    with Path("groups.toml").open("a", encoding="utf-8") as file:
        file.write(f"\ntown = [{member}]\n")
    coding = ("--encode", "onehot", "--missing", "mean")
    code = 0 if sizes else 2
    assert run(*FIT, *coding).exit_code == code
    check = ("groups", "check", "houses.csv", "groups.toml", "--target", "price", "--drop", "times", *coding)
    checked = run(*check)
    assert checked.exit_code == code, checked.output
    if sizes:
        assert f"8 columns in 4 groups: size (2), place (2), age (1), town {sizes}" in checked.stdout
    elif "oslo" in member:
        assert checked.stderr.count("in no group") == 1 and '"town_' in checked.stderr
        assert "values of text columns" in checked.stderr


@pytest.mark.parametrize(("columns", "told"), [
    ({"z": ["u", "v"], "z_u": [1, 2]}, 'column "z" has the value "u", whose code "z_u" is the name of another column'),
    ({"z_u": ["u", "v"], "z": ["u", "v"]},
     'column "z" has the value "u", whose code "z_u" is the name of another column'),
    ({"z_u": ["v"], "z": ["u_v"]}, 'column "z" has the value "u_v", whose code "z_u_v" is also that of "v" in column'),
    ({"z": ["(missing)", None]}, 'column "z" has the value "(missing)", which --missing mean calls its empty cells'),
])
def test_codes_that_cannot_be_told_apart_are_no_fault_of_the_groups(columns: dict, told: str, folder: Path) -> None:
    data = pd.DataFrame({name: values * (12 // len(values)) for name, values in columns.items()})
    data.assign(y=np.arange(12.0)).to_csv("z.csv", index=False)
    Path("z.toml").write_text(f"[groups]\nall = {json.dumps(list(columns))}\n", encoding="utf-8")
    coding = ("--target", "y", "--encode", "onehot", "--missing", "mean")
    assert f"error: z.csv: {told}" in message("fit", "z.csv", "--groups", "z.toml", *coding)
    assert f"error: z.csv: {told}" in message("groups", "check", "z.csv", "z.toml", *coding)


def test_demo(folder: Path) -> None:
    told = document("demo")
    assert told["status"] == "OPTIMAL"
    assert told["audit_passed"]
    assert told["groups"]["body"]["sign"] == 1
    shown = run("demo")
    assert shown.exit_code == 0
    assert "triglycerides" in shown.stdout and "audit passed" in words(shown.stdout)


# Help


@pytest.mark.parametrize("command", [
    ["--help"], ["fit", "--help"], ["predict", "--help"], ["explain", "--help"], ["compare", "--help"],
    ["groups", "init", "--help"], ["groups", "check", "--help"], ["demo", "--help"], ["verify", "--help"],
], ids=" ".join)
def test_help_has_examples(command: list[str]) -> None:
    shown = run(*command)
    assert shown.exit_code == 0
    assert re.search(r"partls (fit|predict|explain|compare|groups|demo|verify)", shown.stdout)


@pytest.mark.parametrize(("option", "expected"), [
    ("fit --relaxation", {"active-set", "unconstrained", "perspective"}),
    ("compare --relaxation", {"active-set", "unconstrained", "perspective"}),
    ("fit --ungrouped", {"error", "free"}),
])
def test_the_shell_completes(option: str, expected: set[str]) -> None:
    root = str(Path(__file__).parents[1])
    code = "import sys; sys.argv = ['partls']; from partls.cli import main; main()"
    words = {"_PARTLS_COMPLETE": "complete_bash", "COMP_WORDS": f"partls {option} ", "COMP_CWORD": "3"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": root, **words}, timeout=120
    )
    assert expected <= set(done.stdout.split()), done.stderr


def test_text_that_looks_like_numbers_in_new_data_is_still_text(folder: Path) -> None:
    Path("codes.csv").write_text("a,z,y\n1,1,1\n2,2,2\n3,x,9\n4,1,4\n5,x,11\n", encoding="utf-8")
    Path("new.csv").write_text("a,z\n1,1\n2,2\n4,1\n", encoding="utf-8")
    Path("codes.toml").write_text('[groups]\np=["a"]\nk=["z"]\n', encoding="utf-8")
    fit = ("fit", "codes.csv", "--target", "y", "--groups", "codes.toml", "--encode", "onehot", "--out", "codes.json")
    assert run(*fit).exit_code == 0
    all_rows = document("predict", "codes.json", "codes.csv")["predictions"]
    assert document("predict", "codes.json", "new.csv")["predictions"] == [all_rows[i] for i in (0, 1, 3)]


def test_signs_known_beforehand_hold_in_the_model_its_file_and_its_proof(folder: Path) -> None:
    known = ("--signs", "age=+", "--signs", "place=-")
    told = document(*FIT, *known, "--out", "model.json", "--certificate", "proof.json")
    assert told["groups"]["age"]["sign"] >= 0 > told["groups"]["place"]["sign"]
    assert told["objective"] > document(*FIT)["objective"]
    assert document("verify", "proof.json", "houses.csv")["problem"]["signs"] == "0-+"
    assert run("verify", "proof.json", "houses.csv", *known).exit_code == 0
    assert "not 00+" in run("verify", "proof.json", "houses.csv", "--signs", "age=+").stderr
    certainty = document("explain", "model.json", "houses.csv")["sign_certainty"]
    assert all(row["flipped_objective"] >= told["objective"] * (1 - 1e-9) for row in certainty["rows"])


@pytest.mark.parametrize(("given", "told"), [
    (("ages=+",), '--signs: there is no group "ages"; did you mean "age"?'),
    (("age",), "--signs age must be GROUP=+ or GROUP=-"),
    (("age=+", "age=-"), "--signs gives group 'age' twice: keep one of them"),
], ids=str)
def test_wrong_signs_are_refused_in_one_line(given: tuple[str, ...], told: str, folder: Path) -> None:
    said = message(*FIT, *[part for sign in given for part in ("--signs", sign)])
    assert told in said and said.count("\n") == 1


def test_the_demo_has_the_rows_of_scikit_learn_with_or_without_importing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = load_diabetes(return_X_y=True)
    for spec in (demo.find_spec("sklearn"), None):
        monkeypatch.setattr(demo, "find_spec", lambda name, spec=spec: spec)
        rows, target = demo._rows()
        np.testing.assert_allclose(rows, X, atol=1e-15)
        np.testing.assert_array_equal(target, y)


def test_the_page_of_the_demo_lies_in_this_folder_and_replaces_no_file_of_others(folder: Path) -> None:
    for _ in range(2):  # the second replaces the first
        assert str(folder / "partls-demo.html") in run("demo").stdout.splitlines()[-1]
    Path("partls-demo.html").write_text("notes", encoding="utf-8")
    assert message("demo") == (
        "error: partls-demo.html is not a page of partls demo: move it, or give --report another name\n"
    )
    assert Path("partls-demo.html").read_text(encoding="utf-8") == "notes"


def test_the_demo_opens_its_page(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert run("demo", "--open").exit_code == 0
    assert opened == [(folder / "partls-demo.html").as_uri()]


@pytest.mark.parametrize(("arguments", "told"), [
    (("fit", "groups.toml", *FIT[2:4], "--groups", "houses.csv"), "groups.toml is a groups file: the order is"),
    (("groups", "check", "groups.toml", "houses.csv"), "groups.toml is a groups file: the order is partls groups"),
    (("predict", "houses.csv", "model.json"), "model.json is a saved model: the order is partls predict MODEL DATA"),
    (("explain", "houses.csv", "model.json"), "model.json is a saved model: the order is partls explain MODEL DATA"),
    (("verify", "houses.csv", "proof.json"), "proof.json is a certificate: the order is partls verify"),
], ids=str)
def test_swapped_arguments_are_recognised(arguments: tuple[str, ...], told: str, folder: Path) -> None:
    document(*FIT, "--out", "model.json", "--certificate", "proof.json")
    said = message(*arguments)
    assert told in said and said.count("\n") == 1


@pytest.mark.parametrize(("arguments", "told"), [
    (["fit"], "error: missing argument 'DATA'; see partls fit --help\n"),
    (["fit", "houses.csv", "--bogus"], "error: no such option: --bogus"),
    (["fitt"], "error: no such command 'fitt'"),
    (["groups"], "error: missing command; see partls groups --help\n"),
], ids=str)
def test_what_the_parser_refuses_is_told_as_all_errors_are(arguments: list[str], told: str) -> None:
    code = f"import sys; sys.argv = ['partls', *{arguments!r}]; from partls.cli import main; main()"
    root = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": root},
        timeout=120, check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(told) and done.stderr.count("\n") == 1


def test_predictions_keep_identifiers_and_show_what_each_group_adds(folder: Path) -> None:
    data = houses()
    data.loc[3, "area"] = np.nan
    data["code"] = [f"00{j}, \"x\"" if j == 5 else f"00{j}" for j in range(80)]
    data.to_csv("houses.csv", index=False)
    document(*FIT, "--drop", "code", "--missing", "drop", "--out", "model.json")
    wanted = ("predict", "model.json", "houses.csv", "--keep", "code", "--contributions")
    for name, read in (("p.csv", lambda p: pd.read_csv(p, dtype={"code": str})), ("p.parquet", pd.read_parquet)):
        assert run(*wanted, "--out", name).exit_code == 0
        table = read(name)
        assert list(table.columns) == [
            "code", "predicted price", *(f"contribution of {group}" for group in GROUPS), "intercept"
        ]
        assert table["code"].tolist() == data["code"].tolist()
        assert np.flatnonzero(table["predicted price"].isna()).tolist() == [3]
        whole = table.dropna()
        np.testing.assert_allclose(whole.iloc[:, 2:].sum(axis=1), whole["predicted price"], rtol=1e-12)
    told = document(*wanted)
    assert told["rows"] == 80 and told["predictions"][3] is None
    assert told["columns"]["code"][5] == data["code"][5]
    assert "has no column" in message(*wanted, "--keep", "cod")
    data.rename(columns={"code": "intercept"}).to_csv("houses.csv", index=False)
    assert "the output has a column of this name" in message(*wanted[:3], "--keep", "intercept", "--contributions")


def test_values_too_large_are_not_called_infinite(folder: Path) -> None:
    data = houses()
    data.loc[4, "area"] = 1e200
    data.to_csv("houses.csv", index=False)
    assert message(*FIT) == (
        'error: houses.csv has values beyond 1e+150: "area" 1, the first in row 5; correct them, or --drop the column\n'
    )


@pytest.mark.parametrize("method", ["bnb", "enumerate"])
def test_a_fit_through_cvxpy_is_the_same(method: str, folder: Path) -> None:
    compiled = document(*FIT, "--method", method)
    conic = document(*FIT, "--method", method, "--backend", "cvxpy", "--solver", "CLARABEL", "--out", f"{method}.json")
    assert conic["objective"] == pytest.approx(compiled["objective"], rel=1e-9)
    assert '"solver": "CLARABEL"' in Path(f"{method}.json").read_text(encoding="utf-8")
    assert "Solver for backend=" in " ".join(run("fit", "--help").stdout.replace("│", " ").split())
    assert message(*FIT, "--solver", "SCS") == "error: --solver needs --backend cvxpy\n"
    assert "is not installed; CVXPY has" in message(*FIT, "--backend", "cvxpy", "--solver", "NOSUCH")
    assert "--backend gpu is not one of kernel, cvxpy" in message(*FIT, "--backend", "gpu")


def test_text_dates_and_gaps_are_told_at_once(folder: Path) -> None:
    data = houses().assign(town="Bath", day=pd.Timestamp("2024-05-17"))
    data.loc[3, "area"] = np.nan
    data.to_csv("houses.csv", index=False)
    told = message(*FIT)
    assert [line.split(";")[0] for line in told.splitlines()] == [
        "error: houses.csv: 3 problems", '  - 1 column holds text: "town"', '  - 1 column holds dates: "day"',
        '  - missing values: "area" 1',
    ]
    assert "--encode onehot" in told and "--drop" in told and "--missing mean" in told
