"""Each name that an error offers for a parameter is accepted."""

import re

import numpy as np
import pytest
from contract.cases import BOX

from sktvbo import acquisition, gaussian_process, optimizers, papers, problems, staleness
from sktvbo.exceptions import SktvboError

NONSENSE = "nonsense"
X = np.column_stack([np.linspace(0.0, 1.0, 8), np.arange(8.0)])


def begun(optimizer):
    optimizer.ask(0.0)
    optimizer.tell([1.0, 0.5], 1.0, 1.0)


def kinds(module, base=object):
    found = [getattr(module, name) for name in module.__all__]
    return [k for k in found if isinstance(k, type) and issubclass(k, base) and k is not base]


def made(kind):
    """Functions that use an object of a class with one parameter."""
    if kind in kinds(optimizers):
        return lambda **given: begun(kind(BOX, **{"random_state": 0} | given))
    if kind in kinds(staleness, staleness.StaleDataPolicy):
        return lambda **given: begun(optimizers.BayesianOptimizer(BOX, policy=kind(**given)))
    if kind in kinds(acquisition):
        return lambda **given: begun(optimizers.BayesianOptimizer(BOX, acquisition=kind(**given)))
    return lambda **given: kind(**given).fit(X, X[:, 0])


ACQUISITIONS = [kind for kind in kinds(acquisition) if hasattr(kind, "__call__")]  # noqa: B004
REGRESSORS = [kind for kind in kinds(gaussian_process) if hasattr(kind, "fit")]
KINDS = [kind for kind in kinds(optimizers) if hasattr(kind, "get_params")]
KINDS += [*kinds(staleness, staleness.StaleDataPolicy)]
KINDS += [kind for kind in ACQUISITIONS if hasattr(kind, "get_params")] + REGRESSORS


def expected(call, **given):
    """Return the expected values that the error of a call names, or None without an error."""
    try:
        call(**given)
    except (ValueError, TypeError, AttributeError, SktvboError) as exc:
        found = re.search(r"must be (.*?)\.? Got ", str(exc), re.DOTALL)
        return found and found[1]
    return None


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_parameters(kind):
    call = made(kind)
    for name in kind._get_param_names():
        if name in ("journal", "domain"):
            continue
        said = expected(call, **{name: NONSENSE})
        for offered in re.findall(r"'([\w-]+)'", said or ""):
            assert expected(call, **{name: offered}) != said, (name, offered)


FUNCTIONS = [papers.published, problems.make]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_functions(function):
    with pytest.raises(ValueError, match="must be") as caught:
        function(NONSENSE)
    names = re.search(r"must be one of (.*?)\.? Got ", str(caught.value), re.DOTALL)[1].split(", ")
    assert len(names) > 5
    others = {"domain": BOX, "horizon": 60} if function is papers.published else {}
    for name in names:
        assert not str(expected(function, name=name, **others)).startswith("one of")
