/* Kalman filter and smoother of one series, whose process is a sum of independent chains.

   Chain c is a Matern process of order r = 1, 2 or 3 and variance w_c, with the state (f, f'/rate,
   f''/rate^2) and the moves A(x), w_c Q(x), x = rate * gap. Row i observes the sum over chains of
   H_ic times the first component. A cosine times a Matern process is a chain whose H is the cosine.
   A is block-diagonal, so a row costs O(N^2 r) for N numbers of state.

   Functions of a single chain are expanded for each order, which is several times as fast. */

#ifndef SKTVBO_SERIES_H
#define SKTVBO_SERIES_H

#include "correlation.h"

#ifdef _MSC_VER
#define SKTVBO_EXPANDED static __forceinline
#else
#define SKTVBO_EXPANDED static inline __attribute__((always_inline))
#endif

/* Intensity of the noise of each order, and the last row of the companion matrix F of (s + 1)^r. */
static const double sktvbo_intensity[4] = {0.0, 2.0, 4.0, 16.0 / 3.0};
static const double sktvbo_companion[4][3] = {
    {0.0, 0.0, 0.0}, {-1.0, 0.0, 0.0}, {-1.0, -2.0, 0.0}, {-1.0, -3.0, -3.0}};

/* 1 / j. */
static const double sktvbo_inverse[22] = {
    0.0,      1.0,      1.0 / 2,  1.0 / 3,  1.0 / 4,  1.0 / 5,  1.0 / 6,  1.0 / 7,
    1.0 / 8,  1.0 / 9,  1.0 / 10, 1.0 / 11, 1.0 / 12, 1.0 / 13, 1.0 / 14, 1.0 / 15,
    1.0 / 16, 1.0 / 17, 1.0 / 18, 1.0 / 19, 1.0 / 20, 1.0 / 21};

typedef struct {
    ptrdiff_t n, k, chains, lines, N;
    const ptrdiff_t *order;  /* (lines,) */
    const double *rate;      /* (lines,) */
    const ptrdiff_t *line;   /* (chains,) */
    const ptrdiff_t *first;  /* (chains,) index of the first component in the state */
    const double *weight;    /* (chains,) */
    const double *gap;       /* (n,) since the row before */
    const double *Y;         /* (n, k) */
    const double *R;         /* (n,), infinite in rows that are only queried */
    const double *H;         /* (n, chains), NULL for 1 */
} sktvbo_series;

/* A and Q (r, r) of a move; see `kalman/_state_space.py`. */
SKTVBO_EXPANDED void sktvbo_transition(const ptrdiff_t r, double x, double *A, double *Q)
{
    ptrdiff_t j, top = 2 * r - 2;
    double decay, y, power = 1.0, tail = 1.0, s[5], I[5];
    x = x < 1e4 ? x : 1e4; /* infinite x would give 0 * infinity */
    y = 2.0 * x;
    decay = sktvbo_exp(-x);
    /* s_j = e^-y y^j / j!; I_j = j! / 2^(j+1) (1 - s_0 - ... - s_j), its last one by a series where
       the difference cancels, the others upwards from it. */
    s[0] = decay * decay;
    for (j = 1; j <= top; j++)
        s[j] = s[j - 1] * (y * sktvbo_inverse[j]);
    if (y < 1.0) {
        for (j = 16; j > 0; j--)
            tail = 1.0 + tail * (y * sktvbo_inverse[top + 1 + j]);
        tail *= s[top] * (y * sktvbo_inverse[top + 1]);
    } else {
        for (j = 0; j <= top; j++)
            tail -= s[j];
    }
    for (j = top; j >= 0; j--) {
        I[j] = tail;
        tail += s[j];
    }
    for (j = 0; j <= top; j++) {
        power *= j ? 0.5 * (double) j : 0.5;
        I[j] *= sktvbo_intensity[r] * power;
    }
    if (r == 1) {
        A[0] = decay;
        Q[0] = I[0];
    } else if (r == 2) {
        A[0] = decay * (1.0 + x);
        A[1] = decay * x;
        A[2] = -A[1];
        A[3] = decay * (1.0 - x);
        Q[0] = I[2];
        Q[1] = Q[2] = I[1] - I[2];
        Q[3] = I[0] - 2.0 * I[1] + I[2];
    } else {
        double h = 0.5 * x * x;
        A[0] = decay * (1.0 + x + h);
        A[1] = decay * (x + 2.0 * h);
        A[2] = decay * h;
        A[3] = -A[2];
        A[4] = decay * (1.0 + x - 2.0 * h);
        A[5] = decay * (x - h);
        A[6] = decay * (h - x);
        A[7] = decay * (2.0 * h - 3.0 * x);
        A[8] = decay * (1.0 - 2.0 * x + h);
        Q[0] = 0.25 * I[4];
        Q[1] = Q[3] = 0.5 * I[3] - 0.25 * I[4];
        Q[2] = Q[6] = 0.5 * I[2] - I[3] + 0.25 * I[4];
        Q[4] = I[2] - I[3] + 0.25 * I[4];
        Q[5] = Q[7] = I[1] - 2.5 * I[2] + 1.5 * I[3] - 0.25 * I[4];
        Q[8] = I[0] - 4.0 * I[1] + 5.0 * I[2] - 2.0 * I[3] + 0.25 * I[4];
    }
}

