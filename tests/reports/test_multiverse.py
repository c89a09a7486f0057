"""The page of judges under every rule: a row for each combination, with who is first."""

from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.worlds import World, always

import casewise
from casewise.reports.multiverse import multiverse_page, table
from casewise.stats.estimates import Estimate


@pytest.fixture
def page_of(tmp_path):
    def page(**judges):
        world = World("tied", ("su", "uu", "ss", "su") * 3, judges)
        return multiverse_page(casewise.policies(*world.runs(tmp_path).values(), benchmark=world.benchmark).numbers)

    return page


def test_several_judges_have_a_column_each_and_who_is_first_and_a_rule_that_does_not_apply_a_dash(page_of):
    page = page_of(bold=always("s", 12), cautious=("u", "u", "s", "u") * 3)
    (table, _) = page.rendered().tables()

    assert page.title == "2 judges on tied under every rule"
    assert page.subtitle.startswith("Accuracy under ")
    assert table.columns[:3] == ("Labels", "Ties", "Items")
    assert {*table.columns[3:5]} == {"bold (binary)", "cautious (binary)"}
    assert table.columns[5:] == ("First", "May be best")
    first = {row[1]: row[5] for row in table.rows if row[0] == "votes"}
    assert first.keys() == {"half", "drop", "safe", "unsafe"}
    assert (first["safe"], first["unsafe"]) == ("bold (binary)", "cautious (binary)")
    assert [part.anchor for part in page.sections] == ["answer", "made"]
    assert [part.first for part in page.sections] == [True, False]
    assert page.sections[0].blocks[0].lead


def test_the_only_judge_names_the_page_and_has_no_rank(page_of):
    page = page_of(bold=always("s", 12))
    (table, _) = page.rendered().tables()

    assert page.rendered().title == "bold (binary) on tied under every rule"
    assert table.columns[-1] == "bold (binary)"
    assert any("Without effect here." in str(getattr(block, "text", "")) for block in page.sections[0].blocks)


def world(*, ties=None, unscored=None, first=("a",), **numbers):
    rules = SimpleNamespace(labels="votes", ties=ties, unsure=None, unscored=unscored)
    estimates = {name: Estimate("accuracy", value, 0.5, 1.0, 40.0, 0, "made up") for name, value in numbers.items()}
    return SimpleNamespace(rules=rules, n_items=40, numbers=estimates, first=first, may_be_best=("a", "b"))


def test_a_rule_has_a_column_where_it_applies_anywhere_and_a_dash_where_it_does_not():
    worlds = (world(ties="half", a=0.75, b=0.625), world(unscored="miss", a=0.75, first=("a", "b")))
    found: Any = SimpleNamespace(worlds=worlds, judges=("a", "b"), metric="accuracy")

    assert table(found).columns == ("Labels", "Ties", "Unscored", "Items", "a", "b", "First", "May be best")
    assert table(found).rows == (
        ("votes", "half", "–", "40", "75.0 % [50.0, 100.0]", "62.5 % [50.0, 100.0]", "a", "a, b"),
        ("votes", "–", "miss", "40", "75.0 % [50.0, 100.0]", "–", "a, b", "a, b"),
    )


@pytest.mark.parametrize(("judges", "columns"), [("a", ("a",)), ("abcd", tuple("abcd")), ("abcde", tuple("abcd"))])
def test_four_judges_have_columns_and_one_alone_is_not_ranked(judges, columns):
    found: Any = SimpleNamespace(worlds=(world(),), judges=tuple(judges), metric="accuracy")
    ranks = ("First", "May be best") if len(judges) > 1 else ()

    assert table(found).columns == ("Labels", "Items", *columns, *ranks)
