"""Links from the HTML view of estimators to their pages."""

import importlib
import inspect
import re
from email.message import Message
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

import sktvbo
from sktvbo import WDBO, SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor, _documentation
from sktvbo.acquisition import UCB

DOCS = Path(__file__).parents[1] / "docs"
HOME = "https://docs.example.org/sktvbo"
PAGE = f"{HOME}/generated/sktvbo.gaussian_process.TimeVaryingGPRegressor.html"
NOWHERE = (lambda name: Message(), lambda name: (_ for _ in ()).throw(PackageNotFoundError(name)))


@pytest.fixture
def home(monkeypatch):
    """Metadata of a build that names its documentation."""
    fields = Message()
    fields["Project-URL"] = "Source, https://example.org/sktvbo"
    fields["Project-URL"] = f"Documentation, {HOME}"
    monkeypatch.setattr(_documentation, "metadata", {"sktvbo": fields}.__getitem__)


def public_estimators():
    for submodule in sktvbo._SUBMODULES:
        module = importlib.import_module(f"sktvbo.{submodule}")
        for name in getattr(module, "__all__", ()):
            cls = getattr(module, name)
            if inspect.isclass(cls) and issubclass(cls, BaseEstimator):
                yield cls


def test_each_public_estimator_links_a_page_of_the_reference(home):
    listed = set((DOCS / "api.rst").read_text(encoding="utf-8").split())
    classes = list(public_estimators())
    assert len(classes) > 35
    for cls in classes:
        link = BaseEstimator._get_doc_link(cls.__new__(cls))
        name = re.fullmatch(rf"{HOME}/generated/sktvbo\.(.*)\.html", link).group(1)
        assert name in listed, cls


def test_the_views_have_the_link(home):
    shown = estimator_html_repr(make_pipeline(StandardScaler(), TimeVaryingGPRegressor()))
    assert f'href="{PAGE}"' in shown
    page = f"{HOME}/generated/sktvbo.optimizers.WDBO.html"
    assert f'<caption><a href="{page}">WDBO</a></caption>' in WDBO()._repr_html_()


def test_a_class_without_a_page_has_no_link(home):
    class Custom(SparseTimeVaryingGPRegressor):
        pass

    assert Custom()._get_doc_link() == ""
    Custom.__module__ = "not_imported._module"  # of code that was run by exec
    assert Custom()._get_doc_link() == ""
    assert _documentation.documentation_page(TimeVaryingGPRegressor.__mro__[1]) == ""
    assert _documentation.documentation_page(Message) == ""


@pytest.mark.parametrize("metadata", NOWHERE, ids=["no address", "not installed"])
def test_a_build_that_names_no_documentation_has_no_link(metadata, monkeypatch):
    monkeypatch.setattr(_documentation, "metadata", metadata)
    assert TimeVaryingGPRegressor()._get_doc_link() == ""
    assert "href" not in UCB()._repr_html_()
    assert "<caption>WDBO</caption>" in WDBO()._repr_html_()
