"""Judges side by side and the gate: what is said of numbers that are known."""

import json
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.support.samples import sample_of

import casewise
from casewise.api import RunOptions
from casewise.errors import BenchmarkError, ConfigurationError, ExitCode, StatisticsError
from casewise.evaluate.comparison import (
    GateReport,
    best_conclusion,
    gate_drop,
    gate_number,
    matching_series,
    metric_difference,
    parse_margins,
    parse_named_numbers,
    sentences_of,
)
from casewise.evaluate.judged_runs import ReportOptions
from casewise.judges.plan import Selection
from casewise.records import Unscored, UnscoredReason
from casewise.stats.comparison import (
    Comparison,
    Entrant,
    Gate,
    GatedMetric,
    MetricGate,
    PairwiseComparison,
    compare_judges,
)
from casewise.stats.estimates import Estimate
from casewise.text import join

# Sentences from the intervals of differences.


def estimate(value, low=None, high=None, name="accuracy"):
    return Estimate(name, value, low, high, 90.0, 0, "made up")


def comparison(*differences, names=("a", "b", "c")):
    """Judges right on .9, .8, .7 of the items; the differences are of a and b, a and c, b and c."""
    names = names[: 2 if len(differences) == 1 else 3]
    pairs = [("a", "b"), ("a", "c"), ("b", "c")][: len(differences)]
    return Comparison(
        names=names,
        n_items=90,
        n_queries=45,
        common=np.ones(90, dtype=bool),
        left_out={},
        estimates={name: (estimate(0.9 - place / 10),) for place, name in enumerate(names)},
        pairs=tuple(
            PairwiseComparison(*pair, (estimate(0.1, *ends),), None, None)
            for pair, ends in zip(pairs, differences, strict=True)
        ),
        winners={},
    )


@pytest.mark.parametrize(
    ("differences", "sentence"),
    [
        ([(0.001, 0.2)], "a agrees most with people (accuracy 90.0 %). It beats b by 10.0 points [0.1, 20.0]."),
        ([(0.0, 0.2)], "a is not told apart from b: 10.0 points [0.0, 20.0] (accuracy 90.0 % against 80.0 %)."),
        ([(None, None)], "a cannot be compared with b: made up (accuracy 90.0 % against 80.0 %)."),
        ([(0.0, 0.2), (0.05, 0.3), (-1, 1)], "These items do not tell which judge agrees most with people: it may be a or b. One of these agrees more often than c."),
        ([(-0.01, 0.2), (0.0, 0.3), (0.1, 0.2)], "These items do not tell which judge agrees most with people: it may be a or b. One of these agrees more often than c."),
    ],
)  # fmt: skip
def test_a_judge_beats_those_alone_whose_corrected_interval_lies_above_0(differences, sentence):
    assert join(" ", sentences_of(comparison(*differences))) == sentence


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, 5, 10])
def test_among_equal_judges_no_single_one_is_said_to_agree_most(n):
    rng = np.random.default_rng(n)
    named = 0
    for _ in range(25):
        weight = rng.integers(0, 2, size=60).astype(float)
        judges = [
            Entrant(
                f"j{place}", sample_of(weight, np.where(rng.random(60) < 0.8, weight, 1 - weight)), np.ones(60, bool)
            )
            for place in range(n)
        ]
        sentence = join(" ", sentences_of(compare_judges(judges)))
        named += "agrees most with people" in sentence.partition(".")[0] and "do not tell" not in sentence
        assert (
            "agrees most with people" in sentence.partition(".")[0] and "do not tell" not in sentence
        ) or "do not tell which judge agrees most" in sentence

    assert named <= 3


def test_a_judge_that_beats_all_others_is_named_alone():
    rng = np.random.default_rng(1)
    weight = rng.integers(0, 2, size=400).astype(float)
    judges = [
        Entrant(name, sample_of(weight, np.where(rng.random(400) < share, weight, 1 - weight)), np.ones(400, bool))
        for name, share in (("poor", 0.6), ("good", 0.95), ("fair", 0.7))
    ]

    sentence = join(" ", sentences_of(compare_judges(judges)))
    assert sentence.startswith("good agrees most with people (accuracy 9")
    assert " It beats " in sentence


