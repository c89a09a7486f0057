"""Changes modules a little, one place at a time, and counts the changes that their tests notice.

`python scripts/mutants.py stats/intervals.py` mutates the module of `src/casewise` in memory and runs its quick tests until the first fails:
`test_intervals.py`, `test_intervals_….py` and a folder `intervals` below `tests/stats`. Mutants that survive are printed, but for those in
`scripts/equivalent_mutants.toml`. The script exits with 1 if less than 90 % of a module's mutants die. Other processes see no mutant.
"""

import argparse
import ast
import importlib
import os
import random
import signal
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.machinery import SourceFileLoader
from pathlib import Path
from unittest.mock import patch

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = "aiohttp cyclopts hypothesis numpy polars pydantic pytest rich scipy.special scipy.stats".split()  # noqa: SIM905
QUIET = ["-xq", "-p", "no:randomly", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
PAIRS = "Lt LtE Gt GtE Eq NotEq Is IsNot In NotIn And Or Add Sub Mult Div BitAnd BitOr Pow Mult Mod Mult".split()  # noqa: SIM905
SWAPS = {getattr(ast, name): getattr(ast, PAIRS[at ^ 1]) for at, name in reversed(list(enumerate(PAIRS)))}
NO_CODE, NOTHING = {"annotation", "returns", "decorator_list", "bases"}, {"''", "()", "[]", "0", "0.0", "False"}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum", "maximum": "minimum"}


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield each small change of this node itself."""
    but: Callable[..., ast.AST] = partial(type(node), **dict(ast.iter_fields(node)))
    match node:
        case ast.Compare(ops=ops):
            yield from (but(ops=[*ops[:at], SWAPS[type(op)](), *ops[at + 1 :]]) for at, op in enumerate(ops))
        case ast.BinOp(op=op) | ast.AugAssign(op=op) | ast.BoolOp(op=op) if type(op) in SWAPS:
            yield but(op=SWAPS[type(op)]())
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Constant(value=bool() | int() | float() as number):
            yield ast.Constant(not number if isinstance(number, bool) else number + 1)
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in NAMES:
            yield but(**{"id" if isinstance(node, ast.Name) else "attr": NAMES[name]})
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) not in NOTHING:
            yield ast.Return(ast.BinOp(ast.Constant(0), ast.Mult(), value))
        case ast.If(test=test) | ast.IfExp(test=test):
            yield but(test=ast.UnaryOp(ast.Not(), test))
        case ast.Expr(value=ast.Call()) | ast.Raise():  # a statement that does not happen
            yield ast.Pass()


def mutants(node: ast.AST, tree: ast.AST) -> Iterator[tuple[int, str, str, str]]:
    """Yield each mutant of a module: the line, what stood there, what stands there now, and the module's source."""
    for field, value in ast.iter_fields(node):
        children = value if isinstance(value, list) else [value]
        for at, child in enumerate(children):
            asserts = isinstance(child, ast.JoinedStr | ast.Assert) or getattr(child, "arg", "") == "strict"  # of zip
            if asserts or field in NO_CODE or not isinstance(child, ast.AST):
                continue
            for changed in changes(child):
                setattr(node, field, [*children[:at], changed, *children[at + 1 :]] if children is value else changed)
                was, now = (ast.unparse(part).partition("\n")[0] for part in (child, changed))
                yield getattr(child, "lineno", 0), was, now, ast.unparse(tree)
            setattr(node, field, value)
            yield from mutants(child, tree)


def passes(name: str, path: Path, source: str, *, options: Sequence[str], limit_s: float) -> bool:
    """Return whether the tests pass with this source, in a process of their own that ends after `limit_s`."""
    if (child := os.fork()) == 0:
        os.dup2(os.dup2(os.open(os.devnull, os.O_WRONLY), 1), 2)
        signal.alarm(round(limit_s))
        code, load = compile(source, path, "exec", dont_inherit=True), SourceFileLoader.get_code
        with patch.object(SourceFileLoader, "get_code", lambda own, each: code if each == name else load(own, each)):
            os._exit(pytest.main([*options, *QUIET]))
    return os.waitpid(child, 0)[1] == 0


def surviving(module: str, chosen: argparse.Namespace) -> float:
    """Print the mutants of a module that survive, and return their share."""
    path, first, last = ROOT / "src/casewise" / module, *map(int, chosen.lines.split("-"))
    mirrors = (f"test_{path.stem}.py", f"test_{path.stem}_*.py", f"{path.stem}/**/test_*.py")
    files = {str(file) for mirror in mirrors for file in (ROOT / "tests" / module).parent.rglob(mirror)}
    if not (tests := chosen.tests or sorted(files)):
        sys.exit(f"{module}: no test file mirrors it ({', '.join(mirrors)}); name its tests with --tests")
    run = [*tests, *([] if chosen.slow else ["-m", "not slow"])]
    name, source, began = f"casewise.{module.removesuffix('.py').replace('/', '.')}", path.read_text(), time.monotonic()
    if not passes(name, path, source, options=run, limit_s=600):
        sys.exit(f"{module}: its tests fail, or none of them is quick: {tests}")
    limit_s, tree, alive = 20 + 5 * (time.monotonic() - began), ast.parse(source), 0
    equivalent = tomllib.loads((ROOT / "scripts/equivalent_mutants.toml").read_text())
    known = {(each["was"], each["becomes"]) for each in equivalent.get(module, ())}
    every = [each for each in mutants(tree, tree) if first <= each[0] <= last and each[1:3] not in known]
    every = sorted(random.Random(chosen.seed).sample(every, min(chosen.most, len(every))))
    for line, was, now, changed in every:
        if passes(name, path, changed, options=run, limit_s=limit_s):
            alive += 1
            print(f"{module}:{line}: {was}  ->  {now}", flush=True)
    print(f"{module}: {len(every) - alive} of {len(every)} mutants die", flush=True)
    return alive / max(len(every), 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="+", help="such as stats/intervals.py")
    parser.add_argument("--tests", nargs="+", help="the tests to run, instead of those that mirror the module")
    parser.add_argument("--lines", default="1-99999", help="only the mutants of these lines, such as 40-80")
    parser.add_argument("--most", type=int, default=99999, help="a random sample of so many mutants")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the sample")
    parser.add_argument("--slow", action="store_true", help="also run the tests that are marked slow")
    chosen = parser.parse_args()
    for package in PACKAGES:  # once for all processes; what starts threads, as tests may, cannot be forked
        importlib.import_module(package)
    sys.exit(max([surviving(module, chosen) for module in chosen.modules]) > 0.1)
