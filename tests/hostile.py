"""Names that try to be more than names."""

from __future__ import annotations

NAMES = (
    '<img src=x onerror="window.hacked = 1">',
    "</script><script>window.hacked = 2</script>",
    "<!--<script>",
    "\"quotes\" & 'apostrophes' &lt;b&gt; &amp;",
    "مرحبا بالعالم",  # from right to left
    "\u202eevil\u202c ]]> \\u003cb\\u003e ${window.hacked = 3}",
    "javascript:window.hacked=4",
    "n" * 80 + " ångström \U0001f98a",
    "half a character: \ud800",
)
