"""The CASE-Bench paper's tables and a run's contents, laid out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from casewise.errors import DataError
from casewise.evaluate.judged_runs import find_benchmark, grade_counts, judgement_counts, reply_counts
from casewise.evaluate.published import CASE_STUDIES, PAPERS_LEVEL, YOURS, Omission, PaperNumbers, PaperRow
from casewise.evaluate.replay import Replay
from casewise.notation import count, hyphened, interval_or, number, p_value, percent, share
from casewise.records import Arm, Item, Judgement, Scored
from casewise.replies.behaviour import GRADES, REPLIES, grade_folders, read_grades, read_replies
from casewise.reports.document import (
    Block,
    Columns,
    Document,
    Exhibit,
    Forest,
    ForestRow,
    Prose,
    Section,
    Table,
    document_of_tables,
    paragraph,
    table_by,
    table_of,
    with_interval,
)
from casewise.reports.items import item_exhibit, item_json, shown_groups
from casewise.runs.texts import read_made_texts
from casewise.stats.metrics import find_metric
from casewise.storage.benchmark import Benchmark
from casewise.storage.files import read_jsonl
from casewise.storage.run_folder import JUDGEMENTS, RunManifest, kind_of, read_manifest, read_run
from casewise.storage.wording import noun_of
from casewise.text import count_of, synthetic_notes, text
from casewise.transforms.catalogue import show
from casewise.transforms.texts import MadeTexts

NOT_COMPUTABLE = (
    "The release lacks the ratings of three of the five conditions. casewise therefore recomputes Section 5.1 and Figure 3 for two "
    "conditions only. It also lacks the annotators, so no number by annotator is recomputed. Figure 5 needs outputs with parameters "
    "left out. casewise show casebench prints Table 3."
)


def paper_document(numbers: PaperNumbers, benchmark: Benchmark) -> Document:
    """Return each table and figure of the paper that `benchmark` and judges' output files allow; first those that runs stand in."""
    of_judges = (
        Section("table-2", "Tables 2 and 4: judges", tuple(judges(numbers)), brief=True),
        Section("figure-5", "Figure 5: parameters left out", tuple(ablation(numbers)), brief=bool(numbers.left_out)),
    )
    of_people = (
        Section("power", "Section 3.2 and appendix E.1: sample size", tuple(sample_size(numbers)), brief=True),
        Section("contrast", "Section 5.1: influence of context", tuple(influence(numbers)), brief=True),
        Section("figure-3", "Figure 3: Kruskal-Wallis by category", tuple(by_category(numbers))),
        *(
            Section(
                hyphened(name.lower()), f"{name}: {category}", tuple(case_study(numbers.case_studies[name], category))
            )
            for name, category in CASE_STUDIES.items()
        ),
    )
    with_runs = any(row.source == "run" for row in numbers.rows)
    return Document(
        title=f"The CASE-Bench paper, recomputed from {benchmark.name}",
        subtitle="Sun, Zhan, Feng, Woodland and Such (ICML 2025)",
        notices=(*benchmark.notes(), *numbers.unread, *numbers.odd),
        sections=(
            Section("answer", "The answer", tuple(answer(numbers)), first=True),
            *(of_judges + of_people if with_runs else of_people + of_judges),
            Section("not", "Not computable from the release", (Prose(NOT_COMPUTABLE),), brief=not with_runs),
        ),
        noun=noun_of(benchmark),
    )


def answer(numbers: PaperNumbers) -> Iterator[Prose]:
    """Yield the main findings on the votes and the judges, and how to read them."""
    if numbers.influence is not None:
        safe, unsafe = (percent(safe / votes) for safe, votes in (numbers.influence.safe, numbers.influence.unsafe))
        yield Prose(
            f"Under contexts meant to be safe, {safe} of the votes say safe. Under the others, {unsafe} do.", lead=True
        )
    if (best := numbers.highest) is not None:
        yield Prose(best.sentence, lead=True)
    for row in numbers.rows if len(numbers.rows) == 1 else ():
        if (accuracy := row.published.get("accuracy")) is not None:
            yield Prose(
                f"By the paper's own rules, which count the author's intent as a vote, {whose(row)} has an accuracy of "
                f"{accuracy.as_share} (asked for {row.elicitation}).",
                lead=True,
            )
    yield Prose(
        "Use these tables to compare with the paper. To compare judges with people, use casewise leaderboard: it takes people's "
        "votes alone, and corrects for several judges."
    )


