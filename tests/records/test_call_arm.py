import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from casewise.errors import ConfigurationError
from casewise.records import FULL, GROUPS, NO_CONTEXT, PARAMETERS, Arm, Transform

OMISSIONS = st.lists(st.sampled_from([*PARAMETERS, *GROUPS, "subject"]), min_size=1, max_size=5, unique=True).map(
    lambda names: Transform(kind="without", rest=",".join(names))
)
OTHERS = st.builds(
    Transform,
    kind=st.sampled_from(["twin", "claim", "data-mark"]),
    rest=st.text(max_size=12),
    version=st.integers(1, 12),
)


@given(st.lists(st.sampled_from([*PARAMETERS, *GROUPS]), max_size=6))
def test_an_arm_has_one_name_whatever_the_order_of_what_it_leaves_out(names):
    assert Arm.without(*names) == Arm.without(*reversed(names))
    assert Arm.without(*names).name == Arm.without(*reversed(names)).name


@settings(max_examples=40)
@given(st.lists(OMISSIONS | OTHERS, max_size=5))
def test_an_arms_name_holds_all_of_it(transforms):
    arm = Arm(transforms=tuple(transforms))

    assert Arm.parse(arm.name) == arm
    assert Arm(transforms=arm.transforms) == arm
    assert " " not in arm.name


@given(st.lists(OMISSIONS | OTHERS, max_size=4), st.lists(OMISSIONS | OTHERS, max_size=4))
def test_two_arms_with_one_name_are_one_arm(one, other):
    first, second = Arm(transforms=tuple(one)), Arm(transforms=tuple(other))

    assert (first == second) == (first.name == second.name)


@pytest.mark.parametrize(
    ("name", "arm"),
    [
        ("full", FULL),
        ("none", NO_CONTEXT),
        ("none", Arm.without(*GROUPS)),
        ("none", Arm.without(*GROUPS, "subject")),
        ("without:sender,recipient.type", Arm.without("recipient.type", "sender")),
        ("without:sender", Arm.without("sender.platform_type", "sender")),
    ],
)
def test_the_arms_there_always_were_are_written_as_they_always_were(name, arm):
    assert arm.name == name
    assert Arm.parse(name) == arm


def test_the_order_of_transforms_counts_and_omissions_that_follow_each_other_are_one():
    assert Arm.parse("without:sender+without:recipient").name == "without:sender,recipient"
    assert (
        Arm.parse("without:sender+twin:recipient+without:sender").name == "without:sender+twin:recipient+without:sender"
    )
    assert Arm.parse("twin:sender+none") != Arm.parse("none+twin:sender")


def test_versions_but_the_first_stand_in_the_name():
    assert Arm.parse("claim@1:authority").name == "claim:authority"
    assert Arm.parse("claim@3:authority").transforms[0].version == 3


def test_an_arm_says_what_it_leaves_out():
    assert (FULL.shows_all, FULL.only_omits, FULL.omitted) == (True, True, ())
    assert (NO_CONTEXT.shows_all, NO_CONTEXT.only_omits, NO_CONTEXT.omitted) == (False, True, GROUPS)
    twin = Arm.parse("without:subject+twin:sender+without:recipient")
    assert (twin.shows_all, twin.only_omits, twin.omitted) == (False, False, ("recipient", "subject"))


@pytest.mark.parametrize("name", ["", "Half", "full+none", "none+", "without:sender recipient", "a@0:b", ":x"])
def test_what_cannot_be_an_arms_name_is_an_error(name):
    with pytest.raises(ConfigurationError, match=r"no arm is called|no parameter of a context is called"):
        Arm.parse(name)


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("claim@2:authority", "claim@2:authority"),
        ("toml:data/set.jsonl#story/user@0da55ad1", "set.jsonl#story/user"),
        ("verified@2:data/facts.jsonl@0da55ad1@2026-06-01", "verified:facts.jsonl"),
        ("verified:a@b.jsonl@0da55ad1", "verified:a@b.jsonl"),
        ("verified:0da55ad1", "verified:0da55ad1"),
        ("none", "none"),
    ],
)
def test_a_transform_of_a_file_has_the_files_name_for_short(name, short):
    assert Arm.parse(name).short_name == Arm.parse(name).transforms[0].short_name == short


def test_the_short_name_of_an_arm_joins_those_of_its_transforms():
    assert Arm.parse("twin:all+toml:data/set.jsonl@0da55ad1").short_name == "twin:all+set.jsonl"
    assert FULL.short_name == "full"


def test_a_name_keeps_what_parts_it_by_an_escape():
    transform = Transform(kind="python", rest="my file+1.py:f?")

    assert transform.name == "python:my%20file%2B1.py:f%3F"
    assert Arm.parse(transform.name).transforms == (transform,)


def test_only_the_first_version_of_without_leaves_parameters_out():
    assert Transform(kind="without", rest="sender", version=2).omits == ()
    assert Transform(kind="twin", rest="sender").omits == ()
