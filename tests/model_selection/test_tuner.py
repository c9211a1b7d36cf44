"""OnlineTuner: learners with different settings learn in parallel and predict together."""

import copy
import pickle
import warnings
from collections import deque
from dataclasses import dataclass

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin, clone, is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier, SGDRegressor
from sklearn.metrics import r2_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from sktvbo.exceptions import DomainError
from sktvbo.gaussian_process import TimeVaryingGPRegressor
from sktvbo.model_selection import OnlineTuner

ETA = {"eta0": ("log-real", 1e-4, 0.3)}
LEVELS = {"level": ("real", 0.0, 1.0)}


def sgd(eta0=0.01):
    return SGDRegressor(learning_rate="constant", eta0=eta0, random_state=0)


def turning(n_batches, size=50, seed=0, pace=0.1):
    """Batches of a linear function whose direction rotates."""
    rng = np.random.RandomState(seed)
    for t in range(n_batches):
        X = rng.normal(size=(size, 2))
        y = np.cos(pace * t) * X[:, 0] + np.sin(pace * t) * X[:, 1]
        yield X, y + 0.3 * rng.normal(size=size)


def concepts(n_batches, size=60, seed=0):
    """Batches of two classes whose boundary moves halfway."""
    rng = np.random.RandomState(seed)
    for t in range(n_batches):
        X = rng.uniform(0.0, 10.0, size=(size, 3))
        y = np.where(X[:, 0] + X[:, 1] <= (7.0 if t < n_batches // 2 else 12.0), "low", "high")
        yield X, y


def taught(tuner, batches):
    for X, y in batches:
        tuner.partial_fit(X, y)
    return tuner


@dataclass(eq=False, repr=False)
class Level(RegressorMixin, BaseEstimator):
    """Predict the parameter; raise an error, or predict NaN, above a level."""

    level: float = 0.5
    fails_above: float = np.inf
    fails_in: str = "predict"

    def partial_fit(self, X, y):
        if self.fails_in == "learn" and self.level > self.fails_above:
            raise ArithmeticError("too high")
        return self

    def predict(self, X):
        if self.fails_in == "predict" and self.level > self.fails_above:
            raise ArithmeticError("too high")
        if self.fails_in == "nan" and self.level > self.fails_above:
            return np.full(len(X), np.nan)
        return np.full(len(X), self.level)


def follow(tuner, n_batches, target, size=30):
    rng = np.random.RandomState(1)
    for _ in range(n_batches):
        tuner.partial_fit(np.zeros((size, 1)), target + 0.2 * rng.normal(size=size))
    return tuner


# --- settings and weights -------------------------------------------------------------------------


def test_settings_are_the_estimators_own_and_a_latin_hypercube():
    space = {"eta0": ("log-real", 1e-4, 1.0), "alpha": ("real", 0.0, 5.0)}
    tuner = taught(OnlineTuner(sgd(), space, n_settings=9, random_state=0), turning(1))
    assert tuner.settings_[0] == {"eta0": 0.01, "alpha": 0.0001}
    for learner, setting in zip(tuner.learners_, tuner.settings_):
        assert {name: learner.get_params()[name] for name in space} == setting
    units = [
        (0.25 * np.log10(setting["eta0"]) + 1.0, setting["alpha"] / 5.0)
        for setting in tuner.settings_[1:]
    ]
    cells = np.floor(8.0 * np.array(units)).astype(int)
    assert_array_equal(np.sort(cells, axis=0), np.tile(np.arange(8)[:, np.newaxis], 2))


def test_each_member_of_a_small_space_has_one_learner():
    space = {"penalty": ("categorical", ["l2", "l1", None])}
    tuner = taught(OnlineTuner(sgd(), space, n_settings=30, random_state=0), turning(1))
    assert len(tuner.settings_) == 3
    assert {setting["penalty"] for setting in tuner.settings_} == {"l2", "l1", None}


def test_each_batch_is_predicted_before_it_is_learnt():
    tuner, losses = OnlineTuner(sgd(), ETA, random_state=0), []
    for t, (X, y) in enumerate(turning(8)):
        if t:
            losses.append(np.mean((tuner.predict(X) - y) ** 2))
        tuner.partial_fit(X, y)
        assert_allclose(tuner.prequential_loss_, np.mean(losses) if t else np.nan)


def test_learners_are_what_they_would_be_alone():
    tuner = taught(OnlineTuner(sgd(), ETA, n_settings=4, random_state=0), turning(6))
    for setting, learner in zip(tuner.settings_, tuner.learners_):
        alone = taught(sgd(**setting), turning(6))
        assert_array_equal(learner.coef_, alone.coef_)


def test_weights_are_those_of_the_formula():
    """A second implementation: gains from slopes by finite differences, sums batch by batch."""
    levels = OnlineTuner(Level(0.5), LEVELS, n_settings=6, random_state=0)
    rng, X = np.random.RandomState(0), np.zeros((40, 1))
    levels.partial_fit(X, rng.normal(size=40))
    values = np.array([setting["level"] for setting in levels.settings_])
    history = []
    for _ in range(5):
        y, mean = 0.6 + 0.1 * rng.normal(size=40), levels.weights_ @ values
        eps = 1e-6
        moved = [np.sum((y - mean - eps * (value - mean)) ** 2) for value in values]
        history.append((np.sum((y - mean) ** 2) - np.array(moved)) / eps)
        levels.partial_fit(X, y)
        discount = 0.5 ** (40.0 / 1000.0 * np.arange(len(history))[::-1, np.newaxis])
        gain, square = (discount * history).sum(axis=0), (discount * np.square(history)).sum(axis=0)
        expected = np.where(gain > 0.0, gain / (square + square.mean() / discount.sum()), 0.0)
        assert_allclose(levels.weights_, expected / expected.sum(), rtol=1e-3)


def test_the_average_predicts_and_follows_when_the_target_moves():
    tuner = OnlineTuner(Level(0.1), LEVELS, random_state=0)
    for target in (0.8, 0.2):
        follow(tuner, 60, target)
        assert abs(tuner.predict([[0.0]])[0] - target) < 0.07
        assert abs(tuner.best_params_["level"] - target) < 0.15
        assert tuner.best_estimator_.level == tuner.best_params_["level"]


def test_batches_of_single_rows():
    tuner = follow(OnlineTuner(Level(0.1), LEVELS, random_state=0), 400, 0.7, size=1)
    assert abs(tuner.predict([[0.0]])[0] - 0.7) < 0.1


def test_a_callable_loss():
    def pinball(y, prediction):
        return np.where(y > prediction, 9.0, 1.0) * np.abs(y - prediction)

    tuner = OnlineTuner(Level(0.5), LEVELS, loss=pinball, random_state=0)
    rng = np.random.RandomState(0)
    for _ in range(60):
        tuner.partial_fit(np.zeros((30, 1)), rng.uniform(size=30))
    assert abs(tuner.best_params_["level"] - 0.9) < 0.12  # the quantile
    assert abs(tuner.predict([[0.0]])[0] - 0.9) < 0.12


# --- windows --------------------------------------------------------------------------------------


VARIED = {"window": ("integer", 20, 130)}


@pytest.mark.parametrize(
    ("kind", "window"), [("array", {}), ("array", VARIED), ("frame", VARIED), ("sparse", VARIED)]
)
def test_a_window_refits_to_the_latest_rows(kind, window):
    space = {**window, "alpha": ("log-real", 0.01, 100.0)}
    tuner = OnlineTuner(Ridge(solver="lsqr"), space, window=60, n_settings=5, random_state=0)
    batches = list(turning(5))
    for X, y in batches:
        if kind == "frame":
            X = pytest.importorskip("pandas").DataFrame(X, columns=["east", "north"])
        tuner.partial_fit(sparse.coo_matrix(X) if kind == "sparse" else X, y)
    X, y = map(np.concatenate, zip(*batches))
    for setting, learner in zip(tuner.settings_, tuner.learners_):
        n = setting.get("window", 60)
        expected = Ridge(alpha=setting["alpha"], solver="lsqr").fit(X[-n:], y[-n:])
        assert_allclose(learner.coef_, expected.coef_, rtol=1e-4)
    assert tuner.settings_[0].get("window", 60) == 60


def test_labels_may_appear_later_in_a_window():
    tree = DecisionTreeClassifier(random_state=0)
    tuner = OnlineTuner(tree, {"max_depth": ("integer", 1, 5)}, window=100, random_state=0)
    tuner.estimator.set_params(max_depth=2)
    X = np.linspace(0.0, 1.0, 50)[:, np.newaxis]
    for labels in (["b", "c"], ["b", "c"], ["a", "c"], ["a", "c"], ["a", "c"]):
        tuner.partial_fit(X, np.repeat(labels, 25))
    assert_array_equal(tuner.classes_, ["a", "b", "c"])
    assert_array_equal(tuner.predict([[0.0], [1.0]]), ["a", "c"])


# --- learners -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "space", "window"),
    [
        (
            SGDClassifier("log_loss", learning_rate="constant", eta0=0.01, random_state=0),
            {"eta0": ("log-real", 1e-3, 1.0), "penalty": ("categorical", ["l2", "l1", None])},
            None,
        ),
        (
            make_pipeline(StandardScaler(), LogisticRegression()),
            {"window": ("log-real", 30, 300), "logisticregression__C": ("log-real", 0.01, 100.0)},
            100,
        ),
        (SGDClassifier(random_state=0), {"alpha": ("log-real", 1e-6, 1.0)}, None),
    ],
    ids=["sgd", "window", "hinge"],
)
def test_classifiers_vote(estimator, space, window):
    tuner = OnlineTuner(estimator, space, window=window, n_settings=4, random_state=0)
    assert is_classifier(tuner)
    errors = []
    for t, (X, y) in enumerate(concepts(12)):
        if t:
            errors.append(np.mean(tuner.predict(X) != y))
        tuner.partial_fit(X, y)
    assert_array_equal(tuner.classes_, ["high", "low"])
    assert_allclose(tuner.prequential_loss_, np.mean(errors))
    assert_allclose(tuner.weights_.sum(), 1.0)
    shares = tuner.predict_proba(X)
    assert_allclose(shares.sum(axis=1), 1.0)
    assert_array_equal(tuner.classes_[shares.argmax(axis=1)], tuner.predict(X))
    assert tuner.score(X, y) == np.mean(tuner.predict(X) == y) > 0.6


def test_a_classifier_also_votes_with_its_latest_states():
    """With one setting nothing else differs from the learner alone."""
    learner = SGDClassifier("log_loss", learning_rate="constant", eta0=3.0, random_state=0)
    tuner = OnlineTuner(learner, {"eta0": ("log-real", 1.0, 9.0)}, n_settings=1)
    rng, errors = np.random.RandomState(0), {"average": 0, "latest": 0}
    for i in range(40):
        X = rng.normal(size=(50, 5))
        y = np.where(X.sum(axis=1) + 2.0 * rng.normal(size=50) > 0.0, "up", "down")
        if i:
            errors["average"] += np.sum(tuner.predict(X) != y)
            errors["latest"] += np.sum(tuner.best_estimator_.predict(X) != y)
        tuner.partial_fit(X, y, ["down", "up"])
    assert errors["average"] < 0.9 * errors["latest"]


def test_several_targets():
    tuner = OnlineTuner(Ridge(), {"alpha": ("log-real", 0.01, 100.0)}, window=100, random_state=0)
    for X, y in turning(6):
        Y = np.column_stack([y, -y])
        tuner.partial_fit(X, Y)
    assert tuner.predict(X).shape == Y.shape
    assert tuner.score(X, Y) == r2_score(Y, tuner.predict(X)) > 0.5
    with pytest.raises(ValueError, match=r"y must be of the shape of the first batch"):
        tuner.partial_fit(X, y)


# --- scikit-learn ---------------------------------------------------------------------------------


def test_fit_is_the_stream_of_its_batches():
    batches = list(turning(9, size=20))
    X, y = map(np.concatenate, zip(*batches))
    whole = OnlineTuner(sgd(), ETA, batch_size=20, random_state=0).fit(X, y)
    parts = taught(OnlineTuner(sgd(), ETA, random_state=0), batches)
    assert whole.prequential_loss_ == parts.prequential_loss_
    assert_array_equal(whole.weights_, parts.weights_)
    assert_array_equal(whole.fit(X, y).weights_, parts.weights_)  # starts again


def test_in_a_pipeline_with_names():
    pd = pytest.importorskip("pandas")
    X, y = next(turning(1, size=300))
    frame = pd.DataFrame(X, columns=["east", "north"])
    space = {"window": ("log-real", 30, 200), "alpha": ("log-real", 0.01, 100.0)}
    tuner = OnlineTuner(Ridge(), space, window=100, batch_size=50, random_state=0)
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), tuner)
    assert pipeline.fit(frame, y).score(frame, y) > 0.5
    assert_array_equal(pipeline[-1].feature_names_in_, ["east", "north"])
    with pytest.raises(ValueError, match="feature names"):
        pipeline[-1].partial_fit(frame.rename(columns={"east": "west"}), y)


