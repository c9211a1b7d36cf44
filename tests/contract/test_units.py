"""The unit of the observations changes nothing: times a power of two, the queries are the same."""

import numpy as np
from contract.cases import objective, points

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


def test_queries_do_not_depend_on_the_unit_of_the_observations(few_modelled):
    expected = queries(few_modelled, 1.0, "box")
    for power in (-300, 300):
        np.testing.assert_array_equal(queries(few_modelled, 2.0**power, "box"), expected)


def test_nor_do_those_of_named_parameters(few):
    expected = queries(few, 1.0, "named")
    np.testing.assert_array_equal(queries(few, 2.0**300, "named"), expected)
