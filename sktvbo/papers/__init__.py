"""Algorithms as their papers have them: `published` returns one, `available` lists the names."""

from ._registry import available, published

__all__ = ["available", "published"]
