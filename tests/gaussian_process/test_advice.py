"""Warnings of a fit; the fits of an optimizer give none."""

import pickle
import re
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.stats
from gaussian_process.cases import each
from grids import pairs_of
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, ExpSineSquared, Matern

from sktvbo import WDBO, SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor
from sktvbo.exceptions import ModelWarning
from sktvbo.gaussian_process import _exact, _fit_warnings, _level
from sktvbo.gaussian_process._exact_posterior import Dense
from sktvbo.gaussian_process._sparse import LAST
from sktvbo.kernels import Forgetting, Wiener, with_seasons


def warned(gp, X, y):
    """Return categories and messages of the warnings of a fit."""
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        gp.fit(X, y)
    for record in records:  # attributed to the line of the caller
        assert record.filename == __file__ or record.category is ConvergenceWarning
    return [(record.category, str(record.message)) for record in records]


def advice(gp, X, y, about=""):
    """Return the messages of a fit that contain a text."""
    return [message for _, message in warned(gp, X, y) if about in message]


def held(temporal=Matern(2.0), kind=TimeVaryingGPRegressor, **options):  # noqa: B008
    return kind(Matern(0.3), temporal, optimizer=None, **options)


RNG = np.random.RandomState(0)
X = np.column_stack([RNG.uniform(size=150), np.sort(RNG.uniform(0.0, 10.0, 150))])
Y = np.sin(6.0 * X[:, 0] + X[:, 1]) + 0.1 * RNG.normal(size=150)


@each
def test_a_suitable_model_gives_no_warning(kind):
    assert warned(kind(random_state=0), X, Y) == []
    assert warned(kind(random_state=0, normalize_y=True), X, Y) == []
    assert warned(held(kind=kind), X, Y) == []


# --- y far from 0 ---------------------------------------------------------------------------------


@each
def test_y_far_from_zero(kind):
    ((category, message),) = warned(held(kind=kind), X, Y + 20.0)
    assert category is ModelWarning
    expected = "y is far from 0, on average 19.88 with a standard deviation of 0.6785"
    assert message.startswith(f"{expected}, and {kind.__name__} predicts 0")
    assert "normalize_y=True, or mean_prior_std=np.inf" in message


@each
def test_y_that_is_near_zero_or_has_a_mean(kind):
    for options, shift in (({"normalize_y": True}, 20.0), ({"mean_prior_std": np.inf}, 20.0)):
        assert warned(held(kind=kind, **options), X, Y + shift) == []
    assert warned(held(kind=kind), X, Y + 1.5) == []


def test_large_y_gives_no_warning():
    assert warned(held(normalize_y=True), X, 1e100 * Y / np.abs(Y).max()) == []


# --- hyperparameters at their bounds --------------------------------------------------------------


def at_bounds(y=Y, **options):
    found = warned(TimeVaryingGPRegressor(**options), X, y)
    assert all(category is ConvergenceWarning for category, _ in found)
    return [message for _, message in found]


NOISE = np.random.RandomState(3).normal(size=150)
STATIC = np.sin(6.0 * X[:, 0]) + 0.1 * np.random.RandomState(1).normal(size=150)
NARROW = {"spatial_kernel": Matern(0.3, (0.1, 0.5)), "temporal_kernel": Matern(2.0, (1, 4))}
NO_SIGNAL = {"noise_variance": 1.0, "signal_variance": 0.1, **NARROW}
LOW_NOISE = {"noise_variance": 1e-4, "noise_variance_bounds": (1e-5, 1e-3)}
LOW_SIGNAL = {"signal_variance": 0.05, "signal_variance_bounds": (1e-2, 0.1)}
# name: (y, parameters, start and another part of the only warning)
AT_BOUNDS = {
    "no noise": (
        *(np.sin(6.0 * X[:, 0] + X[:, 1]), {}),
        *("noise_variance ended at its lower bound, 1e-06: y has hardly any", ""),
    ),
    "noise": (
        *(Y, LOW_NOISE, "noise_variance ended at its upper bound, 0.001: the model explains y as"),
        "normalize_y=True, or raise the bound",
    ),
    "signal": (Y, LOW_SIGNAL, "signal_variance ended at its upper bound, 0.1: y has a large", ""),
    "noise alone": (
        *(NOISE, NO_SIGNAL),
        *("signal_variance ended at its lower bound, 0.001: the model explains y as noise", ""),
    ),
    "constant in time": (
        *(STATIC, {}, "temporal_kernel__length_scale ended at its upper bound"),
        "If more rows follow, they may show a change",
    ),
    "lengthscale": (
        *(Y, {"spatial_kernel": Matern(3.0, (2.0, 10.0))}),
        *("spatial_kernel__length_scale ended at its lower bound, 2: f changes", ""),
    ),
}