def test_a_pickle_continues_as_the_original():
    batches = list(turning(10))
    tuner = taught(OnlineTuner(sgd(), ETA, random_state=0), batches[:5])
    again = pickle.loads(pickle.dumps(tuner))
    for each in (tuner, again):
        taught(each, batches[5:])
    assert_array_equal(tuner.weights_, again.weights_)
    assert tuner.prequential_loss_ == again.prequential_loss_


def test_seeds_decide():
    first, same, other = (
        taught(OnlineTuner(sgd(), ETA, random_state=seed), turning(1)).settings_
        for seed in (0, np.random.RandomState(0), 1)
    )
    assert first == same != other


def test_threads_find_the_same():
    one, two = (
        taught(OnlineTuner(sgd(), ETA, n_jobs=n, random_state=0), turning(6)) for n in (None, 2)
    )
    assert_array_equal(one.weights_, two.weights_)


@parametrize_with_checks(
    [
        OnlineTuner(Ridge(), {"alpha": ("log-real", 0.1, 10.0)}, n_settings=3, window=1000),
        OnlineTuner(
            GaussianNB(), {"var_smoothing": ("log-real", 1e-9, 1e-3)}, n_settings=3, batch_size=50
        ),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# --- failures -------------------------------------------------------------------------------------


FORMS = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pytest.importorskip("polars").from_pandas(frame),
    "list": lambda frame: frame.to_numpy().tolist(),
    "object array": lambda frame: frame.to_numpy(),
}


@pytest.mark.parametrize("window", [None, 20])
@pytest.mark.parametrize("form", FORMS)
def test_learners_convert_dates(form, window):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": np.random.RandomState(0).uniform(size=60)})
    frame["hour"] = pd.date_range("2024-01-01", periods=60, freq="h")
    numbers = frame.assign(hour=frame["hour"].to_numpy().astype("M8[h]").astype(float)).to_numpy()
    y, dates = np.sin(6.0 * numbers[:, 0]) + np.arange(60) / 50.0, FORMS[form](frame)
    estimator = TimeVaryingGPRegressor(time_unit="h", optimizer=None)
    space = {"signal_variance": ("log-real", 0.1, 10.0)}
    tuner = OnlineTuner(estimator, space, n_settings=2, window=window, batch_size=20)
    expected = clone(tuner).fit(numbers, y)
    tuner.fit(dates, y)
    assert tuner.prequential_loss_ == expected.prequential_loss_
    assert_array_equal(tuner.predict(dates[:30]), expected.predict(numbers[:30]))


@pytest.mark.parametrize(
    ("fails_in", "message"),
    [
        ("predict", "could not predict: .*'level'.*ArithmeticError: too high"),
        ("learn", "could not learn: .*'level'.*ArithmeticError: too high"),
        ("nan", "could not predict: .*Predictions must be .* Got NaN"),
    ],
)
def test_a_learner_that_fails_is_replaced_with_a_warning(fails_in, message):
    learner = Level(0.1, fails_above=0.6, fails_in=fails_in)
    tuner = OnlineTuner(learner, LEVELS, random_state=0)
    with pytest.warns(FitFailedWarning, match=message):
        follow(tuner, 30, 0.9)
    assert all(setting["level"] <= 0.6 for setting in tuner.settings_)
    assert len(tuner.settings_) == len(tuner.learners_) == 12
    for setting, one in zip(tuner.settings_, tuner.learners_):
        assert one.level == setting["level"]
    assert 0.45 < tuner.best_params_["level"] <= 0.6


@pytest.mark.parametrize(("reach", "largest"), [(0.0, 0.1), (0.15, 0.5)])
def test_learners_that_diverge_hardly_matter(reach, largest):
    """One of the best at first, then several at once; their errors alone would be 1e24."""

    class Diverges(Level):
        def partial_fit(self, X, y):
            self.n_learnt_ = getattr(self, "n_learnt_", 0) + 1
            return self

        def predict(self, X):
            if self.n_learnt_ > 20 and abs(self.level - 0.5) <= reach:
                return np.full(len(X), 1e12)
            return super().predict(X)

    tuner = OnlineTuner(Diverges(0.5), LEVELS, random_state=0)
    follow(tuner, 60, 0.5)
    assert tuner.prequential_loss_ < largest
    assert abs(tuner.best_params_["level"] - 0.5) > reach


@pytest.mark.parametrize(
    ("value", "first", "n_targets"),
    [(np.inf, True, 1), (-np.inf, False, 2), (np.nan, True, 2), (1e200, False, 1), (None, True, 1)],
)
def test_after_a_batch_with_a_bad_y_clean_ones_are_learnt(value, first, n_targets):
    """The bad row is outside of the window, so that no learner refuses it."""
    X = np.random.default_rng(0).normal(size=(180, 2))
    y = X[:, :n_targets].squeeze().copy()
    bad = y[:60].astype(object if value is None else float)
    bad.flat[0] = value
    space = {"alpha": ("log-real", 0.1, 10.0)}
    tuner = OnlineTuner(Ridge(), space, window=50, n_settings=3, random_state=0)
    if not first:
        tuner.partial_fit(X[60:120], y[60:120])
    with pytest.raises(ValueError, match=r"^y must be|Input y contains NaN: "):
        tuner.partial_fit(X[:60], bad)
    tuner.partial_fit(X[60:120], y[60:120]).partial_fit(X[120:], y[120:])
    assert np.abs(tuner.predict(X) - y).max() < 0.5


def test_a_missing_label_is_named():
    X, y = np.zeros((4, 1)), np.array(["a", "b", None, "a"], dtype=object)
    tuner = OnlineTuner(SGDClassifier(), {"alpha": ("log-real", 1e-5, 1e-3)}, n_settings=2)
    for method in (tuner.fit, tuner.partial_fit):
        with pytest.raises(ValueError, match="Input y contains NaN: None in row 2"):
            method(X, y)


def test_an_error_of_all_learners_leaves_the_tuner_unchanged():
    batches = list(turning(6))
    tuner = taught(OnlineTuner(sgd(), ETA, random_state=0), batches[:3])
    reference = copy.deepcopy(tuner)
    before = joblib.hash(vars(tuner))
    X, y = batches[3]
    broken = X.copy()
    broken[-1, 0] = np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        narrow = [(X[:, :1], y)]  # a stream of one column is valid
        for method, more in ((tuner.partial_fit, narrow), (tuner.fit, [])):
            for bad in ((broken, y), (X, np.full(50, np.nan)), (X, y[:-1]), *more):
                with pytest.raises(ValueError, match=r"inf|NaN|nan|inconsistent|features"):
                    method(*bad)
                assert joblib.hash(vars(tuner)) == before
    for each in (tuner, reference):
        taught(each, batches[3:])
    assert_array_equal(tuner.weights_, reference.weights_)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"estimator": Ridge()}, TypeError, "'estimator' .* predict_one. Got .* window=200"),
        ({"space": {"eta": (*ETA["eta0"],)}}, ValueError, "'space' .* of SGDRegressor. Got 'eta'"),
        ({"space": {"window": ("integer", 5, 9)}}, ValueError, "Got 'window'"),
        (
            {"space": {"eta0": ("real", 0.5, 1.0)}},
            ValueError,
            r"own setting .* eta0=0\.01 ins.*0\.5",
        ),
        (
            {"estimator": DecisionTreeClassifier(), "space": {"max_depth": ("integer", 1, 9)}}
            | {"window": 50},
            *(ValueError, "own setting lies in the space. Got max_depth=None inst.* a category"),
        ),
        ({"space": {}}, DomainError, "at least one named parameter"),
        ({"space": [(0.0, 1.0)]}, DomainError, "a dict of at least one named parameter"),
        ({"n_settings": 0}, ValueError, r"'n_settings' .* range \[1, inf\). Got 0"),
        ({"window": 0}, ValueError, r"'window' .* range \[1, inf\). Got 0"),
        ({"window": 5, "space": {"window": ("integer", 0, 5)}}, ValueError, r"'window' .* Got 0"),
        ({"loss": "hinge"}, ValueError, "'loss' .* 'auto' or a callable. Got 'hinge'"),
        ({"batch_size": 0}, ValueError, r"'batch_size' .* Got 0"),
    ],
)
def test_invalid_parameters(options, error, message):
    tuner = OnlineTuner(**{"estimator": sgd(), "space": ETA} | options)
    X, y = next(turning(1))
    for method in ("fit",) if "batch_size" in options else ("fit", "partial_fit"):
        with pytest.raises(error, match=message):
            getattr(tuner, method)(X, y)
    assert not hasattr(tuner, "best_params_")


