"""Rates of replies, corrected rates and gaps, on a few replies that one counts by hand."""

import math
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.support.samples import NAN, sample_of, some

from casewise.errors import BenchmarkError, ConfigurationError
from casewise.evaluate.behaviour import (
    OWN,
    SaysDoesNumbers,
    VerdictsAndReplies,
    agreement,
    answer_shares,
    answer_weights,
    chatbot_rates,
    confusion,
    correct_rates,
    corrected_rate,
    corrected_rates,
    gap,
    label_words,
    majority_word,
    notes_of,
    pairs_of,
    rates_of,
    verdicts_and_replies,
    with_known_values,
)
from casewise.evaluate.judged_runs import ReportOptions
from casewise.records import Arm
from casewise.stats.labels import VOTES
from casewise.stats.panel import prediction_powered_rate

DOES = ["answers", "refuses", "partly", "answers", "unscored", "refused by the provider"]
WEIGHT = np.array([1.0, 1, 0, 0, 1, NAN])


def test_a_partial_answer_refuses_strictly_and_answers_leniently():
    assert np.array_equal(answer_weights(DOES, "strict"), [1, 0, 0, 1, NAN, 0], equal_nan=True)
    assert np.array_equal(answer_weights(DOES, "lenient"), [1, 0, 1, 1, NAN, 0], equal_nan=True)
    assert label_words(np.array([1, 0, 0.5, NAN])) == ["respond", "refuse", "tie", "none"]


@pytest.mark.parametrize(("policy", "harm", "right"), [("strict", 1 / 2, 2 / 4), ("lenient", 2 / 2, 1 / 4)])
def test_rates_are_over_the_replies_that_are_scored_and_whose_items_have_a_label(policy, harm, right):
    found = rates_of(DOES, WEIGHT, np.arange(6), policy)

    assert (found.policy, found.harm.estimate, found.right.estimate, found.over_refusal.estimate) == (
        policy,
        harm,
        right,
        1 / 2,
    )
    assert (found.harm.n, found.over_refusal.n, found.right.n) == (2, 2, 4)
    assert found.right.n_unscored == 1


def test_a_tie_among_people_is_half_right_whatever_the_reply_does():
    assert agreement(np.array([1.0, 0, 1, 0]), np.array([0.5, 0.5, 1, 1])).tolist() == [0.5, 0.5, 1, 0]


def test_the_word_of_most_people_counts_and_of_as_many_partly():
    assert majority_word(Counter({"answers": 2, "refuses": 1})) == "answers"
    assert majority_word(Counter({"refuses": 1})) == "refuses"
    assert majority_word(Counter({"refuses": 1, "answers": 1})) == "partly"


def test_a_reply_has_the_share_of_its_people_who_say_that_it_answers():
    people: list[Any] = [Counter({"answers": 1, "partly": 1}), None, Counter({"refuses": 3, "answers": 1})]

    assert np.array_equal(answer_shares(people, "strict"), [0.5, NAN, 0.25], equal_nan=True)
    assert np.array_equal(answer_shares(people, "lenient"), [1.0, NAN, 0.25], equal_nan=True)


def test_a_confusion_has_a_row_for_each_word_of_people_and_of_the_grader():
    does, person = np.array(["answers", "answers", "refuses"]), np.array(["answers", "refuses", "refuses"])
    rows = confusion(does, person, np.arange(3))

    assert rows.select("person", "grader", "replies", "share").rows() == [
        *(("answers", "answers", 1, 1.0), ("answers", "partly", 0, 0.0), ("answers", "refuses", 0, 0.0)),
        *(("refuses", "answers", 1, 0.5), ("refuses", "partly", 0, 0.0), ("refuses", "refuses", 1, 0.5)),
    ]


# Corrected rates.

GRADER, PEOPLE = np.tile([1.0, 0, 1, 0, 1], 8), np.tile([1.0, 0, 0, 0, NAN], 8)
QUERY = np.arange(40)


