"""Rows of a stream, in whatever they come: arrays, data frames, sparse matrices, lists."""

import numpy as np
from scipy import sparse


def as_rows(X):
    """X itself where its rows can be counted and cut, or else something of it where they can."""
    if sparse.issparse(X):
        return X.tocsr()
    return X if hasattr(X, "shape") else np.asarray(X)


def cut(X, part):
    """The rows of a slice."""
    return X.iloc[part] if hasattr(X, "iloc") else X[part]


def stack(above, below):
    """Rows below others of their kind."""
    if hasattr(above, "iloc") and hasattr(below, "iloc"):
        import pandas as pd

        return pd.concat([above, below])
    if sparse.issparse(above) or sparse.issparse(below):
        return sparse.vstack([above, below]).tocsr()
    return np.concatenate([np.asarray(above), np.asarray(below)])
