"""Warnings of a fit; the fits of an optimizer give none."""

import pickle
import re
import warnings

import numpy as np
import pytest
from gaussian_process.cases import each
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, ExpSineSquared, Matern

from sktvbo import WDBO, SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor
from sktvbo.exceptions import ModelWarning
from sktvbo.gaussian_process._regressor import without_advice
from sktvbo.kernels import Forgetting, with_seasons


def warned(gp, X, y):
    """Return categories and messages of the warnings of a fit."""
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        gp.fit(X, y)
    for record in records:  # attributed to the line of the caller
        assert record.filename == __file__ or record.category is ConvergenceWarning
    return [(record.category, str(record.message)) for record in records]


def drifting(n=150, seed=0):
    rng = np.random.RandomState(seed)
    X = np.column_stack([rng.uniform(size=n), np.sort(rng.uniform(0.0, 10.0, n))])
    return X, np.sin(6.0 * X[:, 0] + X[:, 1]) + 0.1 * rng.normal(size=n)


@each
def test_a_suitable_model_gives_no_warning(kind):
    assert warned(kind(random_state=0), *drifting()) == []
    assert warned(kind(random_state=0, normalize_y=True), *drifting()) == []
    assert warned(kind(Matern(0.3), Matern(2.0), optimizer=None), *drifting()) == []


# --- y far from 0 ---------------------------------------------------------------------------------


@each
def test_y_far_from_zero(kind):
    X, y = drifting()
    name = kind.__name__
    ((category, message),) = warned(kind(Matern(0.3), Matern(2.0), optimizer=None), X, y + 20.0)
    assert category is ModelWarning
    assert message.startswith(
        "y is far from 0, on average 19.88 with a standard deviation of 0.6785"
    )
    assert f"{name} expects 0" in message
    assert "normalize_y=True, or mean_prior_std=np.inf" in message


@each
@pytest.mark.parametrize(
    ("options", "shift"),
    [({"normalize_y": True}, 20.0), ({"mean_prior_std": np.inf}, 20.0), ({}, 1.5)],
)
def test_y_that_is_near_zero_or_has_a_mean(kind, options, shift):
    X, y = drifting()
    gp = kind(Matern(0.3), Matern(2.0), optimizer=None, **options)
    assert warned(gp, X, y + shift) == []


def test_large_y_gives_no_warning():
    X, y = drifting(20)
    gp = TimeVaryingGPRegressor(Matern(0.3), Matern(2.0), optimizer=None, normalize_y=True)
    assert warned(gp, X, 1e100 * y / np.abs(y).max()) == []


# --- hyperparameters at their bounds --------------------------------------------------------------


def at_bounds(y=None, **options):
    X, values = drifting()
    gp = TimeVaryingGPRegressor(**options)
    found = warned(gp, X, values if y is None else y)
    assert all(category is ConvergenceWarning for category, _ in found)
    return [message for _, message in found]


X0, _ = drifting()
NOISE = np.random.RandomState(3).normal(size=150)
NARROW = {"spatial_kernel": Matern(0.3, (0.1, 0.5)), "temporal_kernel": Matern(2.0, (1, 4))}
# name: (y, parameters, parts of the only warning)
AT_BOUNDS = {
    "noise, low": (
        np.sin(6.0 * X0[:, 0] + X0[:, 1]),
        {},
        ["noise_variance ended at its lower bound, 1e-06: y has hardly any"],
    ),
    "noise, high": (
        None,
        {"noise_variance": 1e-4, "noise_variance_bounds": (1e-5, 1e-3)},
        [
            "noise_variance ended at its upper bound, 0.001: the model explains y as noise",
            "normalize_y=True, or raise the bound",
        ],
    ),
    "signal, high": (
        None,
        {"signal_variance": 0.05, "signal_variance_bounds": (1e-2, 0.1)},
        ["signal_variance ended at its upper bound, 0.1: y has a large"],
    ),
    "noise alone": (
        NOISE,
        {"noise_variance": 1.0, "signal_variance": 0.1, **NARROW},
        ["signal_variance ended at its lower bound, 0.001: the model explains y as noise"],
    ),
    "constant in time": (
        np.sin(6.0 * X0[:, 0]) + 0.1 * np.random.RandomState(1).normal(size=150),
        {},
        [
            "temporal_kernel__length_scale ended at its upper bound",
            "If more rows follow, they may show a change",
            "ConstantKernel(1.0, 'fixed')",
        ],
    ),
    "lengthscale, low": (
        None,
        {"spatial_kernel": Matern(3.0, (2.0, 10.0))},
        ["spatial_kernel__length_scale ended at its lower bound, 2: f changes"],
    ),
}


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
    found = warned(kind(normalize_y=True, random_state=0, **options), np.column_stack([S, t]), y)
    assert not [message for _, message in found if message.startswith(("temporal", "level"))]
    series = kind(Matern(1.0, (1.0, 10.0)), Matern(30.0), normalize_y=True, random_state=0)
    found = warned(series, np.column_stack([0.0 * S, S[:, 0]]), y)
    assert not [message for _, message in found if message.startswith("spatial")]


