"""Presets on drawn functions: the papers' parameters, functions and seeds."""

import numpy as np
import pytest
from _presets import PRESETS
from _stored import describe_optimizer
from benchmarks.cases import run
from numpy.testing import assert_array_equal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sktvbo import TimeVaryingGPRegressor, evaluation, problems
from sktvbo.evaluation import StepClock
from sktvbo.optimizers._names import ALGORITHMS


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
    for optimizer in made.as_published.values():
        assert optimizer.surrogate.spatial_kernel == options["kernel"]
        assert optimizer.surrogate.noise_variance == noise
        assert optimizer.surrogate.optimizer is None
        assert optimizer.n_initial_points == 1
        beta = optimizer.acquisition.beta.schedule
        assert (beta.scale, beta.rate) == (scale, 4.0)


def test_a_wrong_belief_is_the_algorithms_alone():
    right, wrong = (
        PRESETS["et-fig2"].tasks[name]() for name in ("eps=0.05", "eps=0.05, believed 0.001")
    )
    assert right.problem.options == wrong.problem.options
    for made, believed in ((right, 0.05), (wrong, 0.001)):
        tv, r = made.as_published["TV-GP-UCB"], made.as_published["R-GP-UCB"]
        assert tv.surrogate.temporal_kernel.epsilon == believed
        assert (r.policy.period.epsilon, r.policy.period.horizon) == (believed, 400)


def test_triggers_differ_in_their_probability_alone():
    made = PRESETS["et-table2"].tasks["eps=0.03"]()
    for found in (made.optimizers, made.as_published):
        assert [optimizer.delta for optimizer in found.values()] == [0.005, 0.01, 0.05, 0.1, 0.5]
    assert PRESETS["et-table2"].rival == "delta=0.1"


@pytest.mark.parametrize(("preset", "problem"), [("et-table1", "gp-slow"), ("tvgp-fig2", None)])
def test_own_versions_have_their_defaults(preset, problem):
    made = PRESETS[preset].tasks[problem or "RBF, eps=0.01"]()
    for name, optimizer in made.optimizers.items():
        assert describe_optimizer(optimizer) == describe_optimizer(ALGORITHMS[name]())


def test_the_noise_of_et_table_1_is_known():
    found = PRESETS["et-table1"].tasks["gp-abrupt"]().as_published
    assert found["ET-GP-UCB"].surrogate.noise_variance == 0.1
    assert found["W-GP-UCB"].surrogate.noise_variance == 1.0  # λ
    assert found["SW-GP-UCB"].horizon == 500


def test_the_kernel_of_the_bump_has_the_highest_likelihood():
    made = PRESETS["sparq-fig1"].tasks["moving bump"]()
    assert (made.n_initial, made.horizon) == (0, 500.0)
    known = made.as_published["TV-GP-UCB"].surrogate.spatial_kernel
    problem, rng = made.problem(0), np.random.RandomState(0)
    places = rng.uniform(-50.0, 50.0, (300, 1))
    y = [problem.observe(x, 0.0) for x in places]
    model = TimeVaryingGPRegressor(
        RBF(0.2),
        ConstantKernel(1.0, "fixed"),
        signal_variance_bounds="fixed",
        noise_variance=0.01,
        noise_variance_bounds="fixed",
        mean_prior_std=2.0,
    )
    model.fit(np.column_stack([made.problem(0).domain.to_unit(places), np.zeros(300)]), y)
    assert known.length_scale == pytest.approx(model.spatial_kernel_.length_scale, rel=0.2)


def test_functions_and_noise_come_from_the_seed_itself(tmp_path):
    made = PRESETS["et-table1"].task("gp-abrupt", ["ET-GP-UCB"], 8.0)
    (first, _) = run([made], tmp_path).results["ET-GP-UCB", "gp-abrupt"]
    problem = problems.make("gp-abrupt", horizon=500, noise_variance=0.1, random_state=first.seed)
    optimizer = made.optimizers["ET-GP-UCB"]
    by_hand = evaluation.run(optimizer, problem, horizon=8.0, n_initial=0, random_state=first.seed)
    assert_array_equal(first.observations, by_hand.observations)
    assert_array_equal(first.regrets, by_hand.regrets)
