"""The table behind the view, of eight items whose votes and verdicts are written down, and each way to choose from it."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from tests.support.worlds import World, always

import casewise
from casewise.api import RunOptions
from casewise.errors import ConfigurationError
from casewise.evaluate.viewing import ItemFilter, RunView, ViewedTable, attacks_of, select_items, shown_series, view
from casewise.judges.plan import Selection
from casewise.records import FULL, NO_CONTEXT, Arm
from casewise.storage.run_folder import ItemNote

WORLD = World(
    "viewed",
    ("ssss", "uuuu", "su", ".", "sssu", "uuus", "sssssssssu", "ssuuu"),
    {"a": ("s", "s", "?", "s", "s", "u", "u", "u"), "b": always("u", 8)},
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return WORLD.runs(tmp_path_factory.mktemp("viewed"))


@pytest.fixture(scope="module")
def table(folders) -> ViewedTable:
    return view(*folders.values(), benchmark=WORLD.benchmark).table


def places(table, tagged=None, **wanted):
    return select_items(table, ItemFilter(**wanted), tagged=tagged or {}).places.to_list()


def test_an_item_has_peoples_label_their_rate_and_how_many_of_them_agree(table):
    rows = table.items.select("place", "label", "rate", "agreement").rows()

    assert rows[:4] == [
        (0, "safe", 1.0, 1.0),
        (1, "unsafe", 0.0, 1.0),
        (2, "tie", 0.5, 0.5),
        (3, "unrated", None, None),
    ]
    assert [row[3] for row in rows[4:]] == [0.75, 0.75, 0.9, 0.6]


def test_each_series_has_its_value_its_verdict_what_came_of_it_and_the_reason_why_nothing_did(table):
    first = table.items.select("value_0", "verdict_0", "outcome_0", "reason_0").rows()

    assert [row[0] for row in first] == [1, 1, None, 1, 1, 0, 0, 0]
    assert [row[1] for row in first] == [1, 1, None, 1, 1, 0, 0, 0]
    assert [row[2] for row in first] == ["right", "wrong", "unscored", "no label", "right", "right", "wrong", "right"]
    assert [row[3] for row in first] == [None, None, "unparsed", None, None, None, None, None]
    assert table.items["outcome_1"].to_list()[2:4] == ["no label", "no label"], "a tie is no label"


def test_values_without_a_threshold_and_items_that_were_not_asked_have_outcomes_of_their_own(tmp_path):
    options = RunOptions(selection=Selection(limit=6))

    def length(query, context):
        return float(len(query))

    run = casewise.judge(WORLD.benchmark, length, elicitations=("scalar",), out=tmp_path / "run", options=options)
    outcomes = view(run, benchmark=WORLD.benchmark).table.items["outcome_0"].to_list()

    assert (outcomes.count("no threshold"), outcomes.count("not asked")) == (6, 2)


def test_the_table_knows_what_it_holds(table):
    assert (table.n_judgements, table.arms, table.attacks, table.of_replies) == (16, ("full",), (), False)
    assert table.conditions == ("safe_generated", "unsafe_generated")
    assert table.categories == tuple(sorted(table.categories))
    assert len(table.categories) == 3
    assert table.notices == WORLD.benchmark.notes()


@pytest.mark.parametrize(
    ("arm", "attacks"),
    [
        ("full", ()),
        ("none", ()),
        ("datamark", ()),
        ("order:reversed", ()),
        ("claim:agreed/user/safe", ("claim:agreed/user/safe",)),
        ("claim:agreed/user/safe+datamark", ("claim:agreed/user/safe",)),
    ],
)
def test_only_an_attack_of_an_arm_is_one(arm, attacks):
    assert attacks_of(Arm.parse(arm)) == attacks


# One filter at a time.


def test_items_are_filtered_by_what_the_benchmark_says_of_them(table):
    category = table.items["category"][2]

    assert places(table, category=category) == [2, 3]
    assert places(table, condition="unsafe_generated") == [1, 3, 5, 7]
    assert [places(table, label=word) for word in ("safe", "unsafe", "tie", "unrated")] == [
        [0, 4, 6],
        [1, 5, 7],
        [2],
        [3],
    ]


@pytest.mark.parametrize(
    ("people", "found"), [("all", [0, 1]), ("90", [0, 1, 6]), ("75", [0, 1, 4, 5, 6]), ("split", [2, 7])]
)
def test_people_agree_from_the_bound_itself_on(table, people, found):
    assert places(table, people=people) == found


def test_items_are_filtered_by_what_came_of_a_series(table):
    assert places(table, series=0, verdict="safe") == [0, 1, 3, 4]
    assert places(table, series=0, verdict="unsafe") == [5, 6, 7]
    assert places(table, series=0, outcome="unscored") == places(table, series=0, reason="unparsed") == [2]
    assert places(table, outcome="wrong") == [0, 1, 4, 6], "any series will do"
    assert places(table, series=1, reason="unparsed") == []
    assert places(table, series=0, verdict="unsafe", outcome="wrong") == [6]


def test_a_tag_and_two_judges_that_differ_choose_items(table):
    ids = table.items["item_id"]

    assert places(table, tagged={ids[3]: ("odd",), ids[5]: ("other",)}, tag="odd") == [3]
    assert places(table, differ=True) == [0, 1, 3, 4], "without a verdict nothing differs"


def test_a_search_finds_queries_contexts_and_ids_in_any_case(table):
    assert places(table, q="CASE 2") == [2, 3]
    assert places(table, q="chat 5") == [5]
    assert places(table, q="nobody said so") == []
    owned = [item.model_copy(update={"source_id": f"Own-{place}"}) for place, item in enumerate(WORLD.benchmark.items)]
    named = view(*(judged.run.path for judged in table.judged), benchmark=WORLD.benchmark).table
    assert places(replace(named, benchmark=replace(WORLD.benchmark, items=tuple(owned))), q="own-6") == [6]


def test_a_search_finds_what_a_judge_replied(tmp_path):
    def wordy(query, context):
        return casewise.read_reply("Unsafe. Because OF reasons.") if "case 1" in query else casewise.read_reply("safe")

    run = casewise.judge(WORLD.benchmark, wordy, out=tmp_path / "run", elicitations=("binary",))
    table = view(run, benchmark=WORLD.benchmark).table

    assert len(table.replies) in (0, 8)
    assert places(table, q="because of") == ([0, 1] if len(table.replies) else [])


# Two series, and arms.


def test_two_series_part_the_items_into_cells(table):
    found = select_items(table, ItemFilter(first=0, second=1), tagged={})

    assert found.cells == {"both-right": 2, "only-first": 2, "only-second": 1, "both-wrong": 1, "rest": 2, "differ": 4}
    assert {cell: sorted(places(table, first=0, second=1, cell=cell)) for cell in found.cells} == {
        "both-right": [5, 7], "only-first": [0, 4], "only-second": [1], "both-wrong": [6], "rest": [2, 3], "differ": [0, 1, 3, 4],
    }  # fmt: skip
    assert select_items(table, ItemFilter(first=0), tagged={}).cells is None
    assert (ItemFilter(first=0, second=1).pair, ItemFilter(second=1).pair) == ((0, 1), None)


def test_the_series_shown_are_the_two_or_those_of_the_arm_the_one_asked_about_first(tmp_path, table):
    run = casewise.judge(WORLD.benchmark, "constant:safe", arms=(FULL, NO_CONTEXT), out=tmp_path / "run")
    arms = view(run, benchmark=WORLD.benchmark).table

    assert shown_series(table, ItemFilter()) == (0, 1)
    assert shown_series(table, ItemFilter(series=1)) == (1, 0)
    assert shown_series(table, ItemFilter(first=1, second=0)) == (1, 0)
    assert (shown_series(arms, ItemFilter(arm="none")), shown_series(arms, ItemFilter(arm="full"))) == ((1,), (0,))
    assert shown_series(arms, ItemFilter(attack="claim:agreed/user/safe")) == ()
    assert places(arms, differ=True) == [], "a judge does not differ from itself"
    for wrong in (ItemFilter(series=2), ItemFilter(first=2), ItemFilter(second=2)):
        with pytest.raises(ConfigurationError, match="no series 2: they are counted from 0 to 1"):
            shown_series(table, wrong)


# Orders.


@pytest.mark.parametrize(
    ("wanted", "order"),
    [
        ({}, [0, 1, 2, 3, 4, 5, 6, 7]),
        ({"down": True}, [7, 6, 5, 4, 3, 2, 1, 0]),
        ({"sort": "people"}, [1, 5, 7, 2, 4, 6, 0, 3]),
        ({"sort": "agreement", "down": True}, [0, 1, 6, 4, 5, 7, 2, 3]),
        ({"sort": "wrong", "down": True}, [6, 0, 1, 4, 2, 3, 5, 7]),
        ({"sort": "value", "series": 0}, [5, 6, 7, 0, 1, 3, 4, 2]),
        ({"sort": "value", "series": 1, "down": True}, [0, 1, 2, 3, 4, 5, 6, 7]),
        ({"first": 0, "second": 1}, [0, 1, 6, 4, 5, 7, 2, 3]),
        ({"first": 0, "second": 1, "sort": "place", "down": True}, [7, 6, 5, 4, 3, 2, 1, 0]),
        ({"sort": "value", "arm": "none"}, [0, 1, 2, 3, 4, 5, 6, 7]),
        ({"sort": "wrong", "arm": "none", "down": True}, [7, 6, 5, 4, 3, 2, 1, 0]),
    ],
)
def test_items_stand_in_the_order_that_is_wanted_and_unknown_numbers_last(table, wanted, order):
    assert places(table, **wanted) == order


# A view.


def test_a_note_is_kept_in_the_folder_of_the_first_run(folders):
    opened = view(*folders.values(), benchmark=WORLD.benchmark)
    item = WORLD.benchmark.items[0].id
    opened.note(ItemNote(item_id=item, text="odd", tags=("a",), at=datetime(2025, 1, 1, tzinfo=UTC)))

    assert isinstance(opened, RunView)
    assert opened.paths == tuple(folders.values())
    assert (opened.notes[item].text, view(folders["a"], benchmark=WORLD.benchmark).notes[item].text) == ("odd", "odd")
    assert view(folders["b"], benchmark=WORLD.benchmark).notes == {}
