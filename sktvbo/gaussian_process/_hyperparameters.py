"""Search of the hyperparameters: objective, priors, and the record for the next search."""

from dataclasses import dataclass
from functools import partial
from operator import attrgetter

import numpy as np
from scipy.stats import rv_continuous
from sklearn.exceptions import ConvergenceWarning

from .._validation import check_random_state, invalid
from .._warnings import warn_caller
from ._conditioned import LOG_2PI
from ._quasi_newton import Minimum, minimize, predicted_gain

# A search ends when its model predicts a smaller gain in nats: the first number without a Hessian,
# the second with that of an earlier search. Smaller gains are below what data can distinguish.
_LEAST_GAIN, _LEAST_GAIN_AGAIN = 1e-8, 1e-3

# Step in theta of the finite differences of priors.
_STEP = 1e-5

# This part of the average information on a hyperparameter is added to the information on each: at
# the start some may have almost none.
_DAMPING = 0.1

# A model explains little if it gains at most this many nats a row over pure noise.
_LITTLE = 0.25

# A stopped search has converged if no relative derivative is larger.
_FLAT = 1e-3


def search(
    criterion,
    covariance,
    start=None,
    *,
    optimizer,
    n_restarts,
    hyperpriors,
    random_state,
    warn=False,
    hessian=None,
):
    """Search the hyperparameters that maximize a criterion, and priors: a computation in parts.

    Parameters
    ----------
    criterion : Criterion
    covariance : SeparableCovariance
    start : ndarray of shape (n_theta,) or (n_starts, n_theta), default=None
        Starts, clipped to the bounds; None: theta of the covariance.
    optimizer : "fmin_l_bfgs_b" or callable
        A search by a callable is a single part.
    n_restarts : int
        Number of further searches, from uniform starts within the bounds of theta.
    hyperpriors : dict of str to frozen scipy.stats distribution, or None
    random_state : int, RandomState, Generator or None
    warn : bool, default=False
        Warn if the search did not converge.
    hessian : ndarray of shape (n_theta, n_theta), default=None
        Approximate Hessian of minus the criterion at the first start.

    Returns
    -------
    covariance : SeparableCovariance
    hessian : ndarray of shape (n_theta, n_theta) or None
        Approximate Hessian at the end of the search; None if unknown.

    Raises
    ------
    ValueError
        Bounds that are not finite, or a prior without density at the start.
    """
    bounds = covariance.bounds
    if not len(bounds):
        return covariance, None
    if not np.isfinite(bounds).all():
        got = f"{np.exp(bounds).tolist()}"
        raise invalid("The bounds of all hyperparameters to be searched", "finite", got=got)
    objective = Objective(criterion, covariance, hyperpriors)
    starts = list(np.clip(np.atleast_2d(covariance.theta if start is None else start), *bounds.T))
    if n_restarts:
        rng = check_random_state(random_state)
        starts.extend((yield partial(rng.uniform, *bounds.T, (n_restarts, len(bounds)))))
    functions, found = (objective.value, objective.slope), []
    for theta in starts:
        objective.check(theta)
        if callable(optimizer):
            known = yield partial(optimizer, objective, theta, bounds=bounds.copy())
            found.append(Minimum(*known, slope=None, hessian=None))
            continue
        options = {"hessian": hessian, "least_gain": _LEAST_GAIN_AGAIN}
        if hessian is None or found:  # it is that of the first start
            options = {"hessian": objective.information, "least_gain": _LEAST_GAIN}
        found.append((yield from minimize(*functions, theta, bounds, **options)))
    best = min(found, key=attrgetter("value"))
    if warn and best.message and not _is_flat(best, bounds):
        warn_caller(
            "The search of the hyperparameters stopped before it converged "
            f"({best.message}). Scale X and y to moderate ranges, raise n_restarts_optimizer, or "
            "check the gradient of a custom kernel.",
            ConvergenceWarning,
        )
    return covariance.with_theta(best.x), best.hessian


def _is_flat(found, bounds):
    """Return True if a search that was stopped has converged."""
    uphill = found.x - np.clip(found.x - found.slope, *bounds.T)
    return np.abs(uphill).max() <= _FLAT * max(1.0, abs(found.value))


@dataclass(frozen=True, eq=False)
class SearchRecord:
    """Record of a search, for the next one.

    Attributes
    ----------
    hessian : ndarray of shape (n_theta, n_theta) or None
        Approximate Hessian of minus the objective at the end of the search.
    n : int
        Number of rows.
    n_failed : int
        Number of consecutive searches from the previous result whose model `explains_little`.
    other : tuple of (ndarray of shape (n_theta,), SearchRecord), or None
        Result and record of the latest search with the other choice of prior mean, if any.
    """

    hessian: np.ndarray | None = None
    n: int = 0
    n_failed: int = 0
    other: tuple | None = None

    def hessian_for(self, n_theta, n):
        """Return the Hessian if it has this size and n differs by at most a tenth, or None."""
        if self.hessian is None or len(self.hessian) != n_theta:
            return None
        return self.hessian if 0.9 * self.n <= n <= 1.1 * self.n else None

    def start_of_other(self, other, covariance):
        """Return the start of a search with the other prior mean for the same rows, and its record.

        From that of its latest search, or else from the ``covariance`` that this search has found.
        """
        start, known = other or (covariance.theta, self)
        if len(start) != len(covariance.theta):
            start, known = covariance.theta, self
        hessian = known.scaled_to(self.n)
        return np.clip(start, *covariance.bounds.T), SearchRecord(hessian, self.n, self.n_failed)

    def scaled_to(self, n):
        """Return the Hessian scaled to n equally informative rows, or None."""
        return None if self.hessian is None else self.hessian * (n / self.n)

    def predicted_gain(self, gp, hyperpriors):
        """Return the predicted gain of a search for a GP, in nats; infinite if unknown."""
        bounds, theta = gp.covariance.bounds, gp.covariance.theta
        if not len(theta):
            return 0.0
        hessian = self.hessian_for(len(theta), gp.rows.n)
        if hessian is None:
            return np.inf
        slope = gp.gradient + HyperPrior(hyperpriors, gp.covariance.names).gradient(theta)
        return predicted_gain(-slope, hessian, theta, bounds)


