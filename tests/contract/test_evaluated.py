"""Every optimizer goes through the loop of sktvbo.evaluation."""

import numpy as np
import pytest
from contract.cases import BY_NAME, DOMAINS
from numpy.testing import assert_array_equal

from sktvbo import problems
from sktvbo.evaluation import run

HORIZON = 9.0


@pytest.fixture(scope="module")
def problem():
    return problems.make("moving-bump", horizon=20.0, random_state=0)


def test_a_run_of_each(few, problem):
    opt = few.make()
    result = run(opt, problem, horizon=HORIZON, n_initial=5)
    assert result.queries.shape == (len(result.times), 1)
    assert len(result.times) == HORIZON or few.name == "ABO"
    assert result.n_initial == 5
    assert np.isfinite(result.regrets).all()
    assert result.regrets.min() >= -1e-9
    assert tuple(result.history) == ("time", "n", *few.records)
    assert_array_equal(result.history["n"], result.dataset_sizes)
    assert_array_equal(
        result.dataset_sizes + result.removed_counts, 1 + np.arange(len(result.times))
    )
    assert result.optimizer.n_told_ == len(result.times)
    assert opt.get_params()["domain"] is DOMAINS["box"]  # a clone went through
    assert not hasattr(opt, "n_told_")


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


def test_a_bad_answer_of_the_expert_is_not_swallowed(problem):
    with pytest.raises(ValueError, match="y must be an array of shape"):
        run(
            BY_NAME["SparQGPUCB"].make(),
            problem,
            horizon=HORIZON,
            n_initial=5,
            expert=lambda X, t: np.ones(len(X) + 1),
        )
