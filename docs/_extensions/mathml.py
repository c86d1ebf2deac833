"""Formulas as MathML, which browsers draw themselves: no script, no font and no network."""

from __future__ import annotations

from docutils import nodes
from docutils.utils.math import MathError, pick_math_environment
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)


def visit_inline(self, node: nodes.math) -> None:
    self.body.append(_mathml(node, block=False))
    raise nodes.SkipNode


def visit_block(self, node: nodes.math_block) -> None:
    number = f'<span class="eqno">({node["number"]})</span>' if node["number"] else ""
    ids = f' id="{node["ids"][0]}"' if node["ids"] else ""
    self.body.append(f'<div class="formula"{ids}>{_mathml(node, block=True)}{number}</div>\n')
    raise nodes.SkipNode


def _mathml(node: nodes.math | nodes.math_block, *, block: bool) -> str:
    source = node.astext()
    if block:
        environment = pick_math_environment(source).rstrip("*")
        if environment.startswith("align"):
            source = rf"\begin{{aligned}}{source}\end{{aligned}}"
    try:
        return tex2mathml(source, as_block=block)
    except MathError as error:
        logger.warning("formula %r: %s", source, error, location=node)
        return ""


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
