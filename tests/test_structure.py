"""The walls of the house: privates stay at home, imports run one way, no file grows too long.

A private attribute belongs to the module whose classes define it: elsewhere ``x._name`` is written
of ``self`` only, or of what is made in its place. A private name of a module belongs to the module,
and to those beside it in a folder below the top. Private modules are the whole package's.
"""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import sktvbo

ROOT = Path(sktvbo.__file__).parent
MODULES = {
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(ROOT.rglob("*.py"))
}
# The compiled modules are importable as well.
KNOWN = set(MODULES) | {
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts) for path in ROOT.rglob("*.pyx")
}
MAX_LINES = 700

# Of named tuples: public, with an underscore so that no field has the name.
PUBLIC = {"_asdict", "_fields", "_make", "_replace"}
# Names that stand for the object itself, or for another one of its class in the making.
SELVES = {"self", "cls", "new"}

every_module = pytest.mark.parametrize("module", MODULES)


def is_private(name):
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC


def tree_of(module):
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


def folder_of(module):
    """The package that a module lies in; of a package that itself."""
    is_package = module in MODULES and MODULES[module].name == "__init__.py"
    return module if is_package else module.rpartition(".")[0]


def is_within(module, folder):
    return f"{module}.".startswith(f"{folder}.")


# --- what a module imports ------------------------------------------------------------------------


def imports(tree, module):
    """(line, module, name, alias) of each name imported; the name is None for a whole module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield node.lineno, name.name, None, name.asname or name.name
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            if node.level:
                parts = folder_of(module).split(".")
                base = parts[: len(parts) - node.level + 1]
                source = ".".join([*base, *filter(None, [source])])
            for name in node.names:
                inner = f"{source}.{name.name}"
                whole = (inner, None) if inner in KNOWN else (source, name.name)
                yield node.lineno, *whole, name.asname or name.name


def foreign_imports(tree, module):
    """Private names that are others', and other projects' private modules."""
    for line, source, name, _ in imports(tree, module):
        if not is_within(source, "sktvbo") and any(map(is_private, source.split("."))):
            yield line, f"{source} is another project's private module"
        if name is not None and is_private(name) and not shares_folder(module, source):
            yield line, f"{source}.{name} is private to its module"


def shares_folder(module, source):
    """Whether both lie in one folder below the top, whose modules may share their names."""
    folder = folder_of(source)
    return folder != "sktvbo" and is_within(folder, "sktvbo") and folder_of(module) == folder


# --- what it asks of objects ----------------------------------------------------------------------


def is_self(node):
    """``self``, ``cls``, ``super()``, ``type(self)``, ``self.__class__``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id == "super" or (node.func.id == "type" and is_self(node.args[0]))
    if isinstance(node, ast.Attribute) and node.attr == "__class__":
        return is_self(node.value)
    return isinstance(node, ast.Name) and node.id in SELVES


def own_names(tree):
    """Names of the attributes that the classes of a module define, or ask of themselves."""
    names = set()
    for cls in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        for node in ast.walk(cls):
            if isinstance(node, ast.FunctionDef):
                names.add(node.name)
            elif isinstance(node, ast.Attribute) and is_self(node.value):
                names.add(node.attr)
        for node in cls.body:
            targets = getattr(node, "targets", [getattr(node, "target", None)])
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def asked(tree):
    """(line, object, name) of each attribute, also where its name is given as a string."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.lineno, node.value, node.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            by_name = node.func.id in {"getattr", "setattr", "hasattr", "delattr"}
            if by_name and isinstance(node.args[1], ast.Constant):
                yield node.lineno, node.args[0], str(node.args[1].value)


def foreign_attributes(tree, module):
    """Private attributes of objects that are others'."""
    own = own_names(tree)
    modules = {alias: source for _, source, name, alias in imports(tree, module) if name is None}
    for line, value, name in asked(tree):
        if not is_private(name) or name in own or is_self(value):
            continue
        source = modules.get(ast.unparse(value), "")
        if f"{source}.{name}" not in KNOWN and not shares_folder(module, source):
            yield line, f"{ast.unparse(value)}.{name} is not this module's"


