"""What the page of a context shows to whom: never another reviewer's words before one's own are submitted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from casewise.contexts.checking.wording import Remark
from casewise.contexts.review import Act, Phase, allowed
from casewise.contexts.reviewing.autosave import Autosave, find_autosave
from casewise.contexts.reviewing.difference import Piece, is_same, wording_difference
from casewise.contexts.reviewing.store import ROLE_OF, Event, ReviewPlace, events_of, is_left_to_others, sibling
from casewise.database.staff import Person, find_person
from casewise.prompting.context_words import labels_of

__all__ = ["ContextView", "FieldView", "Proposal", "allowed_acts", "names_of", "seen_events", "view_of"]

TURNS = frozenset({Act.RETURN, Act.OBJECT, Act.GIVE_UP, Act.RESTART})
TALK = TURNS | {Act.COMMENT}
JUDGED_ALONE = frozenset({Phase.GENERATED, Phase.UNDER_REVIEW})
ABOUT_WORDS = TALK - {Act.RESTART} | {Act.SUBMIT, Act.OFFER}
"""What one reviewer says of a context, and another does not read before judging it; why it is reviewed anew, all do."""
EDITING = frozenset({Act.SUBMIT, Act.OFFER, Act.REWRITE})


@dataclass(frozen=True)
class FieldView:
    """One parameter: its words now, as generated, in the form, and what the checks found in it."""

    name: str
    label: str
    group: str
    now: str
    original: str
    typed: str
    changes: list[Piece]
    changed: bool
    findings: list[Remark]
    required: bool

    @property
    def id(self) -> str:
        return self.name.replace(".", "-")


@dataclass(frozen=True)
class Proposal:
    """What a reviewer stands for, against the words that both began with."""

    who: str
    mine: bool
    changes: dict[str, list[Piece]]


@dataclass(frozen=True)
class ContextView:
    """All that the page of a context shows."""

    place: ReviewPlace
    acts: frozenset[Act]
    fields: list[FieldView]
    editing: Act | None
    proposals: list[Proposal]
    comments: list[Event]
    turned: Event | None
    """What last sent the context back, in the review that goes on now; its reason stands among the comments."""
    general_findings: list[Remark]
    contrast: ReviewPlace | None
    autosave: Autosave | None
    names: dict[str, str]
    submitted: bool
    own_words: bool
    """Whether this person wrote anew what is reviewed now; where they may review it too, there are too few others."""

    @property
    def labels(self) -> dict[str, str]:
        """What each group and parameter is called."""
        return labels_of(self.place.parameters)

    @property
    def groups(self) -> dict[str, list[FieldView]]:
        """The fields under the titles of their groups, in reading order."""
        titles = dict.fromkeys(one.group for one in self.fields)
        return {title: [one for one in self.fields if one.group == title] for title in titles}


def allowed_acts(connection: Connection, place: ReviewPlace, person: Person) -> frozenset[Act]:
    """What this person may do with this context now, by the state, by their roles and by whose words they are."""
    acts = frozenset(act for act in allowed(place.state, person.id) if person.has(*ROLE_OF[act]))
    return acts - {Act.SUBMIT} if is_left_to_others(connection, place, person.id) else acts


def view_of(
    connection: Connection, place: ReviewPlace, person: Person, *, typed: Mapping[str, str] | None = None
) -> ContextView:
    """The view of `place` for `person`; `typed` are words that were sent but could not be taken."""
    acts = allowed_acts(connection, place, person)
    editing = next((act for act in Act if act in acts & EDITING), None)
    autosave = find_autosave(connection, place.id, person_id=person.id) if editing else None
    events = events_of(connection, place.id)
    begin = place.state.positions.get(person.id) or place.state.wording
    words = typed or (autosave.fields if autosave else None) or (begin.fields() if begin else {})
    fields = [field_view(place, name, words) for name in place.parameters.every]
    return ContextView(
        place=place,
        acts=acts,
        fields=fields,
        editing=editing,
        proposals=proposals_for(connection, place, person),
        comments=[event for event in seen_events(place, person, acts, events) if event.act in TALK and event.reason],
        turned=turned_by(place, events),
        general_findings=[finding for finding in place.findings if not finding.parameter],
        contrast=sibling(connection, place),
        autosave=autosave,
        names=names_of(connection, events),
        submitted=place.state.phase == Phase.UNDER_REVIEW and person.id in place.state.reviewers,
        own_words=place.state.phase in JUDGED_ALONE and person.id == place.state.author,
    )


def field_view(place: ReviewPlace, name: str, typed: Mapping[str, str]) -> FieldView:
    original = place.generated.fields().get(name, "") if place.generated else ""
    current = place.state.wording.fields().get(name, "") if place.state.wording else ""
    changes = wording_difference(place.generated, place.state.wording, place.parameters).get(name, [])
    labels = labels_of(place.parameters)
    group, _, inside = name.partition(".")
    return FieldView(
        name=name,
        label=labels[name],
        group=labels[group] if inside else "Also",
        now=current,
        original=original,
        typed=typed.get(name, ""),
        changes=changes,
        changed=not is_same(changes),
        findings=[finding for finding in place.findings if finding.parameter == name],
        required=name in place.parameters.required,
    )


def proposals_for(connection: Connection, place: ReviewPlace, person: Person) -> list[Proposal]:
    """Both positions while they are discussed; only one's own while the other has not submitted."""
    state = place.state
    if state.phase not in {Phase.UNDER_REVIEW, Phase.IN_DISCUSSION}:
        return []
    shown = [who for who in state.reviewers if state.phase == Phase.IN_DISCUSSION or who == person.id]
    return [
        Proposal(
            who=name_of(connection, who),
            mine=who == person.id,
            changes=wording_difference(state.wording, state.positions[who], place.parameters),
        )
        for who in sorted(shown, key=lambda who: who != person.id)
        if who in state.positions
    ]


def beginning_of(events: list[Event]) -> int:
    """Where the review that goes on now began."""
    return max((event.seq for event in events if event.to_phase == Phase.GENERATED), default=0)


def turned_by(place: ReviewPlace, events: list[Event]) -> Event | None:
    turns = [event for event in events if event.act in TURNS and event.seq >= beginning_of(events)]
    return turns[-1] if turns and place.state.phase != Phase.APPROVED else None


def seen_events(place: ReviewPlace, person: Person, acts: frozenset[Act], events: list[Event]) -> list[Event]:
    """The history without what `person`, who may do `acts`, must not see yet.

    Submitted words are for their author alone until both reviewers have submitted. Who still judges alone sees nothing
    that others said or wrote in earlier rounds either: it would be one review given twice.
    """
    beginning, judges = beginning_of(events), bool(acts & {Act.SUBMIT, Act.TAKE_BACK})

    def hidden(event: Event) -> bool:
        unsubmitted = place.state.phase == Phase.UNDER_REVIEW and event.seq > beginning
        return event.by != person.id and (unsubmitted or (judges and event.act in ABOUT_WORDS))

    return [replace(event, wording=None, reason=None) if hidden(event) else event for event in events]


def names_of(connection: Connection, events: list[Event]) -> dict[str, str]:
    """Who acted, by name; programs go by their own."""
    return {who: name_of(connection, who) for who in {event.by for event in events}}


def name_of(connection: Connection, who: str) -> str:
    person = find_person(connection, who)
    return person.name if person else who
