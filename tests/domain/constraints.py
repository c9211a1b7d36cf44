"""Domains with constraints, and checks of their rows."""

import numpy as np
from scipy.optimize import LinearConstraint, NonlinearConstraint
from scipy.sparse import csr_array

from sktvbo.domain import Box, Constrained, FiniteSet, ParameterSpace

CUBE = Box([(0.0, 1.0)] * 3)
DISC = Box([(-2.0, 2.0)] * 2)
ARMS = FiniteSet(np.random.RandomState(5).uniform(size=(100, 2)))
COUNTS = ParameterSpace(dict.fromkeys("abc", ("integer", 0, 9)))
MIXED = ParameterSpace(
    {"a": ("real", 0.0, 10.0), "n": ("integer", 0, 9), "kind": ["u", "v"], "r": ("log-real", 1, 9)}
)


def on_the_ring(x):
    return bool(1.0 <= x @ x <= 1.1)


# By name: domain, constraints, and a check of rows written down on its own.
CASES = {
    "roomy": (CUBE, lambda x: x[0] + x[1] <= 1.0, lambda X: X[:, 0] + X[:, 1] <= 1.0),
    "number": (CUBE, lambda x: 1.0 - x[0] - x[1], lambda X: X[:, 0] + X[:, 1] <= 1.0),
    "equation": (
        CUBE,
        LinearConstraint([1.0, 1.0, 1.0], 1.0, 1.0),
        lambda X: np.abs(X.sum(axis=1) - 1.0) <= 1e-9,
    ),
    "slab": (
        CUBE,
        [LinearConstraint(csr_array([[1.0, -1.0, 0.0]]), 0.0, 1e-4), lambda x: x[2] > x[0]],
        lambda X: (X[:, 0] >= X[:, 1]) & (X[:, 0] - X[:, 1] <= 1e-4) & (X[:, 2] > X[:, 0]),
    ),
    "corner": (
        Box([(0.0, 1.0)] * 8),
        LinearConstraint(np.ones(8), -np.inf, 0.5),
        lambda X: X.sum(axis=1) <= 0.5 + 1e-12,
    ),
    "function": (
        DISC,
        NonlinearConstraint(lambda x: [x @ x, x[0]], [1.0, 0.0], [1.02, np.inf]),
        lambda X: (np.abs(np.sum(X**2, axis=1) - 1.01) <= 0.01 + 1e-12) & (X[:, 0] >= 0.0),
    ),
    "answer": (DISC, on_the_ring, lambda X: np.array([on_the_ring(x) for x in X])),
    "finite": (ARMS, lambda x: x[0] - x[1], lambda X: X[:, 0] >= X[:, 1]),
    "counts": (COUNTS, LinearConstraint([1, 1, 1], 7, 7), lambda X: X.sum(axis=1) == 7),
    "mixed": (
        MIXED,
        [LinearConstraint([1, 1, 0, 0], 7.5, 7.5), lambda p: p["kind"] == "u" or p["r"] > 2.0],
        lambda X: (np.abs(X[:, 0] + X[:, 1] - 7.5) < 1e-9) & ((X[:, 2] == 0) | (X[:, 3] > 2.0)),
    ),
}
MADE = {name: Constrained(domain, rule) for name, (domain, rule, _) in CASES.items()}


def obeyed(name, U):
    return CASES[name][2](CASES[name][0].from_unit(U))
