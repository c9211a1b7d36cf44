"""Surrogates and acquisition functions by default, and that their parts pay."""

import numpy as np
import pytest
from contract.cases import ALGORITHMS
from numpy.testing import assert_allclose

from sktvbo import (
    WDBO,
    RandomSearch,
    evaluation,
    optimizers,
    problems,
)
from sktvbo.acquisition import UCB, AcquisitionState, DimensionBeta
from sktvbo.domain import Arms, Context, FiniteSet, WithContext, as_domain


class ZeroMean(WDBO):
    """W-DBO that takes what is unexplored for as good as what it has seen on average."""

    def _make_surrogate(self, times):
        return super()._make_surrogate(times).set_params(mean_prior_std=0.0)


def levy(z):
    w = 1.0 + (z - 1.0) / 4.0
    inner = (w[:-1] - 1.0) ** 2 * (1.0 + 10.0 * np.sin(np.pi * w[:-1] + 1.0) ** 2)
    last = (w[-1] - 1.0) ** 2 * (1.0 + np.sin(2.0 * np.pi * w[-1]) ** 2)
    return np.sin(np.pi * w[0]) ** 2 + inner.sum() + last


@pytest.fixture(scope="module")
def regret():
    """Average regret of an optimizer over two seeds, on Levy's function along a coordinate."""

    def value(x, t):
        return -levy(np.append(20.0 * np.asarray(x), 0.2 * t) - 10.0)

    def optimum(t):
        best = np.full(3, 0.55)
        return best, value(best, t)

    problem = problems.from_callable(
        value, [(0.0, 1.0)] * 3, horizon=50.0, optimum=optimum, noise_variance=1.0
    )

    def measured(optimizer):
        runs = [evaluation.run(optimizer, problem, random_state=seed) for seed in range(2)]
        return np.mean([run.average_regret for run in runs])

    return measured


@pytest.mark.slow
def test_a_learnt_mean_pays(regret):
    acquisition = UCB(DimensionBeta())
    assert regret(WDBO(acquisition=acquisition)) < 0.9 * regret(ZeroMean(acquisition=acquisition))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["GPUCB", "SWGPUCB", "SparQGPUCB", "TVGPUCB", "UITVBO", "WGPUCB"])
def test_a_margin_pays_whatever_is_forgotten(regret, name):
    algorithm = getattr(optimizers, name)
    acquisition = algorithm()._make_acquisition()
    assert acquisition.margin == 0.2
    with_margin = regret(algorithm(acquisition=acquisition))
    assert with_margin < 0.8 * regret(algorithm(acquisition=acquisition.set_params(margin=0.0)))


@pytest.mark.parametrize(
    ("name", "factor"),
    [
        ("WGPUCB", 4.0),
        pytest.param("BRGPUCB", 5.0, marks=pytest.mark.slow),
        pytest.param("SWGPUCB", 5.0, marks=pytest.mark.slow),
        pytest.param("IGPUCB", 2.5, marks=pytest.mark.slow),
    ],
)
def test_a_drift_is_tracked_by_default(regret, name, factor):
    assert regret(getattr(optimizers, name)()) < regret(RandomSearch()) / factor


@pytest.mark.parametrize(("d", "median"), [(1, 0.4), (2, 0.4), (8, 0.8)])
def test_time_is_smooth_and_rough_and_lengthscales_grow_with_distances(d, median):
    rng = np.random.RandomState(0)
    opt = WDBO([(0.0, 1.0)] * d, n_initial_points=5, outcome_constraints={"load": (None, 9.0)})
    for t in range(5):
        opt.tell(rng.uniform(size=d), rng.normal(), t, outcomes={"load": rng.normal()})
    prior = opt.surrogate_.hyperpriors["spatial_kernel__length_scale"]
    assert prior.median == pytest.approx(median)
    assert opt.surrogate_.spatial_kernel_.length_scale_bounds == (0.01, 4.0)
    kernel = opt.surrogate_.temporal_kernel_
    assert (kernel.k1.nu, kernel.k2.k2.nu) == (2.5, 0.5)
    (outcome,) = opt._run.part("limits").models
    assert outcome.surrogate.spatial_kernel_.length_scale_bounds == (0.01, 1.25 * median)
    assert outcome.surrogate.temporal_kernel_.nu == 2.5


