import json
import re
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.support import chatbots

import casewise
from casewise.errors import BenchmarkError
from casewise.evaluate.behaviour import confusion, corrected_by_policy, rates_of
from casewise.evaluate.judged_runs import report_options
from casewise.models.protocol import FakeModel

TRUTH = [("answers", "refuses", "partly")[place * 7 % 3] for place in range(90)]


@pytest.fixture(scope="module")
def replies(tmp_path_factory):
    """Replies whose grader takes every partial answer for a whole one."""
    return chatbots.replies(tmp_path_factory.mktemp("replies") / "run", TRUTH, grader=_generous)


def _generous(query, reply):
    return "refuses" if reply.startswith("refuses") else "answers"


def labels(folder, places):
    return chatbots.labelled(folder / "labels.jsonl", TRUTH, places)


def reported(replies, file):
    options: Any = report_options()
    return casewise.report(replies, options=replace(options, grader_labels=file))


@pytest.mark.slow
def test_where_people_labelled_all_the_corrected_rate_is_theirs(replies, tmp_path):
    (found,) = reported(replies, labels(tmp_path, range(90))).numbers.corrected
    strict = {rate.rate: rate for rate in found.rates if rate.policy == "strict"}
    refused = [one != "answers" for one, item in zip(TRUTH, chatbots.DEMO.items, strict=True) if weight(item) == 1]

    assert found.n_labelled == 90
    assert found.agree.estimate == pytest.approx(np.mean([one != "partly" for one in TRUTH]))
    assert strict["over_refusal"].corrected.estimate == pytest.approx(np.mean(refused))
    assert strict["over_refusal"].by_grader < strict["over_refusal"].corrected.estimate


def weight(item):
    safe = [rating.verdict == "safe" for rating in chatbots.DEMO.ratings if rating.item_id == item.id]
    return 1.0 if np.mean(safe) > 0.5 else 0.0 if np.mean(safe) < 0.5 else 0.5


@pytest.mark.slow
def test_the_confusion_says_where_the_grader_is_wrong(replies, tmp_path):
    (found,) = reported(replies, labels(tmp_path, range(60))).numbers.corrected
    counted = {(row["person"], row["grader"]): row["replies"] for row in found.confusion.to_dicts()}

    assert counted[("partly", "answers")] == sum(one == "partly" for one in TRUTH[:60])
    assert counted[("answers", "refuses")] == 0


@pytest.mark.slow
def test_the_confusion_has_shares_of_what_people_say_with_intervals_over_queries(replies, tmp_path):
    report = reported(replies, labels(tmp_path, range(60)))
    (found,) = report.numbers.corrected
    rows = {(row["person"], row["grader"]): row for row in found.confusion.to_dicts()}
    partly, missed = rows["partly", "answers"], rows["answers", "refuses"]
    low, high = found.agree.limits

    assert sum(row["replies"] for row in rows.values()) == 60
    assert (partly["share"], missed["share"]) == (1.0, 0.0)
    assert 0.7 < partly["ci_low"] < partly["ci_high"] == 1.0
    assert 0.0 == missed["ci_low"] < missed["ci_high"] < 0.3
    assert low < found.agree.estimate < high
    assert "| partly | answers | 20 | 100.0 % " in report.to_markdown()
    assert re.search(r"gives people's label to \d+\.\d % \\\[", report.to_markdown())


@pytest.mark.slow
def test_a_confusions_intervals_cover_where_replies_to_a_query_go_together():
    rng, covered = np.random.default_rng(5), 0
    for _ in range(300):
        query = np.repeat(np.arange(60), 2)
        wrong = rng.random(120) < np.repeat(rng.beta(2, 6, 60), 2)
        person = np.where(rng.random(120) < 0.6, "refuses", "answers")
        does = np.where(wrong & (person == "refuses"), "answers", person)
        (row,) = [
            one for one in confusion(does, person, query).to_dicts() if one["person"] != one["grader"] == "answers"
        ]
        covered += row["ci_low"] <= 0.25 <= row["ci_high"]

    assert 0.91 <= covered / 300 <= 0.985


@pytest.mark.slow
def test_labels_of_other_replies_are_counted_and_left_out(replies, tmp_path):
    file = labels(tmp_path, range(40))
    file.write_text(file.read_text() + '{"item_id": "i_stranger", "label": "answers"}\n')
    (found,) = reported(replies, file).numbers.corrected

    assert (found.n_labelled, found.n_strangers) == (40, 1)


@pytest.mark.slow
def test_too_few_labels_say_so(replies, tmp_path):
    (found,) = reported(replies, labels(tmp_path, [0])).numbers.corrected

    assert all(rate.corrected is None and "two clusters" in rate.why for rate in found.rates)


@pytest.mark.slow
def test_the_page_shows_the_check_and_does_not_call_the_grader_unmeasured(replies, tmp_path):
    report = reported(replies, labels(tmp_path, range(60)))

    assert "Grader compared with people" in report.to_markdown()
    (strict, *_) = [rate.corrected for rate in report.numbers.corrected[0].rates if rate.rate == "right"]
    first = report.to_markdown().partition("## Replies by label")[0]
    assert "Corrected by people's labels of 60 replies, " in first
    assert f"{strict.estimate:.1%}".replace("%", " % \\[") in first
    assert "The grader is not checked" not in report.to_markdown()
    assert "The grader is not checked" in casewise.report(replies).to_markdown()
    assert json.loads(json.dumps(report.as_json()))["corrected"][0]["n_labelled"] == 60


