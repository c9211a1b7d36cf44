"""A covariance that is a product, and kernels of space alone and of time alone added to it.

    k((x, t), (x', t')) = λ k_S(x, x') k_T(t, t') + k_P(x, x') + k_D(t, t')

is that of f = what moves + what persists + what all places share. `Sum` has the methods of the
products of `_covariance`.
"""

from functools import cached_property

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel, Product

from .kernels import Additive

ALWAYS = ConstantKernel(1.0, "fixed")


class Sum:
    """A product of space and time, and what is added to it.

    Everything is a sum of blocks, products of some columns and time: a term has one of them, or as
    many as there are columns for an `Additive` kernel. Coordinates stay plain, each block has units
    of its own.

    Parameters
    ----------
    moving : product
        λ k_S ∘ k_T.
    persistent, drift : Kernel or None
        k_P and k_D.
    n_dims : int
    """

    def __init__(self, moving, persistent, drift, n_dims):
        self._moving, self._n_dims = moving, n_dims
        self.persistent, self.drift = persistent, drift

    def __getstate__(self):
        # What is made of the rest is not kept.
        return {name: vars(self)[name] for name in ("_moving", "_n_dims", "persistent", "drift")}

    @cached_property
    def _terms(self):
        """By their names."""
        make, terms = self._moving.of, {}
        if self.persistent is not None:
            terms["persistent"] = _Term.of_space(self.persistent, self._n_dims, make)
        if self.drift is not None:
            terms["drift"] = _Term.of_time(self.drift, make)
        return terms

    @cached_property
    def _blocks(self):
        added = (block for term in self._terms.values() for block in term.blocks)
        return [(slice(None), self._moving), *added]

    @property
    def signal(self):
        return self._moving.signal

    @property
    def originals(self):
        return (*self._moving.originals, self.persistent, self.drift)

    @property
    def kernels(self):
        return (*self._moving.kernels, self.persistent, self.drift)

    @property
    def sizes(self):
        """Lengths of the four parts of theta."""
        return [*self._moving.sizes, *map(len, thetas_of((self.persistent, self.drift)))]

    @property
    def thetas(self):
        """The four parts of theta."""
        return [*self._moving.thetas, *thetas_of((self.persistent, self.drift))]

    def with_theta(self, signal, spatial, temporal, *others):
        moving = self._moving.with_theta(signal, spatial, temporal)
        terms = clones((self.persistent, self.drift), others)
        return Sum(moving, *terms, self._n_dims)

    def to_scaled(self, S, t):
        """The points as each block has them: places, and times."""
        return tuple(zip(*(block.to_scaled(S[:, c], t) for c, block in self._blocks)))

    def units(self, n_dims):
        return np.ones(n_dims + 1)

    def gram(self, S, t, out=None):
        # Above the diagonal, where nothing is written, what is added up must be numbers.
        n = len(t)
        found = (block.gram(S[:, c], t, np.zeros((n, n))) for c, block in self._blocks)
        return _added(found, out)

    def cross(self, S, t, S2=None, t2=None, out=None):
        found = (
            block.cross(S[:, c], t, None if S2 is None else S2[:, c], t2)
            for c, block in self._blocks
        )
        return _added(found, out)

    def variance(self, S, t):
        return sum(block.variance(S[:, c], t) for c, block in self._blocks)

    def white(self, S, t):
        return sum(block.white(S[:, c], t) for c, block in self._blocks)

    def variance_with_gradient(self, s, t, moving):
        def of_block(i, c, block):
            return block.variance_with_gradient(s[c], t, _some(moving, c))

        return self._with_gradient(of_block)

    def cross_with_gradient(self, s, t, Z, times, moving):
        def of_block(i, c, block):
            units = block.units(len(s[c]))
            point = s[c] * units[:-1], t * units[-1]
            k, dk = block.cross_with_gradient(*point, Z[i], times[i], _some(moving, c))
            return k, dk * units[:, np.newaxis]

        return self._with_gradient(of_block)

    def _with_gradient(self, of_block):
        """Value and gradient, time last, of all blocks together."""
        (total, slopes), *others = (of_block(i, *block) for i, block in enumerate(self._blocks))
        for (c, _), (value, slope) in zip(self._blocks[1:], others):
            total = total + value
            slopes[:-1][c] += slope[:-1]
            slopes[-1] += slope[-1]
        return total, slopes

    def at_one_time(self, S, t, time, units):
        """What is added to the product at one time, as ``_fast.posterior`` takes it.

        Parameters
        ----------
        S, t : ndarray of shape (n, d) and (n,)
        time : float
        units : ndarray of shape (d,)
            Of scaled coordinates.

        Returns
        -------
        dict; None if the kernel of space is not compiled
        """
        here = np.empty((1, S.shape[1])), np.array([time])
        added = (b.variance(here[0][:, c], here[1])[0] for c, b in self._blocks[1:])
        found = {"more": float(sum(added))}
        if self.drift is not None:
            columns, block = self._terms["drift"].blocks[0]
            found["offset"] = block.cross(S[:, columns], t, here[0][:, columns], here[1])[:, 0]
        if self.persistent is not None:
            factors = [block.in_space for _, block in self._terms["persistent"].blocks]
            if factors[0] is None:
                return None
            own = np.concatenate([factor.units for factor in factors])
            Z = np.ascontiguousarray(S.T * own[:, np.newaxis])
            variance = self._terms["persistent"].blocks[0][1].signal
            one_each = len(factors) > 1
            found["persistent"] = factors[0].family, variance, Z, own / units, one_each
        return found

    def gradient(self, S, t, K, P, a):
        slopes = [self._moving.gradient(S, t, self._moving.gram(S, t), P, a)]
        return np.concatenate(
            [*slopes, *(term.gradient(S, t, P, a) for term in self._terms.values())]
        )

    def slope_products(self, S, t, K, a):
        found = [self._moving.slope_products(S, t, self._moving.gram(S, t), a)]
        found += [term.slope_products(S, t, a) for term in self._terms.values()]
        return None if any(slopes is None for slopes in found) else np.concatenate(found)


