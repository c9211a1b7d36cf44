/* Products of C-ordered matrices, in the calling thread and the processor's widest registers.

   A BLAS that does not know a processor uses half of its width, and has a large overhead for small
   products. Eight or sixteen columns of B are packed side by side as in triangle.h. Without
   compilation for several processors this product is unavailable: see SKTVBO_OWN_PRODUCT. */

#ifndef SKTVBO_PRODUCT_H
#define SKTVBO_PRODUCT_H

#include "triangle.h"

#ifdef SKTVBO_SEVERAL_PROCESSORS

#define SKTVBO_OWN_PRODUCT (__builtin_cpu_supports("avx2"))

enum { SKTVBO_DEPTH = 256 };

/* n <= 8 columns of C = alpha A B + beta C. An entry of A is at i row + k step; B (depth, 8) is
   packed. */
SKTVBO_CLONES
static void sktvbo_multiply_packed(ptrdiff_t m, ptrdiff_t n, ptrdiff_t depth, double alpha,
                                   const double *A, ptrdiff_t row, ptrdiff_t step, const double *B,
                                   double beta, double *C, ptrdiff_t ldc)
{
    const sktvbo_lanes *b = (const sktvbo_lanes *) B;
    ptrdiff_t i, k, r, c, h;
    for (i = 0; i < m; i += 8) {
        const double *a = A + i * row;
        sktvbo_lanes sums[8];
        h = m - i < 8 ? m - i : 8;
        if (h == 8) {
            const double *p = a, *q = a + 4 * row;
            sktvbo_lanes s0 = {0.0}, s1 = {0.0}, s2 = {0.0}, s3 = {0.0};
            sktvbo_lanes s4 = {0.0}, s5 = {0.0}, s6 = {0.0}, s7 = {0.0};
            for (k = 0; k < depth; k++) {
                sktvbo_lanes v = b[k];
                s0 += p[0] * v;
                s1 += p[row] * v;
                s2 += p[2 * row] * v;
                s3 += p[3 * row] * v;
                s4 += q[0] * v;
                s5 += q[row] * v;
                s6 += q[2 * row] * v;
                s7 += q[3 * row] * v;
                p += step;
                q += step;
            }
            sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;
            sums[4] = s4, sums[5] = s5, sums[6] = s6, sums[7] = s7;
        } else {
            for (r = 0; r < h; r++) {
                sktvbo_lanes s = {0.0};
                for (k = 0; k < depth; k++)
                    s += a[r * row + k * step] * b[k];
                sums[r] = s;
            }
        }
        for (r = 0; r < h; r++) {
            double *out = C + (i + r) * ldc;
            if (n == 8 && beta == 0.0)
                *(sktvbo_lanes *) out = alpha * sums[r];
            else if (n == 8)
                *(sktvbo_lanes *) out = beta * *(sktvbo_lanes *) out + alpha * sums[r];
            else
                for (c = 0; c < n; c++)
                    out[c] = (beta == 0.0 ? 0.0 : beta * out[c]) + alpha * sums[r][c];
        }
    }
}

/* The same for 16 columns and m in blocks of 8 rows, with B (depth, 16): an entry of A is loaded once
   for both halves. Only x86-64-v4 has registers for all 16 sums. They are the same as those above. */
