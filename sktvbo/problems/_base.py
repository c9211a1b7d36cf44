"""What every problem is: an objective over domain x [0, horizon], its noise and its optimum."""

import difflib
import inspect
import math
from numbers import Integral

import numpy as np
from scipy.stats import qmc
from sklearn.utils import check_random_state

from .._checks import real_array
from .._maximizer import search
from ..domain import FiniteSet, as_domain
from ..exceptions import InvalidObservationError

_FACTORIES = {}
_CACHE_SIZE = 4096

# A step is reached that much early: a clock that adds up its ticks arrives with a rounding error.
STEP_SLACK = 1e-9


def register(name, factory):
    """Enter a problem: ``factory`` takes the options as keywords and returns the `Problem`."""
    _FACTORIES[name] = factory


def available():
    """Names that `make` knows.

    Returns
    -------
    list of str
        Sorted.

    Examples
    --------
    >>> from sktvbo import problems
    >>> "ackley" in problems.available()
    True
    """
    return sorted(_FACTORIES)


def make(name, **options):
    """Make a problem by its name.

    Parameters
    ----------
    name : str
        One of `available`.
    **options
        ``horizon=600.0`` (seconds; the function's own time coordinate spans its full range over
        [0, horizon]), ``noise=0.05`` (variance of the noise as a fraction of the objective's
        variance over domain x [0, horizon]), ``random_state=None`` (of the noise). The sensor
        problems also take ``day=0``, a day or the (first, last) of several, and ``data_dir``.
        "markov-gp", "gp-abrupt", "gp-slow", "moving-bump" and "moving-peaks" count ``horizon`` in
        steps and have an absolute ``noise_variance`` instead of ``noise``. Other options are named
        in the error about one that a problem does not have.

    Returns
    -------
    Problem

    Raises
    ------
    ValueError
        An unknown name, or an option out of its range.
    TypeError
        An option that the problem does not have.
    MissingDataError
        The problem needs a data file that is not at hand.

    Notes
    -----
    The defaults are those of W-DBO appendix G.1: 600 seconds, 5 % of noise.

    Examples
    --------
    >>> from sktvbo import problems
    >>> problem = problems.make("ackley", horizon=600.0, noise=0.05, random_state=0)
    >>> x_star, f_star = problem.optimum(300.0)
    >>> x_star
    array([0.5, 0.5, 0.5])
    """
    if name not in _FACTORIES:
        close = difflib.get_close_matches(str(name), _FACTORIES, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(
            f"The name of a problem must be one of {', '.join(available())}; got {name!r}.{hint}"
        )
    factory = _FACTORIES[name]
    known = inspect.signature(factory).parameters
    unknown = [option for option in options if option not in known]
    if unknown:
        raise TypeError(
            f"The problem {name!r} has no option {unknown[0]!r}; its options are "
            f"{', '.join(known)}."
        )
    return factory(**options)


def check_positive(value, what, *, zero=False):
    """Return value as a finite float above zero (``zero=True``: or zero), or raise ValueError."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not (math.isfinite(number) and (number > 0.0 or (zero and number == 0.0))):
        raise ValueError(f"{what} must be a number {'>=' if zero else '>'} 0, got {value!r}.")
    return number


def check_whole(value, what, least, most=math.inf):
    """Raise ValueError unless value is a whole number from ``least`` to ``most``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or not least <= value <= most:
        limit = f"from {least} to {most}" if most < math.inf else f">= {least}"
        raise ValueError(f"{what} must be a whole number {limit}, got {value!r}.")


def numeric_maximum(values, domain, *, log2_samples=12, n_starts=8):
    """Maximize a vectorised function over a domain.

    A domain of at most 2**log2_samples members is enumerated, and so is any finite set. In others a
    Sobol set is searched, and the best points are improved by L-BFGS-B and by steps of integers and
    categories: good for smooth functions with a few dozen maxima, a guess beyond.

    Parameters
    ----------
    values : callable, (n, d) -> (n,)
    domain : Box, FiniteSet or ParameterSpace
    log2_samples : int, default=12
        Logarithm of the number of Sobol points.
    n_starts : int, default=8
        How many of them are improved.

    Returns
    -------
    ndarray of shape (d,)
    """

    def unit_values(U):
        return values(domain.from_unit(U))

    def minus(u):
        return -float(unit_values(u[np.newaxis])[0])

    candidates = domain.candidates(2**log2_samples)
    return domain.from_unit(search(unit_values, minus, domain, candidates, n_starts))


class Problem:
    """An objective f(x, t) to be maximized over x while the time t passes.

    A subclass defines ``_values(X, t)``, vectorised, and may define ``_argmax(t)``, the exact
    maximizer; both get validated arguments.

    Parameters
    ----------
    name : str
    domain : Box, FiniteSet, ParameterSpace or whatever `sktvbo.domain.as_domain` accepts
    horizon : float
        The problem lasts from 0 to there, in seconds (or in steps, should you say so).
    noise_variance : float, default=0.0
        Variance of the Gaussian noise that `observe` adds, in squared units of f.
    random_state : int, RandomState or None, default=None
        Of the noise.

    Attributes
    ----------
    name, domain, horizon, noise_variance
        As given; ``domain`` is a Box, a FiniteSet or a ParameterSpace.
    needs_data : bool
        Whether the problem needs a data file.

    Raises
    ------
    ValueError
        A horizon or a noise variance that makes no sense.
    DomainError
        A domain that makes no sense.

    Examples
    --------
    >>> import numpy as np
    >>> from sktvbo.problems import Problem
    >>> class Ramp(Problem):
    ...     def _values(self, X, t):
    ...         return X[:, 0] * np.cos(t)
    >>> problem = Ramp("ramp", [(0, 1)], horizon=10.0)
    >>> problem.value(0.5, t=0.0)
    0.5
    """

    needs_data = False

    def __init__(self, name, domain, horizon, noise_variance=0.0, random_state=None):
        self.name = name
        self.domain = as_domain(domain)
        self.horizon = check_positive(horizon, "horizon")
        self.noise_variance = check_positive(noise_variance, "noise_variance", zero=True)
        self._optima = {}
        self.seed(random_state)

    def _values(self, X, t):
        """Noise-free values; X (n, d) lies in the domain, t is a float or of shape (n,)."""
        raise NotImplementedError(f"{type(self).__name__} must define _values(X, t).")

    def _argmax(self, t):
        """Maximizer (d,) at time t; the default searches numerically."""
        return numeric_maximum(lambda X: self._values(X, t), self.domain)

    def seed(self, random_state=None):
        """Restart the noise.

        Parameters
        ----------
        random_state : int, RandomState or None, default=None

        Returns
        -------
        Problem
            self
        """
        self._rng = check_random_state(random_state)
        return self

    def value(self, x, t):
        """Noise-free objective.

        Parameters
        ----------
        x : array-like of shape (d,), a scalar when d = 1, or a dict of named parameters
        t : float
            Time in [0, horizon].

        Returns
        -------
        float

        Raises
        ------
        InvalidObservationError
            A point or a time that cannot be used.
        DomainError
            A point outside of the domain.
        """
        x = self.domain.validate_point(x)
        return float(self._values(x[np.newaxis], float(self._check_time(t)))[0])

    def values(self, X, t):
        """Noise-free objective at many points.

        Parameters
        ----------
        X : array-like of shape (n, d), or a list of dicts of named parameters
        t : float or array-like of shape (n,)
            Time in [0, horizon], one for all or one per row.

        Returns
        -------
        ndarray of shape (n,)

        Raises
        ------
        InvalidObservationError
            Points or times that cannot be used.
        DomainError
            A point outside of the domain.
        """
        X = self.domain.validate_points(X)
        return self._values(X, self._check_time(t, n=len(X)))

    def observe(self, x, t):
        """Objective with Gaussian noise, drawn from the problem's own random state.

        Parameters
        ----------
        x : array-like of shape (d,), a scalar when d = 1, or a dict of named parameters
        t : float
            Time in [0, horizon].

        Returns
        -------
        float

        Raises
        ------
        InvalidObservationError
            A point or a time that cannot be used.
        DomainError
            A point outside of the domain.
        """
        value = self.value(x, t)
        return value + math.sqrt(self.noise_variance) * float(self._rng.standard_normal())

    def optimum(self, t):
        """Where the objective is best at a time, and how good it is there.

        Parameters
        ----------
        t : float
            Time in [0, horizon].

        Returns
        -------
        x_star : ndarray of shape (d,)
            A row of the domain; ``domain.decode(x_star)`` names its parameters.
        f_star : float
            Noise-free value at x_star.

        Raises
        ------
        InvalidObservationError
            A time that cannot be used.
        """
        t = float(self._check_time(t))
        if t not in self._optima:
            if len(self._optima) >= _CACHE_SIZE:
                self._optima.clear()
            self._optima[t] = self._find_optimum(t)
        x_star, f_star = self._optima[t]
        return x_star.copy(), f_star

    def _find_optimum(self, t):
        x_star = self.domain.validate_point(self._argmax(t))
        return x_star, float(self._values(x_star[np.newaxis], t)[0])

    def _check_time(self, t, n=None):
        """Time(s) as a 0-d array, or of shape (n,) where n is given and t is not a scalar."""
        times = real_array(t, "t", InvalidObservationError)
        if times.ndim and (n is None or times.shape != (n,)):
            expected = "a scalar" if n is None else f"a scalar or of shape ({n},)"
            raise InvalidObservationError(f"t must be {expected}, got shape {times.shape}.")
        slack = 1e-9 * self.horizon
        inside = (times >= -slack) & (times <= self.horizon + slack)
        if not np.all(inside):
            wrong = float(times[~inside][0]) if times.ndim else float(times)
            raise InvalidObservationError(
                f"t must lie in [0, {self.horizon}], the span of {self.name!r}, got {wrong}; "
                "make the problem with a longer horizon."
            )
        return np.clip(times, 0.0, self.horizon)

    def _objective_variance(self):
        """Variance of f over domain x [0, horizon], from a fixed Sobol set."""
        if isinstance(self.domain, FiniteSet):
            points = self.domain.points
            times = qmc.Sobol(1, scramble=False).random_base2(9)[:, 0]
            X, u = np.tile(points, (len(times), 1)), np.repeat(times, len(points))
        else:
            # The shift keeps the set off the dyadic fractions, where periodic functions repeat.
            U = (qmc.Sobol(self.domain.n_dims + 1, scramble=False).random_base2(14) + 0.5**0.5) % 1
            X, u = self.domain.quantile(U[:, :-1]), U[:, -1]
        return float(np.var(self._values(X, u * self.horizon)))

    def _set_noise(self, noise):
        """Set the noise variance to a fraction of the objective's variance."""
        noise = check_positive(noise, "noise", zero=True)
        self.noise_variance = noise * self._objective_variance()

    def __repr__(self):
        return (
            f"<{type(self).__name__} {self.name!r}: {self.domain.n_dims} dimension(s), "
            f"horizon {self.horizon:g}, noise variance {self.noise_variance:.4g}>"
        )


class CallableProblem(Problem):
    """A user's function as a problem; made by `from_callable`."""

    def __init__(self, function, domain, horizon, optimum, noise_variance, random_state, name):
        super().__init__(name, domain, horizon, noise_variance, random_state)
        self.function = function
        self.optimum_function = optimum

    def _values(self, X, t):
        times = np.broadcast_to(t, len(X)).tolist()
        values = [self._call(self.function, self.domain.decode(x), s) for x, s in zip(X, times)]
        return np.array(values, dtype=np.float64)

    def _call(self, function, x, t):
        value = function(x, t)
        if np.ndim(value) != 0 or not np.isfinite(value):
            raise InvalidObservationError(
                f"The function of {self.name!r} must return one finite number, "
                f"got {value!r} at x={x}, t={t}."
            )
        return value

    def _argmax(self, t):
        return numeric_maximum(
            lambda X: self._values(X, t), self.domain, log2_samples=10, n_starts=4
        )

    def _find_optimum(self, t):
        if self.optimum_function is None:
            return super()._find_optimum(t)
        x_star, f_star = self.optimum_function(t)
        return self.domain.validate_point(x_star), float(f_star)


def from_callable(
    function,
    domain,
    *,
    horizon,
    optimum=None,
    noise_variance=0.0,
    random_state=None,
    name="callable",
):
    """Make a problem of a Python function.

    Parameters
    ----------
    function : callable, (x, t) -> float
        Noise-free objective, to be maximized; x is (d,), or a dict for named parameters, and t a
        float.
    domain : Box, FiniteSet, ParameterSpace, sequence of (low, high) pairs, \
            scipy.optimize.Bounds, or dict of named parameters
    horizon : float
        The problem lasts from 0 to there.
    optimum : callable, t -> (x_star, f_star), default=None
        The exact optimum. None: a finite set, or up to 1024 combinations of integers and
        categories, is enumerated, which is exact. Anything else is searched at 1024 Sobol points
        and the best four are improved, by L-BFGS-B and by steps of integers and categories, which
        is **approximate** and calls the function some thousand times per t, so that a regret may
        come out slightly wrong, even negative.
    noise_variance : float, default=0.0
        Variance of the Gaussian noise that `observe` adds.
    random_state : int, RandomState or None, default=None
        Of the noise.
    name : str, default="callable"

    Returns
    -------
    Problem

    Raises
    ------
    ValueError
        A horizon or a noise variance that makes no sense.
    DomainError
        A domain that makes no sense.

    Examples
    --------
    >>> from sktvbo.problems import from_callable
    >>> problem = from_callable(lambda x, t: -(x[0] - t / 10) ** 2, [(0, 1)], horizon=10.0)
    >>> x_star, f_star = problem.optimum(5.0)
    >>> print(x_star.round(4))
    [0.5]
    """
    if not callable(function):
        raise TypeError(f"function must be callable, got {type(function).__name__}.")
    if optimum is not None and not callable(optimum):
        raise TypeError(f"optimum must be callable or None, got {type(optimum).__name__}.")
    return CallableProblem(function, domain, horizon, optimum, noise_variance, random_state, name)
