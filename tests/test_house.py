"""The import contracts of `pyproject.toml` are kept, and benchmarks and scripts import only what is there."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_the_import_contracts_are_kept():
    contracts = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert contracts.returncode == 0, contracts.stdout + contracts.stderr


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
