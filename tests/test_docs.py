"""The pages: what they name is there, and none is out of the reader's way."""

import builtins
import doctest
import importlib
import re
import sys
from pathlib import Path

from sktvbo import exceptions, papers

DOCS = Path(__file__).parents[1] / "docs"
# The figures of a page's own programs: a Sphinx extension that needs no Sphinx.
sys.path.insert(0, str(DOCS / "_ext"))
figures = importlib.import_module("figures")
sys.path.pop(0)
# Pages that another one lists: what generators write is not here.
PAGES = [
    path for pattern in ("*.rst", "*.md", "guide/*.rst") for path in sorted(DOCS.glob(pattern))
]


def listed(path):
    """The pages in the lists of contents of a page."""
    lists = re.findall(r"\.\. toctree::\n((?:   .*\n|\n)+)", path.read_text(encoding="utf-8"))
    lines = "".join(lists).split("\n")
    names = [line.strip() for line in lines if line.strip() and not line.strip().startswith(":")]
    return [re.sub(r".*<(.*)>", r"\1", name) for name in names]  # "Title <page>" names a page


def test_every_page_is_in_one_list_of_contents():
    names = {str(path.relative_to(DOCS).with_suffix("")) for path in PAGES}
    found = [name for path in PAGES for name in listed(path)]
    assert len(found) == len(set(found))
    assert set(found) - {"gallery/index"} == names - {"index"}


def test_the_menu_is_of_five_sections():
    sections = ["predict", "optimize", "production", "papers", "reference"]
    assert listed(DOCS / "index.rst") == sections
    assert sorted(len(listed(DOCS / f"{name}.rst")) for name in sections)[0] >= 5


def test_each_chapter_has_a_picture():
    chapters = sorted(DOCS.glob("guide/*.rst"))
    assert len(chapters) > 10
    directive = re.compile(r"^\.\. (plot|figure|image)::", re.MULTILINE)
    own = re.compile(r"^(>>>|\.\.\.) .*(\.plot\(|plt\.subplots\()", re.MULTILINE)
    for page in chapters:
        text = page.read_text(encoding="utf-8")
        assert directive.search(text) or (figures.MARK in text and own.search(text)), page.name


def test_figures_are_those_of_the_programs_of_a_page():
    pages = {p: p.read_text(encoding="utf-8") for p in PAGES}
    marked = {p: text for p, text in pages.items() if figures.MARK in text}
    assert len(marked) > 5
    parser = doctest.DocTestParser()
    for page, text in marked.items():
        made = figures.with_figures(text)
        # No statement is lost, and none is left outside of a directive but those of errors.
        before, after = (parser.get_examples(each) for each in (text, made))
        assert [each.source for each in before] == [each.source for each in after], page
        outside = [e for e in after if e.indent == 0 and e.exc_msg is None]
        errors = [e for e in after if e.exc_msg is not None]
        assert not outside or errors, page
        assert made.count(":context: reset") == 1, page


def test_each_published_algorithm_is_in_the_table_with_its_year():
    text = (DOCS / "papers.rst").read_text(encoding="utf-8")
    rows = [row.strip() for row in text.split("   * - ")[2:]]
    cells = [[cell.strip() for cell in row.split("\n     - ")] for row in rows]
    table = {row[0].partition(",")[0]: row for row in cells}
    for entry in papers.available():
        row = table.pop(entry.name)
        assert int(row[1]) == entry.year
        assert entry.paper in row[2]
        assert re.search(r"~optimizers\.\w+", row[3])
    assert not table


def test_tests_that_a_page_names_are_there():
    tests = "".join(p.read_text(encoding="utf-8") for p in Path(__file__).parent.rglob("test_*.py"))
    named = {
        name for page in PAGES for name in re.findall(r"``(test_\w+)``", page.read_text("utf-8"))
    }
    assert len(named) > 3
    assert [name for name in named if f"def {name}(" not in tests] == []


def test_scripts_that_a_page_names_are_there():
    """Or at a commit: pages name it where a script is no longer in the folder."""
    results = sorted((DOCS.parent / "benchmarks" / "results").glob("*.rst"))
    assert len(results) > 10
    for page in [*PAGES, *results]:
        text = page.read_text(encoding="utf-8")
        text = re.sub(r"   \$ git checkout .*\n(?:   .*\n)+", "", text)
        text = re.sub(r"   \$ git show .*", "", text)
        for name in re.findall(r"\b(?:benchmarks|examples|tests)/[\w/]+\.\w+", text):
            assert (DOCS.parent / name).exists(), (page.name, name)


def test_symptoms_of_the_faq_are_there():
    faq = (DOCS / "faq.rst").read_text(encoding="utf-8")
    named = set(re.findall(r"``(\w+(?:Error|Warning))\b", faq)) - {"ImportError", "FutureWarning"}
    assert len(named) > 5
    of_others = {"NotFittedError", "DTypePromotionError"}
    assert named <= {*vars(exceptions), *vars(builtins), *of_others}
