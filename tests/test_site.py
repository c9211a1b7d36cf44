"""The built pages, after ``make docs``: their search, their links and their size.

Words of users lead to the page that answers them, by the pages' own search program.
"""

import ast
import json
import re
import shutil
import subprocess
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

HERE = Path(__file__).parent
HTML = HERE.parent / "docs" / "_build" / "html"

built = pytest.mark.skipif(
    not (HTML / "searchindex.js").exists(), reason="needs the built pages: make docs"
)

# The pages that answer a word.
PAGES = {
    "concept drift": "guide/streams",
    "latency": "performance",
    "resume": "guide/journals",
    "install": "install",
    "forget": "guide/relevancy generated/sktvbo.gaussian_process.TimeVaryingGPRegressor",
    "categorical": "guide/domains",
    "journal": "guide/journals generated/sktvbo.journal.Journal",
    "thread-safe": "faq",
    "wdbo_algo": "comparisons",
    "regret": "guide/evaluation",
    "lengthscale": "glossary",
    "season": "guide/seasons",
    "safety": "guide/limits recipes gallery/optimize/plot_limits",
    "warm start": "guide/services",
    "early stopping": "guide/services",
    "kriging": "guide/kriging",
    "transfer learning": "guide/services",
    "checkpoint": "guide/journals",
    "confidence interval": "guide/estimators",
    "missing values": "faq",
    "feature importance": "guide/kernels",
    "REST": "guide/journals",
    "Docker": "guide/journals",
    "A/B": "recipes",
    "A/B test": "recipes",
    "streaming": "guide/streams guide/estimators",
    "multi-objective": "faq",
    "where to measure next": "guide/active_learning",
    "active learning": "guide/active_learning",
    "autoscaling": "guide/limits",
    "heavy tail": "guide/limits",
    "simplex": "guide/domains",
    "sum to one": "guide/domains",
    "binary": "guide/bandits faq",
    "control group": "recipes",
    "stuck": "faq",
    "local optimum": "faq",
    "explore more": "faq",
    "accelerator": "migration",
    "convergence plot": "guide/pictures",
    "dashboard": "guide/operation guide/services",
    "holiday": "guide/seasons",
    "hysteresis": "guide/optimizers",
    "budget pacing": "guide/budgets",
    "embedded": "recipes performance install",
    "forecast": "guide/tutorial guide/seasons predict",
    "pipeline": "guide/estimators guide/frames",
    "daylight saving": "guide/frames guide/tutorial",
    "sold out": "guide/bandits recipes",
    "arXiv": "papers",
    "available": "recipes",
    "exclude an arm": "recipes",
    "simplex category": "guide/domains",
    "categorical context": "guide/domains",
    "price": "guide/domains predict guide/seasons",
    "no safe": "guide/limits",
    "how long": "predict",
    "fit time": "predict",
    "restart": "guide/journals",
    "kill": "guide/journals",
    "rounding": "robustness",
    "control": "recipes",
    "grid search": "guide/estimators guide/evaluation",
    "prediction interval": "guide/estimators predict",
    "heteroscedastic": "guide/estimators",
    "multi-output": "faq",
    "speed": "performance",
    "set_output": "guide/frames",
}


def searched(words):
    """The pages that the search finds for each word, best first."""
    done = subprocess.run(
        ["node", HERE / "search_docs.js", HTML],
        input=json.dumps(words),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@built
@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_words_of_users_lead_to_the_page_that_answers_them():
    found = dict(zip(PAGES, searched(list(PAGES))))
    missed = {
        word: found[word][:3]
        for word, pages in PAGES.items()
        if not set(pages.split()) & set(found[word][:3])
    }
    assert missed == {}


class Links(HTMLParser):
    """Collector of a page's links and anchors."""

    def __init__(self):
        super().__init__()
        self.targets, self.anchors = [], set()

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.anchors.add(attrs.get("id"))
        self.targets += [attrs[name] for name in ("href", "src") if attrs.get(name)]


@cache
def links(path):
    parser = Links()
    parser.feed(path.read_text(encoding="utf-8"))
    return parser


def pages():
    return [path for path in HTML.rglob("*.html") if "_static" not in path.parts]


@built
def test_internal_links_lead_somewhere():
    n, broken = 0, []
    for page in pages():
        for target in links(page).targets:
            url = urlsplit(target)
            if url.scheme or url.netloc:
                continue
            n += 1
            path = (page.parent / unquote(url.path)).resolve() if url.path else page
            fragment = unquote(url.fragment)
            found = path.exists() and (
                not fragment or path.suffix != ".html" or fragment in links(path).anchors
            )
            if not found:
                broken.append(f"{page.relative_to(HTML)}: {target}")
    assert n > 1000
    assert broken == []


@built
def test_pages_of_the_readme_are_built():
    readme = (HERE.parent / "README.md").read_text(encoding="utf-8")
    assert f"`{HTML.relative_to(HERE.parent)}/index.html`" in readme
    named = re.findall(r"\(docs/([\w/]+)\.rst\)", readme)
    assert len(named) > 8
    assert [name for name in named if not (HTML / f"{name}.html").is_file()] == []


@built
@pytest.mark.parametrize("name", ["plot_track_moving_optimum", "plot_beams"])
def test_notebooks_are_the_examples(name):
    (path,) = HTML.glob(f"_downloads/*/{name}.ipynb")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
    (example,) = (HERE.parent / "examples").rglob(f"{name}.py")
    example = example.read_text(encoding="utf-8")
    written = ast.unparse(ast.parse(example).body[1:])  # without the docstring
    assert ast.unparse(ast.parse(code)) == written
    assert f'/{path.name}"' in (HTML / "gallery" / "index.html").read_text(encoding="utf-8")
