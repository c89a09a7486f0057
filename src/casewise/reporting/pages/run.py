"""A run, or the judgements of one item in it, as a person would like to read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from casewise.errors import DataError
from casewise.evaluation.contents import grade_counts, judgement_counts, reply_counts
from casewise.evaluation.judged_runs import find_benchmark
from casewise.records import Arm, Item, Judgement, Scored
from casewise.replying.logs import GRADES, REPLIES, grade_folders, grades_in, read_grades, read_replies, replies_in
from casewise.reporting.document import Document, Exhibit, Section, number, table_of
from casewise.reporting.pages.benchmark import item_exhibit, item_json
from casewise.reporting.pages.judge import shown_groups
from casewise.runs.made_texts import made_in
from casewise.showing import MadeTexts, show
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.files.jsonl import read_jsonl
from casewise.storage.runs.judgement_run import JUDGEMENTS, RunManifest, read_run
from casewise.storage.runs.run_folder import kind_of

__all__ = ["run_json", "run_page"]


def run_page(path: Path, which: str | None = None, *, benchmark: str | None = None) -> Document:
    """What the run at `path` holds, or its judgements of the item `which`.

    Raises DataError: there is no run. BenchmarkError: the benchmark is not the run's, or has no such item.
    """
    if kind_of(path) in OF_REPLIES:
        return replies_page(path, which)
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
    if kind_of(path) in OF_REPLIES:
        return replies_json(path, which)
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


OF_REPLIES = (REPLIES.name, GRADES.name)
"""The kinds of folders that hold a chatbot's replies, and what a grader found in them."""


def replies_json(path: Path, which: str | None) -> dict[str, Any]:
    """What a folder of replies or of grades holds, counted; no text.

    Raises DataError: it holds nothing, or an item is wanted, which `casewise view` shows.
    """
    of_grades = kind_of(path) == GRADES.name
    if which is not None:
        held = "grades" if of_grades else "a chatbot's replies"
        raise DataError(path, None, f"holds {held}; casewise view REPLIES shows them item by item")
    folders = (path,) if of_grades else grade_folders(path)
    grades = [{"grader": read_grades(one).grader_name, **grade_counts(grades_in(one).values())} for one in folders]
    manifest = read_grades(path) if of_grades else read_replies(path)
    counts = {} if of_grades else {"replies": reply_counts(replies_in(path)).to_dicts()}
    return {"run": manifest.model_dump(mode="json"), **counts, "grades": grades}


def replies_page(path: Path, which: str | None) -> Document:
    """As `replies_json`, to read."""
    found = replies_json(path, which)
    run, replies = found["run"], found.get("replies", ())
    settings = [{"setting": name, "value": str(value)} for name, value in run["identity"]["settings"].items()]
    tables = [
        table_of(
            name, name.capitalize(), tuple(head.capitalize() for head in rows[0]), [tuple(row.values()) for row in rows]
        )
        for name, rows in (("replies", replies), ("grades", found["grades"]), ("settings", settings))
        if rows
    ]
    whose = f"{run['grader_name']} on replies" if "grader_name" in run else "Replies"
    on = f" on {run['benchmark_name']}" if "benchmark_name" in run else ""
    return Document(
        f"Run {path.name}",
        f"{whose} of {run['identity']['model']}{on}, begun {run['created'][:16].replace('T', ' ')} UTC",
        (f"SYNTHETIC DATA: {run['synthetic']}",) if run.get("synthetic") else (),
        (Section("run", "What it holds", tuple(tables), brief=True),),
    )