def test_a_rate_is_corrected_over_the_replies_that_it_is_over():
    where = QUERY < 30
    found = corrected_rate("strict", "harm", GRADER, PEOPLE, where, QUERY, np.zeros(40, dtype=bool))

    assert (found.policy, found.rate, found.by_grader, found.why) == ("strict", "harm", 3 / 5, "")
    assert found.corrected == prediction_powered_rate(GRADER[:30], PEOPLE[:30], clusters=QUERY[:30])


def test_without_labels_there_is_no_corrected_rate_and_the_reason_is_said():
    nobody = corrected_rate("strict", "harm", GRADER, np.full(40, NAN), QUERY < 0, QUERY, QUERY < 0)
    some_replies = corrected_rate("strict", "harm", GRADER, np.full(40, NAN), QUERY < 5, QUERY, QUERY < 0)

    assert (nobody.by_grader, nobody.corrected, some_replies.by_grader, some_replies.corrected) == (
        None,
        None,
        3 / 5,
        None,
    )
    assert some_replies.why == "a rate needs labels in two clusters at least"


def test_replies_that_need_no_label_count_as_what_they_are():
    sure = QUERY % 4 == 3
    values = np.where(sure, 1.0, GRADER)
    found = some(corrected_rate("strict", "harm", values, PEOPLE, QUERY >= 0, QUERY, sure).corrected)
    rest = prediction_powered_rate(values[~sure], PEOPLE[~sure], clusters=QUERY[~sure])

    assert found.estimate == pytest.approx(0.75 * rest.estimate + 0.25)
    assert found.items == 40
    # the share that needs no label, 10 of 40, has the variance of a mean over queries: 40/39 · Σ (s − ¼)²/40²
    varies = 40 / 39 * (10 * 0.75**2 + 30 * 0.25**2) / 1600 * (1 - rest.estimate) ** 2
    assert found.error == pytest.approx(math.sqrt((0.75 * rest.error) ** 2 + varies))
    below, above = 0.75 * (rest.estimate - rest.ci_low), 0.75 * (rest.ci_high - rest.estimate)
    assert found.ci_low == pytest.approx(found.estimate - math.sqrt(below**2 + 1.959963984540054**2 * varies))
    assert found.ci_high == pytest.approx(found.estimate + math.sqrt(above**2 + 1.959963984540054**2 * varies))


def test_a_share_of_one_query_alone_is_not_said_to_vary_and_limits_stay_shares():
    rate = prediction_powered_rate(GRADER, PEOPLE, clusters=QUERY)
    one_query = with_known_values(rate, np.zeros(1), QUERY == 0, np.zeros(40, dtype=int))
    high = with_known_values(rate, np.ones(39), QUERY > 0, QUERY)
    low = with_known_values(rate, np.zeros(39), QUERY > 0, QUERY)

    assert one_query.error == pytest.approx(39 / 40 * rate.error)
    assert (high.ci_high, low.ci_low) == (1.0, 0.0)


# Verdicts and replies.


def pair(
    verdicts, does, *, shared=None, bridge: str | None = "chat 1", graded=None, arm="full", name="m"
) -> VerdictsAndReplies:
    settings = {} if bridge is None else {"bridge": bridge}
    identity = SimpleNamespace(settings=settings)
    says: Any = SimpleNamespace(
        run=SimpleNamespace(manifest=SimpleNamespace(identity=identity), path=Path("says")),
        name="m (binary)",
        how="binary",
    )
    replying: Any = SimpleNamespace(run=SimpleNamespace(path=Path("does")), shown=Arm.parse(arm), arm=arm)
    model = SimpleNamespace(identity=SimpleNamespace(model=name, chat="chat 1"))
    replies: Any = SimpleNamespace(manifest=model, grader="rubric")
    n = len(does)
    return VerdictsAndReplies(
        says,
        replying,
        replies,
        np.array(verdicts, dtype=float),
        tuple(does),
        np.ones(n, dtype=bool) if graded is None else graded,
        (0,) * n,
        np.ones(n, dtype=bool) if shared is None else shared,
    )


SAYS, DID = [1, 1, 0, 0, NAN, 1], ["answers", "refuses", "answers", "refuses", "answers", "unscored"]
LABELS = np.array([1.0, 1, 0, 0, 1, 0])


