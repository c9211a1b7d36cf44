"""10,000 proposals of a k-DPP's swap chain at N = 1,000, k = 50: against DPPy's.

Both chains have the same law: half of the proposals are refused by a coin, the others accepted by
the ratio of two determinants. Both start at the greedy maximum. DPPy counts the start as an
iteration, and is given one more. Our whole call also checks the matrix and finds the start; ours is
slower where the states are nearly singular, and the determinants' ratios have to be refined.
"""

from time import process_time

import numpy as np
from _timing import alternate, header
from dppy import mcmc_sampling
from dppy.finite_dpps import FiniteDPP
from sklearn.gaussian_process.kernels import RBF, Matern
from threadpoolctl import threadpool_limits

from sktvbo import dpp
from sktvbo._fast import kdpp

N, K_ITEMS, STEPS = 1_000, 50, 10_000


def count_determinants(function):
    """How many determinants DPPy computes in a call."""
    original, calls = mcmc_sampling.det_ST, []
    mcmc_sampling.det_ST = lambda *args: calls.append(1) or original(*args)
    try:
        function()
    finally:
        mcmc_sampling.det_ST = original
    return len(calls)


def compare(kernel):
    rng = np.random.RandomState(0)
    K = kernel(rng.uniform(size=(N, 3)))
    start = dpp.greedy_map(K, K_ITEMS)
    peer = FiniteDPP("likelihood", L=K)
    length = []

    def ours():
        return dpp.sample_kdpp(K, K_ITEMS, n_steps=STEPS, random_state=0)

    def chain_alone():
        Z, rest = start.copy(), np.setdiff1d(np.arange(N), start)
        leave, enter = rng.randint(K_ITEMS, size=STEPS), rng.randint(N - K_ITEMS, size=STEPS)
        return kdpp.swap_chain(K, Z, rest, leave, enter, rng.uniform(size=STEPS), 1e-13, 1_000)

    def theirs():
        peer.flush_samples()
        peer.sample_mcmc_k_dpp(
            size=K_ITEMS, nb_iter=STEPS + 1, s_init=start.tolist(), random_state=rng
        )
        length.append(len(peer.list_of_samples[0]) - 1)

    print(f"{kernel!s:>34}, as installed             {alternate(ours, theirs, 5, calls=5)}")
    with threadpool_limits(1):
        line = alternate(ours, theirs, 5, 5, process_time)
        print(f"{kernel!s:>34}, one thread, CPU time     {line}")
        chains = alternate(chain_alone, theirs, 5, 5, process_time)
        print(f"{kernel!s:>34}, one thread, chain alone  {chains}")
        # The first of these determinants is that of the chain's start.
        computed = count_determinants(theirs) - 1
    states = np.array(peer.list_of_samples[0])
    moved = np.count_nonzero(np.any(states[1:] != states[:-1], axis=1))
    print(
        f"{'':>34}  proposals: ours {STEPS}, theirs {set(length)}, of which {computed} passed the "
        f"coin; accepted: ours {chain_alone()[1]}, theirs {moved}"
    )


def main():
    header(f"{STEPS} proposals of a swap chain, N = {N}, k = {K_ITEMS}; theirs: DPPy")
    for kernel in (Matern(0.3, nu=0.5), Matern(0.3, nu=2.5), RBF(0.3), RBF(1.0)):
        compare(kernel)


if __name__ == "__main__":
    main()