/* z <- A z or A' z for r numbers at a distance; n vectors side by side. */
SKTVBO_EXPANDED void sktvbo_mix(const ptrdiff_t r, const double *A, int transpose, ptrdiff_t n,
                                ptrdiff_t apart, ptrdiff_t beside, double *z)
{
    ptrdiff_t j;
    for (j = 0; j < n; j++, z += beside) {
        double a = z[0], b, c;
        if (r == 1) {
            z[0] = A[0] * a;
        } else if (r == 2) {
            b = z[apart];
            z[0] = A[0] * a + A[transpose ? 2 : 1] * b;
            z[apart] = A[transpose ? 1 : 2] * a + A[3] * b;
        } else {
            b = z[apart];
            c = z[2 * apart];
            z[0] = A[0] * a + A[transpose ? 3 : 1] * b + A[transpose ? 6 : 2] * c;
            z[apart] = A[transpose ? 1 : 3] * a + A[4] * b + A[transpose ? 7 : 5] * c;
            z[2 * apart] = A[transpose ? 2 : 6] * a + A[transpose ? 5 : 7] * b + A[8] * c;
        }
    }
}

/* The same for any order. */
SKTVBO_EXPANDED void sktvbo_mix_any(const ptrdiff_t r, const double *A, int transpose, ptrdiff_t n,
                                    ptrdiff_t apart, ptrdiff_t beside, double *z)
{
    if (r == 1)
        sktvbo_mix(1, A, transpose, n, apart, beside, z);
    else if (r == 2)
        sktvbo_mix(2, A, transpose, n, apart, beside, z);
    else
        sktvbo_mix(3, A, transpose, n, apart, beside, z);
}

/* m <- A m (k, N), and P <- A P A' (N, N); or with A' for A. ``R`` is the order of
   a single chain, a constant for the compiler, 0 for several; ``A`` (lines, 9). */
SKTVBO_EXPANDED void sktvbo_move(const ptrdiff_t R, const ptrdiff_t k, const sktvbo_series *S,
                                 const double *A, int transpose, double *m, double *P)
{
    ptrdiff_t c, j, N = R ? R : S->N;
    if (R) {
        sktvbo_mix(R, A, transpose, k, 1, N, m);
        sktvbo_mix(R, A, transpose, N, N, 1, P);
        sktvbo_mix(R, A, transpose, N, 1, N, P);
        return;
    }
    for (c = 0; c < S->chains; c++) {
        const double *a = A + 9 * S->line[c];
        ptrdiff_t r = S->order[S->line[c]], o = S->first[c];
        sktvbo_mix_any(r, a, transpose, k, 1, N, m + o);
        sktvbo_mix_any(r, a, transpose, N, N, 1, P + o * N);
    }
    for (j = 0; j < N; j++)
        for (c = 0; c < S->chains; c++)
            sktvbo_mix_any(S->order[S->line[c]], A + 9 * S->line[c], transpose, 1, 1, N,
                           P + j * N + S->first[c]);
}

/* h' z. */
SKTVBO_EXPANDED double sktvbo_sum(const ptrdiff_t R, const sktvbo_series *S, const double *h,
                                  const double *z)
{
    ptrdiff_t i;
    double total = 0.0;
    if (R)
        return z[0];
    for (i = 0; i < S->chains; i++)
        total += h[i] * z[S->first[i]];
    return total;
}

