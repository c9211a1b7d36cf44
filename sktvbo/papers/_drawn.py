"""The papers' orders on drawn functions: TVGP figure 2, ET figure 2 and tables, SparQ figure 1.

A step is a query. A condition, such as a rate of change, is a problem of its own. In a replication
all algorithms see the same function, and noise from the same stream.
"""

from functools import partial

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from .. import evaluation, optimizers, problems
from ..acquisition import UCB, InformationGainBeta, LogBeta
from ..gaussian_process import (
    GeometricInjection,
    TimeVaryingGPRegressor,
    WeightedTimeVaryingGPRegressor,
)
from ..kernels import Forgetting
from ..theory import maximum_information_gain, reset_period
from ._tasks import Preset, Task

_LENGTH_SCALE = 0.2
_RBF = RBF(_LENGTH_SCALE, "fixed")
_MATERN = Matern(_LENGTH_SCALE, "fixed", nu=2.5)

# ET table 2 compares these probabilities of a false alarm.
_DELTAS = (0.005, 0.01, 0.05, 0.1, 0.5)


class Drawn(evaluation.Fresh):
    """A problem of which the function is drawn from a replication's seed itself.

    A `Fresh` one keeps clear of the numbers that draw an initial design; here there is none, or the
    function is always the same.
    """

    def __call__(self, seed):
        """Make the problem."""
        return problems.make(self.name, random_state=seed, **self.options)


def _known(spatial, noise, temporal=None, kind=TimeVaryingGPRegressor, **options):
    """The surrogate that knows the function's hyperparameters; by default it does not change."""
    temporal = ConstantKernel(1.0, "fixed") if temporal is None else temporal
    return kind(spatial, temporal, noise_variance=noise, optimizer=None, **options)


def _task(name, problem, chosen, n_initial=0):
    return Task(name, problem, chosen, evaluation.StepClock(), n_initial=n_initial)


def _markov_problem(spatial, epsilon, noise, horizon):
    """A Markov Gaussian process on a grid of 50 x 50."""
    return Drawn(
        "markov-gp", epsilon=epsilon, kernel=spatial, horizon=horizon, noise_variance=noise
    )


def _markov(name, spatial, epsilon, noise, horizon, scale, *, event=False, believed=None):
    """Task of algorithms that know all of a Markov process, but believe in a rate of their own.

    Parameters
    ----------
    name : str
    spatial : Kernel
    epsilon : float
        Rate of change.
    noise : float
        Noise variance.
    horizon : int
    scale : float
        β = scale · log(4 t).
    event : bool, default=False
        Whether ET-GP-UCB is among the algorithms.
    believed : float, default=None
        The rate that they believe in; None is the true one.
    """
    believed = epsilon if believed is None else believed
    period = reset_period(believed, spatial_kernel=spatial, n_dims=2, horizon=horizon)
    common = {"n_initial_points": 1, "acquisition": UCB(LogBeta(scale=scale, rate=4.0))}
    static = {"surrogate": _known(spatial, noise), **common}
    forgetting = {"surrogate": _known(spatial, noise, Forgetting(believed, "fixed")), **common}
    chosen = {
        "GP-UCB": optimizers.GPUCB(**static),
        "R-GP-UCB": optimizers.RGPUCB(reset_period=period, **static),
        "TV-GP-UCB": optimizers.TVGPUCB(**forgetting),
    }
    if event:
        chosen["ET-GP-UCB"] = optimizers.ETGPUCB(**static)
    return _task(name, _markov_problem(spatial, epsilon, noise, horizon), chosen)


def _triggers(name, epsilon):
    """Task of ET table 2: the trigger's probability, in the setting of figure 2."""
    noise = 0.02
    common = {
        "n_initial_points": 1,
        "surrogate": _known(_RBF, noise),
        "acquisition": UCB(LogBeta(scale=0.4, rate=4.0)),
    }
    chosen = {f"delta={delta}": optimizers.ETGPUCB(delta=delta, **common) for delta in _DELTAS}
    return _task(name, _markov_problem(_RBF, epsilon, noise, 400), chosen)


