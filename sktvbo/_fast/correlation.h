/* The correlation functions of `Family` over contiguous squared distances, in vector instructions.

   The scalar exp of the C library would dominate the cost of a covariance. This one is a polynomial
   without branches, so loops over it vectorize; its relative error is below 2^-52. If the compiler
   supports it, a loop is compiled for several processors, and the loader selects the fastest. */

#ifndef SKTVBO_CORRELATION_H
#define SKTVBO_CORRELATION_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12 && defined(__x86_64__) && defined(__gnu_linux__)
#define SKTVBO_SEVERAL_PROCESSORS
#define SKTVBO_CLONES \
    __attribute__((unused, target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#elif defined(__GNUC__)
#define SKTVBO_CLONES __attribute__((unused))
#else
#define SKTVBO_CLONES
#endif

#ifdef _MSC_VER
#define SKTVBO_SUMS(...)
#define restrict __restrict
#else
#define SKTVBO_PRAGMA(text) _Pragma(#text)
#define SKTVBO_SUMS(...) SKTVBO_PRAGMA(omp simd reduction(+ : __VA_ARGS__))
#endif

/* exp(x) for x <= 0, and NaN for NaN: 2^n e^r with x = n log 2 + r, e^r by its Taylor polynomial.
   Below -708, where the result is below 1e-307, it is 0. */
static inline double sktvbo_exp(double x)
{
    const double shift = 6755399441055744.0; /* 1.5 * 2^52: adding it rounds to an integer */
    const double least = -708.0;
    double n, r, p, y = x;
    int64_t power, bits;
    x = x < least ? least : x;
    n = x * 1.4426950408889634074 + shift;
    memcpy(&power, &n, 8);
    n -= shift;
    r = x - n * 6.93147180369123816490e-01; /* log 2 in two parts: the first is short */
    r -= n * 1.90821492927058770002e-10;
    p = 1.6059043836821613e-10;
    p = p * r + 2.0876756987868099e-09;
    p = p * r + 2.5052108385441719e-08;
    p = p * r + 2.7557319223985893e-07;
    p = p * r + 2.7557319223985891e-06;
    p = p * r + 2.4801587301587302e-05;
    p = p * r + 1.9841269841269841e-04;
    p = p * r + 1.3888888888888889e-03;
    p = p * r + 8.3333333333333333e-03;
    p = p * r + 4.1666666666666667e-02;
    p = p * r + 1.6666666666666667e-01;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    /* Multiplied by 2^n: n is in the last bits of the shifted number. */
    memcpy(&bits, &p, 8);
    bits += (int64_t) ((uint64_t) power << 52);
    memcpy(&p, &bits, 8);
    return y < least ? 0.0 : p;
}

/* Replaces an overflowed squared distance by a large one. */
static inline double sktvbo_finite(double q)
{
    return q > 1e300 ? 1e300 : q;
}

/* For n squared scaled distances q: the correlation k, and h = -k' / s; the derivative of k in a
   coordinate is -h times the difference in that coordinate. */
SKTVBO_CLONES
static void sktvbo_correlate(int family, ptrdiff_t n, const double *restrict q, double *restrict k,
                             double *restrict h)
{
    ptrdiff_t j;
    if (family == 0) { /* constant */
        for (j = 0; j < n; j++) {
            k[j] = 1.0;
            h[j] = 0.0;
        }
    } else if (family == 1) { /* RBF */
        for (j = 0; j < n; j++) {
            double e = sktvbo_exp(-sktvbo_finite(q[j]));
            k[j] = e;
            h[j] = 2.0 * e;
        }
    } else if (family == 2) { /* Matern 1/2: at its kink the one-sided derivatives cancel */
        for (j = 0; j < n; j++) {
            double s = sqrt(sktvbo_finite(q[j])), e = sktvbo_exp(-s);
            k[j] = e;
            h[j] = s > 0.0 ? e / s : 0.0;
        }
    } else if (family == 3) { /* Matern 3/2 */
        for (j = 0; j < n; j++) {
            double s = sqrt(sktvbo_finite(q[j])), e = sktvbo_exp(-s);
            k[j] = e * (1.0 + s);
            h[j] = e;
        }
    } else { /* Matern 5/2 */
        for (j = 0; j < n; j++) {
            double r = sktvbo_finite(q[j]), s = sqrt(r), e = sktvbo_exp(-s) / 3.0;
            k[j] = e * (3.0 + 3.0 * s + r);
            h[j] = e * (1.0 + s);
        }
    }
}

/* signal k_S k_T, of n squared scaled distances in space, q, and distances in time, v: a product of
   two correlations needs one exponential. */
SKTVBO_CLONES
static void sktvbo_covariances(int spatial, int temporal, ptrdiff_t n, double signal,
                               const double *restrict q, const double *restrict v,
                               double *restrict out)
{
    ptrdiff_t j;
    /* First the exponent; the polynomials are factors after the exponential. */
    if (spatial == 0)
        for (j = 0; j < n; j++)
            out[j] = 0.0;
    else if (spatial == 1)
        for (j = 0; j < n; j++)
            out[j] = -q[j];
    else
        for (j = 0; j < n; j++)
            out[j] = -sqrt(q[j]);
    if (temporal == 1)
        for (j = 0; j < n; j++)
            out[j] -= v[j] * v[j];
    else if (temporal != 0)
        for (j = 0; j < n; j++)
            out[j] -= v[j];
    for (j = 0; j < n; j++)
        out[j] = signal * sktvbo_exp(out[j]);
    if (spatial == 3)
        for (j = 0; j < n; j++)
            out[j] *= 1.0 + sqrt(sktvbo_finite(q[j]));
    else if (spatial == 4)
        for (j = 0; j < n; j++) {
            double r = sktvbo_finite(q[j]);
            out[j] *= 1.0 + sqrt(r) + r / 3.0;
        }
    if (temporal == 3)
        for (j = 0; j < n; j++)
            out[j] *= 1.0 + v[j];
    else if (temporal == 4)
        for (j = 0; j < n; j++)
            out[j] *= 1.0 + v[j] + v[j] * v[j] / 3.0;
}

/* slope_j with d log k / d log l_m = slope_j (z_m - Z_mj)^2, from the squared distances q. */
SKTVBO_CLONES
static void sktvbo_log_slope(int family, ptrdiff_t n, const double *restrict q,
                             double *restrict slope)
{
    ptrdiff_t j;
    if (family == 0)
        for (j = 0; j < n; j++)
            slope[j] = 0.0;
    else if (family == 1)
        for (j = 0; j < n; j++)
            slope[j] = 2.0;
    else if (family == 2) /* at distance 0 it is 0: s -> 0 from the numerator's s^2 */
        for (j = 0; j < n; j++)
            slope[j] = q[j] > 0.0 ? 1.0 / sqrt(q[j]) : 0.0;
    else if (family == 3)
        for (j = 0; j < n; j++)
            slope[j] = 1.0 / (1.0 + sqrt(q[j]));
    else
        for (j = 0; j < n; j++) {
            double s = sqrt(q[j]);
            slope[j] = (1.0 + s) / (3.0 + 3.0 * s + q[j]);
        }
}

/* A scaled distance; larger ones are as far apart, and their powers may overflow. */
static inline double sktvbo_scaled(double rate, double v)
{
    double z = rate * v;
    return z > 1e90 ? 1e90 : z;
}

/* e = exp(-z) for n distances z = rate v; exp(-z^2) of RBF, 1 of a constant. */
SKTVBO_CLONES
static void sktvbo_decays(int family, ptrdiff_t n, double rate, const double *restrict v,
                          double *restrict e)
{
    ptrdiff_t j;
    if (family == 0)
        for (j = 0; j < n; j++)
            e[j] = 1.0;
    else if (family == 1)
        for (j = 0; j < n; j++) {
            double z = sktvbo_scaled(rate, v[j]);
            e[j] = sktvbo_exp(-z * z);
        }
    else
        for (j = 0; j < n; j++)
            e[j] = sktvbo_exp(-sktvbo_scaled(rate, v[j]));
}

/* For n distances v, times a rate: weight times the correlation, k, and its derivative in the
   logarithm of the lengthscale, slope; k is added to a total. First the decays e are multiplied by
   a factor, and are 0 where products of denormal numbers would be slow. */
SKTVBO_CLONES
static void sktvbo_stretch(int family, ptrdiff_t n, double rate, double weight, double factor,
                           const double *restrict v, double *restrict e, double *restrict k,
                           double *restrict slope, double *restrict total)
{
    ptrdiff_t j;
    for (j = 0; j < n; j++) {
        double next = factor * e[j];
        e[j] = next < 1e-300 ? 0.0 : next;
        slope[j] = sktvbo_scaled(rate, v[j]);
        k[j] = weight * e[j];
    }
    if (family == 0) /* constant */
        for (j = 0; j < n; j++)
            slope[j] = 0.0;
    else if (family == 1) /* RBF */
        for (j = 0; j < n; j++)
            slope[j] *= 2.0 * slope[j] * k[j];
    else if (family == 2) /* Matern 1/2 */
        for (j = 0; j < n; j++)
            slope[j] *= k[j];
    else if (family == 3) /* Matern 3/2 */
        for (j = 0; j < n; j++) {
            double z = slope[j], w = k[j];
            k[j] = w * (1.0 + z);
            slope[j] = w * z * z;
        }
    else /* Matern 5/2 */
        for (j = 0; j < n; j++) {
            double z = slope[j], w = k[j] / 3.0;
            k[j] = w * (3.0 + 3.0 * z + z * z);
            slope[j] = w * z * z * (1.0 + z);
        }
    for (j = 0; j < n; j++)
        total[j] += k[j];
}

/* w_j = 2 (a_i a_j - P_ij) K_ij of one row, and their sum. */
SKTVBO_CLONES
static double sktvbo_row_weights(ptrdiff_t n, double ai, const double *restrict a,
                                 const double *restrict P, const double *restrict K,
                                 double *restrict w)
{
    ptrdiff_t j;
    double sum = 0.0;
    SKTVBO_SUMS(sum)
    for (j = 0; j < n; j++) {
        w[j] = 2.0 * (ai * a[j] - P[j]) * K[j];
        sum += w[j];
    }
    return sum;
}

/* sum_j w_j (x - row_j)^2. */
SKTVBO_CLONES
static double sktvbo_weighted_squares(ptrdiff_t n, double x, const double *restrict row,
                                      const double *restrict w)
{
    ptrdiff_t j;
    double sum = 0.0;
    SKTVBO_SUMS(sum)
    for (j = 0; j < n; j++)
        sum += w[j] * (x - row[j]) * (x - row[j]);
    return sum;
}

/* q_j = sum_m (x_m - Z_mj)^2 for the first n columns of Z (d, stride); x_m are x_stride apart. */
SKTVBO_CLONES
static void sktvbo_squared_distances(ptrdiff_t d, ptrdiff_t n, const double *restrict x,
                                     ptrdiff_t x_stride, const double *restrict Z,
                                     ptrdiff_t stride, double *restrict q)
{
    ptrdiff_t j, m;
    for (j = 0; j < n; j++)
        q[j] = 0.0;
    for (m = 0; m < d; m++) {
        const double *row = Z + m * stride;
        double xm = x[m * x_stride];
        for (j = 0; j < n; j++)
            q[j] += (xm - row[j]) * (xm - row[j]);
    }
}

/* v_j = |x - row_j|. */
SKTVBO_CLONES
static void sktvbo_distances(ptrdiff_t n, double x, const double *restrict row, double *restrict v)
{
    ptrdiff_t j;
    for (j = 0; j < n; j++)
        v[j] = fabs(x - row[j]);
}

/* out_j = a_j b_j; out may be a or b. */
SKTVBO_CLONES
static void sktvbo_multiply(ptrdiff_t n, const double *a, const double *b, double *out)
{
    ptrdiff_t j;
    for (j = 0; j < n; j++)
        out[j] = a[j] * b[j];
}

/* out_j += factor a_j. */
SKTVBO_CLONES
static void sktvbo_add(ptrdiff_t n, double factor, const double *restrict a, double *restrict out)
{
    ptrdiff_t j;
    for (j = 0; j < n; j++)
        out[j] += factor * a[j];
}

SKTVBO_CLONES
static double sktvbo_dot(ptrdiff_t n, const double *restrict a, const double *restrict b)
{
    ptrdiff_t j;
    double sum = 0.0;
    SKTVBO_SUMS(sum)
    for (j = 0; j < n; j++)
        sum += a[j] * b[j];
    return sum;
}

/* sums[0] += a' b, sums[step] += a' c. */
SKTVBO_CLONES
static void sktvbo_two_dots(ptrdiff_t n, const double *restrict a, const double *restrict b,
                            const double *restrict c, double *restrict sums, ptrdiff_t step)
{
    ptrdiff_t j;
    double sum0 = 0.0, sum1 = 0.0;
    SKTVBO_SUMS(sum0, sum1)
    for (j = 0; j < n; j++) {
        sum0 += a[j] * b[j];
        sum1 += a[j] * c[j];
    }
    sums[0] += sum0;
    sums[step] += sum1;
}

/* sums[i] = sum_j h_j a_ij (x - row_j), i = 0, 1: weighted sums of one coordinate's differences. */
SKTVBO_CLONES
static void sktvbo_differences(ptrdiff_t n, double x, const double *restrict row,
                               const double *restrict h, const double *restrict a0,
                               const double *restrict a1, double *restrict sums)
{
    ptrdiff_t j;
    double sum0 = 0.0, sum1 = 0.0;
    SKTVBO_SUMS(sum0, sum1)
    for (j = 0; j < n; j++) {
        double change = h[j] * (x - row[j]);
        sum0 += change * a0[j];
        sum1 += change * a1[j];
    }
    sums[0] = sum0;
    sums[1] = sum1;
}

#endif
