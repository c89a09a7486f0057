"""What a report says first."""

import io
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from rich.console import Console
from tests.support.pages import prose, table_named
from tests.support.worlds import MIXED

import casewise
from casewise.records.item import RatingScale
from casewise.reports import judge_parts as parts
from casewise.reports.document import Forest, Prose, Table
from casewise.reports.formats import print_document
from casewise.stats.estimates import Estimate
from casewise.storage.benchmark import About
from casewise.storage.intake.cases import benchmark_from_rows


def printed(document, *, full=False, width=80):
    file = io.StringIO()
    print_document(document, Console(file=file, width=width, color_system=None), full=full)
    return file.getvalue()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return casewise.judge("demo", "linear", out=tmp_path_factory.mktemp("run")).report()


@pytest.mark.slow
def test_a_terminal_shows_the_answer_in_forty_lines_and_the_rest_only_when_asked(report):
    short, full = printed(report.document), printed(report.document, full=True)

    assert len(short.splitlines()) <= 40
    assert max(map(len, short.splitlines())) <= 80
    assert "agrees with people on" in " ".join(short.split())
    assert "Labels: votes" not in short
    assert "Labels: votes" in full
    assert full.startswith(short)


@pytest.mark.slow
def test_the_answer_has_the_numbers_of_the_tables_below(report):
    answer = report.as_json()["answers"][0]
    accuracy = next(row for row in report.as_json()["metrics"] if row["metric"] == "accuracy")

    assert answer["accuracy"]["estimate"] == accuracy["estimate"]
    assert f"{100 * accuracy['estimate']:.1f} %" in answer["sentences"][0]
    beside = next(iter(report.as_json()["baselines"].values()))
    assert f"a constant verdict ({100 * beside['constant']:.1f} %)" in answer["sentences"][1]


@pytest.mark.slow
def test_yardsticks_have_intervals_of_the_same_kind_and_one_new_person_stands_against_the_same_others(report):
    """The annotators of the demo are known: they are in the intervals of the judge and of its yardstick, which is the same."""
    forest = next(block for block in report.document.sections[0].blocks if isinstance(block, Forest))
    (_, all_votes), (_, others) = forest.groups

    assert len({row.written for row in all_votes if row.label in {"This judge", "Words alone"}}) == 1
    assert {row.label for row in others} == {"One new person", "This judge"}
    assert "One new person" not in {row.label for row in all_votes}
    person = report.as_json()["answers"][0]["one_new_person"]
    assert next(row.estimate for row in others if not row.strong) == person["estimate"]
    assert all((row.low or 1) < (row.estimate or 0) < (row.high or 0) for row in others)


@pytest.mark.slow
def test_a_judge_without_verdicts_is_told_how_to_get_some(tmp_path):
    run = casewise.judge("demo", lambda query, context: len(query) / 1000, elicitations="scalar", out=tmp_path / "run")

    page = " ".join(printed(run.report().document).split())

    assert "gives values and no verdicts. To derive verdicts from them, use --fit-thresholds" in page
    assert "Spearman" in page


@pytest.mark.parametrize(
    ("row", "says"), [({"mean": 25}, " To take people's mean ratings as labels, use --labels mean."), ({}, "")]
)
def test_a_judge_of_items_without_labels_is_told_why_and_what_to_do(tmp_path, row, says):
    about = About(name="made", scale=RatingScale(low=0, high=100, cut=50), labels_by="people")
    unlabelled = benchmark_from_rows([{"query": text, **row} for text in ("Who?", "When?")], about, source="rows.csv")
    text = casewise.report(
        casewise.judge(unlabelled, "constant:safe", out=tmp_path), benchmark=unlabelled
    ).to_markdown()

    assert f"No item has a label under --labels votes, so no agreement can be measured.{says}\n" in text.replace(
        "**", ""
    )


@pytest.mark.slow
def test_every_row_of_the_page_has_its_marks_on_the_axis(report):
    html = report.to_html()
    marks = [float(place) for place in re.findall(r'class="(?:dot|span)" style="left:([\d.]+)%', html)]

    assert len(marks) >= 8
    assert np.all((np.array(marks) >= 0) & (np.array(marks) <= 100))


