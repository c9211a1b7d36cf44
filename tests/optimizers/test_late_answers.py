"""Answers that come late: a pending query hides no more than its noise would let it teach."""

import numpy as np
import pytest

from sktvbo import TVGPUCB, WDBO

RATES = {"A": 0.6, "B": 0.1, "C": 0.1, "D": 0.1}


def share_of_the_best(algorithm, delay, n=160):
    """Share of the best arm among the later half of queries whose answers are 0 or 1, and late."""
    opt, rng = algorithm({"arm": list(RATES)}, random_state=0), np.random.RandomState(0)
    waiting, asked = [], []
    for t in range(n):
        if len(waiting) > delay:
            opt.tell(*waiting.pop(0))
        query = opt.suggest(float(t))
        asked.append(query.x["arm"])
        waiting.append((query, float(rng.uniform() < RATES[asked[-1]])))
    return asked[n // 2 :].count("A") / (n - n // 2)


@pytest.mark.parametrize("algorithm", [pytest.param(WDBO, marks=pytest.mark.slow), TVGPUCB])
def test_late_answers_of_noisy_arms_do_not_spread_the_queries(algorithm):
    assert share_of_the_best(algorithm, delay=20) >= 0.9
