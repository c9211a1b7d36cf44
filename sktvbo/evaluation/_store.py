"""Folder of finished runs, and descriptions of their settings as plain data."""

import contextlib
import functools
import hashlib
import json
import math
import re
import tempfile
import types
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy.stats.distributions import rv_frozen

from .._warnings import warn_caller
from ..exceptions import SktvboError
from ._ask_tell import SET_BY_RUN
from ._files import add_checksum, read_json, verify_checksum, write_json
from ._results import RunResult

# Attributes of a problem that each run resets: its cache of optima and its noise.
_RESET_BY_RUN = ("_optima", "_rng")

# Types of the values in a function's closure that are settings: constants and code. Of all other
# values only the type is a setting.
_CONSTANT = (int, float, str, tuple, np.generic, np.ndarray, types.FunctionType, functools.partial)


class StoreError(SktvboError, OSError):
    """Error raised when a store cannot be read or written."""


class Store:
    """Finished runs, one JSON file each, written atomically and named by a digest of the settings.

    Parameters
    ----------
    folder : path-like
        Created if it does not exist.

    Raises
    ------
    StoreError
        The folder cannot be written.
    """

    def __init__(self, folder):
        self.folder = Path(folder).absolute()  # what is run may change the present folder
        with self._as_store_error():
            self.folder.mkdir(parents=True, exist_ok=True)
            # Fail before the first run rather than after it.
            tempfile.TemporaryFile(dir=self.folder).close()

    def load(self, algorithm, problem, seed, settings):
        """Return the finished `RunResult` of these settings, or None if missing or damaged.

        Raises
        ------
        StoreError
            The folder cannot be read.
        """
        run, path = self._place(algorithm, problem, seed, settings)
        try:
            with self._as_store_error():
                content = verify_checksum(read_json(path)) if path.exists() else None
            if content is None:
                return None
            result = RunResult.from_dict(content.pop("result"))
            if content != run or result.seed != seed:
                raise ValueError("it belongs to another run")
            return result
        except (ValueError, KeyError) as exc:
            warn_caller(
                f"{path} does not hold a finished run ({type(exc).__name__}: {exc}): "
                f"{algorithm!r} on {problem!r} with seed {seed} is run again.",
            )
            return None

    def save(self, algorithm, problem, seed, settings, result):
        """Store a finished run.

        Raises
        ------
        StoreError
            The folder cannot be written, or the disk is full.
        """
        run, path = self._place(algorithm, problem, seed, settings)
        with self._as_store_error():
            write_json(path, add_checksum(run | {"result": result.to_dict()}))

    def _place(self, algorithm, problem, seed, settings):
        """Return the identity of a run, as JSON has it, and the path of its file."""
        run = {"algorithm": algorithm, "problem": problem, "seed": seed, "settings": settings}
        text = json.dumps(run, sort_keys=True)
        names = [re.sub(r"[^A-Za-z0-9.-]+", "-", str(name))[:40] for name in (algorithm, problem)]
        name = f"{'_'.join(names)}_{seed}_{_digest(text.encode())[:16]}.json"
        return json.loads(text), self.folder / name

    @contextlib.contextmanager
    def _as_store_error(self):
        """Context that turns an OSError into a `StoreError` with advice."""
        try:
            yield
        except OSError as exc:
            raise StoreError(
                exc.errno,
                f"The store must be readable and writable. Got {exc.strerror!r} instead. Its runs "
                "are kept: make room and compare again, or use another folder",
                str(self.folder),
            ) from exc


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