@pytest.mark.parametrize("name", AT_BOUNDS)
def test_a_hyperparameter_at_its_bound(name):
    y, options, start, part = AT_BOUNDS[name]
    (message,) = at_bounds(y, **options)
    assert message.startswith(start)
    assert part in message


SPARSE = SparseTimeVaryingGPRegressor
SEASON = Matern(2.0, (1.0, 2.0)) + ExpSineSquared(1.0, 5.0, "fixed", (5.0, 9.0))


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (TimeVaryingGPRegressor, {"temporal_kernel": Matern(1.0, (1.0, 10.0), nu=0.5)}),
        (SPARSE, {"temporal_kernel": Forgetting(0.1, (0.1, 0.5))}),
        (TimeVaryingGPRegressor, {"temporal_kernel": SEASON}),
        (SPARSE, {"level_kernel": Matern(1.0, (1.0, 10.0), nu=0.5)}),
    ],
    ids=str,
)
def test_a_map_at_one_time_and_a_series_at_one_place_do_not_show_lengthscales(kind, options):
    rng = np.random.RandomState(0)
    S, t = rng.uniform(0.0, 300.0, (80, 2)), np.full(80, 2024.0)
    y = np.sin(S[:, 0] / 40.0) + 0.05 * rng.normal(size=80)
    found = advice(kind(normalize_y=True, random_state=0, **options), np.column_stack([S, t]), y)
    assert not [message for message in found if message.startswith(("temporal", "level"))]
    series = kind(Matern(1.0, (1.0, 10.0)), Matern(30.0), normalize_y=True, random_state=0)
    found = advice(series, np.column_stack([0.0 * S, S[:, 0]]), y)
    assert not [message for message in found if message.startswith("spatial")]


def test_a_hyperparameter_of_a_part_is_named_with_its_kernel_and_seasons_with_their_priors():
    season = ConstantKernel(0.5, (1e-5, 0.5)) * ExpSineSquared(0.5, 4.0, periodicity_bounds="fixed")
    (text,) = at_bounds(temporal_kernel=Matern(2.0, (1.0, 4.0), nu=2.5) + season)
    assert text.startswith("temporal_kernel__k2__k1__constant_value (of ExpSineSquared(")
    assert "hyperpriors=season_priors(period)" in text
    (text, _) = at_bounds(temporal_kernel=with_seasons(Matern(1.0, (0.5, 1.5), nu=2.5), 7.0))
    assert "temporal_kernel__k1__length_scale (of Matern(length_scale=1.5, nu=2.5)) ended" in text


def test_a_rate_at_its_bound():
    (text, *_) = at_bounds(temporal_kernel=Forgetting(0.7, (0.6, 0.9)))
    assert text.startswith("temporal_kernel__epsilon ended at its lower bound, 0.6: its time scale")
    assert "2.183, and the times extend over 9.7" in text
    (text, *_) = at_bounds(STATIC, temporal_kernel=Forgetting(0.1))
    assert text.startswith("temporal_kernel__epsilon ended at its lower bound, 0.0001: f hardly ch")


def test_the_advice_for_a_static_function_is_followed():
    assert at_bounds(STATIC, temporal_kernel=ConstantKernel(1.0, "fixed")) == []


