"""The way of one context from its first words to approval, as a pure state machine.

    missing ──▶ generated ──▶ under review ──▶ agreed ───────────┐
       ▲            ▲              │                             ▼
       │            │              └──▶ in discussion ──▶ resolved ──▶ expert review ──▶ final check ──▶ approved
       │            │                        ▲                              │                │
       │            │                        └────── returned, with a reason ┴── objected to ─┘
       └─ beyond repair (from wherever people work on it): written or generated anew

Words from a table or an earlier release are imported, and stand where generated ones do; an approved context of a release can be
adopted with its approval. A query is withdrawn with a reason, from any phase, and can be restored.

Two reviewers submit independently, and may take it back until the other begins; a third person, who wrote none of it, approves; both reviewers check it once more.
`step` says what an action makes of a state. It knows no database, no clock and no roles: the store keeps each step as
an event that is only ever added.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import partial

from pydantic import Field

from casewise.contexts.checks import Wording
from casewise.errors import CasewiseError
from casewise.records import Record


class Phase(StrEnum):
    """The phase of a context in its review."""

    MISSING = "missing"
    """It has no words yet: they were not generated, generating failed, or an imported table had none."""
    GENERATED = "generated"
    UNDER_REVIEW = "under review"
    """One reviewer has submitted; the other has not, and does not see it."""
    AGREED = "agreed"
    IN_DISCUSSION = "in discussion"
    RESOLVED = "resolved"
    EXPERT_REVIEW = "expert review"
    FINAL_CHECK = "final check"
    APPROVED = "approved"
    BEYOND_REPAIR = "beyond repair"
    WITHDRAWN = "withdrawn"
    """Its query is no part of the draft's releases any more."""


class Act(StrEnum):
    """An action of a person or a program on a context."""

    GENERATE = "generate"
    IMPORT = "import"
    """Words from a table or from an earlier release come in for review."""
    ADOPT = "adopt"
    """An approved context of an earlier release is taken over with its approval."""
    FAIL = "fail"
    """There are no words: a model gave none, or an imported table has none. A reviewer writes them."""
    SUBMIT = "submit"
    """A reviewer submits a wording, unchanged or revised."""
    TAKE_BACK = "take back"
    """A reviewer takes back a submission, before the other has begun."""
    OFFER = "offer"
    """A reviewer in discussion names the wording that they would now accept."""
    ACCEPT = "accept"
    """A reviewer in discussion accepts the other's position."""
    COMMENT = "comment"
    TAKE = "take"
    """An expert begins."""
    STEP_ASIDE = "step aside"
    """An expert leaves it to another."""
    APPROVE = "approve"
    RETURN = "return"
    CONFIRM = "confirm"
    """A reviewer confirms the wording in the final check."""
    OBJECT = "object"
    GIVE_UP = "give up"
    """A reviewer states that the context is beyond repair."""
    REWRITE = "rewrite"
    RESTART = "restart"
    """An administrator restarts its review, for instance because a reviewer left."""
    WITHDRAW = "withdraw"
    """An administrator leaves the query out of releases, with both of its contexts."""
    RESTORE = "restore"
    """A query that was withdrawn comes back, for a new review."""


class Author(StrEnum):
    """The kind of author whose words a context states."""

    MODEL = "model"
    PERSON = "person"
    """A person wrote it from nothing, or anew in the place of another."""
    PERSON_AFTER_MODEL = "person after model"
    """A model wrote it, and people changed it."""
    UNKNOWN = "unknown"
    """It was imported without a stated author."""
    PERSON_AFTER_UNKNOWN = "person after unknown"
    """It was imported without a statement of who wrote it, and people changed it here."""

    @property
    def when_changed(self) -> Author:
        """The kind of author once a person has changed the words."""
        after = {Author.MODEL: Author.PERSON_AFTER_MODEL, Author.UNKNOWN: Author.PERSON_AFTER_UNKNOWN}
        return after.get(self, self)


