"""How results show themselves in a notebook."""

from __future__ import annotations

import html


class ShownAsText:
    """Show the text of ``str`` in a notebook, its columns aligned; a narrow page scrolls it."""

    def _repr_html_(self) -> str:
        """Return the text as HTML."""
        style = "line-height: 1.3; overflow-x: auto; white-space: pre"
        return f'<pre style="{style}">{html.escape(str(self))}</pre>'
