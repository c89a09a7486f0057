import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from casewise.records import (
    PARAMETERS,
    Context,
    Item,
    Query,
    Rating,
    Recipient,
    TransmissionPrinciple,
    sorry_bench,
)
from casewise.records.base import content_id, digest
from casewise.records.context import omit, sorted_names
from casewise.storage.load import load

DEMO = load("demo")
CONTEXT = DEMO.contexts[0]

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=3), inside, max_size=3),
    max_leaves=8,
)


def decomposed(value):
    if isinstance(value, str):
        return unicodedata.normalize("NFD", value)
    if isinstance(value, list):
        return [decomposed(part) for part in value]
    if isinstance(value, dict):
        return {key: decomposed(part) for key, part in value.items()}
    return value


def turned_round(value):
    if isinstance(value, dict):
        return {key: turned_round(value[key]) for key in reversed(list(value))}
    return [turned_round(part) for part in value] if isinstance(value, list) else value


@pytest.mark.slow
@given(values)
def test_a_digest_depends_on_meaning_alone(value):
    assert digest(decomposed(value)) == digest(value) == digest(turned_round(value))


def context(**changes):
    return Context.model_validate(CONTEXT.model_dump(exclude={"id", "lineage_id"}) | changes)


def background(stated):
    return context(recipient={"type": "a user", "background": stated})


def test_a_number_and_its_digits_are_different_statements():
    stated = [False, "false", 45, "45", 45.5, "45.5", {"age": 45}, {"age": "45"}, ["45"], [45], True, 1]

    assert len({background(value).id for value in stated}) == len(stated)


def test_what_is_null_under_a_heading_is_kept_and_is_no_other_statement_than_none():
    one, other = background({"age": None, "job": "nurse"}), background({"job": "nurse"})

    assert one.id == other.id
    assert one.recipient.background == {"age": None, "job": "nurse"}
    assert Context.model_validate_json(one.line()) == one


def test_a_statement_is_said_in_words():
    stated = {"general_usage": False, "member": True, "age": 45, "dose": 2.5, "since": None, "jobs": ["nurse", 3]}

    said = "general usage: no; member: yes; age: 45; dose: 2.5; since: not stated; jobs: nurse; jobs: 3"
    assert background(stated).texts()["recipient.background"] == said


@pytest.mark.parametrize(
    ("stated", "problem"),
    [
        ("", "states an empty text"),
        (" \n", "states a text of spaces"),
        ({}, "states {}"),
        ([None, {"a": [{}]}], "under 2, 'a', 1 it states {}"),
        ({"a": float("nan")}, "under 'a' it states nan"),
        (b"bytes", "states b'bytes'"),
    ],
)
def test_what_states_nothing_is_refused_and_named(stated, problem):
    with pytest.raises(ValidationError, match=re.escape(f"Value error, {problem}; a parameter is a text")):
        background(stated)


def test_who_wrote_a_context_and_where_it_comes_from_is_not_its_identity():
    assert context(origin="generated").id == context(provenance={"by": "somebody else"}).id == CONTEXT.id


def test_a_parameter_that_is_absent_is_one_that_is_null():
    principle = CONTEXT.shown()["transmission_principle"]
    without = {name: text for name, text in principle.items() if name != "urgency"}

    assert context(transmission_principle=without).id == context(transmission_principle=without | {"urgency": None}).id
    assert context(transmission_principle=without).id != CONTEXT.id


def test_two_queries_with_the_same_words_are_the_same():
    assert Query(text="caf\u00e9?", category="a").id == Query(text="cafe\u0301?", category="b", source="x").id


def test_a_record_edited_by_hand_cannot_keep_its_id():
    with pytest.raises(ValidationError, match="but the content gives"):
        Query(id=DEMO.queries[0].id, text="Something else?", category="a")


def test_records_are_frozen_and_know_no_other_keys():
    with pytest.raises(ValidationError):
        CONTEXT.intended_safe = False  # type: ignore[misc]
    with pytest.raises(ValidationError, match="Extra inputs"):
        Rating(item_id="i", verdict="safe", verdit="unsafe")  # type: ignore[call-arg]


def test_a_revised_context_keeps_its_line():
    revised = context(recipient=Recipient(type="A nurse", background="On call"), lineage_id=CONTEXT.lineage_id)

    assert revised.id != CONTEXT.id
    assert revised.lineage_id == CONTEXT.lineage_id == CONTEXT.id


@pytest.mark.parametrize("names", [("recipient",), ("recipient.type",), ("sender", "transmission_principle.urgency")])
def test_what_is_left_out_is_not_shown(names):
    shown = omit(CONTEXT.shown(), sorted_names(names))
    left = {f"{group}.{name}" for group, parts in shown.items() for name in parts}

    gone = {one for one in PARAMETERS if one in names or one.split(".")[0] in names}
    assert left == set(PARAMETERS) - gone
    assert all(parts for parts in shown.values())


def test_a_statement_with_headings_is_one_running_text():
    nested = context(
        recipient=Recipient(type="A user", background={"previous_talk": ["short", "polite"], "job": {"role": "cook"}})
    )

    assert nested.texts()["recipient.background"] == "previous talk: short; previous talk: polite; job, role: cook"


def test_only_urgency_may_be_left_unsaid():
    TransmissionPrinciple(sender_purpose="a", confidentiality="b", source_accountability="c")
    with pytest.raises(ValidationError, match="confidentiality"):
        TransmissionPrinciple(sender_purpose="a", source_accountability="c")  # type: ignore[call-arg]


@pytest.mark.parametrize(("context_id", "condition"), [(None, "safe_revised"), ("c_1", "no_context")])
def test_an_item_has_no_context_exactly_in_that_condition(context_id, condition):
    with pytest.raises(ValidationError, match="an item has no context exactly when"):
        Item(query_id="q_1", context_id=context_id, condition=condition)


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan")])
def test_a_published_rate_is_a_share(rate):
    with pytest.raises(ValidationError):
        Item.from_context(CONTEXT, published_rate=rate)


def test_the_taxonomy_has_45_categories_in_four_domains():
    taxonomy = sorry_bench()

    assert len(taxonomy.categories) == 45
    assert len(taxonomy.domains) == 4
    for category in taxonomy.categories:
        assert all(taxonomy.resolve(name) == category for name in (category.name, *category.aliases))


def test_half_a_character_has_a_digest_of_its_own():
    assert digest("\ud800") != digest("\\ud800")


def test_the_kind_is_part_of_the_id():
    assert content_id("q", "x").removeprefix("q_") != content_id("c", "x").removeprefix("c_")


@pytest.mark.parametrize(
    "value", ["é", "e\u0301", "a:null", "\ud800", {"b": [None, {"a": None}], "a": {"e\u0301": 1.5}}]
)
def test_an_id_is_the_digest_of_kind_and_content(value):
    assert content_id("q", value) == f"q_{digest({'kind': 'q', 'value': value})}"


def test_an_id_has_128_bits():
    assert len(digest("x")) * 4 == 128
