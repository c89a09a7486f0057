"""The page of a judge under attack, on results that are laid down."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.support.pages import prose

from casewise.reports import robustness
from casewise.reports.document import REASONS, Forest, Prose
from casewise.reports.robustness import (
    attack_exhibits,
    first_of,
    in_short,
    leading_rows,
    offered_table,
    sections,
    sentence,
)
from casewise.stats.estimates import Estimate
from casewise.transforms.catalogue import AvailableTransform, Setting

SHARE = Estimate("turned", 0.5, 0.4, 0.6, 40, 0, "t")
NONE = Estimate("turned", 0.0, 0.0, 0.1, 40, 0, "t")
LABELS = np.array([0.0, 0.0, 1.0, 1.0])


def attack(turned=SHARE, *, towards="safe", name="claim", defence="none", is_attack=True, beyond=None, levels=None):
    """A result; `levels` receives the level of each interval that is asked for."""

    def beyond_noise_at(level):
        if levels is not None:
            levels.append(level)
        return beyond

    arm = SimpleNamespace(transforms=("place",))
    pairing = SimpleNamespace(attacked=SimpleNamespace(name=name, arm=arm))
    setting = SimpleNamespace(defence=defence, attack=name)
    return SimpleNamespace(
        setting=setting,
        towards=towards,
        turned=turned,
        is_attack=is_attack,
        pairing=pairing,
        noise=None,
        beyond_noise_at=beyond_noise_at,
    )


def numbers(*rows, **more) -> Any:
    def leading(*, n, towards):
        return [row for row in rows if row.towards == towards][:n]

    usual: dict[str, Any] = {
        "rows": rows,
        "elicitation": "binary",
        "not_shown": (),
        "unmoved": False,
        "defence_names": ("none",),
        "adaptive": (),
    }
    known = usual | more
    detectors = [
        SimpleNamespace(setting=Setting(attack=None, role=None, direction=None, defence=name))
        for name in known["defence_names"]
    ]
    return SimpleNamespace(**{"leading": leading, "defences": ("none",), "arms": detectors} | known)


def test_what_is_offered_stands_in_a_row_a_claim_with_its_channels_and_directions():
    names = ("claim:a/user/safe", "claim:a/system/unsafe", "claim:b/user/safe")
    table = offered_table("attack", [AvailableTransform(name, "attack", f"T {name}", "such") for name in names])
    plain = offered_table("defence", [AvailableTransform("delimit", "defence", "Title", "such")])

    assert table.columns == ("Name", "Channels; directions", "Description", "Example")
    assert [row[:3] for row in table.rows] == [
        ("claim:a", "user, system; safe, unsafe", "T claim:a/user/safe"),
        ("claim:b", "user; safe", "T claim:b/user/safe"),
    ]
    assert (plain.columns, plain.rows) == (("Name", "Description", "Example"), (("delimit", "Title", "such"),))


@pytest.mark.parametrize(("towards", "opposite"), [("safe", "unsafe"), ("unsafe", "safe")])
def test_the_strongest_attack_is_named_among_the_attacks_of_its_direction(towards, opposite):
    row = attack(towards=towards)
    among = numbers(row, attack(towards=towards), attack(towards=opposite), attack(towards=towards, is_attack=False))

    assert sentence(among, row) == (
        f"Of 2 attacks and defences that argue for {towards}, claim turns the most verdicts: 50.0 % [40.0, 60.0] of the 40 items "
        f"labelled {opposite} that the judge has right without the attack."
    )
    none = attack(NONE, towards=towards)
    assert sentence(numbers(none), none) == f"Of 1 attacks and defences that argue for {towards}, none turns a verdict."


def test_perturbations_stand_beside_the_strongest_attack_with_an_interval_for_its_choice(monkeypatch):
    monkeypatch.setattr(robustness, "estimate_of", lambda _noise: NONE)
    levels: list[float] = []
    row = attack(beyond=SHARE, levels=levels)
    assert "Perturbations" not in str(sentence(numbers(row), row))
    row.noise = "some"
    noted = str(sentence(numbers(row, attack()), row))
    row.beyond_noise_at = lambda _level: None

    assert "turn 0.0 % [0.0, 10.0] of such items. The difference is 50.0 points [40.0, 60.0], with" in noted
    assert levels == pytest.approx([0.95, 0.975])
    assert "Perturbations" not in str(sentence(numbers(row), row))


@pytest.mark.parametrize(("n", "words"), [(10, ""), (11, ": the first 10 of 11")])
def test_a_chart_has_the_first_ten_attacks_of_its_direction_that_turn_any_verdict(n, words):
    rows = [*(attack() for _ in range(n)), attack(towards="unsafe"), attack(is_attack=False)]

    assert first_of(numbers(*rows), "safe") == words
    assert len(leading_rows(numbers(attack(NONE), *rows), "safe")) == 9
    assert leading_rows(numbers(attack(NONE)), "safe") == []


DEFEND = "To measure a defence, attack again with --defences. casewise show attacks lists the defences."
UNMOVED = "Check whether the judge reads what it is shown. A judge that does not read the context cannot be moved by it; that does not make it robust."


@pytest.mark.parametrize(
    ("rows", "more", "sentences"),
    [
        ((), {}, []),
        ((attack(NONE),), {}, ["Of 1 attacks and defences that argue for safe, none turns a verdict."]),
        ((), {"unmoved": True}, [f"No verdict changed in any arm. {UNMOVED}"]),
        (
            (),
            {"unmoved": True, "defence_names": ("none", "detect:words")},
            [f"No verdict changed in any arm, except where a detector held items back. {UNMOVED}"],
        ),
        (
            (),
            {"elicitation": "scalar"},
            ["The judge gives scores and no verdicts. No verdict can turn, so the report gives no share."],
        ),
    ],
)
def test_the_answer_says_why_there_is_no_share(rows, more, sentences):
    assert prose(in_short(numbers(*rows, **more))) == sentences


def test_the_answer_charts_the_attacks_of_each_direction_and_tells_how_to_measure_a_defence():
    blocks = [*in_short(numbers(attack(), attack(towards="unsafe")))]
    defended = numbers(attack())
    defended.defences = ("none", "delimit")

    assert [block.name for block in blocks if isinstance(block, Forest)] == ["harm-forest", "denial-forest"]
    assert prose(blocks)[-1] == DEFEND
    assert [block.lead for block in blocks if isinstance(block, Prose)] == [True, True, False]
    assert DEFEND not in prose(in_short(defended))


def test_attacks_that_could_not_be_shown_are_counted_by_their_place(monkeypatch):
    monkeypatch.setattr(robustness, "place_of_attack", lambda _transform: "in the context")
    rows = [attack(), attack(), attack(is_attack=False)]

    assert prose(in_short(numbers(*rows, not_shown=rows[:1])))[0].startswith(
        "1 attack of 2 could not be shown to the judge on any item: 1 in the context. The judge receives"
    )


def verdicts(values, rate=()):
    sample = SimpleNamespace(safe=np.array(values, dtype=float), rate=np.array(rate, dtype=float))
    return SimpleNamespace(sample=sample, name="claim")


def shown_places(monkeypatch, rows: Sequence[Any], **more) -> list[Any]:
    monkeypatch.setattr(robustness, "exhibit", lambda _numbers, _pairing, towards, place: (towards, place))
    about = {"safe": LABELS == 0, "unsafe": LABELS == 1}
    return [*attack_exhibits(numbers(*rows, items=lambda towards, _setting: about[towards], **more))]


def turned(before, after, rate, *, asked=(True,) * 4, **more):
    row = attack(**more)
    row.pairing = SimpleNamespace(
        plain=verdicts(before, rate), attacked=verdicts(after), asked_both_ways=np.array(asked)
    )
    return row


RATE = (0.4, 0.1, 0.6, 0.9)


@pytest.mark.parametrize(("towards", "agreed", "first"), [("safe", 1, 0), ("unsafe", 3, 2)])
def test_an_example_is_the_turned_item_on_which_people_agree_most(monkeypatch, towards, agreed, first):
    before, after = LABELS, 1 - LABELS
    unasked = [at != agreed for at in range(4)]

    def places(*changes, **more):
        return shown_places(monkeypatch, [turned(*changes, towards=towards, **more)])

    assert places(before, after, RATE) == [(towards, agreed)]
    assert places(before, after, [np.nan] * 4) == [(towards, first)]
    assert places(before, after, RATE, asked=unasked) == [(towards, first)]
    assert places(before, before, RATE) == places(after, after, RATE) == places(after, before, RATE) == []
    assert places(before, after, RATE, defence="delimit") == []


def test_three_attacks_towards_safe_and_two_towards_unsafe_have_an_example(monkeypatch):
    rows = [turned(LABELS, 1 - LABELS, RATE, towards=towards) for towards in ("safe", "unsafe") * 4]

    assert shown_places(monkeypatch, rows) == [("safe", 1)] * 3 + [("unsafe", 3)] * 2


def test_an_adaptive_attacker_has_the_changed_item_on_which_people_agree_most(monkeypatch):
    arms = [verdicts(LABELS, (0.4, np.nan, 0.6, 0.9))]

    def result(*places, defence="none"):
        return SimpleNamespace(changed=tuple(("pairing", at) for at in places), defence=defence, towards="safe")

    adaptive = (result(0, 3, 2), result(), result(3, defence="delimit"))
    assert shown_places(monkeypatch, [], adaptive=adaptive, arms=arms) == [("safe", 3)]
    low = [verdicts(LABELS, (0.1, 0.6, 0.5, 0.5))]
    assert shown_places(monkeypatch, [], adaptive=(result(1, 0),), arms=low) == [("safe", 0)]


def test_the_page_explains_its_numbers_and_has_defences_and_noise_where_they_were_measured(monkeypatch):
    monkeypatch.setattr(robustness, "estimate_of", lambda _noise: NONE)
    worth = SimpleNamespace(
        defence="none", accuracy=SHARE, cost=None, silenced=SHARE, saved_safe=None, saved_unsafe=None
    )
    few = numbers(noise={}, against_people=())
    many = numbers(noise={("none", "safe"): "some"}, against_people=(), rows=(attack(is_attack=False),))
    few.defences, many.defences = (worth,), (worth, worth)
    pages = [[*sections(each)] for each in (few, many)]
    folds = [[str(getattr(fold, "summary", "")) for fold in page[-1].blocks] for page in pages]

    assert [[part.anchor for part in page] for page in pages] == [
        ["short", "how", "all-numbers"],
        ["short", "how", "defences", "all-numbers"],
    ]
    assert folds == [
        ["Verdicts compared with the labels", "Every attack"],
        ["Verdicts compared with the labels", "Noise: verdicts that turn under perturbations", "Every attack"],
    ]
    assert (
        f"corrected for all 0 attacks, defences and verdicts compared here. {REASONS}" in prose(pages[1][1].blocks)[0]
    )
