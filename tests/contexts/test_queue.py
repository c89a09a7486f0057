"""The queue of a draft, and the report on all its contexts."""

from __future__ import annotations

import pytest
from sqlalchemy import update
from tests.contexts.drafts import queries, room
from tests.contexts.wordings import OTHER, wording
from tests.support.app import NOW, add_person

from casewise.contexts.checks import PairComparison, PairKind, Remark, SimilarContext
from casewise.contexts.drafts import add_queries, create_draft
from casewise.contexts.queue import (
    PAGE,
    Filter,
    SetReport,
    check_draft,
    count_waiting,
    decline_categories,
    declined_categories,
    guessed_share,
    has_read_warning,
    list_contexts,
    next_for,
    read_warning,
)
from casewise.contexts.record import read_record
from casewise.contexts.review import Act, NotAllowed, Phase, ReviewAction
from casewise.contexts.statistics import review_statistics
from casewise.contexts.store import act_on_query, sibling, store_findings
from casewise.database.staff import Role
from casewise.database.tables.review import contexts
from casewise.records import sorry_bench

CHANGED = wording(recipient__type="Cashier")


def test_a_long_queue_is_read_a_page_at_a_time(store):
    ada = add_person(store, "Ada", Role.REVIEWER)
    with store.write() as connection:
        draft = create_draft(connection, "x", queries=queries(PAGE // 2), taxonomy=sorry_bench(), now=NOW)
        whole = list_contexts(connection, draft, ada, Filter())
        add_queries(connection, draft, queries(PAGE // 2 + 1)[-1:], now=NOW)
        first = list_contexts(connection, draft, ada, Filter())
        second = list_contexts(connection, draft, ada, Filter(after=first.next_after))

    assert (len(whole.contexts), whole.next_after) == (PAGE, None)
    assert [row.position for row in first.contexts] == list(range(PAGE))
    assert [row.position for row in second.contexts] == [PAGE, PAGE + 1]
    assert second.next_after is None


def test_a_row_says_what_its_context_is_and_how_many_findings_it_has(store):
    here = room(store, count=1, unsafe=wording(**OTHER))
    place = here.place()
    with store.write() as connection:
        store_findings(connection, {place.id: [Remark(check="missing", message="It is missing.")] * 2})
        row = list_contexts(connection, here.draft, here.ada, Filter()).contexts[0]

    assert (row.id, row.query, row.category) == (place.id, place.query.text, place.query.category)
    assert (row.intended_safe, row.phase, row.findings) == (True, Phase.GENERATED, 2)


def test_as_many_contexts_wait_as_the_queue_lists(store):
    here = room(store)

    with store.read() as connection:
        assert count_waiting(connection, here.draft, here.ada) == len(waiting(here, here.ada)) == 4
        assert count_waiting(connection, here.draft, here.cleo) == 0


def test_a_context_without_words_waits_once_it_is_known_why(store):
    here = room(store, count=1)
    with store.write() as connection:
        add_queries(connection, here.draft, queries(2)[1:], now=NOW)
    assert waiting(here, here.ada) == [0, 1]

    here.do(here.place(2), here.ada, Act.FAIL, reason="refused")
    assert waiting(here, here.ada) == [0, 1, 2]


def test_a_context_in_discussion_waits_for_its_reviewers(store):
    here = room(store, count=1)
    dora = add_person(store, "Dora", Role.REVIEWER)
    here.do(here.place(), here.ada, Act.SUBMIT, wording())
    here.do(here.place(), here.ben, Act.SUBMIT, CHANGED)

    assert [waiting(here, person) for person in (here.ada, here.ben, dora, here.cleo)] == [[0, 1], [0, 1], [1], []]


def test_a_context_that_an_expert_has_taken_waits_for_that_expert(store):
    here = room(store, count=1)
    eve = add_person(store, "Eve", Role.EXPERT)
    for by in (here.ada, here.ben):
        here.do(here.place(), by, Act.SUBMIT, wording())
    assert (waiting(here, here.cleo), waiting(here, eve)) == ([0], [0])

    here.do(here.place(), here.cleo, Act.TAKE)
    assert (waiting(here, here.cleo), waiting(here, eve)) == ([0], [])


def test_an_expert_who_reviewed_a_context_is_not_asked_to_approve_it(store):
    here = room(store, count=1)
    both = add_person(store, "Fay", Role.REVIEWER, Role.EXPERT)
    for by in (both, here.ben):
        here.do(here.place(), by, Act.SUBMIT, wording())

    assert waiting(here, both) == [1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("columns", "people"),
    [
        ({"phase": "missing", "state": {"problem": None}}, ""),
        ({"phase": "missing", "state": {"problem": "refused"}}, "Ada Ben Dora"),
        ({"phase": "generated", "state": {}}, "Ada Ben Dora"),
        ({"phase": "beyond repair"}, "Ada Ben Dora"),
        ({"phase": "under review", "first_reviewer": "Ada", "state": {}}, "Ben Dora"),
        ({"phase": "in discussion", "first_reviewer": "Ada", "second_reviewer": "Dora"}, "Ada Dora"),
        ({"phase": "agreed", "first_reviewer": "Ada", "second_reviewer": "Ben"}, "Cleo Eve"),
        ({"phase": "resolved", "first_reviewer": "Ada", "second_reviewer": "Cleo"}, "Eve"),
        ({"phase": "expert review", "expert": "Eve"}, "Eve"),
        ({"phase": "final check", "first_reviewer": "Ada", "second_reviewer": "Ben"}, "Ada Ben"),
        ({"phase": "final check", "first_reviewer": "Ada", "second_reviewer": "Ben", "confirmed_by": "Ada"}, "Ben"),
        ({"phase": "approved", "first_reviewer": "Ada", "second_reviewer": "Ben", "expert": "Cleo"}, ""),
        ({"phase": "withdrawn"}, ""),
    ],
)
def test_in_each_phase_a_context_waits_for_those_who_can_act(store, columns, people):
    here = room(store, count=1)
    staff = {person.name: person for person in (here.ada, here.ben, here.cleo)}
    staff |= {"Dora": add_person(store, "Dora", Role.REVIEWER), "Eve": add_person(store, "Eve", Role.EXPERT)}
    values = {name: staff[value].id if value in staff else value for name, value in columns.items() if name != "state"}
    state = {"state": columns["state"]} if "state" in columns else {}
    with store.write() as connection:
        connection.execute(update(contexts).where(contexts.c.position == 0).values(values | state))

    assert " ".join(name for name, person in staff.items() if 0 in waiting(here, person)) == people


def test_categories_that_a_person_declines_replace_those_before(store):
    here = room(store)
    first, second = (place.query.category for place in here.places()[::2])
    with store.write() as connection:
        decline_categories(connection, here.ben.id, [first])
        decline_categories(connection, here.ada.id, [first, first])
        decline_categories(connection, here.ada.id, [second])

        assert declined_categories(connection, here.ada.id) == {second}
        assert declined_categories(connection, here.ben.id) == {first}
    assert (waiting(here, here.ada), waiting(here, here.ben)) == ([0, 1], [2, 3])


def test_a_warning_is_read_once_for_each_draft_by_each_person(store):
    here = room(store, count=1)
    with store.write() as connection:
        other = create_draft(connection, "other", queries=queries(1), taxonomy=sorry_bench(), now=NOW)
        for _ in range(2):
            read_warning(connection, here.draft, here.ada.id, now=NOW)

        assert has_read_warning(connection, here.draft, here.ada.id)
        assert not has_read_warning(connection, here.draft, here.ben.id)
        assert not has_read_warning(connection, other, here.ada.id)


def test_the_report_on_a_set_says_what_was_found_in_how_many():
    pairs = {
        "q1": PairComparison(("recipient.type",), ("subject",), PairKind.SOME),
        "q2": PairComparison(("recipient.type", "subject"), (), PairKind.EVERYTHING),
        "q3": PairComparison((), (), PairKind.IDENTICAL),
    }
    report = SetReport(6, 2, {"drift": 1, "missing": 3}, [SimilarContext("a", "b", 0.6)], pairs, 0.625)

    assert report.lines() == [
        "6 contexts, 2 without any finding",
        "     3  missing",
        "     1  drift",
        "1 context too similar to another of the same intent",
        "3 pairs of contexts of one query:",
        "     1  identical",
        "     1  different in every parameter",
        "     1  different in some parameters",
        "  differ in: recipient.type 2, subject 1",
        "a linear classifier guesses the intent of 62% from the words alone (chance: 50 %)",
    ]


def test_the_report_on_a_set_without_findings_pairs_and_guesses_is_one_line():
    assert SetReport(0, 0, {}, [], {}, None).lines() == ["0 contexts, 0 without any finding"]
    assert SetReport(2, 2, {}, [], {"q": PairComparison((), (), PairKind.IDENTICAL)}, None).lines()[1:] == [
        "1 pair of contexts of one query:",
        "     1  identical",
        "  differ in: nothing",
    ]


def test_contexts_without_words_and_withdrawn_ones_are_not_checked(store):
    here = room(store, count=2, unsafe=wording(**OTHER))
    with store.write() as connection:
        add_queries(connection, here.draft, queries(3)[2:], now=NOW)
        action = ReviewAction(by="dora", act=Act.WITHDRAW, reason="too well known")
        act_on_query(connection, here.place().id, action, seen=None, now=NOW)
        report = check_draft(connection, here.draft)

    assert (report.contexts, report.without_findings, report.findings, report.alike) == (2, 2, {}, [])
    assert {query: pair.kind for query, pair in report.pairs.items()} == {here.place(2).query.id: PairKind.EVERYTHING}


def test_a_context_like_another_of_the_same_intent_is_shown_which(store):
    here = room(store, unsafe=wording(**OTHER))
    with store.write() as connection:
        report = check_draft(connection, here.draft)

    first, third = here.place(0), here.place(2)
    (finding,) = third.findings
    assert SimilarContext(third.id, first.id, 1.0) in report.alike
    assert finding.about == first.id
    assert finding.message == (f"100% of its three-word sequences also stand in the context for “{first.query.text}”.")


@pytest.mark.parametrize(("n", "guessed"), [(19, None), (20, 1.0)])
def test_the_intent_is_guessed_from_twenty_queries_on(store, n, guessed):
    words = {True: wording(recipient__type="A granted clerk"), False: wording(recipient__type="A stolen card")}
    places = [
        place.model_copy(
            update={"query": query, "state": place.state.model_copy(update={"wording": words[place.intended_safe]})}
        )
        for place in room(store, count=1).places()
        for query in queries(n)
    ]

    assert guessed_share(places) == guessed


def test_the_intent_of_few_contexts_or_of_one_intent_is_not_guessed(store):
    here = room(store, count=1)

    assert guessed_share(here.places()) is None
    safe = [place.model_copy(update={"query": query}) for place in here.places()[:1] for query in queries(40)]
    assert guessed_share(safe) is None


def waiting(here, person):
    with here.store.read() as connection:
        return [one.position for one in list_contexts(connection, here.draft, person, Filter(mine=True)).contexts]


def test_the_queue_shows_each_person_what_waits_for_them(store):
    here = room(store)
    first, second = here.places()[:2]
    here.do(first, here.ada, Act.SUBMIT, wording())
    here.do(second, here.ada, Act.SUBMIT, wording())
    here.do(second, here.ben, Act.SUBMIT, wording())

    assert waiting(here, here.ada) == [2, 3]
    assert waiting(here, here.ben) == [0, 2, 3]
    assert waiting(here, here.cleo) == [1]


@pytest.mark.slow
def test_who_has_confirmed_is_not_asked_again(store):
    here = room(store, count=1)
    place = here.place()
    for by, act_ in [(here.ada, Act.SUBMIT), (here.ben, Act.SUBMIT), (here.cleo, Act.TAKE), (here.cleo, Act.APPROVE)]:
        here.do(place, by, act_, wording())
    here.do(place, here.ada, Act.CONFIRM)

    assert waiting(here, here.ada) == [1]
    assert waiting(here, here.ben) == [0, 1]


@pytest.mark.slow
def test_a_category_passed_on_is_not_asked_about(store):
    here = room(store)
    with store.write() as connection:
        decline_categories(connection, here.ada.id, [here.place().query.category])

        assert declined_categories(connection, here.ada.id) == {here.place().query.category}
    assert waiting(here, here.ada) == [2, 3]
    assert waiting(here, here.ben) == [0, 1, 2, 3]


def test_who_wrote_a_context_anew_leaves_it_to_two_others_where_there_are_two(store):
    here = room(store, count=1)
    place = here.place()
    here.do(place, here.ada, Act.GIVE_UP, None, "It answers another query.")
    here.do(place, here.ben, Act.REWRITE, CHANGED)
    assert waiting(here, here.ben) == [0, 1]

    dora = add_person(store, "Dora", Role.REVIEWER)
    assert waiting(here, here.ben) == [1]
    with pytest.raises(NotAllowed, match="two others"):
        here.do(place, here.ben, Act.SUBMIT, CHANGED)
    with store.write() as connection:
        decline_categories(connection, dora.id, [place.query.category])
    assert waiting(here, here.ben) == [0, 1]

    here.do(place, here.ada, Act.SUBMIT, CHANGED)
    here.do(place, here.ben, Act.SUBMIT, CHANGED)
    with store.read() as connection:
        assert review_statistics(read_record(connection, here.draft)).own_words.count == 1


def test_after_the_last_context_that_waits_comes_the_first(store):
    here = room(store)

    with store.read() as connection:
        assert next_for(connection, here.draft, here.ada, after=0) == here.place(1).id
        assert next_for(connection, here.draft, here.ada, after=3) == here.place(0).id
        assert next_for(connection, here.draft, here.cleo) is None


def test_filters_narrow_the_queue(store):
    here = room(store)

    def count(**chosen):
        with store.read() as connection:
            return len(list_contexts(connection, here.draft, here.ada, Filter(**chosen)).contexts)

    assert count(intended_safe=True) == 2
    assert count(category=here.place().query.category) == 2
    assert count(phase=Phase.APPROVED) == 0
    assert count(after=2) == 1
    with store.read() as connection:
        other = sibling(connection, here.place())
    assert other is not None
    assert (other.query, other.intended_safe) == (here.place().query, False)


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
