"""Several models of one regressor, of which the likeliest is taken."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import lognorm, uniform
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from sktvbo import WDBO, BayesianOptimizer, SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor
from sktvbo.domain import as_domain
from sktvbo.exceptions import NotPositiveDefiniteError
from sktvbo.gaussian_process import Bowl, _base
from sktvbo.gaussian_process._search import Knowledge
from sktvbo.kernels import Additive
from sktvbo.optimizers._surrogates import (
    Times,
    smooth_alternatives,
    smooth_surrogate,
    suited_alternatives,
)

N = 60
TERMS = {
    "persistent_kernel": ConstantKernel(0.3) * Additive(Matern(0.3, nu=2.5)),
    "drift_kernel": ConstantKernel(0.3) * Matern(10.0, nu=2.5),
}
BOWL = {"prior_mean": Bowl(1.0, depth_std=0.0, slope_std=0.0)}


def data(kind, seed=0):
    """A sum of functions of one coordinate and a level, a bowl, or waves that move."""
    rng = np.random.RandomState(seed)
    X = np.column_stack([rng.uniform(size=(N, 3)), np.arange(float(N))])
    S, t = X[:, :3], X[:, 3]
    y = {
        "terms": np.sin(8.0 * S).sum(axis=1) + 3.0 * np.sin(0.2 * t),
        "bowl": -4.0 * ((S - 0.5) ** 2).sum(axis=1),
        "waves": np.sin(5.0 * S[:, 0] + 0.1 * t) * np.cos(4.0 * S[:, 1] * S[:, 2] - 0.07 * t),
    }[kind]
    return X, y + 0.05 * rng.normal(size=N)


def make(**options):
    parameters = {
        "spatial_kernel": Matern(0.5, (0.01, 1.0), nu=2.5),
        "temporal_kernel": Matern(20.0, (5.0, 1e3), nu=2.5),
        "normalize_y": True,
        "mean_prior_std": 1.0,
        "warn": False,
    }
    return TimeVaryingGPRegressor(**parameters | options)


def criterion(gp):
    """Akaike's information criterion, as a log likelihood."""
    return gp.log_marginal_likelihood_value_ - len(gp.theta_)


@pytest.mark.parametrize(("kind", "expected"), [("terms", 1), ("bowl", 2), ("waves", 0)])
def test_the_likeliest_is_taken(kind, expected):
    X, y = data(kind)
    gp = make(alternatives=(TERMS, BOWL)).fit(X, y)
    each = [make(**one).fit(X, y) for one in ({}, TERMS, BOWL)]
    values = [criterion(one) for one in each]
    assert gp.alternative_ == np.argmax(values) == expected
    assert_array_equal(gp.predict(X, return_std=True), each[expected].predict(X, return_std=True))
    assert_array_equal(gp.theta_, each[expected].theta_)
    assert (gp.persistent_kernel_ is None) is (expected != 1)
    assert gp.persistent_kernel is None  # parameters are as they were given
    assert (gp._gp.rows.features is None) is (expected != 2)


def test_each_hyperparameter_costs_1():
    X, y = data("bowl")
    one, three = (
        {"spatial_kernel": Matern(length_scale, (0.01, 20.0), nu=2.5)}
        for length_scale in (0.5, [0.5, 0.5, 0.5])
    )
    values = [make(**each).fit(X, y).log_marginal_likelihood_value_ for each in (one, three)]
    assert 1e-3 < values[1] - values[0] < 2.0
    assert make(**one, alternatives=[three]).fit(X, y).alternative_ == 0


def test_priors_count():
    X, y = data("terms")
    narrow, wide = (
        TERMS | {"hyperpriors": {"persistent_kernel__k1__constant_value": uniform(0.0, width)}}
        for width in (50.0, 100.0)
    )
    assert make(alternatives=[narrow, wide]).fit(X, y).alternative_ == 1
    assert make(alternatives=[wide, narrow]).fit(X, y).alternative_ == 2


def test_what_is_not_learnt_costs_nothing():
    X, y = data("terms")
    level = {"drift_kernel": ConstantKernel(3e-3) * Matern(10.0, nu=2.5)}
    without, gp = (
        make(optimizer=None, **options).fit(X, y) for options in ({}, {"alternatives": [level]})
    )
    gain = gp.log_marginal_likelihood_value_ - without.log_marginal_likelihood_value_
    assert 0.0 < gain < 2.0  # less than two hyperparameters would cost
    assert gp.alternative_ == 1


