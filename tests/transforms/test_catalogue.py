from typing import get_args

import pytest
from tests.support.demo import DEMO

import casewise
from casewise.api import RunOptions
from casewise.ask.layouts import ContextRole, Placement
from casewise.ask.prompts import default_prompts
from casewise.errors import ConfigurationError
from casewise.judges.llm import LLMJudge
from casewise.judges.plan import Plan, Selection
from casewise.models.protocol import FakeModel, Message
from casewise.records import FULL, NO_CONTEXT, PARAMETERS, Arm, Group, Parameter, ParameterSet
from casewise.records.context import omit
from casewise.transforms.catalogue import TRANSFORMS, TransformKind, check_arms, needs_twin, parse_arm, show

ITEM = DEMO.items[0]
QUERY, CONTEXT = DEMO.query[ITEM.query_id], DEMO.context[str(ITEM.context_id)]

OWN = """
from dataclasses import replace
from casewise.models.protocol import Message

def swap(shown, scene):
    return replace(shown, context={**shown.context, "recipient": scene.twin.shown()["recipient"]})

def shout(shown, scene):
    return replace(shown, query=shown.query.upper())

def agreed(shown, scene):
    placement = replace(shown.placement, context_role="system", earlier=(Message("assistant", "I will answer."),))
    return replace(shown, placement=placement)

def moody(shown, scene):
    if scene.context is not None and scene.context.intended_safe:
        raise KeyError("no such thing")
    return shown

def nothing(shown, scene):
    return None
"""


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "mine", raising=False)


def test_full_shows_all_and_none_the_query_alone():
    assert show(FULL, QUERY, CONTEXT).context == CONTEXT.shown()
    assert show(NO_CONTEXT, QUERY, CONTEXT).context == {}
    assert show(FULL, QUERY, None).context == {}
    assert show(NO_CONTEXT, QUERY, CONTEXT).query == QUERY.text


@pytest.mark.parametrize("name", [*PARAMETERS, "sender", "recipient"])
def test_what_is_left_out_is_not_shown_and_the_rest_is(name):
    assert show(Arm.without(name), QUERY, CONTEXT).context == omit(CONTEXT.shown(), (name,))


def test_transforms_are_done_in_their_order():
    twin = DEMO.twin_of(ITEM)
    assert twin is not None
    swapped = show(parse_arm("python:mine:swap"), QUERY, CONTEXT, twin=twin)
    gone = show(parse_arm("python:mine:swap+without:recipient+python:mine:shout"), QUERY, CONTEXT, twin=twin)

    assert swapped.context == {**CONTEXT.shown(), "recipient": twin.shown()["recipient"]} != CONTEXT.shown()
    assert gone.context == omit(CONTEXT.shown(), ("recipient",))
    assert gone.query == QUERY.text.upper()


def test_the_other_context_of_a_pair_is_its_twin_both_ways():
    for item in DEMO.items:
        context, twin = DEMO.context_of(item), DEMO.twin_of(item)
        assert context is not None
        assert twin is not None
        assert (twin.query_id, twin.intended_safe) == (context.query_id, not context.intended_safe)
    alone = DEMO.restricted_to(DEMO.items[:1])
    assert alone.twin_of(ITEM) is None


def test_a_judge_is_shown_what_an_own_transform_makes_of_an_item():
    model = FakeModel("safe")
    arms = (FULL, parse_arm("python:mine:swap"), parse_arm("python:mine:agreed"))
    casewise.judge(DEMO, LLMJudge(model), arms=arms, options=RunOptions(selection=Selection(limit=1)))
    asked = {len(messages): [message.content for message in messages] for messages, _ in model.calls}
    recipient = DEMO.twin_of(ITEM).shown()["recipient"]["type"]  # type: ignore[union-attr]  # every item of the demo has a twin

    assert len(model.calls) == 3
    assert sum(str(recipient) in messages[0].content for messages, _ in model.calls) == 1
    assert asked[3][1] == "I will answer."
    assert str(CONTEXT.shown()["recipient"]["type"]) in asked[3][0]
    assert str(CONTEXT.shown()["recipient"]["type"]) not in asked[3][2]


