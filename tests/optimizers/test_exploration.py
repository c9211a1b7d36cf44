"""Exploring queries: far from the latest ones, so that a place that becomes the best is found."""

from itertools import cycle

import numpy as np
import pytest
from contract.cases import CASES, DOMAINS, KINDS

from sktvbo import TVGPUCB, WDBO
from sktvbo.domain import as_domain

EVERY = 4
MODELLED = [case for case in CASES if case.modelled]
SPACES = {"cube": [(0.0, 1.0)] * 3, "box": [(0.0, 2.0), (-1.0, 1.0)], "named": DOMAINS["named"]}
TURNS = [
    pytest.param(case, space, marks=() if case in KINDS else pytest.mark.slow)
    for case, space in zip(MODELLED, cycle(SPACES))
]


def value(u):
    """Return a value that varies over short distances, at a place (u,)."""
    return float(np.sin(12.0 * u).sum() - np.sum((u - 0.3) ** 2))


def is_far(opt, U):
    """Return which places (m, u) have prior correlations below 1/2 with the queries so far."""
    kernel, known = opt.surrogate_.spatial_kernel_, opt.told_X_[:, :-1]
    return (kernel(U, as_domain(opt.domain).unit_of(known)) < 0.5).all(axis=1)


@pytest.mark.parametrize(("case", "space"), TURNS, ids=lambda each: getattr(each, "name", each))
def test_every_nth_query_is_far_from_the_latest(case, space):
    opt = case.kind(SPACES[space], random_state=0, exploration=1.0 / EVERY, **case.options)
    domain, n_far = as_domain(opt.domain), 0
    U = domain.unit_of(domain.sample(256, np.random.RandomState(0)))
    for t in range(24):
        if case.expert:
            places = opt.ask_expert(t)
            opt.tell_expert(places, [value(domain.to_unit(place)) for place in places])
        follows = opt.surrogate_ is not None and not opt.policy_.queries_prior
        far = is_far(opt, U) if follows else np.zeros(len(U), dtype=bool)
        x = opt.ask(float(t))
        u = domain.to_unit(domain.validate_point(x))
        if t % EVERY == EVERY - 1 and far.mean() > 0.05:
            n_far += 1
            assert is_far(opt, u[np.newaxis])[0]
        opt.tell(x, value(u), float(t))
    assert n_far


@pytest.mark.parametrize(("algorithm", "d"), [(TVGPUCB, 1), (WDBO, 2)])
def test_a_higher_hill_that_appears_far_away_is_found(algorithm, d):
    """In most runs; without exploration in none."""
    n_found = {0.0: 0, 0.2: 0}
    for seed in range(5):
        for exploration in n_found:
            opt = algorithm([(0.0, 1.0)] * d, random_state=seed, exploration=exploration)
            for t in range(90):
                x = opt.ask(float(t))
                hills = [np.exp(-np.sum((x - c) ** 2) / (0.03 * d)) for c in (0.2, 0.8)]
                opt.tell(x, hills[0] + 1.6 * hills[1] * (t >= 24))
            n_found[exploration] += max(opt.told_y_) > 1.2
    assert n_found[0.2] >= 3
    assert n_found[0.2] > n_found[0.0]
