"""The demo as a study that was frozen, run and exported."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from casewise.records.base import digest
from casewise.storage import write_benchmark
from casewise.storage.load import load

CONDITIONS = ["unsafe_revised", "safe_revised"]


def exported_demo(
    folder: Path,
    *,
    analysis: Mapping[str, Any],
    failed: Iterable[str] = (),
    voided: Mapping[str, str] | None = None,
    exact: bool = True,
) -> Path:
    """Write the demo's ratings as an exported study in which `analysis` was frozen.

    `failed` are annotators who failed their checks and whose ratings count nevertheless; `voided` those whose ratings
    are apart, with the reason.
    """
    demo, apart = load("demo"), voided or {}
    counted = tuple(rating for rating in demo.ratings if rating.annotator_id not in apart)
    write_benchmark(replace(demo, ratings=counted), folder)
    policy = {"conditions": CONDITIONS, "contrasts": [CONDITIONS]} | {f"analysis.{k}": v for k, v in analysis.items()}
    study = {
        "design": {"conditions": CONDITIONS, "contrasts": [CONDITIONS[::-1]], "analysis": {"alpha": 0.2}},
        "frozen": {"policy": policy, "digest": digest(policy), "at": "2026-01-05T09:00:00+00:00"},
        "departures": ["analysis.alpha: frozen as 0.01, now 0.2"],
        "exact": exact,
    }
    (folder / "study.json").write_text(json.dumps(study))
    condition_of = {rating.annotator_id: demo.item[rating.item_id].condition for rating in demo.ratings}
    people = [
        {
            "annotator_id": name,
            "condition": condition,
            "outcome": "completed",
            "flags": [{"kind": "failed_checks"}] if name in {*failed, *apart} else [],
        }
        for name, condition in condition_of.items()
    ]
    left_out = [
        {**rating.model_dump(mode="json", exclude_none=True), "kind": "void", "reason": apart[str(rating.annotator_id)]}
        for rating in demo.ratings
        if rating.annotator_id in apart
    ]
    write_lines(folder / "annotators.jsonl", people)
    write_lines(folder / "excluded.jsonl", left_out)
    return folder


def write_lines(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
