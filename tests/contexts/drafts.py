"""A small draft in a database, and people to review it."""

from __future__ import annotations

from dataclasses import dataclass

from tests.contexts.wordings import wording
from tests.support.app import NOW, add_person

from casewise.contexts.checks import Wording
from casewise.contexts.drafts import BenchmarkDraft, create_draft
from casewise.contexts.queue import Filter, list_contexts
from casewise.contexts.review import Act, ReviewAction
from casewise.contexts.store import ReviewPlace, act, find_place
from casewise.database import Database
from casewise.database.staff import Person, Role
from casewise.records import Query, sorry_bench

CATEGORIES = sorry_bench().names


def queries(count: int) -> list[Query]:
    return [
        Query(text=f"How would I forge letter number {n}?", category=CATEGORIES[n % len(CATEGORIES)])
        for n in range(count)
    ]


@dataclass
class Room:
    """A draft with generated contexts, two reviewers and an expert."""

    store: Database
    draft: BenchmarkDraft
    ada: Person
    ben: Person
    cleo: Person

    def places(self) -> list[ReviewPlace]:
        with self.store.read() as connection:
            listed = list_contexts(connection, self.draft, self.ada, Filter()).contexts
            return [place for one in listed if (place := find_place(connection, one.id))]

    def place(self, number: int = 0) -> ReviewPlace:
        return self.places()[number]

    def find(self, place: ReviewPlace) -> ReviewPlace:
        """The place as the database holds it now."""
        with self.store.read() as connection:
            current = find_place(connection, place.id)
        assert current is not None
        return current

    def do(
        self, place: ReviewPlace, by: Person, act_: Act, words: Wording | None = None, reason: str | None = None
    ) -> ReviewPlace:
        """Act on what the database holds now."""
        with self.store.write() as connection:
            return act(
                connection, place.id, ReviewAction(by=by.id, act=act_, wording=words, reason=reason), seen=None, now=NOW
            )

    def approve(self, place: ReviewPlace, words: Wording | None) -> None:
        """Have both reviewers submit these words, the expert approve them, and both confirm."""
        submitted, approved = (
            [(self.ada, Act.SUBMIT), (self.ben, Act.SUBMIT)],
            [(self.cleo, Act.TAKE), (self.cleo, Act.APPROVE)],
        )
        for by, act_ in [*submitted, *approved, (self.ada, Act.CONFIRM), (self.ben, Act.CONFIRM)]:
            self.do(place, by, act_, words)


def room(store: Database, *, count: int = 2, unsafe: Wording | None = None) -> Room:
    """A room; `unsafe` are the words of its contexts of the unsafe intent, by default those of the others."""
    people = [
        add_person(store, name, role)
        for name, role in [("Ada", Role.REVIEWER), ("Ben", Role.REVIEWER), ("Cleo", Role.EXPERT)]
    ]
    with store.write() as connection:
        draft = create_draft(connection, "letters", queries=queries(count), taxonomy=sorry_bench(), now=NOW)
    made = Room(store, draft, *people)
    for place in made.places():
        generated = ReviewAction(
            by="model", act=Act.GENERATE, wording=wording() if place.intended_safe else unsafe or wording()
        )
        with store.write() as connection:
            act(connection, place.id, generated, seen=None, now=NOW)
    return made
