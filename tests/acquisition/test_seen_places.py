"""Acquisition functions that see where, and when, besides what the model says of it."""

import contextlib

import numpy as np
import pytest
from acquisition.cases import UCBLessCost
from numpy.testing import assert_allclose

from sktvbo import ABO, GPUCB, WDBO, BayesianOptimizer
from sktvbo.acquisition import UCB, ExpectedImprovement, ProbabilityOfImprovement
from sktvbo.domain import ParameterSpace
from sktvbo.journal import Journal


def drive(opt, steps=25):
    for t in range(steps):
        x = opt.ask(t)
        opt.tell(x, np.exp(-((x[0] - 6.0) ** 2) / 4.0))
    return opt


def test_an_acquisition_of_ten_lines_that_sees_the_cost():
    cheap, dear = (
        drive(BayesianOptimizer([(0.0, 10.0)], acquisition=UCBLessCost(price), random_state=0))
        for price in (0.0, 0.15)
    )
    late = [opt.told_X_[15:, 0].mean() for opt in (cheap, dear)]
    assert abs(late[0] - 6.0) < 0.6
    assert late[1] < late[0] - 0.2
    # The recommendation is of the mean alone.
    assert abs(dear.recommend(25)[0] - 6.0) < 0.6


def test_what_it_is_shown_is_in_the_users_units_with_the_time_at_the_end():
    shown = []

    class Recording(UCBLessCost):
        def __call__(self, mean, std, state, X):
            shown.append(X)
            assert X.shape == (len(mean), 3)
            assert mean.shape == std.shape
            return super().__call__(mean, std, state, X)

    space = {"rate": ("log-real", 1e-3, 1.0), "depth": ("integer", 2, 9)}
    opt = WDBO(space, acquisition=Recording(0.1), n_initial_points=3, random_state=0)
    for t in range(5):
        opt.tell(opt.ask(100.0 + t), float(t))
    X = np.vstack(shown)
    assert set(X[:, -1]) == {103.0, 104.0}
    domain = ParameterSpace(space)
    assert all(domain.contains(x) for x in X[:50, :-1])
    assert {2.0, 9.0} <= set(X[:, 1]) <= set(np.arange(2.0, 10.0))


class MoveCost:
    """An acquisition function of means that are reduced by a price of moves."""

    sees_places = True

    def __init__(self, acquisition, price):
        self.acquisition, self.price = acquisition, price

    def __call__(self, mean, std, state, X):
        moves = np.abs(X - state.latest)[:, :-1].sum(axis=1)
        return self.acquisition(mean - self.price * moves, std, state)


def test_the_state_has_the_query_before_also_in_a_batch_and_a_resumed_run(tmp_path):
    shown = []

    class Recording(MoveCost):
        def __call__(self, mean, std, state, X):
            if not shown or shown[-1] is not state.latest:
                shown.append(state.latest)
            return super().__call__(mean, std, state, X)

    def begun(journal):
        options = {"acquisition": Recording(UCB(), 0.1), "journal": journal}
        return WDBO([(0.0, 10.0)], n_initial_points=3, random_state=0, **options)

    with contextlib.closing(begun(tmp_path / "run.db")) as opt:
        rows = [np.append(drive(opt, 3).told_X_[-1, 0], 2.0)]
        rows += [np.append(query.x, query.t) for query in opt.suggest(3.0, 3)]
        opt.tell([1.0], 0.5, t=2.5)  # nobody asked for it, and it is older
    with contextlib.closing(begun(Journal(tmp_path / "run.db", resume=True))) as opt:
        opt.ask(4.0)
    assert_allclose(shown, rows)


@pytest.mark.parametrize(
    "acquisition", [UCB(), ExpectedImprovement(), ProbabilityOfImprovement()], ids=repr
)
def test_a_high_price_of_moves_keeps_the_query_where_it_was(acquisition):
    places = [[1.0], [3.0], [5.0], [7.0], [9.0], [4.0], [8.0], [2.0]]  # the last far from the best
    options = {"acquisition": MoveCost(acquisition, 0.0), "start_points": places}
    run = drive(WDBO([(0.0, 10.0)], random_state=0, **options), 8)
    x = run.told_X_[-1, 0]
    assert abs(run.with_parameters().ask(8.0)[0] - x) > 1.0
    dear = run.with_parameters(acquisition=MoveCost(acquisition, 100.0))
    assert_allclose(dear.ask(8.0), [x], atol=1e-6)


def test_in_the_window_of_abo_it_sees_when():
    times = []

    class Later:
        sees_places = True

        def __call__(self, mean, std, state, X):
            times.extend(X[:, -1])
            return X[:, -1] + 0.0 * mean, 0.0, 0.0

    options = {"n_initial_points": 5, "lookahead": 1.0, "refit_every": 50}
    opt = ABO([(0.0, 10.0)], acquisition=Later(), random_state=0, **options)
    drive(opt, 25)
    t = opt.suggest(25.0).t
    assert_allclose(t, 25.0 + opt.history_["length_scale"][-1], rtol=1e-9)
    assert (min(times), max(times)) == (5.0, t)


def test_one_that_does_not_look_is_the_same_as_one_that_does_not_see():
    class Blind(UCB):
        sees_places = True

        def __call__(self, mean, std, state, X):
            return super().__call__(mean, std, state)

    opts = [GPUCB([(0.0, 10.0)], acquisition=a(2.0), random_state=0) for a in (UCB, Blind)]
    assert_allclose(*(drive(opt, 12).told_X_ for opt in opts), atol=1e-5)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (lambda mean: mean, "must be a tuple"),
        (lambda mean: (np.nan * mean, 1.0, 1.0), "numbers. Got NaN"),
        (lambda mean: (mean[:-1], 1.0, 1.0), r"of the shape \(\d+,\) of the mean"),
    ],
)
def test_what_it_returns_is_checked(found, message):
    class Broken(UCBLessCost):
        def __call__(self, mean, std, state, X):
            return found(mean)

    with pytest.raises(ValueError, match=message):
        drive(GPUCB([(0.0, 1.0)], acquisition=Broken(0.0), n_initial_points=2, random_state=0), 3)
