"""Experiments of the papers: presets of the command ``sktvbo bench``.

A preset is a list of tasks, one per problem, each with its optimizers and its clock. They share a
store, so that an interrupted command continues where it stopped.
"""

__all__ = []