PROGRAM_ACTS = frozenset({Act.GENERATE, Act.IMPORT, Act.ADOPT, Act.FAIL})
QUERY_ACTS = frozenset({Act.WITHDRAW, Act.RESTORE})
"""Acts on a query. Each is applied to every context of the query."""
NEED_REASON = frozenset(
    {Act.COMMENT, Act.RETURN, Act.OBJECT, Act.GIVE_UP, Act.RESTART, Act.FAIL, Act.WITHDRAW, Act.RESTORE}
)
NEED_WORDING = frozenset({Act.GENERATE, Act.IMPORT, Act.ADOPT, Act.SUBMIT, Act.OFFER, Act.REWRITE})
ACTS_OF_REVIEWERS = frozenset({Act.OFFER, Act.ACCEPT, Act.CONFIRM, Act.OBJECT})
ACTS_OF_EXPERT = frozenset({Act.STEP_ASIDE, Act.APPROVE, Act.RETURN})
OPEN_TO_COMMENTS = frozenset(
    {Phase.AGREED, Phase.IN_DISCUSSION, Phase.RESOLVED, Phase.EXPERT_REVIEW, Phase.FINAL_CHECK}
)
REVIEWERS = 2


class NotAllowed(CasewiseError):
    """An action that this person cannot take, or not now. The message is for the person."""


class ReviewAction(Record):
    """One action on a context."""

    by: str
    act: Act
    wording: Wording | None = None
    reason: str | None = None
    author: Author | None = None
    """The stated kind of author of imported words, or None."""


class State(Record):
    """All that decides which actions are allowed next; it is what the events add up to."""

    phase: Phase = Phase.MISSING
    wording: Wording | None = None
    """The text that all see: as generated, then as reviewers agreed."""
    positions: dict[str, Wording] = Field(default_factory=dict)
    """The text that each reviewer prefers; equal positions are an agreement."""
    reviewers: tuple[str, ...] = ()
    expert: str | None = None
    before_expert: Phase | None = None
    """The phase that it returns to when the expert steps aside."""
    confirmed: tuple[str, ...] = ()
    involved: tuple[str, ...] = ()
    """All people who reviewed or wrote it: none of them can be its expert."""
    author: str | None = None
    """The person who rewrote the text that the review began with; others judge it, if there are enough."""
    version: int = 0
    """Counts the steps that change what others see: who acts on an older version is told so."""
    problem: str | None = None
    """The reason why it has no words."""
    root: Wording | None = None
    """The text that the review began with, before a revision."""
    root_author: Author | None = None
    """The kind of author of `root`."""

    def author_of(self, wording: Wording | None = None) -> Author | None:
        """Return the kind of author of `wording`, by default the text that all see; None where there is no text."""
        if self.root_author is None:
            return None
        return self.root_author if (wording or self.wording) == self.root else self.root_author.when_changed


MISSING = State()
"""The first state of every context."""


def step(state: State, action: ReviewAction) -> State:
    """Return the state after `action`.

    Raises NotAllowed: it is not allowed here or to this person; the message says why.
    """
    if action.act in NEED_REASON and not (action.reason or "").strip():
        raise NotAllowed("Say why, in a few words.")
    if action.act in NEED_WORDING and action.wording is None:
        raise NotAllowed("The text is missing.")
    do, phases = STEPS[action.act]
    if state.phase not in phases:
        if len(phases) > len(Phase) / 2:
            raise NotAllowed(f"This context is {state.phase}: this step is not possible now.")
        possible = " or ".join(phase for phase in Phase if phase in phases)
        raise NotAllowed(f"This context is {state.phase}; this step is only possible while it is {possible}.")
    if action.act in ACTS_OF_REVIEWERS and action.by not in state.reviewers:
        raise NotAllowed("Only the two reviewers of this context can do that.")
    if action.act in ACTS_OF_EXPERT and action.by != state.expert:
        raise NotAllowed("Another expert has taken this context.")
    return do(state, action)


