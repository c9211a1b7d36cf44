"""Rates, durations and dates in kernels and noise models: in the unit of the times, or advice."""

import warnings

import numpy as np
import pytest
from gaussian_process.cases import each
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    ExpSineSquared,
    Kernel,
    Matern,
    NormalizedKernelMixin,
    RationalQuadratic,
    StationaryKernelMixin,
    WhiteKernel,
)

from sktvbo import TimeVaryingGPRegressor
from sktvbo.exceptions import ModelWarning
from sktvbo.gaussian_process import (
    GeometricInjection,
    NoiseModel,
    QuadraticInjection,
    QuadraticMean,
)
from sktvbo.kernels import Forgetting, Wiener

pd = pytest.importorskip("pandas")

N = 80
RNG = np.random.default_rng(0)
PLACE, HOURS = RNG.uniform(size=N), np.arange(float(N))
Y = np.sin(6.0 * PLACE) + np.sin(HOURS / 20.0) + 0.05 * RNG.normal(size=N)
# Hours in a unit.
LENGTHS = {"s": 3600.0, "min": 60.0, "h": 1.0, "D": 1 / 24}


def rows(unit="h"):
    return np.column_stack([PLACE, HOURS * LENGTHS[unit]])


def dated(zone=None):
    return pd.DataFrame({"place": PLACE, "time": DATES.tz_localize(zone)})


DATES = pd.date_range("2026-01-01", periods=N, freq="1h")


def advice(gp, X=None, y=Y, about="time"):
    """Return the messages of a fit about the model, that contain a text."""
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("always", ModelWarning)
        gp.fit(rows() if X is None else X, y)
    return [str(r.message) for r in records if about in str(r.message)]


def held(kind=TimeVaryingGPRegressor, **options):
    return kind(Matern(0.3, nu=2.5), optimizer=None, random_state=0, **options)


# --- rates in another unit ------------------------------------------------------------------------


class Linear(NoiseModel):
    def __init__(self, growth=1.0, growth_bounds="fixed"):
        self.growth, self.growth_bounds = growth, growth_bounds

    def ratio(self, age):
        return 1.0 + self.growth * age


class Fading(NormalizedKernelMixin, StationaryKernelMixin, Kernel):
    """A kernel of a user, with a rate."""

    def __init__(self, rate=1.0):
        self.rate = rate

    def __call__(self, X, Y=None, eval_gradient=False):
        K = np.exp(-self.rate * np.abs(X - (X if Y is None else Y).T))
        return (K, np.empty((*K.shape, 0))) if eval_gradient else K


STATIC = ConstantKernel(1.0, "fixed")


def temporal(kernel):
    return {"temporal_kernel": kernel}


def noise(model):
    return {"temporal_kernel": STATIC, "noise_model": model}


# name: (parameters with a rate r per unit, start of the advice)
RATES = {
    "forgetting": (lambda r: temporal(Forgetting(-np.expm1(-r))), "temporal_kernel__epsilon is"),
    "sum": (
        lambda r: temporal(Matern(9.0 / r) + 0.5 * Forgetting(-np.expm1(-r))),
        "temporal_kernel__k2__k2__epsilon is",
    ),
    "level": (
        lambda r: {"level_kernel": 0.5 * Forgetting(-np.expm1(-r))},
        "level_kernel__k2__epsilon is",
    ),
    "wiener": (lambda r: temporal(Wiener(r)), "temporal_kernel__drift_variance is"),
    "own kernel": (lambda r: temporal(Fading(r)), "temporal_kernel is "),
    "geometric": (
        lambda r: noise(GeometricInjection(np.exp(-r))),
        "noise_model__discount is",
    ),
    "quadratic": (lambda r: noise(QuadraticInjection(r)), "noise_model__rate is"),
    "own noise": (lambda r: noise(Linear(r)), "noise_model__growth is"),
}


