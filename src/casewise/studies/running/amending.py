"""Changing a round while it runs, on record: more ratings an item, more items, other people. What was rated stays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from casewise.database.tables import study as tables
from casewise.errors import StatisticsError, StudyError
from casewise.stats.power.studies import PilotRatings, study_power, variance_of
from casewise.studies.design.design import Design
from casewise.studies.design.material import StudyItem
from casewise.studies.running.admission import open_slots_by_query, people_needed
from casewise.studies.running.annotators import count_stages
from casewise.studies.running.events import note
from casewise.studies.running.paying import cost_of_more
from casewise.studies.running.plan import StudyPlan
from casewise.studies.running.rounds import ROWS_AT_ONCE, Round, add_items, round_state, shown_items

__all__ = ["FOUND", "Amendment", "PowerChange", "ToCome", "amend", "amendment_of"]

MAY_CHANGE = {"benchmark", "ratings", "eligibility", "pay", "alerts", "quality"}
"""Tables of `study.toml` that an amendment may change; of the ratings only that there are more of each item, of the
benchmark that it has more items (a folder is never overwritten, so it is another)."""

FOUND = 0.05
"""The difference of safe rates whose power is told."""


@dataclass(frozen=True)
class PowerChange:
    """The power of a planned contrast to find `FOUND`, by the variance of the ratings that there are."""

    contrast: tuple[str, str]
    before: float
    after: float


@dataclass(frozen=True)
class ToCome:
    """All ratings of a round, and the people and money still to come for them.

    What is spent or promised already is not in it: it is `Monitor.money.to_come`.
    """

    ratings: int
    people: int
    cost: float


@dataclass(frozen=True)
class Amendment:
    """What a changed study means for a round that runs."""

    changes: dict[str, tuple[Any, Any]]
    """Setting to what it was and will be."""
    new_items: tuple[StudyItem, ...]
    per_item: int
    before: ToCome
    after: ToCome
    currency: str
    power: tuple[PowerChange, ...]
    """None of a contrast whose ratings are too few to say."""

    @property
    def said(self) -> tuple[str, ...]:
        """What an analysis must know, a sentence each; exports have it, so no path and nobody's address is in it."""
        found = [public(name, old, new) for name, (old, new) in self.changes.items()]
        if self.new_items:
            found.append(f"{len(self.new_items):,} items were added; they have ratings of the later part only")
        return tuple(found)

    @property
    def caution(self) -> str | None:
        """What whoever amends must know of the money, and an analysis need not."""
        if "pay.fee_percent" not in self.changes:
            return None
        return (
            "what was spent is counted with the new fee too: that is right where the old one was wrong, and not where the "
            "recruiter has changed it; what was paid is on the recruiter's invoices"
        )


def public(name: str, old: Any, new: Any) -> str:
    if name.startswith("alerts"):
        return f"{name} changed"
    if name == "benchmark":
        old, new = Path(old).name, Path(new).name
    return f"{name} was {old!r} and is {new!r}"


def amendment_of(connection: Connection, study: Round, plan: StudyPlan, *, now: datetime) -> Amendment:
    """What it would mean for `study` to go on as `plan` has it now.

    Raises StudyError: it cannot be amended now; nothing is changed, or something that cannot be while keeping what was
    rated.
    """
    refuse_now(connection, study, plan)
    changes = changed(study.design, plan.design)
    there = shown_items(connection, study.id)
    old, new = {item.item_id: item for item in there}, {item.item_id: item for item in plan.material.items}
    refuse_what_cannot(changes, study, plan, missing=[item for item in old if item not in new])
    if altered := [item for item in old if old[item].shown != new[item].shown]:
        raise StudyError(f"item {altered[0]!r} would be shown otherwise than it was rated; that is another study")
    added = tuple(item for name, item in new.items() if name not in old)
    if not changes and not added:
        raise StudyError("nothing is changed: raise ratings.per_item, add items, or change eligibility in study.toml")
    per_item, more = plan.design.ratings.per_item, plan.design.ratings.per_item - study.design.ratings.per_item
    free, stages = open_slots_by_query(connection, study), count_stages(connection, study.id)

    def to_come(design: Design, items: int) -> ToCome:
        people = people_needed(connection, study, free, now=now)
        return ToCome(items * design.ratings.per_item, people, cost_of_more(design.pay, stages, people=people))

    before = to_come(study.design, len(old))
    for item in new.values():
        free[item.condition, item.query_id] += more if item.item_id in old else per_item
    return Amendment(
        changes=changes,
        new_items=added,
        per_item=per_item,
        before=before,
        after=to_come(plan.design, len(new)),
        currency=plan.design.pay.currency,
        power=tuple(power_changes(connection, study, plan, queries=(queries_of(there), queries_of(new.values())))),
    )


