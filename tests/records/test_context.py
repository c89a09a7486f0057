"""Contexts: what they state, what makes two of them the same, and the sets of parameters that they state."""

import re

import pytest
from pydantic import ValidationError
from tests.support.demo import DEMO

from casewise.errors import ConfigurationError, DataError
from casewise.records import (
    GROUPS,
    PARAMETERS,
    Context,
    ParameterSet,
    Recipient,
    StatedTexts,
    TransmissionPrinciple,
    action_parameters,
    as_text,
    paper_parameters,
)
from casewise.records.base import content_id
from casewise.records.context import OPTIONAL, omit, parameter_texts, reading_order, sorted_names

CONTEXT = DEMO.contexts[0]
OWN = {"caller": {"role": "a nurse", "years": 3}}


def context(**changes):
    return Context.model_validate(CONTEXT.model_dump(exclude={"id", "lineage_id"}) | changes)


def background(stated):
    return context(recipient={"type": "a user", "background": stated})


def own(**changes):
    return Context.model_validate({"query_id": "q_1", "origin": "imported", "own": OWN} | changes)


def test_a_number_and_its_digits_are_different_statements():
    stated = [False, "false", 45, "45", 45.5, "45.5", {"age": 45}, {"age": "45"}, ["45"], [45], True, 1]

    assert len({background(value).id for value in stated}) == len(stated)


def test_what_is_null_under_a_heading_is_kept_and_is_no_other_statement_than_none():
    one, other = background({"age": None, "job": "nurse"}), background({"job": "nurse"})

    assert one.id == other.id
    assert one.recipient.background == {"age": None, "job": "nurse"}
    assert Context.model_validate_json(one.line()) == one


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ("plain; text", "plain; text"),
        (
            {"general_usage": False, "member": True, "age": 45, "dose": 2.5, "since": None, "jobs": ["nurse", 3]},
            "general usage: no; member: yes; age: 45; dose: 2.5; since: not stated; jobs: nurse; jobs: 3",
        ),
        (
            {"previous_talk": ["short", "polite"], "job": {"main_role": "cook"}},
            "previous talk: short; previous talk: polite; job, main role: cook",
        ),
        (["one", {"a": "two"}], "one; a: two"),
    ],
)
def test_a_statement_is_said_in_words(stated, said):
    assert as_text(stated) == background(stated).texts()["recipient.background"] == said


@pytest.mark.parametrize(
    ("stated", "problem"),
    [
        ("", "states an empty text"),
        (" \n", "states a text of spaces"),
        ({}, "states {}"),
        ([None, {"a": [{}]}], "under 2, 'a', 1 it states {}"),
        ({"a": float("nan")}, "under 'a' it states nan"),
        (b"bytes", "states b'bytes'"),
        (None, "states null"),
        (b"x" * 99, f"states b'{'x' * 78};"),
    ],
)
def test_what_states_nothing_is_refused_and_named(stated, problem):
    with pytest.raises(ValidationError) as refused:
        background(stated)
    assert re.search(
        re.escape(f"Value error, {problem.removesuffix(';')}") + "; a parameter is a text", str(refused.value)
    )


def test_who_wrote_a_context_and_where_it_comes_from_is_not_its_identity():
    assert context(origin="generated").id == context(provenance={"by": "somebody else"}).id == CONTEXT.id


@pytest.mark.parametrize(
    "change",
    [{"intended_safe": None}, {"query_id": "q_1"}, {"subject": "a patient"}, {"own": OWN}],
    ids=lambda c: next(iter(c)),
)
def test_another_query_another_intent_and_another_statement_make_another_context(change):
    assert context(**change).id != CONTEXT.id


def test_a_parameter_that_is_absent_is_one_that_is_null():
    principle = CONTEXT.shown()["transmission_principle"]
    without = {name: text for name, text in principle.items() if name != "urgency"}

    assert context(transmission_principle=without).id == context(transmission_principle=without | {"urgency": None}).id
    assert context(transmission_principle=without).id != CONTEXT.id


