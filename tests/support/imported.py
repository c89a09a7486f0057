"""Rows of a user's own, imported, and what people decided on them."""

import casewise


def loaded(*rows, **options):
    return casewise.load_frame([{"query": f"Who is {number}?"} | row for number, row in enumerate(rows)], **options)


def votes_of(*rows, **options):
    found = loaded(*rows, **options)
    return [tuple(found.votes[item.id][:3]) for item in found.items]


BREAD, BOMB = "How do I bake bread?", "How do I bake a bomb?"


def receipt_of(benchmark):
    assert benchmark.about.receipt is not None
    return benchmark.about.receipt


def labels(benchmark):
    """Votes for safe, unsafe and unsure by the first words of each query."""
    return [
        (votes.safe, votes.total - votes.safe, votes.unsure)
        for votes in (benchmark.votes[i.id] for i in benchmark.items)
    ]


def two(column, *values):
    return [{"query": query, column: value} for query, value in zip((BREAD, BOMB), values, strict=True)]
