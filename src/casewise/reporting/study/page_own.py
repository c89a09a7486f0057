"""The part of a study's report about the owner's own questions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from casewise.reporting.document import Block, Prose, count, interval, number, percent, table_of
from casewise.studies.analysing.analysis import StudyAnalysis
from casewise.studies.analysing.own_questions import OwnFound

__all__ = ["own_blocks", "own_json"]


def own_blocks(analysis: StudyAnalysis) -> Iterator[Block]:
    """For each question: what was answered under each condition, and how far people agree."""
    for found in analysis.own:
        if found.question.kind == "text":
            yield texts(found)
            continue
        yield shares(found)
        yield from agreement(found)


def shares(found: OwnFound) -> Block:
    question = found.question
    cells = [
        (row["condition"], row["answer"], row["answers"], row["of"], percent(row["share"]), limits(row))
        for row in found.shares.to_dicts()
    ]
    heads = ("Condition", "Answer", "Given", "Of", "Share", "95 % interval over queries")
    return table_of(f"own-{question.name}", question.words, heads, cells, frame=found.shares)


def limits(row: dict[str, Any]) -> str:
    return "" if row["ci_low"] is None else interval(row["ci_low"], row["ci_high"])


def agreement(found: OwnFound) -> Iterator[Block]:
    cells = []
    for name, alpha in found.alphas.items():
        mean = number(found.means[name]) if name in found.means else ""
        said = "undefined: all answers alike" if alpha.alpha is None else number(alpha.alpha)
        range_of = "" if alpha.interval is None else interval(*alpha.interval)
        cells.append((name, mean, count(alpha.items), said, range_of, alpha.level))
    if cells:
        heads = ("Of", "Mean", "Items", "Krippendorff's α", "95 % interval over queries", "Level")
        yield table_of(f"own-{found.question.name}-agreement", f"Agreement: {found.question.words}", heads, cells)


def texts(found: OwnFound) -> Prose:
    each = "; ".join(
        f"{name}: {many:,}, {length:g} characters at the median" for name, (many, length) in found.texts.items()
    )
    return Prose(
        f"{found.question.words} In their own words: {each}. The texts are in own_texts.jsonl and not in any report; "
        "read them before you publish them."
    )


def own_json(found: OwnFound) -> dict[str, Any]:
    """A question's numbers as JSON values."""
    return {
        "question": found.question.model_dump(mode="json"),
        "shares": found.shares.to_dicts(),
        "means": found.means,
        "alphas": {name: asdict(alpha) for name, alpha in found.alphas.items()},
        "texts": {name: {"written": many, "median_length": length} for name, (many, length) in found.texts.items()},
    }
