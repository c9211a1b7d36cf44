"""Outcomes on a logarithmic scale."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sktvbo import BOLT, TVGPUCB, WDBO, Journal
from sktvbo.exceptions import InvalidObservationError, JournalError

LIMITS, LOG = {"ms": (None, 200.0)}, {"outcome_scales": {"ms": "log"}}
# The same run told the logarithms.
TWINS = [
    ({"outcome_constraints": LIMITS} | LOG, float),
    ({"outcome_constraints": {"ms": (None, np.log(200.0))}}, np.log),
]


def latency(x, rng):
    return float(np.exp(4.0 + 2.0 * x[0] + 0.3 * rng.standard_normal()))


def run_of(kind, options, told, n=18, **more):
    opt, rng = kind([(0.0, 1.0)], random_state=0, **options, **more), np.random.RandomState(0)
    for t in range(n):
        x = opt.ask(t)
        outcome = {"ms": told(latency(x, rng))}
        if t % 7 == 5:
            opt.tell(x, t=t, failed=True, outcomes=outcome)
        else:
            opt.tell(x, x[0] + 0.01 * rng.standard_normal(), outcomes=outcome)
    return opt


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        (WDBO, {}),
        (TVGPUCB, {"safety": 0.9, "start_points": [[0.1]]}),
        (BOLT, {"max_size": 12, "maximize": False}),
    ],
)
def test_a_run_is_that_of_the_logarithms(kind, more):
    opt, twin = (run_of(kind, options, told, **more) for options, told in TWINS)
    assert_allclose(opt.told_X_, twin.told_X_, atol=1e-6)
    X = [[0.2], [0.8]]
    assert_allclose(
        opt.probability_feasible(X, 18.0), twin.probability_feasible(X, 18.0), atol=1e-6
    )
    assert_allclose(opt.recommend(18.0), twin.recommend(18.0), atol=1e-6)
    assert opt.to_frame().ms.tolist() == pytest.approx(np.exp(twin.to_frame().ms), rel=1e-14)
    middle, spread = twin.predict(X, 18.0, return_std=True, outcome="ms")
    mean, std = opt.predict(X, 18.0, return_std=True, outcome="ms")
    drawn = np.exp(middle + spread * np.random.RandomState(1).standard_normal((200_000, 2)))
    assert_allclose([mean, std], [drawn.mean(axis=0), drawn.std(axis=0)], rtol=0.02)


def test_a_journal_keeps_the_scale(tmp_path):
    path = tmp_path / "run"
    run_of(WDBO, {"outcome_constraints": LIMITS} | LOG, float, journal=path).close()
    twin = run_of(WDBO, {"outcome_constraints": LIMITS} | LOG, float)
    options = {"outcome_constraints": LIMITS, "random_state": 0}
    journal = {"journal": Journal(path, resume=True)}
    with pytest.raises(JournalError, match="outcome_scales"):
        WDBO([(0.0, 1.0)], **options, **journal).ask(18)
    opt = WDBO([(0.0, 1.0)], **options, **LOG, **journal)
    assert_allclose(opt.ask(18), twin.ask(18), atol=1e-6)
    opt.close()
    with pytest.raises(ValueError, match=r"'outcome_scales' .* 'log' for 'ms', as before"):
        twin.with_parameters(outcome_scales=None)


@pytest.mark.parametrize("value", [0.0, -3.0])
def test_values_without_a_logarithm_are_refused(value):
    opt = WDBO([(0.0, 1.0)], outcome_constraints=LIMITS, random_state=0, **LOG)
    with pytest.raises(InvalidObservationError, match=r"outcomes\['ms'\] must be positive"):
        opt.tell([0.5], 1.0, t=0, outcomes={"ms": value})
    with pytest.raises(InvalidObservationError, match=r"outcomes\['ms'\] must be positive"):
        opt.tell_many([[0.5]] * 2, [1.0, 2.0], [0, 1], outcomes={"ms": [1.0, value]})
    opt.tell([0.5], 1.0, t=0, outcomes={"ms": None})
    assert opt.n_told_ == 1


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"outcome_scales": {"ms": "log"}}, r"a dict of measured outcomes \(none\)"),
        ({"outcome_scales": {"MS": "log"}, "outcome_constraints": LIMITS}, r"outcomes \('ms'\)"),
        ({"outcome_scales": {"ms": "sqrt"}, "outcome_constraints": LIMITS}, "'linear' or 'log'"),
        ({"outcome_scales": "log", "outcome_constraints": LIMITS}, "None or a dict"),
        (LOG | {"outcome_constraints": {"ms": (-1.0, 3.0)}}, "'log' for positive limits"),
        (
            {"outcome_scales": {"objective": "log"}, "outcome_constraints": {"objective": (1, 2)}},
            r"outcomes \(none\)",
        ),
    ],
)
def test_scales_that_make_no_sense_are_refused(options, match):
    with pytest.raises(ValueError, match=match):
        WDBO([(0.0, 1.0)], **options).ask(0)