@pytest.mark.parametrize(
    ("options", "name"),
    [(NO_SIGNAL, "signal_var"), (NARROW | LOW_NOISE, "noise"), (NARROW | LOW_SIGNAL, "signal_var")],
)
def test_no_advice_to_set_what_is_set(options, name):
    found = at_bounds(NOISE, normalize_y=True, **options)
    assert any(text.startswith(name) for text in found)
    assert not any("normalize_y" in text for text in found)


def test_a_bound_that_is_in_another_unit():
    gp = TimeVaryingGPRegressor(Matern(0.3), Matern(1.0, nu=1.5))
    (message,) = advice(gp, X * [1.0, 3e6] + [0.0, 1.7e9], Y, "temporal_kernel")
    assert "upper bound, 1e+05: its columns extend over 2.9" in message
    assert "time_unit" in message


def test_fixed_hyperparameters_are_at_no_bound():
    assert at_bounds(noise_variance=0.01, noise_variance_bounds="fixed") == []
    assert at_bounds(noise_variance=0.01, noise_variance_bounds=(0.01, 0.01)) == []


class Uphill(RBF):
    """A kernel whose gradient has the wrong sign."""

    def __call__(self, X, Y=None, eval_gradient=False):
        found = super().__call__(X, Y, eval_gradient)
        return (found[0], -found[1]) if eval_gradient else found


def test_a_search_that_does_not_converge():
    (message,) = at_bounds(spatial_kernel=Uphill(0.1), temporal_kernel=Matern(2.0))
    assert message.startswith("The search of the hyperparameters stopped before it converged (")
    assert "check the gradient" in message


# --- lengthscales and periods far from the data ---------------------------------------------------


@pytest.mark.parametrize(
    ("temporal", "optimizer"),
    [(Matern(1.0, "fixed"), "fmin_l_bfgs_b"), (Matern(1.0), None), (Matern(1e12), None)],
)
@each
def test_a_lengthscale_far_from_the_times(kind, temporal, optimizer):
    gp = kind(Matern(0.3), temporal, optimizer=optimizer, random_state=0)
    (message,) = advice(gp, X * [1.0, 1e6], Y, "far from the scale")
    assert message.startswith(f"temporal_kernel__length_scale is {temporal.length_scale}, far")
    assert "extend over 9.786e+06" in message
    assert "(of dates: time_unit), or let it be learnt" in message


def test_a_lengthscale_far_from_the_places():
    gp = TimeVaryingGPRegressor(Matern([1.0]), Matern(2.0), optimizer=None)
    (message,) = advice(gp, X * [1e5, 1.0], Y)
    assert message.startswith("spatial_kernel__length_scale is ")


def test_lengthscales_that_are_not_in_units_of_the_data():
    periodic = ExpSineSquared(1.0, 3e6, "fixed", "fixed")
    assert warned(held(periodic), X * [1.0, 1e6], Y) == []
    gp = TimeVaryingGPRegressor(Matern(1e-6), Matern(2.0), optimizer=None)
    assert warned(gp, X * [0.0, 1.0], Y) == []  # a single place


def far_fixed(length_scale):
    return Matern(length_scale, "fixed", nu=1.5)


# (name of a kernel, kernel, name of the far lengthscale)
COMPOSITES = [
    ("temporal_kernel", Matern(2.0) + far_fixed(1e9), "temporal_kernel__k2"),
    ("temporal_kernel", 0.5 * far_fixed(1e-9) * RBF(2.0), "temporal_kernel__k1__k2"),
    ("temporal_kernel", far_fixed(1e9) ** 2, "temporal_kernel__kernel"),
    ("level_kernel", 0.5 * far_fixed(1e9), "level_kernel__k2"),
    ("spatial_kernel", Matern(0.3) + far_fixed(1e-9), "spatial_kernel__k2"),
]


@pytest.mark.parametrize(("name", "kernel", "named"), COMPOSITES, ids=str)
def test_a_far_lengthscale_in_a_sum_or_product_is_named(name, kernel, named):
    gp = TimeVaryingGPRegressor(Matern(0.3), Matern(2.0)).set_params(**{name: kernel})
    (message,) = advice(gp, X, Y, "far from")
    assert message.startswith(f"{named}__length_scale is ")


