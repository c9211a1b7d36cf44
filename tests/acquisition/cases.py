"""Domains, functions, a search space and a custom score for tests of the maximizer."""

import numpy as np

from sktvbo.domain import Box, FiniteSet, ParameterSpace

BOX = Box([(-2.0, 4.0), (10.0, 30.0)])
ARMS = FiniteSet(np.random.RandomState(5).uniform(-3, 3, size=(40, 2)))
COUNTABLE = ParameterSpace({"depth": ("integer", 2, 9), "kind": ("categorical", list("abcde"))})
MIXED = ParameterSpace(
    {
        "rate": ("log-real", 1e-4, 1.0),
        "depth": ("integer", 0, 5),
        "kind": ("categorical", list("abc")),
    }
)


def unit_box(u):
    """The search space of a box of u coordinates."""
    return Box([(0.0, 1.0)] * u).search_space()


class Function:
    """A known function in the place of a posterior mean; its gradient by differences."""

    def __init__(self, f):
        self.f = f

    def __call__(self, U):
        return np.array([self.f(u) for u in U]), np.zeros(len(U))

    def with_gradient(self, u):
        steps = 1e-6 * np.eye(len(u))
        slope = np.array([self.f(u + h) - self.f(u - h) for h in steps]) / 2e-6
        return self.f(u), 0.0, slope, np.zeros(len(u))


class UCBLessCost:
    """A bound, less what a query costs: here more the farther to the right."""

    sees_places = True

    def __init__(self, price):
        self.price = price

    def __call__(self, mean, std, state, X):
        return mean + std - self.price * X[:, 0], 1.0, 1.0
