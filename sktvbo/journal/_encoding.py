"""Values as plain data, ready for JSON, and back: exact to the bit, and nothing is executed.

Numbers, strings, lists and dicts of names stay as they are. Whatever else there is becomes a dict
with the key "#", which says what it is. Arrays are base64 of their bytes. An object is its class by
name and its attributes; back again, a class is looked up among those of this package and
scikit-learn's kernels that have been imported, or among the types that the caller names. Neither
constructors nor anything else that a file names is called. What has code of its own, such as a
function, is not plain.
"""

import base64
import math
import sys
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

import numpy as np
from scipy.optimize import Bounds, LinearConstraint
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import Kernel

from ..domain import Arms, Box, FiniteSet, ParameterSpace
from ..exceptions import SktvboError

_FOREIGN = "sklearn.gaussian_process.kernels"
_DOMAINS = (Arms, Box, FiniteSet, ParameterSpace)
_CODE = (type, FunctionType, BuiltinFunctionType, MethodType, ModuleType)


class NotPlainError(SktvboError, TypeError):
    """A value that cannot be written as plain data."""


def encode(value, templates=None, apart=None):
    """A value as plain data.

    Parameters
    ----------
    value : object
    templates : dict of str to object, default=None
        Objects that whoever decodes will have: of a value of the type of one of them only the
        attributes are written that are no parameters.
    apart : dict of str to object, default=None
        Objects that are stored elsewhere: of each only its name is written.

    Raises
    ------
    NotPlainError
        Something in the value has code of its own, or is of a type that says nothing of itself.
    """
    return _Encoder(templates or {}, apart or {}).encode(value)


def decode(plain, templates=None, types=(), apart=None):
    """The value of plain data.

    Parameters
    ----------
    plain : object
        Of `encode`.
    templates : dict of str to object, default=None
        As in `encode`; they are copied.
    types : iterable of type, default=()
        Classes that may occur besides this package's and scikit-learn's kernels.
    apart : dict of str to object, default=None
        Objects that were stored elsewhere, by name.

    Raises
    ------
    NotPlainError
        The data hold a class that is not known, or are not of `encode`.
    """
    return _Decoder(templates or {}, types, apart or {}).decode(plain)


def learnt(thing):
    """What an object holds besides its parameters, a dict."""
    parameters = thing.get_params(deep=False) if hasattr(thing, "get_params") else ()
    return {name: value for name, value in _state(thing).items() if name not in parameters}


def types_within(*things):
    """Types of objects, and of their parameters, which may be nested."""
    found = set()
    for thing in things:
        found.add(type(thing))
        if hasattr(thing, "get_params") and not isinstance(thing, type):
            found |= types_within(*thing.get_params(deep=False).values())
    return found


def _state(thing):
    state = thing.__getstate__()
    if state is None:
        return {}
    if not isinstance(state, dict):
        raise NotPlainError(f"{_name(type(thing))} keeps its state in slots.")
    return state


def _name(cls):
    return f"{cls.__module__}.{cls.__qualname__}"


def _ours(cls):
    return cls.__module__.partition(".")[0] == "sktvbo" or cls.__module__ == _FOREIGN


class _Encoder:
    def __init__(self, templates, apart):
        self._templates = {type(value): (name, value) for name, value in templates.items()}
        self._apart = {id(value): (name, value) for name, value in apart.items()}
        self._within = []

    def encode(self, value):
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if id(value) in self._apart:
            return {"#": "apart", "name": self._apart[id(value)][0]}
        if kind is float:
            return value if math.isfinite(value) else {"#": "float", "value": repr(value)}
        if kind is list:
            return [self.encode(item) for item in value]
        if kind is tuple:
            return {"#": "tuple", "items": [self.encode(item) for item in value]}
        if kind is dict:
            if all(type(key) is str and key != "#" for key in value):
                return {key: self.encode(item) for key, item in value.items()}
            pairs = [[self.encode(key), self.encode(item)] for key, item in value.items()]
            return {"#": "dict", "items": pairs}
        if kind is np.ndarray:
            return self._array(value)
        if isinstance(value, np.generic):
            return {"#": "number", "array": self._array(np.asarray(value))}
        return self._object(value, kind)

    def _array(self, value):
        if value.dtype.hasobject:
            raise NotPlainError("An array of objects is not plain.")
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode("ascii")
        return {"#": "array", "dtype": value.dtype.str, "shape": list(value.shape), "data": data}

    def _object(self, value, kind):
        if kind is slice:
            ends = [self.encode(end) for end in (value.start, value.stop, value.step)]
            return {"#": "slice", "ends": ends}
        if isinstance(value, _CODE):
            raise NotPlainError(f"{getattr(value, '__qualname__', value)!r} is code.")
        if isinstance(value, Enum):
            return {"#": "enum", "type": _name(kind), "value": self.encode(value.value)}
        if kind is np.random.RandomState:
            state = value.get_state(legacy=True)
            if not isinstance(state, tuple):
                raise NotPlainError("A RandomState of another bit generator is not plain.")
            return {"#": "RandomState", "state": self.encode(tuple(state))}
        if kind in _DOMAINS:
            return {"#": "domain", "type": _name(kind), "argument": self.encode(_argument(value))}
        if kind is LinearConstraint:
            parts = (np.asarray(part) for part in (_dense(value.A), value.lb, value.ub))
            return {"#": "LinearConstraint", "parts": [self.encode(part) for part in parts]}
        if kind is Bounds:
            return {"#": "Bounds", "lb": self.encode(value.lb), "ub": self.encode(value.ub)}
        plain = _ours(kind) or isinstance(value, BaseEstimator | Kernel)
        if not plain and kind not in self._templates:
            raise NotPlainError(f"An object of {_name(kind)} is not plain.")
        if any(value is other for other in self._within):
            raise NotPlainError(f"An object of {_name(kind)} holds itself.")
        self._within.append(value)
        try:
            if kind in self._templates:
                name, template = self._templates[kind]
                given = _state(template)
                state = {k: v for k, v in learnt(value).items() if v is not given.get(k, self)}
                return {"#": "like", "name": name, "state": self._items(state)}
            if hasattr(value, "to_plain"):
                state = self._items(value.to_plain())
                return {"#": "made", "type": _name(kind), "of": state}
            return {"#": "object", "type": _name(kind), "state": self._items(_state(value))}
        finally:
            self._within.pop()

    def _items(self, state):
        return {name: self.encode(item) for name, item in state.items()}