# name: (kernel of a period, name of the part with the period)
SEASONS = {
    "with_seasons": (lambda p: with_seasons(Matern(6.0, nu=2.5), p), "temporal_kernel__k2__k2"),
    "product": (lambda p: Matern(9.0) * ExpSineSquared(1.0, p), "temporal_kernel__k2"),
    "alone": (lambda p: ExpSineSquared(1.0, p), "temporal_kernel"),
    "level": (lambda p: 1.0 * ExpSineSquared(1.0, p), "level_kernel__k2"),
}


@pytest.mark.parametrize(
    ("name", "irregular", "period"), pairs_of(SEASONS, (False, True), (0.024, 24.0, 24000.0))
)
def test_a_period_in_another_unit_is_named(name, irregular, period):
    make, part = SEASONS[name]
    t = (
        np.sort(np.random.RandomState(1).uniform(0.0, 120.0, 120))
        if irregular
        else np.arange(120.0)
    )
    gp = TimeVaryingGPRegressor(optimizer=None, **{part.split("__")[0]: make(period)})
    found = advice(gp, t[:, np.newaxis], np.sin(t / 4.0), "period")
    assert len(found) == (period != 24.0)
    for message in found:
        assert message.startswith(f"{part}__periodicity is {period:g}, ")
        assert ("less than two in" if period < 24.0 else "twice the") in message
        assert "(of dates: time_unit)" in message


# --- sizes ----------------------------------------------------------------------------------------


def test_too_many_rows_of_a_search(monkeypatch):
    monkeypatch.setattr(_fit_warnings, "LONG", 1e-3)
    ((category, message),) = warned(TimeVaryingGPRegressor(solver="dense"), X, Y)
    assert category is ModelWarning
    assert re.match(r"The search of the hyperparameters takes about \d+ s with 150 rows", message)
    assert "Use SparseTimeVaryingGPRegressor, or fit fewer rows" in message
    kernels = Matern(0.3, "fixed"), Matern(2.0, "fixed")
    variances = {"signal_variance_bounds": "fixed", "noise_variance_bounds": "fixed"}
    sparse = SparseTimeVaryingGPRegressor(n_inducing=30, random_state=0)
    for gp in (held(), TimeVaryingGPRegressor(*kernels, **variances), sparse):
        assert advice(gp, X, Y, "takes about") == []
    two_places = np.column_stack([np.round(X[:, 0]), X[:, 1]])
    filtered = TimeVaryingGPRegressor(Matern(0.3), Matern(2.0, nu=1.5), solver="kalman")
    assert advice(filtered, two_places, Y, "takes about") == []


def test_the_number_of_rows_from_which_a_search_is_long(monkeypatch):
    gp, covariance = TimeVaryingGPRegressor(), SimpleNamespace(bounds=[(0.0, 1.0)])
    monkeypatch.setattr(gp, "_initial_covariance", lambda *args, **options: covariance)
    monkeypatch.setattr(gp, "_choose_conditioning", lambda *args: (Dense,))
    seconds = [gp._seconds_to_search(SimpleNamespace(n=n)) for n in (1000, 4000)]
    assert seconds[0] == 0.0
    assert 20.0 < seconds[1] < 200.0


@pytest.mark.parametrize("seed", range(2))
def test_auto_warns_where_its_largest_number_of_points_does_not_suffice(seed):
    """A function of five columns that changes within a fifth of their extent."""
    rng = np.random.RandomState(seed)
    S, t = rng.uniform(size=(900, 5)), np.arange(900.0)
    y = 2.0 * np.sin(12.0 * S).sum(axis=1) + 0.05 * rng.normal(size=900)
    kernels = Matern(0.5, nu=2.5), Matern(2000.0, "fixed", nu=1.5)
    options = {"random_state": 0, "optimizer": None, "noise_variance": 1e-3}
    gp = SparseTimeVaryingGPRegressor(*kernels, normalize_y=True, **options)
    (message,) = advice(gp, np.column_stack([S, t]), y, "inducing points do not suffice")
    assert len(gp.inducing_points_) == LAST
    assert f"Set n_inducing to more than {LAST} instead of auto" in message