@pytest.mark.parametrize(("window", "needed"), [(None, "partial_fit"), (5, "fit")])
def test_advice_is_only_what_helps(window, needed):
    message = (
        rf"'estimator' .* with {needed}, or a model of river, with learn_one and predict_one\. "
        r"Got <.*> instead\.$"
    )
    with pytest.raises(TypeError, match=message):
        OnlineTuner(object(), LEVELS, window=window).partial_fit([[0.0]], [0.0])


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (lambda y, p: -np.abs(y - p), r"losses must be in the range \[0, inf\). Got -"),
        (lambda y, p: np.abs(y - p).mean(), r"one for each of 50 rows. Got shape \(\)"),
        (lambda y, p: np.full(len(y), np.nan), "Got nan"),
    ],
)
def test_invalid_losses(loss, message):
    tuner = OnlineTuner(sgd(), ETA, loss=loss, random_state=0)
    with pytest.raises(ValueError, match=message):
        taught(tuner, turning(2))
    assert np.isnan(tuner.prequential_loss_)


# --- models that learn row by row -----------------------------------------------------------------


class Mean:
    """Exponential mean, with the methods of a model of river."""

    def __init__(self, rate=0.1):
        self.rate, self.mean, self.seen = rate, 0.0, []

    def learn_one(self, x, y):
        self.seen = [*self.seen, x]
        self.mean += self.rate * (y - self.mean)

    def predict_one(self, x):
        return self.mean

    def clone(self, new_params=None, include_attributes=False):
        new = type(self)(**{"rate": self.rate} | (new_params or {}))
        if include_attributes:
            new.mean, new.seen = self.mean, list(self.seen)
        return new