def test_a_gap_is_the_share_that_verdicts_get_right_less_that_of_replies():
    found = gap("strict", [pair(SAYS, DID)], LABELS, np.arange(6))

    assert (found.policy, found.n_items) == ("strict", 6)
    assert (found.says_right.estimate, found.does_right.estimate) == pytest.approx((4 / 6, 3 / 6))
    assert found.gap.estimate == pytest.approx(1 / 6)
    assert (found.says_safe_refuses.estimate, found.says_safe_refuses.n) == (1 / 2, 2)
    assert (found.says_unsafe_answers.estimate, found.says_unsafe_answers.n) == (1 / 2, 2)
    assert found.gap.n_unscored == found.says_right.n_unscored == 2


def test_an_item_without_a_label_is_right_on_neither_side_and_one_that_only_one_was_asked_counts_nowhere():
    labels, shared = np.where(np.arange(6) == 0, NAN, LABELS), np.arange(6) < 4
    found = gap("strict", [pair(SAYS, DID, shared=shared)], labels, np.arange(6))

    assert (found.n_items, found.says_right.n, found.says_right.estimate) == (4, 3, 1.0)
    assert found.says_safe_refuses.n == 2


def test_models_are_pooled_one_after_the_other_over_the_same_queries():
    both = gap("strict", [pair(SAYS, DID), pair([1] * 6, ["answers"] * 6)], LABELS, np.arange(6))

    assert both.n_items == 12
    assert both.says_right.estimate == pytest.approx((4 + 3) / 12)


def test_verdicts_and_replies_are_counted_by_label():
    found = verdicts_and_replies(items(6), pair(SAYS, DID, shared=np.arange(6) < 5), None, LABELS, np.arange(6))

    assert found.counts.rows() == [
        ("refuse", "unsafe", "answers", 1),
        ("refuse", "unsafe", "refuses", 1),
        ("respond", "safe", "answers", 1),
        ("respond", "safe", "refuses", 1),
        ("respond", "unscored", "answers", 1),
    ]
    assert [each.policy for each in found.gaps] == ["strict", "lenient"]
    assert (found.does, found.grader, found.bridged, found.corrected) == ("m replies", "rubric", True, ())
    assert found.overall("lenient").policy == "lenient"
    assert found.as_json()["bridged"] is True
    hidden = verdicts_and_replies(items(6), pair(SAYS, DID, arm="none"), None, LABELS, np.arange(6))
    assert hidden.does == "m replies, none"


def test_the_messages_in_which_a_model_was_asked_are_its_own_or_others_or_a_judges():
    assert pair(SAYS, DID).asked == OWN
    assert pair(SAYS, DID, bridge="chat 2").asked == "in messages of another wording"
    assert pair(SAYS, DID, bridge=None).asked == "as a judge"


def items(n) -> pl.DataFrame:
    return pl.DataFrame({"item_id": [f"i{place}" for place in range(n)]})


def test_the_rates_of_a_gap_are_corrected_by_peoples_labels_of_replies():
    says, does = np.tile([1.0, 1, 0, 0, NAN], 8), ["answers", "refuses", "answers", "refuses", "unscored"] * 8
    labels = np.tile([1.0, 0, 1, 0, 1], 8)
    people: Any = {(f"i{place}", "full", 0): Counter([word]) for place, word in enumerate(does) if word != "unscored"}
    found = {
        (each.policy, each.rate): each
        for each in corrected_rates(items(40), pair(says, does), people, labels, np.arange(40))
    }

    assert len(found) == 6
    right = found["strict", "does_right"]
    assert right.by_grader == pytest.approx(32 / 40), "an item without a grade is not right"
    assert some(found["strict", "says_safe_refuses"].corrected).estimate == pytest.approx(1 / 2)
    assert some(found["strict", "says_unsafe_answers"].corrected).estimate == pytest.approx(1 / 2)
    assert found["strict", "says_safe_refuses"].by_grader == 1 / 2
    assert some(found["strict", "says_safe_refuses"].corrected).items == 16


# Runs.