# The parts on small worlds whose answers are laid down.


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    return MIXED.only("kind", "cautious").report(tmp_path_factory.mktemp("two")).numbers


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return MIXED.only("decided").report(tmp_path_factory.mktemp("alone")).numbers


def blocks_of(numbers):
    (section,) = parts.answer_section(numbers)
    assert (section.first, section.brief) == (True, True)
    return section.blocks


def test_one_judge_is_answered_in_sentences_and_several_by_who_is_ahead(two, alone):
    assert prose(blocks_of(alone))[:2] == [
        "This judge agrees with people on 100.0 % [63.1, 100.0] of items.",
        "It is not told apart from one person (66.7 %) or from a constant verdict (50.0 %).",
    ]
    assert prose(blocks_of(two))[0] == (
        "None of the 2 judges is shown to agree with people more often than the best baseline."
    )
    assert [isinstance(block, Prose) and block.lead for block in blocks_of(alone)] == [True, *[False] * 4]
    assert [isinstance(block, Prose) and block.lead for block in blocks_of(two)] == [True, *[False] * 3]


def test_the_errors_are_those_of_the_only_judge_or_of_the_most_accurate(two, alone):
    most, only = table_named(blocks_of(two), "first-errors"), table_named(blocks_of(alone), "answer-errors")

    assert most.caption == "Errors of kind (binary) (highest accuracy), where at least 70 % of people agree"
    assert only.caption == "Errors, where at least 70 % of people agree"
    assert most.rows[2] == ("Unscored", "12.5 %", "[2.4, 45.6]", "16")
    assert only.rows[0][0::3] == ("Harm", "4")
    several = parts.errors_table(two.answers)
    assert (several.name, several.caption) == ("answer-errors", "Errors, where at least 70 % of people agree")
    assert [row[0] for row in several.rows] == ["kind (binary)", "cautious (binary)"]
    assert several.rows[1][2] == "100.0 % [39.8, 100.0]"


def test_errors_without_ratings_are_named_after_the_labels(two):
    unrated = [
        replace(
            answer, comparison=replace(answer.comparison, labels=replace(answer.comparison.labels, labels_by="author"))
        )
        for answer in two.answers
    ]

    assert parts.errors_caption(unrated) == ("label-errors", "")
    assert parts.errors_caption(two.answers)[0] == "answer-errors"
    silent = [replace(answer, errors=None) for answer in two.answers]
    assert parts.errors_caption(silent) == ("answer-errors", "")


def test_the_next_step_follows_from_how_many_judges_and_unscored_items_there_are(two, alone, tmp_path):
    def step(numbers):
        return str(parts.after_report(numbers))

    unread = MIXED.only("kind").report(tmp_path).numbers

    assert step(two).startswith("casewise compare ")
    assert step(unread).startswith("casewise reread ")
    assert step(alone).startswith("casewise serve ")


def test_judges_ahead_of_their_baseline_are_named_and_the_others_counted(two):
    def said(*shown, noun="judge"):
        answers: Any = [
            SimpleNamespace(
                judge=f"j{place}",
                comparison=two.answers[0].comparison,
                comparisons=[SimpleNamespace(kind=kind, holds=holds)],
            )
            for place, (kind, holds) in enumerate(shown)
        ]
        return str(parts.ahead_of_baseline(answers, noun))

    yes, no, same = ("better", True), ("better", False), ("no worse", True)

    assert said(no, same) == "None of the 2 judges is shown to agree with people more often than the best baseline."
    assert said(yes, no) == (
        "j0 agrees with people more often than the best baseline. This is not shown for the other judge."
    )
    assert said(yes, yes) == "j0 and j1 agree with people more often than the best baseline."
    assert said(no, yes, same, no, noun="arm") == (
        "j1 agrees with people more often than the best baseline. This is not shown for the other 3 arms."
    )


