"""A fitted decider laid out: what it does, costs and promises, and its traffic beside its benchmark."""

from __future__ import annotations

import math
from collections.abc import Iterator

from casewise.deciding.decider_file import FittedDecider
from casewise.deciding.monitor import Monitoring
from casewise.notation import number, p_value, percent
from casewise.reports.document import Document, Notice, Prose, Section, Table, table_of
from casewise.stats.thresholds import Promised

TITLES = {
    "harm": "harm: of what people would refuse, answered",
    "over_refusal": "over-refusal: of what people would answer, refused",
    "asked": "a person is asked",
    "answered_wrongly": "of what is answered, people would refuse",
    "unscored": "the judge gave no value",
}


def decider_page(file: FittedDecider) -> Document:
    """The decider as a document."""
    name = file.benchmark.name
    notices = [f"{name} is SYNTHETIC: {file.benchmark.synthetic}"] if file.benchmark.synthetic else []
    return Document(
        f"A decider of {file.judge.name}",
        f"{file.judge.elicitation}, {file.judge.arm}, fitted on {name}: {file.benchmark.n_items:,} items of "
        f"{file.benchmark.n_queries:,} queries, labels by {file.benchmark.labels}",
        tuple(notices),
        (
            Section("does", "What it does", tuple(does(file)), brief=True),
            Section("measured", "What that came to", (measured_table(file), Prose(HELD_OUT)), brief=True),
            Section("promised", "What is promised", tuple(promised(file)), brief=True),
            Section("calibrated", "What P(safe) means", (calibration_words(file),), brief=True),
        ),
    )


HELD_OUT = (
    "Each query was decided by thresholds fitted on the others, by the same rule; intervals are over queries, with people's "
    "labels taken as given. The last column is on the very items that the thresholds were fitted on, and the difference is how "
    "much that flatters."
)

LIKE_THESE = (
    "A promise is of a random query like the benchmark's, and then a random one of its items of that kind, judged by this very judge. "
    "Of other traffic it says nothing: casewise decider monitor looks whether yours has moved. If you compared several judges on these "
    "queries and took the best, fit with --chosen-from N: without it the promise is broken more often."
)


def does(file: FittedDecider) -> Iterator[Prose]:
    limits = file.thresholds
    if limits.answer_above == limits.refuse_up_to:
        what = f"It answers above {limit(limits.answer_above)} and refuses up to it."
    else:
        what = (
            f"It answers above {limit(limits.answer_above)}, refuses up to {limit(limits.refuse_up_to)}, and asks a person "
            "between."
        )
    yield Prose(f"{what} Where the judge gives no value it says {file.wanted.fail}.")
    if limits.answer_above == float("inf"):
        yield Prose("Nothing is ever answered: no threshold that answers anything does what was wanted.")
    missing = "refused" if file.refuse_unmeasured else "decided, and said to be so in each answer"
    yield Prose(f"Requests of a kind that was not measured are {missing}.")


def limit(value: float) -> str:
    if math.isinf(value):
        return "every value" if value > 0 else "no value at all"
    return number(value, digits=4)


def measured_table(file: FittedDecider) -> Table:
    return table_of(
        "measured",
        "Decisions on held-out queries.",
        ("", "Share, 95 % interval", "Where fitted"),
        (
            (
                TITLES[one.name],
                one.as_share,
                percent(fitted.estimate),
            )
            for one, fitted in zip(file.measured.estimates, file.measured_where_fitted.estimates, strict=True)
        ),
    )


def promised(file: FittedDecider) -> Iterator[Prose | Notice]:
    if not file.thresholds.promised:
        yield Prose(
            "No guarantee. This threshold minimises expected cost. To guarantee a limit, fit again with --max-harm or "
            "--max-over-refusal."
        )
        return
    for one in file.thresholds.promised:
        yield Prose(promise_words(one, file.wanted.chosen_from))
    yield Notice(LIKE_THESE)


def promise_words(one: Promised, chosen_from: int) -> str:
    how = (
        "on average over such benchmarks, not for each"
        if one.promise.level is None
        else f"with probability {number(1 - (1 - one.promise.level) * chosen_from, digits=3)} over the draw of the benchmark's queries"
    )
    if chosen_from > 1:
        how += f", for the best of {chosen_from} judges compared on these queries"
    return (
        f"{one.promise.kind.replace('_', '-').capitalize()} at most {percent(one.promise.at_most)}, {how}. It rests on {one.n_queries:,} queries, whose "
        f"mean loss is {percent(one.loss, digits=2)}."
    )


def calibration_words(file: FittedDecider) -> Prose:
    found = file.calibration
    scores = ", ".join(f"{name} {number(score, digits=4)}" for name, score in found.brier.items())
    said = (
        f"{type(found.curve).__name__}, the better of two on held-out queries (Brier score against labels: {scores})."
    )
    if found.error_before is not None and found.error_after is not None:
        said += (
            f" Its distance from people's verdicts is {number(found.error_before)} as the judge says it and "
            f"{number(found.error_after)} calibrated. P(safe) is how likely people's label is safe."
        )
    return Prose(said)


def monitoring_page(found: Monitoring, file: FittedDecider, *, half_width: float) -> Document:
    """What a log says, as a document."""
    moved = [one.what for one in found.tests if one.moved]
    said = (
        f"Traffic differs from the benchmark in {', '.join(moved)}: what was measured, and what was promised, was on other requests."
        if moved
        else "No difference from the benchmark is seen."
        if found.tests
        else "There is too little traffic to hold against the benchmark."
    )
    rows = [
        [one.what, name, percent(one.traffic.get(name)), percent(share), p_value(one.p), p_value(one.adjusted)]
        for one in found.tests
        for name, share in one.benchmark.items()
    ]
    table = table_of(
        "drift",
        "Traffic beside the benchmark; p by Holm over all tests.",
        ("", "", "traffic", "benchmark", "p", "p, all tests"),
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
            Section("moved", "Has it moved?", (Notice(said), *([table] if rows else [])), brief=True),
            Section(
                "kinds",
                "Requests of a kind that was not measured",
                (table_of("kinds", "How many of each.", ("what", "requests"), told),),
                brief=True,
            ),
            Section("next", "What people should rate next", (Prose(next_words(found, half_width)),), brief=True),
        ),
    )


def next_words(found: Monitoring, half_width: float) -> str:
    return (
        f"To know what share of this traffic is decided wrongly to within {percent(half_width)}, have people rate {found.needed:,} requests drawn at "
        "random. --material FOLDER writes them as a benchmark; casewise study makes a study of it."
    )
