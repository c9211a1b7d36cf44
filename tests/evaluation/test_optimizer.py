"""Optimizers of other packages, with two methods."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator

from sktvbo import GPUCB, WDBO, RandomSearch
from sktvbo.evaluation import SimulatedClock, StepClock, compare, response_time, run
from sktvbo.problems import make


@pytest.fixture(scope="module")
def problem():
    return make("six-hump-camel", horizon=30.0)


class Foreign:
    """Optimizer that queries a fixed place and records all calls."""

    def __init__(self, place=0.25):
        self.place = place
        self.asked, self.told = [], []

    def ask(self, t):
        self.asked.append(t)
        return [self.place]

    def tell(self, x, y, t):
        self.told.append((x, y, t))


def test_two_methods_are_enough(problem):
    result = run(given := Foreign(), problem, StepClock(), n_initial=4)
    assert_array_equal(result.times, np.arange(30.0))
    assert_array_equal(result.queries[4:], 0.25)
    assert_array_equal(result.dataset_sizes, np.arange(1, 31))
    assert_array_equal(result.removed_counts, 0)
    made = result.optimizer
    assert made is not given
    assert given.told == []
    assert made.asked == list(range(4, 30))
    assert [t for *_, t in made.told] == list(range(30))
    assert made.told[0][0].shape == (1,)
    assert [y for _, y, _ in made.told] == result.observations.tolist()
    ours = run(RandomSearch(), problem, n_initial=4)
    assert_array_equal(ours.queries[:4], result.queries[:4])
    assert_array_equal(ours.observations[:4], result.observations[:4])


def test_a_function_makes_an_optimizer_for_each_run(problem):
    made = []

    def make_one(domain, random_state):
        made.append((domain, random_state))
        return Foreign(domain.sample(1, random_state)[0, 0])

    comparison = compare({"made": make_one, "ours": RandomSearch()}, [problem], 3)
    assert len({seed for _, seed in made}) == 3
    assert all(domain == problem.domain for domain, _ in made)
    runs = comparison.results["made", problem.name]
    assert len({r.queries[-1, 0] for r in runs}) == 3


@dataclass(eq=False, repr=False)
class Estimator(BaseEstimator):
    """Estimator with some of the parameters that a run sets."""

    domain: object = None
    random_state: int | None = None
    place: float = 0.5

    def ask(self, t):
        return np.array([self.place])

    def tell(self, x, y, t):
        pass


def test_existing_parameters_are_set(problem):
    given = Estimator(place=0.75)
    made = run(given, problem).optimizer
    assert (made.domain, made.place) == (problem.domain, 0.75)
    assert isinstance(made.random_state, int)
    assert given.domain is None


def test_the_result_of_a_function_must_ask_and_tell(problem):
    with pytest.raises(TypeError, match="The result of an optimizer function must be"):
        run(lambda domain, seed: object(), problem)


def test_a_query_outside_is_refused(problem):
    with pytest.raises(ValueError, match=r"x\[0\] must be in"):
        run(Foreign(99.0), problem)


# --- simulated response times ---------------------------------------------------------------------


class Thinker(Foreign):
    """Optimizer that exposes its data set, and so the size of its model."""

    X_ = np.zeros((7, 2))


@pytest.mark.parametrize(
    ("optimizer", "sizes"),
    [
        (RandomSearch(), [0] * 3),
        (Foreign(), [0] * 3),
        (Thinker(), [7] * 3),
        (GPUCB(n_initial_points=5), [5, 6, 7]),
        (GPUCB(n_initial_points=7), [0, 0, 7]),
    ],
)
def test_the_response_time_depends_on_the_size_of_the_model(problem, optimizer, sizes):
    asked = []

    def seconds(n):
        asked.append(n)
        return 1.0 + n

    run(optimizer, problem, SimulatedClock(seconds), n_initial=5, horizon=30.0)
    assert asked[:3] == sizes


def test_random_search_has_the_response_time_without_data():
    problem = make("six-hump-camel", horizon=25.0)
    seconds, clock = response_time("papers"), SimulatedClock("papers")
    random, ours = (
        run(opt, problem, clock) for opt in (RandomSearch(), WDBO(refit_every=50, alpha=0.0))
    )
    np.testing.assert_allclose(np.diff(random.times[15:]), seconds(0), rtol=1e-9)
    assert np.diff(ours.times[15:]).max() > 1.1 * seconds(0)
