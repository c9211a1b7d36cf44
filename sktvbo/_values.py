"""Fast copies of frozen values with other fields."""


def replaced(value, **changes):
    """Return a frozen value with other values for some of its fields, as `dataclasses.replace`.

    It takes a tenth of the time. The class must have neither slots nor ``__post_init__`` nor values
    computed on demand.
    """
    fields = vars(value)
    if not changes.keys() <= fields.keys():
        unknown = ", ".join(sorted(changes.keys() - fields.keys()))
        raise TypeError(f"{type(value).__name__} has no field {unknown}")
    found = object.__new__(type(value))
    vars(found).update(fields)
    vars(found).update(changes)
    return found
