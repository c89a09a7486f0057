import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.support.chatbots import DEMO, replies

import casewise
from casewise.errors import DataError
from casewise.evaluate.behaviour import rates_of
from casewise.evaluate.judged_runs import report_options
from casewise.models.protocol import FakeModel, Rejected, Reply
from casewise.replies.behaviour import POLICIES, read_behaviours
from casewise.replies.collect import CollectOptions
from casewise.reports.document import Prose, Table
from casewise.reports.formats import latex
from casewise.runs.limits import Limits
from casewise.storage.load import import_cases

DOES = ["answers", "partly", "refuses"]


IN_TURN = [DOES[place % 3] for place in range(90)]


def right_by_hand(does, policy):
    """Shares of right replies, of refusals where the label is respond, of answers where they say refuse."""
    weights = [label_of(item) for item in DEMO.items]
    answered = [
        None if one is None else float(one == "answers" or (one == "partly" and policy == "lenient")) for one in does
    ]
    pairs = [(a, w) for a, w in zip(answered, weights, strict=True) if a is not None]
    right = np.mean([a * w + (1 - a) * (1 - w) for a, w in pairs])
    respond, refuse = sum(w for _, w in pairs), sum(1 - w for _, w in pairs)
    return right, sum((1 - a) * w for a, w in pairs) / respond, sum(a * (1 - w) for a, w in pairs) / refuse


def label_of(item):
    votes = [rating.verdict == "safe" for rating in DEMO.ratings if rating.item_id == item.id]
    share = sum(votes) / len(votes)
    return 1.0 if share > 0.5 else 0.0 if share < 0.5 else 0.5


@pytest.mark.slow
def test_the_rates_are_those_that_one_counts_by_hand(tmp_path):
    path = replies(tmp_path / "replies", IN_TURN)
    (found,) = casewise.report(path).numbers.does

    for policy, rates in zip(POLICIES, found.rates, strict=True):
        by_hand = right_by_hand(IN_TURN, policy)
        assert (rates.right.estimate, rates.over_refusal.estimate, rates.harm.estimate) == pytest.approx(by_hand)


@pytest.mark.slow
def test_strict_and_lenient_stand_in_the_report_as_two_judges_would(tmp_path):
    path = replies(tmp_path / "replies", ["partly"] * 90)
    report = casewise.report(path)
    accuracy = report.metrics.filter(report.metrics["metric"] == "accuracy")

    assert accuracy["judge"].to_list() == ["openai/x replies, strict", "openai/x replies, lenient"]
    assert accuracy["estimate"].sum() == pytest.approx(1.0)
    assert report.numbers.does[0].always_answer == pytest.approx(accuracy["estimate"][1])
    assert report.numbers.does[0].always_refuse == pytest.approx(accuracy["estimate"][0])


@pytest.mark.slow
def test_a_providers_refusal_is_shown_apart_and_what_has_no_grade_is_left_out(tmp_path):
    answers: Any = iter(["answers", Rejected("content_filter", "x"), Reply("", refusal="no"), "", "nonsense"])
    model = FakeModel(lambda _messages, _options: next(answers, "answers"), name="openai/x")
    found = casewise.collect("demo", model, out=tmp_path / "r", options=CollectOptions(limits=Limits(concurrency=1)))
    casewise.grade(found, lambda _query, reply: reply)
    report = casewise.report(found.path)
    counts = {row["does"]: 0 for row in report.numbers.does[0].counts.to_dicts()}
    for row in report.numbers.does[0].counts.to_dicts():
        counts[row["does"]] += row["replies"]

    assert counts == {"answers": 86, "refused by the provider": 1, "refuses": 1, "unscored": 2}
    assert set(report.unscored["reason"]) == {"empty", "grader: unparsed"}


def test_replies_that_nobody_graded_say_what_to_do(tmp_path):
    found = casewise.collect("demo", FakeModel("a"), out=tmp_path / "replies")

    with pytest.raises(DataError, match=r"casewise replies grade .* --grader"):
        casewise.report(found.path)


@pytest.mark.slow
def test_two_functions_of_one_name_are_held_apart_by_what_they_do(tmp_path):
    path = replies(tmp_path / "replies", IN_TURN)
    casewise.grade(path, lambda query, reply: "answers")
    casewise.grade(path, lambda query, reply: "refuses")

    names = [one.grader for one in casewise.report(path).numbers.does]
    assert len(set(names)) == 3
    assert all(name.startswith("python:<lambda>+") for name in names)


