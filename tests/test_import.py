"""What importing the package imports, and what it offers."""

import importlib
import importlib.metadata
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sktvbo
from sktvbo import _versions, gaussian_process, optimizers


def fresh(code, *flags):
    """What a fresh process prints."""
    root = Path(sktvbo.__file__).parents[1]
    command = [
        *(sys.executable, *flags),
        *("-c", f"import sys; sys.path.insert(0, {str(root)!r}); {code}"),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_all_names_are_there():
    assert set(optimizers.__all__) - {"Prior", "Query"} <= set(sktvbo.__all__)
    loop = {"Call", "Optimization", "optimize", "show_versions"}
    assert set(sktvbo.__all__) <= {*loop, "Journal", *optimizers.__all__, *gaussian_process.__all__}
    assert set(sktvbo.__all__) <= set(dir(sktvbo))
    for name in sktvbo.__all__:
        assert getattr(sktvbo, name).__name__ == name
    assert sktvbo.__version__


ROOMS = [
    name.removeprefix("sktvbo.")
    for _, name, _ in pkgutil.walk_packages(sktvbo.__path__, "sktvbo.")
    if "._" not in name
]


def test_every_room_is_offered():
    """In a process that has imported nothing else: others may have made the attribute.

    Type hints are not imported.
    """
    first = [room for room in ROOMS if "." not in room]
    assert {"domain", "evaluation", "staleness"} < set(first)
    code = (
        f"import sktvbo; rooms = {first!r}; "
        "print(*(getattr(sktvbo, room).__name__ for room in rooms)); "
        "print(set(rooms) <= set(dir(sktvbo)), sktvbo.staleness.KeepAll.__name__); "
        "sktvbo.WDBO; print('sktvbo._typing' in sys.modules)"
    )
    assert fresh(code) == [*(f"sktvbo.{room}" for room in first), "True", "KeepAll", "False"]


def test_the_reference_lists_what_the_modules_offer():
    """And each module offers what it says."""
    page = Path(__file__).parents[1] / "docs" / "api.rst"
    listed = re.findall(r"^   ([A-Za-z_][\w.]*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(listed) == len(set(listed))
    offered = {"Call", "Optimization", "optimize", "show_versions"}
    for room in ROOMS:
        module = importlib.import_module(f"sktvbo.{room}")
        for name in getattr(module, "__all__", ()):
            assert getattr(module, name) is not None
            offered.add(f"{room}.{name}")
    assert set(listed) == offered
    assert {"optimizers.Query", "kernels.Forgetting", "integrations.optuna.TimeVaryingSampler"} < (
        offered
    )


def test_an_unknown_name():
    with pytest.raises(AttributeError, match="module 'sktvbo' has no attribute 'Wdbo'"):
        sktvbo.Wdbo  # noqa: B018


def test_importing_the_regressors_imports_no_more_than_they_need():
    code = (
        "import sklearn.gaussian_process; before = set(sys.modules); import sktvbo; "
        "sktvbo.TimeVaryingGPRegressor; "
        "print(*(set(sys.modules) - before))"
    )
    imported = fresh(code)
    assert "sktvbo.gaussian_process" in imported
    assert not [name for name in imported if name.startswith(("sktvbo.optimizers", "matplotlib"))]
    ours = ("sktvbo", "_sktvbo", "_cython_")
    assert [name for name in imported if not name.startswith(ours)] == []


@pytest.mark.parametrize(
    ("code", "built"),
    [
        ("from sktvbo.gaussian_process import QuadraticMean", "some"),
        ("import sktvbo", "another Python's"),
    ],
)
def test_sources_that_are_not_compiled_say_what_to_do(code, built, tmp_path):
    """In a clone they hide a package that was installed by pip install ."""
    source, copy = Path(sktvbo.__file__).parent, tmp_path / "sktvbo"
    compiled = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    shutil.copytree(source, copy, ignore=compiled)
    for file in (source / "_fast").iterdir():
        stem, _, suffix = file.name.partition(".")
        if built == "some" and stem != "kdpp" and suffix.endswith(("so", "pyd")):
            shutil.copy(file, copy / "_fast")
        elif built != "some" and suffix.endswith(("so", "pyd")):
            (copy / "_fast" / f"{stem}.cpython-27-x86_64-linux-gnu.so").touch()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=environment
    )
    assert done.returncode == 1
    error = done.stderr.splitlines()[-1]
    names = "kdpp" if built == "some" else ".*gram, .*tiles"
    assert re.match(
        f"ImportError: The compiled modules of sktvbo are missing in .*: {names}\\. .*"
        r"Run 'pip install -e \.' in .*, or change to another directory\.",
        error,
    )
    assert str(tmp_path) in error


def test_the_versions_of_a_bug_report(capsys, monkeypatch):
    def version(name):
        if name == "optuna":
            raise importlib.metadata.PackageNotFoundError(name)
        return f"version of {name}"

    library = {"internal_api": "a library", "version": "1.2", "num_threads": 3}
    monkeypatch.setattr(_versions, "threadpool_info", lambda: [library])
    monkeypatch.setattr(_versions, "version", version)
    sktvbo.show_versions()
    lines = {line[:14].strip(): line[14:] for line in capsys.readouterr().out.splitlines()}
    assert lines["Python"] == sys.version.split()[0]
    assert lines["scikit-learn"] == "version of scikit-learn"
    assert lines["optuna"] == "not installed"
    assert lines["a library"] == "1.2, 3 threads"
