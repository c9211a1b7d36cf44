"""Optima compared with dense searches."""

import numpy as np
import pytest
from problems import make
from scipy.stats import qmc


def best_found(problem, t):
    """Return the largest value of a dense set of a box, refined around its best points."""

    def values(U):
        return problem.values(problem.domain.from_unit(np.clip(U, 0.0, 1.0)), t)

    d = problem.domain.n_dims
    U = qmc.Sobol(d, scramble=False).random_base2(14)
    steps = 2.0 * qmc.Sobol(d, scramble=False).random_base2(3 + d) - 1.0
    best = -np.inf
    for u in U[np.argsort(-values(U))[:16]]:
        value, width = -np.inf, 0.2
        while width > 1e-8:
            around = np.vstack([u, u + width * steps, u - width * steps])
            f = values(around)
            if f.max() <= value:
                width *= 0.6
            u, value = around[np.argmax(f)], f.max()
        best = max(best, value)
    return best


PI = np.pi
slow = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "options", "n", "special"),
    [
        ("eggholder", {}, 2, []),
        pytest.param("six-hump-camel", {}, 40, [], marks=slow),
        ("six-hump-camel-switched", {}, 2, []),
        ("ackley", {}, 1, []),
        ("rosenbrock", {}, 1, []),
        # At these times a climb from an ordinary place ends on a lower peak.
        ("shekel", {}, 0, [390.0]),
        pytest.param("hartmann-3", {}, 1, [123.0, 183.0], marks=slow),
        pytest.param("hartmann-6", {}, 1, [123.0, 183.0], marks=slow),
        pytest.param("powell", {}, 1, [], marks=slow),
        # The turning points of the bump and its passages through 0, near and exactly.
        ("moving-bump", {}, 2, [5.0 * PI, 10.0 * PI, 10.0 * PI + 1e-7, 15.0 * PI]),
        *(
            pytest.param(
                *("moving-peaks", {"shape": shape, "smooth": smooth}, 0, [9.99, 237.5]),
                marks=[] if (shape, smooth) == ("gaussian", True) else slow,
            )
            for shape in ("cone", "gaussian")
            for smooth in (False, True)
        ),
        ("wlan", {"n_nodes": 2, "n_users": 9, "noise": 0.0}, 1, []),
        pytest.param("wlan", {"association": "fixed", "noise": 0.0}, 1, [], marks=slow),
        pytest.param("cart-pole", {}, 0, [], marks=slow),
        pytest.param("cart-pole", {"process_noise": 0.1}, 0, [], marks=slow),
        pytest.param("cart-pole", {"friction_factor": 0.3}, 0, [], marks=slow),
    ],
)
def test_optimum_is_the_best_of_a_dense_search(name, options, n, special):
    problem = make(name, random_state=1, **options)
    rng, end = np.random.RandomState(0), problem.horizon
    scale = np.ptp(problem.values(problem.domain.sample(2000, rng), end * rng.uniform(size=2000)))
    for t in [0.0, end, *(end * rng.uniform(size=n)), *special]:
        _, f_star = problem.optimum(t)
        found = best_found(problem, t)
        assert f_star >= found - 1e-9 * scale
        assert found >= f_star - 1e-6 * scale  # the search is dense enough to detect an error
