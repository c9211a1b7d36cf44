"""The warning that predictions are overconfident: never for a right model, soon for a wrong one."""

import logging
import pickle
import warnings

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, chi2, norm
from sklearn.gaussian_process.kernels import RBF

from sktvbo import GPUCB, SWGPUCB, WDBO, WGPUCB, TimeVaryingGPRegressor
from sktvbo.domain import Arms
from sktvbo.exceptions import ModelWarning, OverconfidenceWarning

NOISE = 0.1


def drawn(rng):
    """A function of place and time from the prior of `declared`, by random Fourier features."""
    frequencies = rng.standard_normal((300, 2)) / [0.3, 20.0]
    phases, weights = rng.uniform(0.0, 2.0 * np.pi, 300), rng.standard_normal(300)
    return lambda x, t: np.sqrt(2 / 300) * weights @ np.cos(frequencies @ [x[0], t] + phases)


def declared(noise_variance, **options):
    """A model with the right kernels and a declared noise."""
    fixed = {"signal_variance_bounds": "fixed", "optimizer": None, "normalize_y": False}
    return TimeVaryingGPRegressor(
        RBF(0.3), RBF(20.0), noise_variance=noise_variance, **fixed, **options
    )


def run(opt, seed, n_steps, start=0, noise=NOISE):
    rng = np.random.RandomState(seed)
    function = drawn(rng)
    for t in range(start, start + n_steps):
        x = opt.ask(t)
        opt.tell(x, function(x, t) + noise * rng.standard_normal(), t)


def optimizer(noise_variance, seed=0, window=30, **options):
    surrogate = declared(noise_variance)
    options = {"n_initial_points": 2, "surrogate": surrogate, "random_state": seed} | options
    return SWGPUCB([(0.0, 1.0)], window=window, **options)


@pytest.mark.parametrize("seed", range(2))
def test_a_right_model_does_not_warn(seed):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelWarning)
        run(opt := optimizer(NOISE**2, seed), seed, 100)
    frame = opt.to_frame()
    squares = (((frame.y - frame.predicted_mean) / frame.predicted_std) ** 2)[2:]
    assert 1e-4 < chi2.sf(sum(squares), len(squares)) < 1.0 - 1e-4


def test_a_noise_declared_100_times_too_small_warns_once(caplog):
    opt = optimizer(NOISE**2 / 100.0)
    run(opt, 0, 51)
    with pytest.warns(ModelWarning, match=r"overconfident.*optimizer=None.*larger noise") as found:
        run(opt, 0, 10, 51)
    assert found[0].filename == __file__
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("sktvbo.optimizers", logging.WARNING)
    assert record.sktvbo["event"] == "miscalibrated"
    assert record.sktvbo["median"] > 2.0
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelWarning)
        for again in (opt, pickle.loads(pickle.dumps(opt)), type(opt).from_json(opt.to_json())):
            run(again, 1, 20, 61)


def test_a_learnt_model_does_not_warn_either():
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelWarning)
        run(WDBO([(0.0, 1.0)], random_state=0), 0, 80)


def run_with_glitches(opt, seed, noise):
    rng = np.random.RandomState(seed)
    function, glitches = drawn(rng), rng.permutation(np.arange(80) % 16 == 0)
    for t in range(80):
        x = opt.ask(t)
        opt.tell(x, function(x, t) + noise * rng.standard_normal() + 20.0 * glitches[t], t)