def sample_size(numbers: PaperNumbers) -> Iterator[Block]:
    sizes = {"0.05, as in the paper": numbers.sample_size, "0.0125, the level of its tests": numbers.strict_sample_size}
    columns: Columns = {
        "Level": "0",
        "Per group": "1.n_per_group",
        "In all": "1.n_total",
        "Power": (partial(number, digits=4), "1.actual_power"),
    }
    caption = "One-way analysis of variance, five groups, f = 0.4, power 0.8"
    yield table_by("power-table", caption, sizes.items(), columns)
    yield Prose(
        "The paper adds an allowance and recruits 21 annotators a task. At the level of its tests, the design needs 22."
    )


def influence(numbers: PaperNumbers) -> Iterator[Block]:
    if numbers.influence is None:
        yield Prose("Only one of the revised conditions has ratings, so they cannot be compared.")
        return
    z = numbers.influence.test
    conditions = {"safe, revised": numbers.influence.safe, "unsafe, revised": numbers.influence.unsafe}
    rows = [(name, percent(safe / votes), votes) for name, (safe, votes) in conditions.items()]
    yield table_of("influence", "Share of votes that are safe", ("Condition", "Safe", "Votes"), rows)
    yield Prose(
        f"z = {float(z.z):.1f}, log p = {float(z.log_p):.0f}: the paper's z test, on the only two conditions that were released. "
        "The test treats votes as independent, which they are not (casewise audit)."
    )


def by_category(numbers: PaperNumbers) -> Iterator[Block]:
    frame = numbers.by_category
    if not len(frame):
        yield paragraph("No {query} has ratings in both revised conditions.")
        return
    columns: Columns = {
        "Category": "category",
        text("{Queries}"): "queries",
        "Mean H": (partial(number, digits=2), "h"),
        "Significant at 0.0125": "significant",
    }
    caption = "Mean Kruskal-Wallis H by category, from the two conditions that were released (the paper has five)."
    rows = tuple(
        ForestRow(row["category"], row["h"], None, None, words=number(row["h"], digits=2)) for row in frame.to_dicts()
    )
    yield Forest(
        "figure-3-chart",
        caption,
        (("", rows),),
        ("Category", "", "Mean H (two conditions)"),
        ends=(0.0, 4.0 * math.ceil(max(frame["h"]) / 4)),
        behind=table_by("figure-3-table", caption, frame, columns),
    )


def case_study(study: pl.DataFrame | None, category: str) -> Iterator[Block]:
    if study is None:
        yield paragraph("No {query} of {category!r} has ratings in both revised conditions.", category=category)
        return
    columns: Columns = {
        text("{Query}"): (lambda place: text("{query} {place}", place=place), "0"),
        "Safe context": (share, "1.safe", "1.safe_low", "1.safe_high"),
        "Unsafe context": (share, "1.unsafe", "1.unsafe_low", "1.unsafe_high"),
        "p": (p_value, "1.p"),
    }
    rows = enumerate(study.to_dicts(), start=1)
    caption = "Share of votes to respond, with 95 % intervals"
    yield table_by(f"{hyphened(category.lower())}-table", caption, rows, columns)
    yield Prose(
        f"{(study['p'] < PAPERS_LEVEL).sum()} of {len(study)} differ at 0.0125, on the two conditions that were released."
    )


def judges(numbers: PaperNumbers) -> Iterator[Block]:
    if not numbers.rows:
        yield Prose("No judge outputs were given: add --outputs FOLDER with the release's exp folder.")
        return
    metrics = {
        "Accuracy": "accuracy",
        "Safe": "recall_safe",
        "Unsafe": "recall_unsafe",
        "PCC": "pearson",
        "Cross-entropy": "cross_entropy",
    }
    columns: Columns = {
        "Judge": whose,
        "Asked for": "elicitation",
        **{title: (with_interval, f"published.{name}") for title, name in metrics.items()},
        "Accuracy, votes": (with_interval, "votes_accuracy"),
        "Unscored": (count, "n_unscored"),
    }
    caption = text("Judges by the paper's own rules, 95 % intervals over {queries}; last, against people's votes alone")
    yield table_by("judges-table", caption, numbers.rows, columns)
    if any(row.source == "paper" for row in numbers.rows):
        yield Prose(
            "Rows of the paper have no intervals: it prints none. --outputs FOLDER with the release's exp folder computes them, and "
            "adds the paper's other judges."
        )
    yield Prose(
        "The paper's rules count an unscored reply as 1.0; against people's votes it is a miss. The release's cross-entropy is "
        "not bounded, and has no interval."
    )


