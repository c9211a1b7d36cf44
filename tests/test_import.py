"""What importing the package imports, and what it offers."""

import subprocess
import sys
from pathlib import Path

import pytest

import sktvbo
from sktvbo import gaussian_process, optimizers


def fresh(code):
    """What a fresh process prints."""
    root = Path(sktvbo.__file__).parents[1]
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(root)!r}); {code}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_all_names_are_there():
    assert set(optimizers.__all__) <= set(sktvbo.__all__)
    assert set(sktvbo.__all__) <= {"optimize", *optimizers.__all__, *gaussian_process.__all__}
    assert set(sktvbo.__all__) <= set(dir(sktvbo))
    for name in sktvbo.__all__:
        assert getattr(sktvbo, name).__name__ == name
    assert sktvbo.__version__


def test_every_room_is_offered():
    folder = Path(sktvbo.__file__).parent
    rooms = {path.stem for path in folder.iterdir() if not path.name.startswith(("_", "py."))}
    assert rooms - {"__pycache__"} <= set(dir(sktvbo))
    code = "import sktvbo; print(sktvbo.staleness.KeepAll.__name__, sktvbo.WDBO.__name__)"
    assert fresh(code) == ["KeepAll", "WDBO"]


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