@every_module
def test_privates_stay_at_home(module):
    tree = tree_of(module)
    findings = sorted([*foreign_imports(tree, module), *foreign_attributes(tree, module)])
    path = MODULES[module].relative_to(ROOT.parent)
    assert not findings, "\n".join(f"{path}:{line}: {what}" for line, what in findings)


# --- imports and lengths --------------------------------------------------------------------------


def cycle(edges):
    """A circle in a graph, as a list, or None."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return error.args[1]
    return None


def test_imports_make_no_circle():
    edges = {
        module: {source for _, source, _, _ in imports(tree_of(module), module)} & set(MODULES)
        for module in MODULES
    }
    assert sum(map(len, edges.values())) > len(MODULES)
    assert cycle(edges) is None


@every_module
def test_no_file_is_too_long(module):
    length = len(MODULES[module].read_text(encoding="utf-8").splitlines())
    assert length <= MAX_LINES


# --- the tests above find what they look for ------------------------------------------------------

HOME = "sktvbo.gaussian_process._base"
BAD = {
    "an attribute": "surrogate._gp.posterior(X)",
    "of an attribute": "class A:\n    def f(self):\n        return self.gp._rows",
    "written": "gp._scale = 1.0",
    "written elsewhere": "class A:\n    def f(self, gp):\n        gp._scale = 1.0",
    "by name": "getattr(gp, '_rows')",
    "a function of a module": "from .. import relevancy\nrelevancy._finite(x)",
    "a name": "from ..relevancy import _finite",
    "a name at the top": "from sktvbo._solvers import _Buffer",
    "a name of another folder": "from ..optimizers._base import _Run",
    "another project's module": "from sklearn.utils._param_validation import Interval",
    "another project's name": "from numpy import _globals",
}
GOOD = {
    "self": "class A:\n    def f(self):\n        return self._x, super()._y, type(self)._z",
    "its like": "class A:\n    _x = 1\n    def f(self, other):\n        return other._x",
    "inherited": "class A(B):\n    def f(self, other):\n        return self._x == other._x",
    "made anew": "class A:\n    def f(self):\n        new = B()\n        new._x = 1",
    "a field": "class A:\n    _: int\n    _x: int = 1\ndef f(a):\n    return a._x",
    "of a method": "class A:\n    def _f(self): ...\nA()._f()",
    "a special name": "type(x).__name__, x.__dict__",
    "a named tuple's": "point._replace(x=1)",
    "a private module at the top": "from .._checks import invalid",
    "a private module beside": "from ._rows import Rows",
    "a private module elsewhere": "from ..optimizers._base import Optimizer",
    "a name beside": "from ._noise import _STEP",
    "a compiled module": "from .._fast import cholesky as _cholesky\n_cholesky.append(L)",
    "a public name under a private one": "from .. import relevancy as _relevancy\n_relevancy.f()",
}


@pytest.mark.parametrize("source", BAD.values(), ids=list(BAD))
def test_planted_faults_are_found(source):
    tree = ast.parse(source)
    assert [*foreign_imports(tree, HOME), *foreign_attributes(tree, HOME)]


@pytest.mark.parametrize("source", GOOD.values(), ids=list(GOOD))
def test_what_is_allowed_is_not_found(source):
    tree = ast.parse(source)
    assert not [*foreign_imports(tree, HOME), *foreign_attributes(tree, HOME)]


def test_a_planted_circle_is_found():
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) is not None
    assert cycle({"a": {"b", "c"}, "b": {"c"}}) is None


def test_what_belongs_to_a_compiled_module_is_constant():
    # A Python without a global lock runs the kernels side by side. Only what is declared global
    # can be written by a function; a static name of a header is a function.
    sources = [path for kind in ("pyx", "pxd", "h") for path in (ROOT / "_fast").glob(f"*.{kind}")]
    if not sources:
        pytest.skip("an installed package has no sources")
    for path in sources:
        text = path.read_text(encoding="utf-8")
        shared = re.findall(r"^\s*global\b.*", text, flags=re.M)
        shared += re.findall(r"^\s*static\b[^(]*;", text, flags=re.M)
        assert not shared, path.name
