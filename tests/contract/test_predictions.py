"""Predictions of observations before they are told, and residuals: columns of the frame."""

import numpy as np
import pytest
from contract.cases import ARMS, BOX, BY_NAME, N_INITIAL, STEPS, objective
from contract.test_parts import Nearest
from numpy.testing import assert_allclose

from sktvbo import GPUCB, WDBO, BayesianOptimizer, SparQGPUCB, SparseTimeVaryingGPRegressor
from sktvbo.acquisition import UCB
from sktvbo.domain import WithContext, as_domain

pytest.importorskip("pandas")

COLUMNS = ["predicted_mean", "predicted_std", "residual"]


def predictions(opt):
    return opt.to_frame()[COLUMNS].to_numpy()


@pytest.mark.parametrize(
    ("name", "domain", "maximize"),
    [("WDBO", "named", False), ("ETGPUCB", "box", True), ("WGPUCB", "box", False)],
)
def test_each_observation_has_the_prediction_made_before_it_was_told(name, domain, maximize):
    opt = BY_NAME[name].make(domain, maximize=maximize)
    expected = np.full((STEPS, 3), np.nan)
    for t in range(STEPS):
        x, y, variance = opt.ask(t), 50.0 + objective(opt.pending_[0].x, t, domain), 0.01 * t
        if t >= N_INITIAL:
            mean, std = opt.predict(x, t, return_std=True, include_noise=True)
            std = np.hypot(std, np.sqrt(variance))
            expected[t] = mean, std, (y - mean) / std
        opt.tell(x, y, t, y_variance=variance)
    assert_allclose(predictions(opt), expected, rtol=1e-12)
    assert np.isfinite(expected[N_INITIAL:]).all()


def test_the_prediction_is_that_of_the_time_told_not_of_the_query():
    opt, _ = BY_NAME["WDBO"].after()
    first, second = opt.suggest(STEPS, n=2)
    opt.tell(second, 0.1)
    mean, std = opt.predict(first.x, STEPS + 3.0, return_std=True, include_noise=True)
    opt.tell(first, 0.2, STEPS + 3.0)
    assert_allclose(predictions(opt)[-1], [mean, std, (0.2 - mean) / std], rtol=1e-12)


def test_the_model_of_the_query_includes_the_answers_of_an_expert():
    opt = SparQGPUCB(BOX, n_initial_points=3, random_state=0)
    for t in range(6):
        opt.tell_expert(places := opt.ask_expert(t), np.sin(places[:, 0]))
        x = opt.ask(t)
        before = None if t < 3 else opt.predict(x, t)
        opt.tell(x, np.sin(x[0]))
    assert opt.expert_y_.size == 0
    assert predictions(opt)[-1, 0] == pytest.approx(before)


def test_in_tell_many_only_a_single_observation_has_one():
    opt, _ = BY_NAME["WDBO"].after()
    x = opt.ask(STEPS)
    mean = opt.predict(x, STEPS)
    opt.tell_many([x], [0.3])
    assert predictions(opt)[-1, 0] == pytest.approx(mean)
    opt.tell_many([x, x], [0.3, 0.4], [STEPS + 1.0, STEPS + 2.0])
    assert np.isnan(predictions(opt)[-2:]).all()


def test_what_is_known_of_a_query_is_not_used_for_another_model_place_or_time():
    changes = {
        "told": lambda opt, x: opt.tell([0.3, 0.3], 0.5, STEPS),
        "untold": lambda opt, x: opt.untell(t=3.0),
        "failed": lambda opt, x: opt.tell([0.3, 0.3], t=STEPS, failed=True),
        "moved": lambda opt, x: x.__iadd__(0.01),
    }
    for name, change in changes.items():
        opt, _ = BY_NAME["WDBO"].after()
        x = opt.ask(STEPS)
        change(opt, x)
        expected = opt.predict(x, STEPS + 2.0 * (name == "failed"))
        opt.tell(x, 0.4, STEPS + 2.0 * (name == "failed"))
        assert predictions(opt)[len(opt.told_y_) - 1, 0] == pytest.approx(expected, rel=1e-9)


# --- many times -----------------------------------------------------------------------------------


SPARSE = SparseTimeVaryingGPRegressor(n_inducing=4)


def answered(opt, t):
    """An optimizer with answers of an expert, which its model includes."""
    places = opt.ask_expert(t)
    opt.tell_expert(places, [objective(x, t) for x in places])
    return opt


MANY_TIMES = {
    name: lambda name=name: BY_NAME[name].after(10)[0] for name in ("WDBO", "WGPUCB", "thompson")
}
MANY_TIMES |= {
    "no model yet": lambda: BY_NAME["WDBO"].after(3)[0],
    "an expert": lambda: answered(BY_NAME["SparQGPUCB-expert"].after(10)[0], 10.0),
    "seasons": lambda: driven(WDBO(BOX, seasonal_periods=4.0, random_state=0)),
    "filter": lambda: driven(GPUCB(ARMS, random_state=0)),
    "context": lambda: driven(WDBO(WithContext(BOX, [(0.0, 1.0)]), random_state=0), context=[0.5]),
    "custom": lambda: driven(BayesianOptimizer(ARMS, surrogate=Nearest(), acquisition=UCB(1.0))),
    "sparse": lambda: driven(BayesianOptimizer(BOX, surrogate=SPARSE, acquisition=UCB(1.0))),
}


def driven(opt, **options):
    for t in range(10):
        x = opt.ask(t, **options)
        opt.tell(x, float(np.cos(t + x[0])))
    return opt


@pytest.mark.parametrize("name", MANY_TIMES)
def test_predictions_at_many_times_are_those_at_each(name):
    opt = MANY_TIMES[name]()
    domain, rng = as_domain(opt.domain), np.random.RandomState(1)
    options = {"context": [0.3]} if name == "context" else {}
    X = domain.decode_all(domain.sample(30, rng))
    # Before, at and after all that was told, and some twice.
    t = np.repeat(rng.permutation(np.linspace(-3.0, 20.0, 15)), 2)
    options |= {"return_std": True, "include_noise": name != "custom"}
    expected = np.transpose([opt.predict(x, time, **options) for x, time in zip(X, t)])
    found = opt.predict(X, t, **options)
    assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("n_told", [2, 8])
def test_the_noise_of_a_minimal_surrogate_is_not_known(n_told):
    """As it is written down in `Surrogate`; the mean needs no noise."""
    opt = BayesianOptimizer(ARMS, surrogate=Nearest(), acquisition=UCB(1.0), n_initial_points=4)
    for t in range(n_told):
        x = opt.ask(t)
        opt.tell(x, float(x[0]))
    message = "include_noise must be False .* no noise_std_.* Give Nearest this attribute"
    for X, t in ((x, 9.0), ([x, x], [9.0, 10.0])):
        with pytest.raises(ValueError, match=message):
            opt.predict(X, t, return_std=True, include_noise=True)
        mean, std = opt.predict(X, t, return_std=True)
        assert_allclose(opt.predict(X, t, include_noise=True), mean)
        assert np.isfinite(std).all()
    assert np.isnan(predictions(opt)[:, 2]).all()