def log_posterior(gp, hyperpriors):
    """Return the log likelihood of a conditioned GP plus the log density of its priors."""
    covariance = gp.covariance
    return gp.objective + HyperPrior(hyperpriors, covariance.names)(covariance.theta)


def explains_little(gp):
    """Return True if a GP has hardly more evidence than the best constant plus noise."""
    z = gp.rows.targets
    with np.errstate(over="ignore"):
        power = z.var() if gp.mean.is_learnt else np.mean(z * z)
    if not power > gp.covariance.noise_variance:
        return False  # y is pure noise
    return gp.objective < len(z) * (_LITTLE - 0.5 * (LOG_2PI + 1.0 + np.log(power)))


class Objective:
    """Minus a criterion and priors, as a function of theta.

    Slope and information at a place reuse the evaluation of the value there, if it was the last.

    Parameters
    ----------
    criterion, covariance, hyperpriors
        See `search`.
    """

    def __init__(self, criterion, covariance, hyperpriors):
        self._criterion, self._covariance = criterion, covariance
        self.prior = HyperPrior(hyperpriors, covariance.names)
        self._theta = self._gradient = None

    def check(self, start):
        """Raise an error if the priors have no density at the start of a search."""
        if self.prior(start) == -np.inf:
            raise invalid(
                "hyperpriors",
                "distributions with a density at the start of the search",
                got=f"no density at {self.prior.excluded(start)}",
                advice="Start elsewhere, or use a distribution that covers the bounds.",
            )

    def __call__(self, theta, eval_gradient=True):
        """Return the value, or value and slope."""
        value = self.value(theta, eval_gradient and "later")
        return (value, self.slope(theta)) if eval_gradient else value

    def value(self, theta, eval_gradient="later"):
        value, gradient = self._criterion(self._covariance.with_theta(theta), eval_gradient)
        self._theta, self._gradient = (theta, gradient) if eval_gradient else (None, None)
        return -(value + self.prior(theta))

    def slope(self, theta):
        self._evaluate(theta)
        gradient = self._gradient
        return -(gradient() if callable(gradient) else gradient) - self.prior.gradient(theta)

    def information(self, theta):
        """Return the damped information of the criterion, or None."""
        self._evaluate(theta)
        H = self._criterion.information()
        if H is None:
            return None
        damping = _DAMPING * np.trace(H) / len(H)
        return H + damping * np.eye(len(H)) if 0.0 < damping < np.inf else None

    def _evaluate(self, theta):
        if self._theta is None or not np.array_equal(theta, self._theta):
            self.value(theta)


class HyperPrior:
    """Log density of hyperparameters as a function of theta, their logarithms.

    Parameters
    ----------
    distributions : dict of str to frozen scipy.stats distribution, or None
        Distributions of the hyperparameters themselves, not their logarithms; the same one for all
        lengthscales of a kernel.
    names : list of str
        Name of each entry of theta.
    """

    def __init__(self, distributions, names):
        self._terms = []
        for name, distribution in (distributions or {}).items():
            if not hasattr(distribution, "logpdf"):
                expected = (
                    "a frozen scipy.stats distribution, such as scipy.stats.gamma(3, scale=0.1)"
                )
                raise invalid(f"hyperpriors[{name!r}]", expected, distribution)
            if isinstance(distribution, rv_continuous) and distribution.shapes:
                shapes = "".join(f"{shape}=..., " for shape in distribution.shapes.split(", "))
                kind = f"scipy.stats.{distribution.name}"
                advice = f"Give its parameters: {kind}({shapes}scale=...)."
                expected = "a frozen distribution"
                raise invalid(f"hyperpriors[{name!r}]", expected, got=kind, advice=advice)
            where = [i for i, known in enumerate(names) if known == name]
            if not where:
                known = ", ".join(dict.fromkeys(names)) or "none"
                expected = f"the name of a hyperparameter that is learnt ({known})"
                raise invalid("A key of hyperpriors", expected, name)
            self._terms.append((name, distribution, where))

    def __call__(self, theta):
        """Return the log density at theta."""
        values = np.exp(theta)
        return sum(float(np.add.reduce(d.logpdf(values[i]), axis=None)) for _, d, i in self._terms)

    def gradient(self, theta):
        """Return derivatives (n_theta,).

        Distributions without a ``log_slope``, as those of scipy.stats, have central differences.
        """
        gradient, values = np.zeros(len(theta)), np.exp(theta)
        for _, distribution, i in self._terms:
            if hasattr(distribution, "log_slope"):
                gradient[i] = distribution.log_slope(values[i])
                continue
            up, down = (distribution.logpdf(np.exp(theta[i] + h)) for h in (_STEP, -_STEP))
            # 0 at an edge of the support.
            inside = np.isfinite(up) & np.isfinite(down)
            gradient[i] = np.subtract(up, down, out=np.zeros(len(i)), where=inside) / (2.0 * _STEP)
        return gradient

    def excluded(self, theta):
        """Return names and values of the hyperparameters without density at theta."""
        return ", ".join(
            f"{name} = {np.exp(theta[i])}"
            for name, d, i in self._terms
            if not np.all(np.isfinite(d.logpdf(np.exp(theta[i]))))
        )
