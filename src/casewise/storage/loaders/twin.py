"""A synthetic twin of CASE-Bench: 900 items of its shape, with made-up texts and simulated votes, made anew from one seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from casewise.records import Context, Item, Query, Rating, sorry_bench
from casewise.records.base import shipped_toml
from casewise.storage.benchmark import About, Benchmark
from casewise.storage.loaders.loader import Loader

SEED = 20250124

VOTES = 20
"""People per item, as in the release."""

AGREES = 0.75
"""Chance that a statement of a context is of the side that its author intends."""

INTERCEPT, PER_STATEMENT, OF_INTENT, SPREAD = -0.3, 0.22, 0.42, 0.35
"""Log-odds of a safe vote: at an even context, for each statement in favour, for the intent, and the spread among items.
They give about the release's mean of safe votes: 12.6 of 20 where the intent is safe, 4.9 where it is not."""


def twin() -> Benchmark:
    """Return the twin: two contexts a query, eight statements a context, ten queries a category, twenty votes an item."""
    words = shipped_toml("casewise.storage.loaders", "twin.toml")
    rng = np.random.default_rng(SEED)
    texts = [form.format(action=action) for action in words["actions"] for form in words["requests"]]
    rng.shuffle(texts)
    categories = [category.name for category in sorry_bench().categories]
    queries, contexts, items = list[Query](), list[Context](), list[Item]()
    ratings: list[Rating] = []
    for number, text in enumerate(texts):
        query = Query(text=text, category=categories[number % len(categories)])
        queries.append(query)
        place = str(rng.choice(words["places"]["names"]))
        for intended_safe in (True, False):
            favours = rng.random(len(words["favourable"])) < (AGREES if intended_safe else 1 - AGREES)
            context = Context(
                query_id=query.id,
                intended_safe=intended_safe,
                origin="imported",
                **groups(words, favours, place, rng),
            )
            side = 1 if intended_safe else -1
            log_odds = INTERCEPT + PER_STATEMENT * (2 * favours.sum() - favours.size) / 2 + OF_INTENT * side
            chance = 1 / (1 + np.exp(-log_odds - rng.normal(0, SPREAD)))
            votes = rng.random(VOTES) < chance
            item = Item.from_context(context)
            contexts.append(context)
            items.append(item)
            ratings += [
                Rating(item_id=item.id, position=position, verdict="safe" if vote else "unsafe")
                for position, vote in enumerate(votes.tolist())
            ]
    about = About(
        name=TWIN.name,
        version="1",
        description=TWIN.title,
        licence=TWIN.licence,
        source=TWIN.source,
        synthetic=words["about"].strip().format(seed=SEED),
        labels_by="people",
    )
    return Benchmark(about, queries, contexts, items, ratings)


def groups(words: dict[str, Any], favours: Any, place: str, rng: np.random.Generator) -> dict[str, dict[str, str]]:
    """Return the parameters of a context by group, each in favour of an answer or against it."""
    groups: dict[str, dict[str, str]] = {}
    for name, in_favour in zip(words["favourable"], favours, strict=True):
        group, _, parameter = name.partition(".")
        choice = str(rng.choice(words["favourable" if in_favour else "unfavourable"][name]))
        groups.setdefault(group, {})[parameter] = choice.format(place=place)
    return groups


TWIN = Loader(
    name="casebench_twin",
    title="A synthetic twin of CASE-Bench, to rehearse the paper's tables without a network",
    size="450 made-up requests in 900 contexts, 20 simulated votes each",
    judged="request",
    labels_by="people",
    licence="Apache-2.0, as casewise",
    terms="All of it is made up and harmless.",
    source=f"made by casewise from seed {SEED}",
    files=(),
    load=lambda _: twin(),
)