def whose(row: PaperRow | Omission) -> str:
    """Return a judge's name; the user's runs are marked."""
    return row.judge + (YOURS if row.source == "run" else "")


def ablation(numbers: PaperNumbers) -> Iterator[Block]:
    if not numbers.left_out:
        yield Prose("No run leaves parameters out. Judge with --ablate parameters, or add such outputs with --outputs.")
        return
    columns: Columns = {
        "Judge": whose,
        "Left out": (", ".join, "omitted"),
        "Metric": "metric",
        "Whole context": (with_interval, "whole"),
        "Without": (with_interval, "without"),
    }
    caption = text("Recall without parts of the context, by the paper's own rules, 95 % intervals over {queries}")
    yield table_by("ablation-table", caption, numbers.left_out, columns)


HOW_TO_READ = (
    "published: the release's own rules (the intent counts as a vote, an unparsed reply as 1.0).",
    text("votes: people's votes alone, a tie half and half, an unscored item a miss; 95 % intervals over {queries}."),
)


def replay_page(*replays: Replay) -> Document:
    """Return the published numbers and ours of each output, how to read them, and what is odd about the files."""
    names = ", ".join(dict.fromkeys(replay.judge for replay in replays))
    tables = [replay_table(replay, f"replay-{place}" if place else "replay") for place, replay in enumerate(replays)]
    notes = (note for replay in replays for note in replay.notes)
    return document_of_tables(f"{names}, scored again", tables, [*HOW_TO_READ, *notes])


def replay_table(replay: Replay, name: str) -> Table:
    """Return the published numbers and ours side by side."""
    five_digits = partial(number, digits=5)
    columns: Columns = {
        "Metric": (lambda metric: find_metric(metric).heading, "0"),
        "published": lambda row: five_digits(replay.published.get(row[0])),
        "votes": (five_digits, "1.estimate"),
        "95 % interval": (interval_or, "1.ci_low", "1.ci_high", "1.method"),
        "Items": "1.n",
    }
    omitted = f", without {', '.join(replay.omitted)}" if replay.omitted else ""
    caption = (
        f"{replay.judge}, {replay.elicitation}{omitted}: {count_of(replay.n, 'item')}, {replay.n_unscored:,} unscored"
    )
    return table_by(name, caption, replay.votes.items(), columns)


def run_page(path: Path, item_name: str | None = None, *, benchmark: str | None = None) -> Document:
    """Return the page of the run at `path`, or of its judgements of the item `item_name`.

    Raises DataError: there is no run. BenchmarkError: the benchmark is not the run's, or has no such item.
    """
    if kind_of(path) in OF_REPLIES:
        return replies_page(path, item_name)
    manifest = read_run(path)
    source = find_benchmark(manifest, benchmark)
    notices = synthetic_notes(manifest.synthetic)
    subtitle = f"{manifest.judge_name} on {manifest.benchmark_name}, begun {manifest.created:%Y-%m-%d %H:%M} UTC"
    if item_name is None:
        return Document(f"Run {path.name}", subtitle, notices, (contents(path, manifest),), noun_of(source))
    item = source.find(item_name)
    made_texts = MadeTexts(read_made_texts(path))
    exhibits = tuple(exhibit(source, item, judgement, made_texts) for judgement in judgements_of(path, item))
    blocks = exhibits or (item_exhibit(source, item),)
    section = Section("item", "Judgements", blocks, brief=True)
    return Document(f"Item {item.own_id}", subtitle, notices, (section,), noun_of(source))


def contents(path: Path, manifest: RunManifest) -> Section:
    columns: Columns = {
        "Elicitation": (str, "elicitation"),
        "Arm": (str, "arm"),
        "Judgements": "judgements",
        "Unscored": "unscored",
        "Mean value": (number, "mean"),
    }
    settings = [("judge", manifest.identity.judge)]
    settings += [(name, str(value)) for name, value in manifest.identity.settings.items()]
    settings += [(f"words, {elicitation}", wording) for elicitation, wording in manifest.wordings.items()]
    tables = (
        table_by("judgements", "Judgements", judgement_counts(path).to_dicts(), columns),
        table_of("settings", "Settings", ("Setting", "Value"), settings),
    )
    return Section("run", "What it holds", tables, brief=True)