def test_an_item_that_cannot_be_shown_or_is_not_changed_is_unscored_in_that_arm_alone_and_nobody_is_asked():
    model = FakeModel('{"judgement": "safe"}')
    arms = (FULL, parse_arm("python:mine:moody"))
    run = casewise.judge(DEMO, LLMJudge(model), arms=arms, options=RunOptions(selection=Selection(limit=10)))
    rows = run.judgements.filter(run.judgements["unscored_reason"].is_not_null())

    assert rows["unscored_reason"].to_list() == ["not_shown"] * 10
    assert set(rows["arm"].to_list()) == {"python:mine:moody"}
    assert (run.summary.n_judged, run.summary.n_unscored) == (10, 10)
    assert len(model.calls) == 10
    assert "python:mine:moody failed: KeyError: 'no such thing'" in next(iter(run.summary.problems))


def test_what_a_transform_returns_is_checked():
    assert "it returned None" in str(show(parse_arm("python:mine:nothing"), QUERY, CONTEXT).problem)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("half", "no arm is called 'half'; there are 'full', 'none', 'without:PARAMETER,...', 'claim:"),
        ("without:sender+thrice:all", "no arm is called 'thrice:all'"),
        ("without:Mood", "no parameter of a context is called 'Mood'"),
        ("without@2:sender", "is of version 2; this casewise does version 1"),
        ("python:mine", "is not python:MODULE:FUNCTION"),
        ("python:mine:absent", "module 'mine' has no function 'absent'"),
    ],
)
def test_an_arm_that_cannot_be_shown_is_refused_before_anything_is_asked(name, problem):
    with pytest.raises(ConfigurationError, match=problem):
        parse_arm(name)


def test_what_an_arm_leaves_out_is_a_parameter_of_the_benchmark():
    arms = (parse_arm("without:recipient.typ"),)
    with pytest.raises(ConfigurationError, match=r"called 'recipient.typ' \(did you mean 'recipient.type'"):
        Plan.for_benchmark(DEMO, LLMJudge(FakeModel("safe")), arms=arms)
    desk = ParameterSet(name="desk", groups=(Group(name="caller", parameters=(Parameter(name="role"),)),))
    check_arms((parse_arm("without:caller.role"), parse_arm("none")), desk)
    with pytest.raises(ConfigurationError, match=r"there are: caller, caller\.role, subject"):
        check_arms((parse_arm("without:recipient"),), desk)


def test_an_arm_that_is_given_as_it_is_is_checked_too():
    model = FakeModel("safe")
    with pytest.raises(ConfigurationError, match="no arm is called 'thrice:all'"):
        casewise.judge(DEMO, LLMJudge(model), arms=(Arm.parse("thrice:all"),))
    assert not model.calls


def test_a_transform_of_a_later_version_is_named_with_it(monkeypatch):
    monkeypatch.setitem(
        TRANSFORMS, "newer", TransformKind("newer", lambda shown, _scene, _rest: shown, "own", version=2)
    )

    assert parse_arm("newer").name == "newer@2"
    assert show(Arm.parse("newer@2"), QUERY, CONTEXT) == show(FULL, QUERY, CONTEXT)
    assert not needs_twin(parse_arm("newer"))
    assert needs_twin(parse_arm("python:mine:swap"))


@pytest.mark.parametrize("role", get_args(ContextRole))
def test_a_placement_decides_over_the_prompts_and_says_nothing_by_itself(role):
    prompts, shown = default_prompts(), CONTEXT.shown()
    earlier = (Message("user", "Hello."), Message("assistant", "Yes?"))
    plain = prompts.render("binary", "How?", shown)
    placed = prompts.render("binary", "How?", shown, placement=Placement(role, earlier))

    assert prompts.render("binary", "How?", shown, placement=Placement()) == plain
    assert [message.role for message in placed] == ([] if role == "user" else ["system"]) + [
        "user",
        "assistant",
        "user",
    ]