@pytest.mark.parametrize(
    ("learns", "seed"), [(True, 0), pytest.param(False, 1, marks=pytest.mark.slow)]
)
def test_glitches_that_a_robust_model_handles_do_not_warn(learns, seed):
    if learns:
        opt = WDBO([(0.0, 1.0)], robust=True, random_state=seed)
    else:
        opt = optimizer(1.0, seed, surrogate=declared(NOISE**2, robust=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error", OverconfidenceWarning)
        run_with_glitches(opt, seed, NOISE)


def test_a_robust_model_that_is_overconfident_warns():
    surrogate = declared(NOISE**2 / 100.0, robust=True)
    with pytest.warns(OverconfidenceWarning, match="overconfident"):
        run_with_glitches(optimizer(1.0, surrogate=surrogate), 0, NOISE)


def n_warnings(function, *args):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(*args)
    return sum(issubclass(each.category, OverconfidenceWarning) for each in caught)


@pytest.mark.parametrize(("share", "n_small"), [(0.0, 0), (0.99, 0), (1.01, 0), (9.0, 26)])
def test_half_of_the_residuals_are_beyond_a_quantile(share, n_small):
    """Of 50 Gaussian residuals at least 25 are with probability 1e-6; 24 large ones are not."""
    opt = optimizer(NOISE**2, surrogate=declared(NOISE**2), window=1)
    bound = brentq(lambda b: binom.sf(24, 50, 2.0 * norm.sf(b)) - 1e-6, 1.0, 2.0, xtol=1e-12)
    opt.tell([0.5], 0.0, 0.0), opt.tell([0.5], 0.0, 1.0)

    def told():
        for i in range(50):
            mean, std = opt.predict([0.5], i + 2.0, return_std=True, include_noise=True)
            size = share if i >= n_small else 0.0
            opt.tell([0.5], mean + (-1) ** i * size * bound * std, i + 2.0)

    assert n_warnings(told) == (share > 1.0 and not n_small)


def test_a_test_needs_a_prediction_of_each():
    opt = optimizer(1e-6 * NOISE**2)
    assert n_warnings(run, opt, 0, 51) == 0
    opt.untell()
    assert n_warnings(run, opt, 0, 1, 51) == 0
    assert n_warnings(run, opt, 0, 1, 52) == 1


def test_failures_before_the_first_observation_are_not_tested():
    opt = WDBO([(0.0, 1.0)], random_state=0)
    opt.tell_many([[0.1], [0.2]], t=[0.0, 1.0], failed=True)
    assert len(opt.failed_X_) == 2


FIXED = TimeVaryingGPRegressor(noise_variance_bounds="fixed")


@pytest.mark.parametrize(
    ("algorithm", "options", "named"),
    [
        (WDBO, {}, []),
        (WDBO, {"robust": True}, []),
        (WDBO, {"refit_every": None}, ["refit_every"]),
        (WDBO, {"surrogate": FIXED}, ["noise_variance_bounds"]),
        (WGPUCB, {}, []),
        (GPUCB, {}, ["WDBO forgets"]),
        (GPUCB, {"refit_every": None}, ["refit_every", "WDBO forgets"]),
        (SWGPUCB, {"refit_every": None}, ["refit_every"]),
    ],
)
def test_the_advice_names_what_is_known_to_be_wrong(algorithm, options, named):
    options = {"n_initial_points": 5, "refit_every": 100} | options
    opt = algorithm([(0.0, 1.0)], random_state=0, **options)

    def told():
        rng = np.random.RandomState(0)
        for t in range(60):
            x = rng.uniform(size=1)
            opt.tell(x, x[0] if t < 6 else 10.0**t * rng.normal(), t)

    with pytest.warns(OverconfidenceWarning, match="overconfident") as caught:
        told()
    text = str(caught[0].message)
    every = ["refit_every", "noise_variance_bounds", "WDBO forgets", "optimizer=None"]
    every += ["robust", "seasonal_periods", "y_variance"]
    assert [name for name in every if name in text] == named


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gaussian", "rewards"])
def test_a_model_that_is_right_seldom_warns(kind):
    """At most one run of 20, of functions from the prior, or of arms with rewards of 0 or 1."""
    n_warned = 0
    for seed in range(20):
        rng = np.random.RandomState(seed)
        function, rates = drawn(rng), rng.uniform(0.05, 0.6, size=6)
        opt = WDBO([(0.0, 1.0)] if kind == "gaussian" else Arms(6), random_state=seed)

        def told(opt=opt, function=function, rates=rates, rng=rng):
            for t in range(120):
                x = opt.ask(t)
                noise = NOISE * rng.standard_normal()
                mean = function(x, t) + noise if kind == "gaussian" else rates[int(x[0])]
                opt.tell(x, mean if kind == "gaussian" else float(rng.uniform() < mean))

        n_warned += n_warnings(told) > 0
    assert n_warned <= 1
