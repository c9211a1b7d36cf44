"""Likelihood, relevancies and sparse bound beside the bare LAPACK, BLAS and exponentials they need.

    OMP_NUM_THREADS=1 python benchmarks/speed/limits.py

Processor time, both sides in turn. The bare side makes the calls on matrices of the same size and
layout, and one exponential per pair of points; it has no distances, no gradient and no Python.
"""

import argparse

import numpy as np
from _timing import drifting, header, report, timed
from scipy.linalg import blas, lapack
from sklearn.gaussian_process.kernels import Matern

from sktvbo import SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor

N_INDUCING = 100
KERNELS = Matern(0.4, nu=2.5), Matern(20.0, nu=1.5)


def positive(n):
    """Return a positive definite matrix (n, n)."""
    A = np.random.default_rng(1).normal(size=(n, n)) / n
    return np.asfortranarray(A @ A.T + np.eye(n))


def likelihood(n):
    """A likelihood with its gradient: a factor, an inverse, n²/2 exponentials."""
    gp = TimeVaryingGPRegressor(*KERNELS).fit(*drifting(n))
    theta, A, pairs = gp.theta_ + 0.01, positive(n), np.full(n * (n + 1) // 2, -0.7)

    def bare():
        np.exp(pairs)
        L, _ = lapack.dpotrf(A, lower=1)
        lapack.dpotri(L, lower=1, overwrite_c=1)

    return lambda: gp.log_marginal_likelihood(theta, eval_gradient=True), bare


def relevancies(n):
    """All relevancies from scratch: a factor, an inverse, a matrix product, n² exponentials."""
    gp = TimeVaryingGPRegressor(*KERNELS, optimizer=None)
    (X, y), A, square = drifting(n), positive(n), np.full((n, n), -0.7)

    def bare():
        np.exp(square)
        L, _ = lapack.dpotrf(A, lower=1)
        P, _ = lapack.dpotri(L, lower=1, overwrite_c=1)
        blas.dgemm(1.0, P, square.T)

    return lambda: gp.fit(X, y).relevancy(), bare


def bound(n, m=N_INDUCING):
    """A sparse bound with its gradient: n m exponentials, four solves, a product."""
    gp = SparseTimeVaryingGPRegressor(*KERNELS, n_inducing=m, optimizer=None, random_state=0)
    gp.fit(*drifting(n))
    theta, A, K = gp.theta_ + 0.01, positive(m), np.full((m, n), -0.7, order="F")
    L, _ = lapack.dpotrf(A, lower=1)

    def bare():
        V = np.exp(K)
        lapack.dpotrf(A, lower=1)
        blas.dtrsm(1.0, L, V, lower=1, overwrite_b=1)
        lapack.dpotrf(blas.dsyrk(1.0, V, c=A, beta=1.0, lower=1), lower=1)
        for transposed in (0, 1, 1):
            blas.dtrsm(1.0, L, V, lower=1, trans_a=transposed, overwrite_b=1)

    return lambda: gp.elbo(theta, eval_gradient=True), bare


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 400, 800, 1600])
    parser.add_argument("--repeats", type=int, default=9)
    arguments = parser.parse_args()
    header("Ours beside theirs: SciPy's LAPACK and NumPy's exp alone")
    for make in (likelihood, relevancies, bound):
        print(make.__doc__)
        for n in arguments.sizes:
            ours, bare = timed(*make(n), arguments.repeats)
            over = np.median(ours) / np.median(bare)
            print(f"n = {n:5}   {report(ours, bare)}   over the limit {over:.2f}", flush=True)


if __name__ == "__main__":
    main()
