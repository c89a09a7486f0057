"""Two contexts beside each other: pairs of a query, and contexts that are too alike."""

from __future__ import annotations

import pytest
from tests.contexts.wordings import FIELDS, OTHER, wording

from casewise.contexts.checks import (
    PairComparison,
    PairKind,
    Wording,
    compare_pair,
    find_alike,
    is_identical_pair,
    pair_remark,
    wording_difference,
)

PLAIN, CASHIER = wording(), wording(recipient__type="Cashier")
REST = tuple(name for name in FIELDS if name != "recipient.type")


def of_words(text):
    """A context of one parameter with these words."""
    return Wording(subject=text)


def test_a_pair_lists_what_differs_and_what_is_the_same_in_reading_order():
    assert compare_pair(PLAIN, CASHIER) == PairComparison(("recipient.type",), REST, PairKind.NEARLY_IDENTICAL)


def test_a_parameter_that_only_one_of_a_pair_states_differs():
    found = compare_pair(PLAIN, wording(subject="a customer"))

    assert found.differing == ("subject",)
    assert compare_pair(wording(subject="a customer"), PLAIN).differing == ("subject",)


def test_case_and_punctuation_are_no_difference():
    assert is_identical_pair(PLAIN, wording(recipient__type="BANK, clerk!"))
    assert not is_identical_pair(PLAIN, CASHIER)


def test_what_differs_beyond_what_was_meant_is_listed_only_if_that_is_stated():
    other = wording(**OTHER)

    assert compare_pair(PLAIN, other).beyond == ()
    assert compare_pair(PLAIN, other, vary=["recipient"]).beyond == tuple(
        name for name in FIELDS if not name.startswith("recipient")
    )


@pytest.mark.parametrize(
    ("other", "vary", "check", "parameter", "message"),
    [
        (PLAIN, (), "identical pair", None, "The context of the other intent says the same."),
        (
            CASHIER,
            (),
            "nearly identical pair",
            "recipient.type",
            "The context of the other intent says nearly the same.",
        ),
        (
            wording(**OTHER | {"recipient__type": "Bank clerk"}),
            ("recipient.type",),
            "pair different in nothing that was meant to vary",
            None,
            "The two contexts of this query do not differ in any parameter that was meant to vary.",
        ),
        (
            wording(**OTHER),
            ("sender", "transmission_principle", "recipient.type"),
            "pair different beyond what was meant to vary",
            "recipient.background",
            "The two contexts of this query also differ in parameters that were meant to stay the same.",
        ),
    ],
)
def test_a_pair_that_is_wrong_has_a_remark_on_the_parameter(other, vary, check, parameter, message):
    remark = pair_remark(PLAIN, other, about="the other", vary=vary)

    assert remark is not None
    assert (remark.check, remark.parameter, remark.message, remark.about) == (check, parameter, message, "the other")


def test_a_pair_that_differs_in_everything_or_in_what_was_meant_has_no_remark():
    assert pair_remark(PLAIN, wording(**OTHER), about="x") is None
    recipient = {name: text for name, text in OTHER.items() if name.startswith("recipient")}
    assert pair_remark(PLAIN, wording(**recipient), about="x", vary=["recipient"]) is None


def test_a_remark_names_a_parameter_that_its_own_context_states():
    remark = pair_remark(PLAIN, wording(subject="a customer"), about="x")

    assert remark is not None
    assert remark.parameter is None


@pytest.mark.parametrize(("common", "alike"), [(8, True), (7, False)])
def test_two_texts_are_alike_from_half_of_their_word_triples_on(common, alike):
    """Sixteen triples in both together."""
    others = 16 - common
    first = " ".join(f"w{n}" for n in range(common + 2 + others // 2))
    second = " ".join([*(f"w{n}" for n in range(common + 2)), *(f"v{n}" for n in range(others - others // 2))])

    found = find_alike({"a": of_words(first), "b": of_words(second)})
    assert bool(found) is alike
    if found:
        assert (found[0].first, found[0].second) == ("b", "a")
        assert found[0].similarity == pytest.approx(common / 16)


def test_of_several_alike_the_most_alike_and_then_the_latest_is_named():
    base = [f"w{n}" for n in range(20)]
    near, nearer = [*base[:15], *"abcde"], [*base[:18], *"fg"]
    texts = {"near": near, "nearer": nearer, "new": base}

    found = {pair.first: pair.second for pair in find_alike({key: of_words(" ".join(t)) for key, t in texts.items()})}
    assert found["new"] == "nearer"


def test_a_copy_is_of_the_first_context_that_says_so():
    found = find_alike(dict.fromkeys("abc", PLAIN))

    assert [(pair.first, pair.second, pair.similarity) for pair in found] == [("b", "a", 1), ("c", "a", 1)]


def test_a_difference_is_by_parameter_in_reading_order_of_what_either_states():
    found = wording_difference(None, wording(subject="a customer"))

    assert list(found) == [*FIELDS, "subject"]
    assert wording_difference(None, None) == {}
    assert {piece.kind for piece in found["subject"]} == {"new"}
