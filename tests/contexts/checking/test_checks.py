import pytest
from tests.contexts.drafts import room
from tests.contexts.wordings import OTHER, wording

from casewise.contexts.checks import PairKind, Remark, check_wording, compare_pair, find_alike
from casewise.contexts.queue import check_draft
from casewise.contexts.review import Act
from casewise.contexts.store import store_findings

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
    ("unsafe", "check"),
    [
        (wording(), "identical pair"),
        (wording(recipient__type="BANK CLERK."), "identical pair"),
        (wording(recipient__type="Cashier"), "nearly identical pair"),
        (wording(**OTHER), None),
    ],
)
def test_the_two_contexts_of_a_query_are_compared(store, unsafe, check):
    here = room(store, count=1, unsafe=unsafe)
    with store.write() as connection:
        report = check_draft(connection, here.draft)

    assert report.findings == ({} if check is None else {check: 2})


def test_a_finding_about_several_contexts_goes_with_the_words_that_it_was_about(store):
    here = room(store, unsafe=wording(**OTHER))
    with store.write() as connection:
        check_draft(connection, here.draft)
    here.do(here.place(2), here.ada, Act.GIVE_UP, None, "again")

    here.do(here.place(2), here.ada, Act.REWRITE, wording(recipient__type="Guard"))

    assert here.place(2).findings == []


def test_findings_go_to_the_reviewers_and_those_of_models_stay(store):
    here = room(store, unsafe=wording(**OTHER))
    opinion = Remark(check="drift", message="It is milder.", by="some/model")
    with store.write() as connection:
        store_findings(connection, {here.place().id: [opinion]})

    for _ in range(2):
        with store.write() as connection:
            report = check_draft(connection, here.draft)

    assert here.place().findings == [opinion]
    assert [f.check for f in here.place(2).findings] == ["too alike"]
    assert report.findings == {"drift": 1, "too alike": 2}
    assert report.contexts == 4


@pytest.mark.slow
def test_a_classifier_guesses_the_intent_from_words_that_tell_it(store):
    here = room(store, count=24)
    for place in here.places():
        word = "granted" if place.intended_safe else "stolen"
        here.do(place, here.ada, Act.GIVE_UP, None, "again")
        here.do(place, here.ada, Act.REWRITE, wording(recipient__type=f"Clerk {place.position} with a {word} card"))

    with store.write() as connection:
        report = check_draft(connection, here.draft)

    assert report.guessed == 1
    assert any("guesses the intent of 100%" in line for line in report.lines())


def test_findings_follow_the_words(store):
    here = room(store, unsafe=wording(**OTHER))
    place = here.place()
    opinions = [
        Remark(check="drift", message="It is milder.", evidence="bank clerk", by="some/model"),
        Remark(check="drift", message="It is milder.", evidence="fraud prevention", by="some/model"),
    ]
    with store.write() as connection:
        store_findings(connection, {place.id: opinions})

    for by in (here.ada, here.ben):
        here.do(place, by, Act.SUBMIT, wording(recipient__type="A malicious clerk"))

    assert [(one.check, one.evidence) for one in here.place().findings] == [
        ("gives the intent away", "malicious"),
        ("drift", "fraud prevention"),
    ]


def test_a_finding_goes_when_the_other_context_that_it_is_about_gets_other_words(store):
    here = room(store, unsafe=wording(**OTHER))
    with store.write() as connection:
        check_draft(connection, here.draft)
    assert [(one.check, one.about) for one in here.place(2).findings] == [("too alike", here.place(0).id)]

    for by in (here.ada, here.ben):
        here.do(here.place(), by, Act.SUBMIT, wording(**OTHER | {"recipient__type": "Guard"}))

    assert here.place(2).findings == []


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
