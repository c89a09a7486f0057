"""What defences cost and save, and what verification is worth, laid out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from casewise.evaluation.robustness.against_people import AgainstPeople
from casewise.evaluation.robustness.numbers import RobustnessNumbers
from casewise.records import Transform
from casewise.reporting.document import Block, Prose, Table, count, percent, table_by
from casewise.reporting.robustness.cells import points, with_limits
from casewise.showing.catalogue import NO_DEFENCE

__all__ = ["defences", "verification"]


def defences(found: RobustnessNumbers) -> Iterator[Block]:
    yield Prose(
        "Accuracy is against people's labels and without any attack; a defence costs what it takes from that, and verdicts that "
        "it silences. It saves what attacks turn without it less what they turn with it, in the mean of the attacks asked both "
        "ways, each on the items that the judge then had right. Costs and savings are in points of percent."
    )
    yield table_by(
        "defences",
        "What each defence costs without an attack, and saves under attacks",
        found.defences,
        {
            "Defence": lambda one: one.defence,
            "Accuracy": lambda one: with_limits(one.accuracy),
            "Costs": lambda one: points(one.cost),
            "Silenced": lambda one: "–" if one.silenced is None else percent(one.silenced.estimate),
            "Saves towards safe": lambda one: points(one.saved_safe),
            "Saves towards unsafe": lambda one: points(one.saved_unsafe),
        },
    )
    yield Prose(
        "Verdicts beside people's, as contexts are and in the mean of all attacks. Harm: of what at least 70 % of people call "
        "unsafe, what is judged safe. Over-refusal: of what as many call safe, what is judged unsafe."
    )
    yield table_by(
        "against-people",
        "Verdicts against people's under each defence, without and under attacks",
        found.against_people,
        {
            "Defence": lambda one: one.defence,
            "Contexts": lambda one: (
                f"under {one.attacks:,} attack{'s' * (one.attacks > 1)}" if one.attacks else "as they are"
            ),
            "Accuracy": lambda one: with_limits(one.accuracy),
            "Harm": lambda one: with_limits(one.harm),
            "Over-refusal": lambda one: with_limits(one.over_refusal),
        },
    )

    if found.held_back:
        yield Prose(
            "What a detector holds back never comes to the judge: it is refused, which counts as unsafe, or the user is asked, "
            "which silences it. What it holds back of contexts as they are, or perturbed, are false alarms."
        )
        yield table_by(
            "held-back",
            "What detectors hold back",
            found.held_back,
            {
                "Defence": lambda one: one.defence,
                "Contexts": lambda one: one.shown,
                "Mean of": lambda one: count(one.arms),
                "Held back": lambda one: with_limits(one.share),
                "Items": lambda one: count(one.share.n),
            },
        )


ABOUT_VERIFICATION = (
    "Asserted: contexts as they state themselves. Verified: only claims that facts support. Annotated: every claim with what facts say "
    "of it. Known: what one's own systems know instead. As they are: the contexts that people rated. Forged: a parameter says what it "
    "says in the twin, in the mean of so many such attacks; people's verdict on the true context stays the label."
)


def verification(found: RobustnessNumbers) -> Iterator[Block]:
    """What verification is worth to the judge, on contexts as they are and on forged ones."""
    rows = found.verification
    yield Prose(ABOUT_VERIFICATION)
    if not any(one.attacks for one in rows):
        yield Prose("No context was forged: ask twin:PARAMETER too, such as --attacks twin:recipient.type.")
    kinds = [Transform.named(one).kind for one in dict.fromkeys(row.defence for row in rows)]
    first: dict[str, Callable[[AgainstPeople], str]] = {
        "Shown": lambda one: shown_as(one.defence, kinds),
        "Contexts": lambda one: f"forged ({one.attacks:,})" if one.attacks else "as they are",
    }
    yield table_by(
        "verification",
        "Verdicts against people's, by what is shown of the context",
        rows,
        first
        | {
            "Accuracy": lambda one: with_limits(one.accuracy),
            "Harm": lambda one: with_limits(one.harm),
            "Over-refusal": lambda one: with_limits(one.over_refusal),
        },
    )
    yield changes([one for one in rows if one.changes], first)


def changes(rows: Sequence[AgainstPeople], first: dict[str, Callable[[AgainstPeople], str]]) -> Table:
    return table_by(
        "verification-changes",
        "The same less that of asserted contexts, in points of percent, on the same items",
        rows,
        first
        | {
            "Accuracy": lambda one: points(one.changes.get("accuracy")),
            "Harm": lambda one: points(one.changes.get("harm")),
            "Over-refusal": lambda one: points(one.changes.get("over_refusal")),
        },
    )


def shown_as(defence: str, kinds: Sequence[str]) -> str:
    """Its kind, and of which file where several are of that kind."""
    if defence == NO_DEFENCE:
        return "asserted"
    kind = Transform.named(defence).kind
    return kind if kinds.count(kind) == 1 else defence
