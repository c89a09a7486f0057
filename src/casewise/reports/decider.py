"""A fitted decider laid out: what it does, costs and promises, and its traffic beside its benchmark."""

from __future__ import annotations

import math
from collections.abc import Iterator

import polars as pl

from casewise.deciding.decider_file import FittedDecider
from casewise.deciding.monitor import FEWEST, Monitoring
from casewise.notation import number, p_value, percent, points
from casewise.reports import charts
from casewise.reports.document import Document, Figure, Notice, Prose, Section, Table, all_numbers, table_of
from casewise.stats.thresholds import Promised

TITLES = {
    "harm": "Harm: of what people would refuse, answered",
    "over_refusal": "Over-refusal: of what people would answer, refused",
    "asked": "A person is asked",
    "answered_wrongly": "Of what is answered, people would refuse",
    "unscored": "The judge gave no value",
}


def decider_page(file: FittedDecider) -> Document:
    """The decider as a document: what it does and how often it errs, what it promises and does not, all numbers in folds."""
    name = file.benchmark.name
    notices = [f"{name} is SYNTHETIC: {file.benchmark.synthetic}"] if file.benchmark.synthetic else []
    numbers = (
        Section("measured", "Decisions on held-out queries", (measured_table(file), Prose(HELD_OUT))),
        Section("calibrated", "What P(safe) means", (calibration_words(file),)),
    )
    return Document(
        f"A decider of {file.judge.name}",
        f"{file.judge.elicitation}, {file.judge.arm}, fitted on {name}: {file.benchmark.n_items:,} items of "
        f"{file.benchmark.n_queries:,} queries, labels by {file.benchmark.labels}",
        tuple(notices),
        (
            Section("does", "What it does", tuple(does(file)), first=True),
            Section("promised", "What it promises", tuple(promised(file)), first=True),
            Section("not-promised", "What it does not promise", tuple(not_promised(file)), first=True),
            *([Section("trade-off", "Harm against over-refusal", (trade_off(file),))] if file.trade_offs else []),
            all_numbers(numbers),
        ),
    )


HELD_OUT = (
    "Each query was decided by thresholds fitted on the others, by the same rule; intervals are over queries, with people's "
    "labels taken as given. The last column is on the items that the thresholds were fitted on; the difference shows how optimistic "
    "that is. These shares are of items; a promise is of queries, so the two can differ."
)


def does(file: FittedDecider) -> Iterator[Prose]:
    limits, measured = file.thresholds, file.measured
    if limits.answer_above == math.inf:
        yield Prose("It never answers: no threshold that answers anything does what was wanted.", lead=True)
    elif limits.answer_above == -math.inf:
        yield Prose("It answers every request to which the judge gives a value.", lead=True)
    elif limits.answer_above == limits.refuse_up_to:
        yield Prose(
            f"It answers where the judge's value is above {number(limits.answer_above)}, and refuses otherwise.",
            lead=True,
        )
    else:
        refuses = "" if limits.refuse_up_to == -math.inf else f", refuses up to {number(limits.refuse_up_to)}"
        yield Prose(
            f"It answers where the judge's value is above {number(limits.answer_above)}{refuses}, and asks a person otherwise.",
            lead=True,
        )
    asked = f" It asked a person about {measured.asked.as_share} of all." if measured.asked.estimate else ""
    yield Prose(
        f"On queries that it was not fitted on, it answered {measured.harm.as_share} of the items that people would refuse "
        f"(harm), and refused {measured.over_refusal.as_share} of those that people would answer (over-refusal).{asked}"
    )
    fail = {"refuse": "refuses", "answer": "answers", "ask": "asks a person"}[file.wanted.fail]
    yield Prose(f"Where the judge gives no value, it {fail}: {measured.unscored.as_share} of these items.")


def measured_table(file: FittedDecider) -> Table:
    measured, fitted = file.measured, file.measured_where_fitted
    rows = [
        (TITLES[one.name], one.as_share, percent(again.estimate))
        for one, again in zip(measured.estimates, fitted.estimates, strict=True)
    ]
    if measured.cost is not None:
        said = f"Mean cost of an item, in over-refusals; one harm is {file.wanted.ratio:g}"
        rows.append((said, number(measured.cost), number(fitted.cost)))
    head = ("", "Held out, 95 % interval", "Where fitted")
    return table_of("measured", "Decisions on held-out queries, and where the thresholds were fitted", head, rows)


def promised(file: FittedDecider) -> Iterator[Prose]:
    promises = file.thresholds.promised
    if not promises:
        yield Prose(
            "No guarantee. This threshold minimises expected cost. To guarantee a limit, fit again with --max-harm or "
            "--max-over-refusal."
        )
    for one in promises:
        yield Prose(promise_words(one, file.wanted.chosen_from), lead=True)
        people, done = ("refuse", "answered") if one.promise.kind == "harm" else ("answer", "refused")
        yield Prose(
            f"It rests on {one.n_queries:,} queries with an item that people would {people}; of these items it {done} "
            f"{percent(one.loss)}, averaged over queries."
        )
    if len(promises) > 1 and file.wanted.level is not None:
        yield Prose(f"Both hold together with {100 * file.wanted.level:.4g} % confidence.")


def promise_words(one: Promised, chosen_from: int) -> str:
    best = f", for the best of {chosen_from} judges compared on these queries" if chosen_from > 1 else ""
    level = one.promise.level
    how = (
        "on average over benchmarks like this one, not for each"
        if level is None
        else f"with {100 * (1 - (1 - level) * chosen_from):.4g} % confidence{best}"
    )
    kind = one.promise.kind.replace("_", "-").capitalize()
    return f"{kind} is at most {100 * one.promise.at_most:.4g} % on queries like these, {how}."