SKTVBO_CLONES
static void sktvbo_multiply_wide(ptrdiff_t m, ptrdiff_t depth, double alpha, const double *A,
                                 ptrdiff_t row, ptrdiff_t step, const double *B, double beta,
                                 double *C, ptrdiff_t ldc)
{
    const sktvbo_lanes *b = (const sktvbo_lanes *) B;
    ptrdiff_t i, k, r;
    for (i = 0; i < m; i += 8) {
        const double *p = A + i * row, *q = p + 4 * row;
        sktvbo_lanes sums[16];
        sktvbo_lanes s0 = {0.0}, s1 = {0.0}, s2 = {0.0}, s3 = {0.0};
        sktvbo_lanes s4 = {0.0}, s5 = {0.0}, s6 = {0.0}, s7 = {0.0};
        sktvbo_lanes t0 = {0.0}, t1 = {0.0}, t2 = {0.0}, t3 = {0.0};
        sktvbo_lanes t4 = {0.0}, t5 = {0.0}, t6 = {0.0}, t7 = {0.0};
        for (k = 0; k < depth; k++) {
            sktvbo_lanes v = b[2 * k], w = b[2 * k + 1];
            s0 += p[0] * v, t0 += p[0] * w;
            s1 += p[row] * v, t1 += p[row] * w;
            s2 += p[2 * row] * v, t2 += p[2 * row] * w;
            s3 += p[3 * row] * v, t3 += p[3 * row] * w;
            s4 += q[0] * v, t4 += q[0] * w;
            s5 += q[row] * v, t5 += q[row] * w;
            s6 += q[2 * row] * v, t6 += q[2 * row] * w;
            s7 += q[3 * row] * v, t7 += q[3 * row] * w;
            p += step;
            q += step;
        }
        sums[0] = s0, sums[1] = t0, sums[2] = s1, sums[3] = t1;
        sums[4] = s2, sums[5] = t2, sums[6] = s3, sums[7] = t3;
        sums[8] = s4, sums[9] = t4, sums[10] = s5, sums[11] = t5;
        sums[12] = s6, sums[13] = t6, sums[14] = s7, sums[15] = t7;
        for (r = 0; r < 16; r++) {
            sktvbo_lanes *out = (sktvbo_lanes *) (C + (i + r / 2) * ldc + r % 2 * 8);
            *out = beta == 0.0 ? alpha * sums[r] : beta * *out + alpha * sums[r];
        }
    }
}

/* Pack ``width`` columns of B (depth, w), padded with zeros. */
static inline void sktvbo_pack(ptrdiff_t depth, ptrdiff_t w, ptrdiff_t width, const double *B,
                               ptrdiff_t along, ptrdiff_t across, double *packed)
{
    ptrdiff_t r, c;
    for (r = 0; r < depth; r++)
        for (c = 0; c < width; c++)
            packed[r * width + c] = c < w ? B[r * along + c * across] : 0.0;
}

/* C (m, n) = alpha op(A) op(B) + beta C, op(A) (m, depth), op(B) (depth, n), depth > 0. */
static inline void sktvbo_multiply_own(int transpose_a, int transpose_b, ptrdiff_t m, ptrdiff_t n,
                                       ptrdiff_t depth, double alpha, const double *A,
                                       ptrdiff_t lda, const double *B, ptrdiff_t ldb, double beta,
                                       double *C, ptrdiff_t ldc)
{
    double packed[SKTVBO_DEPTH * 16];
    ptrdiff_t row = transpose_a ? 1 : lda, step = transpose_a ? lda : 1;
    ptrdiff_t along = transpose_b ? 1 : ldb, across = transpose_b ? ldb : 1, i, j, k, w, d;
    ptrdiff_t blocks = __builtin_cpu_supports("avx512f") ? m / 8 * 8 : 0;
    ptrdiff_t wide = blocks > 0 ? n / 16 * 16 : 0;
    for (k = 0; k < depth; k += SKTVBO_DEPTH) {
        const double *a = A + k * step, *b = B + k * along;
        double kept = k == 0 ? beta : 1.0;
        d = depth - k < SKTVBO_DEPTH ? depth - k : SKTVBO_DEPTH;
        for (j = 0; j < wide; j += 16) {
            sktvbo_pack(d, 16, 16, b + j * across, along, across, packed);
            sktvbo_multiply_wide(blocks, d, alpha, a, row, step, packed, kept, C + j, ldc);
        }
        for (j = blocks < m ? 0 : wide; j < n; j += 8) {
            i = j < wide ? blocks : 0; /* rows above are known */
            w = n - j < 8 ? n - j : 8;
            sktvbo_pack(d, w, 8, b + j * across, along, across, packed);
            sktvbo_multiply_packed(m - i, w, d, alpha, a + i * row, row, step, packed, kept,
                                   C + i * ldc + j, ldc);
        }
    }
}

#else

#define SKTVBO_OWN_PRODUCT 0
#define sktvbo_multiply_own(transpose_a, transpose_b, m, n, depth, alpha, A, lda, B, ldb, beta, C, ldc)

#endif

#endif
