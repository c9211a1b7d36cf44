"""What a measured context is worth: the same stream with it, and without.

    python benchmarks/context.py [n_seeds]

A plant's best settings move slowly by themselves, and with a load that is measured before each
choice. The regret is that of the choices after the first 15, on average.
"""

import sys

import numpy as np

from sktvbo import BOLT, TVGPUCB, WDBO
from sktvbo.domain import WithContext

# Settings, and the noise's standard deviation.
STREAMS = {"one setting": (1, 0.01), "two settings": (2, 0.003)}


def loads(n_steps, rng):
    """A load that is correlated in time, and goes all over its range."""
    walk = np.zeros(n_steps)
    for t in range(1, n_steps):
        walk[t] = 0.6 * walk[t - 1] + rng.normal()
    return 50.0 + 100.0 * np.arctan(walk) / np.pi


def best(t, load):
    return np.array([0.2 + 0.006 * load, 0.5 + 0.25 * np.sin(t / 40.0) - 0.002 * (load - 50.0)])


def regret(kind, stream, seed, with_context, n_steps=120):
    rng, (d, noise) = np.random.RandomState(seed), STREAMS[stream]
    measured, errors = loads(n_steps, rng), noise * rng.normal(size=n_steps)
    box = [(0.0, 1.0)] * d
    opt = kind(WithContext(box, [(0.0, 100.0)]) if with_context else box, random_state=seed)
    regrets = []
    for t, (load, error) in enumerate(zip(measured, errors)):
        x = opt.ask(t, context=[load] if with_context else None)
        regrets.append(np.sum((x - best(t, load)[:d]) ** 2))
        opt.tell(x, error - regrets[-1])
    return np.mean(regrets[15:])


def main(n_seeds):
    print(f"{'':24}{'without':>10}{'with':>10}{'ratio':>8}   medians of {n_seeds} seeds")
    for stream in STREAMS:
        for kind in (WDBO, BOLT, TVGPUCB):
            found = np.array(
                [
                    [regret(kind, stream, seed, known) for seed in range(n_seeds)]
                    for known in (False, True)
                ]
            )
            without, known = np.median(found, axis=1)
            numbers = f"{without:10.4f}{known:10.4f}{known / without:8.3f}"
            worst = np.max(found[1] / found[0])
            print(f"{stream:14}{kind.__name__:10}{numbers}   worst {worst:.3f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
