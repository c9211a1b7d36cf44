"""The unit of the observations changes nothing: times a power of two, the queries are the same."""

import numpy as np
import pytest
from optimizers.cases import objective, points

from sktvbo.acquisition import ProbabilityOfImprovement

STEPS = 12


def queries(case, factor, domain):
    """What is asked for when the objective counts in another unit."""
    # The improvement asked for is one in units of y.
    options = {"acquisition": ProbabilityOfImprovement(0.01 * factor)}
    opt = case.make(domain, **options if case.name == "probability" else {})
    found = []
    for t in np.arange(float(STEPS)):
        if case.expert:
            places = opt.ask_expert(t)
            opt.tell_expert(places, [factor * objective(x, t, domain) for x in places])
        found.append(opt.ask(t))
        opt.tell(found[-1], factor * objective(found[-1], t, domain), t)
    return points([*found, opt.recommend(STEPS)], domain)


@pytest.mark.parametrize("domain", ["box", "named"])
def test_queries_do_not_depend_on_the_unit_of_the_observations(modelled, domain):
    expected = queries(modelled, 1.0, domain)
    # The second is 1e200, about.
    for power in (-300, 664) if domain == "box" else (300,):
        np.testing.assert_array_equal(queries(modelled, 2.0**power, domain), expected)