@pytest.mark.parametrize(("y", "options", "parts"), AT_BOUNDS.values(), ids=list(AT_BOUNDS))
def test_a_hyperparameter_at_its_bound(y, options, parts):
    (message,) = at_bounds(y, **options)
    assert message.startswith(parts[0])
    assert all(part in message for part in parts)


def test_a_hyperparameter_of_a_part_is_named_with_its_kernel_and_seasons_with_their_priors():
    season = ConstantKernel(0.5, (1e-5, 0.5)) * ExpSineSquared(0.5, 4.0, periodicity_bounds="fixed")
    (text,) = at_bounds(temporal_kernel=Matern(2.0, (1.0, 4.0), nu=2.5) + season)
    assert text.startswith("temporal_kernel__k2__k1__constant_value (of ExpSineSquared(")
    assert "hyperpriors=season_priors(period)" in text
    (text, _) = at_bounds(temporal_kernel=with_seasons(Matern(1.0, (0.5, 1.5), nu=2.5), 7.0))
    assert "temporal_kernel__k1__length_scale (of Matern(length_scale=1.5, nu=2.5)) ended" in text


def test_a_hyperparameter_of_a_custom_kernel_at_its_bound():
    found = at_bounds(temporal_kernel=Forgetting(0.7, (0.6, 0.9)))
    text = "temporal_kernel__epsilon ended at its lower bound, 0.6: Lower the bound, or fix it."
    assert text in found


def test_the_advice_for_a_static_function_is_followed():
    y = AT_BOUNDS["constant in time"][0]
    assert at_bounds(y, temporal_kernel=ConstantKernel(1.0, "fixed")) == []


def test_no_advice_to_set_what_is_set():
    """y is noise alone, and standardized."""
    fixed = {"noise_variance": 1.0, "signal_variance": 0.1, "normalize_y": True}
    narrow = {"noise_variance": 1e-4, "noise_variance_bounds": (1e-5, 1e-3), "normalize_y": True}
    low = {"signal_variance": 0.05, "signal_variance_bounds": (1e-2, 0.1), "normalize_y": True}
    for options, end in ((fixed, "signal_variance"), (narrow, "noise"), (low, "signal_variance")):
        found = [text for _, text in warned(TimeVaryingGPRegressor(**NARROW, **options), X0, NOISE)]
        assert any(text.startswith(end) for text in found)
        assert not any("normalize_y" in text for text in found)


def test_a_bound_that_is_in_another_unit():
    X, y = drifting()
    gp = TimeVaryingGPRegressor(Matern(0.3), Matern(1.0, nu=1.5))
    found = warned(gp, X * [1.0, 3e6] + [0.0, 1.7e9], y)
    (message,) = (text for _, text in found if text.startswith("temporal_kernel"))
    assert "upper bound, 1e+05: its columns extend over 2.9" in message
    assert "time_unit" in message


def test_fixed_hyperparameters_are_at_no_bound():
    assert at_bounds(noise_variance=0.01, noise_variance_bounds="fixed") == []
    assert at_bounds(noise_variance=0.01, noise_variance_bounds=(0.01, 0.01)) == []


# --- convergence ----------------------------------------------------------------------------------


class Uphill(RBF):
    """A kernel whose gradient has the wrong sign."""

    def __call__(self, X, Y=None, eval_gradient=False):
        found = super().__call__(X, Y, eval_gradient)
        return (found[0], -found[1]) if eval_gradient else found


def test_a_search_that_does_not_converge():
    gp = TimeVaryingGPRegressor(Uphill(0.1), Matern(2.0))
    ((category, message),) = warned(gp, *drifting())
    assert category is ConvergenceWarning
    assert message.startswith("The search of the hyperparameters stopped before it converged (")
    assert "check the gradient" in message