def _changing(name):
    """Task of ET table 1: T = 500, noise variance 0.1."""
    noise, horizon = 0.1, 500
    static = {"surrogate": _known(_RBF, noise), "n_initial_points": 1}
    # These weights belong to the variation budget B_T = 1, as do BR's blocks and SW's window.
    gain = maximum_information_gain(_RBF(np.linspace(0.0, 1.0, 101)[:, None]), noise, horizon)
    discount = 1.0 - gain**-0.25 / np.sqrt(horizon)
    fading = _known(
        _RBF, noise, kind=WeightedTimeVaryingGPRegressor, noise_model=GeometricInjection(discount)
    )
    chosen = {
        "IGP-UCB": optimizers.IGPUCB(**static),
        "BR-GP-UCB": optimizers.BRGPUCB(horizon=horizon, **static),
        "SW-GP-UCB": optimizers.SWGPUCB(horizon=horizon, **static),
        "W-GP-UCB": optimizers.WGPUCB(surrogate=fading, n_initial_points=1),
        "ET-GP-UCB": optimizers.ETGPUCB(acquisition=UCB(LogBeta(0.4, 4.0)), **static),
    }
    return _task(name, Drawn(name, horizon=horizon, noise_variance=noise), chosen)


def _moving_bump():
    """Task of SparQ figure 1: T = 500; hyperparameters by marginal likelihood.

    The algorithms have their own bounds, but no margin.
    """
    common = {"n_initial_points": 10}
    sparq = InformationGainBeta(delta=0.05, constant=np.log(2.0))
    chosen = {
        "random": optimizers.RandomSearch(),
        "GP-UCB": optimizers.GPUCB(acquisition=UCB("log"), **common),
        "R-GP-UCB": optimizers.RGPUCB(acquisition=UCB("log"), **common),
        "SW-GP-UCB": optimizers.SWGPUCB(
            horizon=500, acquisition=UCB(InformationGainBeta()), **common
        ),
        "TV-GP-UCB": optimizers.TVGPUCB(acquisition=UCB("log"), **common),
        "W-GP-UCB": optimizers.WGPUCB(acquisition=UCB(InformationGainBeta(anytime=True)), **common),
        "SparQ-GP-UCB": optimizers.SparQGPUCB(acquisition=UCB(sparq), **common),
    }
    return _task("moving bump", Drawn("moving-bump", horizon=500), chosen, n_initial=10)


def _preset(source, tasks, algorithms, rival, notes=()):
    return Preset(source, tasks, algorithms, 20, notes=notes, rival=rival, counted_seeds=True)


_ET_FIGURE_2 = {f"eps={epsilon}": {"epsilon": epsilon} for epsilon in (0.01, 0.03, 0.05)} | {
    "eps=0.05, believed 0.001": {"epsilon": 0.05, "believed": 0.001}
}
_MARKOV_ALGORITHMS = ("GP-UCB", "R-GP-UCB", "TV-GP-UCB")

PRESETS = {
    "tvgp-fig2": _preset(
        "TVGP (Bogunovic et al. 2016) figure 2",
        {
            # The paper has β = 0.8 log(4 t) and noise variance 0.01; T = 300 is a choice of ours.
            name: partial(_markov, name, kernel, epsilon, 0.01, 300, 0.8)
            for kernel_name, kernel in (("RBF", _RBF), ("Matern 5/2", _MATERN))
            for epsilon in (0.001, 0.01, 0.03)
            for name in [f"{kernel_name}, eps={epsilon}"]
        },
        _MARKOV_ALGORITHMS,
        "TV-GP-UCB",
        ("The paper's text does not say how long its runs are.",),
    ),
    "et-fig2": _preset(
        "ET (Brunzema et al.) figure 2",
        {
            # ET table 4 has β = 0.4 log(4 t), noise variance 0.02 and T = 400.
            name: partial(
                _markov, name, _RBF, noise=0.02, horizon=400, scale=0.4, event=True, **rates
            )
            for name, rates in _ET_FIGURE_2.items()
        },
        (*_MARKOV_ALGORITHMS, "ET-GP-UCB"),
        "ET-GP-UCB",
    ),
    "et-table1": _preset(
        "ET (Brunzema et al.) table 1",
        {name: partial(_changing, name) for name in ("gp-abrupt", "gp-slow")},
        ("IGP-UCB", "BR-GP-UCB", "SW-GP-UCB", "W-GP-UCB", "ET-GP-UCB"),
        "ET-GP-UCB",
        ("The functions are stand-ins: the order can be compared, not the size.",),
    ),
    "et-table2": _preset(
        "ET (Brunzema et al.) table 2",
        {
            name: partial(_triggers, name, epsilon)
            for epsilon in (0.01, 0.03, 0.05)
            for name in [f"eps={epsilon}"]
        },
        tuple(f"delta={delta}" for delta in _DELTAS),
        "delta=0.1",
    ),
    "sparq-fig1": _preset(
        "SparQ (Mauduit et al.) figure 1",
        {"moving bump": _moving_bump},
        (
            "random",
            "GP-UCB",
            "R-GP-UCB",
            "SW-GP-UCB",
            "TV-GP-UCB",
            "W-GP-UCB",
            "SparQ-GP-UCB",
        ),
        "SparQ-GP-UCB",
    ),
}
