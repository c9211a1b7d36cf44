"""Plain data, ready for JSON, from values and back: exact to the bit, and executing nothing.

None, bool, int, str, finite float, list, and dict with str keys stay as they are. Any other value
becomes a dict whose key "#" names its kind. An array is stored as base64 of its bytes, an object as
the name of its class and its attributes.

Decoding looks up a class by name: among the imported ones of this package and scikit-learn's
kernels, or among the types that the caller gives. It imports nothing, and calls only domains,
enumerations, and the methods ``from_plain`` and ``__setstate__`` of these classes. Functions, types
and modules cannot be encoded.
"""

import base64
import math
import sys
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Protocol, runtime_checkable

import numpy as np
from scipy.optimize import Bounds, LinearConstraint
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import Kernel

from .._durations import is_duration, scalar
from ..domain import Arms, Box, FiniteSet, ParameterSpace
from ..exceptions import SktvboError

_DOMAINS = (Arms, Box, FiniteSet, ParameterSpace)
CODE = (type, FunctionType, BuiltinFunctionType, MethodType, ModuleType)


class NotPlainError(SktvboError, TypeError):
    """Error of a value that has no plain data, or of data that `encode` does not write."""


@runtime_checkable
class _SelfDescribing(Protocol):
    """Object that defines the dict from which it is rebuilt, instead of its attributes."""

    def to_plain(self): ...

    @classmethod
    def from_plain(cls, state): ...


def encode(value, templates=None, external=None):
    """Return a value as plain data.

    Parameters
    ----------
    value : object
    templates : dict of str to object, default=None
        Objects that `decode` receives as well. A value of the type of a template is written as the
        attributes that differ from the template's and are no parameters.
    external : dict of str to object, default=None
        Objects that are stored elsewhere: only their names are written.

    Raises
    ------
    NotPlainError
        Some part of the value is code, contains itself, or is of an unknown type.
    """
    return _Encoder(templates or {}, external or {}).encode(value)


def outline(value):
    """Return a value as plain data with gaps in place of its parts that have none."""
    return _Encoder({}, {}, with_gaps=True).encode(value)


def decode(plain, templates=None, types=(), external=None):
    """Return the value of plain data.

    Parameters
    ----------
    plain : object
        Result of `encode`.
    templates : dict of str to object, default=None
        As in `encode`; they are copied.
    types : iterable of type, default=()
        Known classes, in addition to this package's and scikit-learn's kernels.
    external : dict of str to object, default=None
        As in `encode`.

    Raises
    ------
    NotPlainError
        The data are no result of `encode`, or name an unknown class.
    """
    return _Decoder(templates or {}, types, external or {}).decode(plain)


def types_within(*values):
    """Return the set of types of values and of their parameters, at any depth."""
    types = set()
    for value in values:
        types |= {type(value)} | types_within(*_parameters(value).values())
    return types


def qualified_name(cls):
    """Return the name of a class with that of the package that offers it, or else its module's.

    A class may therefore move between private modules, and stored objects can still be read.
    """
    module = cls.__module__
    public = module.partition("._")[0]
    if vars(sys.modules.get(public, object)).get(cls.__qualname__) is cls:
        module = public
    return f"{module}.{cls.__qualname__}"


def _parameters(value):
    if hasattr(value, "get_params") and not isinstance(value, type):
        return value.get_params(deep=False)
    return {}


def _state(value):
    state = value.__getstate__()
    if state is None:
        return {}
    if not isinstance(state, dict):
        raise NotPlainError(f"An object of {qualified_name(type(value))} has slots.")
    return state


def _is_known(cls):
    """Return True for a class of this package, or of scikit-learn's kernels."""
    return cls.__module__.split(".")[0] == "sktvbo" or cls.__module__ == Kernel.__module__


def _random_state(rng):
    """Return the state (dict) of a RandomState, or of the bit generator of a Generator."""
    if isinstance(rng, np.random.Generator):
        state = rng.bit_generator.state
    else:
        state = rng.get_state(legacy=False)
    _bit_generator(state["bit_generator"])
    return state