def _dense(matrix):
    return matrix.toarray() if issparse(matrix) else matrix


def _argument(domain):
    """The argument of a domain's constructor, by the protocol of copies."""
    return domain.__reduce__()[1][0]


class _Decoder:
    def __init__(self, templates, types, apart):
        self._templates = templates
        self._types = {_name(cls): cls for cls in types}
        self._apart = apart

    def decode(self, plain):
        if isinstance(plain, list):
            return [self.decode(item) for item in plain]
        if not isinstance(plain, dict):
            return plain
        if "#" not in plain:
            return {key: self.decode(item) for key, item in plain.items()}
        try:
            return _READERS[plain["#"]](self, plain)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as exc:
            if isinstance(exc, NotPlainError):
                raise
            what = f"{type(exc).__name__}: {exc}"
            raise NotPlainError(f"These are no data of a {plain['#']!r} ({what}).") from exc

    def _float(self, plain):
        return float(plain["value"])

    def _tuple(self, plain):
        return tuple(self.decode(item) for item in plain["items"])

    def _dict(self, plain):
        return {self.decode(key): self.decode(item) for key, item in plain["items"]}

    def _array(self, plain):
        dtype = np.dtype(plain["dtype"])
        if dtype.hasobject:
            raise NotPlainError("An array of objects is not plain.")
        data = base64.b64decode(plain["data"], validate=True)
        return np.frombuffer(data, dtype=dtype).reshape(plain["shape"]).copy()

    def _number(self, plain):
        return self._array(plain["array"])[()]

    def _slice(self, plain):
        return slice(*map(self.decode, plain["ends"]))

    def _enum(self, plain):
        cls = self._class(plain["type"])
        if not issubclass(cls, Enum):
            raise NotPlainError(f"{plain['type']} is no enumeration.")
        return cls(self.decode(plain["value"]))

    def _randomstate(self, plain):
        rng = np.random.RandomState()
        rng.set_state(self.decode(plain["state"]))
        return rng

    def _domain(self, plain):
        cls = self._class(plain["type"])
        if cls not in _DOMAINS:
            raise NotPlainError(f"{plain['type']} is no domain.")
        return cls(self.decode(plain["argument"]))

    def _bounds(self, plain):
        return Bounds(self.decode(plain["lb"]), self.decode(plain["ub"]))

    def _linearconstraint(self, plain):
        return LinearConstraint(*map(self.decode, plain["parts"]))

    def _elsewhere(self, plain):
        return self._apart[plain["name"]]

    def _like(self, plain):
        template = self._templates[plain["name"]]
        new = object.__new__(type(template))
        return self._filled(new, _state(template) | self.decode(plain["state"]))

    def _made(self, plain):
        cls = self._class(plain["type"])
        return cls.from_plain(self.decode(plain["of"]))

    def _object(self, plain):
        cls = self._class(plain["type"])
        if issubclass(cls, Enum):
            raise NotPlainError(f"{plain['type']} is an enumeration.")
        return self._filled(object.__new__(cls), self.decode(plain["state"]))

    def _filled(self, new, state):
        if hasattr(new, "__setstate__"):
            new.__setstate__(state)
        else:
            vars(new).update(state)
        return new

    def _class(self, name):
        """A class that is known by this name; nothing is imported."""
        if name in self._types:
            return self._types[name]
        module, _, cls = name.rpartition(".")
        found = vars(sys.modules.get(module, sys)).get(cls) if module in sys.modules else None
        if isinstance(found, type) and _ours(found) and _name(found) == name:
            return found
        raise NotPlainError(
            f"The class {name} is not known: it is none of this package, and none of those given."
        )


_READERS = {
    "float": _Decoder._float,
    "tuple": _Decoder._tuple,
    "dict": _Decoder._dict,
    "array": _Decoder._array,
    "number": _Decoder._number,
    "slice": _Decoder._slice,
    "enum": _Decoder._enum,
    "RandomState": _Decoder._randomstate,
    "domain": _Decoder._domain,
    "Bounds": _Decoder._bounds,
    "LinearConstraint": _Decoder._linearconstraint,
    "apart": _Decoder._elsewhere,
    "like": _Decoder._like,
    "made": _Decoder._made,
    "object": _Decoder._object,
}
