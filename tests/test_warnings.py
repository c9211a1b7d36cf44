"""Warnings name the line of the user's program, whatever lies between it and the warning."""

import copy
import pickle
import warnings
from itertools import count

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from test_structure import MODULES

from sktvbo import WDBO, SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor
from sktvbo._warnings import warn_caller, without_warnings
from sktvbo.domain import Arms
from sktvbo.exceptions import AmbiguousQueryWarning, ModelWarning


def files_of(call, category):
    """The files that warnings of a category name."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return {each.filename for each in caught if issubclass(each.category, category)}


def test_one_place_decides_what_a_warning_names():
    texts = {module: path.read_text(encoding="utf-8") for module, path in MODULES.items()}
    assert [module for module, text in texts.items() if "warnings.warn" in text] == [
        "sktvbo._warnings"
    ]


READS_CLOCK = {
    "ask": lambda opt: opt.ask(),
    "predict": lambda opt: opt.predict([0.5]),
    "recommend": lambda opt: opt.recommend(),
}


@pytest.mark.parametrize("call", READS_CLOCK.values(), ids=READS_CLOCK)
def test_calls_that_read_the_clock(call, monkeypatch):
    opt = WDBO([(0.0, 1.0)], clock="calendar", n_initial_points=3, random_state=0)
    opt.tell([0.5], 1.0, 0.0)
    opt.now()
    back = count()
    monkeypatch.setattr("time.time", lambda: 1e6 - 100.0 * next(back))
    assert files_of(lambda: call(opt), UserWarning) == {__file__}


X = np.column_stack([np.linspace(0.0, 1.0, 12), np.arange(12.0)])
FITS = {
    "fit": lambda gp, y: gp.fit(X, y),
    "cross-validation": lambda gp, y: cross_val_score(make_pipeline(gp), X, y, cv=2),
}


@pytest.mark.parametrize("kind", [TimeVaryingGPRegressor, SparseTimeVaryingGPRegressor])
@pytest.mark.parametrize("call", FITS.values(), ids=FITS)
def test_fits(call, kind):
    y = 1e3 + np.sin(X[:, 0])
    assert files_of(lambda: call(kind(optimizer=None), y), ModelWarning) == {__file__}


@pytest.mark.parametrize("call", [copy.deepcopy, lambda opt: pickle.loads(pickle.dumps(opt))])
def test_copies_of_another_version(call, monkeypatch):
    opt = WDBO([(0.0, 1.0)])
    state = opt.__getstate__() | {"_version": "0.0"}
    monkeypatch.setattr(WDBO, "__getstate__", lambda self: state)
    assert files_of(lambda: call(opt), UserWarning) == {__file__}


def test_a_part_of_the_user_is_the_user():
    """A subclass of the user that calls the package is where the warning points."""

    class Mine(WDBO):
        def ask(self, t=None, context=None):
            return super().ask(t, context)

    opt = Mine(Arms(1), random_state=0)
    for t in range(3):
        opt.ask(float(t))
    assert files_of(lambda: opt.tell([0], 1.0), AmbiguousQueryWarning) == {__file__}


def test_warnings_of_one_category_are_left_out():
    def warn(number):
        warn_caller("a model", ModelWarning)
        warn_caller("a query", AmbiguousQueryWarning)
        return number

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert without_warnings(ModelWarning, warn, 3) == 3
    assert [str(each.message) for each in caught] == ["a query"]
