"""Attacks and defences by their names, and the arms that are made of them."""

import pytest
from tests.support.demo import DEMO

from casewise.errors import ConfigurationError
from casewise.records import FULL, Arm, ParameterSet, Transform
from casewise.records.context import Group, Parameter
from casewise.transforms.catalogue import (
    DEFENCES,
    Setting,
    attack_arms,
    attack_of_transform,
    available_transforms,
    check_arms,
    direction_of,
    parse_arm,
    parse_attacks,
    parse_defences,
    setting_of,
    show,
    user_defences,
)

ITEM = DEMO.items[0]
QUERY, CONTEXT = DEMO.query[ITEM.query_id], DEMO.context[str(ITEM.context_id)]


def shown_in(name, query=QUERY):
    return show(parse_arm(name), query, CONTEXT)


def test_what_is_written_short_is_spelt_out():
    names = [one.name for one in parse_attacks("claim:authority/user, order,twin:recipient")]
    assert names == [
        "claim@4:authority/user/safe",
        "claim@4:authority/user/unsafe",
        "order:reversed",
        "order:shuffled",
        "twin:recipient",
    ]
    assert len(parse_attacks("claim:authority")) == 12
    assert len(parse_attacks("all")) == len([one for one in available_transforms() if one.role != "defence"])


def test_a_defence_that_there_is_not_is_refused():
    with pytest.raises(ConfigurationError, match=r"no defence is called 'datamarks' \(did you mean 'datamark'"):
        parse_defences("none,datamarks")


def test_twins_are_of_the_benchmarks_own_parameters():
    desk = ParameterSet(name="desk", groups=(Group(name="caller", parameters=(Parameter(name="role"),)),))
    assert [one.name for one in parse_attacks("twin", desk)] == ["twin:all", "twin:caller", "twin:caller.role"]
    with pytest.raises(ConfigurationError, match="no parameter"):
        check_arms((parse_arm("twin:recipient"),), desk)


def test_arms_are_every_attack_under_every_defence_with_each_unattacked():
    arms = attack_arms(parse_attacks("claim:authority/user/safe,order:reversed"), ("none", "datamark"))
    assert [arm.name for arm in arms] == [
        "full",
        "claim@4:authority/user/safe",
        "order:reversed",
        "datamark",
        "claim@4:authority/user/safe+datamark",
        "order:reversed+datamark",
    ]
    assert [Arm.parse(arm.name) for arm in arms] == list(arms)
    assert [setting_of(arm).defence for arm in arms] == ["none"] * 3 + ["datamark"] * 3  # type: ignore[union-attr]  # all are settings
    assert attack_arms((), ("datamark",)) == (FULL, parse_arm("datamark"))


def test_an_arm_that_leaves_something_out_is_no_setting_of_an_attack():
    for name in ("none", "without:recipient", "without:recipient+claim:authority/user/safe", "datamark+delimit"):
        assert setting_of(parse_arm(name)) is None


def test_every_attack_is_explained_and_can_be_done_by_its_name():
    for one in available_transforms():
        assert one.title
        if one.name != "none":
            check_arms((parse_arm(one.name),))
    assert {one.name for one in available_transforms() if one.role == "defence"} == set(DEFENCES)


def test_a_function_of_ones_own_is_a_defence_where_it_stands_behind_an_attack_and_alone_too():
    alone, behind = Arm.parse("python:mine:guard"), Arm.parse("claim:authority/user/safe+python:mine:guard")
    own = user_defences([alone, behind])

    assert own == {"python:mine:guard"}
    assert setting_of(alone, own) == Setting(None, None, None, "python:mine:guard")
    assert setting_of(alone) == Setting("python:mine:guard", "own", None, "none")


def test_the_direction_of_a_claim_of_ones_own_is_that_behind_the_last_slash_before_the_digest():
    assert direction_of(Transform(kind="toml", rest="mine.toml#me@work/user/safe@0f0f0f0f")) == "safe"
    assert direction_of(Transform(kind="toml", rest="a@b/mine.toml#mine/user/unsafe@0f0f0f0f")) == "unsafe"


def test_an_arm_of_claims_of_the_first_version_is_read_and_not_done_again():
    old = Arm.parse("claim:authority/user/safe+datamark")
    setting, new = setting_of(old), setting_of(parse_arm("claim:authority/user/safe"))
    assert setting is not None
    assert new is not None
    assert (setting.attack, setting.direction, setting.defence) == ("claim@1:authority/user/safe", "safe", "datamark")
    assert new.attack == "claim:authority/user/safe"
    assert attack_of_transform(old.transforms[0]) is None
    with pytest.raises(ConfigurationError, match="is of version 1; this casewise does version 4"):
        show(old, QUERY, CONTEXT)