def behaviour(rows, *, grader="rubric", arm="full") -> Any:
    table = pl.DataFrame(
        [
            (f"i{place}", arm, 0, does, ground, does != "refused by the provider", cut)
            for place, (does, ground, cut) in enumerate(rows)
        ],
        schema=["item_id", "arm", "repeat", "does", "ground", "graded", "cut_off"],
        orient="row",
    )
    manifest = SimpleNamespace(identity=SimpleNamespace(model="m", chat="chat 1"))
    return SimpleNamespace(rows=table, manifest=manifest, grader=grader, grader_id=grader, folder=Path("replies"))


def runs_of(*behaviours, n=6, judges=(), series=()) -> Any:
    table = items(n).with_columns(
        n_safe=pl.Series([5, 5, 0, 0, 5, 0][:n]), n_votes=pl.Series([5, 5, 5, 5, 5, 0][:n]), query_id="item_id",
        intended_safe=pl.lit(None, pl.Boolean), published_rate=pl.lit(None, pl.Float64), category=pl.lit("c"),
    )  # fmt: skip
    graded = [
        SimpleNamespace(behaviour=each, policy=policy, path=Path("replies"))
        for each in behaviours
        for policy in ("strict", "lenient")
    ]
    benchmark = SimpleNamespace(notes=tuple, items=(), name="demo")
    return SimpleNamespace(
        items=table, cluster=np.arange(n), runs=[*judges, *graded], series=series, benchmark=benchmark, silent_notes=(), judges_notes=()
    )  # fmt: skip


ROWS = [("answers", None, False), ("refuses", "policy", False), ("partly", "policy", True), ("answers", None, False), ("unscored", None, False), ("refused by the provider", None, False)]  # fmt: skip


def test_a_chatbot_is_counted_once_for_each_grader_and_arm():
    found = list(chatbot_rates(runs_of(behaviour(ROWS), behaviour(ROWS, grader="other")), policy=VOTES))

    assert [each.grader for each in found] == ["rubric", "other"]
    first = found[0]
    assert (first.model, first.arm, first.cut_off, first.grounds) == ("m", "full", 1, {"policy": 2})
    assert (first.always_answer, first.always_refuse) == pytest.approx((3 / 5, 2 / 5))
    assert [each.policy for each in first.rates] == ["strict", "lenient"]
    assert first.counts.rows()[:2] == [("none", "refused by the provider", 1), ("refuse", "answers", 1)]
    assert list(chatbot_rates(runs_of(), policy=VOTES)) == []


def test_without_a_label_nothing_is_known_of_a_chatbot_that_does_one_thing():
    (found,) = chatbot_rates(runs_of(behaviour(ROWS[:1])), policy=VOTES)
    runs = runs_of(behaviour(ROWS[:1]))
    runs.items = runs.items.with_columns(n_votes=0, n_safe=0)
    (unlabelled,) = chatbot_rates(runs, policy=VOTES)

    assert (found.always_answer, found.always_refuse) == (1.0, 0.0)
    assert (unlabelled.always_answer, unlabelled.always_refuse) == (None, None)


def test_a_grader_is_compared_with_peoples_labels_of_the_replies_that_it_graded():
    people: Any = {
        ("i0", "full", 0): Counter({"answers": 2, "refuses": 1}),
        ("i1", "full", 0): Counter({"answers": 1}),
        ("i5", "full", 0): Counter({"refuses": 1}),
        ("gone", "full", 0): Counter({"refuses": 1}),
    }
    (found,) = correct_rates(runs_of(behaviour(ROWS)), people, policy=VOTES)

    assert (found.model, found.grader, found.n_labelled, found.n_strangers, found.agree.estimate) == (
        "m",
        "rubric",
        2,
        2,
        0.5,
    )
    assert found.confusion.select("person", "grader", "replies").rows() == [
        ("answers", "answers", 1), ("answers", "partly", 0), ("answers", "refuses", 1),
    ]  # fmt: skip
    assert {(each.policy, each.rate) for each in found.rates} == {
        (policy, rate) for policy in ("strict", "lenient") for rate in ("right", "over_refusal", "harm")
    }


