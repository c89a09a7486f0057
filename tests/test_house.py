"""What keeps the house as it was drawn: names, exports, sizes and imports, counted in the source.

The bounds only ever go down. The import contracts (layers, what statistics may know, no cycles) stand in
`pyproject.toml` and are run here too, so that the tests alone say whether the house stands.
"""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
from scripts.house import SOURCE, House

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def house() -> House:
    return House()


def test_the_import_contracts_are_kept():
    contracts = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert contracts.returncode == 0, contracts.stdout + contracts.stderr


def test_no_public_class_shares_its_name_with_another(house):
    assert house.repeated == set()


def test_nothing_is_imported_that_its_module_does_not_export(house):
    assert house.unexported == set()


def test_a_judge_is_asked_by_its_protocol_and_not_by_getattr(house):
    asked = {name: re.findall(r"getattr\(judge\b.*", module.text) for name, module in house.modules.items()}

    assert sum(len(found) for found in asked.values()) == 0, asked


def test_no_folder_has_more_modules_than_one_can_look_through(house):
    assert {folder: modules for folder, modules in house.folders.items() if modules > 19} == {}


def test_no_file_is_longer_than_one_can_hold_in_mind(house):
    assert {name: module.lines for name, module in house.modules.items() if module.lines > 400} == {}


def test_an_import_waits_inside_a_function_only_for_what_is_heavy(house):
    assert len(house.light) <= 8, house.light
    assert len(house.lazy) <= 90


def test_nothing_imports_itself_in_a_circle(house):
    assert house.cycles == []


def planted(folder: Path, **modules: str) -> House:
    """A house of the modules given; two underscores in a name are a dot."""
    for name, text in modules.items():
        path = folder / "casewise" / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return House(folder)


def test_two_modules_that_import_each_other_are_found_even_inside_functions(tmp_path):
    late = "def later():\n    from casewise.room import one\n"
    found = planted(
        tmp_path, room__one="import casewise.room.two\n", room__two=late, room__three="import casewise.room.one\n"
    )

    assert found.cycles == [{"casewise.room.one", "casewise.room.two"}]


def test_what_is_taken_and_not_exported_is_found(tmp_path):
    taking = "from casewise.one import inner, outer\n"
    found = planted(tmp_path, one='__all__ = ["outer"]\n\ninner = outer = 1\n', two=taking)

    assert found.unexported == {("casewise.one", "inner")}


def test_a_class_in_two_modules_is_found(tmp_path):
    found = planted(tmp_path, one="class Same: ...\nclass _Own: ...\n", two="class Same: ...\nclass _Own: ...\n")

    assert found.repeated == {"Same"}


def test_only_what_is_heavy_or_needs_what_is_heavy_may_wait(tmp_path):
    waiting = "def later():\n    import torch\n    import json\n    from casewise import weak\n    from casewise import strong\n"
    found = planted(tmp_path, strong="import torch.nn\n", weak="def later():\n    import torch\n", user=waiting)

    assert [taken for name, taken in found.light if name == "casewise.user"] == ["json", "casewise.weak"]


def test_the_source_that_is_counted_is_the_one_that_runs():
    import casewise

    assert Path(casewise.__file__).parents[1] == SOURCE


@pytest.mark.parametrize("folder", ["benchmarks", "scripts"])
def test_what_a_benchmark_or_a_script_imports_of_casewise_is_there(folder):
    missing = []
    for file in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "casewise":
                missing += [f"{file.name}:{node.lineno}: {node.module}.{name.name}" for name in node.names
                            if not _is_there(node.module, name.name)]  # fmt: skip

    assert missing == []


def _is_there(module: str, name: str) -> bool:
    try:
        return hasattr(importlib.import_module(module), name) or bool(importlib.import_module(f"{module}.{name}"))
    except ModuleNotFoundError:
        return False
