"""Convolution of a spatial correlation function with itself over R^d (W-DBO table 3).

With the distance r in units of the lengthscale,

    RBF         pi^(d/2) exp(-r^2 / 4)
    Matern nu   c z^mu K_mu(z),  z = sqrt(2 nu) r,  mu = 2 nu + d/2,

and g_mu(z) = z^mu K_mu(z) obeys g_(mu+1) = z^2 g_(mu-1) + 2 mu g_mu: upward recurrence with positive
terms only, hence stable, from K_0 and K_1 for even d and from the exponential for odd d. Nothing is
divided by z, so z = 0 needs no special case but the start of the recurrence.
"""

from libc.math cimport exp, sqrt
from scipy.special.cython_special cimport k0, k1

from sktvbo._fast.gram cimport RBF, Family


cdef double _bessel(double z, int twice_mu) noexcept nogil:
    """z^mu K_mu(z) for 2 mu a positive integer, z >= 0."""
    cdef double below, here, above, nu
    cdef int twice_nu
    if twice_mu % 2 == 1:
        here = 1.2533141373155001 * exp(-z)  # sqrt(pi/2) e^-z = g_(1/2)
        if twice_mu == 1:
            return here
        below = here
        here = (1.0 + z) * here
        twice_nu = 3
    else:
        # g_0 = K_0 enters times z^2, so that its pole at 0 does not matter.
        below = k0(z) if z > 0.0 else 0.0
        here = z * k1(z) if z > 0.0 else 1.0
        twice_nu = 2
    while twice_nu < twice_mu:
        above = z * z * below + twice_nu * here
        below = here
        here = above
        twice_nu += 2
    return here


def spatial(
    const double[:, ::1] Z1, const double[:, ::1] Z2, Family family, int twice_mu, double scale,
    double[:, ::1] out, bint symmetric=False,
):
    """scale g(|z_i - z_j|), written to ``out`` (n, m); Z1 (d, n), Z2 (d, m) in lengthscales.

    ``twice_mu`` is 2 mu = 4 nu + d for a Matern kernel, of which the coordinates are also multiplied
    by sqrt(2 nu); unused for RBF, of which they are halved, so that exp(-z^2) remains. With
    ``symmetric`` Z2 is Z1 and each pair is evaluated once.
    """
    cdef Py_ssize_t n = out.shape[0], m = out.shape[1], d = Z1.shape[0], i, j, k, stop
    cdef double q, diff
    if Z1.shape[1] != n or Z2.shape[1] != m or Z2.shape[0] != d or (symmetric and n != m):
        raise ValueError("spatial: Z1 (d, n), Z2 (d, m) and out (n, m) do not fit each other")
    with nogil:
        for i in range(n):
            stop = i + 1 if symmetric else m
            for j in range(stop):
                q = 0.0
                for k in range(d):
                    diff = Z1[k, i] - Z2[k, j]
                    q += diff * diff
                if family == RBF:
                    q = exp(-q)
                else:
                    q = _bessel(sqrt(q), twice_mu)
                out[i, j] = scale * q
                if symmetric:
                    out[j, i] = scale * q
