"""Algorithms as their papers have them, and the papers' experiments.

`published` returns an optimizer, `available` lists the names. The experiments are presets of the
command ``sktvbo bench``: a preset is a list of tasks, one per problem, each with its optimizers and
its clock. They share a store, so that an interrupted command continues where it stopped.
"""

from ._registry import available, published

__all__ = ["available", "published"]
