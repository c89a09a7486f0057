"""Statistics of a draft's review: agreement between reviewers, the share changed, who did how much."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

from casewise.contexts.record import ContextRecord, DraftRecord
from casewise.contexts.review import Act, Author, Phase
from casewise.contexts.store import Step
from casewise.stats import wilson
from casewise.storage.files import json_fields


@dataclass(frozen=True)
class Share:
    """A share, `count` of `of`, with a 95 % Wilson score interval; without a value where there is nothing to count."""

    count: int
    of: int

    @property
    def value(self) -> float | None:
        return self.count / self.of if self.of else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The limits of the interval."""
        limits = wilson(self.count, self.of) if self.of else None
        return (float(limits.low), float(limits.high)) if limits else None

    def as_json(self) -> dict[str, Any]:
        """Return the share as JSON values."""
        low, high = self.interval or (None, None)
        return {"count": self.count, "of": self.of, "low": low, "high": high, "value": self.value}

    def __str__(self) -> str:
        if self.interval is None:
            return "none yet"
        low, high = self.interval
        return f"{self.count} of {self.of}: {100 * self.count / self.of:.0f} % [{100 * low:.0f}, {100 * high:.0f}]"


@dataclass(frozen=True)
class Work:
    """The amount of work of one person. Approvals count contexts that stand approved by them; returns count contexts, each once."""

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
    """Contexts whose words now differ from those that a model wrote, of those of a model that are agreed on."""
    authors: dict[Author, int]
    """Contexts that are agreed on, by the kind of author of their words."""
    returned: Share
    """Contexts that an expert returned at least once, of those that an expert decided on."""
    own_words: Share
    """Contexts of which one reviewer had written the words anew, of those that both reviewed."""
    withdrawn: int
    """Contexts whose query was withdrawn; no other number but the progress counts them."""
    adopted: int
    """Contexts that were approved for an earlier release and not reviewed again."""
    work: list[Work]

    def as_json(self) -> dict[str, Any]:
        """Return the numbers as JSON values, each share with its value; who did how much is left out."""
        return json_fields(self, without=("work",))

    def lines(self) -> list[str]:
        """Return the number of contexts in each phase, and the agreement of the reviewers, in lines of text."""
        stands = [f"{count:6}  {phase}" for phase, count in self.progress.items() if count]
        if not self.agreed_at_once.of:
            return stands
        return [
            *stands,
            f"both reviewers submitted the same words: {self.agreed_at_once}",
            f"both reviewers, or neither, changed the text: {self.same_need}",
            f"changed since a model wrote them: {self.changed}",
            "written by: " + ", ".join(f"{count} {author}" for author, count in self.authors.items()),
            f"returned by an expert: {self.returned}",
        ]


def review_statistics(record: DraftRecord) -> ReviewStatistics:
    """Return the numbers of a draft, from its record."""
    standing = record.standing
    rounds = [pair for context in standing if len(pair := last_round(context)) == 2]
    same_need = Share(sum(changes(first) == changes(second) for first, second in rounds), len(rounds))
    pi = None  # (observed - expected) / (1 - expected), where a pair agrees by chance as Scott (1955) expects
    if rounds:
        change = sum(changes(submission) for pair in rounds for submission in pair) / (2 * len(rounds))
        expected = change**2 + (1 - change) ** 2
        pi = None if expected == 1 else (same_need.count / same_need.of - expected) / (1 - expected)
    agreed = [context for context in standing if context.state.phase in AGREED_ON]
    authors = Counter(context.state.author_of() for context in agreed)
    by_model = authors[Author.MODEL] + authors[Author.PERSON_AFTER_MODEL]
    decided = [acts for context in standing if (acts := {step.event.act for step in context.steps} & EXPERT_DECIDES)]
    phases = Counter(context.state.phase for context in record.contexts)
    return ReviewStatistics(
        progress={phase: phases[phase] for phase in Phase},
        agreed_at_once=Share(sum(second.after.phase == Phase.AGREED for _, second in rounds), len(rounds)),
        same_need=same_need,
        pi=pi,
        changed=Share(authors[Author.PERSON_AFTER_MODEL], by_model),
        authors={author: authors[author] for author in Author if authors[author]},
        returned=Share(sum(Act.RETURN in acts for acts in decided), len(decided)),
        own_words=Share(
            sum(any(step_in_pair.event.by == step_in_pair.before.author for step_in_pair in pair) for pair in rounds),
            len(rounds),
        ),
        withdrawn=phases[Phase.WITHDRAWN],
        adopted=sum(context.steps[-1].event.act == Act.ADOPT for context in standing if context.steps),
        work=work_of(standing),
    )


EXPERT_DECIDES = frozenset({Act.APPROVE, Act.RETURN})
AGREED_ON = frozenset({Phase.AGREED, Phase.RESOLVED, Phase.EXPERT_REVIEW, Phase.FINAL_CHECK, Phase.APPROVED})


def last_round(context: ContextRecord) -> list[Step]:
    """Return the submissions of the review that goes on now, or went last, without those taken back."""
    submissions: list[Step] = []
    for step in context.steps:
        if step.after.phase == Phase.GENERATED and step.event.act != Act.TAKE_BACK:
            submissions.clear()
        elif step.event.act == Act.SUBMIT and not step.taken_back:
            submissions.append(step)
    return submissions


def changes(submission: Step) -> bool:
    """Return whether a reviewer submitted other words than those under review."""
    return submission.event.wording != submission.before.wording


def work_of(contexts: tuple[ContextRecord, ...]) -> list[Work]:
    """Return what each person did: every submission that stood, each context once that they approved or returned."""
    work: dict[str, Counter[str]] = defaultdict(Counter)
    for context in contexts:
        for step in context.steps:
            if step.event.act == Act.SUBMIT and not step.taken_back:
                work[step.event.by].update(reviews=1, revised=int(changes(step)))
        for person in {step.event.by for step in context.steps if step.event.act == Act.RETURN}:
            work[person]["returns"] += 1
        if context.state.expert is not None and context.state.phase in {Phase.FINAL_CHECK, Phase.APPROVED}:
            work[context.state.expert]["approvals"] += 1
    return [
        Work(person, **{name: counts[name] for name in ("reviews", "revised", "approvals", "returns")})
        for person, counts in sorted(work.items())
    ]
