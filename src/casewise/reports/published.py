"""The CASE-Bench paper's tables and a run's contents, laid out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from casewise.errors import DataError
from casewise.evaluate.judged_runs import find_benchmark, grade_counts, judgement_counts, reply_counts
from casewise.evaluate.published import CASE_STUDIES, CaseStudy, Omission, PaperNumbers, PaperRow
from casewise.evaluate.replay import Replay
from casewise.notation import count, interval, interval_or, number, p_value, percent, share
from casewise.records import CONDITIONS, Arm, Item, Judgement, Scored, Taxonomy
from casewise.replies.behaviour import GRADES, REPLIES, grade_folders, grades_in, read_grades, read_replies, replies_in
from casewise.reports.charts import dots_with_intervals, for_page
from casewise.reports.document import Block, Document, Exhibit, Figure, Prose, Section, Table, of_tables, table_of
from casewise.reports.judge import item_exhibit, item_json, shown_groups
from casewise.runs.texts import made_in
from casewise.stats.estimates import Estimate
from casewise.stats.metrics import metric_named
from casewise.storage.benchmark import Benchmark
from casewise.storage.files import read_jsonl
from casewise.storage.run_folder import JUDGEMENTS, RunManifest, kind_of, read_run
from casewise.transforms.catalogue import show
from casewise.transforms.texts import MadeTexts

# The CASE-Bench paper's tables and figures, laid out (or why not), and a judge's output of its release scored
# anew.


NOT_POSSIBLE: tuple[tuple[str, str], ...] = (
    (
        "Figure 2, Figure 6",
        "drawings of the pipeline and of the rating page: they contain no computed number",
    ),
    (
        "Section 5.1, contrasts with no context and with generated contexts",
        "ratings of these three conditions were never released",
    ),
    ("Figure 3, with all five conditions", "the release has two of the five conditions, which the page shows"),
    (
        "Table 2 and Table 4, other judges",
        "judges are scored from the release's outputs: add theirs to --outputs",
    ),
    (
        "Figures and tables not named here",
        "the text of the paper that casewise follows does not describe them",
    ),
    ("Figure 5, other judges", "needs outputs with parameters omitted for each of them"),
)
"""What the release does not allow, and why."""


def paper_document(found: PaperNumbers, benchmark: Benchmark) -> Document:
    """Each table and figure of the paper that `benchmark` and judges' output files allow; first those that runs stand in."""
    of_judges = (
        Section("table-2", "Tables 2 and 4: judges", tuple(judges(found)), brief=True),
        Section("figure-5", "Figure 5: parameters left out", tuple(ablation(found)), brief=bool(found.left_out)),
    )
    of_people = (
        Section("power", "Section 3.2 and appendix E.1: sample size", tuple(sample_size(found)), brief=True),
        Section("contrast", "Section 5.1: influence of context", tuple(influence(found)), brief=True),
        Section("figure-3", "Figure 3: Kruskal-Wallis by category", tuple(by_category(found))),
        *(
            Section(anchor(name), f"{name}: {what}", tuple(case_study(found.case_studies[name], what)))
            for name, what in CASE_STUDIES.items()
        ),
    )
    with_runs = any(row.source == "run" for row in found.rows)
    return Document(
        title=f"The CASE-Bench paper, recomputed from {benchmark.name}",
        subtitle="Sun, Zhan, Feng, Woodland and Such (ICML 2025)",
        notices=(*benchmark.notes(), *found.unread, *found.odd),
        sections=(
            *(of_judges + of_people if with_runs else of_people + of_judges),
            Section("table-3", "Table 3: categories", (categories(benchmark.taxonomy),)),
            Section("not", "Not computable from the release", (not_possible(),), brief=not with_runs),
        ),
    )


def anchor(name: str) -> str:
    return name.lower().replace(" ", "-")