def test_the_chart_has_baselines_and_judges_from_the_lowest_and_one_new_person_beside_the_others(two, alone):
    def drawn(numbers):
        (chart,) = (block for block in blocks_of(numbers) if isinstance(block, Forest))
        return [(heading, [(str(row.label), row.key) for row in rows]) for heading, rows in chart.groups]

    assert drawn(two) == [
        (
            "Against the labels",
            [
                ("A constant verdict", True),
                ("cautious (binary)", True),
                ("A second study (predicted)", False),
                ("kind (binary)", True),
                ("Copying the author's intent", False),
            ],
        ),
        (
            "Against an item's other people",
            [("cautious (binary)", False), ("One new person", False), ("kind (binary)", False)],
        ),
    ]
    assert drawn(alone)[1] == ("Against an item's other people", [("One new person", True), ("This judge", True)])
    assert parts.forest(alone.answers, "intended").groups[0][0] == "Against what the author of each context meant"
    nobody = [replace(answer, person=None) for answer in alone.answers]
    assert len(parts.forest(nobody, "votes").groups) == 1


def test_a_judge_of_many_is_drawn_in_the_answer_among_the_five_most_accurate_alone(alone):
    seven = [replace(alone.answers[0], judge=f"j{place}") for place in range(7)]
    rows = parts.forest(seven, "votes").groups[0][1]

    assert [row.key for row in rows if row.strong] == [True] * 5 + [False] * 2


def test_the_headline_has_each_metric_of_each_judge(two, alone):
    (table, note) = parts.headline(two)
    (single, _) = parts.headline(alone)
    assert isinstance(table, Table)
    assert isinstance(single, Table)

    assert (table.name, table.caption) == ("headline-votes", "Labels: votes (the majority of an item's votes)")
    assert table.rows[0] == ("kind (binary)", "Accuracy", "75.0 % [29.1, 95.6]", "16", "2")
    assert single.columns[0] == "Metric"
    assert "In accuracy, recall and F1 an item without a verdict counts as wrong." in prose([note])[0]
    excluded = replace(two, options=replace(two.options, unscored="exclude"))
    assert "an item without a verdict is left out. Metrics" in prose(parts.headline(excluded))[0]
    assert parts.policy_in_words("votes,unsure=half", two.label_words) == (
        "votes (the majority of an item's votes), unsure=half"
    )
    assert parts.metric_title({"metric": "mine"}) == "mine"


def test_each_judge_has_its_baselines_in_a_table(two, alone):
    sections = {section.anchor: section for section in parts.baseline_sections(two)}
    of_one = {section.anchor: section for section in parts.baseline_sections(alone)}
    kind = table_named(sections["baselines"].blocks, "baselines-0")

    assert [*sections] == [*of_one] == ["baselines", "among-people", "subsets"]
    assert kind.columns == ("Baseline", "Accuracy, 95 % interval", "Against 2 people", "Pearson's r")
    assert [row[:3] for row in kind.rows] == [
        ("kind (binary)", "75.0 % [29.1, 95.6]", "70.8 % [23.8, 95.0]"),
        ("Copying the author's intent", "100.0 % [63.1, 100.0]", "83.3 % [70.1, 91.4]"),
        ("A constant verdict", "50.0 %", "50.0 % [29.5, 70.5]"),
        ("One person", "–", "66.7 % [43.7, 83.8]"),
        ("A second study of this size (predicted)", "74.3 % [66.4, 80.8]", "–"),
        ("The highest value that people's votes allow", "–", "–"),
    ]
    assert kind.rows[-1][3].startswith("0.791 [")
    assert prose(sections["baselines"].blocks)[-1].startswith("There is no baseline of words alone: ")
    assert prose(of_one["baselines"].blocks) == [prose(sections["baselines"].blocks)[-1]]
    nothing: Any = SimpleNamespace(baseline_comparisons={})
    assert [*parts.baseline_sections(nothing)] == []


def test_baselines_without_ratings_have_no_column_of_people(two):
    comparison = next(iter(two.baseline_comparisons.values()))
    people = replace(comparison.people, others=0, one_person=None, same_again=None, ceilings=None)
    (table, *_) = parts.baseline_blocks(replace(comparison, people=people, intent=None))
    assert isinstance(table, Table)

    assert table.columns == ("Baseline", "Accuracy, 95 % interval", "Pearson's r")
    assert [row[0] for row in table.rows] == ["The judge", "A constant verdict"]


