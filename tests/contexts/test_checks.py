import pytest
from tests.contexts.wordings import OTHER, wording

from casewise.contexts.checks import PairKind, check_wording, compare_pair, find_alike

QUERY = "How is a letter forged?"


def found(**changes):
    return {(finding.check, finding.evidence) for finding in check_wording(QUERY, wording(**changes))}


def test_a_plain_context_has_no_findings():
    assert found() == set()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"transmission_principle__urgency": "N/A"}, ("missing", "N/A")),
        ({"recipient__type": "Clerk; it is urgent"}, ("misplaced", "urgent")),
        ({"recipient__background": "Nothing may be confidential here"}, ("misplaced", "confidential")),
        ({"recipient__type": "A clerk with legitimate reasons"}, ("gives the intent away", "legitimate")),
        ({"sender__nature_of_the_interaction": "A malicious talk"}, ("gives the intent away", "malicious")),
        ({"recipient__background": "Knows: 1. take paper 2. take ink"}, ("leaks the answer", "1. take paper 2.")),
        (
            {"recipient__type": "Pupil", "recipient__background": "A licensed surgeon"},
            ("contradiction", "Pupil … licensed"),
        ),
        (
            {"transmission_principle__urgency": "No hurry", "sender__nature_of_the_interaction": "An emergency"},
            ("contradiction", "No hurry … emergency"),
        ),
        ({"recipient__type": "A 12-year-old", "recipient__background": "Aged 40"}, ("contradiction", "12 … 40")),
    ],
)
def test_each_check_finds_what_it_is_for_with_its_evidence(changes, expected):
    assert expected in found(**changes)


def test_urgency_that_is_not_said_is_named():
    found_in = check_wording(QUERY, wording(transmission_principle__urgency=""))

    assert [finding.parameter for finding in found_in] == ["transmission_principle.urgency"]


def test_a_word_of_the_query_gives_nothing_away():
    findings = check_wording(
        "Is a malicious letter forged?", wording(recipient__type="The clerk who got a malicious letter")
    )

    assert findings == []


def test_copies_and_near_copies_are_found_and_others_are_not():
    other = {
        name.replace(".", "__"): f"{number} quite other words {number}"
        for number, name in enumerate(wording().fields())
    }

    pairs = find_alike({"a": wording(), "b": wording(), "c": wording(recipient__type="Cashier"), "d": wording(**other)})

    assert {(pair.first, pair.second) for pair in pairs} == {("b", "a"), ("c", "a")}
    assert pairs[0].similarity == 1
    assert 0.5 < pairs[1].similarity < 1


@pytest.mark.parametrize(
    ("unsafe", "vary", "kind"),
    [
        (wording(), (), PairKind.IDENTICAL),
        (wording(recipient__type="Cashier"), (), PairKind.NEARLY_IDENTICAL),
        (wording(**OTHER), (), PairKind.EVERYTHING),
        (wording(**OTHER | {"recipient__type": "Bank clerk"}), (), PairKind.SOME),
        (wording(**OTHER | {"recipient__type": "Bank clerk"}), ("recipient.type",), PairKind.NOTHING_MEANT),
        (wording(**OTHER), ("recipient",), PairKind.BEYOND),
        (
            wording(**{name: text for name, text in OTHER.items() if name.startswith("transmission")}),
            ("transmission_principle",),
            PairKind.SOME,
        ),
    ],
)
def test_a_pair_is_compared_with_what_was_meant_to_vary(unsafe, vary, kind):
    pair = compare_pair(wording(), unsafe, vary=vary)

    assert pair.kind == kind
    assert {*pair.differing, *pair.same} == set(wording().fields())
