"""A filter without the rows of long ago against one that holds them all."""

import copy
import pickle

import numpy as np
import pytest
from gaussian_process.test_filter import SITES, every_kernel, every_mean
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo.exceptions import AbsorbedError, NotPositiveDefiniteError
from sktvbo.gaussian_process._filter import Checkpoint, Filter
from sktvbo.gaussian_process._rows import Moments
from sktvbo.journal._encoding import decode, encode
from sktvbo.kernels import Forgetting


def made(**parameters):
    defaults = {
        "spatial_kernel": RBF([0.6, 0.4]),
        "temporal_kernel": Matern(3.0, nu=1.5),
        "signal_variance": 1.3,
        "noise_variance": 0.05,
        "optimizer": None,
        "solver": "kalman",
    }
    return TimeVaryingGPRegressor(**defaults | parameters)


def stream(n, seed=0, sites=SITES):
    """Rows in the order of time, some at the same time."""
    rng = np.random.RandomState(seed)
    t = np.cumsum(rng.choice([0.0, 0.3, 1.0], size=n))
    return np.column_stack([sites[rng.randint(len(sites), size=n)], t]), 4.0 + 3.0 * rng.normal(
        size=n
    )


def followed(gp, X, y, keep=0, first=10, **options):
    """A regressor that holds all rows, and one that absorbs after each."""
    full = gp.fit(X[:first], y[:first])
    short, held = full, []
    for i in range(first, len(X)):
        row = slice(i, i + 1)
        full = full.updated(X[row], y[row], **options)
        short = short.updated(X[row], y[row], **options).absorbed(keep)
        held.append(len(short.X_train_))
    return full, short, held


def assert_equal(full, short, X, rtol=1e-9):
    close = {"rtol": rtol, "atol": rtol}
    for option in ("return_std", "return_cov"):
        for one, other in zip(
            full.predict(X, **{option: True}), short.predict(X, **{option: True})
        ):
            assert_allclose(other, one, **close)
    for name in ("log_marginal_likelihood_value_", "mean_", "now_", "noise_std_"):
        assert_allclose(getattr(short, name), getattr(full, name), **close)
    assert_allclose(short.information_gain(), full.information_gain(), **close)


def questions(gp, seed=1):
    """Sites and other places, from the first row that is held on."""
    first, last = gp.X_train_[0, -1], gp.X_train_[-1, -1]
    rng = np.random.RandomState(seed)
    places = np.vstack([SITES, rng.uniform(size=(6, 2))])
    return np.column_stack([places, np.append(rng.uniform(first, last + 9.0, 9), [first, last])])


@every_kernel
@every_mean
@pytest.mark.parametrize(
    "normalize_y", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["", "normalized"]
)
def test_the_posterior_is_that_of_all_rows(temporal, tau, normalize_y):
    gp = made(temporal_kernel=temporal, mean_prior_std=tau, normalize_y=normalize_y)
    X, y = stream(150)
    full, short, held = followed(gp, X, y)
    assert_equal(full, short, questions(short))
    assert 32 <= len(short.X_train_) == 150 - short.n_absorbed_ < 64
    assert_array_equal(short.X_train_, X[-len(short.X_train_) :])
    assert_array_equal(short.y_train_, y[-len(short.X_train_) :])
    assert max(held) <= 64 + 10
    assert full.n_absorbed_ == 0


def test_as_many_rows_are_held_as_asked_for():
    _, short, held = followed(made(), *stream(400), keep=70)
    assert min(held[150:]) == 70
    assert max(held[150:]) == 2 * 70 - 1
    assert short.absorbed(1000).n_absorbed_ == short.n_absorbed_


def test_rows_that_are_held_may_be_forgotten_and_others_come_late():
    X, y = stream(150)
    full, short, _ = followed(made(normalize_y=True), X, y, keep=40)
    first, n = short.n_absorbed_, len(short.X_train_)
    drop = np.array([0, 7, 8, n - 1])
    full, short = full.updated(drop=first + drop), short.updated(drop=drop)
    late = np.array([[*SITES[0], X[first + 2, -1] + 0.1], [*SITES[3], X[-20, -1]]])
    full, short = full.updated(late, [9.0, -1.0]), short.updated(late, [9.0, -1.0])
    assert_equal(full, short, questions(short))
    # What is late takes the mark back, and later rows are absorbed again.
    before = short.n_absorbed_
    for i in range(90):
        row = np.array([[*SITES[i % 5], X[-1, -1] + i]])
        full, short = full.updated(row, [0.1 * i]), short.updated(row, [0.1 * i]).absorbed(40)
    assert short.n_absorbed_ > before
    assert_equal(full, short, questions(short))


