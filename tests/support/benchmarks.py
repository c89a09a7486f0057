"""A small benchmark in which every field that may be stated is stated somewhere."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from casewise.records import (
    Context,
    Item,
    Provenance,
    Query,
    Rating,
    Recipient,
    Revision,
    Sender,
    TransmissionPrinciple,
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
    """One query with two contexts and without one; ratings with and without annotators; a revision."""
    query = Query(
        text='=HYPERLINK("x") „Anführung“, 100 %', category="terrorism", source="a desk", category_as_published="Fraud"
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
        Item.of(after, published_rate=1 / 3),
        Item.of(unsafe),
        Item(query_id=query.id, condition="no_context"),
    )
    ratings = (
        Rating(item_id=items[0].id, annotator_id="a1", verdict="safe", seconds=0.1 + 0.2, at=when),
        Rating(item_id=items[0].id, annotator_id="a2", verdict="unsafe", at=datetime(2025, 7, 1, tzinfo=UTC)),
        Rating(item_id=items[1].id, position=0, verdict="unsafe"),
        Rating(item_id=items[1].id, position=1, verdict="unsafe"),
    )
    revision = Revision(id="r1", before_id=before.id, after_id=after.id, reviewer="x", reason="clearer", at=when)
    about = About(name="rich", version="1.2", licence="CC BY 4.0", terms='Say "yes"', gated=True, canary="canary 42")
    return Benchmark(about, (query,), (before, after, unsafe), items, ratings, (revision,))