def judgements_of(path: Path, item: Item) -> Iterator[Judgement]:
    return (judgement for judgement in read_jsonl(path / JUDGEMENTS, Judgement) if judgement.item_id == item.id)


def exhibit(benchmark: Benchmark, item: Item, judgement: Judgement, made_texts: MadeTexts) -> Exhibit:
    base = item_exhibit(benchmark, item)
    query, twin = benchmark.query[item.query_id], benchmark.twin_of(item)
    shown = show(Arm.parse(judgement.arm), query, benchmark.context_of(item), twin=twin, made=made_texts)
    attempt = f", attempt {judgement.attempt + 1}" if judgement.attempt else ""
    question = f"{judgement.elicitation}, {judgement.arm}, repeat {judgement.repeat + 1}{attempt}"
    return replace(
        base,
        heading=f"{base.heading}: {question}",
        query=shown.query,
        context=shown_groups(shown.context, judged=shown.judged, before=shown.before),
        facts=(*base.facts, (judgement.judge_id, outcome(judgement))),
        reply=judgement.raw_reply,
    )


def outcome(judgement: Judgement) -> str:
    result = judgement.outcome
    if not isinstance(result, Scored):
        return f"unscored: {result.reason}" + (f" ({result.detail})" if result.detail else "")
    if judgement.elicitation == "binary":
        return "safe" if result.value else "unsafe"
    return number(result.value)


def run_json(path: Path, item_name: str | None = None, *, benchmark: str | None = None) -> dict[str, Any]:
    """Return the numbers of `run_page` as plain JSON values."""
    if kind_of(path) in OF_REPLIES:
        return replies_json(path, item_name)
    manifest = read_run(path)
    if item_name is None:
        counts = judgement_counts(path).drop("mean")
        return {"run": manifest.model_dump(mode="json"), "judgements": counts.to_dicts()}
    source = find_benchmark(manifest, benchmark)
    item = source.find(item_name)
    return {
        "item": item_json(source, item),
        "judgements": [judgement.as_json() for judgement in judgements_of(path, item)],
    }


OF_REPLIES = (REPLIES.name, GRADES.name)
"""The kinds of folders that hold a chatbot's replies, and what a grader found in them."""


def replies_json(path: Path, item_name: str | None) -> dict[str, Any]:
    """Return the counts of a folder of replies or of grades; no text.

    Raises DataError: it holds nothing, or an item is wanted, which `casewise serve` shows.
    """
    of_grades = kind_of(path) == GRADES.name
    if item_name is not None:
        contents = "grades" if of_grades else "a chatbot's replies"
        raise DataError(path, None, f"holds {contents}; casewise serve REPLIES shows them item by item")
    folders = (path,) if of_grades else grade_folders(path)
    grades = [
        {"grader": read_manifest(at, GRADES).grader_name, **grade_counts(read_grades(at).values())} for at in folders
    ]
    manifest = read_manifest(path, GRADES) if of_grades else read_manifest(path, REPLIES)
    counts = {} if of_grades else {"replies": reply_counts(read_replies(path)).to_dicts()}
    return {"run": manifest.model_dump(mode="json"), **counts, "grades": grades}


def replies_page(path: Path, item_name: str | None) -> Document:
    """Return the numbers of `replies_json` as a page."""
    contents = replies_json(path, item_name)
    run, replies = contents["run"], contents.get("replies", ())
    settings = [{"setting": name, "value": str(value)} for name, value in run["identity"]["settings"].items()]
    tables = [
        table_of(
            name, name.capitalize(), tuple(head.capitalize() for head in rows[0]), [tuple(row.values()) for row in rows]
        )
        for name, rows in (("replies", replies), ("grades", contents["grades"]), ("settings", settings))
        if rows
    ]
    title = f"{run['grader_name']} on replies" if "grader_name" in run else "Replies"
    benchmark_words = f" on {run['benchmark_name']}" if "benchmark_name" in run else ""
    return Document(
        f"Run {path.name}",
        f"{title} of {run['identity']['model']}{benchmark_words}, begun {datetime.fromisoformat(run['created']):%Y-%m-%d %H:%M} UTC",
        synthetic_notes(run.get("synthetic")),
        (Section("run", "What it holds", tuple(tables), brief=True),),
    )
