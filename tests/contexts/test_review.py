from functools import reduce

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.contexts.wordings import wording

from casewise.contexts.review import MISSING, Act, NotAllowed, Phase, ReviewAction, State, possible_acts, step

A, B, C, D = "ada", "ben", "cleo", "dan"
FIRST, SECOND, THIRD = wording(), wording(recipient__type="Cashier"), wording(recipient__type="Teller")


def replay(actions):
    return reduce(step, actions, MISSING)


def after(*actions):
    return replay([ReviewAction(by="model", act=Act.GENERATE, wording=FIRST), *(made(*action) for action in actions)])


def made(by, act, wording=None, reason=None):
    return ReviewAction(by=by, act=act, wording=wording, reason=reason)


AGREED = ((A, Act.SUBMIT, FIRST), (B, Act.SUBMIT, FIRST))
DIFFERING = ((A, Act.SUBMIT, FIRST), (B, Act.SUBMIT, SECOND))
EXPERT = (*AGREED, (C, Act.TAKE))
CHECKED = (*EXPERT, (C, Act.APPROVE))


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        (AGREED, {"phase": Phase.AGREED, "wording": FIRST}),
        (((A, Act.SUBMIT, SECOND), (B, Act.SUBMIT, SECOND)), {"phase": Phase.AGREED, "wording": SECOND}),
        (DIFFERING, {"phase": Phase.IN_DISCUSSION, "wording": FIRST}),
        ((*DIFFERING, (A, Act.ACCEPT)), {"phase": Phase.RESOLVED, "wording": SECOND}),
        ((*DIFFERING, (A, Act.OFFER, SECOND)), {"phase": Phase.RESOLVED, "wording": SECOND}),
        (
            (*DIFFERING, (A, Act.OFFER, THIRD), (B, Act.OFFER, FIRST), (B, Act.OFFER, SECOND), (A, Act.ACCEPT)),
            {"phase": Phase.RESOLVED, "wording": SECOND},
        ),
        ((*DIFFERING, (A, Act.ACCEPT), (C, Act.TAKE), (C, Act.STEP_ASIDE)), {"phase": Phase.RESOLVED, "expert": None}),
        ((*CHECKED, (A, Act.CONFIRM)), {"phase": Phase.FINAL_CHECK}),
        (
            (*CHECKED, (A, Act.CONFIRM), (B, Act.OBJECT, None, "A typing error.")),
            {"phase": Phase.IN_DISCUSSION, "expert": None, "confirmed": ()},
        ),
    ],
)
def test_each_way_leads_where_the_drawing_says(actions, expected):
    state = after(*actions)

    assert {name: getattr(state, name) for name in expected} == expected


def test_a_context_that_comes_back_needs_two_new_positions_before_it_goes_on():
    returned = after(*EXPERT, (C, Act.RETURN, None, "It gives the intent away."))

    assert returned.phase == Phase.IN_DISCUSSION
    with pytest.raises(NotAllowed, match="not made a new proposal"):
        step(returned, made(A, Act.ACCEPT))
    assert replay_on(returned, (A, Act.OFFER, THIRD), (B, Act.ACCEPT)).phase == Phase.RESOLVED


def replay_on(state, *actions):
    for action in actions:
        state = step(state, made(*action))
    return state


@pytest.mark.parametrize(
    ("before", "action", "why"),
    [
        ((), (A, Act.CONFIRM), "generated"),
        (AGREED[:1], (A, Act.SUBMIT, SECOND), "submitted"),
        (AGREED, (C, Act.SUBMIT, FIRST), "agreed"),
        (DIFFERING, (C, Act.OFFER, THIRD), "two reviewers"),
        (AGREED, (A, Act.TAKE), "another expert"),
        (EXPERT, (D, Act.APPROVE), "Another expert"),
        (EXPERT, (C, Act.RETURN), "Say why"),
        ((*CHECKED, (A, Act.CONFIRM)), (A, Act.CONFIRM), "already"),
        (CHECKED, (C, Act.CONFIRM), "two reviewers"),
        (AGREED[:1], (A, Act.COMMENT, None, "look at mine"), "only possible while"),
        (EXPERT, (A, Act.GIVE_UP, None, "no"), "work on this"),
    ],
)
def test_what_is_not_allowed_says_why(before, action, why):
    with pytest.raises(NotAllowed, match=why):
        step(after(*before), made(*action))


def test_a_review_can_be_taken_back_until_the_other_is_in():
    submitted = after(*AGREED[:1])
    back = step(submitted, made(A, Act.TAKE_BACK))

    assert (back.phase, back.reviewers, back.positions) == (Phase.GENERATED, (), {})
    assert Act.TAKE_BACK not in possible_acts(submitted, B)
    assert Act.TAKE_BACK not in possible_acts(after(*AGREED), A)
    assert replay_on(back, (B, Act.SUBMIT, SECOND), (A, Act.SUBMIT, SECOND)).phase == Phase.AGREED
    assert Act.TAKE not in possible_acts(replay_on(back, (B, Act.SUBMIT, FIRST), (D, Act.SUBMIT, FIRST)), A)


