"""Hints: on all that is public, free of charge, and such that a checker finds mistakes."""

import inspect
import re
import subprocess
import sys
from functools import cached_property
from pathlib import Path

import pytest

import sktvbo

HERE = Path(__file__).parent / "typing"
NAMES = [name for name in sktvbo._SUBMODULES if name != "integrations"]
MODULES = [sktvbo, *(getattr(sktvbo, name) for name in NAMES)]
PUBLIC = list(
    {name: getattr(module, name) for module in MODULES for name in module.__all__}.items()
)


def functions(thing):
    """The public functions of this package that a class has, or that a function is."""
    if not inspect.isclass(thing):
        return [thing] if inspect.isfunction(inspect.unwrap(thing)) else []
    found = []
    for base in thing.__mro__:
        for name, value in vars(base).items():
            if name.startswith("_") and name not in ("__init__", "__call__"):
                continue
            for kind, inner in ((property, "fget"), (cached_property, "func")):
                value = getattr(value, inner) if isinstance(value, kind) else value
            value = getattr(value, "__func__", getattr(value, "fn", value))
            if inspect.isfunction(value) and value.__module__.startswith("sktvbo"):
                found.append(value)
    # What a decorator such as dataclass has written has no source.
    return [f for f in found if not inspect.unwrap(f).__code__.co_filename.startswith("<")]


@pytest.mark.parametrize(("name", "thing"), PUBLIC, ids=[name for name, _ in PUBLIC])
def test_what_is_public_has_hints(name, thing):
    for function in map(inspect.unwrap, functions(thing)):
        hints = function.__annotations__
        parameters = inspect.signature(function).parameters
        wanted = {p for p in parameters if p not in ("self", "cls")} | {"return"}
        assert wanted <= set(hints), function.__qualname__
        open_ended = [p for p, q in parameters.items() if q.kind is q.VAR_KEYWORD]
        vague = {p for p in wanted if hints[p] == "Any"} - set(open_ended)
        assert vague <= ALLOWED.get(function.__qualname__, set()), function.__qualname__


# Whose type another package, or the algorithm of a user, decides.
ALLOWED = {
    "AskTell.tell": {"x"},
    "Constrained.to_plain": {"return"},
    "Constrained.from_plain": {"state"},
    "WithContext.to_plain": {"return"},
    "WithContext.from_plain": {"state"},
    # As the method that it overrides, which says it in overloads.
    "RandomSearch.recommend": {"return"},
}


def test_hints_are_not_imported():
    code = "import sktvbo; sktvbo.WDBO, sktvbo.evaluation, sktvbo.plotting; import sys; "
    code += "print('sktvbo._typing' in sys.modules)"
    root = Path(sktvbo.__file__).parents[1]
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(root)!r}); {code}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.fixture(scope="module")
def findings():
    """Lines of the files of ``typing`` in which the checker finds something, by file."""
    pytest.importorskip("pyrefly")
    root = Path(sktvbo.__file__).parents[1]
    command = [sys.executable, "-m", "pyrefly", "check", "--preset", "default"]
    command += ["--python-interpreter-path", sys.executable, "--search-path", root]
    command += ["--output-format", "min-text", HERE / "user.py", HERE / "wrong.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.findall(r"(user|wrong)\.py:(\d+):", done.stdout)
    assert found, done.stdout + done.stderr
    return {name: {int(line) for file, line in found if file == name} for name in ("user", "wrong")}


def test_a_checker_is_content_with_what_users_write(findings):
    assert not findings["user"]


def test_a_checker_finds_every_mistake(findings):
    lines = (HERE / "wrong.py").read_text(encoding="utf-8").splitlines()
    wrong = {i for i, line in enumerate(lines, start=1) if line.endswith("# wrong")}
    assert len(wrong) > 20
    assert findings["wrong"] == wrong
