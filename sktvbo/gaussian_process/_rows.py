"""What was observed: rows of inputs and targets, known variances, and the present time."""

from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import numpy as np

from .._arrays import Room, grown
from .._validation import check_int, invalid
from ._prior_mean import Polynomial


@dataclass(frozen=True)
class Layout:
    """Where time stands among the columns of X, and from when it counts inside.

    Attributes
    ----------
    position : int
        Of the time column, counted from the left.
    origin : float
        Subtracted from all times, so that Unix timestamps lose no precision.
    """

    position: int
    origin: float

    def split(self, X):
        """X (n, d + 1) as space (n, d), C-ordered, and time (n,) since the origin."""
        if self.position == X.shape[1] - 1:
            S = np.ascontiguousarray(X[:, :-1])
        else:
            S = np.delete(X, self.position, axis=1)
        return S, X[:, self.position] - self.origin


# A few rows have no scale. Where hyperparameters are not learnt, it is that of the first rows with
# this many different values, or of this many rows that differ at all.
_VALUES, _ROWS = 10, 100

# From this many rows on, moments are updated and not computed from all rows.
_MANY = 1000

_ARRAYS = ("X", "y", "variance", "total")


@dataclass(frozen=True)
class Moments:
    """Of some numbers.

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
        return cls(len(y), float(y.mean()), float(y.std()))

    def plus(self, other):
        """Of both (Chan, Golub & LeVeque 1983)."""
        n, gap = self.n + other.n, other.mean - self.mean
        part = other.n / n
        within = np.hypot(np.sqrt(1.0 - part) * self.std, np.sqrt(part) * other.std)
        std = np.hypot(within, np.sqrt(part * (1.0 - part)) * gap)
        return Moments(n, float(self.mean + part * gap), float(std))


@dataclass(frozen=True, eq=False)
class Rows:
    """Training rows, as a value: every change makes another one.

    Attributes
    ----------
    X : ndarray of shape (n, d + 1)
    y : ndarray of shape (n,)
        Targets, in the units given.
    variance : ndarray of shape (n,)
        Known variance of each observation, in units of y².
    total : ndarray of bool of shape (n,)
        Whether ``variance`` is all the noise that the row has, or comes on top of the model's.
    now : float
        Present time, from which ages count, in the user's unit.
    layout : Layout
    standardize : bool
        Whether location and scale follow y at every change. They do until y has a scale, and are
        held from then on: in the units of y, so are the hyperparameters.
    location, scale : float
        y is standardized as (y − location) / scale.
    prior_mean : Polynomial or None
        Of the standardized y, beside a constant.
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
    room: Room | None = field(default=None, repr=False)

    def __getstate__(self):
        # A copy or a pickle is the same whether or not the properties below were ever asked for,
        # and whatever room there is.
        return {f.name: getattr(self, f.name) for f in fields(self)} | {"room": None}

    @classmethod
    def of(cls, X, y, variance, total, layout, **options):
        """Rows whose present time is their latest; options are other attributes."""
        now = float(X[:, layout.position].max())
        return cls(X, y, variance, total, now, layout, **options)._restandardized()

    @property
    def n(self):
        return len(self.y)

    @cached_property
    def _space_time(self):
        return self.layout.split(self.X)

    @property
    def S(self):
        """Space (n, d)."""
        return self._space_time[0]

    @property
    def t(self):
        """Time (n,) since the layout's origin."""
        return self._space_time[1]

    @property
    def latest(self):
        """The latest time, in the user's unit."""
        return float(self.X[:, self.layout.position].max())

    @property
    def ages(self):
        """Ages (n,) at the present time."""
        return (self.now - self.layout.origin) - self.t

    @cached_property
    def targets(self):
        """Standardized y (n,), less the prior mean."""
        z = (self.y - self.location) / self.scale
        return z if self.prior_mean is None else z - self.prior_mean(self.S)

    @cached_property
    def _is_plain(self):
        """Whether no variance is known beforehand."""
        return not (self.total.any() or self.variance.any())

    def noise(self, covariance, rows=None):
        """Noise variance (n,) under a covariance, in units of the standardized y."""
        if rows is None:
            if self._is_plain:
                return covariance.noise(self.ages)
            rows = slice(None)
        ages = self.now - self.X[rows, self.layout.position]
        model = np.where(self.total[rows], 0.0, covariance.noise(ages))
        return model + self.variance[rows] / self.scale / self.scale

    def noise_gradient(self, covariance, w):
        """Σ_i w_i ∂noise_i/∂theta, for the noise's part of theta."""
        w = w if self._is_plain else np.where(self.total, 0.0, w)
        return covariance.noise_gradient(w, self.ages)

    def append(self, X, y, variance, total, standardize=None):
        """These rows with others (m, d + 1) behind them.

        ``standardize`` says whether location and scale follow y; None: as before.
        """
        old = {name: getattr(self, name) for name in _ARRAYS}
        added = {"X": X, "y": y, "variance": variance, "total": total}
        arrays, room = grown(old, added, self.room)
        rows = replace(
            self,
            **arrays,
            room=room,
            standardize=self.standardize if standardize is None else standardize,
            now=max(self.now, float(X[:, self.layout.position].max())),
        )
        if self.n >= _MANY and "moments" in vars(self):
            vars(rows)["moments"] = self.moments.plus(Moments.of(np.asarray(y)))
        return rows._restandardized()

    def drop(self, indices, standardize=None):
        """These rows without some of them; at least one stays. ``standardize`` as in `append`."""
        kept = {name: np.delete(getattr(self, name), indices, axis=0) for name in _ARRAYS}
        follow = self.standardize if standardize is None else standardize
        return replace(self, **kept, room=None, standardize=follow)._restandardized()

    @cached_property
    def moments(self):
        """Those of y; of many rows, kept up as rows are appended."""
        return Moments.of(self.y)

    @property
    def is_constant(self):
        """Whether y is constant, up to rounding."""
        rounding = 10.0 * np.finfo(float).eps * abs(self.moments.mean)
        return not self.moments.std > max(rounding, 1e-150)

    def held(self):
        """The same rows, with location and scale as they are from now on."""
        return replace(self, standardize=False)

    def scaled_as(self, other):
        """The same rows, with location and scale of others."""
        scales = {name: getattr(other, name) for name in ("standardize", "location", "scale")}
        return replace(self, **scales)

    def at(self, now):
        """The same rows at another present time."""
        return replace(self, now=float(now))

    def _restandardized(self):
        """The same rows, with location and scale of their y where these are to follow it."""
        if not self.standardize:
            return self
        location, scale = self.moments.mean, 1.0 if self.is_constant else self.moments.std
        enough = self.n >= _ROWS or len(np.unique(self.y)) >= _VALUES
        follow = self.is_constant or not enough
        rows = replace(self, location=location, scale=scale, standardize=follow)
        vars(rows)["moments"] = self.moments
        return rows


def time_position(column, n_columns, names, owner):
    """Position of the time column, counted from the left; the column is given as in ``owner``."""
    if isinstance(column, str):
        if column in names:
            return names.index(column)
        known = f"one of {names}" if names else "a position, as X has no column names"
        raise invalid("time_column", known, column, owner)
    try:
        return check_int(column, "time_column", low=-n_columns, high=n_columns - 1) % n_columns
    except ValueError:
        expected = f"the position or name of one of the {n_columns} columns of X"
        raise invalid("time_column", expected, column, owner) from None
