"""The numbers of a review, by hand from a few histories."""

from __future__ import annotations

import pytest
from statsmodels.stats.proportion import proportion_confint
from tests.contexts.drafts import room
from tests.contexts.wordings import history, wording

from casewise.contexts.drafts import all_drafts
from casewise.contexts.record import DraftRecord, read_record
from casewise.contexts.review import Act, Author, Phase
from casewise.contexts.statistics import Share, Work, last_round, review_statistics

PLAIN, CHANGED, OTHER = wording(), wording(recipient__type="Cashier"), wording(recipient__type="Guard")
GENERATE = ("model", Act.GENERATE, PLAIN)
AGREED = (GENERATE, ("ada", Act.SUBMIT, PLAIN), ("ben", Act.SUBMIT, PLAIN))
CHECKED = (*AGREED, ("cleo", Act.TAKE, None), ("cleo", Act.APPROVE, None))
APPROVED = (*CHECKED, ("ada", Act.CONFIRM, None), ("ben", Act.CONFIRM, None))


def statistics(*histories):
    return review_statistics(DraftRecord((), tuple(history(*actions) for actions in histories)))


def test_a_share_has_wilsons_interval():
    low, high = proportion_confint(1, 4, method="wilson")

    assert Share(1, 4).as_json() == pytest.approx({"count": 1, "of": 4, "low": low, "high": high, "value": 0.25})
    assert str(Share(1, 4)) == f"1 of 4: 25 % [{100 * low:.0f}, {100 * high:.0f}]"


def test_a_share_of_nothing_has_no_value_and_no_interval():
    assert Share(0, 0).as_json() == {"count": 0, "of": 0, "low": None, "high": None, "value": None}
    assert str(Share(0, 0)) == "none yet"


def test_agreement_counts_the_contexts_that_both_reviewed():
    """Nobody changes the first, one of two the second, both the third: half of the reviews, so that chance agrees on half."""
    found = statistics(
        AGREED,
        (GENERATE, ("ada", Act.SUBMIT, PLAIN), ("ben", Act.SUBMIT, CHANGED)),
        (GENERATE, ("ada", Act.SUBMIT, CHANGED), ("ben", Act.SUBMIT, CHANGED)),
        (GENERATE, ("ada", Act.SUBMIT, CHANGED)),
        (),
    )

    assert found.agreed_at_once == Share(2, 3)
    assert found.same_need == Share(2, 3)
    assert found.pi == pytest.approx((2 / 3 - 1 / 2) / (1 - 1 / 2))
    assert found.changed == Share(1, 2)
    assert found.authors == {Author.MODEL: 1, Author.PERSON_AFTER_MODEL: 1}
    assert {phase: count for phase, count in found.progress.items() if count} == {
        Phase.MISSING: 1,
        Phase.UNDER_REVIEW: 1,
        Phase.AGREED: 2,
        Phase.IN_DISCUSSION: 1,
    }


@pytest.mark.parametrize("words", [PLAIN, CHANGED])
def test_reviewers_who_always_or_never_change_something_have_no_pi(words):
    found = statistics((GENERATE, ("ada", Act.SUBMIT, words), ("ben", Act.SUBMIT, words)))

    assert (found.pi, found.same_need) == (None, Share(1, 1))
    assert statistics((GENERATE,)).pi is None


def test_reviewers_who_change_different_words_agree_on_the_need():
    found = statistics(AGREED, (GENERATE, ("ada", Act.SUBMIT, CHANGED), ("ben", Act.SUBMIT, OTHER)))

    assert (found.agreed_at_once, found.same_need, found.pi) == (Share(1, 2), Share(2, 2), 1)


def test_the_latest_round_of_reviews_counts():
    again = history(*AGREED, ("dora", Act.RESTART, None), ("ben", Act.SUBMIT, CHANGED), ("ada", Act.SUBMIT, CHANGED))

    assert [step.event.by for step in last_round(again)] == ["ben", "ada"]
    assert [step.event.wording for step in last_round(again)] == [CHANGED, CHANGED]


def test_a_submission_that_was_taken_back_is_in_no_round():
    back = history(GENERATE, ("ada", Act.SUBMIT, PLAIN), ("ada", Act.TAKE_BACK, None), ("ben", Act.SUBMIT, PLAIN))

    assert [step.event.by for step in last_round(back)] == ["ben"]


