"""Runs in which observations that leave leave what they said of what never changes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sktvbo import WDBO, BayesianOptimizer, TimeVaryingGPRegressor
from sktvbo.journal import Journal
from sktvbo.staleness import SlidingWindow

BOX = [(0.0, 1.0), (0.0, 1.0)]


def static_of(opt):
    return vars(opt)["_run"].surrogate.gp.rows.static


def value(x, t):
    centre = 0.5 + 0.3 * np.sin(2.0 * np.pi * t / 40.0 + np.array([0.0, 1.0]))
    return 1.0 - float((((x - centre) / 0.35) ** 2).sum())


def drive(opt, begin, end):
    for t in range(begin, end):
        x = opt.ask(float(t))
        opt.tell(x, value(x, t), t=float(t))
    return opt


@pytest.fixture(scope="module")
def text():
    """A run as JSON, from which observations have been removed."""
    opt = drive(WDBO(BOX, max_size=30, random_state=0), 0, 60)
    assert opt.n_removed_ > 20
    return opt.to_json()


def test_the_static_part_falls_off_towards_the_corners(text):
    """The mean over time of the value is a bowl around the middle, whatever the rows kept show."""
    rows = vars(WDBO.from_json(text))["_run"].surrogate.gp.rows
    mean = rows.mean_function
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    assert (mean.square < -1.0).all()
    assert mean(np.array([[0.5, 0.5]]))[0] > mean(corners).mean() + 1.0


def test_json_and_journals_have_it(text, tmp_path):
    path = tmp_path / "run.db"
    opt = drive(WDBO(BOX, max_size=30, random_state=0, journal=path), 0, 60)
    opt.close()
    known = static_of(WDBO.from_json(text))
    resumed = WDBO(BOX, max_size=30, random_state=0, journal=Journal(path, resume=True))
    resumed.ask(60.0)
    assert_allclose(static_of(resumed).information, known.information, rtol=1e-9)
    one, other = WDBO.from_json(text), WDBO.from_json(text)
    assert_allclose(drive(one, 60, 64).X_, drive(other, 60, 64).X_)
    resumed.close()


def test_untell_of_the_latest_restores_it(text):
    opt = WDBO.from_json(text)
    known, rows = static_of(opt), opt.X_
    opt.tell([0.3, 0.3], 5.0, t=60.0)
    assert not np.array_equal(static_of(opt).information, known.information)
    opt.untell()
    assert_allclose(static_of(opt).information, known.information, rtol=1e-12)
    assert_allclose(static_of(opt).shift, known.shift, rtol=1e-12)
    assert_allclose(np.sort(opt.X_, axis=0), np.sort(rows, axis=0))


def test_untell_of_an_older_one_does_not_count_rows_twice(text):
    opt = WDBO.from_json(text)
    known = np.trace(static_of(opt).information)
    opt.tell([0.3, 0.3], 5.0, t=60.0)
    told = np.trace(static_of(opt).information)
    opt.tell([0.5, 0.6], 0.5, t=61.0)
    opt.untell([0.3, 0.3])
    assert known < told
    assert np.trace(static_of(opt).information) < 0.5 * (known + told)


def test_another_domain_goes_on_with_it(text):
    opt = WDBO.from_json(text)
    wider = opt.with_parameters(domain=[(-0.5, 1.5), (-0.5, 1.5)])
    expected = static_of(opt).moved([0, 1], np.full(2, 0.5), np.full(2, 0.25))
    assert_allclose(static_of(wider).information, expected.information, rtol=1e-9)
    assert_allclose(static_of(wider).shift, expected.shift, rtol=1e-9)
    assert static_of(opt.with_parameters(alpha=0.3)) is not None
    wider.tell([0.3, 0.3], 0.0, t=60.0)
    wider.untell()
    assert static_of(wider) is not None


def test_a_refit_and_a_budget_go_on_with_it(text):
    opt = WDBO.from_json(text)
    known = static_of(opt)
    opt.refit()
    assert_allclose(static_of(opt).information, known.information)
    while not opt.refit(deadline=1e-4):
        opt.tell([0.4, 0.6], 0.5, t=opt.next_time_ + 1.0)
    assert np.abs(static_of(opt).information).max() > 0.0


@pytest.mark.parametrize(
    "options",
    [
        {"policy": SlidingWindow(10)},
        {"surrogate": TimeVaryingGPRegressor(normalize_y=True), "max_size": 10},
    ],
)
def test_windows_and_other_surrogates_leave_nothing(options):
    opt = BayesianOptimizer(BOX, n_initial_points=5, random_state=0, **options)
    drive(opt, 0, 20)
    assert len(opt.X_) == 10
    assert static_of(opt) is None
