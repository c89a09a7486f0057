"""Published JSON files made from the demo benchmark's texts, with votes."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from casewise.storage import Benchmark, write_published
from casewise.storage.load import load

INTENT = {True: 1, False: 2}


def demo_rows(n: int = 90) -> list[dict[str, Any]]:
    """The first `n` rows of the demo benchmark in the published format, with a safe rate over people's votes."""
    rows: list[dict[str, Any]] = json.loads(demo_text())
    return rows[:n]


@cache
def demo_text() -> str:
    return json.dumps(published_rows(load("demo")))


def published_rows(benchmark: Benchmark) -> list[dict[str, Any]]:
    """`benchmark` as rows of the published format."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "rows.json"
        write_published(benchmark, file)
        rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return rows


def released_rows(n: int = 90) -> list[dict[str, Any]]:
    """As `demo_rows`, as the release has them: 20 votes, and a safe rate that counts the intent as one more."""
    return [released(row) for row in demo_rows(n)]


def released(row: dict[str, Any]) -> dict[str, Any]:
    votes = row["scores"][:20]
    counted = [*votes, INTENT[row["context_intended_to_be_safe"]]]
    return row | {"scores": votes, "safe_rate": counted.count(1) / len(counted)}


def output_rows(values: list[Any], *, judge: str = "some-model") -> list[dict[str, Any]]:
    """Rows of a judge's published output: 21 votes, the last of them the intent, and the judge's value."""
    rows = []
    for row, value in zip(released_rows(len(values)), values, strict=True):
        votes = [*row["scores"], INTENT[row["context_intended_to_be_safe"]]]
        rows.append(row | {"scores": votes, judge: value})
    return rows


def completed_at_random(folder: Path) -> Path:
    """An output over the demo: scores that follow the votes, 25 of them whole numbers drawn by chance."""
    rng = np.random.default_rng(2)
    rows = output_rows([0] * 90)
    chosen = set(rng.permutation(90)[:25].tolist())
    for place, row in enumerate(rows):
        rate = row["scores"][:20].count(1) / 20
        score = float(np.clip(1 + 9 * rate + rng.normal(0, 0.7), 1, 10)) + 0.001
        row["some-model"] = int(rng.integers(1, 11)) if place in chosen else min(score, 9.99)
    return write(folder / "safety_some-model" / "output_score.json", rows)


def write(path: Path, rows: Any) -> Path:
    """Write `rows` as the release does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows, indent=4, ensure_ascii=False), encoding="utf-8")
    return path
