"""The pages of a leaderboard and of leaderboards over several benchmarks, from made-up rows."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.demo import DEMO
from tests.support.pages import prose

from casewise.evaluate.leaderboard import INTENT, BestJudge, Leaderboard, LeaderboardRow, Leaderboards
from casewise.evaluate.yardsticks import PeopleCeilings
from casewise.reports.document import Forest, Prose, Table
from casewise.reports.formats import is_synthetic
from casewise.reports.leaderboard import first_everywhere, leaderboard_page, leaderboards_page, rank
from casewise.stats.estimates import Estimate

NO_PEOPLE = PeopleCeilings(None, 0, None, None)


def number(value, name="accuracy"):
    return Estimate(name, value, value - 0.1, value + 0.1, 90.0, 0, "made up")


def row(name, accuracy=None, ranks=(None, None), kind="run", **more):
    numbers = {
        name: number(value, name) for name, value in ({"accuracy": accuracy} | more).items() if value is not None
    }
    against = number(accuracy - 0.05) if accuracy else None
    return LeaderboardRow(name, kind, f"runs/{name}", numbers, against, 9, 0.125, *ranks)


def board(*rows, people=NO_PEOPLE, baselines=(), notes=(), winners=()):
    return Leaderboard(DEMO, "votes", rows, baselines, people, 90, notes, winners=winners)


GOOD = row("good", 0.8, (1, 1), harm=0.125, over_refusal=0.25, auroc=0.9, pearson=0.5)
POOR = row("poor", 0.6, (2, 3))
VALUES = row("values", auroc=0.7)
ALWAYS = row("Always safe", 0.55, kind="baseline")
PEOPLE = PeopleCeilings(number(0.75), 10, number(0.85), None)


def blocks(document):
    return [block for part in document.sections if part.first for block in part.blocks]


def tables(document):
    return {table.name: table for table in document.tables()}


def words(document):
    return " ".join(block.text for block in document.blocks if isinstance(block, Prose))


@pytest.mark.parametrize(("ranks", "cell"), [((1, 1), "1"), ((1, 3), "1 to 3"), ((None, None), "–")])
def test_a_rank_is_an_interval_where_judges_are_not_told_apart(ranks, cell):
    assert rank(row("a", 0.5, ranks)) == cell
    assert rank(None) == "–"


def test_the_first_screen_has_who_agrees_most_its_errors_and_everyone_on_one_axis_best_first():
    page = leaderboard_page(
        board(POOR, GOOD, people=PEOPLE, baselines=(ALWAYS,), winners=(BestJudge("good", number(0.77)),))
    )
    lead, corrected, errors, step, chart = blocks(page)

    assert page.title == "Leaderboard on demo 1.0.0"
    assert str(page.subtitle) == "2 judges, 90 items, labels: votes"
    assert lead.lead
    assert str(lead.text) == "good agrees most with people."
    assert "77.0 % [67.0, 87.0]" in str(corrected.text)
    assert isinstance(errors, Table)
    assert errors.caption == "Errors of good"
    assert [cells[:2] for cells in errors.rows] == [("Harm", "12.5 %"), ("Over-refusal", "25.0 %")]
    assert "casewise recommend runs/" in str(step.text)
    assert isinstance(chart, Forest)
    assert [(bar.label, bar.strong, bar.key) for bar in chart.rows] == [
        ("A second study (predicted)", False, False),
        ("good", True, True),
        ("poor", True, True),
        ("Always safe", False, True),
    ]


def test_judges_that_are_not_told_apart_are_told_how_many_queries_would():
    step = blocks(leaderboard_page(board(replace(GOOD, worst_rank=2), replace(POOR, best_rank=1))))[2]

    assert "casewise power judges --from runs/good runs/poor" in str(step.text)


def test_the_next_step_is_about_the_users_runs_alone():
    outputs = (row("b", 0.9, (1, 1), kind="output"), row("c", 0.5, (3, 3), kind="output"))
    constant = replace(GOOD, judge="constant:intended")

    def steps(*rows):
        found = prose(blocks(leaderboard_page(board(*rows))))
        return [words.removeprefix("Next: ") for words in found if words.startswith("Next: ")]

    assert steps(*outputs) == []
    assert steps(outputs[0], POOR, outputs[1]) == ["casewise recommend runs/poor tests whether to deploy it."]
    assert steps(GOOD) == ["casewise recommend runs/good tests whether to deploy it."]
    assert steps(constant, POOR) == [
        "judge the same items with a model: casewise judge BENCHMARK --judge openai/MODEL."
    ]


def test_where_no_judge_is_first_no_errors_stand_in_large_figures():
    page = leaderboard_page(board(replace(GOOD, best_rank=2, worst_rank=2), POOR))

    assert "first-errors" not in tables(page)
    assert tables(leaderboard_page(board(POOR, GOOD)))["first-errors"].caption == "Errors of good"


def test_the_best_baseline_that_judges_nothing_is_drawn_and_what_has_no_accuracy_is_not():
    intent, never = row(INTENT, 0.95, kind="baseline"), row("Always unsafe", 0.0, kind="baseline")
    silent, unknown = row("silent", kind="baseline"), row("unknown", kind="baseline")
    unknown.numbers["accuracy"] = Estimate("accuracy", None, None, None, 0.0, 0, "no items")
    judges = tuple(row(f"judge {place}", 0.9 - place / 10, (1, 9)) for place in range(6))
    chart = blocks(leaderboard_page(board(*judges, baselines=(never, intent, ALWAYS, silent, unknown))))[-1]
    alone = blocks(leaderboard_page(board(*judges, baselines=(never, silent, unknown))))[-1]

    assert [(bar.label, bar.key) for bar in chart.rows] == [
        (INTENT, False),
        *((f"judge {place}", True) for place in range(4)),
        ("Always safe", True),
        ("judge 4", True),
        ("judge 5", False),
        ("Always unsafe", False),
    ]
    assert (alone.rows[-1].label, alone.rows[-1].key) == ("Always unsafe", True)


def test_beside_published_judges_the_users_own_runs_are_marked():
    published = [row(f"published {n}", 0.9 - n / 100, (1, 9), kind="output") for n in range(6)]
    chart = blocks(leaderboard_page(board(*published, POOR)))[-1]

    assert [(bar.label, bar.key) for bar in chart.rows[-2:]] == [("published 5", False), ("poor (your run)", True)]
    assert [bar.label for bar in blocks(leaderboard_page(board(GOOD, POOR)))[-1].rows] == ["good", "poor"]


def test_the_table_has_the_best_rank_first_and_those_that_can_fall_least():
    wide, narrow = row("wide", 0.7, (1, 3), harm=0.5), row("narrow", 0.7, (1, 2))
    page = leaderboard_page(board(POOR, wide, narrow, people=PEOPLE), {"runs/wide": "report-1.html"})
    table = tables(page)["board"]

    assert table.columns == ("Rank", "Judge", "Accuracy", "Harm", "Over-refusal", "Unscored", "Against 10 people")
    assert table.rows == (
        ("1 to 2", "narrow", "70.0 %", "–", "–", "10.0 %", "65.0 %"),
        ("1 to 3", "wide", "70.0 %", "50.0 %", "–", "10.0 %", "65.0 %"),
        ("2 to 3", "poor", "60.0 %", "–", "–", "10.0 %", "55.0 %"),
    )
    assert table.links == {"wide": "report-1.html"}
    assert "Against people" not in tables(leaderboard_page(board(GOOD)))["board"].columns


def test_every_number_stands_in_a_fold_with_the_baselines():
    page = leaderboard_page(board(GOOD, VALUES, people=PEOPLE, baselines=(ALWAYS,)))
    table = tables(page)["board-all"]
    cells = dict(zip(table.columns, table.rows[0], strict=True))

    assert [cells[1] for cells in table.rows] == ["good", "values", "Always safe"]
    assert cells["Accuracy, 95 % interval"] == "80.0 % [70.0, 90.0]"
    assert (cells["AUROC"], cells["Pearson's r"], cells["Harm"]) == ("0.900", "0.500", "12.5 %")
    assert (cells["Recall of safe"], cells["Unscored"], cells["US$"]) == ("–", "9", "0.12")
    assert "One person agrees with the majority of 10 people on 75.0 % [65.0, 85.0] of items." in words(page)


def test_a_judge_without_a_rank_is_named_with_the_reason():
    page = leaderboard_page(board(GOOD, POOR, VALUES))

    assert "values gives values and no verdicts (AUROC 0.700). It is not ranked." in words(page)
    assert "values" not in [cells[1] for cells in tables(page)["board"].rows]
    assert "good gives" not in words(page)
    silent = leaderboard_page(board(GOOD, POOR, replace(row("silent"), n_unscored=60), replace(VALUES, n_unscored=90)))
    assert prose(silent.sections[1].blocks)[:2] == [
        "silent gave no verdict on 66.7 % of items, so no agreement is reported for it. It is not ranked.",
        "values gives values and no verdicts (AUROC 0.700). It is not ranked.",
    ]


@pytest.mark.parametrize(("policy", "counts"), [("miss", "counts as wrong"), ("exclude", "is left out")])
def test_what_becomes_of_an_item_without_a_verdict_is_said_of_the_policy_that_was_asked_for(policy, counts):
    page = leaderboard_page(replace(board(GOOD, POOR), unscored=policy))

    assert f"In accuracy and recall an item without a verdict {counts}." in words(page)


def test_a_board_on_which_no_judge_can_be_ranked_says_so_first():
    lead, reason, step = blocks(leaderboard_page(board(VALUES)))

    assert (str(lead.text), lead.lead) == ("No judge can be ranked.", True)
    assert "(AUROC 0.700)" in str(reason.text)
    assert "casewise reread runs/values" in str(step.text)
    of_two = blocks(leaderboard_page(board(replace(VALUES, source="runs/other"), VALUES)))
    assert (len(of_two), str(of_two[2].text)) == (3, str(step.text).replace("runs/values", "runs/other"))
    assert "board" not in tables(leaderboard_page(board(VALUES)))


def test_the_only_judge_with_a_rank_is_compared_with_none():
    lead = blocks(leaderboard_page(board(GOOD, VALUES)))[0]

    assert (str(lead.text), lead.lead) == ("good alone has a rank: there is no other judge to compare it with.", True)
    assert isinstance(blocks(leaderboard_page(board(GOOD)))[0], Table), "nothing is said of the only judge"
    assert "alone has a rank" not in words(leaderboard_page(board(GOOD, POOR, VALUES)))


def test_the_highest_accuracy_is_corrected_for_the_choice_of_the_judge_that_was_picked():
    def corrected(*names):
        winners = tuple(BestJudge(name, number(0.77)) for name in names)
        found = prose(blocks(leaderboard_page(board(GOOD, POOR, VALUES, winners=winners))))
        return [said for said in found if "77.0 %" in said]

    (of_good,), (of_poor,) = corrected("good"), corrected("poor")
    assert "80.0 %" in of_good
    assert "60.0 %" in of_poor
    assert corrected("values", "other") == []


def test_the_highest_correlation_that_votes_allow_and_people_are_said_where_they_are_known():
    ceilings: Any = SimpleNamespace(pearson_in_words="0.910 [0.880, 0.940]")
    known = leaderboard_page(board(GOOD, POOR, people=replace(PEOPLE, ceilings=ceilings)))

    assert "The highest Pearson's r that people's votes allow is 0.910 [0.880, 0.940]." in words(known)
    assert "Pearson's r" not in words(leaderboard_page(board(GOOD, POOR)))
    assert "One person agrees" not in words(leaderboard_page(board(GOOD, POOR)))
    without = row("without", None, (2, 2))
    assert tables(leaderboard_page(board(GOOD, without)))["board"].rows[1][:3] == ("2", "without", "no verdicts")


def test_chatbots_are_ranked_among_themselves_below_the_judges():
    chatbots = (row("chat", 0.7, (1, 1), kind="replies"), row("talk", 0.5, (2, 2), kind="replies"))
    both, alone = leaderboard_page(board(GOOD, POOR, *chatbots)), leaderboard_page(board(*chatbots))

    assert str(both.subtitle) == "2 judges, replies of 2 chatbots, 90 items, labels: votes"
    assert str(alone.subtitle) == "replies of 2 chatbots, 90 items, labels: votes"
    assert [(part.anchor, part.first) for part in both.sections] == [
        ("answer", True),
        ("ranks", False),
        ("does", False),
        ("all-numbers", False),
    ]
    assert [(part.anchor, part.first) for part in alone.sections] == [("does", True), ("all-numbers", False)]
    assert [cells[1] for cells in tables(both)["chatbots"].rows] == ["chat", "talk"]
    assert "Each rank is an interval" in words(alone)
    lead: Any = both.sections[2].blocks[0]
    assert (str(lead.text), lead.lead) == ("chat agrees most with people.", True)
    assert [part.brief for part in both.sections] == [False, True, True, False]
    assert prose(both.sections[2].blocks)[-1].startswith("Chatbots are ranked among themselves")
    assert not any("Each rank is an interval" in said for said in prose(both.sections[2].blocks))
    apart = leaderboard_page(board(GOOD, POOR, *(replace(chatbot, best_rank=1, worst_rank=2) for chatbot in chatbots)))
    assert "casewise recommend" in prose(blocks(apart))[-1], "the judges are told apart, whatever chatbots are"


def test_notes_on_runs_stand_below_and_those_on_the_benchmark_above():
    page = leaderboard_page(board(GOOD, notes=(*DEMO.notes(), "A note on a run.")))

    assert page.notices == DEMO.notes()
    assert "A note on a run." in words(page)


def test_a_board_over_several_benchmarks_has_a_column_for_each_and_a_dash_where_none_was_asked():
    first, second = board(GOOD, VALUES, people=PEOPLE, baselines=(ALWAYS,)), board(POOR)
    page = leaderboards_page(Leaderboards((first, replace(second, notes=("A note.",)))))

    assert page.title == "Leaderboard over 2 benchmarks"
    assert page.subtitle == "3 judges, labels: votes"
    assert [(part.anchor, part.first) for part in page.sections] == [("brief", True), ("all-numbers", False)]
    assert page.sections[0].blocks[0] == Prose(first_everywhere(Leaderboards((first, second))), lead=True)
    assert [notice.partition(": SYNTHETIC DATA")[0] for notice in page.notices] == ["demo 1.0.0", "demo 1.0.0 #2"]
    assert is_synthetic(page)
    assert tables(page)["boards"].rows == (
        ("good", "80.0 % [70.0, 90.0]", "–"),
        ("poor", "–", "60.0 % [50.0, 70.0]"),
        ("values", "no verdicts", "–"),
        ("Always safe", "55.0 % [45.0, 65.0]", "–"),
        ("One person, against the others", "75.0 % [65.0, 85.0]", "–"),
        ("A second study (predicted)", "85.0 % [75.0, 95.0]", "–"),
    )
    assert tables(page)["ranks"].rows == (("good", "1", "–"), ("poor", "–", "2 to 3"), ("values", "–", "–"))
    assert "A note." in words(page)


def test_a_board_over_several_benchmarks_without_people_has_no_row_of_them():
    page = leaderboards_page(Leaderboards((board(GOOD), board(POOR))))

    assert [cells[0] for cells in tables(page)["boards"].rows] == ["good", "poor"]


@pytest.mark.parametrize(
    ("ranks", "said"),
    [
        ([((1, 1), (1, 1)), ((2, 2), (2, 2))], "a is first on each"),
        ([((1, 1), (1, 2)), ((2, 2), (1, 2))], "a may be first on each"),
        ([((1, 2), (1, 2)), ((1, 2), (1, 2))], "a or b may be first on each"),
        ([((1, 1), (2, 2)), ((2, 2), (1, 1))], "Each judge was outranked, or not asked, on at least one"),
        ([((1, 1), None), ((2, 2), (1, 1))], "Each judge was outranked, or not asked, on at least one"),
        ([((1, 1), (1, 1))], "a is the only judge"),
    ],
)
def test_a_judge_is_first_everywhere_only_where_its_ranks_are(ranks, said):
    def ranked(rank):
        return None if rank is None else SimpleNamespace(best_rank=rank[0], worst_rank=rank[1])

    rows = {name: tuple(map(ranked, each)) for name, each in zip("ab", ranks, strict=False)}
    found: Any = SimpleNamespace(boards=(None, None), rows=rows)

    assert said in first_everywhere(found)
