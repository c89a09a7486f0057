"""What the page of a context holds for each person: words, comments, findings and why it came back."""

import pytest
from tests.contexts.drafts import room
from tests.contexts.wordings import FIELDS, wording
from tests.support.app import NOW
from tests.support.databases import new_database

from casewise.contexts.checks import is_same
from casewise.contexts.queue import Filter
from casewise.contexts.review import Act, Phase
from casewise.contexts.store import UnsubmittedText, events_of, save
from casewise.web.review import allowed_acts, filter_of, seen_events, view_of

SAYS_WHO = wording(recipient__type="Cashier")


@pytest.fixture
def here(tmp_path):
    with new_database(tmp_path / "casewise.db") as store:
        yield room(store)


def view(here, person, number=0):
    with here.store.read() as connection:
        return view_of(connection, here.place(number), person)


def comments(here, person):
    return [(event.act, event.reason) for event in view(here, person)["comments"]]


def discussed(here):
    """A context of which one reviewer changed a word, with a reason, and the other none."""
    here.do(here.place(), here.ada, Act.SUBMIT, SAYS_WHO, reason="A cashier sees letters.")
    return here.do(here.place(), here.ben, Act.SUBMIT, wording())


def test_a_parameter_has_its_words_its_change_and_the_findings_about_it_alone(here):
    here.approve(here.place(), wording(recipient__type="TODO"))
    shown = view(here, here.ada)
    fields = {field["name"]: field for field in shown["fields"]}
    who, place = fields["recipient.type"], fields["sender.platform_type"]
    found = {finding.parameter for finding in here.place().findings}

    assert [*fields] == [*here.place().parameters.all_names]
    assert (who["id"], who["now"], who["original"], who["changed"], who["required"]) == (
        *("recipient-type", "TODO", FIELDS["recipient.type"]),
        *(True, True),
    )
    assert (place["now"], place["original"], place["changed"]) == (*[FIELDS["sender.platform_type"]] * 2, False)
    assert [field["name"] for field in shown["groups"]["Also"]] == [name for name in fields if "." not in name]
    assert who in shown["groups"][shown["labels"]["recipient"]]
    assert "recipient.type" in found
    for field in shown["fields"]:
        assert {finding.parameter for finding in field["findings"]} == found & {field["name"]}
    assert {finding.parameter for finding in shown["general_findings"]} == found & {None}


def test_comments_are_the_acts_that_have_a_reason(here):
    discussed(here)

    assert comments(here, here.ben) == [(Act.SUBMIT, "A cashier sees letters.")]
    here.do(here.place(), here.ben, Act.COMMENT, reason="Why a cashier?")
    here.do(here.place(), here.ben, Act.ACCEPT)
    assert comments(here, here.ada)[1:] == [(Act.COMMENT, "Why a cashier?")]


def test_what_sent_a_context_back_is_the_last_of_the_review_that_goes_on(here):
    assert view(here, here.ada)["turned"] is None
    here.do(here.place(), here.ada, Act.SUBMIT, wording())
    here.do(here.place(), here.ben, Act.SUBMIT, wording())
    here.do(here.place(), here.cleo, Act.TAKE)
    here.do(here.place(), here.cleo, Act.RETURN, reason="Say what kind of bank.")
    assert view(here, here.ada)["turned"].reason == "Say what kind of bank."
    here.do(here.place(), here.cleo, Act.RESTART, reason="Begin anew.")
    assert view(here, here.ada)["turned"].reason == "Begin anew."
    here.approve(here.place(), wording())
    assert (here.place().state.phase, view(here, here.ada)["turned"]) == (Phase.APPROVED, None)


def test_whoever_wrote_a_context_is_told_that_they_judge_their_own_words_until_both_have(here):
    assert not view(here, here.ada)["own_words"]
    for act, words in ((Act.GIVE_UP, None), (Act.REWRITE, SAYS_WHO)):
        here.do(here.place(), here.ada, act, words, reason="It answers another query.")

    assert [view(here, who)["own_words"] for who in (here.ada, here.ben)] == [True, False]
    for who in (here.ada, here.ben):
        here.do(here.place(), who, Act.SUBMIT, SAYS_WHO)
    assert not view(here, here.ada)["own_words"]


@pytest.mark.parametrize(
    ("parameters", "mine", "expected"),
    [
        ({}, True, Filter(mine=True)),
        ({}, False, Filter()),
        ({"all": "yes"}, True, Filter()),
        ({"mine": "yes"}, False, Filter(mine=True)),
        ({"intent": "safe"}, True, Filter(intended_safe=True)),
        ({"intent": "unsafe", "after": "7"}, True, Filter(intended_safe=False, after=7)),
        ({"phase": "generated", "category": "x"}, True, Filter(phase=Phase.GENERATED, category="x")),
        ({"phase": "nonsense", "category": "", "intent": "perhaps", "after": "-1"}, True, Filter()),
    ],
)
def test_a_queue_is_filtered_by_its_address_and_is_first_what_waits_for_its_reader(parameters, mine, expected):
    assert filter_of(parameters, works_on_contexts=mine) == expected


def seen(here, person):
    """The acts on a context after it was generated, with the reason and whether there are words, as far as a person sees them."""
    place = here.place()
    with here.store.read() as connection:
        acts, events = allowed_acts(connection, place, person), events_of(connection, place.id)
    return [(e.act, e.reason, e.wording is not None) for e in seen_events(place, person, acts, events)[1:]]


