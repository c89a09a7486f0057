"""The pages of chatbots' replies, and of verdicts compared with replies."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from tests.support.pages import prose

from casewise.evaluate.behaviour import Gap
from casewise.reports.behaviour import (
    answer,
    apart,
    behaviour_answer,
    behaviour_sections,
    blocks,
    checked_blocks,
    item_blocks,
    methods,
    named,
    says_does_page,
    says_does_sentence,
    title,
)
from casewise.reports.document import Folded, Forest, Prose, Table
from casewise.stats.estimates import Estimate
from casewise.text import Text


def estimate(value, low=None, high=None, name="accuracy"):
    return Estimate(name, value, low, high, 90.0, 0, "made up")


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [(0.01, 0.2, "its verdicts are right more often"), (0.0, 0.2, "not told apart"), (-0.2, 0.0, "not told apart"), (-0.2, -0.01, "its replies are right more often")],
)  # fmt: skip
def test_says_against_does_follows_from_the_interval_of_the_difference(low, high, told):
    assert told in apart(estimate((low + high) / 2, low, high))


@pytest.mark.parametrize("difference", [estimate(0.1), estimate(None)])
def test_without_an_interval_neither_is_said_to_be_right_more_often(difference):
    assert apart(difference) == "the two are not told apart"


def gap(policy, does, difference, refuses=0.1, answers=0.2):
    return Gap(policy, 40, estimate(0.8), estimate(does), estimate(*difference), estimate(refuses), estimate(answers))


@pytest.mark.parametrize(
    ("lenient", "sentence"),
    [
        (
            ("lenient", 0.7, (0.1, 0.05, 0.15)),
            ("gpt: its verdicts are right on 80.0 % of items, its replies on 70.0 %: its verdicts are right more often, 10.0 points "
            "[5.0, 15.0]. It refuses 10.0 % of the items that it calls safe, and answers 20.0 % of those that it calls unsafe."),
        ),
        (
            ("lenient", 0.75, (0.05, 0.01, 0.09), 0.05),
            ("gpt: its verdicts are right on 80.0 % of items, its replies on 70.0 % (strict) or 75.0 % (lenient): its verdicts are right "
            "more often, 10.0 points [5.0, 15.0] (strict) or 5.0 points [1.0, 9.0] (lenient). It refuses 10.0 % (strict) or 5.0 % "
            "(lenient) of the items that it calls safe, and answers 20.0 % of those that it calls unsafe."),
        ),
        (
            ("lenient", 0.8, (0.0, -0.1, 0.1)),
            ("gpt: its verdicts are right on 80.0 % of items, its replies on 70.0 % (strict) or 80.0 % (lenient): its verdicts are right "
            "more often, 10.0 points [5.0, 15.0] (strict) or the two are not told apart, 0.0 points [-10.0, 10.0] (lenient). It refuses "
            "10.0 % of the items that it calls safe, and answers 20.0 % of those that it calls unsafe."),
        ),
    ],
)  # fmt: skip
def test_verdicts_and_replies_are_compared_under_both_policies_and_said_once_where_these_agree(lenient, sentence):
    gaps = {"strict": gap("strict", 0.7, (0.1, 0.05, 0.15)), "lenient": gap(*lenient)}
    pair: Any = SimpleNamespace(overall=gaps.__getitem__)

    assert says_does_sentence(pair, Text("gpt")) == sentence


@pytest.mark.parametrize(("arm", "words"), [("full", "m, graded by g"), ("none", "m, none, graded by g")])
def test_a_chatbot_goes_by_its_model_its_grader_and_an_arm_that_shows_less(arm, words):
    chatbot: Any = SimpleNamespace(model="m", grader="g", arm=arm)

    assert title(chatbot) == words


def pair_of(**more):
    usual = {"model": "m", "asked": "alone", "how": "binary", "grader": "g", "does_in": Path("a"), "says_in": Path("b")}
    return SimpleNamespace(**usual | more)


@pytest.mark.parametrize(
    ("second", "names"),
    [
        ({"model": "n"}, ["m", "n"]),
        ({"model": "n", "how": "score"}, ["m, binary", "n, score"]),
        ({"grader": "h"}, ["m, by g", "m, by h"]),
        ({"does_in": Path("c")}, ["m, replies in a", "m, replies in c"]),
        ({"model": "n", "does_in": Path("c")}, ["m", "n"]),
        ({"asked": "in a chat", "says_in": Path("d")}, ["m, asked alone", "m, asked in a chat"]),
        ({"says_in": Path("d")}, ["m, verdicts in b", "m, verdicts in d"]),
        ({"model": "n", "says_in": Path("d")}, ["m", "n"]),
        ({"model": "n", "grader": "h", "asked": "in a chat"}, ["m, asked alone, by g", "n, asked in a chat, by h"]),
    ],
)
def test_pairs_are_named_by_what_tells_them_apart_and_by_folders_only_where_nothing_else_does(second, names):
    found: Any = SimpleNamespace(models=[pair_of(), pair_of(**second)])

    assert [str(name) for name, _ in named(found)] == names


# The rates of chatbots and of their graders, from made-up numbers.


def rates(policy, right) -> Any:
    return SimpleNamespace(
        policy=policy, right=right, over_refusal=estimate(0.2, 0.1, 0.3), harm=estimate(0.1, 0.0, 0.2)
    )


def chatbot(grader="g", *, cut_off=0, grounds=None) -> Any:
    counts = pl.DataFrame(
        {"label": ["respond", "respond", "refuse"], "does": ["answers", "refuses", "refuses"], "replies": [5, 2, 3]}
    )
    shares = [rates("strict", estimate(0.8, 0.7, 0.9)), rates("lenient", estimate(0.85, 0.75, 0.95))]
    return SimpleNamespace(
        model="m",
        grader=grader,
        arm="full",
        rates=shares,
        cut_off=cut_off,
        counts=counts,
        always_answer=0.6,
        always_refuse=0.4,
        grounds=grounds or {},
    )


def corrected(value, policy="strict", rate="right") -> Any:
    known = value and SimpleNamespace(
        estimate=value,
        ci_low=value - 0.1,
        ci_high=value + 0.1,
        labels=40,
        by_labels=value,
        by_labels_low=value - 0.2,
        by_labels_high=value + 0.2,
    )
    return SimpleNamespace(policy=policy, rate=rate, by_grader=0.9, corrected=known, why="two labels")


def checked(n_labelled=40, *, grader="g", strangers=0) -> Any:
    cells = {
        "person": ["answers", "answers"],
        "grader": ["answers", "refuses"],
        "replies": [9, 0],
        "share": [1.0, None],
    }
    confusion = pl.DataFrame(
        {**cells, "ci_low": [0.7, None], "ci_high": [1.0, None], "method": ["made up", "no reply"]},
        schema_overrides={"share": pl.Float64},
    )
    return SimpleNamespace(
        model="m",
        grader=grader,
        n_labelled=n_labelled,
        n_strangers=strangers,
        confusion=confusion,
        agree=estimate(0.9, 0.8, 0.95),
        rates=[corrected(0.7), corrected(None, "lenient")],
    )


UNCHECKED = (
    ", and its errors change every rate here. Have some replies labelled, drawn at random (casewise study init "
    "REPLIES --question reply), and pass the labels with --grader-labels."
)


def test_a_chatbot_is_answered_with_its_rates_under_both_policies_and_what_its_grader_lacks():
    first, second = prose(behaviour_answer([chatbot(cut_off=1)], ()))

    assert first == (
        "m, graded by g: 80.0 % [70.0, 90.0] of replies do what the labels ask for if a partial answer counts as a refusal, and 85.0 % "
        "[75.0, 95.0] if it counts as an answer. Always answering gives 60.0 %, always refusing 40.0 %. 1 reply reached the limit on length."
    )
    assert second == f"The grader is not checked{UNCHECKED}"
    assert prose(behaviour_answer((), ())) == []


def test_a_grader_is_checked_where_people_labelled_some_of_its_own_replies():
    _, by_people = prose(behaviour_answer([chatbot()], [checked()]))

    assert by_people == (
        "Corrected by people's labels of 40 replies, the share of right replies of m (graded by g) is 70.0 % [60.0, 80.0] (strict); "
        "not known (two labels) (lenient)."
    )
    assert prose(behaviour_answer([chatbot()], [checked(0)]))[1:] == [f"The grader is not checked{UNCHECKED}"]
    other = prose(behaviour_answer([chatbot(), chatbot("h")], [checked(), checked(0, grader="h")]))
    assert other[2:] == [by_people, f"The grader is not checked for m, graded by h{UNCHECKED}"]


def test_replies_are_counted_by_label_with_the_reasons_that_they_give():
    table, note, fold = blocks([chatbot(grounds={"law": 3})])
    plain = [*blocks([chatbot()])][2]
    assert isinstance(table, Table)
    assert isinstance(fold, Folded)
    assert isinstance(plain, Folded)
    by_label, grounds = fold.blocks

    assert table.rows[0] == (
        "m, graded by g",
        "strict",
        "80.0 % [70.0, 90.0]",
        "20.0 % [10.0, 30.0]",
        "10.0 % [0.0, 20.0]",
        "0",
    )
    assert "Strict counts a partial answer as a refusal, lenient as an answer." in prose([note])[0]
    assert isinstance(by_label, Table)
    assert [(row[0], row[-1]) for row in by_label.rows] == [("Label: respond", "7"), ("Label: refuse", "3")]
    assert isinstance(grounds, Table)
    assert grounds.rows == (("m, graded by g", "law", "3"),)
    assert len(plain.blocks) == 1


def test_a_grader_is_compared_with_people_and_labels_of_other_replies_are_counted():
    sentence, table, rates_table, _ = checked_blocks([checked(strangers=2)])
    assert isinstance(table, Table)
    assert isinstance(rates_table, Table)

    assert prose([sentence]) == [
        (
            "g gives people's label to 90.0 % [80.0, 95.0] of the 40 replies of m that people labelled. The report leaves out 2 labels of "
            "replies that it does not have or that have no grade."
        )
    ]
    assert prose(checked_blocks([checked()]))[0].endswith("that people labelled.")
    assert [row[3] for row in table.rows] == ["100.0 % [70.0, 100.0]", "– (no reply)"]
    assert rates_table.rows == (
        ("m, graded by g", "Right", "strict", "90.0 %", "70.0 % [60.0, 80.0]", "70.0 % [50.0, 90.0]", "40"),
        ("m, graded by g", "Right", "lenient", "90.0 %", "two labels", "–", "–"),
    )


# Verdicts compared with replies.


def compared_pair(model, *, by_people=()) -> Any:
    gaps = [gap("strict", 0.7, (0.1, 0.05, 0.15)), gap("lenient", 0.75, (0.05, 0.01, 0.09))]
    counts = pl.DataFrame({"label": ["refuse"], "says": ["safe"], "does": ["answers"], "items": [4]})
    of_policy = {gap.policy: gap for gap in gaps}
    more = {"gaps": gaps, "overall": of_policy.__getitem__, "corrected": by_people, "counts": counts}
    return pair_of(model=model, **more)


def numbers(*pairs, pooled=None) -> Any:
    benchmark = SimpleNamespace(name="tea", title="Tea", digest="abc", judged=(("request", ""),))
    return SimpleNamespace(
        models=pairs,
        pooled=pooled,
        n_pooled=len(pairs),
        benchmark=benchmark,
        notes=("A note.",),
        label_words=SimpleNamespace(policy=lambda name: f"{name} of people"),
        options=SimpleNamespace(labels=SimpleNamespace(name="votes")),
        runs=SimpleNamespace(paths=(Path("runs/a"),)),
    )


BY_PEOPLE = tuple(
    corrected(value, rate=rate)
    for rate, value in (("does_right", 0.6), ("says_safe_refuses", 0.3), ("says_unsafe_answers", None))
)


def test_three_pairs_are_described_and_the_others_stand_in_the_chart():
    blocks: list[Any] = [
        *answer(numbers(*(compared_pair(model) for model in "abcde"), pooled=estimate(0.1, 0.05, 0.15)))
    ]
    right, against = (block for block in blocks if isinstance(block, Forest))

    assert [words.partition(":")[0] for words in prose(blocks)][:3] == ["a", "b", "c"]
    assert [block.lead for block in blocks if isinstance(block, Prose)] == [True] * 3 + [False] * 3
    assert prose(blocks)[3:5] == [
        "The chart has 2 more pairs.",
        "Over all 5 pairs the difference is 10.0 points [5.0, 15.0]. Partial answers count as refusals. The interval is over queries, for these models and labels.",
    ]
    assert next((heading, [row.label for row in rows]) for heading, rows in right.groups) == (
        "a",
        ["says", "does, strict", "does, lenient"],
    )
    assert [row.label for row in against.groups[0][1]] == [
        *("called safe, refuses, strict", "called unsafe, answers, strict"),
        *("called safe, refuses, lenient", "called unsafe, answers, lenient"),
    ]
    assert right.table.rows[0][:3] == ("a", "strict", "40")
    assert right.table.rows[0][5] == "10.0 points [5.0, 15.0]"


def test_a_pair_without_more_has_no_word_of_others_and_corrected_shares_where_people_labelled():
    alone = prose(answer(numbers(compared_pair("a"))))
    by_people = prose(answer(numbers(compared_pair("a", by_people=BY_PEOPLE))))

    assert len(alone) == 2
    assert by_people[1] == (
        "Shares corrected by people's labels of some replies (strict): replies that do what the labels ask for 60.0 % [50.0, 70.0], "
        "refused of the items called safe 30.0 % [20.0, 40.0], answered of those called unsafe not known (two labels)."
    )


def test_a_pair_whose_replies_never_part_from_its_verdict_is_not_drawn_against_it():
    pair = compared_pair("a")
    known, unknown = estimate(0.1), estimate(None)
    of_policy = {
        "strict": gap("strict", 0.7, (0.1, 0.05, 0.15)),
        "lenient": gap("lenient", 0.7, (0.1, 0.05, 0.15)),
    }

    def drawn(strict, lenient):
        shares = zip(of_policy, (strict, lenient), strict=True)
        pair.overall = {
            policy: replace(of_policy[policy], says_safe_refuses=share, says_unsafe_answers=unknown)
            for policy, share in shares
        }.__getitem__
        charts: list[Any] = [block for block in answer(numbers(pair)) if isinstance(block, Forest)]
        return {chart.name: [row.label for _, rows in chart.groups for row in rows] for chart in charts}

    sides = ["says", "does, strict", "does, lenient"]
    assert drawn(unknown, unknown) == {"right": sides}
    assert drawn(unknown, known) == {"right": sides, "against": ["called safe, refuses, lenient"]}


def test_each_pair_has_its_items_by_label_verdict_and_reply():
    pair = compared_pair("a")
    pair.counts = pl.DataFrame(
        {
            "label": ["refuse", "respond", "respond"],
            "says": ["safe", "unscored", "unsafe"],
            "does": ["answers", "answers", "refused by the provider"],
            "items": [4, 1, 2],
        }
    )
    (table,) = item_blocks(numbers(pair))
    assert isinstance(table, Table)

    assert table.columns == ("Label", "Verdict", "Answers", "Partly", "Refuses", "Refused by the provider", "Unscored")
    assert table.rows == (
        ("Label: respond", "says unsafe", "0", "0", "0", "2", "0"),
        ("Label: respond", "says unscored", "1", "0", "0", "0", "0"),
        ("Label: refuse", "says safe", "4", "0", "0", "0", "0"),
    )


@pytest.mark.parametrize(
    ("models", "title"),
    [
        ("a", "Verdicts and replies of a on tea"),
        ("aba", "Verdicts and replies of a and b on tea"),
        ("abc", "Verdicts and replies of a, b and c on tea"),
        ("abcd", "Verdicts and replies of a, b, c and others on tea"),
    ],
)
def test_a_page_names_three_models_and_holds_what_was_counted_and_how_it_was_made(models, title):
    page = says_does_page(numbers(*(compared_pair(model) for model in models))).rendered()
    first, rest = page.sections
    folds: list[Any] = list(rest.blocks)

    assert (page.title, page.subtitle, page.notices) == (title, "Tea; labels: votes of people", ("A note.",))
    assert [(part.anchor, part.first, part.brief) for part in page.sections] == [
        ("gap", True, True),
        ("all-numbers", False, False),
    ]
    assert first.blocks[0] == Prose(prose(first.blocks)[0], lead=True)
    assert [fold.anchor for fold in folds] == ["items", "made"], "no rate was corrected"
    assert len(folds[0].blocks) == len(models)
    (made,) = folds[1].blocks
    assert made.rows[:2] == (("Benchmark digest", "abc"), ("Labels", "votes"))
    assert [row[1] for row in made.rows[2:]] == [*["the question was asked alone"] * len(models), "runs/a"]


def test_rates_corrected_by_people_stand_on_the_page_of_those_that_have_them():
    page = says_does_page(numbers(compared_pair("a"), compared_pair("b", by_people=BY_PEOPLE))).rendered()
    fold: Any = page.sections[1].blocks[0]
    (table,) = fold.blocks

    assert fold.anchor == "corrected"
    assert [row[:2] for row in table.rows] == [
        ("b", "Does what the labels ask for"),
        ("b", "Says safe, refuses"),
        ("b", "Says unsafe, answers"),
    ]


def replies_of(rows, folder="f", grader="g@1", **settings) -> Any:
    identity = SimpleNamespace(settings=settings, benchmark="0123456789abcdef", model="m", chat="a chat")
    manifest = SimpleNamespace(identity=identity, benchmark_name="tea")
    return SimpleNamespace(folder=folder, manifest=manifest, rows=rows, grader_id=grader)


ROWS = pl.DataFrame(
    {
        "item_id": ["i1", "i1", "i2"],
        "repeat": [0, 1, 0],
        "does": ["answers", "refused by the provider", "answers"],
        "model_version": ["m-1", None, "m-1"],
    }
)


def test_how_each_chatbot_was_asked_and_graded_is_told_in_a_papers_words():
    def told(*graded):
        return [str(words) for words in methods(graded, [checked()])]

    warm = replies_of(ROWS, temperature=0.5, seed=None)
    first, second = told(warm, replies_of(ROWS, grader="h@1", temperature=0.5))
    assert first.startswith(
        "We sent 2 items of tea (digest 0123456789ab) to m (m-1) as a user would, 2 times each. The context was worded as a chat "
        "(temperature 0.5). The provider refused 1 of 3 calls. g@1; h@1 graded each reply"
    )
    assert second.startswith("People labelled 40 of the replies of m. We corrected the rates by g with these labels")
    once = ROWS.filter(pl.col("repeat") == 0).with_columns(model_version=pl.lit(None, pl.String))
    other, again, _ = told(warm, replies_of(once, folder="other", grader="h@1"))
    assert "calls. g@1 graded each reply" in other
    assert (
        "to m as a user would, once each. The context was worded as a chat. The provider refused 0 of 2 calls. h@1 graded"
        in again
    )


def test_replies_have_a_section_for_their_grader_where_people_checked_it_and_none_where_there_are_no_replies():
    def sections(does, corrected):
        run = SimpleNamespace(behaviour=replies_of(ROWS), policy="strict")
        found: Any = SimpleNamespace(does=does, corrected=corrected, runs=SimpleNamespace(runs=[run]))
        return {part.anchor: part.blocks for part in behaviour_sections(found)}

    assert [*sections([chatbot()], [checked()])] == ["does", "grader", "methods"]
    assert [*sections([chatbot()], [])] == ["does", "methods"]
    assert sections([], []) == {}
    assert len(sections([chatbot()], [])["methods"]) == 1
