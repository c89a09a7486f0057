"""Judges under every rule for labels and verdicts: which rules apply, who is first, and which choice decides."""

from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.worlds import World, always

import casewise
from casewise.errors import BenchmarkError
from casewise.evaluate.judged_runs import ReportOptions
from casewise.evaluate.multiverse import MultiverseNumbers, RankingUnderRules, Rules, differing_rule
from casewise.stats.estimates import Estimate


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
    assert "1 combination is left out: the number of a judge cannot be computed there." in found.notes


# What is said of combinations, of numbers that are written down.

VOTES = Rules("votes", None, None, None)


def under(rules, *, best=None, **accuracies):
    """A combination with these accuracies. `best`: the judges that none is shown to be better than, all by default."""
    numbers = {name: Estimate("accuracy", value, None, None, 9, 0, "made up") for name, value in accuracies.items()}
    most = max(accuracies.values())
    return RankingUnderRules(
        rules, 9, numbers, tuple(name for name in numbers if accuracies[name] == most), best or tuple(numbers)
    )


def said(*worlds):
    runs: Any = SimpleNamespace(benchmark=None)
    return MultiverseNumbers(runs, ReportOptions(), "accuracy", worlds, (), ())


def tied(rule, **of):
    return under(VOTES._replace(ties=rule), **of)


NOBODY = " Under none of them is one judge shown to be better than all others."


@pytest.mark.parametrize(
    ("worlds", "decisive", "sentence"),
    [
        (
            [under(VOTES, a=0.9, b=0.8, best=("a",))],
            (),
            "Only one combination of rules applies to these data. First: a. Shown to be better than all others: a under 1 of 1.",
        ),
        (
            [under(VOTES, a=0.9, b=0.9)],
            (),
            f"Only one combination of rules applies to these data. First: a and b.{NOBODY}",
        ),
        (
            [
                tied("half", a=0.9, b=0.8, best=("a",)),
                tied("drop", a=0.9, b=0.7),
                tied("safe", a=0.9, b=0.7, best=("a",)),
            ],
            (),
            "a is first under all 3 combinations of rules. Shown to be better than all others: a under 2 of 3.",
        ),
        (
            [tied("half", a=0.9, b=0.9), tied("drop", a=0.9, b=0.7)],
            ("ties",),
            f"a is first under all 2 combinations of rules, with others that are equal under 1 of them.{NOBODY}",
        ),
        (
            [tied("half", a=0.9, b=0.9, c=0.1), tied("drop", a=0.8, b=0.8, c=0.1)],
            (),
            "a and b are equal in first place under all 2 combinations of rules.",
        ),
        (
            [
                tied("half", a=0.9, b=0.8, best=("a",)),
                tied("drop", a=0.9, b=0.8),
                tied("safe", a=0.7, b=0.8, best=("b",)),
            ],
            ("ties",),
            (
                "The choice of the tie rule decides who is first: a under drop, half; b under safe. Shown to be better than "
                "all others: a under 1 of 3, b under 1 of 3."
            ),
        ),
        (  # each is first under both tie rules, so that the rule's choices do not tell them apart
            [
                tied("half", a=0.9, b=0.8),
                tied("drop", a=0.7, b=0.8),
                under(Rules("mean", "half", None, None), a=0.7, b=0.8),
                under(Rules("mean", "drop", None, None), a=0.9, b=0.8),
            ],
            ("ties", "labels"),
            f"The choice of the tie rule and of the label policy decides who is first: a under 2; b under 2.{NOBODY}",
        ),
        (  # rules that one of two does not have are no difference beside another policy
            [tied("half", a=0.9, b=0.8), under(Rules("mean", None, None, None), a=0.7, b=0.8)],
            ("labels",),
            f"The choice of the label policy decides who is first: a under votes; b under mean.{NOBODY}",
        ),
        (
            [
                under(Rules("votes", "half", "drop", None), a=0.9, b=0.8),
                under(Rules("votes", "safe", "half", None), a=0.7, b=0.8),
            ],
            (),
            f"The choice of the combination of rules decides who is first: a under 1; b under 1.{NOBODY}",
        ),
        ([under(VOTES, a=0.5)], (), "a: accuracy 50.0 % under the only combination of rules."),
        ([tied("half", a=0.5), tied("drop", a=0.5)], (), "a: accuracy 50.0 % under all 2 combinations of rules."),
        (
            [
                under(Rules("votes", "half", None, "miss"), a=0.5),
                under(Rules("votes", "drop", None, "miss"), a=0.6),
                under(Rules("votes", "half", None, "exclude"), a=0.8),
                under(Rules("votes", "drop", None, "exclude"), a=0.75),
            ],
            (),
            "a: accuracy from 50.0 % to 80.0 % over 4 combinations of rules. The rule for items without a verdict changes it most.",
        ),
    ],
)
def test_the_sentence_is_that_of_all_combinations(worlds, decisive, sentence):
    numbers = said(*worlds)

    assert (numbers.sentence, numbers.decisive) == (sentence, decisive)