def possible_acts(state: State, by: str) -> tuple[Act, ...]:
    """Return the acts that `by` could take now, leaving roles aside; in the order of `Act`."""
    return tuple(act for act in Act if act not in PROGRAM_ACTS and is_allowed(state, by, act))


def is_allowed(state: State, by: str, act: Act) -> bool:
    try:
        step(state, ReviewAction(by=by, act=act, reason="-", wording=state.wording or ANY_WORDING))
    except NotAllowed:
        return False
    return True


ANY_WORDING = Wording(subject="-")


def with_person(people: tuple[str, ...], person: str) -> tuple[str, ...]:
    return people if person in people else (*people, person)


def with_changes(state: State, **changes: object) -> State:
    """Return `state` with `changes`, which others see."""
    return state.model_copy(update={"version": state.version + 1, **changes})


def start_review(
    state: State, action: ReviewAction, author: Author | None = None, phase: Phase = Phase.GENERATED
) -> State:
    """Return the state in which the words of `action` wait for their review; who was involved before stays so."""
    return State(
        phase=phase,
        wording=action.wording,
        root=action.wording,
        root_author=author or action.author or Author.UNKNOWN,
        involved=state.involved,
        version=state.version + 1,
    )


def rewrite(state: State, action: ReviewAction) -> State:
    written = start_review(state, action, Author.PERSON)
    return written.model_copy(update={"involved": with_person(state.involved, action.by), "author": action.by})


KEPT_BY_RESTART = ("wording", "root", "root_author", "involved", "author", "problem")


def restart_review(state: State, _action: ReviewAction) -> State:
    """Return the state with all of the review undone, but for the words, their authors, and who was involved."""
    kept = {name: getattr(state, name) for name in KEPT_BY_RESTART}
    phase = Phase.MISSING if state.wording is None else Phase.GENERATED
    return State(phase=phase, version=state.version + 1).model_copy(update=kept)


def submit(state: State, action: ReviewAction) -> State:
    if action.by in state.reviewers:
        raise NotAllowed("You have submitted your review of this context already.")
    entered = state.model_copy(
        update={
            "phase": Phase.UNDER_REVIEW,
            "reviewers": (*state.reviewers, action.by),
            "positions": {**state.positions, action.by: action.wording},
            "involved": with_person(state.involved, action.by),
        }
    )
    return entered if len(entered.reviewers) < REVIEWERS else compare_positions(entered, Phase.AGREED)


def take_back(state: State, action: ReviewAction) -> State:
    if action.by not in state.reviewers:
        raise NotAllowed("You have not submitted a review of this context, so you have nothing to take back.")
    return state.model_copy(update={"phase": Phase.GENERATED, "reviewers": (), "positions": {}})


def compare_positions(state: State, when_equal: Phase) -> State:
    """Return the state after both reviewers took a position; equal positions are an agreement."""
    first, second = (state.positions.get(reviewer) for reviewer in state.reviewers)
    if first is not None and first == second:
        return with_changes(state, phase=when_equal, wording=first, confirmed=())
    return with_changes(state, phase=Phase.IN_DISCUSSION)


def offer(state: State, action: ReviewAction) -> State:
    positions = {**state.positions, action.by: action.wording}
    return compare_positions(state.model_copy(update={"positions": positions}), Phase.RESOLVED)


def accept(state: State, action: ReviewAction) -> State:
    theirs = next((words for reviewer, words in state.positions.items() if reviewer != action.by), None)
    if theirs is None:
        raise NotAllowed("The other reviewer has not made a new proposal yet.")
    return offer(state, action.model_copy(update={"wording": theirs}))


def comment(state: State, action: ReviewAction) -> State:
    if action.by not in (*state.reviewers, state.expert):
        raise NotAllowed("Only the reviewers and the expert of this context can comment on it.")
    return state


def take(state: State, action: ReviewAction) -> State:
    if action.by in state.involved:
        raise NotAllowed("You reviewed or wrote this context, so another expert has to review it.")
    return with_changes(state, phase=Phase.EXPERT_REVIEW, expert=action.by, before_expert=state.phase)


