"""OnlineTuner: a champion serves, challengers learn beside it."""

import copy
import pickle
import warnings

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier, SGDRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sktvbo import WDBO, RandomSearch
from sktvbo.exceptions import DomainError
from sktvbo.model_selection import OnlineTuner, WarmStarted, Windowed

ETA = {"eta0": ("log-real", 1e-4, 0.3)}


def sgd(eta0=0.01):
    return SGDRegressor(learning_rate="constant", eta0=eta0, random_state=0)


def turning(n_batches, size=50, seed=0, pace=0.1):
    """Batches of a linear function that turns."""
    rng = np.random.RandomState(seed)
    for t in range(n_batches):
        X = rng.normal(size=(size, 2))
        y = np.cos(pace * t) * X[:, 0] + np.sin(pace * t) * X[:, 1]
        yield X, y + 0.3 * rng.normal(size=size)


def taught(tuner, batches):
    for X, y in batches:
        tuner.partial_fit(X, y)
    return tuner


class Level(RegressorMixin, BaseEstimator):
    """Predicts its parameter, and counts what it learns; may fail at a level."""

    def __init__(self, level=0.5, fails_above=np.inf, fails_in="predict"):
        self.level = level
        self.fails_above = fails_above
        self.fails_in = fails_in

    def _work(self, what):
        if what == self.fails_in and self.level > self.fails_above:
            raise ArithmeticError("too high")

    def partial_fit(self, X, y):
        self._work("learn")
        self.n_learnt_ = getattr(self, "n_learnt_", 0) + len(y)
        return self

    def predict(self, X):
        self._work("predict")
        return np.full(len(X), self.level)


LEVELS = {"level": ("real", 0.0, 1.0)}


def follow(tuner, n_batches, target, size=30):
    rng = np.random.RandomState(1)
    for t in range(n_batches):
        tuner.partial_fit(np.zeros((size, 1)), target(t) + 0.2 * rng.normal(size=size))
    return tuner


# --- prequential ----------------------------------------------------------------------------------


@pytest.mark.parametrize("serve", ["mixture", "champion"])
def test_each_batch_is_predicted_before_it_is_learnt(serve):
    tuner, losses, of_champion = OnlineTuner(sgd(), ETA, serve=serve, random_state=0), [], []
    for t, (X, y) in enumerate(turning(12)):
        if t:
            losses.append(np.mean((tuner.predict(X) - y) ** 2))
            of_champion.append(np.mean((tuner.learner_.predict(X) - y) ** 2))
        tuner.partial_fit(X, y)
        assert_allclose(tuner.prequential_loss_, np.mean(losses) if t else np.nan)
    assert_allclose(tuner.history_["loss"], of_champion)
    assert (serve == "champion") == np.array_equal(losses, of_champion)
    assert_array_equal(tuner.history_["n_rows"], 50 * np.arange(1, 12))


def test_the_champion_is_what_it_would_be_alone_as_long_as_nobody_replaces_it():
    tuner = OnlineTuner(sgd(), ETA, confidence=1.0 - 1e-12, random_state=0)
    alone = sgd()
    for X, y in turning(8):
        tuner.partial_fit(X, y)
        alone.partial_fit(X, y)
    assert not tuner.history_["promoted"].any()
    assert tuner.best_params_ == {"eta0": 0.01}
    assert_array_equal(tuner.learner_.coef_, alone.coef_)


def test_it_finds_the_setting_and_follows_when_that_moves():
    tuner = OnlineTuner(Level(0.1), LEVELS, round_size=30, random_state=0)
    follow(tuner, 30, lambda t: 0.8)
    assert abs(tuner.best_params_["level"] - 0.8) < 0.15
    assert abs(tuner.optimizer_.recommend(29.0)["level"] - 0.8) < 0.1
    follow(tuner, 30, lambda t: 0.2)
    assert abs(tuner.best_params_["level"] - 0.2) < 0.15
    assert tuner.learner_.n_learnt_ == 60 * 30  # the champions handed their weights on


