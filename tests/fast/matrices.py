"""Matrices and memory layouts for the tests of the compiled modules."""

import numpy as np


def spd(rng, n, condition=100.0):
    """Return a covariance matrix (n, n) with eigenvalues from 1 / condition to 1."""
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    A = (Q * np.geomspace(1.0 / condition, 1.0, n)) @ Q.T
    return 0.5 * (A + A.T)


def read_only(A):
    A = A.copy()
    A.flags.writeable = False
    return A


# Layouts that compiled functions refuse, and the errors.
LAYOUTS = {
    "float32": lambda A: A.astype(np.float32),
    "strided": lambda A: np.repeat(A, 2, axis=-1)[..., ::2],
    "Fortran": np.asfortranarray,
}
REFUSED = (ValueError, TypeError, BufferError)
