"""Presets on drawn functions: the papers' parameters, functions and seeds."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from papers.cases import run

from sktvbo import evaluation, problems
from sktvbo.evaluation import StepClock
from sktvbo.papers._presets import PRESETS
from sktvbo.theory import maximum_information_gain, reset_period


@pytest.mark.parametrize(
    ("preset", "problem", "kernel", "epsilon", "noise", "horizon", "scale"),
    [
        ("tvgp-fig2", "RBF, eps=0.001", "RBF", 0.001, 0.01, 300.0, 0.8),
        ("tvgp-fig2", "Matern 5/2, eps=0.03", "Matern", 0.03, 0.01, 300.0, 0.8),
        ("et-fig2", "eps=0.01", "RBF", 0.01, 0.02, 400.0, 0.4),
        ("et-fig2", "eps=0.05, believed 0.001", "RBF", 0.05, 0.02, 400.0, 0.4),
        ("et-table2", "eps=0.05", "RBF", 0.05, 0.02, 400.0, 0.4),
    ],
)
def test_markov_processes_are_the_papers_and_known_to_the_algorithms(
    preset, problem, kernel, epsilon, noise, horizon, scale
):
    made = PRESETS[preset].tasks[problem]()
    options = made.problem.options
    assert type(options["kernel"]).__name__ == kernel
    assert (options["kernel"].length_scale, options["epsilon"]) == (0.2, epsilon)
    assert (options["noise_variance"], made.horizon, made.n_initial) == (noise, horizon, 0)
    assert isinstance(made.clock, StepClock)
    for optimizer in made.optimizers.values():
        assert optimizer.surrogate.spatial_kernel == options["kernel"]
        assert optimizer.surrogate.noise_variance == noise
        assert optimizer.surrogate.optimizer is None
        assert optimizer.n_initial_points == 1
        assert (optimizer.acquisition.beta.scale, optimizer.acquisition.beta.rate) == (scale, 4.0)


def test_a_wrong_belief_is_the_algorithms_alone():
    right, wrong = (
        PRESETS["et-fig2"].tasks[name]() for name in ("eps=0.05", "eps=0.05, believed 0.001")
    )
    assert right.problem.options == wrong.problem.options
    for made, believed in ((right, 0.05), (wrong, 0.001)):
        tv, r = made.optimizers["TV-GP-UCB"], made.optimizers["R-GP-UCB"]
        assert tv.surrogate.temporal_kernel.epsilon == believed
        kernel = made.problem.options["kernel"]
        expected = reset_period(believed, spatial_kernel=kernel, n_dims=2, horizon=400)
        assert r.reset_period == expected


def test_triggers_differ_in_their_probability_alone():
    found = PRESETS["et-table2"].tasks["eps=0.03"]().optimizers
    assert [optimizer.delta for optimizer in found.values()] == [0.005, 0.01, 0.05, 0.1, 0.5]
    assert PRESETS["et-table2"].rival == "delta=0.1"


def test_change_has_one_variation_budget():
    found = PRESETS["et-table1"].tasks["gp-slow"]().optimizers
    kernel = found["IGP-UCB"].surrogate.spatial_kernel
    gain = maximum_information_gain(kernel(np.linspace(0.0, 1.0, 101)[:, np.newaxis]), 0.1, 500)
    discount = found["W-GP-UCB"].surrogate.noise_model.discount
    assert 1.0 - discount == pytest.approx(gain**-0.25 / np.sqrt(500.0))
    assert found["BR-GP-UCB"].horizon == found["SW-GP-UCB"].horizon == 500


def test_the_bump_is_met_with_the_algorithms_own_defaults():
    made = PRESETS["sparq-fig1"].tasks["moving bump"]()
    assert (made.n_initial, made.horizon) == (10, 500.0)
    for name, optimizer in made.optimizers.items():
        assert name == "random" or (optimizer.n_initial_points, optimizer.surrogate) == (10, None)


def test_sparqs_bounds_are_the_algorithms_own_without_a_margin():
    made = PRESETS["sparq-fig1"].tasks["moving bump"]()
    for name in ("SW-GP-UCB", "W-GP-UCB", "SparQ-GP-UCB"):
        optimizer = made.optimizers[name]
        own = type(optimizer)()._make_acquisition().set_params(margin=0.0)
        assert repr(optimizer.acquisition) == repr(own)
    assert {o.acquisition.margin for n, o in made.optimizers.items() if n != "random"} == {0.0}


def test_functions_and_noise_come_from_the_seed_itself(tmp_path):
    made = PRESETS["et-table1"].task("gp-abrupt", ["ET-GP-UCB"], 8.0)
    (first, _) = run([made], tmp_path).results["ET-GP-UCB", "gp-abrupt"]
    problem = problems.make("gp-abrupt", horizon=500, noise_variance=0.1, random_state=first.seed)
    optimizer = made.optimizers["ET-GP-UCB"]
    by_hand = evaluation.run(optimizer, problem, horizon=8.0, n_initial=0, random_state=first.seed)
    assert_array_equal(first.observations, by_hand.observations)
    assert_array_equal(first.regrets, by_hand.regrets)
