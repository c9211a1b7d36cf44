"""Convolution of a spatial correlation function with itself over R^d (W-DBO table 3).

With the distance r in units of the lengthscale,

    RBF         pi^(d/2) exp(-r^2 / 4)
    Matern nu   c g_mu(z),  g_mu(z) = z^mu K_mu(z),  z = sqrt(2 nu) r,  mu = 2 nu + d/2.

For odd d, mu = m + 1/2 and g is elementary, sqrt(pi/2) exp(-z) times the polynomial of degree m
with coefficients (m+k)! / (k! (m-k)! 2^k) of z^(m-k). For even d, there is the recurrence
g_(mu+1) = z^2 g_(mu-1) + 2 mu g_mu from K_0 and K_1. Both have positive terms only, hence no
cancellation, and nothing is divided by z: the limit at 0 needs no special case but the start of the
recurrence.
"""

from libc.math cimport exp, sqrt
from libc.stdlib cimport free, malloc
from scipy.special.cython_special cimport k0, k1

from sktvbo._fast.gram cimport RBF, Family

cdef enum:
    MAX_DEGREE = 63


cdef double _integer_order(double z, int mu) noexcept nogil:
    """z^mu K_mu(z) for an integer mu >= 1, z >= 0."""
    # g_0 = K_0 is multiplied by z^2 below, so that its pole at 0 does not matter.
    cdef double below = k0(z) if z > 0.0 else 0.0
    cdef double here = z * k1(z) if z > 0.0 else 1.0
    cdef double above
    cdef int nu
    for nu in range(1, mu):
        above = z * z * below + 2 * nu * here
        below = here
        here = above
    return here


cdef void _half_integer_coefficients(int m, double* c) noexcept nogil:
    """c_k of z^k in the polynomial of sqrt(2/pi) e^z z^(m+1/2) K_(m+1/2)(z), k = 0 ... m."""
    cdef int k
    c[m] = 1.0
    for k in range(1, m + 1):
        c[m - k] = c[m - k + 1] * (m + k) * (m - k + 1) / (2.0 * k)


def spatial(
    const double[:, ::1] Z1, const double[:, ::1] Z2, Family family, int twice_mu, double scale,
    double[:, ::1] out, bint symmetric=False,
):
    """scale g(|z_i - z_j|), written to ``out`` (n, m); Z1 (d, n), Z2 (d, m) in lengthscales.

    ``twice_mu`` is 2 mu = 4 nu + d for a Matern kernel, of which the coordinates are also
    multiplied by sqrt(2 nu); unused for RBF, of which they are halved, so that exp(-z^2) remains.
    With ``symmetric`` Z2 is Z1 and each pair is evaluated once.
    """
    cdef Py_ssize_t n = out.shape[0], m = out.shape[1], d = Z1.shape[0], i, j, k, stop
    cdef int degree = twice_mu // 2
    cdef double diff, z
    cdef double c[MAX_DEGREE + 1]
    if Z1.shape[1] != n or Z2.shape[1] != m or Z2.shape[0] != d or (symmetric and n != m):
        raise ValueError("spatial: Z1 (d, n), Z2 (d, m) and out (n, m) do not fit each other")
    if family != RBF and not 2 <= twice_mu <= 2 * MAX_DEGREE + 1:
        raise ValueError(
            f"spatial: 2 mu must be in [2, {2 * MAX_DEGREE + 1}]. Got {twice_mu} instead."
        )
    if family != RBF and twice_mu % 2 == 1:
        _half_integer_coefficients(degree, c)
        scale *= 1.2533141373155001  # sqrt(pi/2)
    cdef double* q = <double*> malloc(2 * max(m, 1) * sizeof(double))
    if q == NULL:
        raise MemoryError(f"no memory for {2 * m} doubles")
    cdef double* p = q + m
    with nogil:
        for i in range(n):
            stop = i + 1 if symmetric else m
            for j in range(stop):
                q[j] = 0.0
            for k in range(d):
                z = Z1[k, i]
                for j in range(stop):
                    diff = z - Z2[k, j]
                    q[j] += diff * diff
            if family == RBF:
                for j in range(stop):
                    out[i, j] = scale * exp(-q[j])
            elif twice_mu % 2 == 0:
                for j in range(stop):
                    out[i, j] = scale * _integer_order(sqrt(q[j]), degree)
            else:
                for j in range(stop):
                    q[j] = sqrt(q[j])
                    p[j] = c[degree]
                for k in range(degree - 1, -1, -1):
                    for j in range(stop):
                        p[j] = p[j] * q[j] + c[k]
                for j in range(stop):
                    out[i, j] = scale * p[j] * exp(-q[j])
            if symmetric:
                for j in range(i):
                    out[j, i] = out[i, j]
    free(q)
