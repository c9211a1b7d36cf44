"""Decorator that makes annotations of an optimizer its parameters."""

import inspect
from dataclasses import dataclass, field, is_dataclass
from typing import dataclass_transform

from .._docstrings import described_like


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def algorithm(cls):
    """Decorate an optimizer class, whose annotated attributes become keyword-only parameters.

    Adds the constructor, and with it ``get_params``. Signature and docstring list the parameters of
    the class first, and those that all optimizers share last.
    """
    cls = dataclass(kw_only=True, eq=False, repr=False)(cls)
    bases, declared_in = [base for base in cls.__mro__ if is_dataclass(base)], {"self": 0}
    for i, base in enumerate(bases):
        for name in inspect.get_annotations(base):
            declared_in.setdefault(name, i)
    parameters = [
        parameter.replace(annotation=parameter.empty)
        for parameter in inspect.signature(cls.__init__).parameters.values()
    ]
    parameters.sort(key=lambda p: (p.kind, declared_in[p.name]))
    cls.__init__.__signature__ = inspect.Signature(parameters)
    return described_like(bases[1] if bases[1:] else cls)(cls)
