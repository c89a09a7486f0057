"""What stands on a judge's page and in which order, on small worlds whose answers are laid down."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from tests.support.pages import prose, sections_of
from tests.support.worlds import MIXED, World, always

from casewise.evaluate.conclusions import below_others
from casewise.evaluate.judged_runs import ReportOptions, SecondReadings
from casewise.reports.document import CHATBOT, Folded, Forest, Table
from casewise.reports.judge import asking_facts, categories, costs, disagreements, exhibit, names, replies_read
from casewise.stats.costs import CostPoint
from casewise.stats.estimates import Estimate
from casewise.text import RefusalNote


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    return MIXED.only("kind", "cautious").report(tmp_path_factory.mktemp("two"))


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return MIXED.only("decided").report(tmp_path_factory.mktemp("alone"))


def sections(report) -> dict[str, Any]:
    return {**sections_of(report.document)}


def test_the_answer_comes_first_and_all_other_numbers_last(two, alone):
    assert [*sections(two)] == [
        *("answer", "errors", "categories", "disagreements", "pairs", "costs", "made", "unscored", "all-numbers")
    ]
    assert [part.anchor for part in two.document.sections if part.brief] == [
        *("answer", "errors", "categories", "pairs", "costs", "unscored", "all-numbers")
    ]
    assert [*sections(alone)] == ["answer", "categories", "disagreements", "pairs", "costs", "made", "all-numbers"]


def test_replies_without_a_verdict_stand_in_the_open_where_there_are_some_and_else_in_a_fold(two, alone):
    folds = [[fold.summary for fold in sections(report)["all-numbers"].blocks] for report in (two, alone)]

    assert "Replies without a verdict" not in folds[0]
    assert folds[1][-1] == "Replies without a verdict"
    assert [fold[0] for fold in folds] == ["Agreement with people"] * 2


def test_a_page_of_judges_without_verdicts_has_what_is_known_of_them_alone(tmp_path):
    world = World("silent", MIXED.votes, {"one": always("?", 16), "other": ("?",) * 15 + ("s",)})

    assert [*sections(world.report(tmp_path))] == ["answer", "unscored", "made"]


def test_the_title_names_one_or_two_judges_and_their_elicitation_where_there_is_one(two, alone):
    def title(*series):
        report: Any = SimpleNamespace(runs=SimpleNamespace(series=series))
        return str(names(report))

    def asked(judge, elicitation="binary"):
        return SimpleNamespace(judge_title=judge, elicitation=elicitation)

    assert str(two.document.title) == "kind and cautious (binary) on w"
    assert str(alone.document.title) == "decided (binary) on w"
    assert str(two.document.subtitle) == "16 items, 8 queries, 48 ratings"
    assert title(asked("a"), asked("a", "score")) == "a"
    assert title(asked("a"), asked("b"), asked("c")) == "3 judges (binary)"


def test_costs_are_said_where_both_errors_weigh_the_same_and_are_known(two):
    def judge(name, *points) -> Any:
        return SimpleNamespace(series=SimpleNamespace(name=name), costs=points)

    def point(ratio, cost: Estimate | None):
        return CostPoint(ratio, cost, None, None, 0.5, 0.5)

    said = prose(sections(two)["costs"].blocks)
    known, elsewhere = (
        point(1, Estimate("cost", 0.1, 0.0, 0.2, 8.0, 0, "")),
        point(2, Estimate("cost", 0.3, 0.2, 0.4, 8.0, 0, "")),
    )
    few = prose(costs([judge("a", point(1, None), elsewhere), judge("b", elsewhere, known)]))

    assert [words.partition(" costs ")[0] for words in said[:2]] == ["kind (binary)", "cautious (binary)"]
    assert [words.partition(" an item")[0] for words in few[:-1]] == ["b costs 0.100 [0.000, 0.200]"]


def test_disagreements_are_counted_and_found_again_with_the_command_that_is_printed(two, alone):
    said = prose(sections(two)["disagreements"].blocks)

    assert said[0] == "On 10 items the verdict is farthest from the votes. The farthest comes first."
    assert said[1].endswith("shows every item whose verdict differs from its label.")
    assert [words for words in said if words.endswith(":")] == ["kind (binary):", "cautious (binary):"]
    assert not [words for words in prose(sections(alone)["disagreements"].blocks) if words.endswith(":")]


def test_where_all_verdicts_agree_with_the_labels_or_there_is_no_label_it_is_said_so(alone, tmp_path):
    def said(votes, answers):
        world = World("few", votes * 4, {"judge": answers * 4})
        return prose(sections(world.report(tmp_path / "".join(votes)))["disagreements"].blocks)

    assert prose(sections(alone)["disagreements"].blocks) == [
        "On every item with a label and a verdict, the two agree."
    ]
    nothing = ["No item has both a verdict and a label that is no tie."]
    assert said(("su", "us"), ("s", "u")) == nothing
    assert said(("sss", "su"), ("?", "u")) == nothing
    assert said((".", "."), ("s", "u")) == [
        "No item has a label under --labels (votes), so no verdict can be compared."
    ]
    none: Any = SimpleNamespace(disagreements=(), labelled=True, options=ReportOptions(disagreements=0))
    assert [*disagreements(none)] == []


@pytest.mark.parametrize(
    ("changed", "verdict", "by"),
    [
        ({"value": 1.0}, "safe", "judge"),
        ({"value": 0.0}, "unsafe", "judge"),
        ({"value": 0.25}, "25.0 % of its answers: safe", "judge"),
        ({"value": 1.0, "of_replies": True}, "answers", CHATBOT),
        ({"value": 0.5, "of_replies": True}, "50.0 % of its answers: answers", CHATBOT),
        ({"value": 1.0, "elicitation": "score"}, "1.000", "judge"),
    ],
)
def test_an_item_is_shown_with_the_judges_verdict_and_with_whose_reply_it_is(two, changed, verdict, by):
    shown = exhibit(replace(two.numbers.disagreements[0], reply="A reply.", **changed))

    assert shown.heading == "terrorism, unsafe generated"
    assert shown.facts[1] == ("kind (binary)", verdict)
    assert (shown.reply, shown.reply_by) == ("A reply.", by)


@pytest.mark.parametrize(
    ("reading", "sentence"),
    [
        (
            SecondReadings("gpt", "tiny", n_read=3, n_none=2, n_both=8, n_same=7),
            (
                "The strict reader found no verdict in 5 replies of gpt. tiny found one in 3 of them. Both read 8 replies, and found the same verdict in 7."
            ),
        ),
        (
            SecondReadings("gpt", "tiny", n_read=0, n_none=1, n_both=0, n_same=0),
            "The strict reader found no verdict in 1 reply of gpt. tiny found one in 0 of them. No reply was read by both.",
        ),
    ],
)
def test_a_second_reader_is_compared_with_the_strict_one(monkeypatch, two, reading, sentence):
    monkeypatch.setattr("casewise.reports.judge.second_readings", lambda _runs: [reading])

    assert prose(replies_read(two.numbers)) == [sentence]


def test_replies_that_a_fault_left_unread_are_counted_with_what_to_do(two):
    faults = two.numbers.unscored.with_columns(reason=pl.lit("internal"))
    report: Any = SimpleNamespace(unscored=faults, runs=SimpleNamespace(runs=()))

    assert [words.partition(". ")[0] for words in prose(replies_read(report))] == [
        "A fault of casewise or a plugin prevented the reading of 2 replies"
    ]


def series_of(folder, **known) -> Any:
    settings = known.pop("settings", {})
    manifest = SimpleNamespace(judge_name="tiny", identity=SimpleNamespace(settings=settings))
    run = SimpleNamespace(path=folder, manifest=manifest, notes=known.pop("notes", ()))
    usual: dict[str, Any] = {
        "versions": (),
        "read_as": {},
        "cost_usd": None,
        "assumed_cost_usd": None,
        "latency_s": None,
    }
    return SimpleNamespace(run=run, **usual | known)


MODEL = {"model": "openai/tiny", "temperature": 0.5}


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({}, "no model was called"),
        (
            {"settings": MODEL},
            "asked openai/tiny, which did not report a model version; temperature 0.5; free replies; live",
        ),
        (
            {"settings": MODEL | {"structured": True, "mode": "high"}, "versions": ("tiny",)},
            "answered by tiny; temperature 0.5; with a JSON schema; live; effort high",
        ),
        (
            {"settings": MODEL | {"temperature": None}, "versions": ("small-1", "small-2")},
            "answered by small-1, small-2, not tiny; temperature not set; free replies; live",
        ),
        ({"read_as": {"json": 1200, "mine": 3}}, "read as: JSON as requested 1,200, mine 3"),
        ({"cost_usd": 1.23456, "latency_s": 0.345}, "$1.235; 0.34 s an answer (median)"),
        ({"cost_usd": 2.0, "assumed_cost_usd": 1.0}, "at most $2"),
    ],
)
def test_it_is_said_which_model_answered_and_how_it_was_asked_and_read(tmp_path, known, said):
    assert asking_facts(series_of(tmp_path, **known)) == said


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("temperature", "temperature 0.5, which the model refused; with a JSON schema"),
        ("json_schema", "temperature 0.5; JSON schema refused by the model, then free replies"),
    ],
)
def test_what_a_model_refused_is_said_of_what_it_refused(tmp_path, option, said):
    note = RefusalNote("tiny takes less than was asked for.", option=option)
    series = series_of(tmp_path, settings=MODEL | {"structured": True}, versions=("tiny",), notes=(note,))

    assert asking_facts(series) == f"answered by tiny; {said}; live"


def test_how_the_page_was_made_has_the_settings_of_each_run_and_series(two):
    (fold,) = [block for block in sections(two)["made"].blocks if isinstance(block, Folded)]
    (table,) = [block for block in fold.blocks if isinstance(block, Table)]
    facts = {row[0]: row[1] for row in table.rows}

    assert (facts["Benchmark"], facts["Labels"], facts["Unscored items"], facts["Seed"]) == ("w", "votes", "miss", "0")
    assert facts["Settings of kind"] == "none"
    assert facts["kind (binary)"] == "16 items, 1 repeat"
    assert facts["How cautious (binary) was asked"] == "no model was called"


def test_domains_are_drawn_of_one_series_with_several_of_them_alone(monkeypatch, alone, two):
    domains = alone.numbers.categories.with_columns(slice=pl.col("slice").str.slice(0, 1))

    def drawn(report, rows, **changed):
        blocks = categories(replace(report.numbers, domains=rows, **changed))
        return [block.name for block in blocks if isinstance(block, Forest)]

    assert drawn(alone, domains) == ["domain-forest"]
    assert drawn(alone, domains.with_columns(slice=pl.lit("one"))) == []
    assert drawn(two, two.numbers.categories) == []


def test_categories_without_a_label_are_not_compared(two):
    unlabelled: Any = SimpleNamespace(labelled=False, options=two.numbers.options)

    assert prose(categories(unlabelled)) == [
        "No item has a label under --labels (votes), so categories cannot be compared."
    ]


def test_a_category_below_the_others_is_named_with_its_judge(two, alone):
    def said(*answers):
        report: Any = SimpleNamespace(
            labelled=True, answers=answers, domains=two.numbers.categories, categories=two.numbers.categories
        )
        return prose(categories(report))

    below = below_others("gpt", "fraud", Estimate("accuracy", 0.4, 0.3, 0.5, 20.0, 0, ""), p=0.01, categories=3)
    answer = SimpleNamespace(judge="gpt", conclusions=(below,))
    words = "is right less often in fraud than in the other categories: on 40.0 % [30.0, 50.0] of 20 items (corrected for 3 categories)."

    assert said(answer) == [f"This judge {words}"]
    assert said(answer, SimpleNamespace(judge="b", conclusions=())) == [f"gpt {words}"]
