"""What a decider is fitted on: the series of a run, its labels, and what its requests were like."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import casewise
from casewise.deciding.fitting import (
    FitOptions,
    evidence_of,
    fit_series,
    label_source,
    measured_judge,
    measured_on,
    select_series,
)
from casewise.errors import ConfigurationError
from casewise.evaluate.judged_runs import read_runs
from casewise.judges.judge import Answer
from casewise.records import PARAMETERS, Scored
from casewise.records.item import Turn
from casewise.stats.labels import VOTES
from casewise.stats.thresholds import DECISIONS, Requirements

OPTIONS = FitOptions()
DESK = [
    {
        "query": f"Question {number}?",
        "recipient.type": "a nurse",
        "recipient.background": "ten years" if number % 2 else None,
        "category": "drugs" if number % 3 else "locks",
        "label": "safe" if number % 2 else "unsafe",
    }
    for number in range(20)
]


def number_of(query):
    return int(query.removeprefix("Question ").removesuffix("?"))


def graded(query, context):
    """P(safe) from 0 to 0.95, and no value for the last two."""
    return None if number_of(query) >= 18 else number_of(query) / 20


graded.elicitation = "probability"  # type: ignore[attr-defined]  # a function states it so


@pytest.fixture(scope="module")
def desk():
    benchmark = casewise.load_frame(DESK)
    return read_runs([casewise.judge(benchmark, graded)], benchmark=benchmark)


@pytest.fixture(scope="module")
def on(desk):
    (series,) = desk.series
    evidence, _ = evidence_of(desk, series, VOTES)
    decisions = np.array([DECISIONS.index("answer")] * 5 + [DECISIONS.index("refuse")] * 15)
    return measured_on(desk, series, evidence, decisions)


def test_the_parameters_that_all_contexts_state_are_told_from_those_that_some_do(on):
    assert (on.always, on.sometimes, on.without_context) == (("recipient.type",), ("recipient.background",), False)


def test_the_kinds_and_categories_of_the_queries_are_noted(on):
    assert (on.kinds, on.query_categories) == (("request",), ("drugs", "locks"))


def test_the_values_are_noted_in_tenths(on):
    """The values 0, 0.05, …, 0.85: eighteen, two in each tenth but for those at the ends."""
    values = np.arange(18) / 20

    assert on.score_edges == pytest.approx(np.quantile(values, np.arange(1, 10) / 10))
    shares = [np.mean(values <= edge) for edge in on.score_edges]
    assert on.score_shares == pytest.approx(np.diff([0, *shares, 1]))


def test_a_value_on_an_edge_is_in_the_bin_below_it_and_equal_edges_are_one(desk):
    (series,) = desk.series
    evidence, _ = evidence_of(desk, series, VOTES)
    constant = evidence.where(evidence.value == 0.5)
    found = measured_on(desk, series, constant, np.zeros(1, dtype=np.intp))

    assert (found.score_edges, found.score_shares) == ((0.5,), (1.0, 0.0))


def test_decisions_and_items_without_a_value_are_shares(on):
    assert on.decisions == {"refuse": 0.75, "ask": 0.0, "answer": 0.25}
    assert on.without_value == 0.1
    assert on.unscored == {"unparsed": 0.1}
    assert on.categories == {}


class Guard:
    """Names the arm and the elicitation as a category on every item, and a second one on every fourth."""

    name = "guard"
    elicitations = ("binary", "score")

    async def answer(self, ask):
        named = f"{ask.arm.name} {ask.elicitation}"
        rare = ("rare",) if ask.item.id in RARE else ()
        return Answer(Scored(value=1.0), categories=(*rare, named))


RARE: set[str] = set()


def test_categories_are_shares_of_the_items_of_the_series_with_the_most_frequent_first():
    benchmark = casewise.load_frame(DESK)
    RARE.update(item.id for item in benchmark.items[::4])
    guard: Any = Guard()
    run = casewise.judge(benchmark, guard, arms="full none", elicitations=("binary", "score"))
    runs = read_runs([run], benchmark=benchmark)
    series = select_series(runs, FitOptions(elicitation="score", arm="none"))
    evidence, _ = evidence_of(runs, series, VOTES)
    found = measured_on(runs, series, evidence, np.zeros(20, dtype=np.intp)).categories

    assert list(found.items()) == [("none score", 1.0), ("rare", 0.25)]


def test_a_query_with_turns_before_it_is_a_conversation(desk, monkeypatch):
    (series,) = desk.series
    evidence, _ = evidence_of(desk, series, VOTES)
    query = desk.benchmark.queries[0].model_copy(update={"before": (Turn(role="user", text="Hello."),)})
    queries = {**{query.id: query for query in desk.benchmark.queries}, query.id: query}
    monkeypatch.setitem(vars(desk.benchmark), "query", queries)

    assert measured_on(desk, series, evidence, np.zeros(20, dtype=np.intp)).kinds == ("conversation", "request")


def test_a_benchmark_without_contexts_states_nothing():
    benchmark = casewise.load_frame([{key: row[key] for key in ("query", "label")} for row in DESK])
    runs = read_runs([casewise.judge(benchmark, graded)], benchmark=benchmark)
    (series,) = runs.series
    evidence, _ = evidence_of(runs, series, VOTES)
    found = measured_on(runs, series, evidence, np.zeros(20, dtype=np.intp))

    assert (found.always, found.sometimes, found.without_context) == ((), (), True)


def test_the_evidence_has_an_item_for_each_label_with_its_query(desk):
    (series,) = desk.series
    evidence, places = evidence_of(desk, series, VOTES)

    assert places.tolist() == list(range(20))
    assert evidence.weight.tolist() == [row["label"] == "safe" for row in DESK]
    assert len(np.unique(evidence.cluster)) == 20
    assert np.isnan(evidence.value).sum() == 2


def test_the_judge_is_described_by_its_run(desk):
    (series,) = desk.series
    judge = measured_judge(series, OPTIONS)

    assert (judge.name, judge.elicitation, judge.arm, judge.prompts, judge.base_url) == (
        "python:graded",
        "probability",
        "full",
        "casewise",
        None,
    )
    assert None not in judge.settings.values()
    own = measured_judge(series, FitOptions(prompts="mine.toml", base_url="http://here"))
    assert (own.prompts, own.base_url) == ("mine.toml", "http://here")


def test_the_file_counts_items_and_queries(desk):
    (series,) = desk.series
    fitted_on = fit_series(desk, series, Requirements(ratio=1), options=OPTIONS).decider.benchmark

    assert (fitted_on.n_items, fitted_on.n_queries, fitted_on.synthetic) == (20, 20, None)
    assert fitted_on.labels == VOTES.name


def test_values_far_from_the_labels_are_calibrated():
    def sure(query, context):
        return 0.95 if number_of(query) % 2 else 0.9

    benchmark = casewise.load_frame(DESK)
    runs = read_runs([casewise.judge(benchmark, sure, elicitations="probability")], benchmark=benchmark)
    found = fit_series(runs, runs.series[0], Requirements(ratio=1), options=OPTIONS).decider

    assert found.calibration.error_before is not None
    assert found.calibration.error_after is not None
    assert found.calibration.error_after < 0.25 < found.calibration.error_before
    assert (found.refuse_unmeasured, found.created.microsecond) == (False, 0)


def runs_of(judge, **options):
    return read_runs([casewise.judge("demo", judge, **options)])


def test_a_series_is_chosen_by_its_arm_and_its_elicitation():
    runs = runs_of("fake/rehearsal", elicitations=("binary", "score"), arms="full none")

    with pytest.raises(ConfigurationError, match="the run holds several series; choose one: ") as several:
        select_series(runs, OPTIONS)
    assert "--elicit binary --arm full, --elicit score --arm full" in str(several.value)
    assert select_series(runs, FitOptions(elicitation="score")).elicitation == "score"
    chosen = select_series(runs, FitOptions(elicitation="binary", arm="none"))
    assert (chosen.elicitation, chosen.arm) == ("binary", "none")
    with pytest.raises(ConfigurationError, match=r"the run holds no such series; choose one: .*--arm none"):
        select_series(runs, FitOptions(elicitation="probability"))


def test_a_judge_without_a_value_on_most_items_is_not_fitted():
    calls = []

    def mostly_silent(query, context):
        calls.append(query)
        return 0.5 if len(calls) % 3 == 1 else None

    with pytest.raises(ConfigurationError, match=r"No decider is fitted on it\. Use casewise reread"):
        select_series(runs_of(mostly_silent, elicitations="probability"), OPTIONS)


@pytest.mark.parametrize(
    ("columns", "source"),
    [
        ({"label": "safe"}, "as stated"),
        ({"safe_rate": 0.7}, "shares of safe votes"),
        ({"n_safe": 3, "n_votes": 4}, None),
    ],
)
def test_labels_are_those_of_people_who_voted_of_shares_or_of_the_file(columns, source):
    benchmark = casewise.load_frame([{"query": query, **columns} for query in ("Who?", "What?")])

    assert label_source(benchmark, OPTIONS) == source


def test_all_parameters_of_the_demo_are_always_stated():
    runs = runs_of("constant:safe")
    (series,) = runs.series
    evidence, _ = evidence_of(runs, series, VOTES)

    assert measured_on(runs, series, evidence, np.zeros(90, dtype=np.intp)).always == tuple(sorted(PARAMETERS))