@each
@pytest.mark.parametrize("name", RATES)
def test_a_rate_in_another_unit_is_named(kind, name):
    make, start = RATES[name]
    for rate in (0.02, 1.0):
        assert advice(held(kind, **make(rate)), about="time scale") == []
    for rate in (1e-7, 100.0):
        if name in ("forgetting", "sum", "level") and rate > 30.0:
            rate = 30.0  # ε is below 1
        (message,) = advice(held(kind, **make(rate)), about="time scale")
        assert message.startswith(start)
        assert "they extend over 79, at intervals of 1. " in message
        assert "per unit of the times (of dates: time_unit)" in message


@pytest.mark.parametrize("name", RATES)
def test_the_same_rate_suits_dates_in_hours_only(name):
    make, start = RATES[name]
    options = make(0.05)
    kernel = options.get("temporal_kernel")
    if isinstance(kernel, Wiener):
        kernel.set_params(start=DATES[0])
    assert advice(held(time_unit="h", **options), dated(), about="time scale") == []
    (message,) = advice(held(time_unit="s", **options), dated(), about="time scale")
    assert message.startswith(start)


@each
def test_what_changes_nothing_or_is_learnt_has_no_advice(kind):
    for model in (GeometricInjection(1.0), QuadraticInjection(0.0)):
        assert advice(held(kind, **noise(model))) == []
    for kernel in (STATIC, ExpSineSquared(1.0, 24.0), WhiteKernel(0.1) + Matern(9.0)):
        assert advice(held(kind, temporal_kernel=kernel)) == []
    learnt = [Forgetting(0.99, (1e-9, 0.999)), Wiener(1e3, (1e-9, 1e4))]
    for options in [*map(temporal, learnt), noise(QuadraticInjection(50.0, (1e-6, 1e3)))]:
        gp = held(kind, **options).set_params(optimizer="fmin_l_bfgs_b", normalize_y=True)
        assert advice(gp, about="time scale") == []
    one = np.column_stack([PLACE, np.zeros(N)])  # a map at one time
    assert advice(held(kind, temporal_kernel=Forgetting(0.9)), one) == []


@each
def test_a_random_walk_that_starts_far_before_the_times(kind):
    late = rows() + np.array([0.0, 4e5])
    (message,) = advice(held(kind, temporal_kernel=Wiener(0.03)), late)
    assert message.startswith("temporal_kernel__start is 0, far before the times, from 400000 to")
    for start in (4e5, 4e5 - 50.0):
        assert advice(held(kind, temporal_kernel=Wiener(0.03, start=start)), late) == []