# --- lengthscales far from the data ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("temporal", "optimizer"),
    [(Matern(1.0, "fixed"), "fmin_l_bfgs_b"), (Matern(1.0), None), (Matern(1e12), None)],
)
@each
def test_a_lengthscale_far_from_the_times(kind, temporal, optimizer):
    X, y = drifting()
    gp = kind(Matern(0.3), temporal, optimizer=optimizer, random_state=0)
    found = [text for _, text in warned(gp, X * [1.0, 1e6], y) if "far from the scale" in text]
    (message,) = found
    assert message.startswith(f"temporal_kernel__length_scale is {temporal.length_scale}, far")
    assert "extend over 9.786e+06" in message
    assert "(of dates: time_unit), or let it be learnt" in message


def test_a_lengthscale_far_from_the_places():
    X, y = drifting()
    gp = TimeVaryingGPRegressor(Matern([1.0]), Matern(2.0), optimizer=None)
    ((_, message),) = warned(gp, X * [1e5, 1.0], y)
    assert message.startswith("spatial_kernel__length_scale is ")


def test_lengthscales_that_are_not_in_units_of_the_data():
    X, y = drifting()
    periodic = ExpSineSquared(1.0, 3e6, "fixed", "fixed")
    gp = TimeVaryingGPRegressor(Matern(0.3), periodic, optimizer=None)
    assert warned(gp, X * [1.0, 1e6], y) == []
    repeated = np.column_stack([np.zeros(150), X[:, 1]])  # a single place
    gp = TimeVaryingGPRegressor(Matern(1e-6), Matern(2.0), optimizer=None)
    assert warned(gp, repeated, y) == []


# --- parts of sums and products -------------------------------------------------------------------


def far_fixed(length_scale):
    return Matern(length_scale, "fixed", nu=1.5)


# name: (parameters, name of the far lengthscale)
COMPOSITES = {
    "sum": ({"temporal_kernel": Matern(2.0) + far_fixed(1e9)}, "temporal_kernel__k2"),
    "product": ({"temporal_kernel": 0.5 * far_fixed(1e-9) * RBF(2.0)}, "temporal_kernel__k1__k2"),
    "power": ({"temporal_kernel": far_fixed(1e9) ** 2}, "temporal_kernel__kernel"),
    "level": ({"level_kernel": 0.5 * far_fixed(1e9)}, "level_kernel__k2"),
    "space": ({"spatial_kernel": Matern(0.3) + far_fixed(1e-9)}, "spatial_kernel__k2"),
}


@pytest.mark.parametrize("name", COMPOSITES)
@pytest.mark.parametrize("optimizer", [None, "fmin_l_bfgs_b"])
def test_a_far_lengthscale_in_a_sum_or_product_is_named(name, optimizer):
    options, named = COMPOSITES[name]
    gp = TimeVaryingGPRegressor(Matern(0.3), Matern(2.0), optimizer=optimizer)
    found = [
        text for _, text in warned(gp.set_params(**options), *drifting()) if "far from" in text
    ]
    (message,) = found
    assert message.startswith(f"{named}__length_scale is ")


SEASONS = {
    "with_seasons": (
        lambda p: {"temporal_kernel": with_seasons(Matern(6.0, nu=2.5), p)},
        "__k2__k2",
    ),
    "product": (lambda p: {"temporal_kernel": Matern(9.0) * ExpSineSquared(1.0, p)}, "__k2"),
    "alone": (lambda p: {"temporal_kernel": ExpSineSquared(1.0, p)}, ""),
    "level": (lambda p: {"level_kernel": 1.0 * ExpSineSquared(1.0, p)}, "__k2"),
}


@pytest.mark.parametrize("name", SEASONS)
@pytest.mark.parametrize("irregular", [False, True])
@pytest.mark.parametrize(
    ("unit", "relation"), [(1.0, ""), (1e-3, "than two in"), (1e3, "twice the")]
)
def test_a_period_in_another_unit_is_named(name, irregular, unit, relation):
    make, end = SEASONS[name]
    t = np.arange(120.0)
    if irregular:
        t = np.sort(np.random.RandomState(1).uniform(0.0, 120.0, 120))
    gp = TimeVaryingGPRegressor(optimizer=None, **make(24.0 * unit))
    found = [text for _, text in warned(gp, t[:, np.newaxis], np.sin(t / 4.0)) if "period" in text]
    if not relation:
        assert found == []
        return
    (message,) = found
    assert message.startswith(next(iter(gp.get_params(deep=False).keys() & make(1.0))) + end)
    assert f"periodicity is {24.0 * unit:g}" in message
    assert relation in message
    assert "(of dates: time_unit)" in message


