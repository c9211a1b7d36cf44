"""Calls with one bad argument each, for ``test_bad_inputs.py``."""

import warnings
from dataclasses import dataclass

import joblib
import numpy as np
from scipy.optimize import LinearConstraint, NonlinearConstraint
from sklearn.gaussian_process.kernels import RBF, Matern, RationalQuadratic

from sktvbo import BOLT, GPUCB, UITVBO, WDBO, TimeVaryingGPRegressor, dpp, kernels, theory
from sktvbo import SparseTimeVaryingGPRegressor as Sparse
from sktvbo.datasets import load_ny_ozone
from sktvbo.domain import Context, FiniteSet, WithContext
from sktvbo.evaluation import Comparison, RunResult, SimulatedClock, compare, response_time, run
from sktvbo.optimizers import Query
from sktvbo.problems import from_callable, make
from sktvbo.relevancy import spatial_convolution, temporal_convolution, wasserstein_relevancy

# ruff: noqa: F401 (the calls use what is imported)

POSITIVE = ["0.0", "-1.0", "nan", "inf", "None", "'much'", "[0.1, 0.2]", "True"]
COUNTS = ["0", "-1", "1.5", "'two'", "None", "nan"]
TARGETS = ["y[:-1]", "nan * y", "y[:, None] + y", "'much'", "None", "[]", "y + 1j", "1e101 * y"]
TARGETS += ["[[1.0], [2.0, 3.0]]", "np.ma.masked_less(y, 0.0)"]
ROWS = ["X[:0]", "X[0]", "nan * X", "1e200 * X", "X[None]", "X + 1j", "None", "'here'"]
ROWS += ["[[0.1, 1.0], [0.2]]"]
# Each is a call with a place for the bad argument, and what is put there.
CALLS = {
    "The regressors": [
        ("gp.fit(X, {})", TARGETS),
        ("gp.fit({}, y)", ROWS),
        ("gp.fit(X, y, {})", ["-y**2", "nan * y", "[1.0]", "'much'", "inf"]),
        ("gp.partial_fit(X[:1], {})", ["[nan]", "[]", "[1.0, 2.0]", "None", "[1e101]"]),
        ("gp.predict({})", ROWS),
        ("gp.predict(X, return_std=True, return_cov={})", ["True"]),
        ("gp.sample_y(X[:2], {})", ["-1", "1.5", "'two'"]),
        ("gp.forget({})", ["[99]", "[-99]", "[0.5]", "'all'", "slice(20)", "range(20)", "[True]"]),
        ("gp.advance({})", ["nan", "-1.0", "'soon'", "None"]),
        ("gp.relevancy({})", ["nan", "-1.0", "inf", "'now'"]),
        ("gp.log_marginal_likelihood({})", ["[0.0]", "'theta'", "[[0.0] * 4]"]),
        ("TimeVaryingGPRegressor(noise_variance={}).fit(X, y)", POSITIVE),
        ("TimeVaryingGPRegressor(noise_variance_bounds={}).fit(X, y)", ["(1, 0)", "'free'", "3"]),
        ("TimeVaryingGPRegressor(spatial_kernel={}).fit(X, y)", ["'rbf'", "RBF", "RBF(-1.0)"]),
        ("TimeVaryingGPRegressor(RBF({})).fit(X, y)", ["[1.0, 2.0, 3.0]", "0.0", "nan", "1e-200"]),
        ("TimeVaryingGPRegressor(time_column={}).fit(X, y)", ["3", "-4", "'time'", "0.5", "None"]),
        ("TimeVaryingGPRegressor(optimizer={}).fit(X, y)", ["'adam'", "3", "True"]),
        ("TimeVaryingGPRegressor(mean_prior_std={}).fit(X, y)", ["-1.0", "nan", "'flat'"]),
        ("TimeVaryingGPRegressor(hyperpriors={}).fit(X, y)", ["{'noise': 3}", "{'lengths': 1.0}"]),
        ("Sparse(n_inducing={}).fit(X, y)", COUNTS),
        ("Sparse(inducing={}).fit(X, y)", ["'random'", "X[:, :1]", "nan * X", "[]"]),
    ],
    "The optimizers": [
        ("opt.tell({}, 1.0)", ["[0.25, 0.25]"]),
        ("opt.cancel({})", ["[0.25, 0.25]", "None", "Query(9, x, 8.0)"]),
        ("opt.tell({}, 1.0)", ["Query(0, [0.2, 0.2], 8.0)", "Query(0, x, 7.0)"]),
        ("opt.untell({})", ["[0.25, 0.25]", "X[0, :2], 3.0", "t=99.0", "id=0", "t=nan"]),
        ("opt.tell_many({}, y[:2], 9.0)", ["X[:2]", "X[:3, :2]", "[x, [3.0, 0.5]]", "None"]),
        ("named.tell({}, 1.0, 0.0)", ["{'rate': 2.0, 'depth': 3}", "{'rate': 0.5}", "[0.5, 3]"]),
        ("named.tell({}, 1.0, 0.0)", ["{'rate': 0.5, 'depth': 2.5}", "{'rate': 0.5, 'height': 1}"]),
        ("WDBO({}).ask(0.0)", ["None", "[]", "[(1.0, 0.0)]", "[(0.0, nan)]", "'box'", "3"]),
        ("WDBO({}).ask(0.0)", ["{'a': ('real', 1.0)}", "{'a': ('log-real', 0.0, 1.0)}", "{}"]),
        ("WDBO({}).ask(0.0)", ["{'a': ('float', 0, 1)}", "{'a': ('categorical', [1])}"]),
        ("WDBO(box, clock={}).ask()", ["'sundial'", "3", "lambda: 'noon'"]),
        ("WDBO(box, random_state={}).ask(0.0)", ["'seed'", "-1", "1.5"]),
        ("WDBO(box, surrogate={}).ask(0.0)", ["'gp'", "RBF()", "WDBO"]),
        (
            "WDBO(box, constraints={}).ask(0.0)",
            [
                *("lambda x: x[0] > 3", "lambda x: x", "lambda x: 'yes'", "'x < 1'", "[3]"),
                *("LinearConstraint([1.0], 0, 1)", "LinearConstraint([1.0, 1.0], 8, 9)"),
                "NonlinearConstraint(lambda x: x[0], 1, 1)",
            ],
        ),
        ("WithContext(box, {})", ["None", "[(1.0, 0.0)]", "FiniteSet([[0.0]])"]),
        ("WDBO({}).ask(0.0)", ["{'load': Context(0, 1)}", "{'a': ('real', 0, 1), 'b': Context()}"]),
        ("FiniteSet({})", ["[]", "[[nan]]", "[[1.0], [1.0]]", "'arms'", "3"]),
    ],
    "Functions": [
        ("wasserstein_relevancy(X, {}, **known)", TARGETS[:8]),
        ("wasserstein_relevancy(X, y, **known | dict(now={}))", ["3.0", "nan", "'now'"]),
        (
            "wasserstein_relevancy(X, y, **known | dict(noise_variance={}))",
            ["-1.0", "nan", "[0.1]"],
        ),
        ("wasserstein_relevancy(X, y, **known | dict(spatial_kernel={}))", ["None", "'rbf'"]),
        ("spatial_convolution({}, X)", ["RationalQuadratic()", "RBF([1.0, 2.0])", "'rbf'"]),
        ("spatial_convolution(RBF(), {})", ["[]", "[1.0]", "[[nan]]"]),
        ("temporal_convolution(RBF(), [0.0, 1.0], {})", ["0.5", "nan", "None"]),
        ("dpp.greedy_map({}, 2)", ["[[1.0, 2.0]]", "nan * K", "-K", "[]", "np.triu(K)"]),
        ("dpp.greedy_map(K, {})", ["0", "4", "1.5", "'two'"]),
        ("dpp.sample_kdpp(K, 2, method={})", ["'fast'", "None"]),
        ("dpp.sample_kdpp(K, 2, n_steps={})", ["-1", "1.5"]),
        ("theory.recommended_dataset_size({}, lambda n: 1.0)", ["RBF", "RationalQuadratic()"]),
        ("theory.recommended_dataset_size(RBF(9.0), {})", ["1.0", "lambda n: -n", "lambda n: nan"]),
        ("theory.information_gain(K, {})", ["0.0", "-1.0", "nan"]),
        ("kernels.Forgetting({})([[0.0], [1.0]])", ["0.0", "1.0", "nan", "'fast'"]),
        ("kernels.Wiener(start={})([[0.0], [1.0]])", ["0.5", "nan", "None"]),
        ("kernels.Empirical({})([[0], [1]])", ["[[1.0]]", "[[1.0, 2.0], [2.0, 1.0]]", "'K'"]),
    ],
    "Experiments, files and data": [
        ("make({})", ["'akley'", "None", "3"]),
        ("make('ackley', horizon={})", ["0.0", "-1.0", "nan", "'long'"]),
        ("run(GPUCB(), problem, horizon={})", ["0.0", "99.0", "nan"]),
        ("run(GPUCB(), problem, n_initial={})", ["-1", "1.5", "9"]),
        ("run({}, problem)", ["GPUCB", "None"]),
        ("run(GPUCB(), {})", ["None", "'ackley'"]),
        ("compare({}, [problem])", ["{}", "[GPUCB()]", "{'a': None}"]),
        ("compare({{'a': GPUCB()}}, [problem], {})", ["0", "1.5"]),
        ("SimulatedClock({})", ["-1.0", "'instant'"]),
        ("response_time({})", ["'theirs'", "'papers/0'"]),
        ("RunResult.from_dict({})", ["[]", "{}", "{'times': []}", "None"]),
        ("Comparison.from_json({})", ["__file__"]),
        ("from_callable({}, box, horizon=5.0).value([0.5, 0.5], 1.0)", ["'f'", "None"]),
        ("load_ny_ozone(version={})", ["'2019'", "2020"]),
    ],
}


