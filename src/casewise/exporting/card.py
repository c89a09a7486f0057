"""A section for a model card and a factsheet of the evaluation, in Markdown: what was found, how, and what it does not show."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from casewise import __version__
from casewise.auditing.audit import Audit
from casewise.evaluation.judge_numbers import JudgeNumbers
from casewise.storage.files.atomic import write_text

__all__ = ["card", "write_card"]

SHOWN = ("accuracy", "balanced_accuracy", "recall_safe", "recall_unsafe", "pearson", "auroc", "unscored_rate")


def write_card(numbers: JudgeNumbers, audit: Audit | None, path: Path) -> Path:
    """Write the card of these runs to `path`.

    Raises ConfigurationError: it cannot be written.
    """
    write_text(path, card(numbers, audit))
    return path


def card(numbers: JudgeNumbers, audit: Audit | None) -> str:
    """The card; without an audit it says that the benchmark was not audited."""
    return (
        "\n".join([*results(numbers), "", *how(numbers), "", *cost(numbers), "", *limitations(numbers, audit)]) + "\n"
    )


def results(numbers: JudgeNumbers) -> Iterator[str]:
    names = ", ".join(dict.fromkeys(series.who for series in numbers.runs.series))
    yield f"## Deciding in context: {plain(names)}"
    yield ""
    for one in numbers.answers:
        yield plain(" ".join(one.sentences))
        yield ""
    yield "| judge | metric | estimate | 95 % interval | items |"
    yield "|---|---|---:|---:|---:|"
    policy = numbers.options.labels.name
    rows = numbers.metrics.filter((pl.col("label_policy") == policy) & pl.col("metric").is_in(SHOWN))
    for row in rows.drop_nulls("estimate").to_dicts():
        limits = "–" if row["ci_low"] is None else f"{row['ci_low']:.3f} to {row['ci_high']:.3f}"
        who = f"{row['judge']} ({row['elicitation']}, {row['arm']})"
        yield f"| {plain(who)} | {row['metric']} | {row['estimate']:.3f} | {limits} | {row['n']:g} |"


def how(numbers: JudgeNumbers) -> Iterator[str]:
    about, counts = numbers.benchmark.about, numbers.benchmark.counts
    yield "## Factsheet of the evaluation"
    yield ""
    yield f"- Benchmark: {plain(about.name)} {about.version}, digest `{numbers.benchmark.digest}`: {counts.items:,} items of {counts.queries:,} queries."
    yield f"- People: {counts.ratings:,} ratings; label policy `{numbers.options.labels.name}`; a tie is half in each class."
    yield f"- Items without a verdict: `{numbers.options.unscored}`. Intervals are over queries."
    yield f"- Evaluated with casewise {__version__}."
    for run in numbers.runs.runs:
        settings = ", ".join(f"{key} = {value}" for key, value in run.manifest.identity.settings.items())
        made = f"{run.manifest.created:%Y-%m-%d}"
        yield f"- Run of {made}: judge `{run.manifest.identity.judge}`" + (
            f" ({plain(settings)})." if settings else "."
        )


def cost(numbers: JudgeNumbers) -> Iterator[str]:
    """What it took, as far as the runs know."""
    yield "## What it took"
    yield ""
    for run in numbers.runs.runs:
        took = run.judgements()
        sums = {
            name: took[name].sum()
            for name in ("input_tokens", "output_tokens", "cost_usd", "latency_s")
            if name in took.columns and took[name].is_not_null().any()
        }
        said = [f"{len(took):,} judgements"]
        if "input_tokens" in sums:
            said.append(f"{sums['input_tokens']:,} tokens in and {sums.get('output_tokens', 0):,} out")
        if "cost_usd" in sums:
            said.append(f"{sums['cost_usd']:.2f} USD by the prices given")
        if "latency_s" in sums:
            said.append(f"{sums['latency_s'] / 3600:.2f} hours of answering, all calls added up")
        yield f"- {plain(run.manifest.judge_name)}: {'; '.join(said)}. The device and its energy are not known."


def limitations(numbers: JudgeNumbers, audit: Audit | None) -> Iterator[str]:
    yield "## Limitations"
    yield ""
    for note in numbers.notes:
        yield f"- {plain(note)}"
    if audit is None:
        yield "- The benchmark was not audited for this card."
        return
    for finding in audit.findings:
        yield f"- {plain(finding.title.rstrip('.'))} ({100 * finding.share:.0f} % of items). {plain(finding.advice)}"


def plain(text: str) -> str:
    """On one line, with what Markdown or HTML would read as markup made harmless."""
    one_line = " ".join(text.split())
    for character in "\\`*_[]|#":
        one_line = one_line.replace(character, "\\" + character)
    return one_line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
