"""Options that several commands share: in the signature of a command, a dataclass stands for all its fields."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_type_hints


def unbundled(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with the fields of its bundles as parameters, which is what typer reads options from."""
    hints = get_type_hints(command, include_extras=True)
    given = inspect.signature(command).parameters
    bundles = {name: hints[name] for name in given if is_dataclass(hints[name])}
    parameters: list[inspect.Parameter] = []
    for name, parameter in given.items():
        if name in bundles:
            parameters += _fields(bundles[name])
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))

    @functools.wraps(command)
    def run(**values: Any) -> None:
        for name, bundle in bundles.items():
            values[name] = bundle(**{field.name: values.pop(field.name) for field in fields(bundle)})
        command(**values)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _fields(bundle: type[Any]) -> list[inspect.Parameter]:
    hints = get_type_hints(bundle, include_extras=True)
    return [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, annotation=hints[field.name],
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
        )
        for field in fields(bundle)
    ]