def test_the_difference_of_two_judges_turns_its_sign_with_their_order():
    found = comparison((0.02, 0.2), (0.0, 0.2), (-0.1, 0.2))
    forth, back = metric_difference(found, "a", "b", "accuracy"), metric_difference(found, "b", "a", "accuracy")

    assert forth is not None
    assert back is not None
    assert (forth.estimate, forth.limits) == (0.1, (0.02, 0.2))
    assert (back.estimate, back.limits) == (-0.1, (-0.2, -0.02))
    assert metric_difference(found, "a", "b", "auroc") is None


def test_a_judge_may_be_best_unless_another_is_shown_to_be_better():
    one = best_conclusion(comparison((0.02, 0.2), (0.02, 0.2), (0.02, 0.2)), ("a", "b", "c"), "accuracy")
    several = best_conclusion(comparison((-0.1, 0.2), (0.02, 0.2), (-0.1, 0.2)), ("a", "b", "c"), "accuracy")

    assert (one.holds, several.holds) == (True, False)
    assert "it may be a or b" in several.sentence


def test_judges_without_verdicts_are_not_spoken_of():
    every = comparison((0.02, 0.2), (0.02, 0.2), (-0.1, 0.2))
    two, one, none = (join(" ", sentences_of(every, without=names)) for names in ({"a"}, {"a", "b"}, {"a", "b", "c"}))

    assert two == "b is not told apart from c: 10.0 points [-10.0, 20.0] (accuracy 80.0 % against 70.0 %)."
    assert one == "There is nothing to compare: only c gave a verdict on at least half of the items."
    assert none == "There is nothing to compare: none of them gave a verdict on at least half of the items."


def test_judges_without_a_common_metric_are_named_by_what_they_lack():
    found = comparison((0.02, 0.2), (0.02, 0.2), (-0.1, 0.2))
    silent = replace(found, estimates={**found.estimates, "b": (estimate(0.7, name="auroc"),)})

    assert join(" ", sentences_of(silent, agreed_with="labels")) == (
        "The judges have no metric in common that measures agreement with labels: b gave no verdicts."
    )


# Numbers that an option names.


@pytest.mark.parametrize(
    "text", ["accuracy", "accuracy=x", "accuracy=-1", "nothing=0.1", "accuracy=0.1,accuracy=0.2", ""]
)
def test_margins_that_say_nothing_are_refused(text):
    with pytest.raises(ConfigurationError, match="--max-drop"):
        parse_margins(text)


def test_margins_are_read_from_a_text_or_a_mapping_with_both_ends_of_their_range():
    assert parse_margins("accuracy=0, over_refusal = 0.02") == {"accuracy": 0.0, "over_refusal": 0.02}
    assert parse_margins({"accuracy": 3}) == {"accuracy": 3.0}
    assert parse_named_numbers("--max-turned", "safe=1", ("safe",), at_most=1) == {"safe": 1.0}
    with pytest.raises(
        ConfigurationError, match=r"'accuracy=inf' is not NAME=NUMBER with a number of at least 0, each once"
    ):
        parse_margins({"accuracy": float("inf")})
    with pytest.raises(ConfigurationError, match="a number from 0 to 1, each once"):
        parse_named_numbers("--max-turned", "safe=1.1", ("safe",), at_most=1)


@pytest.mark.parametrize(
    ("metric", "limits", "value", "drop"),
    [
        (GatedMetric("accuracy"), (), "90.0 %", "90.0 points"),
        (GatedMetric("accuracy", "strict"), (0.8, 0.95), "90.0 %", "90.0 points [80.0, 95.0]"),
        (GatedMetric("auroc"), (), "0.900", "0.900"),
        (GatedMetric("auroc"), (0.8, 0.95), "0.900", "0.900 [0.800, 0.950]"),
    ],
)
def test_a_share_is_written_in_per_cent_and_its_drop_in_points(metric, limits, value, drop):
    assert (gate_number(metric, 0.9), gate_drop(metric, 0.9, *limits)) == (value, drop)


# The decision of a gate.

PASSED, FAILED, OPEN = (
    MetricGate(GatedMetric("accuracy"), 0.9, 0.88, 0.02, low, high, 0.05, 0.03, 90, "made up")
    for low, high in ((-0.01, 0.04), (0.06, 0.2), (0.01, 0.2))
)


