"""Prints what can be counted of the house: files, functions, folders, cycles, imports inside functions, lines per room.

    python scripts/house.py             this tree
    python scripts/house.py OTHER/src   another one, to set beside it

`tests/test_house.py` holds the same counts to their bounds.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

__all__ = ["SOURCE", "House", "Import", "Module", "main"]

SOURCE = Path(__file__).parents[1] / "src"

# What takes long to import, or is only there with an extra: it may wait inside the function that uses it.
HEAVY = frozenset(
    [
        "altair",
        "casbin",
        "cryptography",
        "fastapi",
        "fhir",
        "genai_prices",
        "inspect_ai",
        "jinja2",
        "krippendorff",
        "openai",
        "peft",
        "pooch",
        "psycopg",
        "ray",
        "rich",
        "scipy",
        "sklearn",
        "threadpoolctl",
        "torch",
        "transformers",
        "uvicorn",
        "vl_convert",
        "vllm",
    ]
)
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Import:
    """One statement that takes from another module; `names` is empty where it takes the module itself."""

    module: str
    names: tuple[str, ...]
    lazy: bool


@dataclass(frozen=True)
class Module:
    """One file, read and not run."""

    name: str
    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    @property
    def room(self) -> str:
        """The folder below casewise, or the file where it stands in none."""
        return ".".join(self.name.split(".")[1:2]) or self.name

    @cached_property
    def classes(self) -> list[str]:
        """Public classes."""
        return [node.name for node in self.tree.body if isinstance(node, ast.ClassDef) and node.name[0] != "_"]

    @cached_property
    def exported(self) -> frozenset[str]:
        """What `__all__` lists; nothing where it is made and not written."""
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                return frozenset(ast.literal_eval(node.value))
        return frozenset()

    @cached_property
    def bodies(self) -> list[int]:
        """The lines of each function, from the first of its body (its docstring, where it has one) to the last."""
        functions = (node for node in ast.walk(self.tree) if isinstance(node, Function))
        return [(node.body[-1].end_lineno or 0) - node.body[0].lineno + 1 for node in functions]

    @cached_property
    def imports(self) -> list[Import]:
        return list(imports(self.tree, lazy=False))


def imports(node: ast.AST, *, lazy: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, (), lazy) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield Import(child.module or "", tuple(alias.name for alias in child.names), lazy)
        else:
            yield from imports(child, lazy=lazy or isinstance(child, Function))


class House:
    """Every module of casewise below a source folder."""

    def __init__(self, source: Path = SOURCE) -> None:
        self.source = source
        paths = sorted((source / "casewise").rglob("*.py"))
        self.modules = {name: Module(name, path) for name, path in ((self._name(path), path) for path in paths)}

    def _name(self, path: Path) -> str:
        return ".".join(path.relative_to(self.source).with_suffix("").parts).removesuffix(".__init__")

    @cached_property
    def folders(self) -> Counter[str]:
        """Modules in each folder, beside its `__init__`."""
        beside = (module.path for module in self.modules.values() if module.path.stem != "__init__")
        return Counter(path.parent.relative_to(self.source).as_posix() for path in beside)

    @cached_property
    def rooms(self) -> Counter[str]:
        """Lines of each room."""
        return sum((Counter({module.room: module.lines}) for module in self.modules.values()), Counter())

    @property
    def lazy(self) -> list[tuple[str, str]]:
        """(module, what it takes) for every import inside a function."""
        return [(m.name, self.targets(one)[0]) for m in self.modules.values() for one in m.imports if one.lazy]

    def targets(self, one: Import) -> list[str]:
        """The modules that an import takes: `from package import module` takes the module."""
        inner = [f"{one.module}.{name}" for name in one.names]
        return [path for path in inner if path in self.modules] or [one.module]

    @cached_property
    def exported(self) -> dict[str, frozenset[str]]:
        """What each module exports; where a stub says it (names loaded on use), what the stub says."""
        stubs = {name: module.path.with_suffix(".pyi") for name, module in self.modules.items()}
        return {
            name: Module(name, stub).exported if stub.exists() else self.modules[name].exported
            for name, stub in stubs.items()
        }

    @property
    def unexported(self) -> set[tuple[str, str]]:
        """(module, name) of what some other module takes and `__all__` does not list."""
        taken = {(one.module, name) for m in self.modules.values() for one in m.imports for name in one.names}
        within = {(at, name) for at, name in taken if at in self.modules and f"{at}.{name}" not in self.modules}
        return {(at, name) for at, name in within if name not in self.exported[at]}

    @property
    def light(self) -> list[tuple[str, str]]:
        """The imports inside functions that nothing heavy excuses: neither what they take nor what it needs at its top."""
        return [(name, taken) for name, taken in self.lazy if not self._is_heavy(taken)]

    def _is_heavy(self, taken: str) -> bool:
        return taken in self.heavy if taken in self.modules else taken.partition(".")[0] in HEAVY

    @cached_property
    def heavy(self) -> frozenset[str]:
        """The modules of casewise that cannot be taken without something heavy."""
        at_top = {
            name: {taken for one in module.imports if not one.lazy for taken in self.targets(one)}
            for name, module in self.modules.items()
        }
        found = {name for name, taken in at_top.items() if any(one.partition(".")[0] in HEAVY for one in taken)}
        while more := {name for name, taken in at_top.items() if taken & found} - found:
            found |= more
        return frozenset(found)

    @property
    def cycles(self) -> list[set[str]]:
        """Sets of modules each of which imports, at whatever remove and wherever in the file, all the others."""
        names = list(self.modules)
        place = {name: at for at, name in enumerate(names)}
        taken = [(m.name, to) for m in self.modules.values() for one in m.imports for to in self.targets(one)]
        edges = [(place[name], place[to]) for name, to in taken if to in place]
        rows, columns = np.array(edges, int).reshape(-1, 2).T
        graph = coo_array((np.ones(len(edges), int), (rows, columns)), shape=(len(names), len(names)))
        _, component = connected_components(graph, directed=True, connection="strong")
        found = ({names[at] for at in np.flatnonzero(component == one)} for one in range(component.max() + 1))
        return [cycle for cycle in found if len(cycle) > 1]

    @property
    def repeated(self) -> set[str]:
        """Public class names that stand in more than one module."""
        counts = Counter(name for module in self.modules.values() for name in module.classes)
        return {name for name, count in counts.items() if count > 1}


def figures(house: House) -> list[tuple[str, str]]:
    lines = np.array([module.lines for module in house.modules.values()])
    bodies = np.array([body for module in house.modules.values() for body in module.bodies])
    folder, largest = house.folders.most_common(1)[0]
    return [
        ("lines", f"{lines.sum():,}"),
        ("files", f"{lines.size:,}"),
        (
            "lines a file: median, nine in ten, longest",
            f"{np.median(lines):.0f}, {np.quantile(lines, 0.9):.0f}, {lines.max()}",
        ),
        ("functions", f"{bodies.size:,}"),
        (
            "lines a body: median, nine in ten, longest",
            f"{np.median(bodies):.0f}, {np.quantile(bodies, 0.9):.0f}, {bodies.max()}",
        ),
        ("largest folder", f"{largest} ({folder.removeprefix('casewise/')})"),
        ("import cycles", str(len(house.cycles))),
        ("imports inside functions", str(len(house.lazy))),
        ("class names that stand twice", str(len(house.repeated))),
    ]


def main() -> None:
    house = House(Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCE)
    rows = [*figures(house), ("", ""), *((room, f"{lines:,}") for room, lines in sorted(house.rooms.items()))]
    width = max(len(name) for name, _ in rows)
    print("\n".join(f"{name:<{width}}  {value}".rstrip() for name, value in rows))


if __name__ == "__main__":
    main()
