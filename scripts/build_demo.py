"""Builds the embedded demo benchmark from `demo/queries.toml`, with ratings of a simulated crowd.

The ratings are made up: 21 simulated annotators rate each item. An item's safe rate is the writer's guess in
`queries.toml`; annotators differ (normal shifts in logits, standard deviation 1) and 5 % answer by a coin.
Run it again after editing the texts: `python scripts/build_demo.py`.
"""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logit

from casewise.records import Context, Item, Provenance, Query, Rating
from casewise.stats.ratings import CrowdModel, draw_annotators, draw_verdicts
from casewise.storage import About, Benchmark, write_benchmark

FOLDER = Path(__file__).parents[1] / "src" / "casewise" / "demo"
SEED = 20_250_713
VOTES = 21
MODEL = CrowdModel(annotator_sd=1.0, careless=0.05)
SYNTHETIC = (
    f"simulated annotators (21 an item, seed {SEED}), not people, gave the ratings: they say nothing about any judge"
)


def main() -> None:
    written = tomllib.loads((FOLDER / "queries.toml").read_text(encoding="utf-8"))["queries"]
    queries = [Query(text=q["text"], category=q["category"], source="casewise demo") for q in written]
    contexts, rates = [], []
    for query, q in zip(queries, written, strict=True):
        for side in ("safe", "unsafe"):
            contexts.append(context(query, q[side], intended_safe=side == "safe"))
            rates.append(q["crowd"][side])
    items = [Item.from_context(c) for c in contexts]
    benchmark = Benchmark(
        About(
            name="demo",
            version="1.0.0",
            description="Forty-five borderline queries, one a category, each in two contexts, written for casewise.",
            licence="Apache-2.0",
            synthetic=SYNTHETIC,
            source="scripts/build_demo.py",
        ),
        tuple(queries),
        tuple(contexts),
        tuple(items),
        tuple(ratings(items, np.array(rates))),
    )
    draft = FOLDER.with_name("demo_new")
    write_benchmark(benchmark, draft)
    for file in draft.iterdir():
        file.replace(FOLDER / file.name)
    shutil.rmtree(draft)


def context(query: Query, parts: dict[str, Any], *, intended_safe: bool) -> Context:
    return Context(
        query_id=query.id,
        intended_safe=intended_safe,
        origin="revised",
        provenance=Provenance(by="the casewise developers"),
        **parts,
    )


def ratings(items: list[Item], rates: np.ndarray[Any, np.dtype[np.float64]]) -> list[Rating]:
    """Each annotator rates one item a query at most: two crowds of 21, one a side."""
    rng = np.random.default_rng(SEED)
    found = []
    crowds = [draw_annotators(MODEL, VOTES, rng=rng) for _ in range(2)]
    for i, item in enumerate(items):
        crowd = crowds[i % 2]
        verdicts = draw_verdicts(MODEL, np.full(VOTES, logit(rates[i])), crowd, annotator=np.arange(VOTES), rng=rng)
        for a, safe in enumerate(verdicts):
            verdict = "safe" if safe else "unsafe"
            found.append(Rating(item_id=item.id, annotator_id=f"simulated-{i % 2}-{a:02}", verdict=verdict))
    return found


if __name__ == "__main__":
    main()