def test_a_row_that_is_late_by_little_takes_the_mark_back():
    full, short, _ = followed(made(), *stream(100))
    last, n_late = short.X_train_[-1, -1], 0
    for i in range(1, 160):
        late = n_late < 3 and short._gp.mark[1] == len(short.X_train_) - 1
        n_late += late
        row = np.array([[*SITES[i % 5], last + i - 3.5 * late]])
        full, short = full.updated(row, [0.1 * i]), short.updated(row, [0.1 * i])
        assert (short._gp.mark is None) == late
        short = short.absorbed(0)
    assert n_late == 3
    assert short.n_absorbed_ > 150
    assert_equal(full, short, questions(short))


def test_places_that_were_never_seen_join():
    full, short, _ = followed(made(mean_prior_std=1.0), *stream(150))
    last = short.X_train_[-1, -1]
    new = np.array([[0.11, 0.77, last], [0.92, 0.13, last + 1.0], [0.11, 0.77, last - 5.0]])
    for part in (new[:2], new[2:]):
        ones = np.ones(len(part))
        full, short = full.updated(part, ones), short.updated(part, ones).absorbed(0)
    assert len(short._gp.sites) == 7
    assert_equal(full, short, questions(short))
    for i in range(90):
        # They join in the middle of rows that are absorbed together.
        place = [0.3 * (i - 40), 1.2] if 40 <= i < 44 else SITES[i % 5]
        row = np.array([[*place, last + 2.0 + i]])
        full, short = full.updated(row, [0.1 * i]), short.updated(row, [0.1 * i]).absorbed(0)
    assert len(short._gp.sites) == 11
    assert short.n_absorbed_ > 180
    assert_equal(full, short, questions(short))


def test_many_sites_whose_steps_wait_to_be_settled():
    sites = np.random.RandomState(2).uniform(size=(260, 2))
    gp = made(temporal_kernel=Forgetting(0.1), sites=sites)
    full, short, _ = followed(gp, *stream(200, sites=sites))
    assert short.n_absorbed_ > 100
    assert_equal(full, short, questions(short))


def test_known_variances_are_absorbed_where_the_scale_of_y_does_not_follow():
    X, y = stream(150)
    known = {"y_variance": np.array([0.4])}
    full, short, _ = followed(made(), X, y, **known)
    assert short.n_absorbed_ > 80
    assert_equal(full, short, questions(short))
    full, short, held = followed(made(normalize_y=True), X, y, **known)
    assert max(held) == 150
    assert_equal(full, short, questions(short))
    # Once they come only the rows before them are absorbed.
    full, short, _ = followed(made(normalize_y=True), X[:100], y[:100])
    n = short.n_absorbed_
    for i in range(100, 150):
        full = full.updated(X[i : i + 1], y[i : i + 1], **known)
        short = short.updated(X[i : i + 1], y[i : i + 1], **known).absorbed(0)
    assert n <= short.n_absorbed_ <= 100
    assert_equal(full, short, questions(short))
    full, short, _ = followed(made(normalize_y=True), X, y, **known)
    assert short.n_absorbed_ < 50
    assert_equal(full.updated(X[-1:], [30.0]), short.updated(X[-1:], [30.0]), questions(short))


WITHOUT_ROWS = {
    "search": (lambda gp, t: gp.updated(refit=True), "A search of the hyperparameters needs"),
    "theta": (lambda gp, t: gp.log_marginal_likelihood(gp.theta_), "likelihood of other"),
    "gradient": (lambda gp, t: gp.log_marginal_likelihood(gp.theta_, True), "its gradient, needs"),
    "relevancy": (lambda gp, t: gp.relevancy(), "The Cholesky factor needs all"),
    "window": (lambda gp, t: gp.posterior_between(t + 90, t + 99), "all observations, and the f"),
    "all": (
        lambda gp, t: gp.updated([[0.1, 0.2, 999.0]], [1.0], drop=np.arange(len(gp.X_train_))),
        "To drop all rows needs",
    ),
    "past": (lambda gp, t: gp.predict([[0.1, 0.2, t - 0.5]]), "times of the posterior must be at"),
    "cov": (
        lambda gp, t: gp.predict([[0.1, 0.2, t - 0.5]], return_cov=True),
        "times of the posterior must be at least",
    ),
    "late": (lambda gp, t: gp.updated([[0.1, 0.2, t - 0.5]], [1.0]), "with a larger history"),
}


