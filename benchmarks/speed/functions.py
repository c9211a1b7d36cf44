"""Relevancies beside ``wdbo_criterion``'s, and k-DPP samples beside DPPy's. Processor time.

    OMP_NUM_THREADS=1 python benchmarks/speed/functions.py relevancy
    OMP_NUM_THREADS=1 python benchmarks/speed/functions.py kdpp

Both k-DPP chains have the same law and the same start; DPPy counts the start as one iteration and
gets one more.
"""

import argparse

import numpy as np
from _timing import alternate, header
from sklearn.gaussian_process.kernels import RBF, Matern

from sktvbo import dpp
from sktvbo.relevancy import wasserstein_relevancy


def relevancy(sizes=(50, 100, 200, 400), d=3):
    """Print a line per size: relevancies of n observations, and the largest difference."""
    import wdbo_criterion as peer

    header("Relevancy of n observations, d = 3, Matérn 5/2 x Matérn 3/2; theirs: wdbo_criterion")
    for n in sizes:
        rng = np.random.default_rng(0)
        X, t, y = rng.uniform(size=(n, d)), np.sort(rng.uniform(size=n)), rng.normal(size=n)

        def ours(X=X, t=t, y=y):
            return wasserstein_relevancy(
                np.column_stack([X, t]),
                y,
                spatial_kernel=Matern(0.3, nu=2.5),
                temporal_kernel=Matern(0.4, nu=1.5),
                signal_variance=1.0,
                noise_variance=0.05,
                now=1.0,
            )

        def theirs(X=X, t=t, y=y, n=n):
            kernels = peer.MaternKernel(0.3, 2.5), peer.MaternKernel(0.4, 1.5)
            return peer.wasserstein_criterion(X, y, t, n, d, 1.0, 0.05, *kernels, 1.0, 0, 1)

        difference = np.abs(ours() - np.ravel(theirs())).max()
        # Theirs takes half a minute at n = 400.
        line = alternate(ours, theirs, 7 if n <= 200 else 1, calls=50)
        print(f"n = {n:3d}   {line}   |difference| {difference:.0e}", flush=True)


def kdpp(n_items=1_000, k=50, n_steps=10_000):
    """Print a line per kernel: a call that makes ``n_steps`` proposals of a swap chain."""
    from dppy.finite_dpps import FiniteDPP

    header(f"{n_steps} proposals of a swap chain, N = {n_items}, k = {k}; theirs: DPPy")
    for kernel in (Matern(0.3, nu=0.5), Matern(0.3, nu=2.5), RBF(0.3), RBF(1.0)):
        rng = np.random.RandomState(0)
        K = kernel(rng.uniform(size=(n_items, 3)))
        start, peer = dpp.greedy_map(K, k).tolist(), FiniteDPP("likelihood", L=K)

        def ours(K=K):
            return dpp.sample_kdpp(K, k, n_steps=n_steps, random_state=0)

        def theirs(peer=peer, start=start, rng=rng):
            peer.flush_samples()
            peer.sample_mcmc_k_dpp(size=k, nb_iter=n_steps + 1, s_init=start, random_state=rng)

        print(f"{kernel!s:>34}   {alternate(ours, theirs, 5, calls=5)}", flush=True)


PARTS = {function.__name__: function for function in (relevancy, kdpp)}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("part", choices=PARTS)
    PARTS[parser.parse_args().part]()
