"""The page that compares features: each of ours has a test, which is there."""

import ast
import re
import tomllib
from pathlib import Path

import sktvbo

TESTS = Path(__file__).parent
ROOT = TESTS.parent
PAGE = (ROOT / "docs" / "features.rst").read_text(encoding="utf-8")
# A row's cells: the feature, ours, four others', the test.
ROWS = [
    [cell.strip() for cell in row.split("\n     -")]
    for row in PAGE.split("   * - ")[2:]  # the first is the header
]


def test_the_table_is_read():
    assert len(ROWS) > 20
    assert {len(row) for row in ROWS} == {7}
    assert {row[1].split()[0] for row in ROWS} == {"yes", "no", "in"}


def test_each_of_our_features_has_its_test():
    for feature, ours, *_, test in ROWS:
        if ours == "no" and not test:
            continue
        path, name = re.fullmatch(r"``(.+)::(\w+)``", test).groups()
        tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
        names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert name in names, f"{feature}: {test}"


def test_the_package_does_without_torch():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert not [needed for needed in project["dependencies"] if "torch" in needed]
    for path in Path(sktvbo.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert not [name for name in names if name.split(".")[0] == "torch"], path