def test_a_sparse_regressor_has_none():
    X, y = data("waves")
    gp = SparseTimeVaryingGPRegressor(n_inducing=10, warn=False).fit(X, y)
    with pytest.raises(ValueError, match="None, as SparseTimeVaryingGPRegressor has no such"):
        gp.updated(X[:1], y[:1], refit=True, alternatives=[BOWL])
    with pytest.raises(ValueError, match="None without refit=True"):
        make().fit(X, y).updated(X[:1], y[:1], alternatives=[BOWL])


def test_the_gain_of_a_search_is_that_of_what_is_held():
    X, y = data("terms")
    prior = {"persistent_kernel__k1__constant_value": lognorm(s=0.3, scale=1.0)}
    alternative = TERMS | {"hyperpriors": prior}
    gp = make(alternatives=[alternative]).fit(X, y).partial_fit(X[:1] + 0.1, y[:1])
    alone = make(**alternative).fit(X, y).partial_fit(X[:1] + 0.1, y[:1])
    assert gp.alternative_ == 1
    assert 0.0 < gp.search_gain() == alone.search_gain() < np.inf


def test_what_is_akin_goes_on_and_the_others_are_compared_now_and_then(monkeypatch):
    X, y = data("waves")
    gp, tried = make(alternatives=(TERMS, BOWL)).fit(X[:20], y[:20]), []
    learn = TimeVaryingGPRegressor._learn_one

    def noted(self, rows, start=None, knowledge=None, **options):
        parts = self.persistent_kernel, self.prior_mean
        assert (start is None) is (knowledge is None)
        tried[-1].append((*(part is not None for part in parts), start is not None))
        return learn(self, rows, start, knowledge, **options)

    monkeypatch.setattr(TimeVaryingGPRegressor, "_learn_one", noted)
    monkeypatch.setattr(Knowledge, "gain", lambda *each: np.inf)  # worth a try each time
    for i in range(20, N):
        tried.append([])
        before = gp.alternative_
        gp = gp.updated(X[i : i + 1], y[i : i + 1], refit=True)
        # With and without a bowl the kernels are the same.
        on = {(before == 1, before == 2), *([(False, True), (False, False)] if before != 1 else [])}
        assert all(goes_on == (tuple(parts) in on) for *parts, goes_on in tried[-1])
    counts = [len(each) for each in tried]
    assert [1 + i for i, count in enumerate(counts) if count == 3] == [1, 2, 4, 8, 16, 24, 32, 40]
    assert set(counts) == {2, 3}
    assert before == gp.alternative_ == 0


def test_fruitless_searches_count_once(monkeypatch):
    """With noise alone fresh starts are tried as often as without alternatives."""
    X = data("waves")[0]
    y = np.random.RandomState(4).normal(size=N) - 1.5 * ((X[:, :3] - 0.5) ** 2).sum(axis=1)
    gp, starts = make(alternatives=[BOWL]).fit(X[:30], y[:30]), []
    found = _base.anew
    monkeypatch.setattr(_base, "anew", lambda *each: starts.append(i) or found(*each))
    monkeypatch.setattr(Knowledge, "gain", lambda *each: np.inf)
    taken = set()
    for i in range(1, 10):
        gp = gp.updated(X[29 + i : 30 + i], y[29 + i : 30 + i], refit=True)
        taken.add(gp.alternative_)
        assert gp._knowledge.n_lost == i
    assert taken == {0, 1}  # whichever is held
    assert starts == [1, 2, 4, 8]


@pytest.mark.parametrize("kind", ["waves", "bowl"])
def test_a_search_that_promises_too_little_is_not_made(monkeypatch, kind):
    """What is taken is nearly always what it is where all searches are made."""

    def each_taken():
        gp, taken = make(alternatives=[BOWL]).fit(*data("waves")), []
        Z, z = data(kind, seed=1)
        Z[:, 3] += 500.0
        for i in range(N):
            gp = gp.updated(Z[i : i + 1], z[i : i + 1], refit=True, drop=[0])
            taken.append(gp.alternative_)
        return np.array(taken)

    learn, made = TimeVaryingGPRegressor._learn_one, []

    def noted(*each, **options):
        made.append(options)
        return learn(*each, **options)

    monkeypatch.setattr(TimeVaryingGPRegressor, "_learn_one", noted)
    taken, n = each_taken(), len(made)
    monkeypatch.setattr(Knowledge, "gain", lambda *each: np.inf)
    assert np.mean(each_taken() == taken) > 0.9
    assert n < 0.8 * (len(made) - n)
    assert taken[-1] == (kind == "bowl")