/* c = P h (N,); returns h' P h. */
SKTVBO_EXPANDED double sktvbo_observed(const ptrdiff_t R, const sktvbo_series *S, const double *h,
                                       const double *P, double *c)
{
    ptrdiff_t i, j, N = R ? R : S->N;
    for (j = 0; j < N; j++)
        c[j] = R ? P[j] : 0.0;
    for (i = 0; i < (R ? 0 : S->chains); i++)
        for (j = 0; j < N; j++)
            c[j] += h[i] * P[S->first[i] * N + j];
    return sktvbo_sum(R, S, h, c);
}

/* Filter rows first to last in place; returns 0, or the row + 1 whose variance is not positive.
   ``sums`` (k, k + 1) is increased by E' E, its last column by log |S|. ``kept`` receives m and P
   before each observation; ``work`` has 18 lines + N + k + k k numbers. */
SKTVBO_EXPANDED ptrdiff_t sktvbo_filter_rows(const ptrdiff_t R, const ptrdiff_t k,
                                             const sktvbo_series *S, ptrdiff_t first,
                                             ptrdiff_t last, double *m_out, double *P_out,
                                             double *sums, double *kept, double *work)
{
    ptrdiff_t i, j, l, q, a, N = R ? R : S->N, size = (k + N) * N;
    ptrdiff_t chains = R ? 1 : S->chains, lines = R ? 1 : S->lines;
    double own_m[6], own_P[9], own_work[27];
    double product = 1.0, total = 0.0;
    double *m = R ? own_m : m_out, *P = R ? own_P : P_out;
    double *A = R ? own_work : work, *Q = A + 9 * lines, *c = Q + 9 * lines, *E = c + N;
    double *squares = E + k;
    memset(squares, 0, sizeof(double) * k * k);
    if (R) {
        memcpy(m, m_out, sizeof(double) * k * N);
        memcpy(P, P_out, sizeof(double) * N * N);
    }
    for (i = first; i < last; i++) {
        const double *h = R ? NULL : S->H + i * S->chains;
        double v, s, inverse;
        if (S->gap[i] > 0.0) {
            for (l = 0; l < lines; l++)
                sktvbo_transition(R ? R : S->order[l], S->rate[l] * S->gap[i], A + 9 * l,
                                  Q + 9 * l);
            sktvbo_move(R, k, S, A, 0, m, P);
            for (j = 0; j < chains; j++) {
                ptrdiff_t line = R ? 0 : S->line[j], r = R ? R : S->order[line];
                double *block = P + (R ? 0 : S->first[j] * (N + 1));
                for (l = 0; l < r; l++)
                    for (q = 0; q < r; q++)
                        block[l * N + q] += S->weight[j] * Q[9 * line + l * r + q];
            }
        }
        if (kept) {
            memcpy(kept + (i - first) * size, m, sizeof(double) * k * N);
            memcpy(kept + (i - first) * size + k * N, P, sizeof(double) * N * N);
        }
        if (S->R[i] == INFINITY)
            continue;
        v = sktvbo_observed(R, S, h, P, c);
        s = v + S->R[i];
        if (!(s > 0.0))
            return i + 1;
        inverse = 1.0 / s;
        for (l = 0; l < k; l++) {
            double share;
            E[l] = S->Y[i * k + l] - sktvbo_sum(R, S, h, m + l * N);
            share = E[l] * inverse;
            for (a = 0; a < N; a++)
                m[l * N + a] += share * c[a];
        }
        for (j = 0; j < N; j++) {
            double share = c[j] * inverse;
            for (a = 0; a < N; a++)
                P[j * N + a] -= share * c[a];
        }
        if (R) {
            /* The subtraction may cancel the digits of the observed variance. */
            double share = S->R[i] * inverse;
            for (a = 0; a < N; a++)
                P[a] = P[a * N] = c[a] * share;
        }
        for (l = 0; l < k; l++)
            for (q = 0; q < k; q++)
                squares[l * k + q] += E[l] * E[q] * inverse;
        /* One logarithm for several variances. */
        product *= s;
        if (!(product > 1e-100 && product < 1e100)) {
            total += log(product);
            product = 1.0;
        }
    }
    for (l = 0; l < k; l++)
        for (q = 0; q < k; q++)
            sums[l * (k + 1) + q] += squares[l * k + q];
    sums[k] += total + log(product);
    if (R) {
        memcpy(m_out, m, sizeof(double) * k * N);
        memcpy(P_out, P, sizeof(double) * N * N);
    }
    return 0;
}