def changed(before: Design, after: Design) -> dict[str, tuple[Any, Any]]:
    old, new = before.model_dump(mode="json"), after.model_dump(mode="json")
    found: dict[str, tuple[Any, Any]] = {}
    for name in new:
        if isinstance(new[name], dict) and isinstance(old.get(name), dict):
            found |= {
                f"{name}.{key}": (old[name].get(key), value)
                for key, value in new[name].items()
                if old[name].get(key) != value
            }
        elif old.get(name) != new[name]:
            found[name] = (old.get(name), new[name])
    return found


def refuse_what_cannot(
    changes: dict[str, tuple[Any, Any]], study: Round, plan: StudyPlan, *, missing: Sequence[str]
) -> None:
    for name in changes:
        table = name.partition(".")[0]
        if table not in MAY_CHANGE or (table == "ratings" and name != "ratings.per_item"):
            raise StudyError(f"{name} cannot change while people rate; give `version` a new value for another study")
    if plan.design.ratings.per_item < study.design.ratings.per_item:
        raise StudyError("ratings.per_item can only be raised: what was promised to people is kept")
    if missing:
        raise StudyError(f"item {missing[0]!r} is no longer there; what people rate now cannot be taken away")
    if plan.wording != study.wording:
        touched = ", ".join(changes) or "the files of [texts]"
        raise StudyError(
            f"the texts differ from those that people agreed to (changed: {touched}); take that back, or give `version` a new value"
        )


def queries_of(items: Iterable[StudyItem]) -> int:
    return len({item.query_id for item in items})


def power_changes(
    connection: Connection, study: Round, plan: StudyPlan, *, queries: tuple[int, int]
) -> Iterator[PowerChange]:
    pages = tables.pages
    query = select(pages.c.condition, pages.c.verdict, pages.c.query_id, pages.c.annotator_id).where(
        pages.c.study_id == study.id, pages.c.state == "rated", pages.c.kind == "item"
    )
    rows = connection.execute(query).all()
    for first, second in plan.design.contrasts:
        chosen = [row for row in rows if row.condition in {first, second}]
        try:
            found = variance_of(
                PilotRatings(
                    [row.verdict == "safe" for row in chosen],
                    [row.condition == second for row in chosen],
                    [row.query_id for row in chosen],
                    [row.annotator_id for row in chosen],
                )
            )
        except StatisticsError:
            continue
        each = [
            study_power(
                found,
                FOUND,
                queries=many,
                per_item=design.ratings.per_item,
                per_annotator=design.ratings.per_annotator,
                alpha=design.analysis.alpha,
            )
            for design, many in zip((study.design, plan.design), queries, strict=True)
        ]
        yield PowerChange((first, second), each[0], each[1])


def amend(
    connection: Connection, study: Round, plan: StudyPlan, wanted: Amendment, *, why: str, by: str, now: datetime
) -> None:
    """Have the round go on as amended: the same link, the same people, and all that was rated.

    Raises StudyError: it cannot be amended now.
    """
    refuse_now(connection, study, plan)
    more = wanted.per_item - study.design.ratings.per_item
    if more:
        add_slots(connection, study, shown_items(connection, study.id), more=more)
    if wanted.new_items:
        add_items(connection, study.id, wanted.new_items, per_item=wanted.per_item)
    table = tables.studies
    values = {
        "design": plan.design.model_dump(mode="json"),
        "benchmark": plan.material.benchmark,
        "categories": [list(category) for category in plan.material.categories],  # whoever begins now is warned of all
    }
    connection.execute(update(table).where(table.c.id == study.id).values(**values))
    note(connection, study.id, "amended", at=now, by=by, detail={"why": why, "changes": list(wanted.said)})


def refuse_now(connection: Connection, study: Round, plan: StudyPlan) -> None:
    """Refuse where the round is not paused, for servers read it once a minute and people must not rate by two designs at once.

    Or where there are categories that people in the tutorial or the quiz were not warned of.
    """
    if round_state(connection, study.id) != "paused":
        raise StudyError(
            "pause the round first (casewise study pause), amend it, and let people in again after a minute"
        )
    warned = {name for name, _ in study.categories}
    added = [name for name, _ in plan.material.categories if name not in warned]
    people = tables.annotators
    query = select(people.c.id).where(people.c.study_id == study.id, people.c.stage.in_(("tutorial", "quiz")))
    waiting = connection.scalars(query.order_by(people.c.id)).all() if added else ()
    if waiting:
        raise StudyError(
            f"people in the tutorial or the quiz were not warned of {', '.join(added)}: wait until they have begun, or leave "
            f"them out (casewise study void): {', '.join(waiting)}"
        )


def add_slots(connection: Connection, study: Round, items: Sequence[StudyItem], *, more: int) -> None:
    slots = tables.slots
    last = int(connection.scalars(select(func.max(slots.c.number)).where(slots.c.study_id == study.id)).one())
    rows = [
        {"study_id": study.id, "item_id": item.item_id, "condition": item.condition, "number": number}
        for item in items
        for number in range(last + 1, last + 1 + more)
    ]
    for start in range(0, len(rows), ROWS_AT_ONCE):
        connection.execute(insert(slots), rows[start : start + ROWS_AT_ONCE])