def gate_report(*metrics, **changed) -> GateReport:
    known: dict[str, Any] = {
        "run": "new",
        "baseline": "old",
        "benchmark": "demo",
        "digest": "d",
        "labels": "votes",
        "unscored": "miss",
        "left_out": 0,
        "missing": 0,
        "unfinished": (),
        "nothing_scored": False,
        "unscored_shares": (0.0, 0.05),
        "max_unscored": 0.05,
        "errors": {},
        "notes": (),
    }
    return GateReport(gate=Gate(metrics, 90, 45), **(known | changed))


@pytest.mark.parametrize(
    ("metrics", "changed", "decision", "says"),
    [
        ((PASSED,), {}, "pass", "not worse than the baseline in accuracy by 5 points"),
        ((FAILED, PASSED), {}, "fail", "worse than"),
        ((OPEN, PASSED), {}, "inconclusive", "a drop only if it exceeds its margin by 3.0 points in accuracy."),
        ((PASSED,), {"missing": 2}, "inconclusive", "it lacks 2 items of the baseline"),
        ((FAILED,), {"missing": 2}, "inconclusive", "The run has not finished"),
        (
            (PASSED,),
            {"unfinished": ("run", "baseline")},
            "inconclusive",
            "the run and the baseline answered only a part",
        ),
        ((PASSED,), {"nothing_scored": True}, "inconclusive", "No item of the run has a verdict"),
        ((FAILED,), {"nothing_scored": True}, "fail", "No item of the run has a verdict"),
        ((PASSED,), {"unscored_shares": (0.06, 0.0)}, "inconclusive", "0.0 % of the run's, 6.0 % of the baseline's"),
        ((FAILED,), {"unscored_shares": (0.0, 0.06)}, "fail", "worse than"),
    ],
)
def test_a_gate_says_what_it_decides_and_passes_no_run_of_which_too_much_is_unknown(metrics, changed, decision, says):
    report = gate_report(*metrics, **changed)

    assert (report.decision, report.as_json()["decision"]) == (decision, decision)
    assert says in report.sentence()
    codes = {"pass": ExitCode.DONE, "fail": ExitCode.NO, "inconclusive": ExitCode.CANNOT_TELL}
    assert report.exit_code == codes[decision]


def test_only_metrics_that_are_not_decided_ask_for_more_items():
    assert "accuracy" in gate_report(OPEN).sentence().partition("With 80 % power")[2]
    decided = gate_report(replace(PASSED, metric=GatedMetric("harm")), OPEN).sentence().partition("With 80 % power")[2]

    assert "harm" not in decided
    assert "Too few items" not in gate_report(PASSED).sentence()


def test_the_json_of_a_gate_names_both_shares_and_each_decision():
    content = json.loads(json.dumps(gate_report(PASSED, FAILED).as_json()))

    assert content["unscored_shares"] == {"baseline": 0.0, "run": 0.05}
    assert [metric["decision"] for metric in content["metrics"]] == ["pass", "fail"]
    assert (content["n_items"], content["n_queries"], content["unscored_policy"]) == (90, 45, "miss")
    assert len(content["conclusions"]) == 2


# Runs.

FEW = RunOptions(selection=Selection(limit=60))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    judges = ("constant:safe", "constant:unsafe", "constant:intended")
    return [casewise.judge("demo", name, out=folder / name.replace(":", "-")) for name in judges]


def compare(*runs, **more):
    return casewise.compare(*runs, **more)


@pytest.mark.slow
def test_the_differences_are_of_the_numbers_in_each_report(runs):
    found = compare(*runs[:2])
    alone = [casewise.report(run, options=ReportOptions()).metrics for run in runs[:2]]

    difference = next(e for e in found.comparison.pairs[0].differences if e.name == "accuracy")
    first, second = (table.filter(table["metric"] == "accuracy")["estimate"][0] for table in alone)
    assert difference.estimate == pytest.approx(first - second)