def test_too_few_inducing_points():
    rng = np.random.RandomState(0)
    S, t = rng.uniform(size=(1000, 2)), np.sort(rng.uniform(0.0, 100.0, 1000))
    y = np.sin(6.0 * S[:, 0] + 0.2 * t) + np.cos(5.0 * S[:, 1]) + 0.1 * rng.normal(size=1000)
    options = {"random_state": 0, "optimizer": None, "noise_variance": 0.01}
    gp = SparseTimeVaryingGPRegressor(Matern(0.6), Matern(14.0), n_inducing=50, **options)
    ((category, message),) = warned(gp, np.column_stack([S, t]), y)
    assert category is ModelWarning
    assert message.startswith("The 50 inducing points do not suffice: they leave ")
    assert "Set n_inducing to more than 50, or" in message
    assert warned(gp.set_params(n_inducing="auto"), np.column_stack([S, t]), y) == []


@pytest.mark.parametrize(
    ("size", "options"),
    [(0.0, {}), (1e-12, {"mean_prior_std": np.inf}), (1e-8, {"optimizer": None}), (1.0, {})],
    ids=str,
)
def test_the_share_of_noise_is_at_most_all_of_y(size, options):
    """The residual of the points exceeds the variance of a nearly constant y many times."""
    gp = SparseTimeVaryingGPRegressor(n_inducing=5, random_state=0, **options)
    text = " ".join(advice(gp, X, size * Y) + advice(gp, X, 3.3 + size * Y))
    shares = [float(share) for share in re.findall(r"([\d.]+)%", text)]
    assert all(share <= 100.0 for share in shares)
    assert bool(shares) == (size > 0.0)  # a constant has no variance to explain


# --- a level that all places share ----------------------------------------------------------------


def with_drift(n=150, seed=0, field=lambda S: np.sin(5.0 * S[:, 0]) + np.cos(4.0 * S[:, 1])):
    """Return rows of a sensor whose calibration drifts, and the level at each (n,)."""
    rng = np.random.RandomState(seed)
    S, level = rng.uniform(size=(n, 2)), np.cumsum(0.3 * rng.normal(size=n))
    rows = np.column_stack([S, np.arange(float(n))])
    return rows, field(S) + level + 0.1 * rng.normal(size=n), level


def separable(seed, n=100, space=0.3, time=30.0, sites=None):
    """Return rows of a draw of the model without a level."""
    rng = np.random.RandomState(seed)
    S, t = rng.uniform(size=(n, 2)), np.arange(float(n))
    if sites is not None:
        S, t = S[np.arange(n) % sites], t // sites
    covariance = Matern(space, nu=2.5)(S) * Matern(time, nu=1.5)(t[:, np.newaxis])
    root = np.linalg.cholesky(covariance + 1e-9 * np.eye(n))
    return np.column_stack([S, t]), root @ rng.normal(size=n) + 0.1 * rng.normal(size=n)


def advised(messages):
    """Return the parameters that the only message names, and the gain that it states."""
    (message,) = messages
    kernels = r"(level_kernel|temporal_kernel)=(.*?\))(?= and temporal_kernel=|\. Set)"
    gain = float(re.search(r"log likelihood is ([\d.]+) nats larger", message)[1])
    return {name: eval(code) for name, code in re.findall(kernels, message)}, gain


SHARE, DAYS = "share a level", np.datetime64("2026-01-01") + np.arange(150).astype("m8[D]")
# name: (parameters, True if the rest of f is static in the model that is named)
WITH_DRIFT = {
    "default": ({}, True),
    "a lengthscale for each column": ({"spatial_kernel": Matern([1.0, 1.0], nu=2.5)}, True),
    "static": ({"temporal_kernel": ConstantKernel(1.0, "fixed")}, False),
    "forgetting": ({"temporal_kernel": Forgetting(0.05)}, False),
    "robust": ({"robust": True}, True),
}