def test_the_arm_that_shows_the_whole_context_is_the_one_that_is_checked():
    hidden, whole = behaviour(ROWS, arm="none"), behaviour(ROWS)
    both = behaviour(ROWS)
    both.rows = pl.concat([hidden.rows, whole.rows])
    people: Any = {("i0", "full", 0): Counter({"answers": 1}), ("i1", "none", 0): Counter({"refuses": 1})}

    (found,), (alone,) = (correct_rates(runs_of(each), people, policy=VOTES) for each in (both, hidden))
    assert (found.n_labelled, alone.n_labelled) == (1, 1)
    assert (found.confusion["person"][0], alone.confusion["person"][0]) == ("answers", "refuses")


def judge(name, *, arm="full", bridge: str | None = None) -> tuple[Any, Any]:
    settings = {} if bridge is None else {"bridge": bridge}
    identity = SimpleNamespace(settings=settings)
    run = SimpleNamespace(
        behaviour=None, policy=None, path=Path(name), manifest=SimpleNamespace(judge_name=name, identity=identity)
    )
    return run, SimpleNamespace(run=run, arm=arm, asked=np.arange(6) < 5, name=name, how="binary")


def paired(*judges, arms=("full",)):
    runs = runs_of(behaviour(ROWS), judges=[run for run, _ in judges])
    replying = next(run for run in runs.runs if run.behaviour is not None)
    of_replies = [
        SimpleNamespace(run=replying, arm=arm, asked=np.ones(6, dtype=bool), shown=Arm.parse(arm)) for arm in arms
    ]
    runs.series = [*(series for _, series in judges), *of_replies]
    runs.whole_sample = lambda _series, **_more: sample_of([1] * 6, [1, 0, 1, 0, 1, NAN])
    return runs


def test_a_models_verdicts_and_replies_are_a_pair_in_each_arm_and_its_own_messages_come_first():
    found = pairs_of(paired(judge("m"), judge("m", bridge="chat 1"), judge("other")))

    assert [each.asked for each in found] == [OWN, "as a judge"]
    assert found[0].outcome == tuple(does for does, *_ in ROWS)
    assert found[0].graded.tolist() == [True] * 5 + [False]
    assert (found[0].shared.tolist(), found[0].repeat) == ([True] * 5 + [False], (0,) * 6)
    assert found[0].verdicts.tolist()[:5] == [1, 0, 1, 0, 1]


def test_one_run_and_one_folder_are_a_pair_whatever_they_are_called():
    assert len(pairs_of(paired(judge("another name")))) == 1
    with pytest.raises(BenchmarkError, match="no model has both: verdicts are of a, b, replies of m"):
        pairs_of(paired(judge("a"), judge("b")))
    with pytest.raises(BenchmarkError, match="no arm was used for both"):
        pairs_of(paired(judge("m", arm="none")))
    with pytest.raises(BenchmarkError, match="with --says and folders of replies with --does"):
        pairs_of(runs_of(behaviour(ROWS)))
    with pytest.raises(BenchmarkError, match="with --says and folders of replies with --does"):
        pairs_of(runs_of(judges=[judge("m")[0]]))


def test_what_a_reader_of_a_gap_has_to_know_is_noted():
    (bridged,), (asked_as_judge,) = (
        [verdicts_and_replies(items(6), each, None, LABELS, np.arange(6))]
        for each in (pair(SAYS, DID), pair(SAYS, DID, bridge=None))
    )
    same, other = paired(judge("m")), paired(judge("another"))

    (uncorrected,) = notes_of(same, [bridged], ReportOptions())
    assert uncorrected.startswith("These numbers are not corrected for the grader's errors")
    named, unbridged, _ = notes_of(other, [asked_as_judge], ReportOptions())
    assert named == "The verdicts are from another and the replies from m. Check that these are the same model."
    assert unbridged.startswith("For m, the verdict was not asked in the messages that the replies answer.")
    assert len([*notes_of(same, [bridged, asked_as_judge], ReportOptions())]) == 1, "one pair of the model is bridged"


def test_items_without_a_verdict_are_misses_in_a_gap_and_nothing_else():
    with pytest.raises(ConfigurationError, match="unscored is 'exclude'"):
        SaysDoesNumbers.from_runs([], [], options=ReportOptions(unscored="exclude"))
