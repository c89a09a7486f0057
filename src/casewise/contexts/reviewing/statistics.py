"""How a draft's review went: agreement between reviewers, the share changed, who did how much."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field
from typing import Any

from sqlalchemy import Connection, select

from casewise.contexts.drafts import Draft, progress
from casewise.contexts.review import Act, Phase
from casewise.database.tables import review as tables
from casewise.stats import wilson

__all__ = ["ReviewStatistics", "Share", "Work", "review_statistics", "share"]


@dataclass(frozen=True)
class Share:
    """`count` of `of`, with a 95 % Wilson score interval; without a value where there is nothing to count."""

    count: int
    of: int
    low: float | None
    high: float | None

    @property
    def value(self) -> float | None:
        return self.count / self.of if self.of else None

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return "none yet"
        return f"{self.count} of {self.of} ({100 * self.count / self.of:.0f} %, {100 * self.low:.0f}–{100 * self.high:.0f} %)"


@dataclass(frozen=True)
class Work:
    """How much one person did."""

    person_id: str
    reviews: int
    revised: int
    approvals: int
    returns: int


@dataclass(frozen=True)
class ReviewStatistics:
    """The review of a draft in numbers. Each context counts with its latest round of reviews."""

    progress: dict[Phase, int]
    agreed_at_once: Share
    """Contexts on which both reviewers submitted the same words, of those that both reviewed."""
    same_need: Share
    """Contexts of which both reviewers, or neither, changed something."""
    pi: float | None
    """Scott's pi of "needs a change", the two reviewers being exchangeable; None where all or none do."""
    changed: Share
    """Contexts whose words now differ from those that were generated, of those that are agreed on."""
    returned: Share
    """Contexts that an expert returned at least once, of those that an expert decided on."""
    own_words: Share
    """Contexts of which one reviewer had written the words anew, of those that both reviewed."""
    work: list[Work]

    def as_json(self) -> dict[str, Any]:
        """The numbers as JSON values, each share with its value; who did how much is left out."""
        value = {name: part for name, part in asdict(self).items() if name != "work"}
        for name, part in vars(self).items():
            if isinstance(part, Share):
                value[name]["value"] = part.value
        return value


def share(count: int, of: int) -> Share:
    """`count` of `of` with its 95 % Wilson interval."""
    if of == 0:
        return Share(0, 0, None, None)
    limits = wilson(count, of)
    return Share(count, of, float(limits.low), float(limits.high))


def review_statistics(connection: Connection, draft: Draft) -> ReviewStatistics:
    """The numbers of `draft`, from its events."""
    tally = read_events(connection, draft)
    pairs = [pair for pair in tally.rounds.values() if len(pair) == 2]
    return ReviewStatistics(
        progress=progress(connection, draft),
        agreed_at_once=share(sum(pair[1].agreed for pair in pairs), len(pairs)),
        same_need=share(sum(pair[0].changed == pair[1].changed for pair in pairs), len(pairs)),
        pi=scotts_pi([(pair[0].changed, pair[1].changed) for pair in pairs]),
        changed=changed_share(connection, draft),
        returned=share(sum(Act.RETURN in acts for acts in tally.decided.values()), len(tally.decided)),
        own_words=share(sum(pair[0].own or pair[1].own for pair in pairs), len(pairs)),
        work=[
            Work(who, acts[Act.SUBMIT], acts["revised"], acts[Act.APPROVE], acts[Act.RETURN])
            for who, acts in sorted(tally.work.items())
        ],
    )


@dataclass(frozen=True)
class Submitted:
    """One reviewer's submission: whether it changed anything, was of words of their own, and made an agreement."""

    changed: bool
    own: bool
    agreed: bool


@dataclass(frozen=True)
class ReviewTally:
    """The latest round of submissions of each context, what each person did, and what experts decided."""

    rounds: dict[str, list[Submitted]] = field(default_factory=lambda: defaultdict(list))
    work: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    decided: dict[str, set[Act]] = field(default_factory=lambda: defaultdict(set))

    def add(self, context_id: str, act: Act, by: str, submitted: Submitted) -> None:
        if act in {Act.GENERATE, Act.REWRITE, Act.RESTART}:
            self.rounds[context_id] = []
        elif act == Act.SUBMIT:
            self.rounds[context_id].append(submitted)
            self.work[by]["revised"] += submitted.changed
            self.work[by][act] += 1
        elif act == Act.TAKE_BACK:
            taken = self.rounds[context_id].pop()
            self.work[by]["revised"] -= taken.changed
            self.work[by][Act.SUBMIT] -= 1
        elif act in {Act.APPROVE, Act.RETURN}:
            self.decided[context_id].add(act)
            self.work[by][act] += 1


def read_events(connection: Connection, draft: Draft) -> ReviewTally:
    events, contexts = tables.events, tables.contexts
    rows = connection.execute(
        select(events.c.context_id, events.c.act, events.c.by, events.c.to_phase, events.c.detail)
        .join(contexts, contexts.c.id == events.c.context_id)
        .where(contexts.c.draft_id == draft.id)
        .order_by(events.c.context_id, events.c.seq)
    )
    tally = ReviewTally()
    for row in rows:
        detail = row.detail or {}
        submitted = Submitted(
            "changed" in detail and detail["changed"], "own_words" in detail, row.to_phase == Phase.AGREED
        )
        tally.add(row.context_id, Act(row.act), row.by, submitted)
    return tally


def changed_share(connection: Connection, draft: Draft) -> Share:
    table = tables.contexts
    agreed_on = [Phase.AGREED, Phase.RESOLVED, Phase.EXPERT_REVIEW, Phase.FINAL_CHECK, Phase.APPROVED]
    rows = connection.execute(
        select(table.c.generated, table.c.state).where(table.c.draft_id == draft.id, table.c.phase.in_(agreed_on))
    ).all()
    return share(sum(row.generated != row.state.get("wording") for row in rows), len(rows))


def scotts_pi(pairs: list[tuple[bool, bool]]) -> float | None:
    """Agreement of two exchangeable raters beyond chance (Scott 1955): (observed - expected) / (1 - expected)."""
    if not pairs:
        return None
    yes = sum(sum(pair) for pair in pairs) / (2 * len(pairs))
    expected = yes**2 + (1 - yes) ** 2
    if expected == 1:
        return None
    return (sum(first == second for first, second in pairs) / len(pairs) - expected) / (1 - expected)
