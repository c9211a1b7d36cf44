"""The parts that users give, checked before anything is asked."""

from .._validation import invalid


def check_parts(owner, surrogate, policy):
    """Raise unless an optimizer's surrogate, None for its own, and policy can work together."""
    if surrogate is not None:
        if not hasattr(surrogate, "fit") or isinstance(surrogate, type):
            expected = "None or an estimator, see sktvbo.staleness.Surrogate"
            raise invalid("surrogate", expected, surrogate, owner)
        if hasattr(surrogate, "check"):
            surrogate.check()
    if hasattr(policy, "check"):
        policy.check(surrogate)
