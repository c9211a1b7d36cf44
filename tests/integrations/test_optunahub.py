"""The package of OptunaHub's registry under recipe/."""

import importlib.util
import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "recipe" / "optunahub" / "package" / "samplers" / "time_varying"


@pytest.fixture
def package(monkeypatch):
    """The package as OptunaHub imports it: from its folder."""
    pytest.importorskip("optuna")
    spec = importlib.util.spec_from_file_location(
        "optunahub_time_varying", FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)]
    )
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop(f"{spec.name}.package", None)


def readme():
    return (FOLDER / "README.md").read_text(encoding="utf-8")


def test_it_offers_the_sampler(package):
    from sktvbo.integrations.optuna import TimeVaryingSampler

    assert package.__all__ == ["TimeVaryingSampler"]
    assert package.TimeVaryingSampler is TimeVaryingSampler


def test_its_page_has_what_the_registry_asks_for():
    yaml = pytest.importorskip("yaml")
    optuna = pytest.importorskip("optuna")
    _, front, text = readme().split("---\n", 2)
    front = yaml.safe_load(front)
    assert set(front) == {*["author", "title", "description", "tags", "optuna_versions", "license"]}
    assert "sampler" in front["tags"]
    assert front["license"] == "MIT License"
    assert (FOLDER / "LICENSE").read_text(encoding="utf-8").startswith(front["license"])
    assert optuna.__version__.split(".")[0] in {v.split(".")[0] for v in front["optuna_versions"]}
    headings = ["Abstract", "APIs", "Installation", "Example", "Others"]
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == headings
    assert not re.search(r"<[a-z/]", text), "the registry removes HTML"


def test_its_page_documents_the_parameters():
    import inspect

    optuna_module = pytest.importorskip("sktvbo.integrations.optuna")
    known = inspect.signature(optuna_module.TimeVaryingSampler).parameters
    assert re.findall(r"^  - `(\w+)`:", readme(), re.MULTILINE) == list(known)
    (shown,) = re.findall(r"^- `TimeVaryingSampler(\(.*\))`$", readme(), re.MULTILINE)
    defaults = ", ".join(f"{p.name}={p.default!r}" for p in known.values())
    assert shown.replace('"', "'").replace("*, ", "") == f"({defaults})"


@pytest.mark.slow
def test_its_example_follows_the_optimum(package, monkeypatch, capsys):
    import optuna

    monkeypatch.setattr(optuna.logging.get_logger("optuna"), "disabled", True)
    hub = types.SimpleNamespace(load_module=lambda package: sys.modules["optunahub_time_varying"])
    monkeypatch.setitem(sys.modules, "optunahub", hub)
    (code,) = re.findall(r"```python\n(.*?)```", readme(), re.DOTALL)
    exec(compile(code, str(FOLDER / "README.md"), "exec"), {"__name__": "__main__"})
    late = eval(capsys.readouterr().out)
    assert abs(np.median(late) - 5.9) < 0.5