def test_one_series_alone_and_runs_over_different_benchmarks_are_refused(runs, tmp_path, shared):
    other = casewise.judge(shared / "data" / "casebench_subset.json", "constant:safe", out=tmp_path / "other")

    with pytest.raises(BenchmarkError, match="nothing to compare"):
        compare(runs[0])
    with pytest.raises(BenchmarkError, match="different benchmarks"):
        compare(runs[0], other)


def only(run, items):
    """The run's log cut down to these items."""
    log = run.path / "judgements.jsonl"
    lines = [line for line in log.read_text().splitlines() if json.loads(line)["item_id"] in items]
    log.write_text("\n".join(lines) + "\n")


@pytest.mark.slow
def test_items_that_only_one_judge_was_asked_are_named_and_some_have_to_be_common(tmp_path):
    first, second = (
        casewise.judge("demo", name, out=tmp_path / name[9:]) for name in ("constant:safe", "constant:unsafe")
    )
    ids = [item.id for item in first.benchmark.items]
    only(first, set(ids[:60]))
    only(second, set(ids[30:]))
    found = compare(first, second)

    assert found.comparison.n_items == 30
    assert found.as_json()["left_out"] == {
        found.comparison.names[0]: ids[:30],
        found.comparison.names[1]: ids[60:],
    }
    assert sum("Left out" in note for note in found.notes) == 2
    only(first, set(ids[:20]))
    only(second, set(ids[60:]))
    with pytest.raises(StatisticsError, match="no item was asked of all"):
        compare(first, second)


def right(query, _context):
    return ("safe", "unsafe")[int(query[8:-1]) % 2]


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """Judges of sixteen requests, half of which people answer: all are safe, none is (asked of twelve), and one that is right."""
    cases = casewise.load_frame(
        [{"query": f"What is {n}?", "recipient.type": "a nurse", "label": ("safe", "unsafe")[n % 2]} for n in range(16)]
    )
    folder = tmp_path_factory.mktemp("few")

    def judged(name, judge, **more):
        return casewise.judge(cases, judge, out=folder / name, **more)

    return cases, [
        judged("all", "constant:safe"),
        judged("none", "constant:unsafe", options=RunOptions(selection=Selection(limit=12))),
        judged("right", right),
    ]


def test_only_the_items_that_both_judges_were_asked_are_compared_and_the_others_named(few):
    cases, (every, part, _) = few
    found = compare(every, part, benchmark=cases)

    assert found.comparison.n_items == 12
    whole, none = found.as_json()["left_out"].values()
    assert (len(whole), none) == (4, [])
    notes = " ".join(map(str, found.notes))
    assert f"Left out: 4 items that constant:safe (binary) was asked and another was not ({whole[0]}, " in notes
    assert "--unscored exclude" not in notes


def test_two_judges_have_a_conclusion_for_their_pair_and_three_also_which_is_best(few):
    cases, judges = few
    two, three = (compare(*judges[start:], benchmark=cases).numbers for start in (1, 0))

    assert [found.kind for found in two.conclusions] == ["better"]
    assert len(three.conclusions) == 1 + 3
    assert "agrees most with the labels" in three.conclusions[0].sentence
    assert (three.noun, three.nothing_scored) == ("judge", False)


def test_the_sentence_of_three_judges_corrects_the_best_for_having_been_picked(few):
    cases, judges = few
    numbers = compare(*judges, benchmark=cases).numbers

    assert numbers.sentence == join(" ", numbers.sentences)
    assert "Corrected for this choice" in numbers.sentence
    assert "Corrected for" not in compare(*judges[1:], benchmark=cases).numbers.sentence


def test_a_judge_without_verdicts_is_compared_with_none(few, tmp_path):
    cases, (every, _, right) = few
    nothing = Unscored(reason=UnscoredReason.NO_VERDICT, detail="it says nothing")
    silent = casewise.judge(cases, lambda _query, _context: nothing, out=tmp_path / "silent")
    three, two = (compare(*runs, silent, benchmark=cases).numbers for runs in ((every, right), (every,)))

    assert three.comparison.names == ("constant:safe (binary)", "python:right (binary)")
    assert (two.comparison.pairs, two.conclusions, two.comparison.winners) == ((), (), {})
    assert "There is nothing to compare" in two.sentence


