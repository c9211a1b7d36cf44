"""Sphinx configuration: ``sphinx-build -W -b html docs docs/_build/html``."""

import importlib
from pathlib import Path

import matplotlib

import sktvbo

matplotlib.use("Agg")

project = "sktvbo"
author = "The sktvbo developers"
copyright = f"2026, {author}"
version = release = sktvbo.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates"]
html_theme = "alabaster"
html_theme_options = {
    "description": "Gaussian processes and optimizers for functions that change with time",
    "page_width": "1120px",
    "body_max_width": "auto",
    # Of snippets that are 100 columns wide all is seen.
    "code_font_size": "0.8em",
}
# A name in single backquotes is a link when it is the name of something, and literal otherwise.
default_role = "py:obj"

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,
    "matplotlib_animations": True,
}

# The integrations have a reference each, as their names need their packages.
_PUBLIC = [*(room for room in sktvbo._ROOMS if room != "integrations"), "integrations.optuna"]


def missing_names(folder):
    """Public names that the folder's api.rst does not list."""
    listed = set((Path(folder) / "api.rst").read_text(encoding="utf-8").split())
    return [
        f"{module}.{name}"
        for module in _PUBLIC
        for name in importlib.import_module(f"sktvbo.{module}").__all__
        if f"{module}.{name}" not in listed
    ]


def _check_api(app):
    """Refuse to build when a public name is missing from api.rst."""
    missing = missing_names(app.srcdir)
    if missing:
        raise RuntimeError(f"docs/api.rst lists every public name, but not {', '.join(missing)}.")


def _skip(app, what, name, obj, skip, options):
    """Leave out scikit-learn's requests of metadata, whose docstrings point into its own guide."""
    metadata = name == "get_metadata_routing" or name.endswith("_request")
    return True if metadata else None


def setup(app):
    app.connect("builder-inited", _check_api)
    app.connect("autodoc-skip-member", _skip)
