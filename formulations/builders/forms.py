"""All forms of the problem: the table of the guide, generated from the builders."""

from __future__ import annotations

from collections.abc import Sequence

from formulations.builders.bilinear import FORM as BILINEAR
from formulations.builders.form import Form
from formulations.builders.miqp import FORM as MIQP
from formulations.builders.partls import ALPHA_FIXED, BETA_FIXED
from formulations.builders.partls_b import FORM as PARTLS_B
from formulations.builders.perspective import FORM as PERSPECTIVE
from formulations.builders.quadratic import FORM as QUADRATIC
from formulations.builders.shor import FORM as SHOR
from formulations.builders.shor_dual import FORM as SHOR_DUAL
from formulations.builders.split_dnn import FORM as SPLIT_DNN

FORMS: tuple[Form, ...] = (
    BILINEAR, ALPHA_FIXED, BETA_FIXED, PARTLS_B, MIQP, QUADRATIC, PERSPECTIVE, SHOR, SHOR_DUAL, SPLIT_DNN,
)


def forms_table() -> str:
    """Return the forms as a table in Markdown: what is printed, what is exact, then the bounds from weak to strong."""
    headers = ("form", "builder", "variables", "cone", "size", "what it proves", "solvers", "use it")
    return _table(headers, [
        (form.name, f"`{form.builder}`", form.variables, form.cone, form.size, form.proves, form.solvers, form.use)
        for form in FORMS
    ])


def strategies_table() -> str:
    """Return which strategy composes each builder, as a table in Markdown."""
    return _table(("builder", "strategy that uses it"), [(f"`{form.builder}`", form.strategy) for form in FORMS])


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = (headers, ["---"] * len(headers), *rows)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