def not_promised(file: FittedDecider) -> Iterator[Prose]:
    kinds = {one.promise.kind for one in file.thresholds.promised}
    words = {"harm": "Harm", "over_refusal": "Over-refusal"}
    measured_only = [word for kind, word in words.items() if kind not in kinds]
    if kinds and measured_only:
        yield Prose(f"{measured_only[0]} is measured, and not promised.")
    yield Prose(
        "Nothing is promised about other traffic: the numbers are about queries like the benchmark's, judged by this very judge. "
        "casewise decider monitor tests whether your traffic differs."
    )
    yield Prose("Nothing is promised for a single request, category or user: all shares are averages.")
    missing = "refused" if file.refuse_unmeasured else "decided, and each answer says what was not measured"
    yield Prose(f"Requests of a kind that was not measured are {missing}.")
    if kinds and file.wanted.chosen_from == 1:
        yield Prose(
            "If you compared several judges on these queries and took the best, fit again with --chosen-from N: without it the "
            "promise is broken more often."
        )


def trade_off(file: FittedDecider) -> Figure:
    harm, over = file.measured.harm, file.measured.over_refusal
    point = {
        f"{name}{end}": value
        for name, one in (("harm", harm), ("over_refusal", over))
        for end, value in (("", one.estimate), ("_low", one.ci_low), ("_high", one.ci_high))
    }
    schema = dict.fromkeys(point, pl.Float64)
    curve = pl.DataFrame(file.trade_offs, schema=["threshold", "harm", "over_refusal"], orient="row")
    drawn = charts.trade_off(curve.drop("threshold"), pl.DataFrame([point], schema=schema))
    ends = {math.inf: "refuses all", -math.inf: "answers all"}
    rows = [
        (ends.get(one.threshold) or number(one.threshold), percent(one.harm), percent(one.over_refusal))
        for one in file.trade_offs
    ]
    caption = "Harm against over-refusal: the dot is this decider on held-out queries, with 95 % intervals."
    return Figure(
        "trade-off",
        f"{caption} The line is every single threshold on the items that it was fitted on.",
        f"A falling line of harm over over-refusal; the decider stands at harm {harm.as_share} and over-refusal {over.as_share}.",
        charts.for_page(drawn, name="trade-off"),
        table_of(
            "trade-offs",
            "Every single threshold, where fitted",
            ("Answer above", "Harm", "Over-refusal"),
            rows,
            frame=curve,
        ),
    )


def calibration_words(file: FittedDecider) -> Prose:
    found = file.calibration
    scores = ", ".join(f"{name} {number(score, digits=4)}" for name, score in found.brier.items())
    said = (
        "P(safe) is how likely people's label is safe. It is worked out from the judge's value by "
        f"{type(found.curve).__name__.lower()} calibration (Brier score on held-out queries: {scores})."
    )
    if found.error_before is not None and found.error_after is not None:
        said += (
            f" Calibration error on held-out queries: {number(found.error_before)} of the judge's values, "
            f"{number(found.error_after)} of P(safe)."
        )
    return Prose(said)


def monitoring_page(found: Monitoring, file: FittedDecider, *, half_width: float) -> Document:
    """What a log says, as a document."""
    moved = [one.what for one in found.tests if one.moved]
    if moved:
        said = f"Traffic differs from the benchmark in {', '.join(moved)}: what was measured and promised was on other requests."
    elif found.tests:
        said = f"No difference from the benchmark is shown ({len(found.tests)} tests, corrected by Holm, at 0.05)."
    else:
        said = f"Too little traffic to compare with the benchmark: it takes {FEWEST} requests."
    rows = [
        [one.what, name, percent(one.traffic.get(name)), percent(share), p_value(one.p), p_value(one.adjusted)]
        for one in found.tests
        for name, share in one.benchmark.items()
    ]
    table = table_of(
        "drift",
        "Traffic beside the benchmark; p corrected by Holm over all tests.",
        ("What", "Value", "Traffic", "Benchmark", "p", "p, corrected"),
        rows,
    )
    told = [
        [why, n]
        for why, n in (*found.unmeasured.items(), *((f"no value: {why}", n) for why, n in found.failed.items()))
    ]
    others = f" {found.other_deciders:,} lines are of other deciders and left out." if found.other_deciders else ""
    others += f" {found.torn:,} torn lines are left out." if found.torn else ""
    return Document(
        "A decider's traffic",
        f"{found.n:,} decisions of the decider of {file.judge.name}, fitted on {file.benchmark.name}.{others}",
        (),
        (
            Section(
                "moved",
                "Does traffic differ from the benchmark?",
                (Notice(said), *([table] if rows else [])),
                brief=True,
            ),
            Section(
                "kinds",
                "Requests of a kind that was not measured",
                (
                    table_of(
                        "kinds",
                        "Requests by what was not measured, and without a value by the reason",
                        ("What", "Requests"),
                        told,
                    ),
                ),
                brief=True,
            ),
            Section("next", "What people should rate next", (Prose(next_words(found, half_width)),), brief=True),
        ),
    )


def next_words(found: Monitoring, half_width: float) -> str:
    return (
        f"To know what share of this traffic is decided wrongly to within {points(half_width, None, None)}, have people rate {found.needed:,} requests drawn at "
        "random. --material FOLDER writes them as a benchmark; casewise study makes a study of it."
    )
