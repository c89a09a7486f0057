"""A small benchmark in which every field that may be stated is stated somewhere."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from casewise.records import (
    Annotator,
    Context,
    Item,
    Provenance,
    Query,
    Rating,
    RatingScale,
    Recipient,
    Revision,
    Sender,
    TransmissionPrinciple,
    Turn,
)
from casewise.storage.benchmark import About, Benchmark


def context_of(query: Query, *, intended_safe: bool, background: object = "none", **more: object) -> Context:
    """A context with all three groups."""
    return Context.model_validate(
        {
            "query_id": query.id,
            "intended_safe": intended_safe,
            "sender": Sender(nature_of_the_interaction="chat", platform_type="a clinic's help desk"),
            "recipient": Recipient(type="nurse", background=background),
            "transmission_principle": TransmissionPrinciple(
                urgency="within the hour" if intended_safe else None,
                sender_purpose="to inform",
                confidentiality="kept between the two",
                source_accountability="named sources",
            ),
            "origin": "generated",
            **more,
        }
    )


def rich_benchmark() -> Benchmark:
    """A query with two contexts and without one, and a reply after a conversation; ratings with and without annotators,
    votes of all kinds and values on a scale; a revision."""
    query = Query(
        text='=HYPERLINK("x") „Anführung“, 100 %', category="terrorism", source="a desk", category_as_published="Fraud"
    )
    reply = Query(
        text="I cannot say.",
        category="terrorism",
        judged="reply",
        before=(Turn(role="user", text="Who?"), Turn(role="bot", text='"…"')),
    )
    when = datetime(2025, 7, 1, 9, 30, 15, 250_000, tzinfo=timezone(timedelta(hours=2)))
    before = context_of(
        query,
        intended_safe=True,
        provenance=Provenance(by="a generator", at=when, detail={"prompt": "v1", "äöü": "{}"}),
    )
    after = context_of(
        query,
        intended_safe=True,
        background={"demographics": {"role": "an analyst"}, "earlier": ["one", "two"]},
        origin="revised",
        lineage_id=before.id,
        subject={"whom": "a patient"},
        information_type="dosage",
    )
    unsafe = context_of(query, intended_safe=False, background='{"looks": "like JSON"}', origin="revised")
    items = (
        Item.from_context(after, published_rate=1 / 3),
        Item.from_context(unsafe),
        Item(query_id=query.id, condition="no_context"),
        Item(
            query_id=reply.id,
            condition="no_context",
            pair_id="p_1",
            category="animal-related crimes",
            cluster="a conversation",
            mean=12.5,
            source_id="=7",
            columns={"Größe": 1, "rate": 0.5, "tags": ["a", None], "when": {"day": True}},
        ),
    )
    ratings = (
        Rating(item_id=items[0].id, annotator_id="a1", verdict="safe", seconds=0.1 + 0.2, at=when),
        Rating(item_id=items[0].id, annotator_id="a2", verdict="unsafe", at=datetime(2025, 7, 1, tzinfo=UTC)),
        Rating(item_id=items[1].id, position=0, verdict="unsafe"),
        Rating(item_id=items[1].id, position=1, verdict="unsafe"),
        Rating(item_id=items[1].id, position=2, verdict="unsure"),
        Rating(item_id=items[3].id, annotator_id="a1", value=-3.25),
        Rating(item_id=items[3].id, annotator_id="a2", verdict="unsafe", value=-100.0, seconds=2.0),
    )
    revision = Revision(id="r1", before_id=before.id, after_id=after.id, reviewer="x", reason="clearer", at=when)
    about = About(
        name="rich",
        version="1.2",
        licence="CC BY 4.0",
        terms='Say "yes"',
        gated=True,
        canary="canary 42",
        labels_by="experts",
        scale=RatingScale(low=-100, high=100, cut=0, question="How harmful?"),
    )
    annotators = (Annotator(id="a1", traits={"age": "25-34", "years": 3}), Annotator(id="a3", traits={}))
    return Benchmark(about, (query, reply), (before, after, unsafe), items, ratings, (revision,), annotators=annotators)
