"""Prior distributions of hyperparameters, for maximum a posteriori fits."""

import numpy as np

_STEP = 1e-5


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
                raise ValueError(
                    f"hyperpriors[{name!r}] must be a frozen scipy.stats distribution, such as "
                    f"scipy.stats.gamma(3, scale=0.1). Got {distribution!r} instead."
                )
            where = [i for i, known in enumerate(names) if known == name]
            if not where:
                raise ValueError(
                    f"hyperpriors has {name!r}, which is not among the hyperparameters that are "
                    f"learnt: {', '.join(dict.fromkeys(names)) or 'none'}."
                )
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