def return_to_discussion(state: State, _action: ReviewAction) -> State:
    """Return the state with positions cleared, so that both reviewers state theirs again."""
    return with_changes(state, phase=Phase.IN_DISCUSSION, positions={}, expert=None, before_expert=None, confirmed=())


def confirm(state: State, action: ReviewAction) -> State:
    if action.by in state.confirmed:
        raise NotAllowed("You have confirmed this context already.")
    confirmed = (*state.confirmed, action.by)
    if len(confirmed) < REVIEWERS:
        return state.model_copy(update={"confirmed": confirmed})
    return with_changes(state, confirmed=confirmed, phase=Phase.APPROVED)


def give_up(state: State, action: ReviewAction) -> State:
    beginning = state.phase in {Phase.GENERATED, Phase.UNDER_REVIEW}
    as_reviewer = state.phase in OPEN_TO_COMMENTS - {Phase.EXPERT_REVIEW} and action.by in state.reviewers
    as_expert = state.phase == Phase.EXPERT_REVIEW and action.by == state.expert
    if not (beginning or as_reviewer or as_expert):
        raise NotAllowed("Only the people who work on this context now can mark it beyond repair.")
    return with_changes(state, phase=Phase.BEYOND_REPAIR, involved=with_person(state.involved, action.by))


WITHOUT_WORDS = frozenset({Phase.MISSING, Phase.BEYOND_REPAIR})
STEPS: dict[Act, tuple[Callable[[State, ReviewAction], State], frozenset[Phase]]] = {
    Act.GENERATE: (partial(start_review, author=Author.MODEL), WITHOUT_WORDS),
    Act.IMPORT: (start_review, frozenset({Phase.MISSING})),
    Act.ADOPT: (partial(start_review, phase=Phase.APPROVED), frozenset({Phase.MISSING})),
    Act.FAIL: (lambda state, action: state.model_copy(update={"problem": action.reason}), WITHOUT_WORDS),
    Act.SUBMIT: (submit, frozenset({Phase.GENERATED, Phase.UNDER_REVIEW})),
    Act.TAKE_BACK: (take_back, frozenset({Phase.UNDER_REVIEW})),
    Act.OFFER: (offer, frozenset({Phase.IN_DISCUSSION})),
    Act.ACCEPT: (accept, frozenset({Phase.IN_DISCUSSION})),
    Act.COMMENT: (comment, OPEN_TO_COMMENTS),
    Act.TAKE: (take, frozenset({Phase.AGREED, Phase.RESOLVED})),
    Act.STEP_ASIDE: (
        lambda state, _: with_changes(state, phase=state.before_expert, expert=None, before_expert=None),
        frozenset({Phase.EXPERT_REVIEW}),
    ),
    Act.APPROVE: (
        lambda state, _: with_changes(state, phase=Phase.FINAL_CHECK, confirmed=()),
        frozenset({Phase.EXPERT_REVIEW}),
    ),
    Act.RETURN: (return_to_discussion, frozenset({Phase.EXPERT_REVIEW})),
    Act.CONFIRM: (confirm, frozenset({Phase.FINAL_CHECK})),
    Act.OBJECT: (return_to_discussion, frozenset({Phase.FINAL_CHECK})),
    Act.GIVE_UP: (give_up, OPEN_TO_COMMENTS | {Phase.GENERATED, Phase.UNDER_REVIEW}),
    Act.REWRITE: (rewrite, WITHOUT_WORDS),
    Act.RESTART: (restart_review, frozenset(Phase) - WITHOUT_WORDS - {Phase.GENERATED, Phase.WITHDRAWN}),
    Act.WITHDRAW: (
        lambda state, _: with_changes(state, phase=Phase.WITHDRAWN),
        frozenset(Phase) - {Phase.WITHDRAWN},
    ),
    Act.RESTORE: (restart_review, frozenset({Phase.WITHDRAWN})),
}
"""The step of each act, and the phases in which it is possible."""
