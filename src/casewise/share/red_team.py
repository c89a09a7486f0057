"""A judge's sensitivity and specificity, in files that red-teaming programs read: garak's metrics of detectors, PyRIT's registry of scorers.

A hit is a verdict of unsafe. Its sensitivity is the recall of what people find unsafe, its specificity the recall of what they find
safe. Sources: `garak/analyze/detector_metrics.py` and `pyrit/score/scorer_evaluation/scorer_metrics_io.py` at their commits of 2026.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from casewise import __version__
from casewise.errors import ConfigurationError
from casewise.evaluate.judge_numbers import JudgeNumbers
from casewise.storage.files import json_text, write_text

NEEDED = ("recall_unsafe", "recall_safe")


def write_garak(numbers: JudgeNumbers, path: Path) -> Path:
    """Write `path` as a summary of detectors' metrics, with which garak corrects its rates of attack success.

    Raises ConfigurationError: sensitivity or specificity of a judge is unknown, which garak would take for perfect.
    """
    results = {
        name: {
            "metrics": {
                "hit_sensitivity": rows["recall_unsafe"]["estimate"],
                "hit_specificity": rows["recall_safe"]["estimate"],
            },
            "intervals": {
                "hit_sensitivity": interval(rows["recall_unsafe"]),
                "hit_specificity": interval(rows["recall_safe"]),
            },
            "n_unscored": int(rows["accuracy"]["n_unscored"]),
        }
        for name, rows in series(numbers)
    }
    source = {"benchmark": numbers.benchmark.name, "labels": numbers.options.labels.name, "casewise": __version__}
    write_text(path, json_text({"metadata": source, "results": results}))
    return path


def write_pyrit(numbers: JudgeNumbers, path: Path) -> Path:
    """Write `path` as a registry of objective scorers: a line of JSON for each judge.

    The standard error of the accuracy is half the width of its interval over 1.96. The number of raters is the largest of an item.

    Raises ConfigurationError: sensitivity or specificity of a judge is unknown, its accuracy has no interval, or it is right
    on no item that is labelled unsafe, so that its precision is not known.
    """
    columns = numbers.benchmark.item_columns
    raters: int = max((columns["n_votes"] + columns["n_unsure"]).to_list(), default=0)
    lines = []
    for name, rows in series(numbers):
        recall, f1, accuracy = rows["recall_unsafe"]["estimate"], rows["f1_unsafe"]["estimate"], rows["accuracy"]
        if not recall or not f1 or accuracy["ci_low"] is None:
            reason = (
                "its accuracy has no interval" if recall and f1 else "it is right on no item that is labelled unsafe"
            )
            raise ConfigurationError(f"{name}: {reason}, and PyRIT's registry has no entry without")
        half = (accuracy["ci_high"] - accuracy["ci_low"]) / 2
        identity = {
            "class_name": name,
            "class_module": "casewise",
            "specificity": rows["recall_safe"]["estimate"],
            **{
                f"{key}_interval": interval(rows[row])
                for key, row in (("recall", "recall_unsafe"), ("specificity", "recall_safe"))
            },
        }
        digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
        metrics: dict[str, Any] = {
            "num_responses": int(accuracy["n"] - accuracy["n_unscored"]),
            "num_human_raters": raters,
            "accuracy": accuracy["estimate"],
            "accuracy_standard_error": half / 1.96,
            "f1_score": f1,
            "precision": f1 * recall / (2 * recall - f1),
            "recall": recall,
            "dataset_name": numbers.benchmark.name,
            "dataset_version": numbers.benchmark.about.version,
        }
        lines.append(json.dumps({**identity, "hash": digest, "eval_hash": digest, "metrics": metrics}))
    write_text(path, "".join(f"{line}\n" for line in lines))
    return path


def series(numbers: JudgeNumbers) -> Iterator[tuple[str, dict[str, dict[str, Any]]]]:
    """Yield each judge, elicitation and arm under a plain name, with its metrics over all items by their names."""
    frame = numbers.metrics.filter(slice="all", label_policy=numbers.options.labels.name)
    for (judge, elicitation, arm), rows in frame.group_by(["judge", "elicitation", "arm"], maintain_order=True):
        by_name = {row["metric"]: row for row in rows.to_dicts()}
        if unknown := [name for name in NEEDED if by_name.get(name, {}).get("estimate") is None]:
            raise ConfigurationError(
                f"{judge} ({elicitation}, {arm}): {' and '.join(unknown)} cannot be computed, and a detector without them would count "
                "as perfect; give a run whose items have both labels"
            )
        yield f"casewise.{judge}.{elicitation}" + ("" if arm == "full" else f".{arm}"), by_name


def interval(row: dict[str, Any]) -> str:
    if row["ci_low"] is None:
        return f"none: {row['method']}"
    return f"{row['ci_low']:.4f} to {row['ci_high']:.4f} (95 %)"
