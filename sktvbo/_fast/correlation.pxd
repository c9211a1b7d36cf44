"""Declarations of the vectorized functions of ``correlation.h``."""

cdef extern from "correlation.h":
    void correlate "sktvbo_correlate"(
        int family, Py_ssize_t n, const double* q, double* k, double* h) noexcept nogil
    void covariances "sktvbo_covariances"(
        int spatial, int temporal, Py_ssize_t n, double signal, const double* q, const double* v,
        double* out) noexcept nogil
    void log_slope "sktvbo_log_slope"(
        int family, Py_ssize_t n, const double* q, double* slope) noexcept nogil
    void decays "sktvbo_decays"(
        int family, Py_ssize_t n, double rate, const double* v, double* e) noexcept nogil
    void stretch "sktvbo_stretch"(
        int family, Py_ssize_t n, double rate, double weight, double factor, const double* v,
        double* e, double* k, double* slope, double* total) noexcept nogil
    void squared_distances "sktvbo_squared_distances"(
        Py_ssize_t d, Py_ssize_t n, const double* x, Py_ssize_t x_stride, const double* Z,
        Py_ssize_t stride, double* q) noexcept nogil
    void distances "sktvbo_distances"(
        Py_ssize_t n, double x, const double* row, double* v) noexcept nogil
    double row_weights "sktvbo_row_weights"(
        Py_ssize_t n, double ai, const double* a, const double* P, const double* K, double* w
        ) noexcept nogil
    double weighted_squares "sktvbo_weighted_squares"(
        Py_ssize_t n, double x, const double* row, const double* w) noexcept nogil
    void multiply "sktvbo_multiply"(
        Py_ssize_t n, const double* a, const double* b, double* out) noexcept nogil
    void add "sktvbo_add"(
        Py_ssize_t n, double factor, const double* a, double* out) noexcept nogil
    double dot "sktvbo_dot"(Py_ssize_t n, const double* a, const double* b) noexcept nogil
    void two_dots "sktvbo_two_dots"(
        Py_ssize_t n, const double* a, const double* b, const double* c, double* sums,
        Py_ssize_t step) noexcept nogil
    void differences "sktvbo_differences"(
        Py_ssize_t n, double x, const double* row, const double* h, const double* a0,
        const double* a1, double* sums) noexcept nogil


cdef inline void spread(
    Py_ssize_t i, const double* a, const double* row, double* out
) noexcept nogil:
    """Add the part of the first i entries of row i of a symmetric matrix in its product with a."""
    out[i] += dot(i, row, a)
    add(i, a[i], row, out)
