"""What facts say of a benchmark's contexts, laid out."""

from __future__ import annotations

from collections.abc import Iterator

from casewise.evaluate.verification import VerificationNumbers
from casewise.reports.document import Block, Document, Prose, Section, count, table_by, table_of
from casewise.reports.robustness import with_limits
from casewise.transforms.verified import STATUSES, STEPS

EXAMPLES = 12


def verification_page(found: VerificationNumbers) -> Document:
    """The numbers of a verification as a document."""
    synthetic = found.benchmark.about.synthetic
    return Document(
        title=f"What is known of the contexts of {found.benchmark.name}",
        subtitle=f"{len(found.facts.facts):,} facts, asked on {found.at.isoformat()}",
        notices=(f"SYNTHETIC DATA: {synthetic}",) if synthetic else (),
        sections=tuple(sections(found)),
    )


def sections(found: VerificationNumbers) -> Iterator[Section]:
    yield Section("claims", "What claims came to", tuple(claims(found)), brief=True)
    if found.permissions:
        yield Section("permissions", "Who may ask what", tuple(permissions(found)), brief=True)
    if found.detections:
        yield Section("forgeries", "How forgeries are found", tuple(detections(found)), brief=True)
    if examples := found.examples(EXAMPLES):
        rows = [
            (
                held.claim.text,
                held.status,
                str(held.fact.value) if held.fact else "",
                held.fact.source if held.fact else "",
                held.span,
                held.claim.parameter,
                one.context.id,
            )
            for one, held in examples
        ]
        heads = ("Claim", "Status", "The fact says", "Source", "Words", "Parameter", "Context")
        yield Section(
            "examples", "Claims that facts do not bear out", (table_of("examples", "The first of them", heads, rows),)
        )


def claims(found: VerificationNumbers) -> Iterator[Block]:
    yield Prose(
        f"Facts say something about {found.used:,} of {len(found.contexts):,} contexts. Not stated means that no fact says "
        "anything that could be read off: nobody knows, and it is never taken for false. The structured steps come first: words, "
        f"dates, numbers, yes and no, and other values that are known of the same field. {asked_besides(found)}"
    )
    rows = [(name, *(count(counted[status]) for status in STATUSES)) for name, counted in found.counts.items()]
    heads = ("Parameter", *(status.capitalize() for status in STATUSES))
    yield table_of("claims", "Claims by parameter, a sentence each", heads, rows)
    steps = [
        (step, count(found.steps.get(step, 0))) for step in (*STEPS, *(one.name for one in found.model_steps), "none")
    ]
    yield table_of("steps", "What decided them", ("Step", "Claims"), steps)


def asked_besides(found: VerificationNumbers) -> str:
    if not found.model_steps:
        return "No model was asked."
    return " ".join(
        f"Then {one.name} was asked about {one.asked:,} pairs of a fact and a claim; of {len(one.said):,} its word could be read."
        for one in found.model_steps
    )


def permissions(found: VerificationNumbers) -> Iterator[Block]:
    flagged = [one for one in found.permissions if one.flagged]
    unknown = sum(one.allowed is None for one in found.permissions)
    yield Prose(
        f"By the policy the recipients of {len(flagged):,} of {len(found.permissions):,} contexts may not ask what is asked. Of "
        f"{unknown:,} no fact says the role: nobody knows, and they are not flagged."
    )
    if flagged:
        yield table_by(
            "permissions",
            f"Contexts whose recipient has no permission{f': the first {EXAMPLES}' if len(flagged) > EXAMPLES else ''}",
            flagged[:EXAMPLES],
            {
                "Context": lambda one: one.context_id,
                "Role": lambda one: one.role or "",
                "Asks about": lambda one: one.category,
                "Rule": lambda one: one.rule or "none allows it",
            },
        )


def detections(found: VerificationNumbers) -> Iterator[Block]:
    yield Prose(
        "Recall: of the contexts of a kind, those of which verification says what it should. Precision: of those of which it says "
        "so, those that should be called so. Intervals are 95 %, over queries. Forged facts have the contexts' own words; facts "
        "from a register do not, so that less will be found there than here."
    )
    yield table_by(
        "forgeries",
        "Forgeries by kind",
        found.detections,
        {
            "Kind": lambda one: one.kind,
            "Should be": lambda one: one.expected,
            "Contexts": lambda one: count(one.recall.n),
            "Recall": lambda one: with_limits(one.recall),
            "Precision": lambda one: with_limits(one.precision),
        },
    )
    yield Prose(
        "Of the contexts of a kind, those that a step called what they should be called, and those that it called otherwise. The "
        "former add up to the recall. None: no step decided, and the parameter is not stated."
    )
    yield table_by(
        "steps-forgeries",
        "What each step contributed",
        [(one, step) for one in found.detections for step in one.steps],
        {
            "Kind": lambda both: both[0].kind,
            "Step": lambda both: both[1].step,
            "Rightly": lambda both: with_limits(both[1].right),
            "Wrongly": lambda both: with_limits(both[1].wrong),
        },
    )
