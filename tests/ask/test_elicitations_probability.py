import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casewise.ask.elicitations import label_mass, probability_outcome
from casewise.models.protocol import Position, Reply, TokenLogprob
from casewise.records import Scored, Unscored, UnscoredReason


def position(complete=False, **listed):
    top = sorted(listed.items(), key=lambda pair: -pair[1])
    return Position(
        top[0][0], math.log(top[0][1]), tuple(TokenLogprob(token, math.log(p)) for token, p in top), complete=complete
    )


def reply(where):
    return Reply(where.token, "length", (where,))


def test_probability_is_normalised_over_the_spellings():
    where = Position(
        "safe",
        math.log(0.4),
        tuple(
            TokenLogprob(token, math.log(p))
            for token, p in [("safe", 0.4), (" Safe", 0.2), ("unsafe", 0.1), ("UNSAFE", 0.05), ("The", 0.01)]
        ),
    )
    outcome, mass = probability_outcome(reply(where))

    assert isinstance(outcome, Scored)
    assert outcome.value == pytest.approx(0.6 / 0.75)
    assert outcome.low == outcome.high == outcome.value
    assert mass is not None
    assert mass.covered == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("listed", "unlisted", "low", "high"),
    [
        ({"safe": 0.6, "The": 0.3, "A": 0.05}, 0.05, 0.6 / 0.65, 1),
        ({"safe": 0.97, "The": 0.02}, 0.01, 0.97 / 0.98, 1),
        ({"unsafe": 0.5, "The": 0.1}, 0.1, 0, 0.1 / 0.6),
        ({"complete": True, "safe": 0.2, "unsafe": 0.001}, 0, 0.2 / 0.201, 0.2 / 0.201),
    ],
)
def test_an_unlisted_label_is_no_likelier_than_the_last_listed_nor_than_what_is_left(listed, unlisted, low, high):
    mass = label_mass(position(**listed))

    assert (mass.unlisted, mass.low, mass.high) == pytest.approx((unlisted, low, high))


def test_bounds_on_both_sides_of_the_threshold_are_no_verdict():
    outcome, _ = probability_outcome(reply(position(safe=0.2, The=0.2, A=0.2)))

    assert isinstance(outcome, Unscored)
    assert outcome.reason == UnscoredReason.STRADDLES_THRESHOLD


def test_no_logprobs_and_no_label_are_told_apart():
    without, _ = probability_outcome(Reply("safe", "length"))
    elsewhere, mass = probability_outcome(reply(position(Sorry=0.9, safe=0.05)))

    assert isinstance(without, Unscored)
    assert isinstance(elsewhere, Unscored)
    assert without.reason == UnscoredReason.NO_LOGPROBS
    assert elsewhere.reason == UnscoredReason.NO_LABEL_FIRST
    assert mass is None


@pytest.mark.parametrize("before", [("\n",), (" ", "\n\n"), ("Answer", ":"), ("**",)])
def test_a_label_counts_behind_white_space_markup_or_its_name(before):
    word = Position(" unsafe", -0.1, (TokenLogprob(" unsafe", -0.1), TokenLogprob(" safe", -2.4)))
    positions = (*(Position(token, -0.2, (TokenLogprob(token, -0.2),)) for token in before), word)

    outcome, mass = probability_outcome(Reply("".join(before) + " unsafe", token_logprobs=positions))

    assert outcome.kind == "scored"
    assert outcome.value == pytest.approx(math.exp(-2.4) / (math.exp(-2.4) + math.exp(-0.1)))
    assert mass == label_mass(word)


shares = st.lists(st.floats(1e-6, 1.0), min_size=3, max_size=8)


@given(shares, st.integers(1, 7))
def test_the_bounds_hold_the_truth_of_every_distribution(weights, k):
    """However much of a distribution is hidden, the P(safe) of all of it lies between the bounds."""
    total = sum(weights)
    names = ["safe", "unsafe", *"abcdef"][: len(weights)]
    whole = sorted(((name, weight / total) for name, weight in zip(names, weights, strict=True)), key=lambda p: -p[1])
    listed = tuple(TokenLogprob(name, math.log(p)) for name, p in whole[:k])
    mass = label_mass(Position(listed[0].token, listed[0].logprob, listed))
    if not mass.covered:
        return
    truth = dict(whole)["safe"] / (dict(whole)["safe"] + dict(whole)["unsafe"])

    assert mass.low - 1e-9 <= truth <= mass.high + 1e-9
    assert mass.low <= mass.point <= mass.high
