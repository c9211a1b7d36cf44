"""References that Sphinx does not find: names of this package without a path, and other packages.

A docstring names what it is about as a user does, ``to_frame`` or ``WDBO``. Pages of other packages
are linked by the scheme of their addresses, without the network.
"""

import re

from docutils import nodes

# The classes whose methods need no path.
HOMES = ("sktvbo.optimizers.BayesianOptimizer", "sktvbo.gaussian_process.TimeVaryingGPRegressor")
# Where pages of other packages are, for each form of a name.
PAGES = {
    r"sklearn(\.\w+)+": "https://scikit-learn.org/stable/modules/generated/{}.html",
    r"scipy(\.\w+)+": "https://docs.scipy.org/doc/scipy/reference/generated/{}.html",
    r"joblib(\.\w+)+": "https://joblib.readthedocs.io/en/stable/generated/{}.html",
    r"optuna\.samplers\.BaseSampler": (
        "https://optuna.readthedocs.io/en/stable/reference/samplers/generated/{}.html"
    ),
}


def full_name(target, names):
    """The documented name that a short one means: a method of HOMES, else the only one, or None."""
    for home in HOMES:
        if f"{home}.{target}" in names:
            return f"{home}.{target}"
    found = {name for name in names if name.endswith(f".{target}") and "._" not in name}
    tops = {name for name in found if name.split(".")[-2].islower()}
    candidates = tops or found
    return candidates.pop() if len(candidates) == 1 else None


def resolve(app, env, node, contnode):
    """Return a reference for a name in the domain of Python."""
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    domain = env.get_domain("py")
    name = full_name(target, domain.objects)
    if name is not None and name != target:
        return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", name, node, contnode)
    for form, address in PAGES.items():
        if re.fullmatch(form, target):
            return nodes.reference("", "", contnode, refuri=address.format(target))
    return None


def setup(app):
    """Register the resolver."""
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
