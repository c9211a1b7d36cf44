"""The pages: what they name is there, and none is out of the reader's way."""

import re
from pathlib import Path

from sktvbo import exceptions

DOCS = Path(__file__).parents[1] / "docs"
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


def test_each_chapter_has_a_picture():
    chapters = sorted(DOCS.glob("guide/*.rst"))
    assert len(chapters) > 10
    pictures = re.compile(r"^\.\. (plot|figure|image)::", re.MULTILINE)
    assert [p.name for p in chapters if not pictures.search(p.read_text(encoding="utf-8"))] == []


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
    assert named <= {*vars(exceptions), "NotFittedError"}