def test_what_goes_on_from_what_is_held_ends_where_a_fresh_search_does():
    gp = make(alternatives=[BOWL]).fit(*data("waves"))
    assert gp.alternative_ == 0
    Z, z = data("bowl", seed=1)
    Z[:, 3] += 500.0
    for i in range(N):
        gp = gp.updated(Z[i : i + 1], z[i : i + 1], refit=True, drop=[0])
        if gp.alternative_ == 1:
            break
    fresh = make(**BOWL).fit(gp.X_train_, gp.y_train_)
    assert gp.alternative_ == 1
    assert gp.log_marginal_likelihood_value_ == pytest.approx(
        fresh.log_marginal_likelihood_value_, abs=0.05
    )


def test_it_changes_its_mind():
    X, y = data("waves")
    gp = make(alternatives=[TERMS]).fit(X, y)
    assert gp.alternative_ == 0
    Z, z = data("terms", seed=1)
    Z[:, 3] += 500.0
    for i in range(0, N, 4):
        gp = gp.updated(Z[i : i + 4], z[i : i + 4], refit=True, drop=np.arange(4))
    assert gp.alternative_ == 1
    fresh = make(**TERMS).fit(Z, z)
    assert gp.log_marginal_likelihood_value_ == pytest.approx(
        fresh.log_marginal_likelihood_value_, abs=0.1
    )


@pytest.mark.parametrize("optimizer", ["fmin_l_bfgs_b", None])
def test_what_is_no_covariance_is_left_out(optimizer):
    X, y = data("bowl")
    negative = {"drift_kernel": ConstantKernel(-5.0, "fixed") * Matern(1.0, "fixed")}
    options = {"noise_variance_bounds": "fixed", "noise_variance": 0.01, "optimizer": optimizer}
    gp = make(alternatives=[negative, BOWL], **options).fit(X[:40], y[:40])
    assert gp.alternative_ == 2
    assert gp.updated(X[40:], y[40:], refit=True).alternative_ == 2
    with pytest.raises(NotPositiveDefiniteError, match="check that the kernel is positive"):
        make(**negative, **options).fit(X, y)


def test_updates_with_the_hyperparameters_held():
    X, y = data("bowl")
    gp = make(alternatives=[BOWL]).fit(X[:40], y[:40])
    assert gp.alternative_ == 1
    gp = gp.partial_fit(X[40:], y[40:]).forget([0, 7])
    covariance = gp._gp.covariance
    fresh = make(
        spatial_kernel=covariance.spatial,
        temporal_kernel=covariance.temporal,
        signal_variance=covariance.signal_variance,
        noise_variance=covariance.noise_variance,
        optimizer=None,
        **BOWL,
    ).fit(np.delete(X, [0, 7], axis=0), np.delete(y, [0, 7]))
    assert_allclose(gp.predict(X), fresh.predict(X), rtol=1e-9)
    # All rows may be replaced.
    gp = gp.updated(X[:3], y[:3], drop=np.arange(len(gp.X_train_)))
    assert gp._gp.rows.features is not None
    assert len(gp.X_train_) == 3


def test_other_alternatives_begin_anew():
    X, y = data("terms")
    gp = make(alternatives=(BOWL, TERMS)).fit(X[:40], y[:40])
    assert gp.alternative_ == 2
    for given, expected in (([BOWL], (0, 1)), ([], (0,))):
        other = clone(gp).fit(X[:40], y[:40]).set_params(alternatives=given)
        other = other.updated(X[40:], y[40:], refit=True)
        assert other.alternative_ in expected
        fresh = make(alternatives=given).fit(X, y)
        assert_array_equal(other.theta_, fresh.theta_)
    assert gp.set_params(alternatives=()).search_gain() >= 0.0


def test_copies():
    X, y = data("terms")
    gp = make(alternatives=(TERMS, BOWL)).fit(X, y)
    back = pickle.loads(pickle.dumps(gp))
    assert back.alternative_ == 1
    assert_array_equal(back.predict(X), gp.predict(X))
    with pytest.raises(NotFittedError):
        _ = clone(gp).alternative_
    assert clone(gp).fit(X, y).alternative_ == 1