def _bit_generator(name):
    """Return NumPy's class of bit generators of a name."""
    generator = getattr(np.random, name, None)
    if not (isinstance(generator, type) and issubclass(generator, np.random.BitGenerator)):
        raise NotPlainError(f"{name!r} is no bit generator of NumPy.")
    return generator


class _Encoder:
    def __init__(self, templates, external, with_gaps=False):
        self._templates = {type(value): (name, value) for name, value in templates.items()}
        self._external = {id(value): name for name, value in external.items()}
        self._with_gaps = with_gaps
        # Objects that contain the present one.
        self._outer = []

    def encode(self, value):
        try:
            return self._encoded(value)
        except NotPlainError:
            if self._with_gaps:
                return {"#": "gap"}
            raise

    def _encoded(self, value):
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if id(value) in self._external:
            return {"#": "apart", "name": self._external[id(value)]}
        if kind is float:
            return value if math.isfinite(value) else {"#": "float", "value": repr(value)}
        if kind is list:
            return self._all(value)
        if kind is tuple:
            return {"#": "tuple", "items": self._all(value)}
        if kind is dict:
            if all(type(key) is str and key != "#" for key in value):
                return self._dict(value)
            return {"#": "dict", "items": [self._all(pair) for pair in value.items()]}
        if kind is np.ndarray:
            return self._array(value)
        if is_duration(value):
            value = scalar(value)
        if isinstance(value, np.generic):
            return {"#": "number", "array": self._array(np.asarray(value))}
        if kind is slice:
            return {"#": "slice", "ends": self._all((value.start, value.stop, value.step))}
        if isinstance(value, Enum):
            return {"#": "enum", "type": qualified_name(kind), "value": self.encode(value.value)}
        if kind is np.random.RandomState:
            return {"#": "RandomState", "state": self.encode(_random_state(value))}
        if kind is np.random.Generator:
            return {"#": "Generator", "state": self.encode(_random_state(value))}
        if kind in _DOMAINS:
            # The argument of the constructor, as copies are made.
            argument = self.encode(value.__reduce__()[1][0])
            return {"#": "domain", "type": qualified_name(kind), "argument": argument}
        if kind is LinearConstraint:
            A = value.A.toarray() if issparse(value.A) else value.A
            parts = map(np.asarray, (A, value.lb, value.ub))
            return {"#": "LinearConstraint", "parts": self._all(parts)}
        if kind is Bounds:
            return {"#": "Bounds", "lb": self.encode(value.lb), "ub": self.encode(value.ub)}
        return self._object(value, kind)

    def _all(self, values):
        return [self.encode(value) for value in values]

    def _dict(self, values):
        return {name: self.encode(value) for name, value in values.items()}

    def _array(self, value):
        if value.dtype.hasobject:
            raise NotPlainError("An array of objects cannot be stored.")
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode("ascii")
        return {"#": "array", "dtype": value.dtype.str, "shape": list(value.shape), "data": data}

    def _object(self, value, kind):
        name = qualified_name(kind)
        if isinstance(value, CODE):
            raise NotPlainError(f"{value.__name__!r} is code.")
        known = _is_known(kind) or isinstance(value, BaseEstimator | Kernel)
        if not known and kind not in self._templates:
            raise NotPlainError(f"An object of {name} cannot be stored.")
        if any(value is outer for outer in self._outer):
            raise NotPlainError(f"An object of {name} contains itself.")
        self._outer.append(value)
        try:
            if kind in self._templates:
                template_name, template = self._templates[kind]
                parameters, template_state = _parameters(value), _state(template)
                state = {
                    name: item
                    for name, item in _state(value).items()
                    if name not in parameters
                    and not (name in template_state and item is template_state[name])
                }
                return {"#": "like", "name": template_name, "state": self._dict(state)}
            if isinstance(value, _SelfDescribing):
                return {"#": "made", "type": name, "of": self._dict(value.to_plain())}
            return {"#": "object", "type": name, "state": self._dict(_state(value))}
        finally:
            self._outer.pop()


