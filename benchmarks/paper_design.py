"""A made-up benchmark of the paper's size, to rehearse its whole design: 450 queries, five conditions, 2,250 items.

    python benchmarks/paper_design.py FOLDER
    casewise study init FOLDER --preset paper
    casewise study rehearse --annotators 2000

The words mean nothing: what is measured is the study, not a judge.
"""

from __future__ import annotations

import sys
from pathlib import Path

from casewise.records import Context, Item, Query, Recipient, Sender, TransmissionPrinciple, sorry_bench
from casewise.storage import About, Benchmark, write_benchmark

PER_CATEGORY = 10


def context_of(query: Query, *, safe: bool, origin: str, number: int) -> Context:
    """One context; the number makes each one's words its own."""
    return Context(
        query_id=query.id,
        intended_safe=safe,
        sender=Sender(
            nature_of_the_interaction=f"A conversation of kind {number} with an assistant",
            platform_type=f"Platform {number}, which is {'run by a public body' if safe else 'open to anybody'}",
        ),
        recipient=Recipient(type="A registered user", background=f"Background {number}, {origin}"),
        transmission_principle=TransmissionPrinciple(
            urgency="An answer is needed within the week",
            sender_purpose="To inform people about their work",
            confidentiality="The conversation is read by the user and the platform",
            source_accountability="The platform answers for what is said"
            if safe
            else "Nobody answers for what is said",
        ),
        origin=origin,
    )


def main() -> None:
    taxonomy = sorry_bench()
    queries = [
        Query(text=f"Made-up request {place}-{number}, only there to be counted", category=category)
        for place, category in enumerate(taxonomy.names)
        for number in range(PER_CATEGORY)
    ]
    contexts: list[Context] = []
    for number, query in enumerate(queries):
        for origin in ("generated", "revised"):
            contexts += [context_of(query, safe=safe, origin=origin, number=number) for safe in (True, False)]
    items = [Item(query_id=query.id, condition="no_context") for query in queries]
    items += [Item.from_context(context) for context in contexts]
    about = About(name="paper-design", version="1.0.0", synthetic="made-up words of the paper's size")
    write_benchmark(
        Benchmark(about=about, queries=tuple(queries), contexts=tuple(contexts), items=tuple(items)), Path(sys.argv[1])
    )
    print(f"{sys.argv[1]}: {len(items):,} items")


if __name__ == "__main__":
    main()
