cdef enum:
    TILE = 32


cdef void solve(
    const double* a, Py_ssize_t ld, Py_ssize_t n, double* B, Py_ssize_t m, bint transpose,
    double* work,
) noexcept nogil