@pytest.mark.parametrize("what", WITHOUT_ROWS)
def test_what_needs_absorbed_rows_says_so(what):
    gp = made(optimizer="fmin_l_bfgs_b", temporal_kernel=Matern(3.0, nu=1.5))
    X, y = stream(120)
    gp = gp.set_params(optimizer=None).fit(X, y).absorbed(0)
    for i in range(40):
        gp = gp.updated([[*SITES[0], X[-1, -1] + i]], [1.0]).absorbed(0)
    gp.set_params(optimizer="fmin_l_bfgs_b")
    call, message = WITHOUT_ROWS[what]
    start = gp._gp.start.state.t + gp._gp.rows.layout.origin
    value, n = gp.log_marginal_likelihood_value_, len(gp.X_train_)
    with pytest.raises(AbsorbedError, match=message):
        call(gp, start)
    assert (gp.log_marginal_likelihood_value_, len(gp.X_train_)) == (value, n)
    # At the time itself all is known.
    assert np.isfinite(gp.predict([[0.1, 0.2, start]])).all()
    assert len(gp.updated([[0.1, 0.2, start]], [1.0]).X_train_) == n + 1


def test_what_holds_its_rows_anyway_absorbs_none():
    X, y = stream(80)
    for parameters in ({"solver": "dense"}, {"solver": "auto"}):
        gp = made(**parameters).fit(X, y)
        assert gp.absorbed(0) is gp
    with pytest.raises(ValueError, match="keep must be an int in the range"):
        gp.absorbed(-1)


def test_auto_stays_with_the_filter():
    X, y = stream(330, sites=SITES)
    gp = made(solver="auto", sites=SITES).fit(X, y).absorbed(0)
    for i in range(40):
        gp = gp.updated([[*SITES[0], X[-1, -1] + i]], [1.0]).absorbed(0)
    assert gp.n_absorbed_ == 330
    assert type(gp._gp) is Filter
    assert type(gp.updated(drop=np.arange(30))._gp) is Filter


def test_a_breakdown_is_an_error_where_the_dense_solver_has_no_rows():
    X = np.array([[0.1, 0.2, 1.0]] * 300)
    gp = TimeVaryingGPRegressor(optimizer=None).fit(X, np.zeros(300)).absorbed(0)
    for _ in range(40):
        gp = gp.updated(X[:1], [0.0]).absorbed(0)
    assert gp.n_absorbed_ == 300
    exact = {"y_variance": np.zeros(1), "total_variance": True}
    gp = gp.updated(X[:1], [0.0], **exact)
    with pytest.raises(NotPositiveDefiniteError, match="solver='dense'"):
        gp.updated(X[:1], [0.0], **exact)


@pytest.mark.parametrize("many", [False, True], ids=["few sites", "many sites"])
def test_copies_pickles_and_plain_data_go_on_to_the_bit(many, monkeypatch):
    monkeypatch.setattr("sktvbo.gaussian_process._conditioned._MAX_UPDATES", 50)
    monkeypatch.setattr("sktvbo.gaussian_process._filter._MOST_UPDATES", 50)
    sites = np.random.RandomState(2).uniform(size=(260, 2)) if many else SITES
    X, y = stream(260, sites=sites)
    gp = made(normalize_y=True, sites=sites).fit(X[:20], y[:20])
    checked_in = set()
    for i in range(20, 200):
        gp = gp.updated(X[i : i + 1], y[i : i + 1]).absorbed(0)
        if gp._gp.made_of is not None:
            checked_in.update(type(part) for part in gp._gp.made_of[1])
    assert Checkpoint in checked_in
    assert gp.n_absorbed_ > 100
    again = [copy.deepcopy(gp), pickle.loads(pickle.dumps(gp)), decode(encode(gp))]
    for i in range(200, 260):
        gp = gp.updated(X[i : i + 1], y[i : i + 1]).absorbed(0)
        again = [one.updated(X[i : i + 1], y[i : i + 1]).absorbed(0) for one in again]
    places = np.column_stack([sites, np.full(len(sites), X[-1, -1] + 0.5)])
    for one in again:
        assert_array_equal(one.predict(places, True), gp.predict(places, True))
        assert_array_equal(one.X_train_, gp.X_train_)
        assert one.n_absorbed_ == gp.n_absorbed_


def test_what_is_held_does_not_grow():
    X, y = stream(3000)
    gp, sizes = made(normalize_y=True).fit(X[:20], y[:20]), []
    for i in range(20, 3000):
        gp = gp.updated(X[i : i + 1], y[i : i + 1]).absorbed(0)
        if i % 97 == 0:
            sizes.append(len(pickle.dumps(gp)))
    assert max(sizes[20:]) < 1.02 * max(sizes[5:20])


@pytest.mark.parametrize("scale", [1.0, 1e-100, 1e100])
def test_moments_are_put_together(scale):
    rng = np.random.RandomState(0)
    y = scale * (3.0 + rng.normal(size=1000))
    found = Moments()
    for part in np.split(y, [1, 2, 40, 41, 700]):
        found = found.plus(Moments.of(part))
    assert found.n == 1000
    assert_allclose(
        [found.mean, found.std], [scale * (y / scale).mean(), scale * (y / scale).std()]
    )
    assert Moments().plus(Moments.of(np.array([7.0]))) == Moments(1, 7.0, 0.0)
