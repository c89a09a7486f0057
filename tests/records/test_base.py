"""What all records share: ids made of what they say, one line of JSON each, and short representations."""

import hashlib
import unicodedata
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, ValidationError

from casewise.records import Provenance, Query, Rating, ShortRepr
from casewise.records.base import (
    ALREADY_VALIDATED,
    canonical_json,
    content_id,
    digest,
    escape_all_surrogates,
    field_names,
    problems,
    short_repr,
)
from casewise.storage.files import first_problem

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


def test_canonical_json_is_sorted_composed_and_without_nulls():
    value = {"b": ("e\u0301", 1.5, None), "a": {"c": None, 2: True}, "Z": []}

    assert canonical_json(value) == '{"Z":[],"a":{"2":true},"b":["\u00e9",1.5,null]}'


def test_a_number_that_is_none_has_no_canonical_form():
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json([float("nan")])


def test_half_a_character_has_a_digest_of_its_own():
    assert digest("\ud800") != digest("\\ud800")


def test_the_kind_is_part_of_the_id():
    assert content_id("q", "x").removeprefix("q_") != content_id("c", "x").removeprefix("c_")


@pytest.mark.parametrize(
    "value", ["\u00e9", "e\u0301", "a:null", "\ud800", {"b": [None, {"a": None}], "a": {"e\u0301": 1.5}}, {"a": None}]
)
def test_an_id_is_the_digest_of_kind_and_content(value):
    assert content_id("q", value) == f"q_{digest({'kind': 'q', 'value': value})}"


def test_a_digest_is_128_bits_of_blake2b_over_the_canonical_json():
    assert digest("x") == hashlib.blake2b(b'"x"', digest_size=16).hexdigest() == "ee8b79dab5015bd04784f08f5b0bb660"


def test_a_record_edited_by_hand_cannot_keep_its_id():
    query = Query(text="Who is on call?", category="a")

    with pytest.raises(ValidationError, match=f"id is '{query.id}', but the content gives 'q_.*; leave the id out"):
        Query(id=query.id, text="Something else?", category="a")
    assert Query(id=query.id, text=query.text, category="b").id == query.id


def test_only_a_record_that_was_validated_before_keeps_its_id_unseen():
    line = '{"id":"q_1","text":"Who?","category":"a"}'

    assert Query.model_validate_json(line, context=ALREADY_VALIDATED).id == "q_1"
    assert Query.model_validate_json('{"text":"Who?","category":"a"}', context=ALREADY_VALIDATED).id.startswith("q_")
    with pytest.raises(ValidationError, match="but the content gives"):
        Query.model_validate_json(line, context={})


def test_records_are_frozen_and_know_no_other_keys():
    rating = Rating(item_id="i", verdict="safe")

    with pytest.raises(ValidationError, match="frozen"):
        rating.verdict = "unsafe"  # type: ignore[misc]
    with pytest.raises(ValidationError, match="Extra inputs"):
        Rating(item_id="i", verdict="safe", verdit="unsafe")  # type: ignore[call-arg]
    with pytest.raises(ValidationError, match="finite"):
        Rating(item_id="i", value=float("inf"))


def test_a_line_and_its_json_leave_out_what_is_null():
    origin = Provenance(by="Zo\u00eb", at=datetime(2026, 1, 2, tzinfo=UTC))

    assert origin.line() == '{"by":"Zo\u00eb","at":"2026-01-02T00:00:00Z"}'
    assert origin.as_json() == {"by": "Zo\u00eb", "at": "2026-01-02T00:00:00Z"}


def test_lone_surrogates_are_escaped_wherever_they_stand():
    value = {"\udc00": ["a\ud800", "\u00e9", 3, None]}

    assert escape_all_surrogates(value) == {"\\udc00": ["a\\ud800", "\u00e9", 3, None]}


@dataclass(frozen=True, repr=False)
class Table(ShortRepr):
    name: str
    rows: tuple[int, ...]
    held: str = field(default="", repr=False)


def test_a_representation_is_one_short_line():
    assert (
        repr(Table("t" * 90, tuple(range(9)), held="x")) == f"Table(name='{'t' * 27}...{'t' * 28}', rows=(0, 1, ...))"
    )
    assert repr(Rating(item_id="i", verdict="safe")).startswith("Rating(item_id='i', annotator_id=None, ")
    assert short_repr("R", {"nested": [[[1]]], "set": {1, 2, 3}}) == "R(nested=[[[...]]], set={1, 2, ...})"


@pytest.mark.parametrize(("length", "shown"), [(300, 5), (301, 4)])
def test_what_does_not_fit_in_300_characters_is_an_ellipsis(length, shown):
    """Each of the first parts is `a=` and a text in quotes, 60 characters in all; the fifth ends at the limit or beyond it."""
    values = {**dict.fromkeys("abcd", "x" * 56), "e": "x" * (length - 4 * 60 - 4)}

    written = short_repr("R", values)

    assert written.count("=") == shown
    assert written.endswith(", …)") is (shown == 4)


class Leaf(BaseModel, extra="forbid"):
    size: int
    shape: str = "round"


class Tree(BaseModel, extra="forbid"):
    name: str
    leaves: dict[str, list[Leaf]] | None = None
    age: int | None = None


def problems_of(value, whole=""):
    with pytest.raises(ValidationError) as caught:
        Tree.model_validate(value)
    return problems(caught.value, Tree, whole)


def test_problems_name_the_place_the_problem_and_the_value():
    assert problems_of({"name": "oak", "age": "old"})[0].startswith("age: Input should be a valid integer")
    assert problems_of({"name": "oak", "age": "old"})[0].endswith(" (it is 'old')")
    assert problems_of({"name": "oak", "age": []}) == ["age: Input should be a valid integer"]
    assert problems_of({"age": 3}) == ["name is missing"]
    assert problems_of(3, "the tree") == ["the tree: Input should be a valid dictionary or instance of Tree (it is 3)"]
    assert problems_of(3) == ["Input should be a valid dictionary or instance of Tree (it is 3)"]


class Even(BaseModel):
    size: Annotated[int, AfterValidator(lambda size: size if size % 2 == 0 else refuse_odd(size))]


def refuse_odd(size):
    raise ValueError(f"Value error, as they say: {size} is odd")


def test_the_words_of_a_validator_are_taken_from_its_error_and_not_from_a_sentence():
    with pytest.raises(ValidationError) as caught:
        Even.model_validate({"size": 3})
    assert problems(caught.value, Even) == ["size: Value error, as they say: 3 is odd (it is 3)"]
    assert first_problem(caught.value) == "'size': Value error, as they say: 3 is odd"


def test_names_that_are_not_known_come_first_with_the_nearest_name_of_their_place():
    value = {"leaves": {"first": [{"size": 1, "shap": "oval"}]}, "nmae": "oak"}

    assert problems_of(value) == [
        "leaves.first.0.shap is not known (did you mean 'shape'?)",
        "nmae is not known (did you mean 'name'?)",
        "name is missing",
    ]


def test_the_fields_of_a_place_are_those_of_the_record_there():
    assert field_names(Tree, []) == ["name", "leaves", "age"]
    assert field_names(Tree, ["leaves", "first", 0]) == ["size", "shape"]
    assert field_names(Tree, ["name"]) == []
