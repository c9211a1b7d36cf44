import numpy as np
import pytest
from numpy.testing import assert_allclose

from sktvbo.problems import make

TIMES = [0.0, 3.0, 9.99, 10.0, 237.5, 500.0]
SHAPES = ["cone", "gaussian"]


def peaks(problem, t):
    return [part[0] for part in problem._peaks(np.array([t]))]


def by_loops(shape, x, h, w, c):
    distances = [sum((a - b) ** 2 for a, b in zip(x, centre)) ** 0.5 for centre in c]
    if shape == "cone":
        return max(a - b * r for a, b, r in zip(h, w, distances))
    return max(a * np.exp(-(r**2) / (2 * (a / b) ** 2)) for a, b, r in zip(h, w, distances))


# --- values and optimum ---------------------------------------------------------------------------


@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_values_and_the_optimum_are_the_highest_peaks(shape, smooth):
    problem = make("moving-peaks", n_dims=3, shape=shape, smooth=smooth, random_state=0)
    X = problem.domain.sample(len(TIMES), 0)
    expected = [by_loops(shape, x, *peaks(problem, t)) for x, t in zip(X, TIMES)]
    assert_allclose(problem.values(X, TIMES), expected, rtol=1e-12)
    problem = make("moving-peaks", shape=shape, smooth=smooth, random_state=1)
    assert [problem.optimum(t)[1] for t in TIMES] == [peaks(problem, t)[0].max() for t in TIMES]


def test_many_peaks_in_many_dimensions_are_evaluated_in_parts():
    problem = make("moving-peaks", n_peaks=300, n_dims=20, horizon=30.0, random_state=0)
    X, t = problem.domain.sample(1000, 0), np.linspace(0.0, 30.0, 1000)
    f = problem.values(X, t)
    for i in (0, 1, 517, 999):
        assert f[i] == problem.value(X[i], t[i])
    assert len(problem.values(X[:0], 7.0)) == 0


# --- movement -------------------------------------------------------------------------------------


def centres(**options):
    """Return centres (51, n_peaks, n_dims) at the changes, and a mask without reflection."""
    problem = make("moving-peaks", n_peaks=40, random_state=0, **options)
    c = problem._peaks(np.arange(0.0, 501.0, 10.0))[2]
    inside = np.all((c > 5.0) & (c < 95.0), axis=2)
    return c, inside[:-2] & inside[1:-1] & inside[2:]


@pytest.mark.parametrize("correlation", [0.0, 0.5, 1.0])
def test_centres_move_by_the_severity(correlation):
    c, free = centres(shift_severity=4.0, correlation=correlation)
    steps = np.diff(c, axis=0)
    lengths = np.linalg.norm(steps, axis=2)
    assert_allclose(lengths[:-1][free], 4.0)
    cosines = np.sum(steps[:-1] * steps[1:], axis=2)[free] / 16.0
    # In the plane, with the angle a between new and last uniform: the mean of cos(a / 2) is 2 / pi.
    expected = {0.0: 0.0, 0.5: 2.0 / np.pi, 1.0: 1.0}[correlation]
    assert cosines.mean() == pytest.approx(expected, abs=5.0 * cosines.std() / len(cosines) ** 0.5)


def test_straight_movements_turn_at_the_border_only():
    c, _ = centres(shift_severity=4.0, correlation=1.0)
    steps = np.diff(c, axis=0)
    far = np.minimum(c, 100.0 - c) > 4.0
    straight = far[:-1] & far[1:]
    # Away from the border the speed stays, coordinate by coordinate.
    usual = np.broadcast_to(np.median(np.abs(steps), axis=0), steps.shape)
    assert_allclose(np.abs(steps)[straight], usual[straight])
    turns = np.sign(steps[1:]) != np.sign(steps[:-1])
    assert turns.any()
    assert not turns[straight[:-1] & straight[1:]].any()


def test_heights_and_widths_take_gaussian_steps_in_their_ranges():
    options = {"heights": (100.0, 1000.0), "widths": (10.0, 100.0)}
    options |= {"height_severity": 7.0, "width_severity": 0.5}
    problem = make("moving-peaks", n_peaks=400, random_state=0, **options)
    h, w, c = problem._peaks(np.arange(0.0, 501.0, 10.0))
    for values, (low, high), severity in ((h, (100.0, 1000.0), 7.0), (w, (10.0, 100.0), 0.5)):
        assert low <= values.min() < low + 0.2 * (high - low)
        assert high - 0.2 * (high - low) < values.max() <= high
        free = (values[:-1] > low + 5 * severity) & (values[:-1] < high - 5 * severity)
        steps = np.diff(values, axis=0)[free]
        assert steps.std() == pytest.approx(severity, rel=5.0 / np.sqrt(2 * len(steps)))
        assert abs(steps.mean()) < 5.0 * severity / np.sqrt(len(steps))
    assert 0.0 <= c.min() <= c.max() <= 100.0
    assert abs(c[0].mean() - 50.0) < 5.0 * 100.0 / np.sqrt(12 * c[0].size)


def test_stepwise_peaks_stay_between_changes():
    problem = make("moving-peaks", change_every=4.0, random_state=0)
    x = [30.0, 60.0]
    assert problem.value(x, 4.0) == problem.value(x, 7.99) != problem.value(x, 8.0)
    assert problem.value(x, 8.0 - 1e-10) == problem.value(x, 8.0)


def test_smooth_peaks_go_in_straight_lines_through_the_stepwise_ones():
    stepwise = make("moving-peaks", random_state=0)
    smooth = make("moving-peaks", smooth=True, random_state=0)
    for k in (0.0, 20.0, 490.0):
        here, there = peaks(stepwise, k), peaks(stepwise, k + 10.0)
        for a, b, c in zip(here, there, peaks(smooth, k + 2.5)):
            assert_allclose(c, 0.75 * a + 0.25 * b)
        assert smooth.value([1.0, 2.0], k) == stepwise.value([1.0, 2.0], k)
    assert smooth.value([1.0, 2.0], 500.0) == stepwise.value([1.0, 2.0], 500.0)