def sample_size(found: PaperNumbers) -> Iterator[Block]:
    sizes = {"0.05, as in the paper": found.sample_size, "0.0125, the level of its tests": found.strict_sample_size}
    rows = [
        (level, size.n_per_group, size.n_total, number(size.actual_power, digits=4)) for level, size in sizes.items()
    ]
    head = ("Level", "Per group", "In all", "Power")
    yield table_of("power-table", "One-way analysis of variance, five groups, f = 0.4, power 0.8", head, rows)
    yield Prose(
        "The paper adds an allowance and recruits 21 annotators a task. At the level of its tests, the design needs 22."
    )


def influence(found: PaperNumbers) -> Iterator[Block]:
    if found.influence is None:
        yield Prose("Only one of the revised conditions has ratings, so they cannot be compared.")
        return
    z = found.influence.test
    rows = [
        (name, percent(safe / votes), votes)
        for name, (safe, votes) in (
            ("safe, revised", found.influence.safe),
            ("unsafe, revised", found.influence.unsafe),
        )
    ]
    yield table_of("influence", "Share of votes that are safe", ("Condition", "Safe", "Votes"), rows)
    yield Prose(
        f"z = {float(z.z):.1f}, log p = {float(z.log_p):.0f}: the paper's z test, on the only two conditions that were released. "
        "The test treats votes as independent, which they are not (casewise audit)."
    )


def by_category(found: PaperNumbers) -> Iterator[Block]:
    frame = found.by_category
    if not len(frame):
        yield Prose("No query has ratings in both revised conditions.")
        return
    cells = [(r["category"], r["queries"], number(r["h"], digits=2), r["significant"]) for r in frame.to_dicts()]
    head = ("Category", "Queries", "Mean H", "Significant at 0.0125")
    table = table_of(
        "figure-3-table", "Kruskal-Wallis H of the two revised conditions, by category", head, cells, frame=frame
    )
    points = frame.select(name="category", estimate="h", low="h", high="h")
    top = float(frame["h"].to_numpy().max())
    drawn = dots_with_intervals(
        points, title="Mean H (two conditions)", order=frame["category"].to_list(), domain=(0, max(1.0, top))
    )
    yield Figure(
        "figure-3-chart",
        "Mean Kruskal-Wallis H by category, from the two conditions that were released (the paper has five).",
        "Dot chart of mean H by category; the table below gives the numbers.",
        for_page(drawn, name="figure-3-chart"),
        table,
    )


def case_study(found: CaseStudy | None, category: str) -> Iterator[Block]:
    if found is None:
        yield Prose(f"No query of {category!r} has ratings in both revised conditions.")
        return
    cells = [
        (
            f"query {place}",
            *(share(row[intent], row[f"{intent}_low"], row[f"{intent}_high"]) for intent in ("safe", "unsafe")),
            p_value(row["p"]),
        )
        for place, row in enumerate(found.queries.to_dicts(), start=1)
    ]
    head = ("Query", "Safe context", "Unsafe context", "p")
    yield table_of(f"{anchor(category)}-table", "Share of votes to respond, with 95 % intervals", head, cells)
    yield Prose(
        f"{found.n_significant} of {len(found.queries)} differ at 0.0125, on the two conditions that were released."
    )


def judges(found: PaperNumbers) -> Iterator[Block]:
    if not found.rows:
        yield Prose("No judge outputs were given: add --outputs FOLDER with the release's exp folder.")
        return
    names = ("accuracy", "recall_safe", "recall_unsafe", "pearson", "cross_entropy")
    cells = [
        (
            whose(row),
            row.elicitation,
            *(with_interval(row.published.get(name)) for name in names),
            with_interval(row.votes_accuracy),
        )
        for row in found.rows
    ]
    head = ("Judge", "Asked for", "Accuracy", "Safe", "Unsafe", "PCC", "Cross-entropy", "Accuracy, votes")
    caption = "Judges by the paper's own rules, 95 % intervals over queries; last, against people's votes alone"
    yield table_of("judges-table", caption, head, cells)
    if any(row.source == "paper" for row in found.rows):
        yield Prose(
            "Rows of the paper have no intervals: it prints none. --outputs FOLDER with the release's exp folder computes them, and "
            "adds the paper's other judges."
        )
    yield Prose("The release's cross-entropy is not bounded, and has no interval.")