@pytest.mark.slow
@pytest.mark.parametrize("n_labels", [50, 100, 300])
def test_a_biased_graders_rate_is_corrected_and_its_interval_covers(n_labels):
    rng = np.random.default_rng(n_labels)
    covered, off = 0, []
    for _ in range(200):
        truth = rng.random(900) < 0.3
        query = np.repeat(np.arange(450), 2)
        does = np.where(
            truth & (rng.random(900) < 0.8), "refuses", np.where(rng.random(900) < 0.05, "refuses", "answers")
        )
        said: list[Any] = [None] * 900
        for place in rng.choice(900, n_labels, replace=False):
            said[place] = Counter(["refuses" if truth[place] else "answers"])
        found: Any = next(
            rate
            for rate in corrected_by_policy(does.tolist(), said, np.ones(900), query, np.zeros(900, dtype=bool))
            if rate.rate == "over_refusal"
        )
        covered += found.corrected.ci_low <= 0.3 <= found.corrected.ci_high
        off.append(found.corrected.estimate - 0.3)

    assert 0.915 <= covered / 200 <= 0.99
    assert abs(np.mean(off)) < 4 * np.std(off) / np.sqrt(200)


@pytest.mark.slow
def test_replies_that_keywords_alone_graded_are_not_reported_without_labels(replies, tmp_path):
    found = casewise.collect("demo", FakeModel("Here is how."), out=tmp_path / "run")
    casewise.grade(found, "keywords")
    with pytest.raises(BenchmarkError, match="graded by keywords alone, a baseline"):
        casewise.report(found.path)

    assert reported(found.path, labels(tmp_path, range(30))).numbers.corrected
    casewise.grade(found, _generous)
    assert "keywords is a baseline" in casewise.report(found.path).to_markdown()


def declining(path, places):
    """The replies of a folder, of which some were refused by the provider."""
    lines = [json.loads(line) for line in (path / "replies.jsonl").read_text().splitlines()]
    for place in places:
        lines[place] = lines[place] | {"unanswered": "content_filter"}
        for name in ("text", "text_digest", "finish_reason"):
            lines[place].pop(name, None)
    (path / "replies.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.slow
def test_a_corrected_rate_is_over_the_replies_that_the_rate_itself_is_over(tmp_path):
    """Refusals of the provider have no words to be labelled; they count as refusals in both."""
    path = declining(chatbots.collected(tmp_path / "run", TRUTH), range(9))
    casewise.grade(path, lambda _query, reply: reply.split()[0])
    report = reported(path, labels(tmp_path, range(9, 90)))

    for policy in ("strict", "lenient"):
        main = next(rates for rates in report.numbers.does[0].rates if rates.policy == policy)
        by_name = {rate.rate: rate for rate in report.numbers.corrected[0].rates if rate.policy == policy}
        for name in ("right", "over_refusal", "harm"):
            alone: Any = getattr(main, name)
            assert by_name[name].by_grader == pytest.approx(alone.estimate)
            assert by_name[name].corrected.estimate == pytest.approx(alone.estimate)  # the grader is right on all
            assert by_name[name].corrected.ci_low <= alone.estimate <= by_name[name].corrected.ci_high


def test_of_a_tie_among_people_neither_rate_says_anything():
    does, query = ["refuses", "answers"] * 20, np.arange(40)
    weight = np.array([0.5, 0.5, 1.0, 0.0] * 10)
    said: list[Any] = [Counter([one]) for one in does]
    main = rates_of(does, weight, query, "strict")
    checked: Any = {
        rate.rate: rate
        for rate in corrected_by_policy(does, said, weight, query, np.zeros(40, dtype=bool))
        if rate.policy == "strict"
    }

    assert (main.over_refusal.estimate, main.harm.estimate) == (1.0, 1.0)
    assert (main.over_refusal.n, main.harm.n) == (10, 10)
    for name in ("right", "over_refusal", "harm"):
        assert checked[name].by_grader == pytest.approx(getattr(main, name).estimate)


@pytest.mark.slow
def test_a_rate_with_replies_that_need_no_label_covers():
    rng = np.random.default_rng(11)
    covered = 0
    for _ in range(300):
        sure = rng.random(300) < 0.2
        truth = sure | (rng.random(300) < 0.25)
        grader = np.where(sure, truth, np.where(truth, rng.random(300) < 0.7, rng.random(300) < 0.05))
        said: list[Any] = [None] * 300
        for place in rng.choice(np.flatnonzero(~sure), 60, replace=False):
            said[place] = Counter(["refuses" if truth[place] else "answers"])
        does = np.where(grader, "refuses", "answers").tolist()
        every: Any = corrected_by_policy(does, said, np.ones(300), np.arange(300), sure)
        found = next(rate for rate in every if rate.rate == "over_refusal").corrected
        covered += found.ci_low <= 0.2 + 0.8 * 0.25 <= found.ci_high

    assert 0.925 <= covered / 300 <= 0.995
