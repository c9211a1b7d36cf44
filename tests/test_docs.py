"""The pages: what they name is there, and none is out of the reader's way."""

import ast
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


README = DOCS.parent / "README.md"
# Pages that beginners read.
PLAIN = [README, DOCS / "quickstart.rst", DOCS / "recipes.rst", *sorted(DOCS.glob("guide/*.rst"))]


def sentences(path):
    """Sentences of a page: without programs, tables, formulas, titles and directives."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```$|^\|.*$|<!--.*?-->", "", text, flags=re.DOTALL | re.MULTILINE)
    if path.suffix == ".rst":
        # A directive other than a note, or a literal block, with its indented lines.
        text = re.sub(r"^( *)\.\. .*\n(?:\1 +.*\n|\n)*", "\n", text, flags=re.MULTILINE)
        text = re.sub(r"^>>> .*\n(?:.+\n)*", "\n", text, flags=re.MULTILINE)
        text = re.sub(r"^=[= ]+\n(?:.+\n)+", "\n", text, flags=re.MULTILINE)
    text = re.sub(r":\w+:`(?:[^`<]*<)?~?[\w./ -]*>?`", "name", text)
    text = re.sub(r"``[^`]*``|`[^`]*`", "code", text)
    found = []
    for paragraph in re.split(r"\n\s*\n|\n\s*(?:[-*]|\d\.) |\n#+ |\n[-~=]{3,}\n", text):
        found += re.split(r"(?<=[.!?])\s+", " ".join(paragraph.split()))
    return [sentence for sentence in found if sentence]


def test_sentences_are_short():
    found = [(len(s.split()), path.name, s) for path in PLAIN for s in sentences(path)]
    assert len(found) > 500
    found.sort(reverse=True)
    print("\nthe longest sentences:")
    for n, page, sentence in found[:5]:
        print(f"{n:3d} {page}: {sentence}")
    assert found[0][0] <= 40, found[0]


def test_the_pages_are_few_words():
    # Tables that `tests/optimizers/test_differences.py` generates are not read from end to end.
    written = [path for path in [README, *PAGES] if path.name != "differences.rst"]
    n = sum(len(path.read_text(encoding="utf-8").split()) for path in written)
    print(f"{n} words")
    assert n <= 26_500


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


def test_titles_of_examples_are_no_longer_than_their_lines():
    paths = sorted((DOCS.parent / "examples").glob("*.py"))
    assert len(paths) > 15
    for path in paths:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        over, title, under = ast.get_docstring(tree).split("\n")[:3]
        assert set(over + under) == {"="}, path.name
        assert len(over) == len(under) >= len(title), path.name