def test_it_is_better_than_the_setting_that_it_began_with():
    batches = list(turning(60, pace=0.3))
    tuned = taught(OnlineTuner(sgd(1e-3), ETA, random_state=0), batches)
    alone, losses = sgd(1e-3), []
    for t, (X, y) in enumerate(batches):
        if t:
            losses.append(np.mean((alone.predict(X) - y) ** 2))
        alone.partial_fit(X, y)
    assert tuned.prequential_loss_ < 0.6 * np.mean(losses)
    assert tuned.best_params_["eta0"] > 0.01


def test_challengers_begin_with_the_champions_weights_or_anew():
    options = {"n_challengers": 2, "n_standing": 0, "round_size": 30, "random_state": 0}
    for warm_start in (True, False):
        tuner = OnlineTuner(Level(), LEVELS, warm_start=warm_start, **options)
        follow(tuner, 8, lambda t: 0.5)
        counts = {member.learner.n_learnt_ for member in tuner._population.members}
        assert counts == {240} if warm_start else min(counts) < 240


def test_batches_of_single_rows():
    tuner = OnlineTuner(Level(0.1), LEVELS, round_size=25, n_challengers=3, random_state=0)
    follow(tuner, 501, lambda t: 0.7, size=1)
    assert_array_equal(np.diff(tuner.history_["n_rows"]), 25)
    assert len(tuner.history_["time"]) == 20
    assert abs(tuner.best_params_["level"] - 0.7) < 0.2


def test_rows_of_validation_are_scored_in_place_of_the_batch():
    tuner = OnlineTuner(Level(0.1), LEVELS, random_state=0)
    X, low, high = np.zeros((40, 1)), np.full(40, 0.0), np.full(40, 1.0)
    for _ in range(12):
        tuner.partial_fit(X, low, validation=(X, high))
    assert tuner.best_params_["level"] > 0.8
    assert len(tuner.history_["time"]) == 11
    assert_allclose(tuner.history_["loss"][0], 0.81)


# --- learners -------------------------------------------------------------------------------------