def test_arms_of_one_judge_are_called_arms(few, tmp_path):
    cases = few[0]
    both = casewise.judge(cases, right, arms="full none", out=tmp_path / "arms")

    assert compare(both, benchmark=cases).numbers.noun == "arm"


# The gate of two runs.


def gated(cases, run, baseline, max_drop):
    return casewise.gate(run, baseline, max_drop=max_drop, benchmark=cases).numbers


def test_a_gate_holds_a_run_against_a_baseline_on_what_both_were_asked(few):
    cases, (every, _, right) = few
    found = gated(cases, right, every, {"accuracy": 0.05, "harm": 0.05})
    before, after = found.errors[GatedMetric("harm")]

    assert (found.run, found.baseline) == ("python:right (binary)", "constant:safe (binary)")
    assert (found.decision, found.left_out, found.missing, found.unfinished) == ("pass", 0, 0, ())
    assert [str(gated.metric) for gated in found.gate.metrics] == ["accuracy", "harm"]
    assert list(map(str, found.errors)) == ["over_refusal", "harm"]
    assert (before.estimate, after.estimate) == (1.0, 0.0)
    assert (found.unscored_shares, found.nothing_scored, found.notes) == ((0.0, 0.0), False, ())


def test_bounds_are_corrected_for_the_number_of_metrics(few):
    cases, (every, _, right) = few
    alone, beside = (
        gated(cases, right, every, margins).gate.metrics[0]
        for margins in ({"accuracy": 0.05}, {"accuracy": 0.05, "harm": 0.05})
    )

    assert beside.low < alone.low
    assert beside.high == alone.high


def test_a_run_that_lacks_items_of_the_baseline_has_not_finished_and_one_with_more_items_has(few):
    cases, (every, part, right) = few
    fewer, more = gated(cases, part, every, "accuracy=0.05"), gated(cases, right, part, "accuracy=0.5")

    assert (fewer.left_out, fewer.missing, fewer.unfinished, fewer.decision) == (4, 4, (), "inconclusive")
    assert (more.left_out, more.missing, more.decision) == (4, 0, "pass")
    assert (fewer.gate.n_items, more.gate.n_items) == (12, 12)
    assert [str(note) for note in more.notes] == ["Left out: 4 items asked in only one of the two runs."]


def test_the_share_of_items_without_a_verdict_is_that_of_each_run(few, tmp_path):
    cases, (every, *_) = few
    nothing = Unscored(reason=UnscoredReason.NO_VERDICT, detail="it says nothing")
    silent = casewise.judge(
        cases,
        lambda query, context: nothing if query in {"What is 2?", "What is 3?"} else right(query, context),
        out=tmp_path / "silent",
    )
    found = gated(cases, silent, every, "accuracy=0.5")

    assert (found.unscored_shares, found.decision, found.too_many_unscored) == ((0.0, 2 / 16), "inconclusive", True)
    assert [str(note) for note in found.notes] == [
        "Without a verdict: 0 items of the baseline, 2 of the run; each counts as wrong.",
    ]


def test_a_run_that_was_asked_less_often_than_planned_has_not_finished(few, tmp_path):
    cases, (every, *_) = few
    twice = casewise.judge(cases, right, repeats=2, out=tmp_path / "twice")
    assert gated(cases, twice, every, "accuracy=0.5").unfinished == ()
    log = twice.path / "judgements.jsonl"
    log.write_text("".join(line + "\n" for line in log.read_text().splitlines()[:-1]))

    assert gated(cases, twice, every, "accuracy=0.5").unfinished == ("run",)


def test_a_run_that_answered_a_part_of_its_own_plan_has_not_finished(few, tmp_path):
    cases, (every, *_) = few
    cut, rest = (casewise.judge(cases, "constant:safe", out=tmp_path / name) for name in ("cut", "rest"))
    ids = [item.id for item in cases.items]
    only(cut, set(ids[:10]))
    only(rest, set(ids[10:]))

    assert gated(cases, cut, every, "accuracy=0.05").unfinished == ("run",)
    assert gated(cases, cut, cut, "accuracy=0.05").unfinished == ("run", "baseline")
    with pytest.raises(BenchmarkError, match="were asked no item in common"):
        gated(cases, cut, rest, "accuracy=0.05")


