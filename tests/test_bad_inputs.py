"""The page of bad inputs: it is true, without a raw error or a silent NaN."""

import re
from pathlib import Path

import numpy as np
import pytest
from bad_inputs import CALLS, outcomes, page

from sktvbo.exceptions import SktvboError

PAGE = Path(__file__).parents[1] / "docs" / "bad_inputs.rst"

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
    assert len(found) > 250
    assert len({outcome.call for outcome in found}) == len(found)
    assert sum(len(calls) for calls in CALLS.values()) > 70


def test_bad_inputs_are_errors_that_say_what_to_do(found):
    for outcome in found:
        if outcome.error is None:
            assert outcome.call in FINE, outcome.call
            continue
        error, message = outcome.error, str(outcome.error)
        assert isinstance(error, SktvboError | ValueError | TypeError), outcome
        assert not isinstance(error, np.linalg.LinAlgError), outcome
        helpful = "must" in message or "not available" in message or "seed a numpy" in message
        assert helpful or message.startswith(KNOWN), outcome


def test_what_is_accepted_has_a_finite_answer(found):
    for outcome in found:
        if outcome.error is None and isinstance(outcome.returned, float | np.ndarray):
            assert np.isfinite(outcome.returned).all(), outcome.call


def test_objects_are_as_they_were(found):
    assert [outcome.call for outcome in found if outcome.changed] == []


def test_the_page_is_true(found):
    """python tests/bad_inputs.py > docs/bad_inputs.rst makes it anew."""
    assert in_our_words(page(found)) == in_our_words(PAGE.read_text(encoding="utf-8"))


def in_our_words(text):
    """The page without what others say, who say it otherwise in another version, and without the
    last digits of queries, which are the linear algebra's."""
    theirs = "|".join(map(re.escape, KNOWN))
    shorter = re.sub(
        rf"^( {{7}}\w+: )(?:{theirs}).*\n(?: {{7}}.*\n)*", r"\1...\n", text, flags=re.M
    )
    assert 0 < shorter.count(": ...\n") < 0.2 * shorter.count("Error: ")
    return re.sub(r"\d\.\d{9,}", lambda number: f"{float(number[0]):.6f}", shorter)
