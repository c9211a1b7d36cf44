"""Every optimizer goes through the loop of sktvbo.evaluation."""

import numpy as np
import pytest
from contract.cases import BY_NAME, DOMAINS, objective, space
from numpy.testing import assert_array_equal

from sktvbo import problems
from sktvbo.evaluation import SimulatedClock, run

HORIZON = 9.0


@pytest.fixture(scope="module")
def problem():
    return problems.make("moving-bump", horizon=20.0, random_state=0)


def test_a_run_of_each(case, problem):
    opt = case.make()
    result = run(opt, problem, horizon=HORIZON, n_initial=5)
    assert result.queries.shape == (len(result.times), 1)
    assert len(result.times) == HORIZON or case.name == "ABO"
    assert result.n_initial == 5
    assert np.isfinite(result.regrets).all()
    assert result.regrets.min() >= -1e-9
    assert tuple(result.history) == ("time", "n", *case.records)
    assert_array_equal(result.history["n"], result.dataset_sizes)
    assert_array_equal(
        result.dataset_sizes + result.removed_counts, 1 + np.arange(len(result.times))
    )
    assert result.optimizer.n_told_ == len(result.times)
    assert opt.get_params()["domain"] is DOMAINS["box"]  # a clone went through
    assert not hasattr(opt, "n_told_")


@pytest.mark.parametrize("name", ["WDBO", "ABO", "RandomSearch"])
def test_a_simulated_clock(name, problem):
    clock = SimulatedClock(response_time=lambda n: 0.2 + 0.05 * n, call_duration=0.3)
    result = run(BY_NAME[name].make(), problem, clock=clock, horizon=HORIZON, n_initial=5)
    assert np.all(np.diff(result.times[5:]) > 0.0)
    assert result.times[-1] < HORIZON


# The regrets of the named domain are what takes long.
@pytest.mark.parametrize(
    ("name", "domain"),
    [
        ("RandomSearch", "finite"),
        ("WDBO", "finite"),
        ("ABO", "finite"),
        ("SparQGPUCB-expert", "finite"),
        ("SparQGPUCB-expert", "named"),
    ],
)
def test_a_run_over_arms_and_names(name, domain):
    problem = problems.from_callable(
        lambda x, t: objective(x, t, domain), DOMAINS[domain], horizon=7.0, noise_variance=0.01
    )
    result = run(BY_NAME[name].make(domain), problem, n_initial=5, expert="problem")
    assert all(space(domain).contains(x) for x in result.queries)
    assert np.isfinite(result.regrets).all()


def test_the_problem_itself_as_expert(problem):
    opt = BY_NAME["SparQGPUCB-expert"].make()
    alone = run(opt, problem, horizon=HORIZON, n_initial=5)
    helped = run(opt, problem, horizon=HORIZON, n_initial=5, expert="problem")
    assert_array_equal(alone.queries[:5], helped.queries[:5])
    assert not np.array_equal(alone.queries[5:], helped.queries[5:])


def test_a_callable_expert_is_asked_before_each_query(problem):
    asked = []

    def expert(X, t):
        asked.append((len(X), t))
        return [problem.value(x, t) for x in X]

    opt = BY_NAME["SparQGPUCB-expert"].make(n_queries=3)
    result = run(opt, problem, horizon=HORIZON, n_initial=5, expert=expert)
    assert asked == [(3, t) for t in result.times[5:]]


def test_an_expert_is_not_noticed_by_the_others(few, problem):
    if few.kind.__name__ == "SparQGPUCB":
        return

    def expert(X, t):
        raise AssertionError("asked")

    opt = few.make()
    with_expert = run(opt, problem, horizon=7.0, n_initial=5, expert=expert)
    assert_array_equal(with_expert.queries, run(opt, problem, horizon=7.0, n_initial=5).queries)


def test_a_bad_answer_of_the_expert_is_not_swallowed(problem):
    with pytest.raises(ValueError, match="y must be an array of shape"):
        run(
            BY_NAME["SparQGPUCB"].make(),
            problem,
            horizon=HORIZON,
            n_initial=5,
            expert=lambda X, t: np.ones(len(X) + 1),
        )
