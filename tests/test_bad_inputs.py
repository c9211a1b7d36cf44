"""Bad inputs get an error that says what to do: no raw error, no silent NaN."""

import numpy as np
import pytest
from bad_inputs import CALLS, outcomes

from sktvbo.exceptions import SktvboError

# Calls that look bad, and have a right answer.
FINE = [
    "TimeVaryingGPRegressor(RBF(1e-200)).fit(X, y)",  # the search begins at the lowest bound
    "named.tell([0.5, 3], 1.0, 0.0)",  # rows of numbers are points too
    "WDBO({'a': ('categorical', [1])}).ask(0.0)",
    "theory.recommended_dataset_size(RationalQuadratic(), lambda n: 1.0)",
]

# What scikit-learn and NumPy say of arrays and seeds, which users know.
KNOWN = (
    "Found ",
    "Input ",
    "Expected 2D array",
    "Complex data not supported",
    "could not convert string to float",
    "setting an array element with a sequence",
    "This TimeVaryingGPRegressor estimator requires y",
    "y should be a 1d array",
)


@pytest.fixture(scope="module")
def found(data_dir):
    return list(outcomes())


def test_there_are_enough(found):
    assert len(found) > 180
    assert len({outcome.call for outcome in found}) == len(found)
    assert sum(len(calls) for calls in CALLS.values()) > 60


def test_bad_inputs_are_errors_that_say_what_to_do(found):
    for outcome in found:
        if outcome.error is None:
            assert outcome.call in FINE, outcome.call
            continue
        error, message = outcome.error, str(outcome.error)
        assert isinstance(error, SktvboError | ValueError | TypeError), outcome
        assert not isinstance(error, np.linalg.LinAlgError), outcome
        helps = ("must", "not available", "seed a numpy", "can be removed")
        helpful = any(words in message for words in helps)
        assert helpful or message.startswith(KNOWN), outcome


def test_what_is_accepted_has_a_finite_answer(found):
    for outcome in found:
        if outcome.error is None and isinstance(outcome.returned, float | np.ndarray):
            assert np.isfinite(outcome.returned).all(), outcome.call


def test_objects_are_as_they_were(found):
    assert [outcome.call for outcome in found if outcome.changed] == []