class _Term:
    """A kernel of space alone, or of time alone, as blocks.

    Parameters
    ----------
    blocks : list of (slice, product)
        Columns of space, and the product of them and time.
    has_variance : bool
        Whether the variance that multiplies the blocks is the first entry of theta.
    """

    def __init__(self, blocks, has_variance):
        self.blocks, self._has_variance = blocks, has_variance

    @classmethod
    def of_space(cls, kernel, n_dims, make):
        variance, factor, has_variance = _amplitude(kernel)
        if type(factor) is not Additive:
            product = make(variance, (factor, ALWAYS), n_dims)
            return cls([(slice(None), product)], has_variance)
        product = make(variance / n_dims, (factor.kernel, ALWAYS), 1)
        return cls([(slice(j, j + 1), product) for j in range(n_dims)], has_variance)

    @classmethod
    def of_time(cls, kernel, make):
        variance, factor, has_variance = _amplitude(kernel)
        return cls([(slice(0, 0), make(variance, (None, factor), 0))], has_variance)

    def gradient(self, S, t, P, a):
        """Σ_ij W_ij ∂K_ij/∂theta, as `SeparableCovariance.gradient` has it."""
        slopes = sum(
            block.gradient(S[:, c], t, block.gram(S[:, c], t), P, a) for c, block in self.blocks
        )
        return self._free(slopes)

    def slope_products(self, S, t, a):
        """∂K/∂theta a (n_theta, n); None where that is not compiled."""
        found = [
            block.slope_products(S[:, c], t, block.gram(S[:, c], t), a) for c, block in self.blocks
        ]
        return None if found[0] is None else self._free(sum(found))

    def _free(self, slopes):
        """Derivatives by the variance and the rest of theta, without the first if it is fixed."""
        return slopes if self._has_variance else slopes[1:]


def _amplitude(kernel):
    """A kernel as a variance times another, and whether the variance is the first of its theta."""
    if type(kernel) is not Product or type(kernel.k1) is not ConstantKernel:
        return 1.0, kernel, False
    constant = kernel.k1
    return constant.constant_value, kernel.k2, not constant.hyperparameter_constant_value.fixed


def _added(matrices, out):
    """The sum of matrices, which the first of them becomes; written to ``out`` if given."""
    total = next(matrices)
    for matrix in matrices:
        total += matrix
    if out is None:
        return total
    out[:] = total
    return out


def _some(moving, columns):
    """Which of some columns move; None for all."""
    return None if moving is None else np.asarray(moving)[columns]


def thetas_of(kernels):
    """Theta of kernels, or nothing for None."""
    return [np.empty(0) if k is None else k.theta for k in kernels]


def clones(kernels, thetas):
    """Kernels with other hyperparameters; those without any stay the same objects."""
    return tuple(
        k if k is None or not theta.size else k.clone_with_theta(theta)
        for k, theta in zip(kernels, thetas)
    )
