"""Where reference values and the developers' data lie, and how they are read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

REFERENCE = Path(__file__).parents[1] / "reference"
"""What the R scripts beside it computed; everywhere."""

SHARED = Path(os.environ.get("CASEWISE_TEST_SHARED", Path(__file__).parents[3] / "shared"))
"""The developers' data, where this checkout has them beside it; read once at import, before tests isolate the
environment."""


def reference(name: str, *keys: str) -> list[Any]:
    """The cases in `reference/NAME` under `keys` (default `cases`), as test parameters, and more where there are."""
    more = SHARED / "reference" / name
    found = [pytest.param(case, id=case["id"]) for case in cases(REFERENCE / name, *keys)]
    if more.is_file():
        found += [pytest.param(case, id=f"shared-{case['id']}") for case in cases(more, *keys)]
    return found


def cases(path: Path, *keys: str) -> list[dict[str, Any]]:
    """The cases in a file of reference values."""
    value = json.loads(path.read_text(encoding="utf-8"))
    for key in keys or ("cases",):
        value = value[key]
    found: list[dict[str, Any]] = value
    return found
