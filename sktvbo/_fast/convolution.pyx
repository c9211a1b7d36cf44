"""Convolution of a spatial correlation function with itself over R^d (W-DBO table 3).

With the distance r in units of the lengthscale, relative to its value at distance 0,

    RBF         exp(-r^2 / 4)
    Matern nu   h_mu(z) = z^mu K_mu(z) / (2^(mu-1) Gamma(mu)),  z = sqrt(2 nu) r,  mu = 2 nu + d/2.

h falls from 1 to 0 in any dimension, whereas z^mu K_mu overflows. It has the recurrence
h_(mu+1) = h_mu + z^2 / (4 mu (mu-1)) h_(mu-1): from h_(1/2) = exp(-z) for odd d, and from K_0 and
K_1 for even d. All terms are positive, so there is no cancellation, and no division by z: the limit
at 0 needs no special case.

Orders that are not too large are evaluated for many distances at once. For odd d, h is exp(-z)
times a polynomial in z. For even d, with the a that makes it 1 at both ends,

    e^z h_mu(z) (1 + z / a)^(1/2 - mu) = sum_k c_k T_k((a - z) / (a + z))

is smooth. Its Chebyshev series, of some 20 terms, is computed once for an order from the recurrence
at ``NODES`` distances, to 1e-13 of the value.
"""

from libc.math cimport M_PI_2, cos, exp, fabs, lgamma, log, sqrt, tan
from libc.stdlib cimport free, malloc
from scipy.special.cython_special cimport k0e, k1e

from sktvbo._fast.gram cimport RBF, Family

cdef enum:
    MAX_DEGREE = 63
    NODES = 64

cdef double MAX_Z = 500.0  # a polynomial of at most that degree does not overflow up to here
cdef double LEAST_TERM = 5e-16  # smaller terms of a series are rounding


cdef struct Series:
    # a, and the terms c of an integer order; none before it is used.
    double a
    double c[NODES]
    int n

cdef Series known[MAX_DEGREE + 1]


cdef double _recurrence(double z, int twice_mu) noexcept nogil:
    """Return h_mu(z) for 2 mu >= 1 and z >= 0: e^z h by the recurrence, rescaled as it grows."""
    cdef double mu, below, here, above, log_scale = 0.0
    if z > 900.0 + 5.0 * twice_mu:
        return 0.0  # underflow: h_mu(10 mu) < exp(-7 mu), and beyond it falls like exp(-0.9 z)
    if twice_mu % 2 == 1:
        mu, below, here = 1.5, 1.0, 1.0 + z
    elif z == 0.0:
        return 1.0
    else:
        mu, below = 2.0, z * k1e(z)
        here = below + 0.5 * z * z * k0e(z)
    if twice_mu < 3:
        here = below
    while 2.0 * mu < twice_mu:
        above = here + z * z / (4.0 * mu * (mu - 1.0)) * below
        below, here, mu = here, above, mu + 1.0
        if here > 1e250:
            below *= 1e-250
            here *= 1e-250
            log_scale += 575.6462732485114  # 250 log 10
    return exp(log(here) + log_scale - z)


cdef void _expand(int mu, Series* s) noexcept nogil:
    """Compute the series of an order: c_k = 2 / N sum_j f_j cos(k t_j), t_j = pi (j + 1/2) / N.

    f is the function, by the recurrence in which each order is divided by 1 + z / a once more.
    """
    cdef double log_limit = 0.5 * log(M_PI_2) - (mu - 1) * log(2.0) - lgamma(mu)
    cdef double f[NODES]
    cdef double t, z, w, below, here, above
    cdef int j, k
    s.a = exp(-log_limit / (mu - 0.5))
    for j in range(NODES):
        t = tan(M_PI_2 * (j + 0.5) / NODES)
        z = s.a * t * t  # (a - z) / (a + z) = cos(t_j)
        w, below = 1.0 + z / s.a, z * k1e(z)
        here = below + 0.5 * z * z * k0e(z)
        for k in range(2, mu):
            above = here + z * z / (4.0 * k * (k - 1.0)) * below
            below, here = here / w, above / w
        f[j] = here / (w * sqrt(w))
    for k in range(NODES):
        t = 0.0
        for j in range(NODES):
            t += f[j] * cos(M_PI_2 * (k * (2 * j + 1) % (4 * NODES)) / NODES)
        s.c[k] = t * (1.0 if k == 0 else 2.0) / NODES
    k = NODES
    while fabs(s.c[k - 1]) < LEAST_TERM:
        k -= 1
    s.n = k