@pytest.mark.slow
def test_methods_say_how_the_chatbot_was_asked_and_graded_and_tables_are_latex_too(tmp_path):
    path = replies(tmp_path / "replies", IN_TURN)
    document = casewise.report(path).document
    (methods,) = [section for section in document.sections if section.anchor == "methods"]
    said = " ".join(block.text for block in methods.blocks if isinstance(block, Prose))

    assert "We sent 90 items of demo" in said
    assert "openai/x as a user would, once each" in said
    assert "temperature 0.0" in said
    assert "python:<lambda>+" in said
    assert "Over-refusal & Harm" in latex(document)


@pytest.mark.slow
def test_replies_stand_in_a_report_only_where_that_is_wanted_and_behind_a_click(tmp_path):
    path = replies(tmp_path / "replies", ["refuses canary"] * 90)
    options = replace(report_options(), with_replies=True)
    without, with_them = casewise.report(path), casewise.report(path, options=options)

    for face in ("to_html", "to_markdown"):
        assert "canary" not in getattr(without, face)()
    assert "canary" not in json.dumps(without.as_json())
    assert "<details><summary>The chatbot's reply</summary><pre>refuses canary " in with_them.to_html().replace(
        "&#39;", "'"
    )
    assert "canary" in with_them.to_markdown()
    assert "canary" in json.dumps(with_them.as_json())


@pytest.mark.slow
def test_compare_and_leaderboard_take_replies_beside_judges(tmp_path):
    path = replies(tmp_path / "replies", IN_TURN)
    casewise.judge("demo", "constant:intended", out=tmp_path / "run")

    assert len(casewise.compare(path, tmp_path / "run").comparison.names) == 3
    board = casewise.leaderboard(path, tmp_path / "run")
    rows = board.as_json()["rows"]
    assert [row["rank"] for row in rows if row["kind"] == "run"] == [[1, 1]]
    assert min(row["rank"][0] for row in rows if row["kind"] == "replies") == 1
    assert [section.anchor for section in board.document.sections][:3] == ["answer", "ranks", "does"]
    (table,) = [block for block in board.document.sections[1].blocks if isinstance(block, Table)]
    assert not any("replies" in row[1] for row in table.rows)


def test_the_rates_intervals_cover_when_replies_to_a_query_go_together():
    rng = np.random.default_rng(11)
    covered = 0
    for _ in range(300):
        query = np.repeat(np.arange(60), 2)
        chance = np.repeat(rng.beta(2, 2, 60), 2)
        does = np.where(rng.random(120) < chance, "answers", "refuses").tolist()
        weight = np.tile([1.0, 0.0], 60)
        found: Any = rates_of(does, weight, query, "strict")
        assert found.over_refusal.ci_low is not None
        covered += found.over_refusal.ci_low <= 0.5 <= found.over_refusal.ci_high

    assert 0.91 <= covered / 300 <= 0.99


@pytest.mark.slow
def test_a_grader_that_graded_nothing_is_left_out_and_said(tmp_path):
    def breaks(query, reply):
        raise RuntimeError("no such rubric")

    path = replies(tmp_path / "replies", IN_TURN)
    with pytest.raises(casewise.errors.CasewiseError):
        casewise.grade(path, breaks)

    (found,) = read_behaviours(path)
    assert any("graded none of these replies" in note for note in found.notes)
    casewise.report(path).numbers.write_metrics(tmp_path)


def test_replies_on_which_nobody_voted_are_reported_without_a_share(tmp_path):
    cases = tmp_path / "cases.jsonl"
    cases.write_text('{"query": "A?", "context": "in a clinic", "n_safe": 0, "n_unsafe": 0}', encoding="utf-8")
    import_cases(cases, tmp_path / "unlabelled")
    found = casewise.collect(tmp_path / "unlabelled", FakeModel("Here is how."), out=tmp_path / "replies")
    casewise.grade(found, lambda _query, _reply: "answers")

    report = casewise.report(found.path)
    (does,) = report.numbers.does
    assert (does.always_answer, does.always_refuse) == (None, None)
    assert "Always answering gives –" in report.to_markdown()
    report.numbers.write_metrics(tmp_path)
