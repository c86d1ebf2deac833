"""Find the members: every module in ``datasets``, ``methods`` and ``studies``, by being there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

import benchmarks.datasets
import benchmarks.methods
import benchmarks.studies
from benchmarks.contract import Method, Problem


def datasets() -> dict[str, Callable[..., Problem]]:
    """Return ``make(seed=..., **settings)`` of each dataset, by the name of its file."""
    return {_name(module): module.make for module in _modules(benchmarks.datasets)}


def methods() -> dict[str, type[Method]]:
    """Return the method classes by their names."""
    return {cls.name: cls for module in _modules(benchmarks.methods) for cls in _classes(module)}


def studies() -> dict[str, ModuleType]:
    """Return the study modules by the names of their files."""
    return {_name(module): module for module in _modules(benchmarks.studies)}


def _modules(package: ModuleType) -> Iterator[ModuleType]:
    for info in iter_modules(package.__path__):
        if not info.name.startswith("_"):
            yield import_module(f"{package.__name__}.{info.name}")


def _classes(module: ModuleType) -> Iterator[type[Method]]:
    for value in vars(module).values():
        own = isinstance(value, type) and value.__module__ == module.__name__
        if own and issubclass(value, Method) and "name" in vars(value):
            yield value


def _name(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]