@dataclass(frozen=True)
class Outcome:
    """Result of a call.

    Attributes
    ----------
    call : str
    error : Exception or None
    returned : object
    changed : bool
        Whether an error left an existing object changed.
    """

    call: str
    error: Exception | None
    returned: object
    changed: bool


def objects():
    """What the calls are made on, all fresh."""
    rng = np.random.RandomState(0)
    X = np.column_stack([rng.uniform(size=(20, 2)), np.arange(20.0)])
    y = np.sin(5.0 * X[:, 0]) + 0.1 * rng.normal(size=20)
    box = [(0.0, 1.0), (0.0, 1.0)]
    opt = WDBO(box, n_initial_points=4, random_state=0)
    for row, value in zip(X[:8], y):
        opt.tell(row[:2], value, row[2])
    named = WDBO({"rate": ("real", 0.0, 1.0), "depth": ("integer", 1, 5)}, random_state=0)
    context = WDBO(WithContext([(0.0, 1.0)], [(0.0, 100.0)]), random_state=0)
    known = {"spatial_kernel": RBF(0.3), "temporal_kernel": Matern(5.0, nu=1.5)}
    known |= {"signal_variance": 1.0, "noise_variance": 0.1, "now": 20.0}
    problem = make("six-hump-camel", horizon=8.0)
    return {
        "X": X,
        "y": y,
        "K": np.eye(3) + 0.1,
        "box": box,
        "gp": TimeVaryingGPRegressor(RBF(0.3), RBF(5.0), optimizer=None).fit(X, y),
        "opt": opt,
        "x": opt.ask(8.0),
        "named": named,
        "context": context,
        "known": known,
        "problem": problem,
    }


def outcomes():
    """Those of all calls, each on objects that no other call has touched."""
    first = objects()
    before = {name: joblib.hash(state(thing)) for name, thing in first.items()}
    for calls in CALLS.values():
        for pattern, bad_values in calls:
            for bad in bad_values:
                call = pattern.format(bad)
                space = globals() | {"nan": np.nan, "inf": np.inf} | first
                error = returned = None
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")  # a warning is no answer
                        returned = eval(call, space)
                except Exception as exc:
                    error = exc
                after = {name: joblib.hash(state(thing)) for name, thing in first.items()}
                yield Outcome(call, error, returned, bool(error) and after != before)
                if after != before:
                    first = objects()


def state(thing):
    """All that an object holds, but for what it remembers of its own to answer sooner."""
    if hasattr(thing, "X_train_"):
        return sorted(vars(thing)), thing.X_train_, thing.y_train_, thing.theta_, thing.now_
    return vars(thing) if hasattr(thing, "get_params") else thing
