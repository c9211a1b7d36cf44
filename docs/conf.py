"""Sphinx configuration: ``sphinx-build -W -b html docs docs/_build/html``."""

import importlib
import os
import re
import sys
from pathlib import Path

import matplotlib
from docutils import nodes

import sktvbo

matplotlib.use("Agg")
sys.path[:0] = [str(Path(__file__).parent / "_ext"), str(Path(__file__).parent)]

import record_report  # noqa: E402

project = "sktvbo"
author = "The sktvbo developers"
copyright = f"2026, {author}"
version = release = sktvbo.__version__

extensions = [
    "figures",
    "mathml",
    "members",
    "references",
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates"]
plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = [("png", 110)]
html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = f"{project} {version}"
html_short_title = project
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
html_context = {"default_mode": "auto"}
html_css_files = ["sktvbo.css"]
html_sidebars = {"index": []}
html_theme_options = {
    "logo": {"text": project},
    "header_links_before_dropdown": 5,
    # The pages of a section; the names of the reference and of the gallery are on theirs.
    "navigation_depth": 1,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
# A build of a repository on a host links it, as the metadata of a release do.
if os.environ.get("GITHUB_REPOSITORY"):
    home = "{GITHUB_SERVER_URL}/{GITHUB_REPOSITORY}".format_map(os.environ)
    html_theme_options |= {
        "icon_links": [{"name": "Source and issues", "url": home, "icon": "fa-solid fa-code"}],
    }
toc_object_entries_show_parents = "hide"
# What is pasted into a terminal has no prompts.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
# A name in single backquotes is a link.
default_role = "py:obj"
# Each is found, but what documentation of others that is inherited names.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"optuna\..*|FrozenTrial|FitFailedWarning|model_\w+")]

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

SECTIONS = ("predict", "optimize", "production", "papers")
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "plot_|power_tracking",
    "subsection_order": ["../examples/" + name for name in SECTIONS],
    # The examples that use a class are listed on its page.
    "backreferences_dir": "generated/examples",
    "doc_module": ("sktvbo",),
    "download_all_examples": False,
    "capture_repr": (),  # an object's address says nothing
    "remove_config_comments": True,
    "show_memory": False,
    "thumbnail_size": (320, 224),
    "write_computation_times": False,
}

# The integrations have a reference each, as their names need their packages.
_PUBLIC = [room for room in sktvbo._SUBMODULES if room != "integrations"]
_PUBLIC += ["integrations.gest", "integrations.optuna"]


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
    """Leave out scikit-learn's requests of metadata, and what pydantic adds to a class."""
    theirs = name in ("get_metadata_routing", "model_config", "model_post_init")
    return True if theirs or name.endswith("_request") else None


def _mend_films(app, pagename, templatename, context, doctree):
    """Matplotlib's player asks the network for icons that the theme has, and lacks descriptions."""
    if "body" in context:
        body = re.sub(r'<link rel="stylesheet"\s+href="https?:[^>]*>', "", context["body"])
        body = body.replace('<img id="_anim_img', '<img alt="Film of a run" id="_anim_img')
        context["body"] = body.replace(
            'class="anim-slider"', 'class="anim-slider" aria-label="Frame"'
        )


def _write_report(app, exception):
    """Write the page of a recorded run, which the guide shows."""
    if exception is None and app.builder.format == "html":
        record_report.write(Path(app.outdir) / "_static" / "report.html")


def _describe_examples(app, doctree):
    """A figure of an example without a title is described by the example's, not by its file."""
    title = next(iter(doctree.findall(nodes.title)), None)
    for kind in ("imgsgnode", "image"):
        for image in doctree.findall(lambda node, kind=kind: type(node).__name__ == kind):
            alt = image.get("alt", "")
            if title is not None and (not alt or alt.startswith(("plot ", "sphx_glr"))):
                image["alt"] = title.astext()


def setup(app):
    app.connect("builder-inited", _check_api)
    app.connect("autodoc-skip-member", _skip)
    app.connect("html-page-context", _mend_films)
    app.connect("build-finished", _write_report)
    app.connect("doctree-read", _describe_examples)
