"""The papers' orders on drawn functions: TVGP figure 2, ET figure 2 and tables, SparQ figure 1.

A step is a query. A condition, such as a rate of change, is a problem of its own. In a replication
all algorithms see the same function, and noise from the same stream.
"""

from functools import partial

from _specs import configured
from _tasks import Preset, Task
from problems import make
from sklearn.gaussian_process.kernels import RBF, Matern

from sktvbo import evaluation, optimizers
from sktvbo.papers import published

_RBF = RBF(0.2, "fixed")
_MATERN = Matern(0.2, "fixed", nu=2.5)

# ET table 2 compares these probabilities of a false alarm.
_DELTAS = (0.005, 0.01, 0.05, 0.1, 0.5)


class Drawn(evaluation.Fresh):
    """A problem of which the function is drawn from a replication's seed itself.

    A `Fresh` one keeps clear of the numbers that draw an initial design; here there is none, or the
    function is always the same.
    """

    def __call__(self, seed):
        """Make the problem."""
        return make(self.name, random_state=seed, **self.options)


def _task(name, problem, as_published, own=None):
    """Return a task of algorithms as published, beside this package's with their defaults."""
    own = configured(as_published, {}, {}) if own is None else own
    return Task(name, problem, own, evaluation.StepClock(), n_initial=0, as_published=as_published)


def _markov_problem(kernel, epsilon, noise, horizon):
    """Return a Markov Gaussian process on a grid of 50 x 50."""
    return Drawn("markov-gp", epsilon=epsilon, kernel=kernel, horizon=horizon, noise_variance=noise)


def _markov(name, kernel, epsilon, noise, horizon, c1, *, event=False, believed=None):
    """Return a task on a Markov process of which the algorithms as published know all.

    Parameters
    ----------
    name : str
    kernel : Kernel
    epsilon : float
        Rate of change.
    noise : float
        Noise variance.
    horizon : int
    c1 : float
        β = c1 log(4 t).
    event : bool, default=False
        Whether ET-GP-UCB is among the algorithms.
    believed : float, default=None
        Rate that R- and TV-GP-UCB are given; None: the true one.
    """
    known = {"spatial_kernel": kernel, "noise_variance": noise, "c1": c1}
    rate = {"epsilon": epsilon if believed is None else believed}
    own = {"GP-UCB": {}, "R-GP-UCB": rate | {"horizon": horizon}, "TV-GP-UCB": rate}
    if event:
        own["ET-GP-UCB"] = {}
    chosen = {label: published(label, **known, **given) for label, given in own.items()}
    return _task(name, _markov_problem(kernel, epsilon, noise, horizon), chosen)


def _triggers(name, epsilon):
    """Return a task of ET table 2: the trigger's probability, in the setting of figure 2."""
    chosen = {f"delta={delta}": published("ET-GP-UCB", delta=delta) for delta in _DELTAS}
    own = {f"delta={delta}": optimizers.ETGPUCB(delta=delta) for delta in _DELTAS}
    return _task(name, _markov_problem(_RBF, epsilon, 0.02, 400), chosen, own)


def _changing(name):
    """Return a task of ET table 1: T = 500, noise variance 0.1, variation budget 1."""
    problem = Drawn(name, horizon=500, noise_variance=0.1)
    labels = "IGP-UCB", "BR-GP-UCB", "SW-GP-UCB", "W-GP-UCB"
    chosen = {label: published(label, horizon=500) for label in labels}
    return _task(name, problem, chosen | {"ET-GP-UCB": published("ET-GP-UCB", noise_variance=0.1)})


def _moving_bump():
    """Return the task of SparQ figure 1: T = 500.

    The kernel of all is the squared exponential of highest marginal likelihood, over 300
    observations at one time.
    """
    fitted = {"spatial_kernel": RBF(0.07, "fixed"), "horizon": 500}
    noisy = {"noise_variance": 0.01, "spatial_kernel": fitted["spatial_kernel"]}
    chosen = {
        "random": published("random"),
        "GP-UCB": published("GP-UCB", **noisy),
        # The paper's R-GP-UCB is that of Zhou & Shroff.
        "R-GP-UCB": published("BR-GP-UCB", **fitted),
        "SW-GP-UCB": published("SW-GP-UCB", **fitted),
        "TV-GP-UCB": published("TV-GP-UCB", **noisy),
        "W-GP-UCB": published("W-GP-UCB", **fitted),
        "SparQ-GP-UCB": published("SparQ-GP-UCB", **noisy),
    }
    own = configured(chosen, {}, {}) | {"R-GP-UCB": optimizers.BRGPUCB()}
    return _task("moving bump", Drawn("moving-bump", horizon=500), chosen, own)


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
            # Section 5.1: β = 0.8 log(4 t), noise variance 0.01; T = 300 is a choice of ours.
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
            name: partial(_markov, name, _RBF, noise=0.02, horizon=400, c1=0.4, event=True, **rates)
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
        (
            "The functions are stand-ins: the order can be compared, not the size. The published "
            "numbers are divided by T.",
        ),
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
