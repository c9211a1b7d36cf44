"""Regression of a transformed target, with quantiles and intervals in the units of the target."""

from __future__ import annotations

import copy
import warnings
from typing import TYPE_CHECKING

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.utils.validation import check_is_fitted

from .._sklearn import BaseEstimator
from .._validation import invalid
from ._intervals import Intervals
from ._regressor import TimeVaryingGP

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self

    from numpy.typing import ArrayLike
    from sklearn.base import TransformerMixin

    from .._typing import Array

# Bisections of the edge of a range, and the share of the way to the centre by which the slope of an
# inverse is tested.
_N_BISECTIONS, _SHARE = 60, 1e-6

# A transformed target may fall by this part of its range between rows: rounding.
_ROUNDING = 1e-9


class TransformedTargetGPRegressor(Intervals, TransformedTargetRegressor, BaseEstimator):
    """Regressor of a transformed target: scikit-learn's, with quantiles and intervals.

    With ``func=np.log`` and ``inverse_func=np.exp``, or with
    ``transformer=PowerTransformer("box-cox")``, predictions and intervals of a positive target are
    positive, and intervals are wide where the target is large.

    Parameters
    ----------
    regressor : TimeVaryingGPRegressor or another regressor of this package
        For the transformed target, usually with ``normalize_y=True``. A clone of it is fitted.
    transformer : transformer, default=None
        Transformer of columns, such as ``PowerTransformer``; strictly monotone. Not with ``func``.
    func, inverse_func : callable, default=None
        Strictly monotone functions of arrays, inverse to each other; None: the identity.
    check_inverse : bool, default=True
        Warn at `fit` if they are not.

    Attributes
    ----------
    regressor_ : estimator
        Fitted to the transformed target.
    transformer_ : transformer
        Fitted to the target.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X had names.

    Notes
    -----
    A monotone transformation maps quantiles to quantiles, but not means to means. So `predict` is
    the median of the target: with a logarithm exp(m), where m and s² are mean and variance of the
    transformed target. The mean is larger, exp(m + s² / 2) with a logarithm. For any transformation
    the average of many quantiles is close to it (see Examples).

    A quantile beyond the range of the inverse is the end of that range: 0 with a square root.

    Examples
    --------
    >>> import numpy as np
    >>> from sktvbo import TimeVaryingGPRegressor
    >>> from sktvbo.gaussian_process import TransformedTargetGPRegressor
    >>> rng = np.random.RandomState(0)
    >>> X = np.column_stack([rng.uniform(size=200), np.arange(200.0)])
    >>> y = np.exp(np.sin(6.0 * X[:, 0] + 0.02 * X[:, 1]) + 0.5 * rng.normal(size=200))
    >>> gp = TimeVaryingGPRegressor(normalize_y=True)
    >>> model = TransformedTargetGPRegressor(gp, func=np.log, inverse_func=np.exp).fit(X, y)
    >>> low, high = model.predict_interval([[0.2, 200.0]], level=0.9)
    >>> bool(0.0 < low[0] < model.predict([[0.2, 200.0]])[0] < high[0])
    True
    >>> shares = (np.arange(500) + 0.5) / 500
    >>> mean = model.predict_quantiles([[0.2, 200.0]], shares).mean(axis=1)
    >>> bool(mean[0] > model.predict([[0.2, 200.0]])[0])
    True
    """

    # scikit-learn's parameters, with ``regressor`` required.
    def __init__(
        self,
        regressor: TimeVaryingGP,
        *,
        transformer: TransformerMixin | None = None,
        func: Callable[[Array], Array] | None = None,
        inverse_func: Callable[[Array], Array] | None = None,
        check_inverse: bool = True,
    ) -> None:
        super().__init__(
            regressor,
            transformer=transformer,
            func=func,
            inverse_func=inverse_func,
            check_inverse=check_inverse,
        )

    @property
    def n_features_in_(self) -> int:
        """Number of columns of X in `fit`."""
        return super().n_features_in_

    def fit(self, X: ArrayLike, y: ArrayLike, **fit_params: Any) -> Self:
        """Fit the transformer to y, and the regressor to the transformed y.

        Parameters
        ----------
        X : array-like of shape (n, d + 1)
            As in the regressor.
        y : array-like of shape (n,)
        **fit_params
            Arguments of the regressor's ``fit``: ``y_variance`` is in units of the transformed y,
            squared.

        Returns
        -------
        self : TransformedTargetGPRegressor

        Raises
        ------
        ValueError
            Another regressor, data that are invalid for transformer or regressor, or a
            transformation that is not monotone; the estimator is unchanged.
        """
        if not isinstance(self.regressor, TimeVaryingGP):
            expected = "a regressor of sktvbo, such as TimeVaryingGPRegressor(normalize_y=True)"
            advice = "Put transformers of X before this estimator, in a Pipeline."
            raise invalid("regressor", expected, self.regressor, self, advice=advice)
        new = copy.copy(self)
        TransformedTargetRegressor.fit(new, X, y, **fit_params)
        values = np.unique(np.asarray(y, dtype=np.float64))
        z = new._transform(values)
        steps, largest = np.diff(z), _ROUNDING * np.ptp(z)
        rises = bool(np.all(steps >= -largest))
        if not (rises or np.all(steps <= largest)):
            i = int(np.argmin(steps) if steps[0] > 0.0 else np.argmax(steps))
            got = f"{z[i]:.6g} and {z[i + 1]:.6g} of y = {values[i]:.6g} and {values[i + 1]:.6g}"
            raise invalid("The transformed y", "monotone in y", got=got)
        new._rises, new._centre = rises, float(z[len(z) // 2])
        self.__dict__ = new.__dict__
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Return the median of the target: the inverse of the regressor's prediction.

        Parameters
        ----------
        X : array-like of shape (m, d + 1)

        Returns
        -------
        median : ndarray of shape (m,)
        """
        check_is_fitted(self)
        return self._inverse(self.regressor_.predict(X))

    def predict_quantiles(
        self, X: ArrayLike, quantiles: ArrayLike, *, include_noise: bool = True
    ) -> Array:
        """Return quantiles of new observations of the target.

        Parameters
        ----------
        X : array-like of shape (m, d + 1)
        quantiles : array-like of shape (k,)
            Probabilities of lower values, in (0, 1).
        include_noise : bool, default=True
            Quantiles of observations, rather than of the target without noise.

        Returns
        -------
        values : ndarray of shape (m, k)
        """
        check_is_fitted(self)
        shares = np.asarray(quantiles) if self._rises else 1.0 - np.asarray(quantiles)
        z = self.regressor_.predict_quantiles(X, shares, include_noise=include_noise)
        return self._inverse(z.ravel()).reshape(z.shape)

    def _transform(self, y):
        """Return transformed values (m,)."""
        return np.asarray(self.transformer_.transform(y[:, np.newaxis])).reshape(len(y))

    def _inverse(self, z):
        """Return the target at transformed values (m,); the end of the range beyond it."""
        known, ends = np.full(2, self._centre), np.array([z.min(), z.max()])
        if self._are_in_range(ends).all():
            known = ends
        else:
            for _ in range(_N_BISECTIONS):
                middle = 0.5 * known + 0.5 * ends
                valid = self._are_in_range(middle)
                known, ends = np.where(valid, middle, known), np.where(valid, ends, middle)
        return self._raw_inverse(np.clip(z, *known))

    def _are_in_range(self, z):
        """Return a mask (m,) of transformed values that have a target.

        Beyond the range an inverse is not finite, turns back as a square does, or has had a pole.
        """
        centre = np.full(1, self._centre)
        y, nearer, middle = map(self._raw_inverse, (z, z + _SHARE * (centre - z), centre))
        outward = np.sign(z - centre) * (1.0 if self._rises else -1.0)
        steps = (y - nearer) * outward, (nearer - middle) * outward
        return np.isfinite(y) & (steps[0] >= 0.0) & (steps[1] >= 0.0)

    def _raw_inverse(self, z):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            # scikit-learn's warning for values beyond the range of a PowerTransformer.
            warnings.filterwarnings("ignore", "Some values in column .* are NaN", UserWarning)
            y = self.transformer_.inverse_transform(z[:, np.newaxis])
        return np.asarray(y, dtype=np.float64).reshape(len(z))
