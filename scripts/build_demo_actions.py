"""Writes the demo of actions, 24 calls of tools in four contexts each with a simulated crowd: `python scripts/build_demo_actions.py`."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from casewise.records import (
    Action,
    Category,
    Context,
    Item,
    Query,
    Rating,
    Taxonomy,
    Turn,
    Vote,
    action_parameters,
)
from casewise.records.base import read_toml
from casewise.storage.actions import action_words
from casewise.storage.benchmark import About, Benchmark
from casewise.storage.benchmark_folder import write_benchmark

NAME = "demo-actions"

FOLDER = Path(__file__).resolve().parents[1] / "src" / "casewise" / "demo_actions"

PEOPLE = 25
"""Simulated annotators of each condition; each rates every action once, in one condition."""

CELLS = (
    ("right", "right_who", "right_why"),
    ("wrong_recipient", "wrong_who", "right_why"),
    ("wrong_purpose", "right_who", "wrong_why"),
    ("both_wrong", "wrong_who", "wrong_why"),
)
"""Each condition, with the recipient and the purpose that its contexts state."""


def demo_actions(*, seed: int = 1) -> Benchmark:
    """Return the demo of actions. Its texts are written by its authors, and its crowd is simulated."""
    rows = read_toml(FOLDER / "actions.toml", "the actions of the demo")["actions"]
    rng = np.random.default_rng(seed)
    shifts = {condition: rng.normal(0, 0.6, PEOPLE) for condition, _, _ in CELLS}
    queries, contexts, items, ratings = list[Query](), list[Context](), list[Item](), list[Rating]()
    for row in rows:
        query = query_of(row)
        queries.append(query)
        for place, (condition, who, why) in enumerate(CELLS):
            context = Context.from_groups(
                {
                    "sender": {"agent": row["agent"]},
                    "recipient": {"who": row[who]},
                    "transmission_principle": {"purpose": row[why]},
                },
                query_id=query.id,
                intended_safe=condition == "right",
                origin="imported",
            )
            contexts.append(context)
            pair = {"pair_id": context.pair_id} if condition in ("right", "both_wrong") else {}
            items.append(Item(query_id=query.id, context_id=context.id, condition=condition, **pair))
            ratings += crowd(items[-1], row["rates"][place], row["ask"], shifts[condition], rng)
    return Benchmark(
        About(
            name=NAME,
            version="1.0.0",
            description="24 actions of agents in four contexts each, written for this project",
            licence="Apache-2.0",
            synthetic="The actions and contexts are written by the authors of casewise, and the people are simulated: no number says "
            "anything about real people.",
            labels_by="people",
        ),
        tuple(queries),
        tuple(contexts),
        tuple(items),
        tuple(ratings),
        taxonomy=Taxonomy(
            name=NAME, categories=tuple(Category(name=query.category, domain="tools") for query in queries)
        ),
        parameters=action_parameters(),
    )


def query_of(row: dict[str, Any]) -> Query:
    """Return the action of a row with the request before it."""
    stated = {name: row.get(name) for name in ("tool", "arguments", "subject", "information", "direction")}
    action = Action.model_validate({**stated, "agent": row["agent"]})
    return Query(
        text=action_words().render(action),
        judged="action",
        before=(Turn(role="user", text=row["request"]),),
        action=action,
        category=action.tool,
        source=NAME,
    )


def crowd(
    item: Item, rate: float, ask: float, shifts: np.ndarray[tuple[int], np.dtype[np.float64]], rng: np.random.Generator
) -> list[Rating]:
    """Return the votes of simulated people on an item.

    A person allows with a probability whose logit is that of `rate` and the person's own shift, and would be asked first with the
    probability `ask`, times how undecided the rate is (1 at a half, 0 at the ends).
    """
    allows = rng.random(len(shifts)) < 1 / (1 + np.exp(-(np.log(rate / (1 - rate)) + shifts)))
    asks = rng.random(len(shifts)) < ask * 4 * rate * (1 - rate)
    votes: list[Vote] = [
        "ask" if asked else "safe" if allowed else "unsafe" for allowed, asked in zip(allows, asks, strict=True)
    ]
    return [
        Rating(item_id=item.id, annotator_id=f"{item.condition}-{number:02}", verdict=vote)
        for number, vote in enumerate(votes, 1)
    ]


def main() -> None:
    """Write the folder anew beside the texts that it is made of."""
    benchmark = demo_actions()
    with tempfile.TemporaryDirectory() as folder:
        for path in write_benchmark(benchmark, Path(folder) / NAME).iterdir():
            shutil.copy(path, FOLDER)


if __name__ == "__main__":
    main()
