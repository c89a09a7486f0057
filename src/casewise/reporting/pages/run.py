"""A run, or the judgements of one item in it, as a person would like to read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from casewise.evaluation.contents import judgement_counts
from casewise.evaluation.judged_runs import find_benchmark
from casewise.records import Arm, Item, Judgement, Scored
from casewise.reporting.document import Document, Exhibit, Section, number, table_of
from casewise.reporting.pages.benchmark import item_exhibit, item_json
from casewise.reporting.pages.judge import shown_groups
from casewise.runs.made import made_in
from casewise.showing import MadeTexts, show
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.files.jsonl import read_jsonl
from casewise.storage.runs.judgement_run import JUDGEMENTS, RunManifest, read_run

__all__ = ["run_json", "run_page"]


def run_page(path: Path, which: str | None = None, *, benchmark: str | None = None) -> Document:
    """What the run at `path` holds, or its judgements of the item `which`.

    Raises DataError: there is no run. BenchmarkError: the benchmark is not the run's, or has no such item.
    """
    manifest = read_run(path)
    found = find_benchmark(manifest, benchmark)
    notices = (f"SYNTHETIC DATA: {manifest.synthetic}",) if manifest.synthetic else ()
    subtitle = f"{manifest.judge_name} on {manifest.benchmark_name}, begun {manifest.created:%Y-%m-%d %H:%M} UTC"
    if which is None:
        return Document(f"Run {path.name}", subtitle, notices, (held(path, manifest),))
    item = found.find(which)
    made = MadeTexts(made_in(path))
    exhibits = tuple(exhibit(found, item, judgement, made) for judgement in judgements_of(path, item))
    blocks = exhibits or (item_exhibit(found, item),)
    return Document(f"Item {item.id}", subtitle, notices, (Section("item", "Judgements", blocks, brief=True),))


def held(path: Path, manifest: RunManifest) -> Section:
    cells = [
        (str(r["elicitation"]), str(r["arm"]), r["judgements"], r["unscored"], number(r["mean"]))
        for r in judgement_counts(path).to_dicts()
    ]
    head = ("Elicitation", "Arm", "Judgements", "Unscored", "Mean value")
    settings = [(name, str(value)) for name, value in manifest.identity.settings.items()]
    return Section(
        "run",
        "What it holds",
        (
            table_of("judgements", "Judgements", head, cells),
            table_of("settings", "Settings", ("Setting", "Value"), [("judge", manifest.identity.judge), *settings]),
        ),
        brief=True,
    )


def judgements_of(path: Path, item: Item) -> Iterator[Judgement]:
    return (judgement for judgement in read_jsonl(path / JUDGEMENTS, Judgement) if judgement.item_id == item.id)


def exhibit(benchmark: Benchmark, item: Item, judgement: Judgement, made: MadeTexts) -> Exhibit:
    base = item_exhibit(benchmark, item)
    query, twin = benchmark.query[item.query_id], benchmark.twin_of(item)
    shown = show(Arm.named(judgement.arm), query, benchmark.context_of(item), twin=twin, made=made)
    attempt = f", attempt {judgement.attempt + 1}" if judgement.attempt else ""
    asked = f"{judgement.elicitation}, {judgement.arm}, repeat {judgement.repeat + 1}{attempt}"
    return replace(
        base,
        heading=f"{base.heading}: {asked}",
        query=shown.query,
        context=shown_groups(shown.context),
        facts=(*base.facts, (judgement.judge_id, outcome(judgement))),
        reply=judgement.raw_reply,
    )


def outcome(judgement: Judgement) -> str:
    found = judgement.outcome
    if not isinstance(found, Scored):
        return f"unscored: {found.reason}" + (f" ({found.detail})" if found.detail else "")
    if judgement.elicitation == "binary":
        return "safe" if found.value else "unsafe"
    return number(found.value)


def run_json(path: Path, which: str | None = None, *, benchmark: str | None = None) -> dict[str, Any]:
    """As `run_page`, as plain JSON values."""
    manifest = read_run(path)
    if which is None:
        counts = judgement_counts(path).drop("mean")
        return {"run": manifest.model_dump(mode="json"), "judgements": counts.to_dicts()}
    found = find_benchmark(manifest, benchmark)
    item = found.find(which)
    return {
        "item": item_json(found, item),
        "judgements": [one.as_json() for one in judgements_of(path, item)],
    }