def test_a_search_that_stops_is_the_callers():
    X, y = data("waves")
    gp = make(alternatives=[BOWL], spatial_kernel=RBF(0.5, (0.49, 0.51)), warn=True)
    with pytest.warns(ConvergenceWarning, match="length_scale ended at its") as found:
        gp.fit(X, y)
    assert {warning.filename for warning in found} == {__file__}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3, "must be a sequence of dicts of some of spatial_kernel"),
        ({"prior_mean": Bowl()}, "must be a sequence of dicts"),
        ([{}], r"alternatives\[0\] must be a dict of some of"),
        ([BOWL, {"noise": 1.0}], r"alternatives\[1\] must be a dict of some of"),
        ([{"drift_kernel": 1.0}], "'drift_kernel' .* must be a scikit-learn kernel"),
        ([{"prior_mean": "bowl"}], "'prior_mean' .* must be a Bowl, or None"),
    ],
)
def test_bad_alternatives(given, message):
    X, y = data("waves")
    gp = make().fit(X, y)
    before = gp.predict(X)
    with pytest.raises(ValueError, match=message):
        gp.set_params(alternatives=given).fit(X, y)
    assert_array_equal(gp.predict(X), before)


# --- in optimizers --------------------------------------------------------------------------------


class Flexible(WDBO):
    """W-DBO whose surrogate has alternatives."""

    def _make_surrogate(self, times):
        return smooth_surrogate(times).set_params(alternatives=smooth_alternatives(times))


def test_a_bowl_is_of_the_coordinates_that_have_faces():
    times = Times(np.arange(9.0), np.arange(9.0))
    kind = ("categorical", ["a", "b"])
    domain = {"kind": kind, "rate": ("log-real", 1e-3, 1.0), "share": ("real", 0.0, 1.0)}
    opt = Flexible(domain, n_initial_points=3, random_state=0)
    for t in range(9):
        opt.tell(opt.ask(float(t)), float(t % 3), float(t))
    found = opt.surrogate_.alternatives
    d = opt.surrogate_.X_train_.shape[1] - 1
    assert [one["prior_mean"].columns for one in (found[0], found[2])] == [[d - 2, d - 1]] * 2
    assert "prior_mean" not in found[1]
    gp = TimeVaryingGPRegressor(alternatives=[BOWL])
    given = BayesianOptimizer(domain, surrogate=gp, n_initial_points=3, random_state=0)
    for t in range(4):
        given.tell(given.ask(float(t)), float(t), float(t))
    assert given.surrogate_.alternatives[0]["prior_mean"].columns == [d - 2, d - 1]
    assert BOWL["prior_mean"].columns is None
    kept = suited_alternatives(smooth_alternatives(times), as_domain({"kind": kind}))
    assert [one.get("prior_mean") for one in kept] == [None, None]
    assert all("persistent_kernel" in one for one in kept)


def test_the_drift_follows_the_times():
    opt = Flexible([(0.0, 1.0)], n_initial_points=3, random_state=0, refit_every=1)
    for i, t in enumerate([*range(12), *range(20, 400, 20)]):
        opt.tell(opt.ask(float(t)), np.sin(i), float(t))
    lower = opt.surrogate_.alternatives[1]["drift_kernel"].k2.length_scale_bounds[0]
    assert lower == opt.surrogate_.temporal_kernel.length_scale_bounds[0] == 100.0


def test_what_persists_is_found_below_a_level_that_drifts():
    """Ripples of three coordinates, below a level that drifts by ten times as much."""
    best = np.array([0.2, 0.5, 0.7])

    def regret(optimizer):
        found = []
        for seed in range(3):
            opt = optimizer([(0.0, 1.0)] * 3, n_initial_points=10, random_state=seed)
            for t in range(80):
                x = opt.ask(float(t))
                away = x - best
                loss = np.sum(away**2 + 0.05 * (1.0 - np.cos(20.0 * away)))
                opt.tell(x, 5.0 * np.sin(0.15 * t) - loss, float(t))
                found.append(loss)
        return np.mean(found)

    assert regret(Flexible) < 0.7 * regret(WDBO)


def test_a_run_that_was_written_down_goes_on(tmp_path):
    X, y = data("terms")
    opt = Flexible([(0.0, 1.0)] * 3, random_state=0, journal=tmp_path / "run")
    for x, value in zip(X[:30], y):
        opt.tell(x[:3], value, x[3])
    assert opt.surrogate_.alternative_ > 0
    text = opt.to_json()
    opt.close()
    runs = Flexible.from_json(text), Flexible.resume(tmp_path / "run")
    for value in y[30:33]:
        one, other = (run.ask(40.0) for run in runs)
        assert_array_equal(one, other)
        for run in runs:
            run.tell(one, value)
            assert run.surrogate_.alternative_ == opt.surrogate_.alternative_
    runs[1].close()