@pytest.mark.parametrize("name", WITH_DRIFT)
def test_a_level_that_all_places_share(name):
    options, is_static = WITH_DRIFT[name]
    X, y, _ = with_drift()
    gp = TimeVaryingGPRegressor(normalize_y=True, **options)
    parameters, gain = advised(advice(gp, X, y, SHARE))
    assert parameters.keys() == {"level_kernel", *["temporal_kernel"] * is_static}
    other = clone(gp).set_params(**parameters)
    assert advice(other, X, y, SHARE) == []
    more = other.log_marginal_likelihood_value_ - gp.log_marginal_likelihood_value_
    if not gp.robust:  # other weights have another likelihood
        assert more == pytest.approx(gain, abs=0.1)
    assert gain > 5.0


def test_the_advice_on_a_level_improves_predictions():
    scores = []
    for seed in (2, 3):
        X, y, level = with_drift(200, seed)
        rng = np.random.RandomState(seed + 100)
        now = np.column_stack([rng.uniform(size=(200, 2)), np.full(200, X[-1, -1])])
        f = np.sin(5.0 * now[:, 0]) + np.cos(4.0 * now[:, 1]) + level[-1]
        gp = TimeVaryingGPRegressor(normalize_y=True)
        parameters, _ = advised(advice(gp, X, y, SHARE))
        other = clone(gp).set_params(**parameters).fit(X, y)
        scores.append([np.sqrt(np.mean((each.predict(now) - f) ** 2)) for each in (gp, other)])
    before, after = np.mean(scores, axis=0)
    assert after < 0.8 * before


def test_a_level_of_times_that_are_dates():
    pandas = pytest.importorskip("pandas")
    X, y, _ = with_drift()
    frame = pandas.DataFrame({"east": X[:, 0], "north": X[:, 1], "day": DAYS})
    for unit in ("D", "s"):
        gp = TimeVaryingGPRegressor(normalize_y=True, time_unit=unit)
        parameters, gain = advised(advice(gp, frame, y, SHARE))
        other = clone(gp).set_params(**parameters).fit(frame, y)
        more = other.log_marginal_likelihood_value_ - gp.log_marginal_likelihood_value_
        assert more == pytest.approx(gain, abs=0.1)


def test_a_level_beside_a_change_that_depends_on_the_place():
    """Three stations under the same weather, each with its own slow change."""
    rng = np.random.RandomState(0)
    hours, site = np.repeat(np.arange(60.0), 3), np.tile([0.1, 0.5, 0.9], 60)
    weather = np.cumsum(rng.normal(size=60))[hours.astype(int)]
    y = weather + np.sin(6.0 * site + 0.05 * hours) + 0.05 * rng.normal(size=180)
    for options in ({}, {"temporal_kernel": Matern(20.0, (1.0, 500.0), nu=2.5)}):
        gp = TimeVaryingGPRegressor(normalize_y=True, **options)
        parameters, _ = advised(advice(gp, np.column_stack([site, hours]), y, SHARE))
        assert parameters.keys() == {"level_kernel"}


SEPARABLE = {
    "fast": {},
    "long in space": {"space": 2.0, "time": 10.0},
    "static": {"time": 1e4},
    "sites": {"space": 0.4, "time": 10.0, "sites": 6},
    "rough": {"time": 2.0},
}


