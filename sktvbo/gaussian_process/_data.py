"""Training data: inputs, targets, known variances, standardization and the present time."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from .._values import GrowableArrays, append_rows
from ._linear_mean import Trend
from ._prior_mean import Polynomial
from ._static_part import StaticPart


@dataclass(frozen=True)
class Layout:
    """Position of the time column in X, and the origin of internal times.

    Attributes
    ----------
    position : int
        Position of the time column, counted from the left.
    origin : float
        Subtracted from all times, so that Unix timestamps lose no precision.
    trend : Trend or None
        Columns of a linear mean.
    outside : tuple of int
        Positions of the trend's columns that are no coordinates of space.
    """

    position: int
    origin: float
    trend: Trend | None = None
    outside: tuple = ()

    def split(self, X):
        """Return space (n, d), C-ordered, and time (n,) since the origin, of X."""
        if self.outside:
            S = np.delete(X, (self.position, *self.outside), axis=1)
        elif self.position == X.shape[1] - 1:
            S = np.ascontiguousarray(X[:, :-1])
        else:
            S = np.delete(X, self.position, axis=1)
        return S, X[:, self.position] - self.origin

    def features(self, X):
        """Return the features F (n, q) of a linear mean, or None without one."""
        return None if self.trend is None else self.trend.features(X)

    def places(self, X):
        """Return space (n, d), time (n,) since the origin, and `features` of X."""
        return *self.split(X), self.features(X)

    def places_at(self, S, t):
        """Return the same for all columns but time (m, d), and times (m,) since the origin."""
        if self.trend is None:
            return S, t, None
        X = self.joined(S, t)
        return self.split(X)[0], t, self.features(X)

    def inside(self, n_columns):
        """Return the positions in X of the coordinates of space."""
        return np.delete(np.arange(n_columns), (self.position, *self.outside))

    def inside_of(self, mask):
        """Return a mask of the columns but time, or None, for the coordinates of space."""
        if mask is None or not self.outside:
            return mask
        whole = np.insert(mask, self.position, False)
        return whole[self.inside(len(whole))]

    def joined(self, S, t):
        """Return X (n, d + 1) of all its columns but time, and of times (n,) since the origin."""
        return np.insert(S, self.position, t + self.origin, axis=1)

    def points(self, S, t):
        """Return X of space (n, d) and time (n,) since the origin, at the center of the trend."""
        if not self.outside:
            return self.joined(S, t)
        X = np.empty((len(t), S.shape[1] + 1 + len(self.outside)))
        X[:, self.trend.columns] = self.trend.center
        X[:, self.inside(X.shape[1])] = S
        X[:, self.position] = t + self.origin
        return X


# Without a search, location and scale of y are held once y has the first number of distinct values,
# or the second number of rows that are not all equal.
_MIN_VALUES, _MIN_ROWS = 10, 100

# Update the moments of y, rather than compute them from all rows, from this many rows on.
_MIN_ROWS_TO_UPDATE = 1000

_ARRAYS = ("X", "y", "variance", "total")
_OF_OUTLIERS = ("weights", "scores")
_ALL = slice(None)


class Moments(NamedTuple):
    """Number, mean and standard deviation of values.

    Attributes
    ----------
    n : int
    mean, std : float
    """

    n: int
    mean: float
    std: float

    @classmethod
    def of(cls, y):
        n = len(y)
        mean = np.add.reduce(y) / n
        deviations = y - mean
        return cls(n, float(mean), float(np.sqrt(np.add.reduce(deviations * deviations) / n)))

    def plus(self, other):
        """Return the moments of both together (Chan, Golub & LeVeque 1983)."""
        n, gap = self.n + other.n, other.mean - self.mean
        part = other.n / n
        within = np.hypot(np.sqrt(1.0 - part) * self.std, np.sqrt(part) * other.std)
        std = np.hypot(within, np.sqrt(part * (1.0 - part)) * gap)
        return Moments(n, float(self.mean + part * gap), float(std))


@dataclass(frozen=True, eq=False)
class Rows:
    """Training rows, an immutable value: changes return another one.

    Attributes
    ----------
    X : ndarray of shape (n, d + 1)
    y : ndarray of shape (n,)
        Targets, in the units given.
    variance : ndarray of shape (n,)
        Known variance of each observation, in units of y².
    total : ndarray of bool of shape (n,)
        True where ``variance`` is the total noise variance of the row, without that of the model.
    now : float
        Present time, from which ages count, in the user's unit.
    layout : Layout
    standardize : bool
        True while location and scale follow y at every change; they are held once y has a scale.
    location, scale : float
        y is standardized as (y − location) / scale.
    prior_mean : Polynomial or None
        Prior mean of the standardized y, in addition to a constant.
    weights : ndarray of shape (n,) or None
        Divisors of the noise variance, at most 1, of robust regression; None: all are 1. Location
        and scale follow the rows with weight 1.
    scores : ndarray of shape (n,) or None
        Standardized residuals of the rows when they were added; see `_outliers`.
    heavy_tails : bool
        True if the scores have heavier tails than a Gaussian.
    static : StaticPart or None
        Summary of removed rows.
    """

    X: np.ndarray
    y: np.ndarray
    variance: np.ndarray
    total: np.ndarray
    now: float
    layout: Layout
    standardize: bool = False
    location: float = 0.0
    scale: float = 1.0
    prior_mean: Polynomial | None = None
    weights: np.ndarray | None = None
    scores: np.ndarray | None = None
    heavy_tails: bool = False
    static: StaticPart | None = None
    storage: GrowableArrays | None = field(default=None, repr=False)

    def __getstate__(self):
        # Values computed on demand and spare storage are not part of the state.
        return dict(zip(_FIELDS, _of_fields(vars(self)))) | {"storage": None}

    @classmethod
    def of(cls, X, y, variance, total, layout, **options):
        """Return rows whose present time is their latest; options are other attributes."""
        now = float(X[:, layout.position].max())
        rows = cls(X, y, variance, total, now, layout, **options)
        if rows.standardize:
            rows._standardize_y()
        return rows

    @cached_property
    def n(self):
        return len(self.y)

    @cached_property
    def S(self):
        """Space (n, d)."""
        return self.layout.split(self.X)[0]

    @cached_property
    def t(self):
        """Time (n,) since the layout's origin."""
        return self.X[:, self.layout.position] - self.layout.origin

    @property
    def features(self):
        """Features F (n, q) of a linear mean, or None."""
        return self.layout.features(self.X)

    @property
    def latest(self):
        """Latest time, in the user's unit."""
        return float(self.X[:, self.layout.position].max())

    @property
    def ages(self):
        """Ages (n,) at the present time."""
        return (self.now - self.layout.origin) - self.t

    @cached_property
    def targets(self):
        """Standardized y (n,), less the prior mean."""
        z = (self.y - self.location) / self.scale
        mean = self.mean_function
        return z if mean is None else z - mean(self.S)

    @cached_property
    def mean_function(self):
        """Mean of the standardized y in addition to a constant, a `Polynomial`, or None for 0.

        The prior mean, or with a static part its posterior mean.
        """
        if self.static is None:
            return self.prior_mean
        return self.static.mean(self.prior_mean, self.scale, self.S.shape[1])

    @cached_property
    def _has_no_known_variance(self):
        """True if no known variance is given."""
        return not (self.total.any() or self.variance.any())

    def noise(self, covariance, rows=_ALL, full=False):
        """Return the noise variance (n,) under a covariance, in units of the standardized y.

        For all rows, or an index of some; ``full``: with weight 1 for all.
        """
        ages = self.ages if rows is _ALL else self.now - self.X[rows, self.layout.position]
        noise = covariance.noise(ages)
        if not self._has_no_known_variance:
            known = self.variance[rows] / self.scale / self.scale
            noise = np.where(self.total[rows], 0.0, noise) + known
        return noise if self.weights is None or full else noise / self.weights[rows]

    def noise_gradient(self, covariance, w):
        """Return Σ_i w_i ∂noise_i/∂theta, for the noise's part of theta."""
        w = w if self._has_no_known_variance else np.where(self.total, 0.0, w)
        w = w if self.weights is None else w / self.weights
        return covariance.noise_gradient(w, self.ages)

    def append(self, X, y, variance, total, standardize=None, weights=None, scores=None):
        """Append rows X (m, d + 1).

        ``standardize``: True lets location and scale follow y, False holds them, None: as before.
        """
        added = {"X": X, "y": y, "variance": variance, "total": total}
        if self.weights is not None:
            added["weights"] = np.ones(len(y)) if weights is None else weights
            added["scores"] = np.zeros(len(y)) if scores is None else scores
        arrays, storage = append_rows(vars(self), added, self.storage)
        now = max(self.now, float(np.maximum.reduce(X[:, self.layout.position])))
        moments = None
        many = self.n >= _MIN_ROWS_TO_UPDATE and self.weights is None
        if many and "moments" in vars(self):
            moments = self.moments.plus(Moments.of(np.asarray(y)))
        return self._changed(arrays | {"storage": storage, "now": now}, standardize, moments)

    def drop(self, indices, standardize=None):
        """Drop rows; at least one remains. ``standardize`` as in `append`."""
        stay = np.ones(self.n, dtype=bool)
        stay[indices] = False
        names = _ARRAYS if self.weights is None else _ARRAYS + _OF_OUTLIERS
        arrays = {name: getattr(self, name)[stay] for name in names}
        return self._changed(arrays | {"storage": None}, standardize)

    @cached_property
    def moments(self):
        """Moments of y, of the rows with weight 1 if these are most; `append` updates them."""
        y = self.y
        if self.weights is not None:
            full = self.weights == 1.0
            y = y[full] if 2 * np.count_nonzero(full) >= len(y) else y
        return Moments.of(y)

    @property
    def is_constant(self):
        """True if y is constant, up to rounding."""
        rounding = 10.0 * np.finfo(float).eps * abs(self.moments.mean)
        return not self.moments.std > max(rounding, 1e-150)

    def with_held_scale(self):
        """Return rows with location and scale held."""
        return self._copy({"standardize": False})

    def with_scale_of(self, other):
        """Return rows with location and scale of other rows."""
        scales = {name: getattr(other, name) for name in ("location", "scale", "standardize")}
        return self._copy(scales)

    def with_weights(self, weights, standardize=None, **known):
        """Return rows with other weights (n,), and known scores and tails; see `append`."""
        return self._changed({"weights": weights, "storage": None} | known, standardize)

    def at(self, now):
        """Return rows with another present time."""
        return self._copy({"now": float(now)})

    def with_places(self, X):
        """Return rows with other inputs X (n, d + 1), whose last column has the same times."""
        layout = Layout(X.shape[1] - 1, self.layout.origin)
        return self._copy({"X": X, "layout": layout, "storage": None})

    def with_static(self, static):
        """Return rows with another static part."""
        return self._copy({"static": static})

    def with_prior_mean(self, prior_mean):
        """Return rows with another prior mean."""
        return self._copy({"prior_mean": prior_mean})

    def without_trend(self, mean):
        """Return rows with the posterior of a linear mean, but its constant, subtracted from y."""
        if self.layout.trend is None:
            return self
        y = self.y - self.scale * (mean.at(self.features) - mean.value)
        return self._copy({"y": y, "layout": replace(self.layout, trend=None), "storage": None})

    def without_mean(self):
        """Return rows without a location and a prior mean of y."""
        return self._copy({"location": 0.0, "prior_mean": None, "static": None})

    def _copy(self, changes):
        """Return rows with some fields replaced, without values computed on demand."""
        new = object.__new__(type(self))
        vars(new).update(zip(_FIELDS, _of_fields(vars(self))), **changes)
        return new

    def _changed(self, changes, standardize, moments=None):
        """Return rows with other arrays, whose moments may be given; see `append`."""
        new = self._copy(changes)
        follow = self.standardize if standardize is None else standardize
        vars(new)["standardize"] = follow
        if follow:
            if moments is not None:
                vars(new)["moments"] = moments
            new._standardize_y()
        return new

    def _standardize_y(self):
        """Set location and scale of new rows from their y."""
        n, mean, std = self.moments
        constant = self.is_constant
        enough = n >= _MIN_ROWS or len(set(self.y.tolist())) >= _MIN_VALUES
        scale = 1.0 if constant else std
        vars(self).update(location=mean, scale=scale, standardize=constant or not enough)


_FIELDS = tuple(Rows.__dataclass_fields__)
_of_fields = itemgetter(*_FIELDS)


def are_unconfirmed(weights):
    """Return a mask (n,) of the rows after the last one with weight 1.

    Later rows may show that they belong to a change of the function.
    """
    return np.minimum.accumulate(weights[::-1] < 1.0)[::-1]
