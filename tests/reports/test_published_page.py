"""The page of the paper's tables and figures, and of outputs scored again, from made-up numbers."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.support.pages import prose, sections_of, table_named

import casewise
from casewise.evaluate.published import Influence, Omission, PaperNumbers, PaperRow
from casewise.evaluate.replay import Replay
from casewise.reports.document import Forest, Prose
from casewise.reports.published import NOT_COMPUTABLE, ablation, by_category, judges, paper_document, replay_page, whose
from casewise.stats.estimates import Estimate

DEMO = casewise.load("demo")

SIZE: Any = SimpleNamespace(n_per_group=16, n_total=80, actual_power=0.81234)
STRICT: Any = SimpleNamespace(n_per_group=22, n_total=110, actual_power=0.82)
TEST: Any = SimpleNamespace(z=np.array(12.34), log_p=np.array(-80.6))
CATEGORIES = pl.DataFrame({"category": ["fraud", "arson"], "queries": [3, 2], "h": [9.126, 2.0], "significant": [2, 0]})
STUDY = pl.DataFrame(
    {
        "safe": [0.9, 0.5, 0.8],
        "safe_low": [0.8, 0.4, 0.7],
        "safe_high": [0.95, 0.6, 0.9],
        "unsafe": [0.1, 0.5, 0.2],
        "unsafe_low": [0.05, 0.4, 0.1],
        "unsafe_high": [0.2, 0.6, 0.3],
        "p": [0.001, 0.5, 0.0125],
    }
)


def number(value, name="accuracy"):
    return Estimate(name, value, value - 0.1, value + 0.1, 90.0, 0, "made up")


def row(judge, accuracy=0.8, *, source="output", n_unscored=2):
    published = {} if accuracy is None else {"accuracy": number(accuracy)}
    return PaperRow(judge, "binary", (), source, 90, published, number(0.7), n_unscored)


OMITTED = Omission("a", "run", ("recipient", "sender"), "recall_safe", number(0.6, "recall_safe"), None)


def paper(*rows, **more):
    usual: dict[str, Any] = {
        "sample_size": SIZE,
        "strict_sample_size": STRICT,
        "influence": Influence((90, 100), (20, 80), TEST),
        "by_category": CATEGORIES,
        "case_studies": {"Figure 9": STUDY, "Figure 10": None},
        "replays": (),
        "rows": rows,
        "left_out": (),
        "unread": ("Not read.",),
        "odd": ("Odd.",),
    }
    return PaperNumbers(**usual | more)


def page(*rows, **more):
    return paper_document(paper(*rows, **more), DEMO).rendered()


PEOPLE = ["power", "contrast", "figure-3", "figure-9", "figure-10"]
JUDGES = ["table-2", "figure-5"]


@pytest.mark.parametrize(
    ("rows", "left_out", "order", "brief"),
    [
        ((), (), [*PEOPLE, *JUDGES, "not"], {"power", "contrast", "table-2", "not"}),
        ((row("a"), row("b")), (), [*PEOPLE, *JUDGES, "not"], {"power", "contrast", "table-2", "not"}),
        ((row("a"), row("b", source="run")), (OMITTED,), [*JUDGES, *PEOPLE, "not"], {"power", "contrast", *JUDGES}),
    ],
)
def test_judges_come_before_people_where_the_user_has_a_run_among_them(rows, left_out, order, brief):
    found = page(*rows, left_out=left_out)

    assert [part.anchor for part in found.sections] == ["answer", *order]
    assert {part.anchor for part in found.sections if part.brief} == brief
    assert [part.anchor for part in found.sections if part.first] == ["answer"]
    assert (found.title, found.notices) == (
        "The CASE-Bench paper, recomputed from demo",
        (*DEMO.notes(), "Not read.", "Odd."),
    )
    assert prose(found.sections[-1].blocks) == [NOT_COMPUTABLE]


def answers(*rows, **more):
    blocks = [block for block in page(*rows, **more).sections[0].blocks if isinstance(block, Prose)]
    return [block.text for block in blocks if block.lead], [block.text for block in blocks if not block.lead]


def test_the_answer_has_the_votes_and_what_is_known_of_one_judge_or_of_several():
    votes = "Under contexts meant to be safe, 90.0 % of the votes say safe. Under the others, 25.0 % do."
    how_to_read = answers()[1]
    one, of_two = answers(row("a", source="run")), answers(row("a", 0.7), row("b", 0.8))

    assert answers()[0] == [votes]
    assert answers(influence=None)[0] == []
    assert [words.startswith("Use these tables to compare with the paper.") for words in how_to_read] == [True]
    assert one == (
        [
            votes,
            (
                "By the paper's own rules, which count the author's intent as a vote, a (your run) has an accuracy of "
                "80.0 % [70.0, 90.0] (asked for binary)."
            ),
        ],
        how_to_read,
    )
    assert [len(of_two[0]), of_two[0][1].partition(":")[0]] == [
        2,
        "b has the highest of 2 accuracies against the paper's labels, which count the author's intent as a vote",
    ]
    assert answers(row("a", None))[0] == [votes], "a judge without an accuracy"


def test_the_tables_of_people_hold_the_sample_size_the_votes_the_categories_and_the_queries():
    sections = {anchor: part.blocks for anchor, part in sections_of(page()).items()}
    (chart,) = sections["figure-3"]

    assert table_named(sections["power"], "power-table").rows == (
        ("0.05, as in the paper", "16", "80", "0.8123"),
        ("0.0125, the level of its tests", "22", "110", "0.8200"),
    )
    assert table_named(sections["contrast"], "influence").rows == (
        ("safe, revised", "90.0 %", "100"),
        ("unsafe, revised", "25.0 %", "80"),
    )
    assert prose(sections["contrast"])[0].startswith("z = 12.3, log p = -81: the paper's z test")
    assert isinstance(chart, Forest)
    assert chart.ends == (0.0, 12.0)
    assert [(bar.label, bar.written) for bar in chart.rows] == [("fraud", "9.13"), ("arson", "2.00")]
    assert chart.table.rows == (("fraud", "3", "9.13", "2"), ("arson", "2", "2.00", "0"))
    assert table_named(sections["figure-9"], "religion-promotion-table").rows == (
        ("query 1", "90.0 % [80.0, 95.0]", "10.0 % [5.0, 20.0]", "0.0010"),
        ("query 2", "50.0 % [40.0, 60.0]", "50.0 % [40.0, 60.0]", "0.5000"),
        ("query 3", "80.0 % [70.0, 90.0]", "20.0 % [10.0, 30.0]", "0.0125"),
    )
    assert prose(sections["figure-9"]) == ["1 of 3 differ at 0.0125, on the two conditions that were released."]
    assert prose(sections["figure-10"]) == [
        "No query of 'social stereotype promotion' has ratings in both revised conditions."
    ]


def test_what_only_one_condition_has_is_not_compared():
    found = sections_of(page(influence=None, by_category=CATEGORIES.clear()))

    assert prose(found["contrast"].blocks) == [
        "Only one of the revised conditions has ratings, so they cannot be compared."
    ]
    assert prose(found["figure-3"].blocks) == ["No query has ratings in both revised conditions."]
    assert [len(found[name].blocks) for name in ("contrast", "figure-3")] == [1, 1]


@pytest.mark.parametrize(("highest", "end"), [(3.9, 4.0), (4.0, 4.0), (4.1, 8.0)])
def test_the_axis_of_the_categories_ends_at_a_multiple_of_four(highest, end):
    (chart,) = by_category(paper(by_category=CATEGORIES.with_columns(h=pl.Series([highest, 1.0]))))

    assert isinstance(chart, Forest)
    assert chart.ends == (0.0, end)


def test_each_judge_has_a_row_by_the_papers_rules_and_the_papers_own_are_said_to_lack_intervals():
    rows = (row("a"), row("b", None, source="run", n_unscored=None))
    table = table_named(judges(paper(*rows)), "judges-table")

    assert table.rows == (
        ("a", "binary", "0.800 [0.700, 0.900]", *["–"] * 4, "0.700 [0.600, 0.800]", "2"),
        ("b (your run)", "binary", *["–"] * 5, "0.700 [0.600, 0.800]", "–"),
    )
    assert [words.partition(" ")[0] for words in prose(judges(paper(*rows)))] == ["The"]
    assert [words.partition(" ")[0] for words in prose(judges(paper(*rows, row("c", source="paper"))))] == [
        "Rows",
        "The",
    ]
    assert prose(judges(paper())) == [
        "No judge outputs were given: add --outputs FOLDER with the release's exp folder."
    ]


def test_parameters_left_out_stand_beside_the_whole_context():
    table = table_named(ablation(paper(left_out=(OMITTED,))), "ablation-table")

    assert table.rows == (("a (your run)", "recipient, sender", "recall_safe", "0.600 [0.500, 0.700]", "–"),)
    assert [words.partition(".")[0] for words in prose(ablation(paper()))] == ["No run leaves parameters out"]
    assert [whose(row("a", source=source)) for source in ("run", "output", "paper")] == ["a (your run)", "a", "a"]


def test_each_output_has_a_table_of_its_published_numbers_and_of_those_against_votes():
    votes = {"accuracy": number(0.7), "auroc": Estimate("auroc", None, None, None, 0.0, 0, "one class")}
    by_rules = {"accuracy": number(0.81234567), "auroc": number(float("nan"), "auroc")}
    first = Replay(Path("a"), "a", "binary", (), 90, 2, votes, by_rules, ("A note.",))
    second = Replay(Path("b"), "a", "score", ("sender", "recipient"), 1, 0, votes, {})
    found = replay_page(first, second).rendered()
    tables = [*found.tables()]

    assert found.title == "a, scored again"
    assert [table.name for table in tables] == ["replay", "replay-1"]
    assert [table.caption for table in tables] == [
        "a, binary: 90 items, 2 unscored",
        "a, score, without sender, recipient: 1 item, 0 unscored",
    ]
    assert tables[0].rows == (
        ("Accuracy", "0.81235", "0.70000", "[0.600, 0.800]", "90"),
        ("AUROC", "–", "–", "one class", "0"),
    )
    assert [words.partition(":")[0] for words in prose(found.blocks)] == ["published", "votes", "A note."]
