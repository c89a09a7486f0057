"""The page of judges under every rule: a row for each combination, with who is first."""

import pytest
from tests.support.worlds import World, always

import casewise
from casewise.reports.multiverse import multiverse_page


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
    assert page.sections[0].blocks[0].lead


def test_the_only_judge_names_the_page_and_has_no_rank(page_of):
    page = page_of(bold=always("s", 12))
    (table, _) = page.rendered().tables()

    assert page.rendered().title == "bold (binary) on tied under every rule"
    assert table.columns[-1] == "bold (binary)"
    assert any("Without effect here." in str(getattr(block, "text", "")) for block in page.sections[0].blocks)
