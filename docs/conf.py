"""The guide: ``python -m sphinx -W --keep-going docs build/docs``, then open build/docs/index.html."""

from __future__ import annotations

import sys
import warnings
from importlib.metadata import files
from pathlib import Path

import matplotlib

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent / "_extensions")]
matplotlib.use("Agg")

import partls  # noqa: E402

project = "PartLS"
author = "The PartLS developers"
release = version = partls.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "made_pages",
]
exclude_patterns = ["_build", "**/sg_execution_times.rst", "sg_execution_times.rst", "gallery/*.ipynb"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# Formulas by MathJax, copied from an installed package: one script that draws them as SVG, without fonts or network.
mathjax = next(file for file in files("sphinx-mathjax-offline") or () if file.name == "tex-svg.js")
mathjax_path = mathjax.name

# The reference, from the docstrings.
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False

# The gallery. A warning in an example stops the build, as one in a test stops the tests.
sphinx_gallery_conf = {
    "examples_dirs": [str(ROOT / "examples" / "gallery")],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "remove_config_comments": True,
    "reset_modules": ("matplotlib",),
}
warnings.filterwarnings("error", module=r"partls|relaxations|formulations|__main__")
suppress_warnings = ["config.cache"]  # the settings of the gallery hold functions

html_theme = "furo"
html_title = f"PartLS {release}"
html_static_path = ["_static", str(mathjax.locate())]
html_css_files = ["site.css"]
html_js_files = ["scrolls.js"]
html_copy_source = html_show_sourcelink = False
html_show_copyright = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b6e4f", "color-brand-content": "#0b6e4f"},
    "dark_css_variables": {"color-brand-primary": "#5fd3a5", "color-brand-content": "#5fd3a5"},
}
copybutton_exclude = ".linenos, .gp, .go"
