/* Solves with a lower triangle L (n, n), rows of ld numbers, and products with a matrix, for eight
   vectors at once.

   The vectors are side by side, x (n, 8), one per lane of a vector register. L is read once for all,
   whereas a BLAS reads it for each. Eight rows of L form a block, so a row of x is loaded once for
   all eight. Lanes do not mix. */

#ifndef SKTVBO_TRIANGLE_H
#define SKTVBO_TRIANGLE_H

#include <stddef.h>

#include "correlation.h"

#define SKTVBO_LANES 8

#ifdef __GNUC__

typedef double sktvbo_lanes __attribute__((vector_size(64), aligned(8)));

/* x <- L^-1 x. */
SKTVBO_CLONES
static void sktvbo_solve_lanes(ptrdiff_t n, ptrdiff_t ld, const double *L, double *x)
{
    sktvbo_lanes *v = (sktvbo_lanes *) x;
    ptrdiff_t i, j, r, c, h;
    for (i = 0; i < n; i += 8) {
        const double *a = L + i * ld;
        h = n - i < 8 ? n - i : 8;
        if (h == 8) {
            sktvbo_lanes s0 = v[i], s1 = v[i + 1], s2 = v[i + 2], s3 = v[i + 3];
            sktvbo_lanes s4 = v[i + 4], s5 = v[i + 5], s6 = v[i + 6], s7 = v[i + 7];
            for (j = 0; j < i; j++) {
                sktvbo_lanes known = v[j];
                s0 -= a[j] * known;
                s1 -= a[ld + j] * known;
                s2 -= a[2 * ld + j] * known;
                s3 -= a[3 * ld + j] * known;
                s4 -= a[4 * ld + j] * known;
                s5 -= a[5 * ld + j] * known;
                s6 -= a[6 * ld + j] * known;
                s7 -= a[7 * ld + j] * known;
            }
            v[i] = s0, v[i + 1] = s1, v[i + 2] = s2, v[i + 3] = s3;
            v[i + 4] = s4, v[i + 5] = s5, v[i + 6] = s6, v[i + 7] = s7;
        } else {
            for (r = 0; r < h; r++)
                for (j = 0; j < i; j++)
                    v[i + r] -= a[r * ld + j] * v[j];
        }
        for (r = 0; r < h; r++) {
            for (c = 0; c < r; c++)
                v[i + r] -= a[r * ld + i + c] * v[i + c];
            v[i + r] /= a[r * ld + i + r];
        }
    }
}

/* x <- L^-T x. */
SKTVBO_CLONES
static void sktvbo_solve_lanes_transposed(ptrdiff_t n, ptrdiff_t ld, const double *L, double *x)
{
    sktvbo_lanes *v = (sktvbo_lanes *) x;
    ptrdiff_t i, j, r, c, h;
    for (i = (n - 1) / 8 * 8; i >= 0; i -= 8) {
        const double *a = L + i * ld;
        h = n - i < 8 ? n - i : 8;
        for (r = h - 1; r >= 0; r--) {
            for (c = r + 1; c < h; c++)
                v[i + r] -= a[c * ld + i + r] * v[i + c];
            v[i + r] /= a[r * ld + i + r];
        }
        if (h == 8) {
            sktvbo_lanes s0 = v[i], s1 = v[i + 1], s2 = v[i + 2], s3 = v[i + 3];
            sktvbo_lanes s4 = v[i + 4], s5 = v[i + 5], s6 = v[i + 6], s7 = v[i + 7];
            for (j = 0; j < i; j++) {
                sktvbo_lanes rest = v[j];
                rest -= a[j] * s0;
                rest -= a[ld + j] * s1;
                rest -= a[2 * ld + j] * s2;
                rest -= a[3 * ld + j] * s3;
                rest -= a[4 * ld + j] * s4;
                rest -= a[5 * ld + j] * s5;
                rest -= a[6 * ld + j] * s6;
                rest -= a[7 * ld + j] * s7;
                v[j] = rest;
            }
        } else {
            for (r = 0; r < h; r++)
                for (j = 0; j < i; j++)
                    v[j] -= a[r * ld + j] * v[i + r];
        }
    }
}

/* out (m, 8) = A x, A (m, n) in rows of ld numbers. */
SKTVBO_CLONES
static void sktvbo_multiply_lanes(ptrdiff_t m, ptrdiff_t n, ptrdiff_t ld, const double *A,
                                  const double *x, double *out)
{
    const sktvbo_lanes *v = (const sktvbo_lanes *) x;
    sktvbo_lanes *w = (sktvbo_lanes *) out;
    ptrdiff_t i, j;
    for (i = 0; i + 8 <= m; i += 8) {
        const double *a = A + i * ld;
        sktvbo_lanes s0 = {0.0}, s1 = {0.0}, s2 = {0.0}, s3 = {0.0};
        sktvbo_lanes s4 = {0.0}, s5 = {0.0}, s6 = {0.0}, s7 = {0.0};
        for (j = 0; j < n; j++) {
            sktvbo_lanes known = v[j];
            s0 += a[j] * known;
            s1 += a[ld + j] * known;
            s2 += a[2 * ld + j] * known;
            s3 += a[3 * ld + j] * known;
            s4 += a[4 * ld + j] * known;
            s5 += a[5 * ld + j] * known;
            s6 += a[6 * ld + j] * known;
            s7 += a[7 * ld + j] * known;
        }
        w[i] = s0, w[i + 1] = s1, w[i + 2] = s2, w[i + 3] = s3;
        w[i + 4] = s4, w[i + 5] = s5, w[i + 6] = s6, w[i + 7] = s7;
    }
    for (; i < m; i++) {
        sktvbo_lanes s = {0.0};
        for (j = 0; j < n; j++)
            s += A[i * ld + j] * v[j];
        w[i] = s;
    }
}

#else

static void sktvbo_solve_lanes(ptrdiff_t n, ptrdiff_t ld, const double *L, double *x)
{
    ptrdiff_t i, j, k;
    for (i = 0; i < n; i++) {
        for (j = 0; j < i; j++)
            for (k = 0; k < SKTVBO_LANES; k++)
                x[i * SKTVBO_LANES + k] -= L[i * ld + j] * x[j * SKTVBO_LANES + k];
        for (k = 0; k < SKTVBO_LANES; k++)
            x[i * SKTVBO_LANES + k] /= L[i * ld + i];
    }
}

static void sktvbo_solve_lanes_transposed(ptrdiff_t n, ptrdiff_t ld, const double *L, double *x)
{
    ptrdiff_t i, j, k;
    for (i = n - 1; i >= 0; i--) {
        for (k = 0; k < SKTVBO_LANES; k++)
            x[i * SKTVBO_LANES + k] /= L[i * ld + i];
        for (j = 0; j < i; j++)
            for (k = 0; k < SKTVBO_LANES; k++)
                x[j * SKTVBO_LANES + k] -= L[i * ld + j] * x[i * SKTVBO_LANES + k];
    }
}

static void sktvbo_multiply_lanes(ptrdiff_t m, ptrdiff_t n, ptrdiff_t ld, const double *A,
                                  const double *x, double *out)
{
    ptrdiff_t i, j, k;
    for (i = 0; i < m * SKTVBO_LANES; i++)
        out[i] = 0.0;
    for (i = 0; i < m; i++)
        for (j = 0; j < n; j++)
            for (k = 0; k < SKTVBO_LANES; k++)
                out[i * SKTVBO_LANES + k] += A[i * ld + j] * x[j * SKTVBO_LANES + k];
}

#endif

#endif
