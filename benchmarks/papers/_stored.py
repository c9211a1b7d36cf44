"""Comparisons whose finished runs are kept, and descriptions of settings as plain data."""

import functools
import hashlib
import json
import math
import re
import types
import warnings
from collections.abc import Mapping
from contextlib import nullcontext

import numpy as np
from joblib import Memory, Parallel, delayed
from scipy.stats.distributions import rv_frozen

from sktvbo import __version__, evaluation
from sktvbo.evaluation._arguments import random_seeds
from sktvbo.evaluation._optimizer import SET_BY_RUN
from sktvbo.evaluation._problems import named_problems
from sktvbo.evaluation._run import progress_bar

# Attributes of a problem that each run resets: its cache of optima and its noise.
_RESET_BY_RUN = ("_optima", "_rng")

# Types of the values in a function's closure that are settings: constants and code. Of all other
# values only the type is a setting.
_CONSTANT = (int, float, str, tuple, np.generic, np.ndarray, types.FunctionType, functools.partial)


def compare(
    optimizers,
    problems,
    n_replications=10,
    *,
    store,
    seeds=None,
    n_jobs=None,
    progress=False,
    **options,
):
    """Return `evaluation.compare` of runs that a folder keeps.

    Another algorithm, problem, option or version of this package makes other runs. Failed runs are
    not kept.

    Parameters
    ----------
    optimizers, problems, n_replications, seeds, n_jobs, progress, **options
        As in `evaluation.compare`.
    store : path-like
    """
    problems = named_problems(problems)
    seeds = random_seeds(0, n_replications) if seeds is None else seeds
    keys = [(a, p, seed) for a in optimizers for p in problems for seed in seeds]
    run = Memory(store, verbose=0).cache(_run, ignore=["optimizer", "problem", "options"])
    algorithms = {name: describe_optimizer(optimizer) for name, optimizer in optimizers.items()}
    functions = {name: describe(problem) for name, problem in problems.items()}
    settings = json.dumps([__version__, describe(options)], sort_keys=True)
    calls = (
        delayed(_kept)(
            run,
            *(a, p, seed, json.dumps([algorithms[a], functions[p]], sort_keys=True) + settings),
            *(optimizers[a], problems[p], options),
        )
        for a, p, seed in keys
    )
    results, failures = {key[:2]: [] for key in keys}, []
    bar = progress_bar(total=len(keys), unit="run") if progress else nullcontext()
    with bar:
        for key, found in zip(keys, Parallel(n_jobs, batch_size=1, return_as="generator")(calls)):
            results[key[:2]] += found.results[key[:2]]
            failures += found.failures
            if progress:
                bar.update()
    return evaluation.Comparison(results, failures)


def _run(algorithm, name, seed, settings, optimizer, problem, options):
    """Return the comparison of one run."""
    with warnings.catch_warnings():
        # The failures are in the comparison.
        warnings.filterwarnings("ignore", message=r"\d+ of \d+ runs failed")
        return evaluation.compare({algorithm: optimizer}, {name: problem}, seeds=[seed], **options)


def _kept(run, *arguments):
    """Return the result of a cached call, and forget a failure."""
    item = run.call_and_shelve(*arguments)
    try:
        found = item.get()
    except KeyError as exc:
        raise OSError("A finished run could not be written.") from exc
    if found.failures:
        item.clear()
    return found


def describe_optimizer(optimizer):
    """Return `describe` of an algorithm, without the parameters that a run sets."""
    if not hasattr(optimizer, "get_params"):
        return describe(optimizer)
    parameters = optimizer.get_params(deep=False).items()
    return {
        "type": _name(type(optimizer)),
        **{name: describe(value) for name, value in parameters if name not in SET_BY_RUN},
    }


def describe(thing, _within=()):
    """Return plain data for JSON that identify a setting, the same in every process.

    ``repr`` does not: it rounds kernels to three digits and has the address of functions. A
    function is described by its code and the constants that it closes over, another object by its
    parameters or attributes.
    """
    if thing is None or isinstance(thing, bool | int | str):
        return thing
    if isinstance(thing, float):
        return thing if math.isfinite(thing) else repr(thing)
    if isinstance(thing, np.generic):
        return describe(thing.item())
    if isinstance(thing, type):
        return _name(thing)
    if id(thing) in _within:
        return "..."
    inner = functools.partial(describe, _within=(*_within, id(thing)))
    if isinstance(thing, np.ndarray):
        if thing.size <= 16 or thing.dtype.hasobject:
            return inner(thing.tolist())
        return f"array {thing.shape} {thing.dtype} {_digest(thing.tobytes())[:16]}"
    if isinstance(thing, Mapping):
        return {str(key): inner(value) for key, value in thing.items()}
    if isinstance(thing, list | tuple):
        return [inner(value) for value in thing]
    if isinstance(thing, set | frozenset):
        return sorted(map(inner, thing), key=repr)
    if isinstance(thing, np.random.RandomState):
        return inner(thing.get_state(legacy=False))
    if isinstance(thing, np.random.Generator):
        return inner(thing.bit_generator.state)
    if isinstance(thing, rv_frozen):  # its attributes include NumPy's global generator
        return {"distribution": thing.dist.name, "args": inner([thing.args, thing.kwds])}
    if isinstance(thing, functools.partial):
        return {"partial": inner(thing.func), "args": inner([thing.args, thing.keywords])}
    if isinstance(thing, types.CodeType):
        return [_digest(thing.co_code)[:16], thing.co_names, inner(thing.co_consts)]
    if isinstance(thing, types.MethodType):
        return {"method": thing.__name__, "of": inner(thing.__self__)}
    if isinstance(thing, types.FunctionType):
        cells = [cell.cell_contents for cell in thing.__closure__ or ()]
        return {
            "function": _name(thing),
            "code": inner(thing.__code__),
            "defaults": inner([thing.__defaults__, thing.__kwdefaults__]),
            "closure": inner([c if isinstance(c, _CONSTANT) else type(c) for c in cells]),
        }
    if hasattr(thing, "get_params"):
        return {"type": _name(type(thing)), **inner(thing.get_params(deep=False))}
    if hasattr(thing, "__dict__"):
        state = {name: value for name, value in vars(thing).items() if name not in _RESET_BY_RUN}
        return {"type": _name(type(thing)), **inner(state)}
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(thing))


def _name(thing):
    return f"{thing.__module__}.{thing.__qualname__}"


def _digest(data):
    return hashlib.sha256(data).hexdigest()