YOURS = " (your run)"


def whose(row: PaperRow | Omission) -> str:
    """A judge's name; the user's runs are marked."""
    return row.judge + (YOURS if row.source == "run" else "")


def with_interval(found: Estimate | None) -> str:
    """A number and, where it has one, its interval."""
    if found is None or found.limits is None:
        return number(found.estimate if found else None)
    return f"{number(found.estimate)} {interval(*found.limits)}"


def ablation(found: PaperNumbers) -> Iterator[Block]:
    if not found.left_out:
        yield Prose("No judge was asked with parameters left out: judge with --ablate parameters, or add such outputs.")
        return
    cells = [
        (whose(one), ", ".join(one.omitted), one.metric, with_interval(one.whole), with_interval(one.without))
        for one in found.left_out
    ]
    head = ("Judge", "Left out", "Metric", "Whole context", "Without")
    caption = "Recall without parts of the context, by the paper's own rules, 95 % intervals over queries"
    yield table_of("ablation-table", caption, head, cells)


def categories(taxonomy: Taxonomy) -> Table:
    rows = [(str(place + 1), one.name, one.domain) for place, one in enumerate(taxonomy.categories)]
    return table_of("categories-table", taxonomy.name, ("Index", "Category", "Domain"), rows)


def not_possible() -> Table:
    listed = ", ".join(CONDITIONS)
    rows = [
        *NOT_POSSIBLE,
        ("Anything by annotator", f"the release has no annotator ids, and of {listed} the last two only"),
    ]
    return table_of("not-table", "Not recomputed", ("What", "Why"), rows)


HOW_TO_READ = (
    "published: the release's own rules (the intent counts as a vote, an unparsed reply as 1.0).",
    "votes: people's votes alone, a tie half and half, an unscored item a miss; 95 % intervals over queries.",
)


def replay_page(*found: Replay) -> Document:
    """The published numbers and ours of each output, how to read them, and what is odd about the files."""
    names = ", ".join(dict.fromkeys(one.judge for one in found))
    tables = [replay_table(one, f"replay-{place}" if place else "replay") for place, one in enumerate(found)]
    return of_tables(f"{names}, scored again", tables, [*HOW_TO_READ, *(note for one in found for note in one.notes)])


def replay_table(found: Replay, name: str) -> Table:
    """The published numbers and ours side by side."""
    rows = []
    for metric, ours in found.votes.items():
        published = found.published.get(metric)
        rows.append(
            (
                metric_named(metric).title,
                number(published, digits=5),
                number(ours.estimate, digits=5),
                interval_or(ours.ci_low, ours.ci_high, ours.method),
                count(ours.n),
            )
        )
    omitted = f", without {', '.join(found.omitted)}" if found.omitted else ""
    caption = f"{found.judge}, {found.elicitation}{omitted}: {found.n:,} items, {found.n_unscored:,} unscored"
    return table_of(name, caption, ("Metric", "published", "votes", "95 % interval", "Items"), rows)


# A run, or the judgements of one item in it, as a person would like to read them.


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
    settings += [(f"words, {asked}", wording) for asked, wording in manifest.wordings.items()]
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
        context=shown_groups(shown.context, judged=shown.judged, before=shown.before),
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

    Raises DataError: it holds nothing, or an item is wanted, which `casewise serve` shows.
    """
    of_grades = kind_of(path) == GRADES.name
    if which is not None:
        held = "grades" if of_grades else "a chatbot's replies"
        raise DataError(path, None, f"holds {held}; casewise serve REPLIES shows them item by item")
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
