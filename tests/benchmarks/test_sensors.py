"""Presets on real data: the papers' parameters."""

from math import ceil

from _presets import PRESETS
from problems import make

from sktvbo import WDBO
from sktvbo.evaluation import StepClock
from sktvbo.kernels import Wiener
from sktvbo.optimizers._names import ALGORITHMS
from sktvbo.theory import maximum_information_gain


def test_sensors_have_the_papers_parameters(data):
    tvgp = PRESETS["tvgp-fig3"].tasks["temperature-arms"]()
    assert tvgp.optimizers["R-GP-UCB"].reset_period == 15
    assert tvgp.optimizers["TV-GP-UCB"].surrogate.temporal_kernel.epsilon == 0.03
    beta = tvgp.optimizers["GP-UCB"].acquisition.beta
    assert (beta.scale, beta.rate) == (0.8, 0.4)
    days = PRESETS["tvgp-fig3"].tasks["traffic-day-6"]()
    assert days.optimizers["TV-GP-UCB"].surrogate.temporal_kernel.epsilon == 0.04
    assert days.optimizers["TV-GP-UCB"].acquisition.beta.scale == 0.2
    assert days.horizon == 60.0
    et = PRESETS["et-fig3"].tasks["temperature-days-7-8"]()
    assert et.optimizers["ET-GP-UCB"].surrogate.noise_variance == 0.01
    assert len(et.problem(0).training) == 6 * 144
    assert isinstance(et.clock, StepClock)


def test_all_algorithms_have_the_same_kernel_and_beta_on_the_sensors(data):
    made = PRESETS["sensors"].tasks["ozone"]()
    assert list(made.optimizers) == list(ALGORITHMS)
    problem = made.problem(0)
    for name, optimizer in made.optimizers.items():
        assert type(optimizer) is ALGORITHMS[name]
        if name != "random":
            assert optimizer.surrogate.spatial_kernel == problem.empirical_kernel()
            assert optimizer.surrogate.noise_variance == problem.surrogate().noise_variance
            assert optimizer.surrogate.optimizer is None
        if name not in ("random", "IGP-UCB"):
            assert (optimizer.acquisition.beta.scale, optimizer.acquisition.beta.rate) == (0.8, 0.4)
        if name in ("TV-GP-UCB", "ABO", "W-DBO", "BOLT"):
            epsilon = optimizer.surrogate.temporal_kernel.epsilon
            assert epsilon == problem.forgetting_rate()
    found = made.optimizers
    assert found["UI-TVBO"].surrogate.temporal_kernel == Wiener(problem.forgetting_rate(), "fixed")
    # Blocks, windows and weights of one variation budget.
    gain = maximum_information_gain(
        problem.empirical_kernel().covariance, problem.surrogate().noise_variance, 169
    )
    length = ceil(gain**0.25 * 13.0)
    assert found["BR-GP-UCB"].reset_period == found["SW-GP-UCB"].window == length
    assert found["W-GP-UCB"].surrogate.noise_model.discount == 1.0 - 1.0 / length


def test_as_published_the_papers_parameters_are_known(data):
    tasks = {name: PRESETS[name].tasks for name in ("tvgp-fig3", "et-fig3", "sparq-fig2")}
    tvgp = tasks["tvgp-fig3"]["temperature-arms"]()
    et = tasks["et-fig3"]["temperature-days-7-8"]()
    for made in (tvgp, et):
        kernel = made.problem(0).empirical_kernel()
        for optimizer in made.as_published.values():
            assert optimizer.surrogate.spatial_kernel == kernel
            beta = optimizer.acquisition.beta.schedule
            assert (beta.scale, beta.rate) == (0.8, 0.4)
        assert made.as_published["R-GP-UCB"].policy.period == 15
        assert made.as_published["TV-GP-UCB"].surrogate.temporal_kernel.epsilon == 0.03
    assert et.as_published["ET-GP-UCB"].surrogate.noise_variance == 0.01
    pole = tasks["et-fig3"]["cart-pole"]().as_published
    assert list(pole) == ["GP-UCB", "R-GP-UCB", "TV-GP-UCB", "ET-GP-UCB", "UI-TVBO"]
    assert pole["R-GP-UCB"].policy.period == 29
    assert {optimizer.acquisition.beta.schedule.rate for optimizer in pole.values()} == {4.0}
    ozone = tasks["sparq-fig2"]["ozone"]().as_published
    assert ozone["SW-GP-UCB"].horizon == ozone["R-GP-UCB"].policy.period.horizon == 169
    assert not PRESETS["sensors"].tasks["ozone"]().as_published


def test_readings_are_noisy_where_the_runs_would_be_alike(data):
    for preset, name in (("sensors", "ozone"), ("sparq-fig2", "ozone")):
        problem = PRESETS[preset].tasks[name]().problem(0)
        assert problem.noise_variance == make("ozone", noise=0.05).noise_variance > 0.0


def test_an_algorithm_that_nobody_has_thought_of_runs_on_the_sensors_too(data, monkeypatch):
    class Newcomer(WDBO):
        label = "newcomer"

    monkeypatch.setitem(ALGORITHMS, "newcomer", Newcomer)
    made = PRESETS["sensors"].tasks["ozone"]()
    theirs, newcomer = made.optimizers["W-DBO"], made.optimizers["newcomer"]
    assert type(newcomer) is Newcomer
    assert newcomer.surrogate is theirs.surrogate
    assert newcomer.n_initial_points == 1