/* Smooth rows last to first, from what the filter kept, updating r (k, N) and Lambda (N, N).

   ``on_weight`` (chains,), if given, ``on_rate`` (lines,) and ``on_R`` (n,) receive twice the
   derivatives of the log likelihood, of the rates in their logarithm; so does ``on_H`` (n, chains),
   if given. ``out`` (n, k + 1), if given, receives smoothed means and variances of f.
   ``work`` has 18 lines + N N + 2 N + k numbers. */
SKTVBO_EXPANDED void sktvbo_smooth_rows(const ptrdiff_t R, const ptrdiff_t k, const sktvbo_series *S,
                                        ptrdiff_t first, ptrdiff_t last, const double *kept,
                                        double *r_out, double *Lambda_out, double *on_weight,
                                        double *on_rate, double *on_R, double *on_H, double *out,
                                        double *work)
{
    ptrdiff_t i, j, l, a, b, e, N = R ? R : S->N, size = (k + N) * N;
    ptrdiff_t chains = R ? 1 : S->chains, lines = R ? 1 : S->lines;
    double own_r[6], own_Lambda[9], own_work[35];
    double *r = R ? own_r : r_out, *Lambda = R ? own_Lambda : Lambda_out;
    double *A = R ? own_work : work, *Q = A + 9 * lines, *c = Q + 9 * lines, *x = c + N, *G = x + N;
    double *u = G + N * N;
    if (R) {
        memcpy(r, r_out, sizeof(double) * k * N);
        memcpy(Lambda, Lambda_out, sizeof(double) * N * N);
    }
    for (i = last - 1; i >= first; i--) {
        const double *h = R ? NULL : S->H + i * S->chains;
        const double *m = kept + (i - first) * size, *P = m + k * N;
        double v = sktvbo_observed(R, S, h, P, c), noise = S->R[i], inverse, share, g = 0.0;
        /* Without an observation the variance s is infinite, and the share of R in it 1. */
        inverse = noise == INFINITY ? 0.0 : 1.0 / (v + noise);
        share = noise == INFINITY ? 1.0 : noise * inverse;
        for (a = 0; a < N; a++) {
            double total = 0.0;
            for (b = 0; b < N; b++)
                total += Lambda[a * N + b] * c[b];
            x[a] = total * inverse;
            g += total * c[a];
        }
        if (out)
            out[i * (k + 1) + k] = share * (v - share * g);
        g = (1.0 + g * inverse) * inverse;
        for (l = 0; l < k; l++) {
            double mean = sktvbo_sum(R, S, h, m + l * N), error = S->Y[i * k + l] - mean;
            double later = 0.0;
            for (a = 0; a < N; a++)
                later += c[a] * r[l * N + a];
            if (out)
                out[i * (k + 1) + l] = mean + v * inverse * error + share * later;
            u[l] = (error - later) * inverse;
        }
        if (noise < INFINITY) {
            for (j = 0; j < chains; j++) {
                ptrdiff_t o = R ? 0 : S->first[j];
                double weight = R ? 1.0 : h[j];
                for (l = 0; l < k; l++)
                    r[l * N + o] += weight * u[l];
                for (a = 0; a < N; a++)
                    Lambda[o * N + a] -= weight * x[a];
                for (a = 0; a < N; a++)
                    Lambda[a * N + o] -= weight * x[a];
            }
            for (j = 0; j < chains; j++)
                for (e = 0; e < chains; e++) {
                    double both = R ? 1.0 : h[j] * h[e];
                    Lambda[R ? 0 : S->first[j] * N + S->first[e]] += g * both;
                }
            if (on_weight) {
                double total = -g;
                for (l = 0; l < k; l++)
                    total += u[l] * u[l];
                on_R[i] = total;
            }
            if (on_H)
                /* u z - g c + P x with the smoothed state z = m + P r. */
                for (j = 0; j < S->chains; j++) {
                    ptrdiff_t o = S->first[j];
                    double total = -g * c[o];
                    for (a = 0; a < N; a++)
                        total += P[o * N + a] * x[a];
                    for (l = 0; l < k; l++) {
                        double z = m[l * N + o];
                        for (a = 0; a < N; a++)
                            z += P[o * N + a] * r[l * N + a];
                        total += u[l] * z;
                    }
                    on_H[i * S->chains + j] = 2.0 * total;
                }
        }
        if (!(S->gap[i] > 0.0))
            continue;
        for (l = 0; l < lines; l++)
            sktvbo_transition(R ? R : S->order[l], S->rate[l] * S->gap[i], A + 9 * l, Q + 9 * l);
        if (on_weight) {
            /* With G = r r' - Lambda: G : dQ, and 2 (r m' + G (P - Q)) : F dx, as dA = F A dx. */
            for (a = 0; a < N; a++)
                for (b = 0; b < N; b++) {
                    double total = -Lambda[a * N + b];
                    for (l = 0; l < k; l++)
                        total += r[l * N + a] * r[l * N + b];
                    G[a * N + b] = total;
                }
            for (j = 0; j < chains; j++) {
                ptrdiff_t line = R ? 0 : S->line[j], p = R ? R : S->order[line];
                ptrdiff_t o = R ? 0 : S->first[j];
                const double *At = A + 9 * line, *Qt = Q + 9 * line;
                double weight = S->weight[j], spread = 0.0, drive = 0.0, pull = 0.0;
                for (a = 0; a < p; a++)
                    for (b = 0; b < p; b++) {
                        double F = a + 1 < p ? (b == a + 1 ? 1.0 : 0.0) : sktvbo_companion[p][b];
                        spread += G[(o + a) * N + o + b] * Qt[a * p + b];
                        drive += G[(o + a) * N + o + b] * At[a * p + p - 1] * At[b * p + p - 1];
                        if (F != 0.0) {
                            double total = 0.0;
                            for (l = 0; l < k; l++)
                                total += r[l * N + o + a] * m[l * N + o + b];
                            for (e = 0; e < N; e++)
                                total += G[(o + a) * N + e] * P[(o + b) * N + e];
                            for (e = 0; e < p; e++)
                                total -= weight * G[(o + a) * N + o + e] * Qt[e * p + b];
                            pull += F * total;
                        }
                    }
                on_weight[j] += spread;
                on_rate[line] += S->rate[line] * S->gap[i] *
                                 (2.0 * pull + weight * sktvbo_intensity[p] * drive);
            }
        }
        sktvbo_move(R, k, S, A, 1, r, Lambda);
    }
    if (R) {
        memcpy(r_out, r, sizeof(double) * k * N);
        memcpy(Lambda_out, Lambda, sizeof(double) * N * N);
    }
}

