"""Every public function and class says what it takes, returns and raises, and has an example that runs."""

from __future__ import annotations

import ast
import doctest
import inspect
import textwrap
from dataclasses import is_dataclass
from enum import Enum
from typing import Any

import pytest
from numpydoc.docscrape import NumpyDocString, get_doc_object
from numpydoc.validate import Validator, validate

import formulations
import partls
import partls.testing
import relaxations

OPTIONAL = {
    "ES01",  # a second paragraph
    "PR04",  # types: the signature has them
    "SA01",  # a section "See also"
}
FORM = ("GL", "SS")  # what a method's docstring is held to


def public() -> dict[str, Any]:
    """Return every public function and class once, under the name of the package that users import it from."""
    found: dict[int, tuple[str, Any]] = {}
    for package in (formulations, relaxations, partls, partls.testing):
        for name in package.__all__:
            thing = getattr(package, name)
            if inspect.isclass(thing) or inspect.isroutine(thing):
                found[id(thing)] = (f"{package.__name__}.{name}", thing)
    return dict(sorted(found.values()))


PUBLIC = public()
METHODS = sorted(
    f"{name}.{member}"
    for name, thing in PUBLIC.items()
    if inspect.isclass(thing)
    for member, value in vars(thing).items()
    if member[0] != "_" and (inspect.isfunction(value) or isinstance(value, classmethod | staticmethod))
)


class WithSource(Validator):
    """The docstring of a public name; its source may be out of reach, as of a composite strategy of Hypothesis."""

    def __init__(self, obj_name: str) -> None:
        thing = PUBLIC.get(obj_name)  # partls.solve is a module, too
        super().__init__(get_doc_object(self._load_obj(obj_name) if thing is None else thing))

    @property
    def method_source(self) -> str:
        try:
            return super().method_source
        except OSError:
            return ""


def faults(name: str) -> list[str]:
    return [f"{code} {text}" for code, text in validate(name, WithSource)["errors"] if code not in OPTIONAL]


def signature_is_generic(thing: Any) -> bool:
    """Tell whether the arguments of a class are not its own: those of an enum, an exception or a protocol."""
    return inspect.isclass(thing) and (issubclass(thing, Enum | Exception) or getattr(thing, "_is_protocol", False))


@pytest.mark.parametrize("name", PUBLIC)
def test_the_docstring_is_complete(name):
    thing, wrong = PUBLIC[name], faults(name)
    attributes = NumpyDocString(inspect.getdoc(thing))["Attributes"]
    if attributes and (is_dataclass(thing) or issubclass(thing, tuple)):  # a result: its fields are attributes
        described = {part for names, *_ in attributes for part in names.split(", ")}
        fields = {field for field in inspect.signature(thing).parameters if field[0] != "_"}
        assert fields - described == set()
        wrong = [fault for fault in wrong if not fault.startswith("PR01")]
    if signature_is_generic(thing):
        wrong = [fault for fault in wrong if not fault.startswith("PR0")]
    assert wrong == []


@pytest.mark.parametrize("name", METHODS)
def test_the_docstring_of_a_method_has_the_form(name):
    assert [fault for fault in faults(name) if fault.startswith(FORM)] == []


def raises(function: Any) -> bool:
    """Tell whether the function itself raises an exception of its own."""
    try:
        source = inspect.getsource(inspect.unwrap(function))
    except OSError:  # a composite strategy of Hypothesis
        return False
    nodes = ast.walk(ast.parse(textwrap.dedent(source)))
    return any(isinstance(node, ast.Raise) and node.exc is not None for node in nodes)


FOR_USERS = [
    f"partls.{kind.__name__}.{name}"
    for kind in (partls.PartLSRegressor, partls.Result)
    for name in dir(kind)
    if name[0] != "_" and not name.startswith("plot_")
    and getattr(inspect.unwrap(getattr(kind, name)), "__module__", "").startswith("partls")
    and inspect.isroutine(getattr(kind, name))
]


@pytest.mark.parametrize("name", FOR_USERS)
def test_a_method_for_users_says_what_it_takes_and_returns(name):
    assert [fault for fault in faults(name) if not fault.startswith("EX01")] == []


def test_a_function_that_raises_says_so():
    raising = [name for name, thing in PUBLIC.items() if inspect.isroutine(thing) and raises(thing)]
    assert len(raising) > 5
    assert [name for name in raising if not NumpyDocString(inspect.getdoc(PUBLIC[name]))["Raises"]] == []


@pytest.mark.parametrize("name", PUBLIC)
def test_the_example_runs(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    examples = doctest.DocTestParser().get_doctest(inspect.getdoc(PUBLIC[name]), {}, name, None, None)
    assert examples.examples
    outcome = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples)
    assert outcome.failed == 0, capsys.readouterr().out
