"""The search for hyperparameters: where to start, what to maximize, with which priors."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_random_state

from .._checks import invalid
from ._newton import minimize

# A search from nothing ends when its model promises no more nats than the first; one that goes on
# from an earlier one no more than the second: what is worth less, no data can tell.
_LEAST_GAIN, _WORTH_A_STEP = 1e-8, 1e-3

# The priors' derivatives are differences over this step in theta.
_STEP = 1e-5


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What a search leaves to the next one.

    Attributes
    ----------
    theta : ndarray of shape (n_theta,)
        Where it ended.
    hessian : ndarray of shape (n_theta, n_theta) or None
        Of minus the criterion there, nearly.
    n : int
        Number of rows.
    """

    theta: np.ndarray
    hessian: np.ndarray | None
    n: int

    def hessian_for(self, n_theta, n):
        """The Hessian for a search of as many hyperparameters and about as many rows, or None."""
        if self.hessian is None or len(self.hessian) != n_theta:
            return None
        return self.hessian if 0.9 * self.n <= n <= 1.1 * self.n else None


def search(
    criterion, covariance, n, knowledge=None, *, optimizer, n_restarts, hyperpriors, random_state
):
    """The covariance with the hyperparameters that maximize a criterion, and perhaps priors.

    Parameters
    ----------
    criterion : callable, (covariance, eval_gradient) -> (value, gradient)
        Such as the log marginal likelihood; the gradient in theta is None when it is not asked for.
        Minus infinity makes the search turn back.
    covariance : SeparableCovariance
    n : int
        Number of rows.
    knowledge : Knowledge, default=None
        From where to go on, clipped to the bounds; None: from the covariance's own theta.
    optimizer : "fmin_l_bfgs_b" or callable
    n_restarts : int
        Further searches, from starts drawn uniformly within the bounds of theta.
    hyperpriors : dict of str to frozen scipy.stats distribution, or None
    random_state : int, RandomState or None

    Returns
    -------
    covariance : SeparableCovariance
    knowledge : Knowledge

    Raises
    ------
    ValueError
        Bounds that are not finite, or a prior that gives the start no density.
    """
    bounds = covariance.bounds
    if not len(bounds):
        return covariance, Knowledge(covariance.theta, None, n)
    if not np.isfinite(bounds).all():
        got = f"{np.exp(bounds).tolist()}"
        raise invalid("The bounds of all hyperparameters to be searched", "finite", got=got)
    objective = Objective(criterion, covariance, HyperPrior(hyperpriors, covariance.names))
    first = covariance.theta if knowledge is None else knowledge.theta
    starts, hessian = [np.clip(first, *bounds.T)], None
    if knowledge is not None:
        hessian = knowledge.hessian_for(len(bounds), n)
    if n_restarts:
        rng = check_random_state(random_state)
        starts.extend(rng.uniform(*bounds.T, (n_restarts, len(bounds))))
    found = [_descend(objective, starts[0], bounds, optimizer, hessian)]
    found += [_descend(objective, theta, bounds, optimizer) for theta in starts[1:]]
    theta, _, hessian = min(found, key=lambda descent: descent[1])
    return covariance.with_theta(theta), Knowledge(theta, hessian, n)


class Objective:
    """Minus a criterion and minus log priors, as a function of theta; see `search`."""

    def __init__(self, criterion, covariance, prior):
        self._criterion, self._covariance, self.prior = criterion, covariance, prior

    def __call__(self, theta, eval_gradient=True):
        value, gradient = self._criterion(self._covariance.with_theta(theta), eval_gradient)
        value += self.prior(theta)
        return (-value, -gradient - self.prior.gradient(theta)) if eval_gradient else -value


def _descend(objective, theta, bounds, optimizer, hessian=None):
    """One search: the theta found, its objective, and the Hessian there or None."""
    if objective.prior(theta) == -np.inf:
        raise invalid(
            "hyperpriors",
            "distributions with a density at the start of the search",
            got=f"no density at {objective.prior.where(theta)}",
            advice="Start elsewhere, or use a distribution that covers the bounds.",
        )
    if callable(optimizer):
        return *optimizer(objective, theta, bounds=bounds), None
    least_gain = _LEAST_GAIN if hessian is None else _WORTH_A_STEP
    found = minimize(objective, theta, bounds, hessian=hessian, least_gain=least_gain)
    return found.x, found.value, found.hessian


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
            gradient[i] = (up - down) / (2.0 * _STEP)
        return gradient

    def where(self, theta):
        """The hyperparameters without density at theta, in words."""
        return ", ".join(
            f"{name} = {np.exp(theta[i])}"
            for name, d, i in self._terms
            if not np.all(np.isfinite(d.logpdf(np.exp(theta[i]))))
        )