def test_periods_of_dates_in_the_default_unit_are_named():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"time": pd.date_range("2026-01-01", periods=60, freq="h")})
    y = np.sin(np.arange(60) / 4.0)
    kernel = with_seasons(Matern(6.0, nu=2.5), 24.0)
    found = [text for _, text in warned(TimeVaryingGPRegressor(None, kernel), frame, y)]
    assert any("periodicity is 24, less than two intervals" in text for text in found)
    gp = TimeVaryingGPRegressor(None, kernel, time_unit="h")
    assert not any("periodicity" in text for _, text in warned(gp, frame, y))


# --- sizes ----------------------------------------------------------------------------------------


def rough(n=1000):
    rng = np.random.RandomState(0)
    X = np.column_stack([rng.uniform(size=(n, 2)), np.sort(rng.uniform(0.0, 100.0, n))])
    y = np.sin(6.0 * X[:, 0] + 0.2 * X[:, 2]) + np.cos(5.0 * X[:, 1])
    return X, y + 0.1 * rng.normal(size=n)


@pytest.mark.slow
def test_too_few_inducing_points():
    options = {"random_state": 0, "normalize_y": True}
    gp = SparseTimeVaryingGPRegressor(n_inducing=30, **options)
    (message,) = (text for kind, text in warned(gp, *rough()) if kind is ModelWarning)
    assert message.startswith("The 30 inducing points do not suffice: they leave ")
    assert "Set n_inducing to more than 30, or" in message
    assert warned(gp.set_params(n_inducing="auto"), *rough()) == []


def test_too_few_inducing_points_for_given_hyperparameters():
    X, y = rough()
    options = {"random_state": 0, "optimizer": None, "noise_variance": 0.01}
    gp = SparseTimeVaryingGPRegressor(Matern(0.6), Matern(14.0), n_inducing=50, **options)
    (message,) = (text for kind, text in warned(gp, X, y) if kind is ModelWarning)
    assert message.startswith("The 50 inducing points do not suffice: they leave ")
    assert "Set n_inducing to more than 50, or" in message
    gp.set_params(n_inducing="auto")
    assert warned(gp, X, y) == []


# --- calls that warn ------------------------------------------------------------------------------


@each
def test_no_advice_for_what_is_no_user(kind):
    X, y = drifting()
    gp = without_advice(kind(Matern(0.3), Matern(1e9, "fixed"), random_state=0))
    assert warned(gp, X, y + 20.0) == []
    assert warned(pickle.loads(pickle.dumps(gp)), X, y + 20.0) == []
    assert len(warned(clone(gp), X, y + 20.0)) >= 2


@each
def test_filters_choose_the_advice(kind):
    X, y = drifting()
    gp = kind(Matern(0.3), Matern(1e9, "fixed"), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ModelWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        gp.fit(X, y + 20.0)


@each
def test_an_optimizer_is_not_warned(kind):
    surrogate = kind(Matern(0.3), Matern(1e6, "fixed"), random_state=0)
    opt = WDBO([(0.0, 1.0)], surrogate=surrogate, n_initial_points=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for t in range(12):
            x = opt.ask(float(t))
            opt.tell(x, 50.0 + 0.01 * x[0])


@each
def test_only_a_fit_warns(kind):
    X, y = drifting()
    gp = kind(Matern(0.3), Matern(2.0), random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gp.partial_fit(X[:3], y[:3] + 500.0).condition_on(X[:3], y[:3] + 500.0).refit()


@each
def test_a_warning_raised_as_an_error_changes_nothing(kind):
    X, y = drifting()
    gp = kind(Matern(0.3), Matern(2.0), random_state=0).fit(X, y)
    before = gp.predict(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ModelWarning, match="far from 0"):
            gp.fit(X, y + 20.0)
    np.testing.assert_array_equal(gp.predict(X), before)


@pytest.mark.parametrize(
    ("size", "options"),
    [(0.0, {}), (1e-12, {"mean_prior_std": np.inf}), (1e-8, {"optimizer": None}), (1.0, {})],
    ids=str,
)
def test_the_share_of_noise_is_at_most_all_of_y(size, options):
    """The residual of the points exceeds the variance of a nearly constant y many times."""
    X, y = drifting()
    messages = [
        message
        for offset in (0.0, 3.3)
        for _, message in warned(
            SparseTimeVaryingGPRegressor(n_inducing=5, random_state=0, **options),
            X,
            offset + size * y,
        )
    ]
    shares = [float(share) for message in messages for share in re.findall(r"([\d.]+)%", message)]
    assert all(share <= 100.0 for share in shares)
    assert bool(shares) == (size > 0.0)  # a constant has no variance to explain
