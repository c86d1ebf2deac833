"""Tall data are compressed on the workers, and large trees survive faults of a cluster: here one of two processes."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from distributed import Client, LocalCluster
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

import formulations.rows.blocks
import partls
from partls import InvalidInput, Status, WorkersLost
from partls.cli import training_data
from partls.parallel import dask_cluster, remote_pool
from partls.search import dispatch, node_bound
from tests.families import FAMILIES, correlated
from tests.test_cli import FIT, document, folder, houses, message  # noqa: F401 -- a fixture
from tests.test_executors import alone, small_tasks, solved  # noqa: F401 -- a fixture
from tests.test_limits import fingerprint
from tests.tolerances import OPTIMUM, VANISHING

GROUPS = [0, 0, 0, 1, 1, 2, 2]
PROBLEMS: tuple[dict[str, Any], ...] = (
    {}, {"eta": 2.0}, {"eta": 2.0, "penalty": "l1"}, {"fit_intercept": False}, {"eta": 2.0, "penalize_intercept": True},
)

# Tall data


def cut(draw: Callable[..., Any], n_rows: int) -> tuple[int, ...]:
    """Draw the sizes of blocks that make up all rows."""
    cuts = sorted(draw(st.sets(st.integers(1, n_rows - 1), max_size=6))) if n_rows > 1 else []
    return tuple(np.diff([0, *cuts, n_rows]).tolist())


@settings(max_examples=25)
@given(data=st.data())
def test_any_chunking_has_the_objective_of_the_rows_in_memory(data: st.DataObject) -> None:
    family = data.draw(st.sampled_from(sorted(FAMILIES)))
    case = FAMILIES[family](data.draw(st.integers(0, 50)))
    options = {"ungrouped": "free", **case.options, **data.draw(st.sampled_from(PROBLEMS))}
    weights = options.pop("sample_weight", None)
    if data.draw(st.booleans()):
        weights = np.random.default_rng(1).random(len(case.y)) + 0.1
    columns = data.draw(st.integers(1, case.X.shape[1]))
    X = da.from_array(case.X, chunks=(cut(data.draw, len(case.y)), columns))
    y = da.from_array(case.y, chunks=(cut(data.draw, len(case.y)),))
    w = weights if weights is None or data.draw(st.booleans()) else da.from_array(np.asarray(weights), chunks=3)
    with dask.config.set(scheduler="synchronous"):
        tall = partls.solve(X, y, case.labels, sample_weight=w, **options)
    whole = partls.solve(case.X, case.y, case.labels, sample_weight=weights, **options)
    size = float(np.square(case.y) @ (np.ones(len(case.y)) if weights is None else np.asarray(weights)))
    assert abs(tall.objective - whole.objective) <= OPTIMUM * whole.objective + VANISHING * size
    assert whole.instance.objective(tall.coef, tall.intercept) <= whole.objective * (1 + OPTIMUM) + VANISHING * size


def table(n_rows: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 7)) + 50, columns=list("abcdefg"))
    frame["y"], frame["w"] = frame @ rng.normal(size=7) + rng.normal(size=n_rows), rng.random(n_rows)
    return frame


def test_frames_series_and_several_targets() -> None:
    frame = table()
    blocks = dd.from_pandas(frame, npartitions=5)
    features, targets = list("abcdefg"), ["y", "w"]
    tall = partls.PartLSRegressor(GROUPS).fit(blocks[features], blocks[targets])
    whole = partls.PartLSRegressor(GROUPS).fit(frame[features], frame[targets])
    assert tall.feature_names_in_.tolist() == features
    np.testing.assert_allclose(tall.objective_, whole.objective_, rtol=OPTIMUM)
    np.testing.assert_allclose(tall.predict(frame[features]), whole.predict(frame[features]), rtol=1e-9)
    mixed = partls.solve(blocks[features], frame["y"].to_numpy(), GROUPS, sample_weight=blocks["w"])
    weighted = partls.solve(frame[features], frame["y"], GROUPS, sample_weight=frame["w"])
    assert mixed.objective == pytest.approx(weighted.objective, rel=OPTIMUM)
    assert (len(mixed.instance.X), mixed.instance.n_rows) == (17, 400)  # few rows stand for all
    kept = blocks[blocks["a"] > frame["a"].quantile(0.9)]  # blocks of unknown lengths, some of them empty
    some = frame[frame["a"] > frame["a"].quantile(0.9)]
    filtered = partls.solve(kept[features], kept["y"], GROUPS, sample_weight=kept["w"])
    assert filtered.objective == pytest.approx(
        partls.solve(some[features], some["y"], GROUPS, sample_weight=some["w"]).objective, rel=OPTIMUM
    )


def test_a_folder_of_parquet_files(tmp_path: Path) -> None:
    frame = table().assign(year=np.arange(400) % 3 + 2020)
    rows = pa.Table.from_pandas(frame, preserve_index=False)
    parquet.write_to_dataset(rows, tmp_path / "rows", partition_cols=["year"])
    groups = {"p": ["a", "b", "c"], "q": ["d", "e", "year"], "r": ["f", "g"]}
    tall = partls.PartLSRegressor(groups).fit(tmp_path / "rows", "y", sample_weight="w")
    whole = partls.PartLSRegressor(groups).fit(frame.drop(columns=["y", "w"]), frame["y"], sample_weight=frame["w"])
    assert tall.objective_ == pytest.approx(whole.objective_, rel=OPTIMUM)
    np.testing.assert_array_equal(tall.signs_, whole.signs_)
    for arguments, told in ((("no", "y"), "no such file"), ((tmp_path / "rows", "z"), "y='z' must be a column"),
                            ((tmp_path / "rows", frame["y"]), "must be a column"), ((tmp_path, 3), "y=3")):
        with pytest.raises(InvalidInput, match=told):
            partls.solve(*arguments, groups)


def spoiled(**cells: tuple[int, Any]) -> dd.DataFrame:
    frame = table()
    for column, (count, value) in cells.items():
        frame.loc[frame.index[::7][:count], column] = value
    return dd.from_pandas(frame, npartitions=4)


@pytest.mark.parametrize(("blocks", "told"), [
    (spoiled(c=(3, np.nan), y=(1, np.nan)), r'missing values: "c" 3, "y" 1 \(of 400 rows\)'),
    (spoiled(w=(2, np.nan)), 'missing values: "sample_weight" 2'),
    (spoiled(a=(5, np.inf), g=(9, -np.inf)), 'infinite values: "g" 9, "a" 5'),
    (spoiled(w=(4, -1.0)), "sample_weight is negative in 4 row"),
    (spoiled(w=(400, 0.0)).assign(w=0.0), "no rows with a weight above zero"),
    (spoiled().assign(b="text"), 'X: 1 column holds no numbers: "b"'),
    (spoiled().assign(y="text"), "y holds .*, not numbers"),
])  # fmt: skip
def test_what_is_wrong_is_told_by_column_and_count(blocks: dd.DataFrame, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        partls.solve(blocks[list("abcdefg")], blocks["y"], GROUPS, sample_weight=blocks["w"])


def test_shapes_that_do_not_fit_are_refused() -> None:
    X, y = da.ones((10, 7), chunks=(5, 7)), da.ones(9, chunks=3)
    for arguments, told in (((X, y), r"y has 9 values but X has 10"), ((X, np.ones(9)), "y has 9 value"),
                            ((X[:, 0], y), "1-dimensional"), ((X[:0], y[:0]), "empty"),
                            ((X, dd.from_array(np.ones(10), chunksize=2)), "5 block.*2: repartition"),
                            ((X, dd.from_array(np.ones(10), chunksize=6)), r"a block of y has [46] value")):
        with pytest.raises(InvalidInput, match=told):
            partls.solve(*arguments, GROUPS)
    for weights, told in ((["a"] * 10, "sample_weight holds .*, not numbers"), (da.ones((10, 2)), "one-dimensional"),
                          (np.ones(9), r"sample_weight has 9 values"), (np.ones((10, 1)), "one-dimensional")):
        with pytest.raises(InvalidInput, match=told):
            partls.solve(X, np.ones(10), GROUPS, sample_weight=weights)


def test_without_dask_the_message_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet.write_table(pa.Table.from_pandas(table()), tmp_path / "rows.parquet")
    monkeypatch.setattr(formulations.rows.blocks, "import_module", lambda name: __import__(f"no_{name}"))
    with pytest.raises(InvalidInput, match=r"pip install 'partls\[dask\]'"):
        partls.solve(tmp_path / "rows.parquet", "y")


# Large trees


def new_cluster() -> LocalCluster:
    return LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL,
    )


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with new_cluster() as cluster:
        yield cluster


@pytest.fixture
def client(cluster: LocalCluster, small_tasks: None) -> Iterator[Client]:  # noqa: F811
    with Client(cluster) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


def once(act: Callable[[], Any], after: int = 300) -> Callable[[Any], bool]:
    """Return an observer that acts when so many nodes have been explored."""
    done: list[int] = []

    def observe(state: Any) -> bool:
        if state.nodes > after and not done:
            done.append(state.nodes)
            act()
        return False

    observe.done = done  # type: ignore[attr-defined]
    return observe


def test_a_cluster_explores_the_same_tree_and_folds_tall_data(client: Client) -> None:
    assert fingerprint(solved(executor=client)) == alone()
    assert fingerprint(solved(executor=client, node_limit=700)) == fingerprint(solved(node_limit=700))
    frame = table()
    blocks = dd.from_pandas(frame, npartitions=9)
    tall = partls.solve(blocks[list("abcdefg")], blocks["y"], GROUPS, executor=client)
    whole = partls.solve(frame[list("abcdefg")], frame["y"], GROUPS)
    assert tall.objective == pytest.approx(whole.objective, rel=OPTIMUM)


def test_a_killed_worker_costs_nothing_but_time(client: Client) -> None:
    victim = next(iter(client.run(os.getpid).values()))
    kill = once(lambda: os.kill(victim, signal.SIGKILL))
    assert fingerprint(solved(executor=client, progress=kill)) == alone()
    assert kill.done  # type: ignore[attr-defined]


def test_a_proof_covers_what_a_killed_worker_had_in_hand(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_bound, "_DEPTH_FIRST_BUDGET", 2)
    monkeypatch.setattr(node_bound, "_STRENGTHEN_AFTER", 4)
    monkeypatch.setattr(dispatch, "_ROUND", 3)
    case = correlated(3, n_rows=40, n_columns=24, n_groups=12)
    victim = next(iter(client.run(os.getpid).values()))
    kill = once(lambda: os.kill(victim, signal.SIGKILL), after=8)
    result = solved(case, executor=client, progress=kill, certificate=tmp_path / "proof.json")
    assert kill.done  # type: ignore[attr-defined]
    assert result.status is Status.OPTIMAL
    assert fingerprint(result) == fingerprint(solved(case))
    verified = partls.verify(tmp_path / "proof.json", case.X, case.y, case.labels)
    assert verified.objective == pytest.approx(result.objective)


def test_a_worker_added_on_the_way_takes_part(
    cluster: LocalCluster, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers: set[str] = set()
    waited = remote_pool.RemotePool.wait

    def noting(pool: Any, handle: Any, seconds: float) -> Any:
        result = waited(pool, handle, seconds)
        workers.update([handle[0].result.worker] if result is not None else [])
        return result

    def add() -> None:
        cluster.scale(3)
        client.wait_for_workers(3, timeout=60)

    monkeypatch.setattr(remote_pool.RemotePool, "wait", noting)
    before = set(client.nthreads())
    assert fingerprint(solved(executor=client, progress=once(add))) == alone()
    assert set(client.nthreads()) - before <= workers
    cluster.scale(2)


def test_a_worker_with_another_version_is_refused_by_name(client: Client) -> None:
    address = next(iter(client.nthreads()))

    def pretend(version: str) -> None:
        import_module("partls.parallel.remote_worker").version = lambda name: version

    client.run(pretend, "9.9", workers=[address])
    with pytest.raises(InvalidInput, match=rf"worker {address} has partls 9.9, .* with partls {partls.__version__}"):
        solved(executor=client)
    client.run(pretend, partls.__version__, workers=[address])
    assert fingerprint(solved(executor=client)) == alone()


def test_after_a_lost_scheduler_the_checkpoint_goes_on(tmp_path: Path, small_tasks: None) -> None:  # noqa: F811
    path = tmp_path / "run.ckpt"
    quickly = {"distributed.comm.timeouts.connect": "1s"}  # a client looks for its lost scheduler for so long
    with dask.config.set(quickly), new_cluster() as cluster, Client(cluster, timeout="1s") as client:
        close = once(lambda: cluster.sync(cluster.scheduler.close))
        with pytest.raises(WorkersLost, match=r"the Dask cluster at tcp://127.0.0.1:\d+ is gone .*checkpoint"):
            solved(executor=client, progress=close, checkpoint=path)
    result = solved(checkpoint=path)
    assert result.status is Status.OPTIMAL
    assert result.n_nodes >= close.done[0]  # type: ignore[attr-defined]
    assert fingerprint(result)[0] == alone()[0]


def test_that_all_workers_are_gone_is_said_at_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, small_tasks: None,  # noqa: F811
) -> None:
    monkeypatch.setattr(dask_cluster, "_PATIENCE", 1.0)
    with new_cluster() as cluster, Client(cluster) as client:
        leave = once(lambda: cluster.scale(0))
        with pytest.raises(WorkersLost, match=r"has had no workers for 1 s: start some and run again; with checkpoint"):
            solved(executor=client, progress=leave)
        assert [told for told in caplog.messages if "has no workers: waiting 1 s for one to come" in told]
        with pytest.raises(WorkersLost, match="has had no workers"):  # there were none to begin with
            solved(executor=client)
        with pytest.raises(WorkersLost, match="has had no workers"):
            training_data._result(client.submit(abs, -1), client)


# The command line


def test_the_command_line_folds_files_and_searches_on_a_cluster(
    folder: Path, client: Client, cluster: LocalCluster  # noqa: F811
) -> None:
    address = cluster.scheduler_address
    for i in range(3):
        part = pa.Table.from_pandas(houses()[i::3], preserve_index=False)
        (folder / "rows").mkdir(exist_ok=True)
        parquet.write_table(part, folder / "rows" / f"{i}.parquet")
    command = ("fit", folder / "rows", *FIT[2:])
    alone, here, there = document(*FIT), document(*command), document(*command, "--scheduler", address)
    assert there["folded"] and not here["folded"]
    assert there["rows"] == here["rows"] == alone["rows"] == 80
    for told in (here, there):
        assert told["objective"] == pytest.approx(alone["objective"], rel=OPTIMUM)
    for column, row, value, option, told in (
        ("noise", 3, np.nan, "--drop", '"noise" 1 (of 80 rows)'), ("times", 60, -3, "--weights", "row 61 is -3"),
    ):  # fmt: skip
        bad = houses()
        bad.loc[row, column] = value
        parquet.write_table(pa.Table.from_pandas(bad), folder / "bad.parquet")
        command = ("fit", folder / "bad.parquet", *FIT[2:-2], option, "times", "--scheduler", address)
        assert told in message(*command)
    before = dask.config.get("scheduler", None)
    assert "no Dask scheduler answers" in message(*FIT, "--scheduler", "nonsense://127.0.0.1:1")
    assert dask.config.get("scheduler", None) == before