@pytest.mark.parametrize("name", SEPARABLE)
@pytest.mark.parametrize(
    "seeds", [range(3), pytest.param(range(3, 40), marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_no_advice_on_a_level_without_one(name, seeds):
    for seed in seeds:
        gp = TimeVaryingGPRegressor(normalize_y=True)
        assert advice(gp, *separable(seed, **SEPARABLE[name]), SHARE) == []


@pytest.mark.parametrize("name", SEPARABLE)
def test_the_search_of_a_level_costs_few_likelihoods_without_one(name, monkeypatch):
    sizes, criterion = [], Dense.criterion
    X, y = separable(0, 300, **SEPARABLE[name])

    def counted(rows):
        own = criterion(rows)
        monkeypatch.setattr(type(own), "__call__", counting(type(own).__call__, sizes, rows.n))
        return own

    gp = TimeVaryingGPRegressor(normalize_y=True, solver="dense").fit(X, y)
    monkeypatch.setattr(_level.Dense, "criterion", staticmethod(counted))
    assert gp._likelier_level(gp._gp)[0] is None
    assert len(sizes) <= 4
    assert max(sizes) <= 150


def counting(call, sizes, n):
    def counted(self, *args):
        sizes.append(n)
        return call(self, *args)

    return counted


def test_rows_or_parameters_that_show_no_level_give_no_advice():
    X, y, _ = with_drift()
    few, prior = slice(40), {"noise_variance": scipy.stats.gamma(2.0, scale=0.1)}
    assert advice(TimeVaryingGPRegressor(normalize_y=True), X[few], y[few], SHARE) == []
    for options in (
        {"optimizer": None},
        {"hyperpriors": prior},
        {"level_kernel": 1.0 * Matern(50.0, (1.0, 1500.0), nu=0.5)},
        {"spatial_kernel": Matern(0.5, "fixed"), "optimizer": lambda f, x, bounds: (x, f(x)[0])},
    ):
        gp = TimeVaryingGPRegressor(normalize_y=True, random_state=0, **options)
        assert advice(gp, X, y, SHARE) == []
    for columns in (X[:, 2:], X * [0.0, 0.0, 1.0], X * [1.0, 1.0, 0.0]):
        assert advice(TimeVaryingGPRegressor(normalize_y=True), columns, y, SHARE) == []


def test_a_level_that_is_hardly_likelier_gives_no_advice(monkeypatch):
    rng = np.random.RandomState(0)
    S, level = rng.uniform(size=(60, 2)), np.cumsum(0.1 * rng.normal(size=60))
    y = np.sin(5.0 * S[:, 0]) + np.cos(4.0 * S[:, 1]) + level + 0.1 * rng.normal(size=60)
    X, gp = np.column_stack([S, np.arange(60.0)]), TimeVaryingGPRegressor(normalize_y=True)
    assert advice(gp, X, y, SHARE) == []
    for module in (_exact, _level):
        monkeypatch.setattr(module, "GAIN", 0.5)
    assert 0.5 < advised(advice(gp, X, y, SHARE))[1] < 5.0


def test_a_filter_that_does_not_support_a_level_gives_no_advice():
    X, y, _ = with_drift(field=lambda S: 0.0)
    X = np.column_stack([np.arange(150) % 3, X[:, 2]])
    for kernel, supported in ((Wiener(0.1), False), (Forgetting(0.1), True)):
        gp = TimeVaryingGPRegressor(None, kernel, solver="kalman", normalize_y=True)
        found = advice(gp, X, y + np.sin(4.0 * X[:, 0]), SHARE)
        assert supported or not found


# --- calls that warn ------------------------------------------------------------------------------


@each
def test_an_optimizer_is_not_warned(kind):
    surrogate = kind(Matern(0.3), Matern(1e6, "fixed"), random_state=0)
    opt = WDBO([(0.0, 1.0)], surrogate=surrogate, n_initial_points=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for t in range(12):
            x = opt.ask(float(t))
            opt.tell(x, 50.0 + 0.01 * x[0])
    # Nor are copies of its surrogate; a clone is a user's.
    assert warned(pickle.loads(pickle.dumps(opt.surrogate_)), X, Y + 20.0) == []
    assert len(warned(clone(opt.surrogate_), X, Y + 20.0)) >= 2


@each
def test_only_a_fit_warns_and_as_an_error_it_changes_nothing(kind):
    gp = kind(Matern(0.3), Matern(2.0), random_state=0).fit(X, Y)
    before = gp.predict(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gp.condition_on(X[:3], Y[:3] + 500.0).partial_fit(X[:3], Y[:3] + 500.0).refit()
        with pytest.raises(ModelWarning, match="far from 0"):
            gp.fit(X, Y + 20.0)
    np.testing.assert_array_equal(gp.predict(X), before)
