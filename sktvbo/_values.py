"""Frozen values of which the next one is made, many times a step."""


def replaced(value, **changes):
    """A frozen value with other values for some of its fields, in a tenth of the time.

    Unlike `dataclasses.replace` it makes no call per field, and is for classes without slots, that
    do nothing when they are made and keep nothing that they have worked out.
    """
    fields = vars(value)
    if not changes.keys() <= fields.keys():
        unknown = ", ".join(sorted(changes.keys() - fields.keys()))
        raise TypeError(f"{type(value).__name__} has no field {unknown}")
    found = object.__new__(type(value))
    vars(found).update(fields)
    vars(found).update(changes)
    return found
