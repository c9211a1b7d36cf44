"""Decorator that makes annotations of an optimizer its parameters."""

import inspect
from dataclasses import dataclass, field, fields, is_dataclass
from typing import dataclass_transform

from .._docstrings import described_like


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def algorithm(cls):
    """Decorate an optimizer class, whose annotated attributes become keyword-only parameters.

    Adds the constructor, and with it ``get_params``. Signature and docstring list the parameters of
    the class first, and those that all optimizers share last.
    """
    cls = dataclass(kw_only=True, eq=False, repr=False)(cls)
    first = next(base for base in reversed(cls.__mro__) if is_dataclass(base))
    shared, own = {f.name for f in fields(first)}, inspect.get_annotations(cls)
    parameters = [
        parameter.replace(annotation=parameter.empty)
        for parameter in inspect.signature(cls.__init__).parameters.values()
    ]
    parameters.sort(key=lambda p: (p.kind, p.name in shared, p.name not in own))
    cls.__init__.__signature__ = inspect.Signature(parameters)
    return described_like(first)(cls)
