"""Choice of the rows that a bounded data set drops: the least relevant, or else the oldest."""

from itertools import islice

import numpy as np

from .._validation import invalid
from ..exceptions import UnsupportedKernelError


def rows_beyond(size, surrogate, now, times):
    """Return the rows (k,) to drop until ``size`` of a surrogate's n rows stay.

    ``times`` (n,) are those of the rows.
    """
    if not _supports_relevancy(surrogate):
        return np.argsort(times, kind="stable")[: max(len(times) - size, 0)]
    return rows_of(least_relevant_beyond(size, surrogate, now))


def least_relevant_beyond(size, surrogate, now):
    """Return the (row, relevancy) pairs to remove, in order, until ``size`` observations stay."""
    n_removed = max(len(surrogate.X_train_) - size, 0)
    found = islice(from_least_relevant(surrogate, now), n_removed)
    return [(row, relevancy) for _, row, relevancy in found]


def rows_of(removals):
    """Return the rows (k,) of (row, relevancy) pairs."""
    return np.array([row for row, _ in removals], dtype=np.intp)


def from_least_relevant(surrogate, now):
    """Yield (n, row, relevancy) of the least relevant of n observations, then of the n - 1 others.

    An observation is removed once the next one is asked for.
    """
    sweep, unconfirmed = surrogate.relevancy_sweep(now), _unconfirmed_outliers(surrogate)
    while True:
        least, relevancy = _least_relevant(sweep, unconfirmed)
        yield sweep.n, int(sweep.index[least]), relevancy
        sweep.remove(least)


def _least_relevant(sweep, excluded):
    """Return the least relevant observation of a `RelevancySweep`: position and relevancy.

    Rows of the mask ``excluded``, unless it is None, count as relevant.
    """
    relevancy = np.asarray(sweep.relevancy())
    if excluded is not None and not excluded[sweep.index].all():
        relevancy = relevancy + np.where(excluded[sweep.index], np.inf, 0.0)
    least = int(np.argmin(relevancy))  # the first NaN, if there is one
    if np.isnan(relevancy[least]):
        unknown = np.count_nonzero(np.isnan(relevancy))
        raise invalid(
            "The relevancies of the surrogate",
            "numbers",
            got=f"NaN for {unknown} of {relevancy.size} observations",
            advice="Check the kernels of the surrogate.",
        )
    return least, float(relevancy[least])


def _unconfirmed_outliers(surrogate):
    """Return a mask (n,) of the latest rows if all have a weight below 1, or None.

    Further observations may show that they belong to a change of the function. Outliers that are
    confirmed have the smallest relevancies.
    """
    weights = getattr(surrogate, "outlier_weights_", None)
    if weights is None:
        return None
    return np.minimum.accumulate(weights[::-1] < 1.0)[::-1]


def _supports_relevancy(surrogate):
    if not hasattr(surrogate, "check_relevancy"):
        return False
    try:
        surrogate.check_relevancy()
    except UnsupportedKernelError:
        return False
    return True
