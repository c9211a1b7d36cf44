"""Imports run one way, and nothing private of another project is used.

Private names (``_name``) may be shared inside the package. A private attribute is allowed where
some class or module of the package defines it.
"""

import ast
import re
from functools import cache
from graphlib import TopologicalSorter
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

# Of named tuples: public, with an underscore so that no field has the name.
PUBLIC = {"_asdict", "_fields", "_make", "_replace"}
# Optuna gives its samplers no other way to a study's storage, to what it checks of values, and to
# those that a sampler around them holds.
OPTUNA = {"_storage", "_study_id", "_contains", "_base_sampler", "_fixed_params"}
# Names that stand for the object itself, or for another one of its class in the making.
SELVES = {"self", "cls", "new"}

every_module = pytest.mark.parametrize("module", MODULES)


def is_private(name):
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC


@cache
def tree_of(module):
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


def folder_of(module):
    """The package that a module lies in; of a package that itself."""
    is_package = module in MODULES and MODULES[module].name == "__init__.py"
    return module if is_package else module.rpartition(".")[0]


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
    """Private modules and names of other projects."""
    for line, source, name, _ in imports(tree, module):
        if f"{source}.".startswith("sktvbo."):
            continue
        if any(map(is_private, source.split("."))) or (name is not None and is_private(name)):
            yield line, f"{source}.{name or ''} is private to another project"


# --- what it asks of objects ----------------------------------------------------------------------


def is_self(node):
    """``self``, ``cls``, ``super()``, ``type(self)``, ``self.__class__``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id == "super" or (node.func.id == "type" and is_self(node.args[0]))
    if isinstance(node, ast.Attribute) and node.attr == "__class__":
        return is_self(node.value)
    return isinstance(node, ast.Name) and node.id in SELVES


def own_names(tree):
    """Private names that a module binds, attributes of ``self`` included."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and is_self(node.value):
            names.add(node.attr)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).rpartition(".")[2])
    return set(filter(is_private, names))


@cache
def package_names():
    """Private names that any module of the package binds, and its private modules."""
    names = {part for module in KNOWN for part in module.split(".") if is_private(part)}
    return names.union(*(own_names(tree_of(module)) for module in MODULES))


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
    """Private attributes that nothing in the package defines."""
    own = own_names(tree) | package_names()
    if module.startswith("sktvbo.integrations"):
        own |= OPTUNA
    for line, value, name in asked(tree):
        if is_private(name) and name not in own and not is_self(value):
            yield line, f"{ast.unparse(value)}.{name} is not the package's"


@every_module
def test_nothing_private_of_other_projects_is_used(module):
    tree = tree_of(module)
    findings = sorted([*foreign_imports(tree, module), *foreign_attributes(tree, module)])
    path = MODULES[module].relative_to(ROOT.parent)
    assert not findings, "\n".join(f"{path}:{line}: {what}" for line, what in findings)


# --- cycles ---------------------------------------------------------------------------------------


def test_imports_make_no_circle():
    edges = {
        module: {source for _, source, _, _ in imports(tree_of(module), module)} & set(MODULES)
        for module in MODULES
    }
    assert sum(map(len, edges.values())) > len(MODULES)
    TopologicalSorter(edges).prepare()  # raises a CycleError that names the circle


# --- the tests above find what they look for ------------------------------------------------------

HOME = "sktvbo.gaussian_process._regressor"
BAD = [
    "kernel._sklearn_thing",
    "kernel._sklearn_thing = 1.0",
    "getattr(kernel, '_sklearn_thing')",
    "from sklearn.utils._param_validation import Interval",
    "from numpy import _globals",
]


@pytest.mark.parametrize("source", BAD)
def test_planted_faults_are_found(source):
    tree = ast.parse(source)
    assert [*foreign_imports(tree, HOME), *foreign_attributes(tree, HOME)]


def test_modules_import_from_lower_layers_only():
    page = ROOT.parent / "docs" / "contributing.rst"
    if not page.is_file():
        pytest.skip("an installed package has no pages")
    block = page.read_text(encoding="utf-8").partition("   command line ")[2].partition("\n\n")[0]
    layers = [line[-1].split() for line in map(re.compile(r" {3,}").split, block.splitlines())]
    order = [module for layer in reversed(layers) for module in layer]
    seen = set()
    for module in MODULES.keys() - {"sktvbo", "sktvbo.__main__"}:  # these import the public names
        own = module.split(".")[1]
        seen.add(own)
        for _, source, _, _ in imports(tree_of(module), module):
            top, _, imported = source.partition(".")
            if top == "sktvbo" and imported:
                assert order.index(imported.partition(".")[0]) <= order.index(own), (module, source)
    assert seen == set(order)


def test_what_belongs_to_a_compiled_module_is_constant():
    # A Python without a global lock runs the kernels side by side. Only what is declared global
    # can be written by a function; a static name of a header is a function.
    sources = [path for kind in ("pyx", "pxd", "h") for path in (ROOT / "_fast").glob(f"*.{kind}")]
    if not sources:
        pytest.skip("an installed package has no sources")
    for path in sources:
        text = path.read_text(encoding="utf-8")
        shared = re.findall(r"^\s*global\b.*", text, flags=re.M)
        shared += re.findall(r"^\s*static\b(?! const)[^(]*;", text, flags=re.M)
        assert not shared, path.name
