"""A pytest plugin that lists, in the file named by SKIPPED_TESTS, each skipped test that was not allowed to skip.

The last line counts the tests that ran, so that an empty run is told from a clean one.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Need something that a machine may lack: a web browser, another solver. MUST_RUN names those that it does not lack.
MAY_SKIP = {"browser", "peers"} - set(os.environ.get("MUST_RUN", "").split())

_skipped: list[str] = []
_ran: set[str] = set()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and not MAY_SKIP & set(report.keywords):
        _skipped.append(f"{report.nodeid}: {_reason(report)}")
    if report.when == "call" and not report.skipped:
        _ran.add(report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.skipped:
        _skipped.append(f"{report.nodeid}: {_reason(report)} (the whole module)")


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):  # the controlling process hears every worker
        Path(os.environ["SKIPPED_TESTS"]).write_text("\n".join([*sorted(set(_skipped)), f"{len(_ran)} ran", ""]))


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    if getattr(report, "wasxfail", None) is not None:
        return f"expected to fail: {report.wasxfail}"
    return report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