def test_nobody_but_the_author_sees_a_submission_before_both_have_submitted(here):
    here.do(here.place(), here.ada, Act.SUBMIT, SAYS_WHO, reason="A cashier sees letters.")
    whole, hidden = (Act.SUBMIT, "A cashier sees letters.", True), (Act.SUBMIT, None, False)

    assert [seen(here, who) for who in (here.ada, here.ben, here.cleo)] == [[whole], [hidden], [hidden]]
    here.do(here.place(), here.ben, Act.SUBMIT, wording())
    assert [seen(here, who)[0] for who in (here.ada, here.ben, here.cleo)] == [whole] * 3


def test_whoever_judges_anew_sees_nothing_of_what_others_said_before_but_the_reason_of_the_new_review(here):
    discussed(here)
    here.do(here.place(), here.ada, Act.COMMENT, reason="Banks have tellers.")
    here.do(here.place(), here.cleo, Act.RESTART, reason="New rules.")
    restart = (Act.RESTART, "New rules.", False)

    assert seen(here, here.ben) == [
        (Act.SUBMIT, None, False),
        (Act.SUBMIT, None, True),
        (Act.COMMENT, None, False),
        restart,
    ]
    everything = [
        (Act.SUBMIT, "A cashier sees letters.", True),
        (Act.SUBMIT, None, True),
        (Act.COMMENT, "Banks have tellers.", False),
        restart,
    ]
    here.do(here.place(), here.ben, Act.SUBMIT, wording())
    assert seen(here, here.ben)[2] == (Act.COMMENT, None, False), "a review that can be taken back is not given yet"
    # of the review that goes on nobody else sees the words; of those before, who does not judge sees all
    assert seen(here, here.cleo) == [*everything, (Act.SUBMIT, None, False)]
    here.do(here.place(), here.ada, Act.SUBMIT, wording())
    assert seen(here, here.ben)[:4] == everything


def test_of_a_context_that_was_written_anew_the_words_are_seen_and_the_reason_is_not(here):
    here.do(here.place(), here.ada, Act.GIVE_UP, reason="It answers another query.")
    here.do(here.place(), here.ada, Act.REWRITE, SAYS_WHO, reason="Cashiers ask this.")

    assert seen(here, here.ben) == [(Act.GIVE_UP, None, False), (Act.REWRITE, None, True)]
    assert seen(here, here.ada) == [
        (Act.GIVE_UP, "It answers another query.", False),
        (Act.REWRITE, "Cashiers ask this.", True),
    ]
    assert view(here, here.ben)["began"] == "As it was written"


def proposals(here, person):
    return [
        (each["who"], each["mine"], [name for name, parts in each["changes"].items() if not is_same(parts)])
        for each in view(here, person)["proposals"]
    ]


def test_both_positions_are_shown_while_they_are_discussed_ones_own_first(here):
    assert proposals(here, here.ada) == []
    here.do(here.place(), here.ada, Act.SUBMIT, SAYS_WHO)
    assert [proposals(here, who) for who in (here.ada, here.ben, here.cleo)] == [
        [("Ada", True, ["recipient.type"])],
        [],
        [],
    ]
    assert [view(here, who)["submitted"] for who in (here.ada, here.ben)] == [True, False]
    here.do(here.place(), here.ben, Act.SUBMIT, wording())
    assert proposals(here, here.ada) == [("Ada", True, ["recipient.type"]), ("Ben", False, [])]
    assert proposals(here, here.ben) == [("Ben", True, []), ("Ada", False, ["recipient.type"])]
    assert not view(here, here.ada)["submitted"]
    here.do(here.place(), here.ben, Act.ACCEPT)
    assert proposals(here, here.ada) == []


def test_the_words_to_edit_are_those_typed_then_ones_own_position_then_the_context(here):
    def words(**typed):
        with here.store.read() as connection:
            shown = view_of(connection, here.place(), here.ada, **typed)
        return shown["editing"], {field["name"]: field["typed"] for field in shown["fields"]}["recipient.type"]

    assert words() == (Act.SUBMIT, FIELDS["recipient.type"])
    discussed(here)
    assert words() == (Act.OFFER, "Cashier")
    with here.store.write() as connection:
        version = here.place().state.version
        typed = UnsubmittedText({"recipient.type": "Teller"}, saved=0, version=version)
        save(connection, here.place().id, person_id=here.ada.id, typed=typed, now=NOW)
    assert words() == (Act.OFFER, "Teller")
    assert words(typed={"recipient.type": "Clerk"}) == (Act.OFFER, "Clerk")
    here.do(here.place(), here.ben, Act.ACCEPT)
    assert words()[0] is None


def test_people_go_by_their_names_and_programs_by_their_own_and_the_pair_is_compared(here):
    shown = view(here, here.ada)

    assert shown["names"] == {"model": "model"}
    assert (shown["began"], shown["source_id"], shown["contrast"].id) == ("Generated", None, here.place(1).id)
    assert shown["pair"] is not None
    here.do(here.place(), here.ada, Act.SUBMIT, SAYS_WHO)
    assert view(here, here.ben)["names"] == {"model": "model", here.ada.id: "Ada"}