def test_beside_a_context_the_model_is_smooth_and_each_coordinate_has_a_lengthscale():
    rng = np.random.RandomState(0)
    domain = WithContext([(0.0, 1.0)], [(0.0, 1.0)])
    opt = WDBO(domain, n_initial_points=5, outcome_constraints={"load": (None, 9.0)})
    for t in range(5):
        told = {"context": rng.uniform(size=1), "outcomes": {"load": rng.normal()}}
        opt.tell(rng.uniform(size=1), rng.normal(), t, **told)
    (outcome,) = opt._run.part("limits").models
    for surrogate, n, longest in ((opt.surrogate_, 2, 4.0), (outcome.surrogate, 1, 2.0)):
        assert np.size(surrogate.spatial_kernel_.length_scale) == n
        assert surrogate.spatial_kernel_.length_scale_bounds == (0.01, longest)
        assert surrogate.temporal_kernel_.nu == 2.5


@pytest.mark.parametrize(
    ("domain", "low"),
    [
        ({"n": ("integer", 0, 10)}, 0.1),
        ({"n": ("integer", 0, 10), "m": ("ordinal", [1, 2, 4, 8, 9, 10]), "k": ["a", "b"]}, 0.2),
        ({"n": ("ordinal", [1, 2])}, 0.25),
        ({"n": ("integer", 0, 1000)}, 0.01),
        ({"n": ("integer", 0, 10), "load": Context("integer", 0, 5)}, 0.2),
        ({"n": ("integer", 0, 10), "load": Context("real", 0.0, 5.0)}, 0.01),
        ({"n": ("integer", 0, 10), "r": ("real", 0.0, 1.0)}, 0.01),
        ({"k": ["a", "b"]}, 0.01),
        (Arms(4), 0.01),
        (FiniteSet([[0.0], [1.0], [5.0]]), 0.01),
    ],
    ids=str,
)
def test_a_lengthscale_that_all_share_is_at_least_a_step_of_integers(domain, low):
    """That of an outcome, beside constraints as without them."""
    for constraints in (None, [lambda x: True]):
        (outcome,) = told(domain, constraints=constraints)._run.part("limits").models
        bounds = outcome.surrogate.spatial_kernel_.length_scale_bounds
        assert bounds[0] == pytest.approx(low)


@pytest.mark.parametrize("options", [{}, {"seasonal_periods": 4.0}])
@pytest.mark.parametrize("context", [{}, {"load": Context("integer", 0, 5)}])
def test_each_lengthscale_is_at_least_the_step_of_its_parameter(context, options):
    space = {"n": ("integer", 0, 10), "m": ("ordinal", [1, 2])}
    space |= {"k": ["a", "b"], "r": ("real", 0.0, 1.0)} | context
    bounds = told(space, **options).surrogate_.spatial_kernel_.length_scale_bounds
    assert_allclose(bounds[:, 0], [0.1, 0.25, 0.01, 0.01, 0.2][: len(space)])
    bounds = told([(0.0, 9.0)] * 2, **options).surrogate_.spatial_kernel_.length_scale_bounds
    assert bounds == (0.01, 4.0)


def told(domain, **options):
    """Return W-DBO after two observations, with an outcome."""
    options |= {"outcome_constraints": {"heat": (None, 9.0)}, "refit_every": None}
    opt = WDBO(domain, n_initial_points=2, random_state=0, **options)
    domain = as_domain(domain)
    for t, row in enumerate(domain.sample(2, np.random.RandomState(0))):
        more = {"context": domain.decode_context(row), "outcomes": {"heat": float(t)}}
        opt.tell(domain.decode(row), float(t), t, **more)
    return opt


@pytest.mark.parametrize("name", sorted(ALGORITHMS.keys() - {"IGP-UCB", "SparQ-GP-UCB", "random"}))
def test_beta_by_default(name):
    acquisition = ALGORITHMS[name]()._make_acquisition()
    for n_dims, expected in ((3, 0.6 * np.log(40.0)), (12, 0.8 * np.log(40.0))):
        state = AcquisitionState(n=20, n_told=50, n_dims=n_dims, n_pending=3)
        expected *= 0.5 if name in ("BR-GP-UCB", "SW-GP-UCB") else 1.0
        assert acquisition.beta_value(state) == pytest.approx(expected, rel=1e-12)
