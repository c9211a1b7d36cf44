"""Measure the size of the code, and how many calls a step makes.

    python benchmarks/speed/structure.py [CHECKOUT ...]

For each checkout (default: this one), with its extensions built in place: lines of Python code
without docstrings, comments and blank lines; modules; private modules at the package root; files of
``optimizers``; and, traced in steps of W-DBO (d = 3, n = 60, hyperparameters held), medians of the
package's own Python calls in ``tell`` and ``ask`` and of the deepest stack of them.
"""

import argparse
import ast
import io
import json
import os
import subprocess
import sys
import tokenize
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_lines(path):
    """Return the number of lines of a Python file that hold code."""
    text = path.read_text(encoding="utf-8")
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    code = {
        line
        for token in tokens
        if token.type not in LAYOUT
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            code -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(code)


def sizes(checkout):
    """Return lines of code and numbers of files of a checkout."""
    package = checkout / "sktvbo"
    found = {
        f"code lines, {name}": sum(code_lines(path) for path in (checkout / name).rglob("*.py"))
        for name in ("sktvbo", "tests", "benchmarks")
    }
    found["modules"] = len(list(package.rglob("*.py")))
    found["private modules at the root"] = len(list(package.glob("_[!_]*.py")))
    found["files in optimizers"] = len(list((package / "optimizers").glob("*.py")))
    return found


def traced(call, package):
    """Return what a call returns, how many of the package's functions it enters, and how deep."""
    calls, depth, deepest = 0, 0, 0

    def profile(frame, event, _):
        nonlocal calls, depth, deepest
        if not frame.f_code.co_filename.startswith(package):
            return
        if event == "call":
            calls, depth = calls + 1, depth + 1
            deepest = max(deepest, depth)
        elif event == "return":
            depth -= 1

    sys.setprofile(profile)
    try:
        found = call()
    finally:
        sys.setprofile(None)
    return found, calls, deepest


def step_calls():
    """Return calls and depth, medians, of steps of W-DBO with some 60 observations."""
    import numpy as np

    import sktvbo

    package = str(Path(sktvbo.__file__).parent)
    opt = sktvbo.WDBO([(0.0, 1.0)] * 3, random_state=0)
    rng, asks, tells = np.random.RandomState(0), [], []
    for step in range(100):
        t = float(step)
        x, *asked = traced(lambda t=t: opt.ask(t), package)
        y = -np.sum((x - 0.5 - 0.003 * t) ** 2) + 0.01 * rng.normal()
        theta = opt.surrogate_.theta_ if step >= 70 else None
        _, *told = traced(lambda x=x, y=y, t=t: opt.tell(x, y, t), package)
        if step >= 70 and np.array_equal(theta, opt.surrogate_.theta_):
            asks.append(asked)
            tells.append(told)
    (calls_ask, deepest_ask), (calls_tell, deepest_tell) = (np.median(f, 0) for f in (asks, tells))
    return {
        "held steps": len(tells),
        "calls in tell": calls_tell,
        "deepest in tell": deepest_tell,
        "calls in ask": calls_ask,
        "deepest in ask": deepest_ask,
    }


def measured(checkout):
    """Return all figures of a checkout, whose package a child process imports."""
    environment = os.environ | {"PYTHONPATH": str(checkout)}
    command = [sys.executable, __file__, "--calls"]
    child = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return sizes(checkout) | json.loads(child.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkouts", nargs="*", type=Path, default=[HERE])
    parser.add_argument("--calls", action="store_true", help="print the calls of a step as JSON")
    arguments = parser.parse_args()
    if arguments.calls:
        print(json.dumps(step_calls()))
        return
    columns = [measured(checkout.resolve()) for checkout in arguments.checkouts]
    for name in columns[0]:
        print(f"{name:30s}" + "".join(f"{column[name]!s:>10s}" for column in columns))


if __name__ == "__main__":
    main()
