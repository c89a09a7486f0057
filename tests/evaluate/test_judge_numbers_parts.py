"""The tables and lists of a report, on twelve items whose votes and verdicts are written down."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.support.samples import NAN, sample_of, some
from tests.support.worlds import CATEGORIES, World, always

import casewise
from casewise.api import RunOptions
from casewise.errors import BenchmarkError, DataError
from casewise.evaluate.judge_numbers import (
    JudgeNumbers,
    by_cluster,
    check_graders,
    distances,
    is_wrong,
    metric_table,
    misjudged_items,
    notes_of,
    reported_labels,
    risks_of,
    tally,
    wordings_of,
)
from casewise.evaluate.judged_runs import ReportOptions, read_runs
from casewise.judges.plan import Selection, ablation_arms
from casewise.records import FULL, NO_CONTEXT, Arm
from casewise.stats.estimates import ONE_CLUSTER, ONE_QUERY, STUDENT, Estimate
from casewise.stats.labels import PUBLISHED, VOTES
from casewise.storage.benchmark import Published

VOTED = ("sssss", "uuuuu", "ssssu", "suuuu", "su", ".") * 2
"""Clear, split, a tie and none, twice: queries 0 to 5, two of each category."""

WORLD = World(
    "parts",
    VOTED,
    {
        "good": ("s", "u", "s", "u", "s", "s") * 2,
        "bold": always("s", 12),
        "half": ("s", "?", "?", "?", "?", "?") * 2,
        "again": ("su", "uu", "ss", "uu", "ss", "ss") * 2,
    },
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return WORLD.runs(tmp_path_factory.mktemp("parts"))


@pytest.fixture(scope="module")
def runs(folders):
    return read_runs([*folders.values()], benchmark=WORLD.benchmark)


@pytest.fixture(scope="module")
def numbers(folders) -> JudgeNumbers:
    return JudgeNumbers.from_runs(
        [*folders.values()], benchmark=WORLD.benchmark, options=ReportOptions(disagreements=3)
    )


def series_of(runs, name):
    return next(series for series in runs.series if series.judge == name)


# Tables.


def test_each_series_has_a_row_a_metric_under_every_policy(runs):
    table = metric_table(runs, ReportOptions(), (VOTES, PUBLISHED))
    accuracy = table.filter(pl.col("metric") == "accuracy", pl.col("judge") == "bold")

    assert accuracy.select("elicitation", "arm", "slice", "label_policy", "unscored_policy").rows() == [
        ("binary", "full", "all", "votes", "miss"),
        ("binary", "full", "all", "published", "miss"),
    ]
    assert accuracy["estimate"].to_list() == pytest.approx([(4 + 0 + 1) / 10, 6 / 12])
    assert accuracy["n"].to_list() == [10, 12]


def test_each_category_has_its_own_metrics_over_its_own_items(runs):
    table = metric_table(runs, ReportOptions(), [VOTES], column="category")
    rows = (
        table.filter(pl.col("metric") == "accuracy", pl.col("judge") == "good").select("slice", "estimate", "n").rows()
    )

    assert rows == [(CATEGORIES[0], 1.0, 4), (CATEGORIES[1], 1.0, 4), (CATEGORIES[2], 0.5, 2)]
    assert set(table["metric"]) == {"accuracy", "recall_safe", "recall_unsafe", "unscored_rate"}


def test_one_query_is_one_cluster_where_intervals_are_over_another_column():
    alone, many = (Estimate("accuracy", 0.5, None, None, 4, 0, method) for method in (ONE_QUERY, STUDENT))

    assert by_cluster(alone, "category").method == ONE_CLUSTER
    assert by_cluster(alone, None) == alone
    assert by_cluster(many, "category") == many


def test_reasons_and_readings_are_counted_by_series(runs):
    table = tally(((series, series.reasons) for series in runs.series), "reason", n="items")

    assert table.rows() == [("half", "binary", "full", "unparsed", 10)]
    assert table.schema["items"] == pl.Int64


# A report.


def test_a_judge_with_too_few_verdicts_has_metrics_and_no_agreement(numbers):
    assert "half" in numbers.metrics["judge"].to_list()
    assert set(numbers.agreement["judge"]) == {"good", "bold", "again"}
    assert set(numbers.baseline_comparisons) == {"good (binary)", "bold (binary)", "again (binary)"}
    assert [answer.judge for answer in numbers.answers] == ["good (binary)", "bold (binary)", "again (binary)"]
    assert set(numbers.error_groups) == {"good (binary)", "bold (binary)", "again (binary)"}
    assert numbers.labelled
    assert {(score.judge, score.subset) for score in numbers.subsets} == {
        (f"{judge} (binary)", subset) for judge in WORLD.judges for subset in ("clear", "close")
    }


def test_the_details_of_a_series_are_what_its_answers_allow(numbers):
    good, _, half, again = numbers.details

    assert (good.together, good.noise, good.error_sources, good.calibration) == (None, None, None, None)
    assert (some(some(again.together).estimate), some(again.noise).n_items) == (pytest.approx(7 / 10), 12)
    assert again.error_sources is not None
    assert some(good.pairs).counts.pairs == 6
    assert some(half.refusals).at.n_safe == 4
    assert good.as_json()["judge"] == "good"
    assert "series" not in good.as_json()


def test_an_answer_has_the_numbers_of_its_judge(numbers):
    good, bold, again = numbers.answers

    assert good.together is None
    assert (again.together[0], good.unscored.estimate) == ("majority of its 2 answers (a tie is unsafe)", 0)
    assert (some(bold.errors).harm.estimate, some(bold.errors).over_refusal.estimate) == (1.0, 0.0)
    assert some(bold.not_worse).judge == pytest.approx(some(some(bold.against_others).estimate))
    assert some(bold.person).estimate == pytest.approx(some(bold.not_worse).person)


def test_items_without_a_label_leave_no_answer_to_give(folders):
    unlabelled = World("parts", (".",) * 12, WORLD.judges)
    runs = replace(read_runs([folders["good"]], benchmark=WORLD.benchmark), items=unlabelled.benchmark.item_columns)
    numbers = replace(JudgeNumbers.from_runs([folders["good"]], benchmark=WORLD.benchmark), runs=runs)

    assert (numbers.labelled, numbers.baseline_comparisons, numbers.answers) == (False, {}, ())


def test_the_json_of_a_report_has_each_part_under_its_name(numbers):
    content = numbers.as_json()

    assert set(content["baselines"]) == {"good (binary)", "bold (binary)", "again (binary)"}
    assert list(content["distributions"]["judges"]) == [
        "good (binary)",
        "bold (binary)",
        "again (binary)",
    ]
    assert (content["labels"], content["unscored_policy"], content["items"], content["seed"]) == (
        "votes",
        "miss",
        None,
        0,
    )
    assert (content["benchmark"]["name"], content["benchmark"]["items"]) == ("parts", 12)
    assert "does" not in content
    assert "actions" not in content


def test_the_labels_of_the_last_report_of_a_run_are_read_from_its_folder(numbers, tmp_path):
    assert reported_labels(tmp_path) is None
    numbers.write_metrics(tmp_path)
    assert reported_labels(tmp_path) == "votes"
    (tmp_path / "metrics.json").write_text("[]")
    assert reported_labels(tmp_path) is None
    (tmp_path / "metrics.json").write_text("{")
    with pytest.raises(DataError, match=r"metrics\.json: cannot be read"):
        reported_labels(tmp_path)


# Items that were misjudged.


def test_a_verdict_is_wrong_where_it_is_not_the_label_and_there_are_both():
    safe, weight = np.array([1, 0, 1, 0, 1, NAN, 1]), np.array([1, 1, 0, 0, 0.5, 1, NAN])

    assert is_wrong(safe, weight).tolist() == [False, True, True, False, False, False, False]


def test_the_furthest_from_people_come_first(numbers, runs):
    bold = [item for item in numbers.disagreements if item.judge == "bold (binary)"]

    assert [(item.distance, item.value, item.elicitation, item.reply) for item in bold] == [
        *((1.0, 1.0, "binary", None), (1.0, 1.0, "binary", None), (0.8, 1.0, "binary", None)),
    ]
    assert [item.case.item_id for item in bold] == [WORLD.benchmark.items[place].id for place in (1, 7, 3)]
    assert [item for item in numbers.disagreements if item.judge == "good (binary)"] == []
    assert bold[0].as_json()["distance"] == 1.0
    assert "reply" not in bold[0].as_json()
    assert distances(runs, series_of(runs, "bold"), VOTES).tolist() == [-1, 1, -1, pytest.approx(0.8), -1, -1] * 2


def test_a_misjudged_reply_is_shown_where_that_is_wanted(runs):
    ids = [item.id for item in WORLD.benchmark.items]
    behaviour = SimpleNamespace(texts={("full", ids[1]): "Sure."})
    series = series_of(runs, "bold")
    replies = replace(series, run=SimpleNamespace(behaviour=behaviour, manifest=series.run.manifest))

    def first_two(of_series, *, with_replies):
        options = ReportOptions(disagreements=2, with_replies=with_replies)
        found = misjudged_items(replace(runs, series=(of_series,)), options)
        return [(item.case.item_id, item.of_replies, item.reply) for item in found]

    assert first_two(replies, with_replies=True) == [(ids[1], True, "Sure."), (ids[7], True, None)]
    assert first_two(replies, with_replies=False) == [(ids[1], True, None), (ids[7], True, None)]
    assert first_two(series, with_replies=True) == [(ids[1], False, None), (ids[7], False, None)]


def test_a_probability_is_as_far_from_people_as_it_says(tmp_path):
    guessed = World(
        "guessed", ("ssssu", "uuuuu"), {"a": ("l", "h")}, elicitation="probability", values={"h": 0.9, "l": 0.3}
    )
    runs = read_runs([*guessed.runs(tmp_path).values()], benchmark=guessed.benchmark)

    assert distances(runs, runs.series[0], VOTES).tolist() == pytest.approx([0.5, 0.9])


def test_an_error_can_be_made_on_items_of_the_other_label_that_have_a_verdict():
    sample = sample_of([1, 0, 0.5, 1, 0, NAN], [0, 1, 1, NAN, 0, 1])
    series: Any = SimpleNamespace(asked=np.array([True, True, False, True, True, True, True]))
    harm, over_refusal = risks_of(sample, series)

    assert (harm.kind, harm.places.tolist(), harm.error.tolist()) == ("harm", [1, 5], [True, False])
    assert (over_refusal.kind, over_refusal.places.tolist(), over_refusal.error.tolist()) == (
        "over_refusal",
        [0],
        [True],
    )


def test_failures_are_items_with_a_label_that_were_decided_otherwise_or_not_at_all(numbers):
    rows = numbers.failures
    of_half = rows.filter(pl.col("judge") == "half (binary)")

    assert rows.filter(pl.col("judge") == "good (binary)").is_empty()
    assert (
        rows.filter(pl.col("judge") == "bold (binary)").select("verdict", "value", "people_say").rows()
        == [("safe", 1.0, "unsafe")] * 4
    )
    assert (
        of_half.select("verdict", "value", "people_say").rows()
        == [
            *((None, None, "unsafe"), (None, None, "safe"), (None, None, "unsafe"), (None, None, "tie")),
        ]
        * 2
    )
    assert of_half.row(0, named=True)["n_votes"] == 5
    assert of_half.columns[-7:] == ["verdict", "value", "people_say", "n_safe", "n_votes", "category", "item_id"]


# Notes.


def test_a_reader_is_told_of_how_many_items_and_of_which_arms_numbers_are(tmp_path):
    def judge(query, context):
        return "safe"

    few = casewise.judge(
        WORLD.benchmark, judge, arms=(FULL, NO_CONTEXT), out=tmp_path / "few",
        options=RunOptions(selection=Selection(limit=4)),
    )  # fmt: skip
    notes = JudgeNumbers.from_runs([few], benchmark=WORLD.benchmark).notes

    assert "python:judge (binary) was asked 4 of 12 items; its numbers are over those." in notes
    assert any(
        note.startswith("These arms do not show the whole context") and "python:judge (binary, none)" in note
        for note in notes
    )


def test_arms_under_attack_are_left_out_and_counted(tmp_path):
    run = casewise.attack(WORLD.benchmark, "constant:safe", attacks="claim:authority/user/safe", noise="none")
    numbers = JudgeNumbers.from_runs([run], benchmark=WORLD.benchmark)

    assert [series.arm for series in numbers.runs.series] == ["full"]
    assert numbers.notes[-1] == "Left out here: 1 arm with an attack or a defence; see casewise robustness."


@pytest.mark.parametrize(
    ("graders", "refused"), [(["keywords@1"], True), (["keywords@1", "rubric@1"], False), ([], False)]
)
def test_replies_that_keywords_alone_graded_are_not_reported(graders, refused):
    graded = [
        SimpleNamespace(behaviour=SimpleNamespace(folder="a folder", grader_id=grader), policy="strict")
        for grader in graders
    ]
    runs: Any = SimpleNamespace(runs=graded)

    if refused:
        with pytest.raises(
            BenchmarkError, match=r"a folder was graded by keywords alone.*grade 'a folder' --grader rubric"
        ):
            check_graders(runs)
    else:
        check_graders(runs)


# Parts of the context.


def nurses(query, context):
    """Safe where the recipient is shown to be a nurse, as in every context that is intended safe."""
    return "safe" if context.get("recipient", {}).get("type") == "nurse" else "unsafe"


CLEARLY = World("clearly", ("sssss", "uuuuu") * 4, {})


def arms_of(tmp_path, arms, judge=nurses):
    run = casewise.judge(CLEARLY.benchmark, judge, arms=arms, out=tmp_path / "run", elicitations="binary")
    table = JudgeNumbers.from_runs([run], benchmark=CLEARLY.benchmark).arms
    return {
        (row["worth"], row["part"]): row["estimate"]
        for row in table.filter(pl.col("metric") == "recall_safe").iter_rows(named=True)
    }


@pytest.mark.slow
def test_what_a_group_is_worth_follows_from_the_arms_without_it(tmp_path):
    found = arms_of(tmp_path, ablation_arms("groups"))

    left_out = {part: worth for (kind, part), worth in found.items() if kind == "left out"}
    assert {*[*left_out][:3]} == {"sender", "recipient", "transmission_principle"}, "the fewest parts first"
    assert left_out["the whole context"] == left_out["recipient"] == 1.0
    assert left_out["sender"] == left_out["sender, transmission_principle"] == 0.0
    assert {part: worth for (kind, part), worth in found.items() if kind == "shapley"} == {
        "recipient": 1.0, "sender": 0.0, "transmission_principle": 0.0,
    }  # fmt: skip


@pytest.mark.slow
def test_without_all_subsets_or_without_the_whole_context_there_is_less_to_say(tmp_path):
    some_arms = arms_of(tmp_path / "some", (FULL, Arm.without("recipient"), NO_CONTEXT))
    hidden = arms_of(tmp_path / "hidden", (Arm.without("recipient"), NO_CONTEXT))

    assert list(some_arms) == [("left out", "recipient"), ("left out", "the whole context")]
    assert (hidden, arms_of(tmp_path / "one", (FULL,))) == ({}, {})


# Wordings of a prompt.


def test_wordings_of_one_judge_are_compared_on_the_items_that_all_were_asked(runs, numbers):
    def in_wording(name, wording, series, asked):
        manifest = SimpleNamespace(judge_name="J", wordings={"binary": wording})
        return replace(series, run=SimpleNamespace(manifest=manifest, behaviour=None, wording=name), asked=asked)

    good, bold = series_of(runs, "good"), series_of(runs, "bold")
    first_half = np.arange(12) < 10
    both = replace(runs, series=(in_wording("a", "1", good, first_half), in_wording("b", "2", bold, good.asked)))
    (found,) = wordings_of(both, ReportOptions())
    (reported,) = replace(numbers, runs=both).wordings

    assert (reported.name, reported.accuracies, numbers.wordings) == (found.name, found.accuracies, ())
    assert (found.name, found.wordings) == ("J (binary)", ("a (1)", "b (2)"))
    assert [accuracy.n for accuracy in found.accuracies] == [9, 9]
    assert [accuracy.estimate for accuracy in found.accuracies] == pytest.approx([8.5 / 9, 4.5 / 9])
    apart = replace(both, series=(both.series[0], replace(both.series[1], asked=~first_half)))
    assert list(wordings_of(apart, ReportOptions())) == []
    assert list(wordings_of(replace(both, series=both.series[:1]), ReportOptions())) == []


# Which series an answer is about, and what it is compared with.


def test_baselines_are_measured_over_the_clusters_that_intervals_are_over_and_hold_out_queries(folders, numbers):
    by_category = JudgeNumbers.from_runs(
        [folders["good"]], benchmark=WORLD.benchmark, options=ReportOptions(cluster="category")
    )
    subject, plain = by_category.reference_scores.subject, numbers.reference_scores.subject

    def groups(codes):
        return [[*dict.fromkeys(codes)].index(code) for code in codes]

    by_query = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert [groups(codes) for codes in (subject.query, plain.query, plain.cluster)] == [by_query] * 3
    assert groups(subject.cluster) == [0, 0, 1, 1, 2, 2] * 2
    assert plain.clustered is None
    assert plain.numbered is not None, "the queries are numbered once"


def test_a_judge_without_some_verdicts_is_compared_and_one_without_any_is_not(tmp_path):
    some_verdicts = World("some", ("sss", "uuu", "sss", "uuu"), {"three": ("s", "u", "s", "?"), "none": always("?", 4)})
    numbers = JudgeNumbers.from_runs([*some_verdicts.runs(tmp_path).values()], benchmark=some_verdicts.benchmark)

    assert [answer.judge for answer in numbers.answers] == ["three (binary)"]
    (three,) = numbers.answers
    assert (three.unscored.estimate, three.comparison.judge["accuracy"].estimate) == (0.25, 0.75)
    assert numbers.agreement["judge"].unique().to_list() == ["three"]


def test_labels_that_no_people_gave_compare_a_judge_with_no_person(tmp_path):
    author = World("author", ("s", "u") * 4, {"good": ("s", "u") * 4}, labels_by="author", people="anonymous")
    (answer,) = JudgeNumbers.from_runs([*author.runs(tmp_path).values()], benchmark=author.benchmark).answers

    assert (answer.person, answer.against_others, answer.not_worse) == (None, None, None)
    assert answer.comparison.judge["accuracy"].estimate == 1


@pytest.mark.parametrize(
    ("votes", "answers", "labelled", "can_disagree"),
    [
        (("ss", "uu"), ("s", "u"), True, True),
        (("su", "ss"), ("s", "?"), True, False),  # the one verdict is on a tie
        (("su", "."), ("s", "u"), True, False),
        ((".", "."), ("s", "u"), False, False),
        (("ss", "."), ("?", "s"), True, False),
    ],
)
def test_only_an_item_with_a_verdict_and_a_label_that_is_no_tie_can_be_disagreed_on(
    numbers, tmp_path, votes, answers, labelled, can_disagree
):
    world = World("few", votes, {"a": answers})
    few = replace(numbers, runs=read_runs([*world.runs(tmp_path).values()], benchmark=world.benchmark))

    assert (few.labelled, few.can_disagree) == (labelled, can_disagree)


def test_peoples_labels_of_replies_correct_the_graders_where_they_are_given(numbers, monkeypatch, tmp_path):
    given: dict[str, Any] = {}

    def correct(runs, by_reply, *, policy):
        given.update(runs=runs, by_reply=by_reply, policy=policy)
        return iter(["corrected"])

    monkeypatch.setattr("casewise.evaluate.judge_numbers.correct_rates", correct)
    monkeypatch.setattr("casewise.evaluate.judge_numbers.read_reply_labels", lambda path: {"read": path})
    of_people = replace(numbers, options=replace(numbers.options, grader_labels=tmp_path))

    assert (numbers.corrected, given) == ((), {})
    assert of_people.corrected == ("corrected",)
    assert given == {"runs": numbers.runs, "by_reply": {"read": tmp_path}, "policy": VOTES}


def test_a_reader_is_told_of_calls_at_a_provider_fitted_thresholds_and_versions(runs, monkeypatch):
    def job(*names, unsettled):
        return SimpleNamespace(unsettled=unsettled, intended=SimpleNamespace(names=names))

    logs = {
        "good": {"1": job("a", "b", unsettled=True), "2": job("c", unsettled=False), "3": job("d", unsettled=True)},
        "bold": {"4": job("e", unsettled=False)},
    }
    monkeypatch.setattr(
        "casewise.evaluate.judge_numbers.JobLog.read", lambda path: SimpleNamespace(jobs=logs.get(path.name, {}))
    )
    good, bold = series_of(runs, "good"), series_of(runs, "bold")
    asked = replace(runs, series=(replace(good, versions=("v1", "v2")), replace(bold, versions=("v1",))))
    scalar = replace(runs, series=(replace(good, elicitation="scalar"),))

    notes = notes_of(asked, ReportOptions())
    assert [note for note in notes if "at the provider" in note] == [
        (
            "good is not complete: 3 calls are still at the provider, and these numbers are over the other calls. "
            "To collect them, repeat the command that submitted them."
        )
    ]
    assert [note for note in notes if "version" in note] == [
        "good (binary): the model's version changed within the run (v1, v2)."
    ]
    assert not [note for note in notes if "was asked" in note or "fitted" in note]
    fitted = [str(note) for note in notes_of(scalar, ReportOptions(fit_thresholds=True))]
    assert [note.split(": ", 1)[1] for note in fitted if "fitted" in note] == [
        "verdicts by thresholds fitted on other queries, for the fewest errors there."
    ]
    assert not [note for note in notes_of(scalar, ReportOptions()) if "fitted" in note]


def test_the_policy_of_a_published_file_has_its_own_rows_where_the_benchmark_came_from_one(numbers, folders):
    about = WORLD.benchmark.about.model_copy(
        update={"published": Published(file="f.json", rates_count_intent=False, votes_hold_intent=False)}
    )
    released = JudgeNumbers.from_runs([folders["good"]], benchmark=replace(WORLD.benchmark, about=about))

    assert numbers.metrics["label_policy"].unique().to_list() == ["votes"]
    assert released.metrics["label_policy"].unique(maintain_order=True).to_list() == ["votes", "published"]
    assert released.categories["label_policy"].unique().to_list() == ["votes"]
