"""Matrices and memory layouts for the tests of the compiled modules."""

import numpy as np
import pytest


def spd(rng, n, condition=100.0):
    """Return a covariance matrix (n, n) with eigenvalues from 1 / condition to 1."""
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    A = (Q * np.geomspace(1.0 / condition, 1.0, n)) @ Q.T
    return 0.5 * (A + A.T)


def read_only(A):
    A = A.copy()
    A.flags.writeable = False
    return A


# Layouts that compiled functions refuse, and the errors.
LAYOUTS = {
    "float32": lambda A: A.astype(np.float32),
    "strided": lambda A: np.repeat(A, 2, axis=-1)[..., ::2],
    "Fortran": np.asfortranarray,
}
REFUSED = (ValueError, TypeError, BufferError)


# --- arguments of compiled functions --------------------------------------------------------------


def array_arguments(arguments, names):
    """Return (name, position, dimensions) of the arrays that ``arguments`` (name) returns."""
    return [
        (name, i, argument.ndim)
        for name in names
        for i, argument in enumerate(arguments(name))
        if isinstance(argument, np.ndarray)
    ]


def axes_of(arrays):
    """Return (name, position, axis) of all lengths that must fit."""
    axes = [(name, i, axis) for name, i, ndim in arrays for axis in range(ndim)]
    return [axis for axis in axes if axis != ("gram", 0, 0)]  # its number of dimensions is free


def other_layouts(arrays):
    """Return (name, position, layout) of arrays in layouts that compiled code refuses."""
    return [
        (name, i, layout)
        for name, i, ndim in arrays
        for layout in LAYOUTS
        if (layout, ndim) != ("Fortran", 1)
    ]


def check_read_only(function, expected, found, n_outputs):
    """Call a function with the same arguments twice, the second time with read-only inputs."""
    for i, argument in enumerate(found[:-n_outputs]):
        if isinstance(argument, np.ndarray):
            found[i] = read_only(argument)
    function(*expected)
    function(*found)
    for e, f in zip(expected[-n_outputs:], found[-n_outputs:]):
        np.testing.assert_array_equal(e, f)


def check_wrong_shape(function, args, position, axis):
    shape = list(args[position].shape)
    shape[axis] += 1
    args[position] = np.zeros(shape)
    with pytest.raises(ValueError, match="fit"):
        function(*args)


def check_layout_is_refused(function, args, position, layout):
    args[position] = LAYOUTS[layout](args[position])
    with pytest.raises(REFUSED):
        function(*args)