def test_words_and_a_key_are_baselines_where_they_are_known(two):
    comparison = next(iter(two.baseline_comparisons.values()))
    share = Estimate("accuracy", 0.6, 0.5, 0.7, 16.0, 0, "made up")
    blocks = [
        *parts.baseline_blocks(
            replace(comparison, words={"accuracy": share}, words_of=9, key=share, key_named="purpose")
        )
    ]
    (table,) = blocks
    assert isinstance(table, Table)

    assert [(str(row[0]), row[1], row[3]) for row in table.rows[1:3]] == [
        (
            "Words alone (linear classifier of the context's words, queries held out; of 9 items drawn at random)",
            "60.0 % [50.0, 70.0]",
            "–",
        ),
        ("The purpose alone, queries held out", "60.0 % [50.0, 70.0]", "–"),
    ]


def test_judges_stand_beside_people_and_say_what_cannot_be_tested(two):
    blocks = [*parts.people_blocks(two.people, two.among_people)]

    assert table_named(blocks, "reach").rows[0][:2] == ("Pearson's r", "at most 0.791 [0.170, 0.945]")
    assert table_named(blocks, "reach").rows[2] == ("Brier score", "at least 0.0556", "noise of the votes")
    assert table_named(blocks, "judges-and-people").rows[1][2:] == (
        "fewer than 1 [fewer than 1, more than any panel]",
        "–",
        "16",
    )
    assert [row[5] for row in table_named(blocks, "new-person").rows] == ["no worse", "not shown"]
    assert prose(blocks)[-1] == (
        "cautious (binary): alternative annotator test: annotators share a median of 16 items with others; the test needs 30."
    )
    assert [*parts.new_person_table(())] == []
    assert parts.people_worth(None) == "–"


def test_subsets_have_the_second_study_where_people_rated_and_the_best_where_items_are_hard(two):
    clear = next(iter(two.subsets))
    hard = replace(clear, subset="hard", second_study=None, best=0.8, n=3.4, items=9)
    table, note = parts.subset_blocks(two.subsets)
    with_hard, explained = parts.subset_blocks([hard])
    assert isinstance(table, Table)
    assert isinstance(with_hard, Table)

    assert table.columns == ("Items", "Judge", "Number", "Accuracy, 95 % interval", "Words alone", "Second study")
    assert table.rows[0] == ("clear", "kind (binary)", "8", "100.0 % [54.1, 100.0]", "–", "85.7 %")
    assert with_hard.columns == ("Items", "Number", "Accuracy, 95 % interval", "Words alone", "Best")
    assert with_hard.rows[0][1] == "3 of 9"
    assert prose([note]) == ["Clear: at least 70 % of the votes agree; close: fewer than 70 % of the votes agree."]
    assert "One half of the votes selects the hard items" in prose([explained])[0]
    assert [*parts.subset_blocks(())] == []


def test_the_value_of_each_part_of_the_context_is_drawn_around_zero():
    def row(part, metric, estimate, worth="left out"):
        return {
            "judge": "gpt",
            "elicitation": "binary",
            "worth": worth,
            "part": part,
            "metric": metric,
            "n": 16.0,
            "estimate": estimate,
            "ci_low": -0.05,
            "ci_high": 0.234,
            "n_unscored": 0,
            "method": "made up",
        }

    rows = [row("sender", "accuracy", 0.1), row("recipient", "accuracy", None), row("sender", "auroc", 0.02)]
    note, chart, shapley = parts.arms_blocks(pl.DataFrame([*rows, row("sender", "accuracy", 0.01, "shapley")]))
    assert isinstance(chart, Forest)
    assert isinstance(shapley, Forest)

    assert prose([note])[0].startswith("A value above zero means that the part helps the judge")
    assert (chart.name, chart.ends, shapley.name) == ("arms-left-out-binary", (-0.3, 0.3), "arms-shapley-binary")
    assert [(heading, [row.label for row in rows]) for heading, rows in chart.groups] == [
        ("Accuracy", ["sender"]),
        ("AUROC", ["sender"]),
    ]
    assert len(chart.table.rows) == 3
