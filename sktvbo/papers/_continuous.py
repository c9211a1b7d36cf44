"""Comparisons in continuous time, where answers take their time: W-DBO table 2, BOLT table 3."""

from functools import partial

from sklearn.gaussian_process.kernels import Matern

from .. import evaluation
from ..optimizers._default_models import default_surrogate
from ._published import (
    BOLT_ALGORITHMS,
    BOLT_TABLE_2,
    BOLT_TABLE_3,
    WDBO_ALGORITHMS,
    WDBO_TABLE_2,
)
from ._specs import configured
from ._tasks import Preset, Task

# BOLT appendix F has this network.
_BOLT_WLAN = {"n_nodes": 6, "n_users": 27}

# The problems' options that come closest to what both papers say.
_OPTIONS = {
    # "The first day of data" of the log is a Saturday; the table here begins on the Monday after.
    "temperature-field": {"day": 5},
    # Their sum over the users of a node goes over a set that does not depend on time.
    "wlan": {"association": "fixed"},
}

_READINGS = (
    "Temperature is the first Saturday of the data: the papers' first day is one, which these "
    "data do not have. On WLAN users stay with the node that was nearest at first."
)

# The variance of the noise as BOLT's table 2 prints it, and Schwefel's where it prints none. Of
# W-DBO's experiments, whose authors are the same, it is nearer than 5 % of the variance over the
# box, as their text may be read: that would drown what is published, 44² where Rosenbrock's regret
# is 3.8. In BOLT's own, the text's 1 % is the nearer one.
PRINTED_NOISE = {name: variance for name, (variance, _) in BOLT_TABLE_2.items()}
PRINTED_NOISE |= dict.fromkeys(
    ("rastrigin", "styblinski-tang", "rosenbrock"), PRINTED_NOISE["schwefel"]
)

_ONE_CLOCK = (
    "With as many observations all algorithms take the same time to answer, that of W-DBO on "
    "BoTorch unless --response-time says otherwise; in the paper each took its own, on a laptop."
)


def _task(name, algorithms, *, call_duration=0.0, own=None, **options):
    """Task in the setting of W-DBO appendix G.1, which is BOLT's: 600 s, 15 initial points."""
    return Task(
        name,
        evaluation.Fresh(name, horizon=600.0, **_OPTIONS.get(name, {}), **options),
        configured(algorithms, {}, own or {}),
        evaluation.SimulatedClock("papers", call_duration),
    )


def _wlan(algorithms, **setting):
    """W-DBO appendix G.2, BOLT appendix F: a Matérn 1/2 in time for who learns a kernel of time."""
    rough = {"surrogate": default_surrogate(Matern(100.0, (5.0, 6000.0), nu=0.5))}
    own = dict.fromkeys(("ABO", "W-DBO", "BOLT"), rough)
    return _task("wlan", algorithms, own=own, **setting)


PRESETS = {
    "wdbo-table2": Preset(
        "W-DBO (Bardou et al. 2024) table 2",
        {
            name: partial(_task, name, WDBO_ALGORITHMS, noise_variance=PRINTED_NOISE[name])
            for name in dict.fromkeys(problem for _, problem in WDBO_TABLE_2)
        }
        | {"wlan": partial(_wlan, WDBO_ALGORITHMS, noise_variance=PRINTED_NOISE["wlan"])},
        WDBO_ALGORITHMS,
        10,
        WDBO_TABLE_2,
        (
            _ONE_CLOCK,
            _READINGS,
            "Unless --noise says otherwise, the noise has the variances that BOLT's table 2 "
            "prints, and Schwefel's where it prints none: on Rastrigin, Styblinski-Tang and "
            "Rosenbrock. The text says 5 % of the signal variance.",
        ),
    ),
    "bolt-table3": Preset(
        "BOLT (Bardou & Thiran) table 3",
        {
            name: partial(_task, name, BOLT_ALGORITHMS, noise=0.01, call_duration=seconds)
            for name, (_, seconds) in BOLT_TABLE_2.items()
        }
        | {
            "wlan": partial(
                _wlan,
                BOLT_ALGORITHMS,
                noise=0.01,
                call_duration=BOLT_TABLE_2["wlan"][1],
                **_BOLT_WLAN,
            )
        },
        BOLT_ALGORITHMS,
        10,
        BOLT_TABLE_3,
        (
            _ONE_CLOCK,
            _READINGS,
            "The noise is 1 % of the signal variance, unless --noise says otherwise, as section "
            "5.1 says; table 2 has that for WLAN, twice that for Temperature, and something else "
            "for the others.",
            "Griewank's published regrets are far below what [-600, 600] (appendix F) allows.",
        ),
    ),
}