/* The two above, expanded for a single chain. */
SKTVBO_CLONES
static ptrdiff_t sktvbo_filter_series(const sktvbo_series *S, ptrdiff_t first, ptrdiff_t last,
                                      double *m, double *P, double *sums, double *kept,
                                      double *work)
{
#define SKTVBO_CASE(R, K) \
    if (S->order[0] == R && S->k == K) \
        return sktvbo_filter_rows(R, K, S, first, last, m, P, sums, kept, work);
    if (!S->H) {
        SKTVBO_CASE(1, 1) SKTVBO_CASE(1, 2) SKTVBO_CASE(2, 1)
        SKTVBO_CASE(2, 2) SKTVBO_CASE(3, 1) SKTVBO_CASE(3, 2)
    }
#undef SKTVBO_CASE
    return sktvbo_filter_rows(0, S->k, S, first, last, m, P, sums, kept, work);
}

SKTVBO_CLONES
static void sktvbo_smooth_series(const sktvbo_series *S, ptrdiff_t first, ptrdiff_t last,
                                 const double *kept, double *r, double *Lambda, double *on_weight,
                                 double *on_rate, double *on_R, double *on_H, double *out,
                                 double *work)
{
#define SKTVBO_ROWS(R, K) \
    sktvbo_smooth_rows(R, K, S, first, last, kept, r, Lambda, on_weight, on_rate, on_R, on_H, \
                       out, work)
#define SKTVBO_CASE(R, K) \
    if (S->order[0] == R && S->k == K) { \
        SKTVBO_ROWS(R, K); \
        return; \
    }
    if (!S->H) {
        SKTVBO_CASE(1, 1) SKTVBO_CASE(1, 2) SKTVBO_CASE(2, 1)
        SKTVBO_CASE(2, 2) SKTVBO_CASE(3, 1) SKTVBO_CASE(3, 2)
    }
    SKTVBO_ROWS(0, S->k);
#undef SKTVBO_CASE
#undef SKTVBO_ROWS
}

#endif