# --- default bounds follow the times --------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Forgetting(), Wiener(), 0.5 * Forgetting()], ids=str)
@pytest.mark.parametrize("unit", LENGTHS)
def test_learnt_rates_do_not_depend_on_the_unit(kernel, unit):
    walk = np.cumsum(0.2 * np.random.default_rng(1).normal(size=N))
    gp = TimeVaryingGPRegressor(RBF(0.3, "fixed"), kernel, normalize_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fits = [(clone(gp).fit(rows(u), walk), rows(u)) for u in ("h", unit)]
    refits = [gp.condition_on(X[:9:3], walk[:9:3]).refit() for gp, X in fits]
    for one, other in ([gp for gp, _ in fits], refits):
        values = [gp.log_marginal_likelihood_value_ for gp in (one, other)]
        assert values[0] == pytest.approx(values[1], abs=2e-3)


@each
def test_explicit_bounds_are_as_given(kind):
    kernel = Forgetting(0.03, (1e-3, 0.5))
    gp = kind(Matern(0.3), kernel, random_state=0, normalize_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        gp.fit(rows("s"), Y)
    assert gp.temporal_kernel_.epsilon_bounds == (1e-3, 0.5)
    assert kernel == Forgetting(0.03, (1e-3, 0.5))
    default = Forgetting()
    gp.set_params(temporal_kernel=default)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        gp.fit(rows("s"), Y)
    assert default == Forgetting()  # the given kernel is unchanged
    assert gp.temporal_kernel_.epsilon < 1e-3


# --- time alone -----------------------------------------------------------------------------------


@each
@pytest.mark.parametrize("kernel", [RBF(2.0, "fixed"), ExpSineSquared(1.0, 24.0)], ids=str)
def test_a_kernel_in_space_has_no_effect_on_time_alone(kind, kernel):
    alone = HOURS[:, np.newaxis]
    for temporal_kernel in (None, Matern(9.0)):
        gp = kind(kernel, temporal_kernel, random_state=0, normalize_y=True)
        (message,) = advice(gp, alone, about="spatial_kernel")
        assert message.startswith("spatial_kernel has no effect, because X has no column but time.")
        assert "temporal_kernel" in message
        assert advice(gp, about="no effect") == []
        assert advice(gp.set_params(spatial_kernel=None), alone, about="spatial_kernel") == []


def test_a_prior_mean_has_no_effect_on_time_alone():
    gp = held(prior_mean=QuadraticMean()).set_params(spatial_kernel=None)
    (message,) = advice(gp, HOURS[:, np.newaxis])
    assert message == "prior_mean has no effect, because X has no column but time. Leave it out."


# --- durations ------------------------------------------------------------------------------------

HOURS_3 = pd.Timedelta("3h")
IN_TIME = {
    "lengthscale": Matern(HOURS_3, "fixed"),
    "bounds": Matern(3.0, (HOURS_3, 9 * HOURS_3)),
    "array of bounds": Matern(3.0, np.array([3, 30], dtype="timedelta64[h]")),
    "period": ExpSineSquared(1.0, HOURS_3, "fixed", "fixed"),
    "part": RBF(3.0) + 0.5 * RationalQuadratic(HOURS_3, 1.0),
}


@each
@pytest.mark.parametrize("name", IN_TIME)
@pytest.mark.parametrize("part", ["temporal_kernel", "level_kernel"])
def test_durations_beside_numbers_ask_for_the_unit(kind, name, part):
    gp = held(kind, **{part: IN_TIME[name]})
    (message,) = advice(gp, about="duration")
    assert "Set time_unit" in message
    assert "taken as seconds" in message
    gp.set_params(time_unit="h")
    assert advice(gp, about="duration") == []
    assert advice(clone(gp).set_params(time_unit=None), dated(), about="duration") == []
    learnt = getattr(gp, f"{part}_")
    assert not any("hour" in str(v) or "day" in str(v) for v in learnt.get_params().values())


NOT_IN_TIME = {
    "epsilon of Forgetting": Forgetting(HOURS_3),
    "drift_variance of Wiener": Wiener(HOURS_3),
    "alpha of RationalQuadratic": RationalQuadratic(1.0, HOURS_3),
    "length_scale of ExpSineSquared": ExpSineSquared(HOURS_3, 24.0),
    "length_scale_bounds of ExpSineSquared": ExpSineSquared(1.0, 24.0, (HOURS_3, 9 * HOURS_3)),
    "k1__constant_value of Product": ConstantKernel(HOURS_3) * Matern(),
    "k2__noise_level of Sum": Matern() + WhiteKernel(HOURS_3),
    "nu of Matern": Matern(nu=HOURS_3),
}


@each
@pytest.mark.parametrize("name", NOT_IN_TIME)
@pytest.mark.parametrize("duration", [HOURS_3, np.timedelta64(3, "h"), HOURS_3.to_pytimedelta()])
def test_a_duration_that_is_no_time_is_refused(kind, name, duration):
    path = name.split(" of ")[0]
    value = (duration, 9 * duration) if path.endswith("_bounds") else duration
    kernel = NOT_IN_TIME[name].set_params(**{path: value})
    for gp in (held(kind, temporal_kernel=kernel), held(kind, level_kernel=kernel)):
        for method in (gp.fit, gp.partial_fit):
            with pytest.raises(ValueError, match=f"{name} must be numbers. Got "):
                method(dated(), Y)
    in_space = held(kind).set_params(spatial_kernel=Matern(duration))
    with pytest.raises(ValueError, match=r"length_scale of Matern must be numbers\. Got "):
        in_space.fit(dated(), Y)


@each
@pytest.mark.parametrize("name", ["length_scale", "length_scale_bounds", "nu"])
def test_a_date_is_no_length(kind, name):
    value = (DATES[0], DATES[1]) if name == "length_scale_bounds" else DATES[0]
    kernel = Matern(3.0).set_params(**{name: value})
    for part in ("spatial_kernel", "temporal_kernel", "level_kernel"):
        with pytest.raises(ValueError, match=f"{name} of Matern must be numbers"):
            held(kind).set_params(**{part: kernel}).fit(dated(), Y)


@each
@pytest.mark.parametrize("duration", [HOURS_3, np.timedelta64(3, "h"), HOURS_3.to_pytimedelta()])
def test_a_prior_with_a_duration_is_refused(kind, duration):
    for prior in (stats.gamma(3.0, scale=duration), stats.norm(duration, 1.0)):
        gp = kind(hyperpriors={"temporal_kernel__length_scale": prior}, time_unit="h")
        expected = r"hyperpriors\['temporal_.* of numbers, in the time_unit. Got the duration .*1h"
        with pytest.raises(ValueError, match=expected):
            gp.fit(dated(), Y)


# --- dates in kernels -----------------------------------------------------------------------------

ZONED = DATES[0].tz_localize("Europe/Zurich")


@each
@pytest.mark.parametrize("zone", [None, "Europe/Zurich"])
def test_a_random_walk_may_start_at_a_date(kind, zone):
    start = DATES[0].tz_localize(zone)
    X = dated(zone)
    numbers = (start - pd.Timestamp(0, tz=zone and "UTC")) / pd.Timedelta("1h")
    for part in ("temporal_kernel", "level_kernel"):
        gp = held(kind, time_unit="h", **{part: 0.5 * Wiener(0.03, start=start)})
        expected = held(kind, time_unit="h", **{part: 0.5 * Wiener(0.03, start=numbers)})
        for method in ("fit", "partial_fit"):
            found = getattr(clone(gp), method)(X, Y).predict(X)
            assert_allclose(found, getattr(clone(expected), method)(X, Y).predict(X), rtol=1e-9)
        assert advice(gp, X) == []
        assert str(round(numbers)) in repr(gp)
    assert str(start) in repr(Wiener(0.03, start=start))


@each
@pytest.mark.parametrize("start", [DATES[0], ZONED, pd.Timedelta("1h")], ids=str)
def test_a_start_of_another_kind_is_refused(kind, start):
    tables = {
        "dates without a time zone": dated(),
        "dates with a time zone": dated("Europe/Zurich"),
        "numbers": rows(),
    }
    kinds = {DATES[0]: "dates without a time zone", ZONED: "dates with a time zone"}
    own = kinds.get(start, "durations")
    for known, X in tables.items():
        if known == own or (known == "numbers" and own == "durations"):
            continue
        gp = held(kind, temporal_kernel=Wiener(0.03, start=start))
        expected = f"start of Wiener must be {known}, as in the data of fit. Got {own}"
        for method in (gp.fit, gp.partial_fit):
            with pytest.raises(ValueError, match=expected):
                method(X, Y)
    with pytest.raises(ValueError, match=r"'start' parameter of Wiener .* takes a date"):
        Wiener(start=start)([[1.0]])


def test_a_refit_with_a_kernel_that_starts_at_a_date():
    gp = TimeVaryingGPRegressor(Matern(0.3), Matern(9.0), normalize_y=True, time_unit="h")
    gp.fit(dated(), Y)
    walk = gp.refit(temporal_kernel=Wiener(0.03, start=DATES[0])).temporal_kernel_
    assert walk.start == pytest.approx((DATES[0] - pd.Timestamp(0)) / pd.Timedelta("1h"))
    with pytest.raises(ValueError, match="start of Wiener must be dates without"):
        gp.refit(temporal_kernel=Wiener(0.03, start=ZONED))