def test_only_urgency_may_be_left_unsaid():
    TransmissionPrinciple(sender_purpose="a", confidentiality="b", source_accountability="c")
    with pytest.raises(ValidationError, match="confidentiality"):
        TransmissionPrinciple(sender_purpose="a", source_accountability="c")  # type: ignore[call-arg]


def test_a_revised_context_keeps_its_line():
    revised = context(recipient=Recipient(type="A nurse", background="On call"), lineage_id=CONTEXT.lineage_id)

    assert revised.id != CONTEXT.id
    assert revised.lineage_id == CONTEXT.lineage_id == CONTEXT.id


def test_the_two_contexts_of_a_query_and_an_origin_share_a_pair():
    pair = content_id("p", {"query_id": CONTEXT.query_id, "origin": "revised"})

    assert context(intended_safe=False, subject="a patient").pair_id == CONTEXT.pair_id == pair
    assert context(origin="generated").pair_id != pair


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"own": {"caller": {}}}, "'own' states 'caller', which stands beside it or says nothing"),
        ({"own": {"subject": {"name": "x"}}}, "'own' states 'subject'"),
        (
            {"own": {"recipient": {"type": "x"}}, "recipient": {"type": "a", "background": "b"}},
            "'own' states 'recipient'",
        ),
        ({"own": None}, "it states nothing"),
    ],
)
def test_each_group_is_stated_once_and_something_is_stated(changes, problem):
    with pytest.raises(ValidationError, match=problem):
        own(**changes)


def test_a_group_of_the_papers_that_is_not_whole_is_one_of_its_own():
    made = Context.from_groups(
        {"recipient": {"type": "a nurse"}, "sender": CONTEXT.shown()["sender"], "subject": "a patient", **OWN},
        query_id="q_1",
        origin="imported",
    )

    assert made.own == {"recipient": {"type": "a nurse"}, **OWN}
    assert made.sender == CONTEXT.sender
    assert list(made.shown()) == ["sender", "recipient", "caller", "subject"]
    assert made.texts()["caller.years"] == "3"
    assert list(made.texts())[-1] == "subject"


@pytest.mark.parametrize(
    "made",
    [
        CONTEXT,
        context(provenance={"by": "ann"}, subject="a patient", information_type="dosage"),
        context(transmission_principle=CONTEXT.shown()["transmission_principle"] | {"urgency": None}),
        background({"role": "cook"}),
        own(provenance={"by": "ann"}),
    ],
    ids=["plain", "with an author", "without urgency", "under headings", "own groups"],
)
def test_a_line_states_what_its_record_states(made):
    found = StatedTexts.from_line(made.line())

    assert found == made.written == StatedTexts(made.texts(), made.provenance.by if made.provenance else None)
    assert list(found[0]) == list(made.texts())


@pytest.mark.parametrize("names", [("recipient",), ("recipient.type",), ("sender", "transmission_principle.urgency")])
def test_what_is_left_out_is_not_shown(names):
    shown = omit(CONTEXT.shown(), sorted_names(names))

    gone = {name for name in PARAMETERS if name in names or name.split(".")[0] in names}
    assert set(parameter_texts(shown)) == set(PARAMETERS) - gone
    assert all(parts for parts in shown.values())


def test_a_group_of_which_nothing_is_left_disappears_and_a_subject_can_be_left_out():
    shown = context(subject="a patient", information_type="dosage").shown()

    left = omit(shown, ("recipient.type", "recipient.background", "subject"))

    assert list(left) == ["sender", "transmission_principle", "information_type"]


def test_names_are_put_in_reading_order_without_those_of_a_named_group():
    assert sorted_names(["subject", "recipient.type", "sender", "sender.platform_type", "subject"]) == (
        *("sender", "recipient.type", "subject"),
    )
    assert reading_order(["zone.b", "caller", "sender", "caller.role"]) == ("sender", "caller", "zone.b")


def test_a_name_that_nothing_can_have_is_refused_with_the_nearest_one():
    with pytest.raises(ConfigurationError) as refused:
        sorted_names(["recipient.typ", "sender"])
    assert str(refused.value) == (
        "no parameter of a context is called 'recipient.typ' (did you mean 'recipient.type'?); there are: "
        f"{', '.join((*GROUPS, *PARAMETERS, *OPTIONAL))}"
    )
    for name in ("Caller", "a.b.c", "a b", ""):
        with pytest.raises(ConfigurationError, match="no parameter of a context is called"):
            reading_order([name])


