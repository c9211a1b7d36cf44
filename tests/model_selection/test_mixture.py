"""Learners that predict together, and the weights of the average."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier, SGDRegressor
from sklearn.metrics import r2_score
from sklearn.naive_bayes import GaussianNB

from sktvbo.model_selection import OnlineTuner, Windowed
from sktvbo.model_selection._mixture import Answers, Lately, Together, Weights

ETA = {"eta0": ("log-real", 1e-4, 0.3)}


class Says(RegressorMixin, BaseEstimator):
    def __init__(self, value):
        self.value = value

    def predict(self, X):
        if self.value is None:
            raise ArithmeticError("nothing to say")
        return np.full(len(X), self.value)


class Votes(ClassifierMixin, BaseEstimator):
    """Probabilities of the classes that it knows."""

    def __init__(self, classes, probabilities):
        self.classes_, self.probabilities = np.array(classes), np.array(probabilities)

    def predict(self, X):
        return np.repeat(self.classes_[self.probabilities.argmax()], len(X))

    def predict_proba(self, X):
        return np.tile(self.probabilities, (len(X), 1))


def weights_of(y, n, *, classifier=False):
    return Weights.before(y, classifier=classifier).joined(n - 1)


def taught(members, targets, weights, size=20):
    """The weights after batches with these targets."""
    X = np.zeros((size, 1))
    for y in targets:
        weights = Together(members, weights).learnt(X, y)
    return weights


# --- weights --------------------------------------------------------------------------------------


def test_the_champion_has_all_weight_until_another_would_help(rng):
    y, members = rng.normal(size=20), [Says(0.0), Says(9.0), Says(-9.0)]
    weights = weights_of(y, 3)
    assert_array_equal(weights.shares, [1.0, 0.0, 0.0])
    weights = taught(members, 0.1 * rng.normal(size=(5, 20)), weights)
    assert_array_equal(weights.shares, [1.0, 0.0, 0.0])


def test_an_average_may_be_better_than_all_that_it_is_made_of(rng):
    members = [Says(0.0), Says(1.0)]
    targets = 0.5 + 0.1 * rng.normal(size=(60, 20))
    weights = taught(members, targets, weights_of(targets[0], 2))
    assert_allclose(Together(members, weights).predict(np.zeros((3, 1))), 0.5, atol=0.1)


def test_gains_are_the_slopes_of_the_squared_error(rng):
    y, values = rng.normal(size=20), np.array([0.3, -0.2, 0.7])
    members, weights = [Says(v) for v in values], weights_of(y, 3)
    eps, p = 1e-6, values[0]
    slope = [(np.sum((y - p) ** 2) - np.sum((y - p - eps * (v - p)) ** 2)) / eps for v in values]
    after = Together(members, weights).learnt(np.zeros((20, 1)), y)
    assert_allclose(after.total, slope, atol=1e-4)
    assert_allclose(after.squares, after.total**2)
    assert_allclose(after.error, np.sum(np.square(y - y.mean())) + np.sum((y - p) ** 2))


def test_weights_follow_when_the_best_changes(rng):
    members = [Says(0.0), Says(1.0)]
    weights = weights_of(np.zeros(20), 2)
    for target, best in ((1.0, 1), (0.0, 0), (1.0, 1)):
        for _ in range(30):
            y = target + 0.1 * rng.normal(size=20)
            weights = Together(members, weights).learnt(np.zeros((20, 1)), y).faded()
        assert weights.shares[best] > 0.9


def test_newcomers_have_no_weight_and_who_stays_keeps_theirs(rng):
    weights = taught([Says(0.0), Says(1.0)], np.full((3, 20), 0.6), weights_of(np.ones(20), 2))
    more = weights.joined(2)
    assert_allclose(more.shares[:2], weights.shares, rtol=0.3)
    assert_array_equal(more.shares[2:], 0.0)
    assert_array_equal(more.of([1, 3]).total, [weights.total[1], 0.0])


# --- what is served -------------------------------------------------------------------------------


def test_what_has_diverged_does_not_count(rng):
    targets = 0.5 + 0.1 * rng.normal(size=(60, 20))
    weights = taught([Says(0.0), Says(1.0)], targets, weights_of(targets[0], 2))
    for wild in (1e6, -1e300, np.inf, np.nan):
        assert_allclose(Together([Says(0.0), Says(wild)], weights).predict(np.zeros((2, 1))), 0.0)
    champion = Together([Says(1e9), Says(0.4), Says(0.6)], weights_of(targets[0], 3))
    assert np.abs(champion.predict(np.zeros((2, 1)))).max() < 3.0  # near what targets have been


def test_who_is_far_out_has_no_vote_where_others_are_not(rng):
    targets = 0.5 + 0.1 * rng.normal(size=(9, 20))
    weights = taught([Says(0.0), Says(0.5), Says(0.5)], targets, weights_of(targets[0], 3))
    assert weights.shares[1:].sum() > 0.9
    members = [Says(1e9), Says(-1e9), Says(1e9), Says(0.6)]
    assert_allclose(Together(members, weights.joined(1)).predict(np.zeros((2, 1))), 0.6)
    weights = replace(weights, total=weights.total * [0.0, 1.0, 0.0])
    members = [Says(1e9), Says(-1e9), Says(0.6)]  # nor is a weight needed
    assert_allclose(Together(members, weights).predict(np.zeros((2, 1))), 0.6)


def test_who_is_barred_has_weight_when_that_saves_errors():
    weights = weights_of(["a"], 2, classifier=True).after(np.array([[0.0, 1.0]]))
    assert_array_equal(weights.shares, [0.0, 1.0])
    barred = replace(weights, barred=np.array([False, True]))
    assert_array_equal(barred.shares, [0.5, 0.5])  # nothing is known
    assert_array_equal(barred.trusting(True).shares, [0.0, 1.0])
    assert_array_equal(barred.trusting(False).shares, [1.0, 0.0])
    assert (
        barred.compared(np.ones(9)).shares[1] > 0.99 > 0.01 > barred.compared(-np.ones(9)).shares[1]
    )
    assert_allclose(barred.compared(np.ones(4)).faded().saved, 0.95 * 4.0)


def test_a_classifier_in_several_states_says_their_mean():
    states = Votes(["a", "b"], [0.9, 0.1]), Votes(["b", "c"], [0.4, 0.6])
    X, weights = np.zeros((2, 1)), weights_of(["a"], 2, classifier=True)
    together = Together([states[0], states], weights.after(np.array([[0.0, 1.0]])))
    assert_array_equal(together.classes_, ["a", "b", "c"])
    assert_allclose(together.predict_proba(X), [[0.45, 0.25, 0.3]] * 2)
    lately = Lately([Answers(state, X) for state in states])
    assert_allclose(lately.predict_proba(X), [[0.45, 0.25, 0.3]] * 2)
    assert_array_equal(lately.predict(X), ["a", "a"])


def test_who_fails_leaves_its_part_to_the_champion(rng):
    weights = taught([Says(0.0), Says(1.0)], np.full((9, 20), 0.5), weights_of(np.ones(20), 2))
    assert_array_equal(Together([Says(0.2), None], weights).predict([[0.0]]), [0.2])
    with pytest.warns(FitFailedWarning, match="could not predict, and the champion answers"):
        assert_array_equal(Together([Says(0.2), Says(None)], weights).predict([[0.0]]), [0.2])
    with pytest.raises(ArithmeticError):
        Together([Says(None), Says(0.2)], weights).predict([[0.0]])


def test_learners_that_know_different_classes():
    members = [Votes(["a", "b"], [0.6, 0.4]), Votes(["b", "c"], [0.5, 0.5])]
    X, y = np.zeros((20, 1)), np.array(["b"] * 15 + ["a"] * 5)
    weights = taught(members, [y] * 40, weights_of(y, 2, classifier=True))
    together = Together(members, weights)
    assert_array_equal(together.classes_, ["a", "b", "c"])
    share = weights.shares[1]
    assert 0.0 < share < 1.0
    probabilities = [0.6 * (1 - share), 0.4 + 0.1 * share, 0.5 * share]
    assert_allclose(together.predict_proba(X[:1])[0], probabilities)
    assert together.score(X, y) == np.mean(y == together.classes_[np.argmax(probabilities)])


def test_each_learner_is_asked_once():
    asked = []

    class Counts(Votes):
        def predict_proba(self, X):
            asked.append(len(X))
            return super().predict_proba(X)

    X, y = np.zeros((5, 1)), np.repeat("a", 5)
    answers = [Answers(Counts(["a", "b"], [0.6, 0.4]), X)]
    together = Together(answers, weights_of(y, 1, classifier=True))
    together.predict(X)
    together.learnt(X, y)
    assert asked == [5]


# --- in a tuner -----------------------------------------------------------------------------------


def turning(n_batches, size=50, seed=0, pace=0.3, n_outputs=None):
    rng = np.random.RandomState(seed)
    for t in range(n_batches):
        X = rng.normal(size=(size, 2))
        y = np.cos(pace * t) * X[:, 0] + np.sin(pace * t) * X[:, 1] + 0.5 * rng.normal(size=size)
        yield X, y if n_outputs is None else np.column_stack([y] * n_outputs)


@pytest.mark.parametrize("n_outputs", [None, 1, 3])
def test_regressors_serve_together(n_outputs):
    tuner = OnlineTuner(
        Windowed(Ridge(), 100, memory=400), {"window": ("log-real", 20, 400)}, random_state=0
    )
    champion = []  # its weight, after each batch
    for X, y in turning(20, pace=0.1, n_outputs=n_outputs):
        champion.append(tuner.partial_fit(X, y).weights_[0])
    assert min(champion) < 1.0
    assert_allclose(tuner.weights_.sum(), 1.0)
    members = [member.learner.predict(X) for member in tuner._population.members]
    mean = np.tensordot(tuner.weights_, members, 1)
    assert_allclose(tuner.predict(X), mean, atol=0.5)
    assert tuner.predict(X).shape == tuner.learner_.predict(X).shape
    assert_allclose(tuner.score(X, y), r2_score(y, tuner.predict(X)))


@pytest.mark.parametrize(
    ("learner", "space"),
    [
        (GaussianNB(), {"var_smoothing": ("log-real", 1e-9, 10.0)}),
        (SGDClassifier(learning_rate="constant", eta0=0.01), {"eta0": ("log-real", 1e-4, 1.0)}),
        (
            Windowed(LogisticRegression(), 100, memory=400),
            {"window": ("log-real", 20, 400), "estimator__C": ("log-real", 1e-3, 100.0)},
        ),
    ],
    ids=["bayes", "votes", "window"],
)
def test_classifiers_serve_together(learner, space):
    tuner = OnlineTuner(learner, space, random_state=0)
    champion = []  # its weight, after each batch
    for X, y in turning(20):
        y = np.where(y > 0.5, "up", np.where(y < -0.5, "down", "still"))
        champion.append(tuner.partial_fit(X, y, ["down", "still", "up"]).weights_[0])
    assert min(champion) < 1.0
    assert tuner.score(X, y) == np.mean(tuner.predict(X) == y)
    if hasattr(tuner, "predict_proba"):
        found = tuner.predict_proba(X)
        assert_allclose(found.sum(axis=1), 1.0)
        assert_array_equal(tuner.classes_[found.argmax(axis=1)], tuner.predict(X))
        assert_allclose(np.exp(tuner.predict_log_proba(X)), found, atol=1e-9)
    if hasattr(tuner, "decision_function"):
        found = tuner.decision_function(X)
        assert_array_equal(tuner.classes_[found.argmax(axis=1)], tuner.predict(X))


def test_weights_go_by_a_loss_of_ones_own():
    def pinball(y, prediction):
        return np.where(y > prediction, 9.0, 1.0) * np.abs(y - prediction)

    options = {"round_size": 50, "random_state": 0}
    space = {"alpha": ("log-real", 1e-4, 10.0)}
    learner = SGDRegressor(learning_rate="constant", eta0=1e-3, alpha=0.1)
    found = [
        OnlineTuner(learner, space, loss=loss, **options) for loss in (pinball, "absolute_error")
    ]
    for X, y in turning(12, pace=0.05):
        for tuner in found:
            tuner.partial_fit(X, y)
    for tuner in found:
        assert tuner.prequential_loss_ > 0.0
        assert_allclose(tuner.weights_.sum(), 1.0)


def test_the_mean_over_rounds_errs_less_where_nothing_turns():
    learner = SGDClassifier("log_loss", learning_rate="constant", eta0=3.0, random_state=0)
    tuner = OnlineTuner(learner, {"eta0": ("log-real", 2.9, 3.1)}, random_state=0)
    rng, errors = np.random.RandomState(0), {"lately": 0, "now": 0}
    for i in range(40):
        X = rng.normal(size=(50, 5))
        y = np.where(X.sum(axis=1) + 2.0 * rng.normal(size=50) > 0.0, "up", "down")
        if i:
            errors["lately"] += np.sum(tuner.predict(X) != y)
            errors["now"] += np.sum(tuner.learner_.predict(X) != y)
        tuner.partial_fit(X, y, ["down", "up"])
    assert errors["lately"] < 0.9 * errors["now"]
    assert {len(member.earlier) for member in tuner._population.members} == {3}


def test_who_is_barred_is_compared_in_a_tuner():
    tuner = OnlineTuner(
        SGDClassifier("log_loss", learning_rate="constant", eta0=0.01, random_state=0),
        {"eta0": ("log-real", 1e-3, 100.0)},
        random_state=0,
    )
    squares = []
    for X, y in turning(30, pace=0.02):
        tuner.partial_fit(X, np.where(y > 0.0, "up", "down"), ["down", "up"])
        squares.append(tuner._population.weights.saved_squares)
    assert max(squares) > 0.0


def test_epochs_are_served_by_the_champion():
    X, y = next(turning(1, size=200))
    tuner = OnlineTuner(SGDRegressor(learning_rate="constant"), ETA, random_state=0)
    for _ in range(12):
        tuner.partial_fit(X[:100], y[:100], validation=(X[100:], y[100:]))
    assert_array_equal(tuner.weights_, np.eye(12)[0])
    assert_array_equal(tuner.predict(X), tuner.learner_.predict(X))