cdef void _integer_order(
    Py_ssize_t n, int mu, const Series* s, const double* z, double* x, double* u, double* v
) noexcept nogil:
    """Write e^z h_mu to u, for distances z; x and v are buffers."""
    cdef double t, c, rate = 1.0 / s.a
    cdef Py_ssize_t j
    cdef int k
    for j in range(n):
        x[j] = 2.0 / (1.0 + rate * z[j]) - 1.0
        u[j] = v[j] = 0.0
    for k in range(s.n - 1, 0, -1):  # Clenshaw
        c = s.c[k]
        for j in range(n):
            t = 2.0 * x[j] * u[j] - v[j] + c
            v[j] = u[j]
            u[j] = t
    for j in range(n):
        u[j] = (x[j] * u[j] - v[j] + s.c[0]) / sqrt(1.0 + rate * z[j])
    for k in range(mu):
        for j in range(n):
            u[j] *= 1.0 + rate * z[j]


cdef void _coefficients(int m, double* c) noexcept nogil:
    """Write the coefficients c_k of z^k in the polynomial e^z h_(m+1/2)(z), k = 0 ... m."""
    cdef int k
    c[0] = 1.0
    for k in range(1, m + 1):
        c[k] = c[k - 1] * 2.0 * (m - k + 1) / (k * <double> (2 * m - k + 1))


def spatial(
    const double[:, ::1] Z1, const double[:, ::1] Z2, Family family, int twice_mu, double scale,
    double[:, ::1] out, bint symmetric=False,
):
    """Write scale h(|z_i - z_j|) to ``out`` (n, m); Z1 (d, n), Z2 (d, m) in lengthscales.

    For a Matern kernel ``twice_mu`` is 2 mu = 4 nu + d, and coordinates are also multiplied by
    sqrt(2 nu). For RBF coordinates are halved, which leaves exp(-z^2). With ``symmetric`` Z2 is Z1
    and each pair is evaluated once.
    """
    cdef Py_ssize_t n = out.shape[0], m = out.shape[1], d = Z1.shape[0], i, j, k, stop
    cdef int degree = twice_mu // 2
    cdef bint moderate = family != RBF and degree <= MAX_DEGREE
    cdef bint polynomial = moderate and twice_mu % 2 == 1
    cdef bint expanded = moderate and twice_mu % 2 == 0 and degree > 1
    cdef double diff, z
    cdef double c[MAX_DEGREE + 1]
    if Z1.shape[1] != n or Z2.shape[1] != m or Z2.shape[0] != d or (symmetric and n != m):
        raise ValueError("spatial: Z1 (d, n), Z2 (d, m) and out (n, m) do not fit each other")
    if family != RBF and twice_mu < 1:
        raise ValueError(f"spatial: 2 mu must be at least 1. Got {twice_mu} instead.")
    if polynomial:
        _coefficients(degree, c)
    if expanded and known[degree].n == 0:
        _expand(degree, &known[degree])
    cdef double* q = <double*> malloc(4 * max(m, 1) * sizeof(double))
    if q == NULL:
        raise MemoryError(f"no memory for {4 * m} doubles")
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
            elif not (polynomial or expanded):
                for j in range(stop):
                    out[i, j] = scale * _recurrence(sqrt(q[j]), twice_mu)
            else:
                for j in range(stop):
                    q[j] = sqrt(q[j])
                    p[j] = c[degree] if polynomial else 0.0
                if expanded:
                    _integer_order(stop, degree, &known[degree], q, q + 2 * m, p, q + 3 * m)
                for k in range(degree - 1 if polynomial else -1, -1, -1):
                    for j in range(stop):
                        p[j] = p[j] * q[j] + c[k]
                for j in range(stop):
                    if q[j] > MAX_Z:
                        out[i, j] = scale * _recurrence(q[j], twice_mu)
                    else:
                        out[i, j] = scale * p[j] * exp(-q[j])
            if symmetric:
                for j in range(i):
                    out[j, i] = out[i, j]
    free(q)