@dataclass
class Answers:
    """Answers of a run, of which one needs to know no more here."""

    run: Any
    judge: str = ""
    elicitation: str = "binary"
    arm: str = "full"


def graded(path, *graders) -> list[Any]:
    """The replies in a folder by each policy and grader; without graders a judge's run."""
    kinds: list[Any] = [
        (policy, SimpleNamespace(grader_id=grader)) for grader in graders for policy in ("strict", "lenient")
    ]
    return [
        SimpleNamespace(path=path, policy=policy, behaviour=grader, manifest=SimpleNamespace(judge_name=path))
        for policy, grader in kinds or [("", None)]
    ]


def matched(*runs) -> dict[str, tuple[Any, Any]]:
    every: Any = SimpleNamespace(runs=runs, series=[Answers(run) for run in runs])
    return matching_series(every, same=runs[0].path == runs[-1].path)


def test_replies_are_matched_by_policy_and_by_the_graders_that_graded_both():
    one = matched(*graded("old", "g"), *graded("new", "g", "h"))
    two = matched(*graded("old", "g", "h"), *graded("new", "h", "g"))

    assert list(one) == ["strict", "lenient"]
    assert list(two) == ["strict, by g", "lenient, by g", "strict, by h", "lenient, by h"]
    before, after = two["lenient, by h"]
    assert (before.run.path, after.run.path, before.run.policy, after.run.policy) == (
        "old",
        "new",
        "lenient",
        "lenient",
    )
    assert (before.judge, after.judge) == ("old", "new")
    assert list(matched(*graded("old", "g"), *graded("old", "g"))) == ["strict", "lenient"], "a run beside itself"


def test_replies_cannot_be_compared_with_a_judge_or_another_graders_replies():
    for other in (graded("new"), graded("new", "h")):
        with pytest.raises(ConfigurationError, match="old and new cannot be compared: both have to be judges' runs"):
            matched(*graded("old", "g"), *other)


@pytest.mark.slow
def test_answers_are_compared_that_were_asked_for_alike(runs, tmp_path):
    both, none, bare = (
        casewise.judge("demo", "constant:safe", out=tmp_path / name, arms=arms)
        for name, arms in (("both", "full none"), ("none", "without:recipient none"), ("bare", "none"))
    )

    assert casewise.gate(both, runs[0], max_drop="accuracy=0.05").numbers.run == "constant:safe (binary)"
    with pytest.raises(ConfigurationError, match="the two runs share no elicitation and arm"):
        casewise.gate(none, runs[0], max_drop="accuracy=0.05")
    with pytest.raises(ConfigurationError, match="run both with the same elicitation and arm"):
        casewise.gate(both, both, max_drop="accuracy=0.05")
    notes = casewise.gate(bare, runs[0], max_drop="accuracy=0.05").numbers.notes
    assert any("were asked in different ways" in note for note in notes)


# Items without a verdict.


@pytest.fixture(scope="module")
def gaps(few, tmp_path_factory):
    """A judge that is right but for two requests, on which it gives no verdict."""
    nothing = Unscored(reason=UnscoredReason.NO_VERDICT, detail="it says nothing")

    def gaps(query, context):
        return nothing if query in {"What is 2?", "What is 3?"} else right(query, context)

    return casewise.judge(few[0], gaps, out=tmp_path_factory.mktemp("gaps") / "gaps")


def test_under_exclude_only_items_that_all_scored_are_compared_and_the_others_named(few, gaps):
    cases, (every, _, right_) = few
    exclude, miss = (
        compare(every, right_, gaps, benchmark=cases, options=ReportOptions(unscored=policy)).numbers
        for policy in ("exclude", "miss")
    )
    accuracy = [numbers.comparison.estimates["python:gaps (binary)"][0].estimate for numbers in (exclude, miss)]

    assert (exclude.comparison.n_items, miss.comparison.n_items) == (14, 16)
    assert accuracy == [1.0, 14 / 16]
    notes = [str(note) for note in exclude.notes]
    assert (
        "All numbers are over the 14 items on which every judge gave a verdict or a value (--unscored exclude)."
        in notes
    )
    left_out = [note for note in notes if note.startswith("Left out")]
    ids = exclude.as_json()["left_out"]["constant:safe (binary)"]
    assert left_out == [
        f"Left out: 2 items that {name} (binary) scored and another did not ({ids[0]} and {ids[1]})."
        for name in ("constant:safe", "python:right")
    ]
    assert not [note for note in map(str, miss.notes) if note.startswith(("Left out", "All numbers"))]
    content = exclude.as_json()
    assert (content["unscored_policy"], content["n_items"], content["labels"]) == ("exclude", 14, "votes")
    whole = compare(every, right_, benchmark=cases, options=ReportOptions(unscored="exclude")).numbers
    assert not [note for note in map(str, whole.notes) if "--unscored" in note]