def sea(n_batches, size=60, seed=0):
    rng = np.random.RandomState(seed)
    for t in range(n_batches):
        X = rng.uniform(0.0, 10.0, size=(size, 3))
        y = np.where(X[:, 0] + X[:, 1] <= (7.0 if t < n_batches // 2 else 12.0), "low", "high")
        yield X, y


@pytest.mark.parametrize(
    ("learner", "space", "methods"),
    [
        (
            SGDClassifier("log_loss", learning_rate="constant", eta0=0.01, random_state=0),
            {"eta0": ("log-real", 1e-3, 1.0), "penalty": ("categorical", ["l2", "l1", None])},
            ["predict_proba", "predict_log_proba", "decision_function"],
        ),
        (GaussianNB(), {"var_smoothing": ("log-real", 1e-9, 1.0)}, ["predict_proba"]),
        (
            WarmStarted(MLPClassifier((4,), learning_rate_init=0.01, max_iter=1, random_state=0)),
            {"estimator__learning_rate_init": ("log-real", 1e-4, 0.1)},
            ["predict_proba"],
        ),
        (
            Windowed(make_pipeline(StandardScaler(), LogisticRegression()), 100, memory=300),
            {
                "window": ("log-real", 30, 300),
                "estimator__logisticregression__C": ("log-real", 0.01, 100.0),
            },
            ["predict_proba", "decision_function"],
        ),
    ],
    ids=["sgd", "bayes", "mlp", "window"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_learners_of_all_kinds(learner, space, methods):
    for loss in ("auto", "log_loss"):
        tuner = OnlineTuner(
            learner, space, loss=loss, n_challengers=2, serve="champion", random_state=0
        )
        assert is_classifier(tuner)
        batches = list(sea(8))
        taught(tuner, batches)
        X, y = batches[-1]
        assert_array_equal(tuner.classes_, ["high", "low"])
        assert_array_equal(tuner.predict(X), tuner.learner_.predict(X))
        assert tuner.score(X, y) == np.mean(tuner.predict(X) == y)
        for method in methods:
            assert_array_equal(getattr(tuner, method)(X), getattr(tuner.learner_, method)(X))
        for name, value in tuner.best_params_.items():
            assert tuner.learner_.get_params()[name] == value
        assert np.isfinite(tuner.history_["loss"]).all()


class Foreign(ClassifierMixin, BaseEstimator):
    """As the wrappers of other packages: rows one by one, partial_fit with classes, no weights."""

    def __init__(self, rate=0.1):
        self.rate = rate

    def partial_fit(self, X, y, classes=None):
        if not hasattr(self, "classes_"):
            self.classes_ = np.asarray(classes)
            self.means_ = dict.fromkeys(classes.tolist(), 0.0)
        for x, label in zip(np.asarray(X), y):
            self.means_[label] += self.rate * (x - self.means_[label])
        return self

    def predict(self, X):
        distances = [np.square(X - self.means_[c]).sum(axis=1) for c in self.classes_.tolist()]
        return self.classes_[np.argmin(distances, axis=0)]


def test_a_learner_of_another_package():
    tuner = OnlineTuner(Foreign(), {"rate": ("log-real", 1e-3, 1.0)}, random_state=0)
    taught(tuner, sea(6))
    assert not hasattr(tuner, "predict_proba")
    assert set(tuner.predict([[1.0, 1.0, 1.0], [9.0, 9.0, 9.0]])) == {"low", "high"}


@pytest.mark.parametrize("optimizer", [RandomSearch(), WDBO(n_initial_points=5)])
def test_any_optimizer_will_do(optimizer):
    tuner = OnlineTuner(Level(0.1), LEVELS, optimizer=optimizer, round_size=30, random_state=0)
    follow(tuner, 15, lambda t: 0.8)
    assert abs(tuner.best_params_["level"] - 0.8) < 0.25
    assert isinstance(tuner.optimizer_, type(optimizer))
    assert not hasattr(optimizer, "told_y_")
    assert tuner.optimizer_.n_told_ == 14 * 12


def test_losses_of_ones_own():
    def pinball(y, prediction):
        return np.where(y > prediction, 9.0, 1.0) * np.abs(y - prediction)

    tuner = OnlineTuner(Level(0.5), LEVELS, loss=pinball, round_size=30, random_state=0)
    rng = np.random.RandomState(0)
    for _ in range(30):
        tuner.partial_fit(np.zeros((30, 1)), rng.uniform(size=30))
    assert abs(tuner.best_params_["level"] - 0.9) < 0.15  # the quantile


# --- scikit-learn ---------------------------------------------------------------------------------


def test_fit_is_the_stream_of_its_batches():
    batches = list(turning(9, size=20))
    X, y = (np.concatenate(parts) for parts in zip(*batches))
    whole = OnlineTuner(sgd(), ETA, batch_size=20, random_state=0).fit(X, y)
    parts = taught(OnlineTuner(sgd(), ETA, random_state=0), batches)
    assert whole.best_params_ == parts.best_params_
    assert_array_equal(whole.learner_.coef_, parts.learner_.coef_)
    assert_array_equal(whole.fit(X, y).learner_.coef_, parts.learner_.coef_)  # anew


def test_in_a_pipeline_with_names():
    pd = pytest.importorskip("pandas")
    X, y = next(turning(1, size=300))
    frame = pd.DataFrame(X, columns=["east", "north"])
    space = {"window": ("log-real", 30, 200), "estimator__alpha": ("log-real", 0.01, 100.0)}
    tuner = OnlineTuner(Windowed(Ridge(), 100, memory=200), space, batch_size=50, random_state=0)
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), tuner)
    assert pipeline.fit(frame, y).score(frame, y) > 0.5
    assert_array_equal(pipeline[-1].feature_names_in_, ["east", "north"])
    with pytest.raises(ValueError, match="feature names"):
        pipeline[-1].partial_fit(frame.rename(columns={"east": "west"}), y)


def test_a_pickle_in_the_middle_goes_on_the_same_way():
    batches = list(turning(16))
    tuner = taught(OnlineTuner(sgd(), ETA, random_state=0), batches[:8])
    again = pickle.loads(pickle.dumps(tuner))
    for each in (tuner, again):
        taught(each, batches[8:])
    assert_array_equal(tuner.learner_.coef_, again.learner_.coef_)
    assert_array_equal(tuner.trials_["param_eta0"], again.trials_["param_eta0"])


def test_seeds_decide():
    first, same, other = (
        taught(OnlineTuner(sgd(), ETA, random_state=seed), turning(6)).trials_["param_eta0"]
        for seed in (0, np.random.RandomState(0), 1)
    )
    assert_array_equal(first, same)
    assert not np.array_equal(first, other)


def test_a_clone_knows_nothing():
    tuner = taught(OnlineTuner(sgd(), ETA, random_state=0), turning(4))
    again = clone(tuner.set_params(estimator__eta0=0.02))
    assert again.estimator.eta0 == 0.02
    for name in ("best_params_", "history_", "learner_", "prequential_loss_"):
        with pytest.raises(NotFittedError):
            getattr(again, name)
    with pytest.raises(NotFittedError):
        again.predict([[0.0, 0.0]])


def test_jobs_find_what_one_finds():
    one, two = (
        taught(OnlineTuner(sgd(), ETA, n_jobs=n, random_state=0), turning(8)) for n in (None, 2)
    )
    assert_array_equal(one.trials_["loss"], two.trials_["loss"])


def test_trials_and_history_are_columns():
    space = {"eta0": ETA["eta0"], "penalty": ("categorical", ["l2", None])}
    tuner = taught(OnlineTuner(sgd(), space, n_challengers=2, random_state=0), turning(7))
    trials, history = tuner.trials_, tuner.history_
    assert {len(column) for column in trials.values()} == {18}
    assert {len(column) for column in history.values()} == {6}
    assert_array_equal(trials["champion"], np.tile([True, False, False], 6))
    assert_array_equal(history["loss"], trials["loss"][::3])
    assert set(trials["param_penalty"]) <= {"l2", None}
    promoted = trials["promoted"].reshape(6, 3)
    assert_array_equal(promoted.any(axis=1), history["promoted"])
    settings = np.append(history["param_eta0"], tuner.best_params_["eta0"])
    for t in range(6):
        serves = trials["param_eta0"][3 * t :][:3][promoted[t]]
        assert settings[t + 1] == (serves[0] if len(serves) else settings[t])
    assert len(tuner.challengers_) == 2


@parametrize_with_checks(
    [
        OnlineTuner(sgd(), ETA, random_state=0),
        OnlineTuner(Windowed(Ridge()), {"estimator__alpha": ("log-real", 0.1, 10.0)}),
        OnlineTuner(GaussianNB(), {"var_smoothing": ("log-real", 1e-9, 1e-3)}, batch_size=50),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# --- what goes wrong ------------------------------------------------------------------------------


@pytest.mark.parametrize("fails_in", ["predict", "learn"])
def test_a_challenger_that_fails_is_replaced_with_a_warning(fails_in):
    learner = Level(0.1, fails_above=0.6, fails_in=fails_in)
    tuner = OnlineTuner(learner, LEVELS, round_size=30, random_state=0)
    message = f"could not {fails_in}, and is replaced: .*'level'.*ArithmeticError: too high"
    with pytest.warns(FitFailedWarning, match=message):
        follow(tuner, 20, lambda t: 0.9)  # what is best fails
    assert 0.4 < tuner.best_params_["level"] <= 0.6
    assert np.isfinite(tuner.history_["loss"]).all()


def test_a_champion_that_fails_is_an_error_and_nothing_changes():
    tuner = follow(OnlineTuner(Level(0.5), LEVELS, round_size=30, random_state=0), 3, lambda t: 0.5)
    before = joblib.hash(vars(tuner))
    for X, y in (
        (np.zeros((4, 1)), np.full(4, np.nan)),
        (np.zeros((4, 1)), np.zeros(5)),
        (np.zeros((4, 2)), np.zeros(4)),
    ):
        with pytest.raises(ValueError, match=r"losses must be|inconsistent|features"):
            tuner.partial_fit(X, y)
        assert joblib.hash(vars(tuner)) == before


def test_a_failure_to_learn_leaves_weights_and_optimizer_as_they_were():
    batches = list(turning(6))
    tuner = taught(OnlineTuner(sgd(), ETA, random_state=0), batches[:3])
    reference = copy.deepcopy(tuner)
    X, y = batches[3]
    broken = X.copy()
    broken[-1, 0] = np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="infinity"):
            tuner.partial_fit(broken, y)
        with pytest.raises(ValueError, match="infinity"):
            tuner.fit(broken, y)
    for each in (tuner, reference):
        taught(each, batches[3:])
    assert_array_equal(tuner.learner_.coef_, reference.learner_.coef_)
    assert_array_equal(tuner.optimizer_.told_y_, reference.optimizer_.told_y_)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"estimator": Ridge()}, TypeError, "'estimator' .* with partial_fit. Got .* Windowed"),
        ({"space": {"eta": (*ETA["eta0"],)}}, ValueError, "'space' .* of SGDRegressor. Got 'eta'"),
        ({"space": {"eta0": ("real", 0.5, 1.0)}}, DomainError, r"'eta0'.*0\.01"),
        ({"space": {}}, DomainError, "at least one named parameter"),
        ({"space": [(0.0, 1.0)]}, DomainError, "a dict of at least one named parameter"),
        ({"optimizer": Ridge()}, TypeError, "'optimizer' .* an ask/tell optimizer"),
        ({"n_challengers": 0}, ValueError, r"'n_challengers' .* range \[1, inf\). Got 0"),
        ({"loss": "hinge"}, ValueError, "'loss' .* 'zero_one', 'log_loss'.* Got 'hinge'"),
        ({"loss": 3}, ValueError, "'loss' .* Got 3"),
        ({"confidence": 1.0}, ValueError, r"'confidence' .* range \(0.5, 1\). Got 1.0"),
        ({"round_size": 1}, ValueError, r"'round_size' .* range \[2, inf\). Got 1"),
        ({"batch_size": 0}, ValueError, r"'batch_size' .* Got 0"),
    ],
)
def test_parameters_that_make_no_sense(options, error, message):
    tuner = OnlineTuner(**{"estimator": sgd(), "space": ETA} | options)
    X, y = next(turning(1))
    for method in ("fit",) if "batch_size" in options else ("fit", "partial_fit"):
        with pytest.raises(error, match=message):
            getattr(tuner, method)(X, y)
    assert not hasattr(tuner, "best_params_")


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (lambda y, p: -np.abs(y - p), r"losses must be in the range \[0, inf\). Got -"),
        (lambda y, p: np.abs(y - p).mean(), r"one for each of 50 rows. Got shape \(\)"),
        (lambda y, p: np.full(len(y), np.nan), "Got nan"),
    ],
)
def test_losses_that_are_none(loss, message):
    tuner = OnlineTuner(sgd(), ETA, loss=loss, random_state=0)
    with pytest.raises(ValueError, match=message):
        taught(tuner, turning(2))
    assert tuner.history_["time"].size == 0
