"""The search for hyperparameters: where to start, what to maximize, with which priors."""

import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from .._validation import invalid
from ._conditioned import LOG_2PI
from ._newton import minimize, promise

# A search from nothing ends when its model promises no more nats than the first; one that goes on
# from an earlier one no more than the second: what is worth less, no data can tell.
_LEAST_GAIN, _WORTH_A_STEP = 1e-8, 1e-3

# The priors' derivatives are differences over this step in theta.
_STEP = 1e-5

# So much of the average information on a hyperparameter is added to that on each: where the search
# begins a few may be known to little more than nothing.
_DAMPING = 0.1

# What gains no more nats a row than this over noise has found little.
_LITTLE = 0.25

# A search that was stopped has converged all the same where no derivative is larger, relatively.
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
    """The covariance with the hyperparameters that maximize a criterion, and perhaps priors.

    Parameters
    ----------
    criterion : callable, (covariance, eval_gradient) -> (value, gradient)
        Such as the log marginal likelihood; the gradient in theta is None when it is not asked for.
        Asked for it "later", it may return a function that computes it in place of the gradient.
        Minus infinity makes the search turn back.
    covariance : SeparableCovariance
    start : ndarray of shape (n_theta,) or (n_starts, n_theta), default=None
        Where to start, clipped to the bounds; None is the covariance's own theta.
    optimizer : "fmin_l_bfgs_b" or callable
    n_restarts : int
        Further searches, from starts drawn uniformly within the bounds of theta.
    hyperpriors : dict of str to frozen scipy.stats distribution, or None
    random_state : int, RandomState or None
    warn : bool, default=False
        Warn of a search that did not converge.
    hessian : ndarray of shape (n_theta, n_theta), default=None
        Of minus the criterion at the first start, nearly.

    Returns
    -------
    covariance : SeparableCovariance
    hessian : ndarray of shape (n_theta, n_theta) or None
        As above, where the search has ended; None where that is not known.

    Raises
    ------
    ValueError
        Bounds that are not finite, or a prior that gives the start no density.
    """
    bounds = covariance.bounds
    if not len(bounds):
        return covariance, None
    if not np.isfinite(bounds).all():
        got = f"{np.exp(bounds).tolist()}"
        raise invalid("The bounds of all hyperparameters to be searched", "finite", got=got)
    prior = HyperPrior(hyperpriors, covariance.names)

    def objective(theta, eval_gradient=True):
        value, gradient = criterion(covariance.with_theta(theta), eval_gradient)
        value += prior(theta)
        if callable(gradient):
            return -value, lambda: -gradient() - prior.gradient(theta)
        return (-value, -gradient - prior.gradient(theta)) if eval_gradient else -value

    starts = list(np.clip(np.atleast_2d(covariance.theta if start is None else start), *bounds.T))
    if n_restarts:
        rng = check_random_state(random_state)
        starts.extend(rng.uniform(*bounds.T, (n_restarts, len(bounds))))
    hessians = [hessian] + [None] * (len(starts) - 1)
    found = [
        _descend(objective, prior, theta, bounds, optimizer, known, criterion)
        for theta, known in zip(starts, hessians)
    ]
    theta, _, hessian, trouble = min(found, key=lambda result: result[1])
    if warn and trouble:
        warnings.warn(
            f"The search of the hyperparameters stopped before it converged ({trouble}). Scale X "
            "and y to moderate ranges, raise n_restarts_optimizer, or, with a kernel of your own, "
            "check its gradient.",
            ConvergenceWarning,
            stacklevel=6,  # the caller of fit
        )
    return covariance.with_theta(theta), hessian


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What a search leaves to the next one.

    Attributes
    ----------
    hessian : ndarray of shape (n_theta, n_theta) or None
        Of minus what was maximized, nearly, where it has ended.
    n : int
        Number of rows.
    n_lost : int
        How many searches in a row went on from the one before and found what `explains_little`.
    """

    hessian: np.ndarray | None = None
    n: int = 0
    n_lost: int = 0

    def hessian_for(self, n_theta, n):
        """The Hessian for as many hyperparameters and about as many rows, or None."""
        if self.hessian is None or len(self.hessian) != n_theta:
            return None
        return self.hessian if 0.9 * self.n <= n <= 1.1 * self.n else None

    def scaled_to(self, n):
        """The Hessian that as many rows have if each tells as much, or None."""
        return None if self.hessian is None else self.hessian * (n / self.n)

    def gain(self, gp, hyperpriors):
        """What a search promises a conditioned GP, in nats; infinite where that is not known."""
        covariance = gp.covariance
        bounds, theta = covariance.bounds, covariance.theta
        if not len(bounds):
            return 0.0
        hessian = self.hessian_for(len(bounds), gp.rows.n)
        if hessian is None:
            return np.inf
        slope = gp.gradient + HyperPrior(hyperpriors, covariance.names).gradient(theta)
        return promise(-slope, hessian, theta, bounds)


def log_posterior(gp, hyperpriors):
    """Return the log likelihood of a conditioned GP plus the log density of its priors."""
    covariance = gp.covariance
    return gp.objective + HyperPrior(hyperpriors, covariance.names)(covariance.theta)


def explains_little(gp):
    """Whether a conditioned GP has hardly more evidence than a constant and noise at their best."""
    z = gp.rows.targets
    with np.errstate(over="ignore"):
        power = z.var() if gp.mean.is_learnt else np.mean(z * z)
    if not power > gp.covariance.noise_variance:
        return False  # there is nothing to explain
    return gp.objective < len(z) * (_LITTLE - 0.5 * (LOG_2PI + 1.0 + np.log(power)))


def _descend(objective, prior, theta, bounds, optimizer, hessian, criterion):
    """One search: theta, its objective, the Hessian, and what stopped the search too early."""
    if prior(theta) == -np.inf:
        raise invalid(
            "hyperpriors",
            "distributions with a density at the start of the search",
            got=f"no density at {prior.where(theta)}",
            advice="Start elsewhere, or use a distribution that covers the bounds.",
        )
    if callable(optimizer):
        return *optimizer(objective, theta, bounds=bounds.copy()), None, ""
    least_gain = _WORTH_A_STEP
    if hessian is None:
        least_gain, hessian = _LEAST_GAIN, partial(_first_hessian, criterion)
    lazily = partial(objective, eval_gradient="later")
    found = minimize(lazily, theta, bounds, hessian=hessian, least_gain=least_gain)
    uphill = found.x - np.clip(found.x - found.slope, *bounds.T)
    converged = not found.trouble or np.abs(uphill).max() <= _FLAT * max(1.0, abs(found.value))
    return found.x, found.value, found.hessian, "" if converged else found.trouble


def _first_hessian(criterion):
    """What a criterion that was evaluated knows about the curvature there, or None."""
    H = criterion.information() if hasattr(criterion, "information") else None
    if H is None:
        return None
    damping = _DAMPING * np.trace(H) / len(H)
    return H + damping * np.eye(len(H)) if 0.0 < damping < np.inf else None


class HyperPrior:
    """Log density of hyperparameters, as a function of theta, their logarithms.

    Parameters
    ----------
    distributions : dict of str to frozen scipy.stats distribution, or None
        Over the hyperparameters themselves, not their logarithms; one of several lengthscales is
        for each of them.
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
            where = [i for i, known in enumerate(names) if known == name]
            if not where:
                known = ", ".join(dict.fromkeys(names)) or "none"
                expected = f"the name of a hyperparameter that is learnt ({known})"
                raise invalid("A key of hyperpriors", expected, name)
            self._terms.append((name, distribution, where))

    def __call__(self, theta):
        """Log density at theta."""
        return sum(float(np.sum(d.logpdf(np.exp(theta[i])))) for _, d, i in self._terms)

    def gradient(self, theta):
        """Derivatives (n_theta,); central differences, as scipy.stats knows none."""
        gradient = np.zeros(len(theta))
        for _, distribution, i in self._terms:
            up, down = (distribution.logpdf(np.exp(theta[i] + h)) for h in (_STEP, -_STEP))
            # At an edge of what the prior allows there is none.
            inside = np.isfinite(up) & np.isfinite(down)
            gradient[i] = np.subtract(up, down, out=np.zeros(len(i)), where=inside) / (2.0 * _STEP)
        return gradient

    def where(self, theta):
        """The hyperparameters without density at theta, in words."""
        return ", ".join(
            f"{name} = {np.exp(theta[i])}"
            for name, d, i in self._terms
            if not np.all(np.isfinite(d.logpdf(np.exp(theta[i]))))
        )
