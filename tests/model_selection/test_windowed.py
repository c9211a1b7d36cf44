"""Windowed: a learner of the latest rows."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sktvbo.model_selection import Windowed


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(60, 3))
    return X, X @ [1.0, -1.0, 0.5] + rng.normal(size=60)


def in_batches(learner, X, y, size):
    for start in range(0, len(y), size):
        learner.partial_fit(X[start : start + size], y[start : start + size])
    return learner


@pytest.mark.parametrize("size", [1, 7, 60])
def test_it_is_the_learner_fitted_to_the_latest_rows(rows, size):
    X, y = rows
    expected = Ridge().fit(X[-25:], y[-25:]).predict(X)
    for learner in (in_batches(Windowed(Ridge(), 25), X, y, size), Windowed(Ridge(), 25).fit(X, y)):
        assert_array_equal(learner.predict(X), expected)
        assert_array_equal(learner.X_window_, X[-25:])
        assert_array_equal(learner.y_window_, y[-25:])


def test_fit_forgets_and_partial_fit_does_not(rows):
    X, y = rows
    learner = Windowed(Ridge(), 100).fit(X[:30], y[:30])
    assert len(copy.deepcopy(learner).partial_fit(X[30:], y[30:]).y_window_) == 60
    assert len(learner.fit(X[30:], y[30:]).y_window_) == 30


def test_a_larger_window_finds_what_was_remembered(rows):
    X, y = rows
    learner = in_batches(Windowed(Ridge(), 10, memory=40), X[:50], y[:50], 10)
    assert_array_equal(learner.X_window_, X[10:50])
    learner.set_params(window=29.6).partial_fit(X[50:], y[50:])
    assert_array_equal(learner.predict(X), Ridge().fit(X[-30:], y[-30:]).predict(X))


def test_a_copy_learns_for_itself_and_shares_what_was_learnt(rows):
    X, y = rows
    learner = Windowed(Ridge(alpha=1.0), 20).fit(X[:30], y[:30])
    before = learner.predict(X)
    other = copy.deepcopy(learner).set_params(estimator__alpha=100.0)
    assert other.X_window_ is learner.X_window_
    assert_array_equal(other.predict(X), before)
    other.partial_fit(X[30:], y[30:])
    assert_array_equal(learner.predict(X), before)
    assert learner.estimator.alpha == 1.0
    assert not np.allclose(other.predict(X), before)


def test_a_failure_leaves_it_as_it_was(rows):
    X, y = rows
    learner = Windowed(Ridge(), 20).fit(X[:30], y[:30])
    before = pickle.dumps(learner)
    for wrong in (np.full((2, 3), np.nan), np.ones((2, 4))):
        with pytest.raises(ValueError, match=r"NaN|features"):
            learner.partial_fit(wrong, [0.0, 1.0])
    assert pickle.dumps(learner) == before


def test_it_is_to_the_outside_what_the_learner_is(rows):
    X, y = rows
    assert is_regressor(Windowed(Ridge()))
    assert not hasattr(Windowed(Ridge()), "predict_proba")
    classifier = Windowed(LogisticRegression(), 50)
    assert is_classifier(classifier)
    classifier.fit(X, y > 0.0)
    within = LogisticRegression().fit(X[-50:], y[-50:] > 0.0)
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        assert_array_equal(getattr(classifier, method)(X), getattr(within, method)(X))
    assert_array_equal(classifier.classes_, [False, True])
    assert classifier.score(X, y > 0.0) == within.score(X, y > 0.0)
    scaler = Windowed(StandardScaler(), 50).fit(X, y)
    assert_array_equal(scaler.transform(X), StandardScaler().fit(X[-50:]).transform(X))


def test_data_frames_sparse_matrices_and_lists(rows):
    X, y = rows
    expected = Ridge().fit(X[-25:], y[-25:]).predict(X)
    for convert in (sparse.csr_matrix, sparse.csr_array, list, np.asfortranarray):
        learner = Windowed(Ridge(), 25)
        learner.partial_fit(convert(X[:40]), list(y[:40])).partial_fit(convert(X[40:]), y[40:])
        np.testing.assert_allclose(learner.predict(X), expected, rtol=1e-6)
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    learner = Windowed(make_pipeline(StandardScaler(), LinearRegression()), 25)
    learner.partial_fit(frame[:40], pd.Series(y[:40])).partial_fit(frame[40:], y[40:])
    assert_array_equal(learner.feature_names_in_, ["a", "b", "c"])
    assert list(learner.X_window_.columns) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        learner.partial_fit(frame.rename(columns={"a": "z"}), y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": 0}, r"'window' parameter of Windowed must be a float in the range \[1, inf\)"),
        ({"window": "long"}, "Got 'long'"),
        ({"window": 50, "memory": 20}, "'memory' .* must be at least the window, 50. Got 20"),
        ({"memory": -1}, "'memory' .* Got -1"),
    ],
)
def test_parameters_that_make_no_sense(rows, options, message):
    learner = Windowed(Ridge(), **options)
    with pytest.raises(ValueError, match=message):
        learner.fit(*rows)
    assert not hasattr(learner, "learner_")


def test_clone_keeps_parameters_only(rows):
    learner = Windowed(Ridge(alpha=3.0), 20, memory=50).fit(*rows)
    again = clone(learner)
    assert again.get_params()["estimator__alpha"] == 3.0
    assert not hasattr(again, "X_window_")


@parametrize_with_checks([Windowed(Ridge()), Windowed(KNeighborsClassifier())])
def test_scikit_learns_checks(estimator, check):
    check(estimator)
