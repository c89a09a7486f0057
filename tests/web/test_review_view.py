"""What the page of a context holds for each person: words, comments, findings and why it came back."""

import pytest
from tests.contexts.drafts import room
from tests.contexts.wordings import FIELDS, wording
from tests.support.databases import new_database

from casewise.contexts.queue import Filter
from casewise.contexts.review import Act, Phase
from casewise.web.review import filter_of, view_of

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
