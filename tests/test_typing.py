"""Hints: on all that is public, free of charge, and such that a checker finds mistakes."""

import doctest
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from functools import cached_property
from pathlib import Path

import pytest

import sktvbo
from sktvbo.exceptions import MissingExtraError

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
    "Optimizer.tell": {"x"},
    "Constrained.to_plain": {"return"},
    "Constrained.from_plain": {"state"},
    "WithContext.to_plain": {"return"},
    "WithContext.from_plain": {"state"},
    # A policy of users, or of the class.
    "AskTell.policy_": {"return"},
    "published": {"return"},
    # As the method that it overrides, which says it in overloads.
    "RandomSearch.recommend": {"return"},
}


CHECKERS = {
    "pyrefly": ["check", "--preset", "default", "--output-format", "min-text"],
    "mypy": ["--follow-imports=silent", "--ignore-missing-imports"],
}


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("pyrefly", "mypy")]


def findings_of(checker, files, cache):
    """Output of a checker of files."""
    pytest.importorskip(checker)
    root = Path(sktvbo.__file__).parents[1]
    command = [sys.executable, "-m", checker, *CHECKERS[checker]]
    if checker == "pyrefly":
        command += ["--python-interpreter-path", sys.executable, "--search-path", root]
    else:
        command += ["--python-executable", sys.executable]
        command += ["--cache-dir", cache]
    environment = os.environ | {"MYPYPATH": str(root)}
    command += files
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return done.stdout + done.stderr


@pytest.fixture(scope="module", params=SLOW)
def checked(request, tmp_path_factory):
    """Name of a checker, and lines of the files of ``typing`` in which it finds something."""
    checker, files = request.param, [HERE / "user.py", HERE / "wrong.py"]
    output = findings_of("mypy", files, tmp_path_factory.mktemp("mypy"))
    lines = re.findall(r"(user|wrong)\.py:(\d+):(?! note)", output)
    assert lines, output
    found = {name: {int(i) for file, i in lines if file == name} for name in ("user", "wrong")}
    return checker, found


def test_a_checker_is_content_with_what_users_write(checked):
    _, findings = checked
    assert not findings["user"]


def test_a_checker_finds_every_mistake(checked):
    """A misspelt method among them: the base classes of scikit-learn have no type hints."""
    checker, findings = checked
    lines = (HERE / "wrong.py").read_text(encoding="utf-8").splitlines()
    marks = ("# wrong",) if checker == "mypy" else ("# wrong", "# wrong, not for mypy")
    wrong = {i for i, line in enumerate(lines, start=1) if line.endswith(marks)}
    assert len(wrong) > 20
    assert findings["wrong"] == wrong


def examples():
    """Name and source of the example of each docstring, without lines that raise an error."""
    finder, sources = doctest.DocTestFinder(exclude_empty=True), {}
    for module in pkgutil.walk_packages(sktvbo.__path__, "sktvbo."):
        if module.name.endswith("__main__"):
            continue
        try:
            tests = finder.find(importlib.import_module(module.name))
        except MissingExtraError:
            continue
        for test in tests:
            if test.filename.endswith(".py") and test.examples:
                lines = [example.source for example in test.examples if example.exc_msg is None]
                sources[test.name.replace(".", "_")] = "".join(lines)
    return sources


@pytest.mark.slow
def test_mypy_is_content_with_the_examples_of_docstrings(tmp_path):
    """Each alone: a name that it does not import is an error.

    pyrefly has stubs of scikit-learn, which refuse some of its own uses.
    """
    sources = examples() | {"planted": "np.zeros(3)\n"}
    assert len(sources) > 100
    for name, source in sources.items():
        (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
    files = sorted(tmp_path.glob("*.py"))
    output = findings_of("mypy", files, tmp_path / "cache")
    found = [line for line in output.splitlines() if re.search(r"\.py:\d+:(?! note)", line)]
    assert len(found) == 1, output
    assert "planted.py:1:" in found[0]