class _Decoder:
    def __init__(self, templates, types, external):
        self._templates = templates
        self._types = {qualified_name(cls): cls for cls in types}
        self._external = external

    def decode(self, plain):
        if isinstance(plain, list):
            return self._all(plain)
        if not isinstance(plain, dict):
            return plain
        if "#" not in plain:
            return {key: self.decode(item) for key, item in plain.items()}
        try:
            return self._tagged(plain)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as exc:
            if isinstance(exc, NotPlainError):
                raise
            reason = f"{type(exc).__name__}: {exc}"
            raise NotPlainError(f"The data of a {plain['#']!r} are invalid ({reason}).") from exc

    def _tagged(self, plain):
        match plain:
            case {"#": "float", "value": value}:
                return float(value)
            case {"#": "tuple", "items": items}:
                return tuple(self._all(items))
            case {"#": "dict", "items": items}:
                return dict(self._all(items))
            case {"#": "array", "dtype": dtype, "shape": shape, "data": data}:
                dtype = np.dtype(dtype)
                if dtype.hasobject:
                    raise NotPlainError("An array of objects cannot be stored.")
                data = base64.b64decode(data, validate=True)
                return np.frombuffer(data, dtype=dtype).reshape(shape).copy()
            case {"#": "number", "array": array}:
                return self.decode(array)[()]
            case {"#": "slice", "ends": ends}:
                return slice(*self._all(ends))
            case {"#": "enum", "type": name, "value": value}:
                return self._class(name, Enum)(self.decode(value))
            case {"#": "RandomState", "state": state}:
                state = self.decode(state)
                rng = np.random.RandomState(_bit_generator(state["bit_generator"])(0))
                rng.set_state(state)
                return rng
            case {"#": "Generator", "state": state}:
                state = self.decode(state)
                bits = _bit_generator(state["bit_generator"])(0)
                bits.state = state
                return np.random.Generator(bits)
            case {"#": "domain", "type": name, "argument": argument}:
                return self._class(name, _DOMAINS)(self.decode(argument))
            case {"#": "LinearConstraint", "parts": parts}:
                return LinearConstraint(*self._all(parts))
            case {"#": "Bounds", "lb": lb, "ub": ub}:
                return Bounds(self.decode(lb), self.decode(ub))
            case {"#": "apart", "name": name}:
                return self._external[name]
            case {"#": "like", "name": name, "state": state}:
                template = self._templates[name]
                return self._with_state(type(template), _state(template) | self.decode(state))
            case {"#": "made", "type": name, "of": state}:
                return self._class(name, _SelfDescribing).from_plain(self.decode(state))
            case {"#": "object", "type": name, "state": state}:
                return self._with_state(self._class(name), self.decode(state))
        raise NotPlainError(f"The data of a {plain['#']!r} are incomplete, or of an unknown kind.")

    def _all(self, values):
        return [self.decode(value) for value in values]

    def _with_state(self, cls, state):
        if issubclass(cls, Enum):
            raise NotPlainError(f"{qualified_name(cls)} is an enumeration.")
        new = object.__new__(cls)
        if hasattr(new, "__setstate__"):
            new.__setstate__(state)
        else:
            vars(new).update(state)
        return new

    def _class(self, name, base=object):
        """Return the known class of a name, which must be a subclass of ``base``."""
        cls = self._types.get(name)
        if cls is None:
            module, _, attribute = name.rpartition(".")
            cls = vars(sys.modules[module]).get(attribute) if module in sys.modules else None
            if not (isinstance(cls, type) and _is_known(cls) and qualified_name(cls) == name):
                raise NotPlainError(
                    f"The class {name} is unknown: it is none of this package, and not among those "
                    "given."
                )
        if not issubclass(cls, base):
            raise NotPlainError(f"The class {name} must be another kind of class for these data.")
        return cls