DESK = {
    "name": "desk",
    "groups": [
        {"name": "caller", "title": "Who calls", "parameters": [{"name": "role", "title": "Their role"}, {"name": "town", "may_be_missing": True}]},
        {"name": "line", "parameters": [{"name": "recorded", "meaning": "whether it is recorded"}]},
    ],
}  # fmt: skip


def test_a_set_of_parameters_lists_what_contexts_may_and_must_state():
    desk = ParameterSet.model_validate(DESK)

    assert desk.names == ("caller.role", "caller.town", "line.recorded")
    assert desk.all_names == (*desk.names, "subject", "information_type")
    assert desk.required == ("caller.role", "line.recorded")
    assert desk.group_names == ("caller", "line")
    assert desk.titles == {"caller": "Who calls", "caller.role": "Their role"}
    assert desk.meanings == {"caller.role": "Their role", "line.recorded": "whether it is recorded"}


@pytest.mark.parametrize(
    ("stated", "problem"),
    [
        ({"caller": {"role": "a nurse"}, "line": {"recorded": True}}, None),
        ({"caller": {"role": "a nurse", "town": "Bern"}, "line": {"recorded": True}}, None),
        ({"caller": {"town": "Bern"}, "line": {"recorded": True}}, "states nothing for 'caller.role', which 'desk' asks of every context"),
        ({"caller": {"role": "a nurse", "age": 3}, "line": {"recorded": True}}, "states 'caller.age', which 'desk' does not have"),
    ],
)  # fmt: skip
def test_a_context_fits_a_set_that_has_what_it_states(stated, problem):
    desk = ParameterSet.model_validate(DESK)

    assert desk.problem(own(own=stated, subject="a patient")) == problem


def test_a_context_of_the_paper_has_all_three_groups():
    paper = paper_parameters()

    assert paper.names == PARAMETERS
    assert set(paper.names) - set(paper.required) == {"transmission_principle.urgency"}
    assert paper.problem(CONTEXT) is None
    assert paper.problem(context(transmission_principle=None)) == "states nothing in 'transmission_principle'"
    assert paper.problem(context(sender=None)) == (
        "states nothing for 'sender.nature_of_the_interaction', which 'CASE-Bench' asks of every context"
    )
    assert "states nothing for 'sender." in str(paper.problem(own()))


def test_names_of_a_set_are_its_groups_and_parameters():
    desk = ParameterSet.model_validate(DESK)

    desk.check_names(["caller", "line.recorded", "subject"])
    with pytest.raises(
        ConfigurationError, match=r"'line\.record' \(did you mean 'line\.recorded'\?\); there are: caller, line, "
    ):
        desk.check_names(["line.record"])


def test_an_agents_actions_have_a_set_of_their_own():
    assert action_parameters().required == ("sender.agent", "recipient.who", "transmission_principle.purpose")
    assert all(name in action_parameters().meanings for name in action_parameters().names)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name = ", "not a set of parameters in TOML"),
        ('name = "x"\ngroups = []', "groups"),
        ('name = "x"\n[[groups]]\nname = "A b"\nparameters = [{name = "x"}]', r"groups\.0\.name"),
        ('name = "x"\n[[groups]]\nname = "subject"\nparameters = [{name = "x"}]', "'subject' is a parameter of every set"),
        ('name = "x"\n[[groups]]\nname = "a"\nparameters = [{name = "x"}, {name = "x"}]', "'a.x' stands twice"),
        (
            'name = "x"\n' + "".join(f'[[groups]]\nname = "{group}"\nparameters = [{{name = "x"}}]\n' for group in (*GROUPS, "a")),
            "a set with all three groups of the paper has no other, such as 'a'",
        ),
    ],
)  # fmt: skip
def test_a_file_that_is_no_set_is_refused(tmp_path, text, problem):
    (tmp_path / "bad.toml").write_text(text)
    with pytest.raises(DataError, match=problem):
        ParameterSet.read(tmp_path / "bad.toml")
