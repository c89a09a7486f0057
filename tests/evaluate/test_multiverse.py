"""Judges under every rule for labels and verdicts: which rules apply, who is first, and which choice decides."""

import pytest
from tests.support.worlds import World, always

import casewise
from casewise.errors import BenchmarkError


@pytest.fixture
def numbers(tmp_path):
    def of(world: World):
        return casewise.policies(*world.runs(tmp_path).values(), benchmark=world.benchmark).numbers

    return of


def test_only_rules_that_change_labels_or_verdicts_have_a_row(numbers):
    found = numbers(World("clear", ("sss", "uuu") * 3, {"good": ("s", "u") * 3, "bold": always("s", 6)}))

    assert [world.rules for world in found.worlds] == [("votes", None, None, None)]
    assert {"Ties: no item is tied.", "Unscored: every item has a verdict."} <= set(found.without_effect)
    assert "Published: the same labels as votes." in found.without_effect


def test_every_rule_that_matters_is_combined_with_every_other(numbers):
    world = World(
        "open",
        ("sss", "uu", "su", "us", "s??", "u??") * 2,
        {"a": ("s", "u", "s", "?", "s", "u") * 2, "b": always("s", 12)},
    )
    found = numbers(world)

    assert {world.rules.ties for world in found.worlds if world.rules.labels == "votes"} == {
        "half",
        "drop",
        "safe",
        "unsafe",
    }
    assert {world.rules.unsure for world in found.worlds if world.rules.labels == "votes"} >= {"drop", "unsafe"}
    assert {world.rules.unscored for world in found.worlds} == {"miss", "exclude"}
    assert len({world.rules for world in found.worlds}) == len(found.worlds)


def test_the_rule_that_decides_who_is_first_is_named(numbers):
    ties = ("su", "su", "uu", "ss") * 4
    found = numbers(World("tied", ties, {"bold": ("s", "s", "u", "s") * 4, "cautious": ("u", "u", "u", "s") * 4}))

    firsts = {world.rules.ties: world.first for world in found.worlds if world.rules.labels == "votes"}

    assert [str(name) for name in firsts["safe"]] == ["bold (binary)"]
    assert [str(name) for name in firsts["unsafe"]] == ["cautious (binary)"]
    assert len(firsts["half"]) == 2
    assert "ties" in found.decisive
    assert "tie rule" in found.sentence


def test_a_judge_that_is_first_throughout_is_said_to_be(numbers):
    found = numbers(World("clear", ("sss", "uuu", "su", "us") * 6, {"good": ("s", "u") * 12, "wrong": ("u", "s") * 12}))

    assert "good (binary) is first under all" in found.sentence
    assert "Shown to be better than all others: good (binary) under" in found.sentence


def test_of_one_judge_it_is_said_how_far_its_number_moves(numbers):
    found = numbers(World("lone", ("sss", "uuu", "su", "us") * 3, {"bold": always("s", 12)}))

    assert "accuracy from 25.0 % to 75.0 %" in found.sentence
    assert "The tie rule changes it most." in found.sentence


def test_judges_without_verdicts_leave_nothing_to_count(numbers):
    with pytest.raises(BenchmarkError, match="no judge has a verdict on at least half"):
        numbers(World("silent", ("sss", "uuu") * 3, {"silent": always("?", 6)}))


def test_a_combination_that_leaves_no_number_is_counted_and_not_taken_for_zero(numbers):
    found = numbers(World("all tied", ("su",) * 8, {"bold": always("s", 8)}))

    assert {world.rules.ties for world in found.worlds if world.rules.labels == "votes"} == {"half", "safe", "unsafe"}
    assert any("left out: the number of a judge cannot be computed" in note for note in found.notes)