def test_who_wrote_a_context_anew_is_not_its_expert():
    state = after(
        (A, Act.GIVE_UP, None, "It answers another query."),
        (C, Act.REWRITE, THIRD),
        (A, Act.SUBMIT, THIRD),
        (B, Act.SUBMIT, THIRD),
    )

    assert state.phase == Phase.AGREED
    assert Act.TAKE not in possible_acts(state, C)
    assert Act.TAKE in possible_acts(state, D)


def test_a_context_reviewed_anew_keeps_those_who_revised_it_from_being_its_expert():
    state = after(*DIFFERING, (D, Act.RESTART, None, "Ben left."), (C, Act.SUBMIT, FIRST), (D, Act.SUBMIT, FIRST))

    assert Act.TAKE not in possible_acts(state, B)


def test_the_second_review_is_not_overtaken_by_the_first():
    assert after().version == after(*AGREED[:1]).version < after(*AGREED).version


def test_a_state_survives_json():
    state = after(*DIFFERING, (A, Act.COMMENT, None, "why not both?"))

    assert State.model_validate_json(state.model_dump_json()) == state


class AnyActions(RuleBasedStateMachine):
    """People do anything in any order; what reached approval is checked against its whole history."""

    @initialize()
    def begin(self):
        self.state, self.history = MISSING, []

    @rule(
        by=st.sampled_from([A, B, C, D]),
        act=st.sampled_from([act for act in Act if act != Act.ADOPT]),
        words=st.sampled_from([FIRST, SECOND, THIRD]),
    )
    def anybody_does_anything(self, by, act, words):
        self.attempt(ReviewAction(by=by, act=act, wording=words, reason="because"))

    @rule(
        by=st.sampled_from([A, B, C, D]),
        choice=st.randoms(use_true_random=False),
        words=st.sampled_from([FIRST, SECOND]),
    )
    def somebody_does_what_is_allowed(self, by, choice, words):
        """Without this, hardly any sequence would get far."""
        acts = [
            act
            for act in possible_acts(self.state, by)
            if act not in {Act.GIVE_UP, Act.RESTART, Act.STEP_ASIDE, Act.WITHDRAW}
        ]
        if self.state.phase == Phase.MISSING:
            self.attempt(ReviewAction(by="model", act=Act.GENERATE, wording=FIRST))
        elif acts:
            self.attempt(ReviewAction(by=by, act=choice.choice(acts), wording=words, reason="because"))

    def attempt(self, action):
        before = self.state
        try:
            self.state = step(before, action)
        except NotAllowed:
            return
        self.history.append((before, action, self.state))

    @invariant()
    def approval_took_two_independent_reviews_an_expert_and_a_final_check(self):
        if self.state.phase != Phase.APPROVED:
            return
        since = self.history[last_beginning(self.history) :]
        submitted = []
        for _, action, _ in since:
            if action.act == Act.SUBMIT:
                submitted.append(action.by)
            elif action.act == Act.TAKE_BACK:
                submitted.remove(action.by)
        approved = [n for n, (_, action, _) in enumerate(since) if action.act == Act.APPROVE]
        expert = since[approved[-1]][1].by
        confirmed = {action.by for _, action, _ in since[approved[-1] :] if action.act == Act.CONFIRM}
        assert len(set(submitted)) == len(submitted) == 2
        assert confirmed == set(submitted) == set(self.state.reviewers)
        wrote = {action.by for _, action, _ in self.history if action.act in {Act.SUBMIT, Act.OFFER, Act.REWRITE}}
        assert expert not in wrote
        words_moved = {Act.SUBMIT, Act.OFFER, Act.ACCEPT, Act.REWRITE}
        assert not [1 for _, action, _ in since[approved[-1] :] if action.act in words_moved]

    @invariant()
    def whatever_both_agreed_on_both_stood_for(self):
        for before, action, after_it in self.history[-1:]:
            if after_it.phase in {Phase.AGREED, Phase.RESOLVED} and action.act in {Act.SUBMIT, Act.OFFER, Act.ACCEPT}:
                assert set(after_it.positions) == set(after_it.reviewers)
                assert {words.model_dump_json() for words in after_it.positions.values()} == {
                    after_it.wording.model_dump_json()
                }
                assert before.phase != after_it.phase

    @invariant()
    def the_events_add_up_to_the_state(self):
        assert replay(action for _, action, _ in self.history) == self.state


BEGIN = {Act.GENERATE, Act.IMPORT, Act.REWRITE, Act.RESTART, Act.RESTORE}


def last_beginning(history):
    """Where the review that counts began: after the last time the words were made anew."""
    anew = [n for n, (_, action, _) in enumerate(history) if action.act in BEGIN]
    return anew[-1]


AnyActions.TestCase.settings = settings(max_examples=60, stateful_step_count=40)
TestAnyActions = AnyActions.TestCase


def test_people_who_only_do_what_is_allowed_do_reach_approval():
    """The stateful test above would prove nothing if approval were never reached."""
    state = after()
    for by, act in [
        (A, Act.SUBMIT),
        (B, Act.SUBMIT),
        (C, Act.TAKE),
        (C, Act.APPROVE),
        (A, Act.CONFIRM),
        (B, Act.CONFIRM),
    ]:
        assert act in possible_acts(state, by)
        state = step(state, made(by, act, FIRST))
    assert state.phase == Phase.APPROVED
