"""`casewise recommend`: which judge, or none; what is promised, and what is not yet."""

from __future__ import annotations

import json
import shlex

import pytest
from tests.support.command import invoke
from tests.support.deciders import judged_demo

import casewise
from casewise.api.deciding import Requirements
from casewise.deciding.recommending import Alternative
from casewise.errors import ConfigurationError
from casewise.stats.estimates import Estimate

CASES = 120


def cases():
    """Made-up cases of a bank, two of each query, that people decide by who asks; twelve people an item."""
    for place in range(CASES):
        asks = place % 2 == 0
        yield {
            "id": f"case-{place:03}",
            "query": f"What is the balance of account {place // 2}?",
            "context": f"{'Its holder asks' if asks else 'A stranger asks'}, number {place // 2} in the queue.",
            "n_safe": 11 if asks else 1,
            "n_votes": 12,
        }


def judge_of(right, name):
    """A judge in a module, right on the items whose number `right` accepts."""
    return f"""
def judge(query, context):
    place = int("".join(filter(str.isdigit, query)))
    holder = "holder" in str(context)
    return 0.9 if holder == ({right}) else 0.1


judge.elicitation = "probability"
"""


@pytest.fixture
def bank(tmp_path, monkeypatch):
    """A benchmark with two judges: one is wrong on every tenth query, the other tosses a coin."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "good_one.py").write_text(judge_of("place % 10 != 0", "good"))
    (tmp_path / "coin_one.py").write_text(judge_of("place % 2 == 0", "coin"))
    (tmp_path / "cases.jsonl").write_text("\n".join(map(json.dumps, cases())))
    benchmark = casewise.import_cases(tmp_path / "cases.jsonl", tmp_path / "bank")
    for name in ("good", "coin"):
        casewise.judge(benchmark, f"python:{name}_one:judge", out=tmp_path / "runs" / name)
    return tmp_path


def run(*words):
    return invoke(*words)


@pytest.mark.slow
def test_the_better_judge_is_recommended_with_the_command_that_serves_it(bank, monkeypatch):
    told = run("recommend", "runs/coin", "runs/good", "--benchmark", "bank", "--max-harm", "0.35", "--json")
    found = json.loads(told.out)

    assert told.code == 0, told.output
    assert found["judge"] == "python:good_one:judge (probability)"
    assert found["requirements"]["chosen_from"] == 2
    assert found["promised"][0]["level"] == pytest.approx(0.975)
    assert found["measured"]["harm"]["ci_low"] <= 0.1 <= found["measured"]["harm"]["ci_high"]
    fit, serve = map(shlex.split, found["commands"])
    fitted = run(*fit[1:], "--json")
    assert fitted.code == 0, fitted.output
    assert json.loads(fitted.out)["measured"]["harm"]["estimate"] == found["measured"]["harm"]["estimate"]
    assert serve == ["casewise", "serve", "decider.json"]


@pytest.mark.slow
def test_a_judge_that_words_match_is_not_good_enough(bank):
    """Words tell holder from stranger on every item: a judge that errs on a tenth cannot beat them."""
    found = casewise.recommend("runs/good", "runs/coin", benchmark="bank")
    words = next(one for one in found.numbers.alternatives if one.name == "words alone")

    assert words.better
    assert not found.good_enough
    assert found.numbers.shown_to_fail
    assert "None of these judges is good enough." in found.to_markdown()
    assert "costs more than words alone: " in found.to_markdown()


@pytest.mark.slow
def test_failures_are_named_by_the_owners_ids(bank):
    found = casewise.recommend("runs/good", benchmark="bank").as_json()

    assert len(found["failures"]) == 10
    assert all(one["decision"] == ("refuse" if one["n_safe"] == 11 else "answer") for one in found["failures"])


@pytest.mark.slow
def test_what_cannot_be_promised_yet_is_an_answer_and_no_error(bank):
    told = run("recommend", "runs/good", "runs/coin", "--benchmark", "bank", "--max-harm", "0.01")

    assert told.code == 0, told.output
    assert "None of these judges can promise what you asked for yet." in told.out
    assert "takes 368 queries" in " ".join(told.out.split())
    page = (bank / "runs" / "good" / "recommend.html").read_text()
    assert "No guarantee: harm at most 1 % with 97.5 % confidence cannot be promised" in page
    assert "fit again with --max-harm" not in page


@pytest.mark.slow
def test_judges_that_no_decider_can_be_made_of_are_left_out_with_the_reason(bank):
    casewise.judge("bank", "linear", out=bank / "runs" / "linear")
    found = casewise.recommend("runs/good", "runs/linear", benchmark="bank").numbers

    assert found.requirements.chosen_from == 1
    assert "fitted to the ratings of the benchmark" in found.left_out["linear (probability)"]
    printed = " ".join(invoke("recommend", "runs/good", "runs/linear", "--benchmark", "bank").out.split())
    assert "No decider can be made of linear (probability): it was fitted to" in printed
    with pytest.raises(ConfigurationError, match=r"no decider can be made of any of these judges .*linear"):
        casewise.recommend("runs/linear", benchmark="bank")


@pytest.mark.slow
def test_a_function_that_no_name_finds_is_compared_and_not_served(bank):
    judge = casewise.judge("bank", lambda query, context: 0.5, elicitations="probability", out=bank / "runs" / "own")
    found = casewise.recommend(judge, benchmark="bank").numbers

    assert found.problem is not None
    assert found.commands == ()


@pytest.mark.slow
def test_a_promise_of_both_errors_asks_and_is_compared_with_asking_always(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = casewise.recommend(
        judged_demo(tmp_path), requirements=Requirements(max_harm=0.3, max_over_refusal=0.3)
    ).numbers

    assert [one.name for one in found.alternatives] == ["asking a person about everything", "words alone"]
    assert "--max-harm 0.3 --max-over-refusal 0.3" in found.commands[0]
    assert {need.promise.kind for need in found.needs} == {"harm", "over_refusal"}
    assert max(need.promise.at_most for need in found.needs) < 0.3


def saved(low, high):
    return Alternative("words alone", cost=number(0.3), saved=number((low + high) / 2, low, high), more_queries=None)


def number(value, low=None, high=None):
    return Estimate("cost", value, low, high, 10.0, 0, "made up")


@pytest.mark.parametrize(
    ("low", "high", "beaten", "better"),
    [(0.01, 0.1, True, False), (0.0, 0.1, False, False), (-0.1, 0.0, False, False), (-0.1, -0.01, False, True)],
)
def test_a_rival_is_beaten_or_better_only_where_the_interval_of_the_saving_says_so(low, high, beaten, better):
    assert (saved(low, high).beaten, saved(low, high).better) == (beaten, better)
    assert not Alternative("words alone", number(0.3), number(0.0), None).beaten


@pytest.mark.slow
def test_a_saving_that_is_the_same_on_every_query_has_an_interval(bank):
    (bank / "perfect.py").write_text(judge_of("True", "perfect"))
    casewise.judge("bank", "python:perfect:judge", out=bank / "runs" / "perfect")

    found = json.loads(run("recommend", "runs/perfect", "--json").out)

    refusing = next(one for one in found["alternatives"] if one["name"] == "refusing everything")
    unseen = 1 - 0.025 ** (1 / 60)
    assert refusing["saved"] == pytest.approx(
        {"estimate": 0.5, "ci_low": 0.5 - 1.5 * unseen, "ci_high": 0.5 + 0.5 * unseen}
    )
    assert refusing["beaten"]
    assert refusing["more_queries"] is None