def test_under_exclude_a_gate_is_over_the_items_that_both_scored(few, gaps):
    cases, (*_, right_) = few
    found = casewise.gate(
        gaps,
        right_,
        max_drop="accuracy=0.5",
        max_unscored=2 / 16,
        benchmark=cases,
        options=ReportOptions(unscored="exclude"),
    ).numbers

    assert (found.gate.n_items, found.unscored_shares, found.too_many_unscored) == (14, (0.0, 2 / 16), False)
    assert (found.gate.metrics[0].drop, found.decision) == (0, "pass")
    assert [str(note) for note in found.notes] == [
        "Without a verdict: 0 items of the baseline, 2 of the run; each is left out.",
        "The metrics are over the 14 items on which both gave a verdict or a value.",
    ]


def test_a_gate_of_two_ways_of_asking_says_so(few, tmp_path):
    cases, (every, *_) = few
    blind = casewise.judge(cases, "constant:safe", arms="none", out=tmp_path / "blind")

    assert [str(note) for note in gated(cases, blind, every, "accuracy=0.5").notes] == [
        "The two runs were asked in different ways: constant:safe (binary) and constant:safe (binary, none)."
    ]


def test_a_judge_that_is_right_nowhere_is_behind_one_that_is_right_at_times():
    found = comparison((0.02, 0.2))
    low = replace(found, estimates={"a": (estimate(0.1),), "b": (estimate(0.0),)})

    assert (
        join(" ", sentences_of(low))
        == "a agrees most with people (accuracy 10.0 %). It beats b by 10.0 points [2.0, 20.0]."
    )


def test_pairs_are_concluded_on_by_a_metric_that_all_of_them_have(few):
    cases, judges = few
    numbers = compare(*judges, benchmark=cases).numbers
    auroc = estimate(0.3, 0.2, 0.4, name="auroc")
    first, *others = (replace(pair, differences=(auroc,)) for pair in numbers.comparison.pairs)
    pairs = (replace(first, differences=(estimate(0.1), auroc)), *others)
    mixed = replace(numbers, comparison=replace(numbers.comparison, pairs=pairs))

    assert [found.estimate for found in mixed.conclusions[1:]] == [0.3, 0.3, 0.3]


def test_the_json_of_a_comparison_has_the_exact_test_of_each_pair_with_verdicts(few):
    cases, (every, _, right_) = few
    numbers = compare(every, right_, benchmark=cases).numbers
    (pair,) = numbers.as_json()["pairs"]
    without = replace(numbers.comparison, pairs=(replace(numbers.comparison.pairs[0], test=None),))

    # of sixteen items both are right on the eight safe ones, and the second alone on the others
    assert (pair["first"], pair["exact_test"]["only_first_right"], pair["exact_test"]["only_second_right"]) == (
        *("constant:safe (binary)", 0, 8),
    )
    assert pair["exact_test"]["p_exact"] == pytest.approx(2 * 0.5**8)
    assert "test" not in pair
    assert replace(numbers, comparison=without).as_json()["pairs"][0]["exact_test"] is None


def test_one_judge_alone_is_compared_with_nothing_and_runs_without_a_common_arm_are_not_gated(few, tmp_path):
    cases, (every, *_) = few
    with pytest.raises(BenchmarkError, match=r"nothing to compare constant:safe \(binary\) with"):
        compare(every, benchmark=cases)
    both = casewise.judge(cases, "constant:safe", arms="without:recipient none", out=tmp_path / "both")
    with pytest.raises(ConfigurationError, match="the two runs share no elicitation and arm"):
        gated(cases, both, every, "accuracy=0.05")
