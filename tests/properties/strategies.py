"""Data, kernels and domains to draw from."""

import numpy as np
from hypothesis import strategies as st
from sklearn.gaussian_process.kernels import RBF, Matern

from sktvbo.kernels import Forgetting

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 12)
dims = st.integers(1, 4)
scales = st.floats(-2.0, 1.5).map(lambda e: 10.0**e)


def families(scale=scales):
    """Kernels that have compiled code, with one lengthscale."""
    matern = st.builds(lambda l, nu: Matern(l, nu=nu), scale, st.sampled_from([0.5, 1.5, 2.5]))
    return st.one_of(st.builds(RBF, scale), matern)


temporal = st.one_of(families(), st.builds(Forgetting, st.floats(1e-3, 0.9)))


@st.composite
def data(draw, n=sizes, d=dims):
    """X (n, d + 1) with times up to 10, and y (n,); rows may be the same, or nearly so."""
    n, d, rng = draw(n), draw(d), np.random.RandomState(draw(seeds))
    X = np.column_stack([rng.uniform(size=(n, d)), rng.uniform(0.0, 10.0, n)])
    if draw(st.booleans()):
        copies = rng.randint(n, size=n)
        X = X[copies] + draw(st.sampled_from([0.0, 1e-12, 1e-6])) * rng.normal(size=X.shape)
        X[:, -1] = X[:, -1].clip(0.0, 10.0)
    return X, rng.normal(size=n)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
json_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**53), 2**53),
        st.floats(allow_nan=False, allow_infinity=False),
        texts,
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)

bounds = st.tuples(st.floats(-1e3, 1e3), st.floats(1e-3, 1e6)).map(lambda b: (b[0], b[0] + b[1]))
named_specs = st.one_of(
    bounds.map(lambda b: ("real", *b)),
    st.tuples(st.floats(-6.0, 3.0), st.floats(0.01, 5.0)).map(
        lambda e: ("log-real", 10.0 ** e[0], 10.0 ** (e[0] + e[1]))
    ),
    st.tuples(st.integers(-1000, 1000), st.integers(1, 2000)).map(
        lambda b: ("integer", b[0], b[0] + b[1])
    ),
    st.lists(
        st.one_of(st.none(), st.booleans(), st.text(max_size=3), st.integers(-3, 3)),
        min_size=2,
        max_size=4,
        unique_by=lambda value: (type(value), value),
    ).map(lambda values: ("categorical", values)),
)
names = st.text(min_size=1, max_size=5)
named_domains = st.dictionaries(names, named_specs, min_size=1, max_size=4)
