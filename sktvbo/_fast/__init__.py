"""Compiled numerics."""

import os
from importlib.machinery import EXTENSION_SUFFIXES


def _check_built(folder):
    """Raise an ImportError if a folder has sources that are not compiled."""
    try:
        names = set(os.listdir(folder))
    except OSError:
        return  # a frozen application has no files
    stems = [name.removesuffix(".pyx") for name in names if name.endswith(".pyx")]
    missing = [s for s in stems if not any(s + suffix in names for suffix in EXTENSION_SUFFIXES)]
    if missing:
        root = os.path.dirname(os.path.dirname(folder))
        raise ImportError(
            f"The compiled modules of sktvbo are missing in {folder}: "
            f"{', '.join(sorted(missing))}. Python imports the sources in {root} instead of an "
            f"installed sktvbo. Run 'pip install -e .' in {root}, or change to another directory."
        )


_check_built(os.path.dirname(os.path.abspath(__file__)))
