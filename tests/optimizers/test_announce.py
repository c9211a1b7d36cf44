"""Queries that are made elsewhere are pending like those that were asked for."""

import numpy as np
import pytest
from optimizers.cases import BY_NAME, DOMAINS, JUMP, STEPS, fingerprint, points

from sktvbo import GPUCB
from sktvbo.exceptions import AskTellError, DomainError, InvalidObservationError


@pytest.mark.parametrize("domain", DOMAINS)
def test_an_announced_query_is_as_one_that_was_asked_for(domain):
    case = BY_NAME["GPUCB"]
    asking, told = case.after(domain=domain)[0], case.after(domain=domain)[0]
    x = asking.ask(STEPS)
    told.ask(STEPS)  # draws as much
    told.cancel(x)
    told.announce(x, STEPS)
    a, b = (points([opt.ask(STEPS)], domain) for opt in (asking, told))
    np.testing.assert_array_equal(a, b)


def test_others_keep_away_from_it():
    opt, _ = BY_NAME["UITVBO"].after(JUMP)
    x = opt.ask(JUMP)
    opt.cancel(x)
    again = opt.ask(JUMP)
    opt.cancel(again)
    np.testing.assert_allclose(again, x, atol=1e-2)
    opt.announce(x, JUMP)
    assert np.abs(opt.ask(JUMP) - x).max() > 1e-2


def test_it_is_told_at_its_time_or_cancelled():
    opt, _ = BY_NAME["GPUCB"].after()
    opt.announce([0.5, 0.5], 11.5)
    opt.announce([0.7, 0.5], 12.5)
    opt.tell([0.5, 0.5], 1.0)
    assert opt.told_X_[-1].tolist() == [0.5, 0.5, 11.5]
    opt.cancel([0.7, 0.5])
    with pytest.raises(AskTellError, match="still pending"):
        opt.tell([0.7, 0.5], 1.0)
    assert opt.ask(STEPS - 1.0).shape == (2,)  # announcing moves no time


def test_a_bad_one_changes_nothing():
    opt, _ = BY_NAME["GPUCB"].after()
    before = fingerprint(opt)
    with pytest.raises(DomainError):
        opt.announce([9.0, 0.5], 1.0)
    with pytest.raises(InvalidObservationError, match="t must be finite"):
        opt.announce([0.5, 0.5], np.nan)
    assert fingerprint(opt) == before


def test_without_a_time_the_clock_is_read():
    opt = BY_NAME["GPUCB"].make(clock="step")
    opt.announce([0.5, 0.5])
    opt.tell([0.5, 0.5], 1.0)
    assert opt.told_X_[-1, -1] == 0.0


def test_where_nothing_is_in_doubt_a_search_does_not_end_at_a_pending_query():
    opt = GPUCB([(0.0, 10.0)], n_initial_points=5, random_state=1)
    for x in np.linspace(0.0, 10.0, 40):
        opt.tell([x], -((x - 3.4) ** 2), 0.0)
    queries = [opt.ask(0.0)[0] for _ in range(4)]
    np.testing.assert_allclose(queries, 3.4, atol=0.01)
    assert len(set(queries)) == 4
