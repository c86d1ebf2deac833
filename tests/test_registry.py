"""Every relaxation in the tree can be had by name: a new file that nobody registered is found here."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module
from types import ModuleType

import numpy as np
import pytest

import relaxations
from formulations import Instance
from relaxations import MEMBERS, Bounder, Relaxation, named


def modules() -> list[ModuleType]:
    found = [info.name for info in pkgutil.walk_packages(relaxations.__path__, "relaxations.") if not info.ispkg]
    return [import_module(name) for name in found if not name.startswith("relaxations.kernel.")]


def unregistered(module: ModuleType) -> list[str]:
    """Return the public relaxations of a module that are not exported; all of them if none has a name to call it by."""
    found = [
        name
        for name, member in inspect.getmembers(module, inspect.isclass)
        if member.__module__ == module.__name__
        and not name.startswith("_")
        and not getattr(member, "_is_protocol", False)
        and callable(getattr(member, "prepare", None))
    ]
    named_ones = [member for home, member in MEMBERS.values() if f"relaxations.{home}" == module.__name__]
    takes_others = module.__name__.startswith(("relaxations.policies.", "relaxations.plugged."))
    known = relaxations.__all__ if named_ones or takes_others else []
    return [name for name in found if name not in known]


def test_every_relaxation_is_registered() -> None:
    assert {module.__name__: names for module in modules() if (names := unregistered(module))} == {}


def test_a_forgotten_relaxation_is_found() -> None:
    module = ModuleType("relaxations.forgotten")
    source = "class ForgottenRelaxation:\n    name = 'forgotten'\n    def prepare(self, instance): ...\n"
    exec(source, module.__dict__)
    assert unregistered(module) == ["ForgottenRelaxation"]


def test_every_exported_name_can_be_had() -> None:
    for name in relaxations.__all__:
        assert getattr(relaxations, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'shorr'"):
        _ = relaxations.shorr  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", MEMBERS)
def test_a_member_bears_its_name_and_is_exported(name: str) -> None:
    member = named(name)
    assert member.name == name
    assert isinstance(member, Relaxation)
    assert type(member).__name__ in relaxations.__all__
    rng = np.random.default_rng(0)
    bounder = member.prepare(Instance(rng.normal(size=(12, 4)), rng.normal(size=12), [0, 0, 1, 1]))
    assert isinstance(bounder, Bounder)
