"""A prior mean that is highest in the middle of the unit box."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator

from .._checks import check_int, check_real, invalid
from .._trend import Features, Polynomials

if TYPE_CHECKING:
    from collections.abc import Sequence


class Bowl(BaseEstimator):
    """Prior mean over the unit box: on average highest in the middle, lowest in corners.

    Who draws a box expects the best places inside of it, and what is far from them to be bad. A
    Gaussian process does not know that: where it has seen nothing it expects the average. This one
    expects, over places x of the unit box,

        m(x) = −a Σ_j ((x_j − ½)² − 1/12) / √(d/180) + Σ_j b_j √12 (x_j − ½),

    a bowl whose depth a ~ N(``depth``, ``depth_std``²) and slopes b_j ~ N(0, ``slope_std``² / d)
    are learnt with everything else, in closed form, as a constant mean is. The slopes say where its
    middle is. Over places that are uniform in the box, the first part has the mean 0 and a
    standard deviation of the size of a, the second in expectation one of ``slope_std``. Larger
    slopes, such as 0.5 beside a depth of 0.5, suit optima that may as well be near faces.

    Parameters
    ----------
    depth : float, default=0.25
        In units of y as the regressor sees it, standardized with ``normalize_y``. A negative one is
        for a function that is to be minimized.
    depth_std, slope_std : float, default=0.25
        0: not learnt.
    columns : sequence of int, default=None
        Coordinates x_j of a place that it depends on, counted without the time column; d is their
        number. None: all.

    References
    ----------
    J. Snoek et al., "Scalable Bayesian Optimization Using Deep Neural Networks", ICML 2015, have a
    quadratic prior mean for the same reason.

    Examples
    --------
    >>> from sktvbo import TimeVaryingGPRegressor
    >>> from sktvbo.gaussian_process import Bowl
    >>> X = [[0.2, 0.2, 0.0], [0.4, 0.7, 1.0]]
    >>> bowl = Bowl(0.5, depth_std=0.0, slope_std=0.0)
    >>> gp = TimeVaryingGPRegressor(prior_mean=bowl, optimizer=None).fit(X, [0.1, 0.3])
    >>> gp.predict([[0.5, 0.5, 99.0], [1.0, 1.0, 99.0]]).round(2)     # long after: the prior
    array([ 0.79, -1.58])
    """

    def __init__(
        self,
        depth: float = 0.25,
        depth_std: float = 0.25,
        slope_std: float = 0.25,
        columns: Sequence[int] | None = None,
    ) -> None:
        self.depth = depth
        self.depth_std = depth_std
        self.slope_std = slope_std
        self.columns = columns

    def check(self, n_dims: int | None = None) -> None:
        """Raise a ValueError for a parameter that makes no sense.

        Parameters
        ----------
        n_dims : int, default=None
            Of the places that it is to be used for, if they are known.
        """
        check_real(self.depth, "depth", self)
        for name in ("depth_std", "slope_std"):
            check_real(getattr(self, name), name, self, interval="[0, inf)")
        if self.columns is None:
            return
        high = None if n_dims is None else n_dims - 1
        given = np.atleast_1d(self.columns).tolist()
        columns = {check_int(column, "columns", self, low=0, high=high) for column in given}
        if np.ndim(self.columns) != 1 or not 0 < len(columns) == len(given):
            raise invalid("columns", "different columns, at least one", self.columns, self)

    @property
    def is_learnt(self) -> bool:
        """Whether observations change it."""
        return self.depth_std > 0.0 or self.slope_std > 0.0

    def _terms(self, n_dims):
        """The bowl of depth 1, and then the slopes, as polynomials of a place."""
        columns = np.arange(n_dims) if self.columns is None else np.asarray(self.columns, dtype=int)
        d = len(columns)
        constant, linear = np.full(d + 1, -np.sqrt(3.0)), np.zeros((d + 1, n_dims))
        square = np.zeros_like(linear)
        linear[1 + np.arange(d), columns] = np.sqrt(12.0)
        square[0, columns] = -1.0 / np.sqrt(max(d, 1) / 180.0)
        linear[0], constant[0] = -square[0], square[0].sum() / 6.0
        return Polynomials(constant, linear, square), d

    def features(self, n_dims: int) -> Features:
        """What is expected, and what is learnt around it.

        Parameters
        ----------
        n_dims : int
            Of the places.

        Returns
        -------
        Features
        """
        terms, d = self._terms(n_dims)
        stds = np.full(d + 1, self.slope_std / np.sqrt(max(d, 1)))
        stds[0] = self.depth_std if d else 0.0
        learnt = np.flatnonzero(stds > 0.0)
        expected = terms.combined(self.depth * np.eye(1, d + 1))
        return Features(expected, terms.combined(np.eye(d + 1)[learnt]), stds[learnt])