class Share(Mean):
    """Share of the label 1, for all rows."""

    def predict_one(self, x):
        return self.mean > 0.5

    def predict_proba_one(self, x):
        return {True: self.mean, False: 1.0 - self.mean}


RATES = {"rate": ("log-real", 0.01, 1.0)}


@pytest.mark.parametrize("window", [None, 40])
def test_models_that_learn_row_by_row(window):
    tuner = OnlineTuner(Mean(), RATES, window=window, n_settings=4, random_state=0)
    rows, y = np.zeros((120, 1)), np.arange(120.0)
    for i in range(0, 120, 30):
        tuner.partial_fit(rows[i : i + 30], y[i : i + 30])
    for setting, model in zip(tuner.settings_, tuner.learners_):
        alone = Mean(**setting)
        for value in y if window is None else y[-window:]:
            alone.learn_one({}, value)
        assert type(model) is Mean
        assert model.mean == alone.mean
    assert not is_classifier(tuner)
    assert not Mean().seen
    assert tuner.best_estimator_.rate == tuner.best_params_["rate"] > 0.1
    resumed = pickle.loads(pickle.dumps(tuner)).partial_fit(rows[:9], y[:9])
    assert resumed.predict(rows[:2]) == pytest.approx(
        tuner.partial_fit(rows[:9], y[:9]).predict(rows[:2])
    )


