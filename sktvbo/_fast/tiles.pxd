cdef enum:
    TILE = 32


cdef void multiply(
    char op_a, char op_b, Py_ssize_t m, Py_ssize_t n, Py_ssize_t depth, double alpha,
    const double* A, Py_ssize_t lda, const double* B, Py_ssize_t ldb, double beta,
    double* C, Py_ssize_t ldc,
) noexcept nogil


cdef void solve(
    const double* a, Py_ssize_t ld, Py_ssize_t n, double* B, Py_ssize_t m, bint transpose,
    double* work,
) noexcept nogil


cdef void lanes_of(const double* B, Py_ssize_t n, Py_ssize_t m, double* x) noexcept nogil


cdef void solve_few(
    const double* L, Py_ssize_t ld, Py_ssize_t n, double* B, Py_ssize_t m, bint transpose,
    double* work,
) noexcept nogil
