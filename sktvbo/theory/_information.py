"""Information gains of observations."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, cholesky

from .._validation import check_int, check_variances, finite_array, invalid
from ..exceptions import NotPositiveDefiniteError


def information_gain(K: ArrayLike, noise_variance: ArrayLike) -> float:
    """Return the information gain of observations, ½ log det(I + Σ⁻¹ K).

    Parameters
    ----------
    K : array-like of shape (n, n)
        Covariance of f at the observed points.
    noise_variance : float or array-like of shape (n,)
        Diagonal of Σ, positive.

    Returns
    -------
    gain : float
        Mutual information between f and the observations, in nats.

    Raises
    ------
    NotPositiveDefiniteError
        K is not a covariance: it has eigenvalues below minus the noise variance.
    ValueError
        Wrong shapes, NaN, or a noise variance that is not positive.

    Examples
    --------
    Two observations of one value carry less information than two of independent values:

    >>> from sktvbo.theory import information_gain
    >>> round(information_gain([[1.0, 1.0], [1.0, 1.0]], 0.1), 3)
    1.522
    >>> round(information_gain([[1.0, 0.0], [0.0, 1.0]], 0.1), 3)
    2.398
    """
    K, noise = _check_gain(K, noise_variance)
    scale = np.sqrt(noise)
    try:
        L = cholesky(np.eye(len(K)) + K / np.outer(scale, scale), lower=True)
    except LinAlgError:
        got = f"one of shape {K.shape} with negative eigenvalues beyond the noise variance"
        raise invalid("K", "a covariance", got=got, error=NotPositiveDefiniteError) from None
    return float(np.log(np.diag(L)).sum())


def maximum_information_gain(K: ArrayLike, noise_variance: ArrayLike, n: int) -> float:
    """Return the information gain of n greedily chosen observations, a lower bound of γ_n.

    Each choice maximizes the posterior variance relative to the noise; repetitions are allowed. The
    result is within a factor 1 - 1/e ≈ 0.63 of the maximum γ_n.

    Parameters
    ----------
    K : array-like of shape (N, N)
        Covariance of f at the candidates.
    noise_variance : float or array-like of shape (N,)
        Noise variance of an observation of each candidate, positive.
    n : int
        Number of observations; may exceed N.

    Returns
    -------
    gain : float
        In nats.

    Raises
    ------
    ValueError
        Wrong shapes, NaN, a negative variance, or a noise variance that is not positive.

    Notes
    -----
    The information gain is monotone and submodular (Srinivas et al. 2012, section II.C). Each step
    updates the posterior variances, in O(N min(n, N)).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from sktvbo.theory import maximum_information_gain
    >>> K = RBF(0.2)(np.linspace(0.0, 1.0, 50)[:, np.newaxis])
    >>> [round(maximum_information_gain(K, 0.01, n), 2) for n in (1, 10, 100)]
    [2.31, 14.49, 23.43]
    """
    n = check_int(n, "n")
    K, noise = _check_gain(K, noise_variance)
    variance = np.diag(K)
    if np.any(variance < 0.0):
        raise invalid("K", "a covariance", got=f"{variance.min()} on its diagonal")
    # The covariance is K - VᵀV, with a row of V for each observation since K was last updated.
    V = np.empty((min(n, len(K)), len(K)))
    gain = 0.0
    for step in range(n):
        m = step % len(V)
        if m == 0 and step > 0:
            K = K - V.T @ V
        i = np.argmax(variance / noise)
        gain += 0.5 * np.log1p(variance[i] / noise[i])
        V[m] = (K[i] - V[:m, i] @ V[:m]) / np.sqrt(variance[i] + noise[i])
        variance = np.maximum(variance - V[m] ** 2, 0.0)
    return float(gain)


def _check_gain(K, noise_variance):
    """Return K (n, n) and the noise variances (n,) as floats."""
    K = finite_array(K, "K", ("N", "N"))
    if K.shape[0] != K.shape[1] or not np.allclose(K, K.T, atol=1e-9 * np.abs(K).max()):
        raise invalid("K", "a symmetric matrix", got=f"one of shape {K.shape}")
    return K, check_variances(noise_variance, len(K), "noise_variance")