def test_returns_are_shares_of_the_contexts_that_an_expert_decided_on():
    returned = (*AGREED, ("cleo", Act.TAKE, None), ("cleo", Act.RETURN, None))
    taken = (*AGREED, ("cleo", Act.TAKE, None))

    assert statistics(CHECKED, returned, returned, taken, AGREED).returned == Share(2, 3)


def test_words_written_anew_by_a_reviewer_are_counted_once():
    rewritten = (GENERATE, ("ada", Act.GIVE_UP, None), ("ada", Act.REWRITE, OTHER))
    own = (*rewritten, ("ada", Act.SUBMIT, OTHER), ("ben", Act.SUBMIT, OTHER))
    others = (*rewritten, ("ben", Act.SUBMIT, OTHER), ("dan", Act.SUBMIT, OTHER))

    assert statistics(own, others, AGREED).own_words == Share(1, 3)
    assert statistics(own).changed == Share(0, 0), "a person wrote it, and no model"


def test_a_withdrawn_query_is_counted_as_withdrawn_alone():
    found = statistics(AGREED, (*AGREED, ("dora", Act.WITHDRAW, None)))

    assert (found.withdrawn, found.progress[Phase.WITHDRAWN], found.agreed_at_once) == (1, 1, Share(1, 1))


def test_a_context_that_was_adopted_is_counted_until_it_is_reviewed():
    adopted = ("casewise", Act.ADOPT, PLAIN)

    assert statistics((adopted,), (adopted, ("dora", Act.RESTART, None)), ()).adopted == 1


def test_each_person_has_done_what_stood():
    found = statistics(
        (*APPROVED[:2], ("ben", Act.SUBMIT, CHANGED), ("ada", Act.ACCEPT, None), *APPROVED[3:]),
        (*AGREED, ("cleo", Act.TAKE, None), ("cleo", Act.RETURN, None)),
    )

    assert found.work == [Work("ada", 2, 0, 0, 0), Work("ben", 2, 1, 0, 0), Work("cleo", 0, 0, 1, 1)]


def test_a_context_that_an_expert_has_taken_and_not_approved_is_no_approval():
    found = statistics((*AGREED, ("cleo", Act.TAKE, None)))

    assert [(work.person_id, work.approvals) for work in found.work] == [("ada", 0), ("ben", 0)]


def test_the_lines_say_where_contexts_stand_and_how_reviewers_agree():
    assert statistics((), ()).lines() == ["     2  missing"]
    assert statistics(CHECKED).lines() == [
        "     1  final check",
        f"both reviewers submitted the same words: {Share(1, 1)}",
        f"both reviewers, or neither, changed the text: {Share(1, 1)}",
        f"changed since a model wrote them: {Share(0, 1)}",
        "written by: 1 model",
        f"returned by an expert: {Share(0, 1)}",
    ]


def test_the_json_holds_no_work_of_a_person():
    assert "work" not in statistics(APPROVED).as_json()
    assert statistics(APPROVED).as_json()["returned"] == Share(0, 1).as_json()


def test_a_review_that_was_taken_back_counts_as_none(store):
    here = room(store)
    place = here.place()
    here.do(place, here.ada, Act.SUBMIT, CHANGED)
    here.do(place, here.ada, Act.TAKE_BACK)
    with store.read() as connection:
        found = review_statistics(read_record(connection, all_drafts(connection)[0]))

    assert found.agreed_at_once.of == 0
    assert found.work == []


def test_an_expert_is_credited_with_the_contexts_that_stand_approved_by_them(store):
    here = room(store, count=1)
    place, approve = here.place(), [(here.cleo, Act.TAKE), (here.cleo, Act.APPROVE)]
    steps = [(here.ada, Act.SUBMIT), (here.ben, Act.SUBMIT), *approve, (here.ada, Act.OBJECT)]
    steps += [(here.ada, Act.OFFER), (here.ben, Act.ACCEPT), *approve]
    for by, step in steps:
        here.do(place, by, step, place.state.wording if step in {Act.SUBMIT, Act.OFFER} else None, "because")

    with store.read() as connection:
        work = review_statistics(read_record(connection, here.draft)).work

    assert {one.person_id: one.approvals for one in work} == {here.ada.id: 0, here.ben.id: 0, here.cleo.id: 1}