def test_classifiers_that_learn_row_by_row():
    tuner = OnlineTuner(Share(), RATES, n_settings=4, random_state=0)
    for label in (0, 1, 1):
        tuner.partial_fit(np.zeros((30, 1)), np.full(30, label), classes=[0, 1])
    assert is_classifier(tuner)
    assert tuner.predict([[0.0]]).tolist() == [1]
    assert 0.5 < tuner.predict_proba([[0.0]])[0, 1] <= 1.0


@pytest.mark.parametrize("kind", ["array", "pandas", "polars", "sparse"])
def test_rows_are_dicts_by_name_or_number(kind):
    values, names = np.array([[1.0, 2.0], [3.0, 0.0]]), ["a", "b"]
    if kind in ("pandas", "polars"):
        X = pytest.importorskip(kind).DataFrame(dict(zip(names, values.T)))
    else:
        X, names = values if kind == "array" else sparse.csr_array(values), [0, 1]
    tuner = OnlineTuner(Mean(), RATES, n_settings=1).partial_fit(X, [0.0, 1.0])
    assert tuner.best_estimator_.seen == [dict(zip(names, row)) for row in values.tolist()]


def test_models_of_river():
    pytest.importorskip("river")
    from river import compose, linear_model, multiclass, optim, preprocessing

    rate, few = "optimizer__lr__learning_rate", {"n_settings": 4, "random_state": 0}
    line = linear_model.LinearRegression(optim.SGD(0.001))
    tuner = taught(OnlineTuner(line, {rate: ("log-real", 1e-4, 0.3)}, **few), turning(20))
    assert tuner.best_params_[rate] > 0.01
    assert isinstance(tuner.best_estimator_, linear_model.LinearRegression)
    assert tuner.best_estimator_.optimizer.lr.learning_rate == tuner.best_params_[rate]
    X, y = deque(turning(21), 1)[0]
    assert tuner.score(X, y) > 0.6
    # It has no probabilities.
    pairs = multiclass.OneVsOneClassifier(linear_model.LogisticRegression(optim.SGD(0.001)))
    pipeline = compose.Pipeline(preprocessing.StandardScaler(), pairs)
    space = {f"OneVsOneClassifier__classifier__{rate}": ("log-real", 1e-3, 0.3)}
    tuner = taught(OnlineTuner(pipeline, space, **few), concepts(8))
    assert is_classifier(tuner)
    assert tuner.prequential_loss_ < 0.4
    with pytest.raises(ValueError, match=f"Got 'lr' instead. These are .*{rate}"):
        OnlineTuner(line, {"lr": ("log-real", 1e-4, 0.3)}).fit(X, y)