def test_two_combinations_are_compared_where_one_rule_that_both_have_differs():
    half, drop = Rules("votes", "half", "drop", "miss"), Rules("votes", "drop", "drop", "miss")
    pairs = [
        (half, half, ""),
        (half, drop, "ties"),
        (half, drop._replace(unscored="exclude"), ""),
        (half, half._replace(ties=None), ""),
        (half, Rules("published", None, "drop", "miss"), "labels"),
        (half, Rules("published", None, "half", "miss"), ""),
    ]
    found = [differing_rule(under(first, a=1.0), under(second, a=1.0)) for first, second, _ in pairs]

    assert found == [rule for *_, rule in pairs]
    assert [rules.name for rules in (half, VOTES)] == ["votes, ties half, unsure drop, unscored miss", "votes"]


# What applies to the data.


def without_effect(numbers, world):
    found = numbers(world)
    return [tuple(each.rules) for each in found.worlds], [str(sentence) for sentence in found.without_effect]


NO_SCALE = "Labels mean: no rating is on a scale."


def test_rules_that_do_not_apply_or_change_nothing_are_said_with_the_reason(numbers):
    unsure = World("unsure", ("s??", "uu?") * 4, {"good": ("s", "u") * 4})
    assert without_effect(numbers, unsure) == (
        [("votes", None, "drop", None), ("votes", None, "unsafe", None)],
        [
            NO_SCALE,
            "Votes, unsure half: the same labels as votes, unsure drop.",
            "Published, unsure drop: the same labels as votes, unsure drop.",
            "Published, unsure half: the same labels as votes, unsure drop.",
            "Published, unsure unsafe: the same labels as votes, unsure unsafe.",
            "Intended: the same labels as votes, unsure drop.",
            "Ties: no item is tied.",
            "Unscored: every item has a verdict.",
        ],
    )


def test_labels_of_nobodys_votes_are_those_of_the_author(numbers):
    world = World("none", (".", ".") * 4, {"good": ("s", "u") * 3 + ("s", "?")})
    assert without_effect(numbers, world) == (
        [("intended", None, None, "miss"), ("intended", None, None, "exclude")],
        [
            "Labels votes: nobody voted.",
            "Labels published: it needs votes and an intent of the context's author.",
            NO_SCALE,
            "Unsure labels: there are none.",
            "Unscored published: it differs from miss for scores and probabilities only.",
        ],
    )


def test_a_score_without_a_verdict_counts_in_three_ways_and_a_share_of_votes_is_a_label(numbers):
    scores = World(
        "scores",
        (".", ".") * 4,
        {"good": ("s", "?", *("s", "u") * 3), "x": ("s", "u") * 3 + ("u", "u")},
        rates=(0.9, 0.2) * 4,
        elicitation="score",
        values={"s": 9.0, "u": 2.0},
    )
    found = numbers(scores)

    assert [world.rules.unscored for world in found.worlds] == ["miss", "exclude", "published"]
    assert [world.n_items for world in found.worlds] == [8, 7, 8]
    # a missing score is a miss, nothing, or the middle of the scale, which is unsafe
    assert [[world.numbers[name].estimate for name in ("good (score)", "x (score)")] for world in found.worlds] == [
        [7 / 8, 7 / 8],
        [1.0, pytest.approx(6 / 7)],
        [1.0, 7 / 8],
    ]
    assert "good (score) gave no verdict on 12.5 % of items." in found.notes
    assert found.worlds[0].first == ("good (score)", "x (score)")


def test_the_json_has_each_combination_with_its_rules(numbers):
    found = numbers(World("json", ("ss", "su") * 4, {"good": ("s", "u") * 4, "bold": always("s", 8)}))
    content = found.as_json()

    assert (content["judges"], content["metric"], content["cluster"]) == (list(found.judges), "accuracy", None)
    assert content["benchmark"]["name"] == "json"
    assert [(each["labels"], each["ties"], each["n_items"]) for each in content["combinations"]] == [
        ("votes", "half", 8),
        ("votes", "drop", 4),
        ("votes", "safe", 8),
        ("votes", "unsafe", 8),
    ]
    drop = content["combinations"][1]
    # without the ties all labels are safe
    assert (drop["first"], drop["may_be_best"]) == (["good (binary)", "bold (binary)"],) * 2
    assert (content["decisive"], content["notes"]) == (["ties"], [])
    assert content["without_effect"] == [str(sentence) for sentence in found.without_effect]
