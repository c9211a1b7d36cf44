"""ABO chooses the time too, and the contract says what that means for the calls."""

import numpy as np
import pytest
from optimizers.cases import BOX, BY_NAME, DOMAINS, objective, points

from sktvbo import ABO
from sktvbo._factors import temporal_length_scale
from sktvbo.exceptions import InvalidObservationError


def waiting(domain="box"):
    """An ABO whose lengthscale has settled."""
    opt = BY_NAME["ABO"].make(domain)
    opt.set_params(refit_every=1000)  # held: settled after five
    X = opt._started().domain.sample(10, np.random.RandomState(0))
    for t, x in enumerate(X):
        opt.tell(x, objective(x, t, domain), t)
    assert opt.policy_.settled
    return opt


@pytest.mark.parametrize("domain", DOMAINS)
def test_time_of_the_query_is_not_before_that_of_the_question(domain):
    opt = waiting(domain)
    span = opt.lookahead * temporal_length_scale(opt.surrogate_.temporal_kernel_)
    waits = []
    for t in (10.0, 11.0, 40.0, 41.0):
        x, query_time = opt.ask(t, return_time=True)
        assert opt.next_time_ == query_time
        assert t <= query_time <= t + span * (1.0 + 1e-12)
        assert len(points([x], domain)) == 1
        waits.append(query_time - t)
    assert max(waits) > 0.0


def test_tell_takes_the_time_of_the_query():
    opt = waiting()
    x, t = opt.ask(10.0, return_time=True)
    opt.tell(x, 0.5)
    assert t > 10.0
    assert opt.told_X_[-1].tolist() == [*x, t]
    assert opt.history_["time"][-1] == t
    with pytest.raises(InvalidObservationError, match="must not go backwards: expected t >= "):
        opt.ask(0.5 * (10.0 + t))
    assert opt.ask(t).shape == (2,)


def test_asking_again_while_waiting_is_allowed():
    opt = waiting()
    _, t = opt.ask(10.0, return_time=True)
    assert t > 10.1
    assert opt.ask(10.1, return_time=True)[1] >= 10.1
    with pytest.raises(InvalidObservationError, match=r"expected t >= 10\.1"):
        opt.ask(10.0)


def test_told_earlier_than_it_was_due():
    opt = waiting()
    x, t = opt.ask(10.0, return_time=True)
    opt.tell(x, 0.5, 10.2)
    assert opt.told_X_[-1, 2] == 10.2 < t
    assert opt.ask(10.3).shape == (2,)


def test_each_query_of_a_batch_has_its_time():
    opt = waiting()
    X, times = opt.ask(10.0, n_points=4, return_time=True)
    assert np.all(times >= 10.0)
    assert opt.next_time_ == times[-1]
    for i in (3, 1, 0, 2):
        opt.tell(X[i], 0.1 * i)
        assert opt.told_X_[-1].tolist() == [*X[i], times[i]]


def test_without_lookahead_it_never_waits():
    opt = waiting().set_params(lookahead=0.0)
    assert [opt.ask(t, return_time=True)[1] for t in (10.0, 11.0)] == [10.0, 11.0]


def test_until_the_lengthscale_has_settled_it_does_not_wait():
    opt = ABO(BOX, n_initial_points=5, random_state=0)
    times = [opt.ask(float(t), return_time=True) for t in range(5)]
    for x, t in times:
        opt.tell(x, objective(x, t))
    assert not opt.policy_.settled
    assert opt.ask(6.0, return_time=True)[1] == 6.0
