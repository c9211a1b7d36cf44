"""A prior mean that is quadratic over the unit box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator

from .._validation import check_choice, check_int, check_real, invalid

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, eq=False)
class Polynomial:
    """a + Σ_j (b_j + c_j x_j) x_j of a place x.

    Attributes
    ----------
    constant : float
    linear, square : ndarray of shape (d,)
    """

    constant: float
    linear: np.ndarray
    square: np.ndarray

    def __call__(self, S):
        """Return the values (m,) at places S (m, d)."""
        return self.constant + S @ self.linear + (S * S) @ self.square

    def slope(self, s):
        """Return the gradient (d,) at a place (d,)."""
        return self.linear + 2.0 * self.square * s

    def scaled(self, units):
        """Return the coefficients as a function of x · units (d,): constant, linear, square."""
        return self.constant, self.linear / units, self.square / units**2


class QuadraticMean(BaseEstimator):
    """Prior mean over the unit box that is highest in the middle and lowest in the corners.

    A Gaussian process expects the average where it has no data. A user who draws a box expects the
    best places inside it. Over places x of the unit box this prior mean is

        m(x) = −depth Σ_j ((x_j − ½)² − 1/12) / √(d/180),

    which has mean 0 and standard deviation ``depth`` over places that are uniform in the box.

    Parameters
    ----------
    depth : float, default=0.5
        In units of y as the regressor sees it, standardized with ``normalize_y``. Negative for a
        function that is to be minimized.
    columns : sequence of int, default=None
        Coordinates x_j that it depends on, counted without the time column; d is their number.
        None: all.
    only_if_likelier : bool, default=False
        Use it only where the marginal likelihood, with the hyperparameters that suit it, is larger
        than without it. The choice is made again at every hyperparameter search.

    References
    ----------
    J. Snoek et al., "Scalable Bayesian Optimization Using Deep Neural Networks", ICML 2015, use a
    quadratic prior mean for the same reason.

    Examples
    --------
    >>> from sktvbo import TimeVaryingGPRegressor
    >>> from sktvbo.gaussian_process import QuadraticMean
    >>> X = [[0.2, 0.2, 0.0], [0.4, 0.7, 1.0]]
    >>> gp = TimeVaryingGPRegressor(prior_mean=QuadraticMean(0.5), optimizer=None)
    >>> late = [[0.5, 0.5, 99.0], [1.0, 1.0, 99.0]]     # so late that only the prior mean counts
    >>> gp.fit(X, [0.1, 0.3]).predict(late).round(2)
    array([ 0.79, -1.58])
    """

    def __init__(
        self,
        depth: float = 0.5,
        columns: Sequence[int] | None = None,
        only_if_likelier: bool = False,
    ) -> None:
        self.depth = depth
        self.columns = columns
        self.only_if_likelier = only_if_likelier

    def check(self, n_dims: int | None = None) -> None:
        """Raise a ValueError for an invalid parameter.

        Parameters
        ----------
        n_dims : int, default=None
            Number of spatial coordinates, if known.
        """
        check_real(self.depth, "depth", self)
        check_choice(self.only_if_likelier, (True, False), "only_if_likelier", self)
        if self.columns is None:
            return
        high = None if n_dims is None else n_dims - 1
        given = np.atleast_1d(self.columns).tolist()
        columns = {check_int(column, "columns", self, low=0, high=high) for column in given}
        if np.ndim(self.columns) != 1 or not 0 < len(columns) == len(given):
            raise invalid("columns", "different columns, at least one", self.columns, self)

    def polynomial(self, n_dims: int) -> Polynomial:
        """Return the mean as a function of places with ``n_dims`` coordinates.

        Parameters
        ----------
        n_dims : int

        Returns
        -------
        Polynomial
        """
        self.check(n_dims)
        columns = np.arange(n_dims) if self.columns is None else np.asarray(self.columns, dtype=int)
        square = np.zeros(n_dims)
        square[columns] = -self.depth / np.sqrt(max(len(columns), 1) / 180.0)
        # −Σ_j ((x_j − ½)² − 1/12) = Σ_j (x_j − x_j² − 1/6)
        return Polynomial(float(square.sum()) / 6.0, -square, square)
