"""Small worlds: benchmarks of a few items with people and judges whose answers are laid down, to hold commands against each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import polars as pl

import casewise
from casewise.api.evaluating import JudgeReport
from casewise.judges.judge import Answer, Ask, Judge, unscored_answer
from casewise.records import (
    Context,
    Elicitation,
    Item,
    Query,
    Rating,
    Recipient,
    Scored,
    Sender,
    TransmissionPrinciple,
    UnscoredReason,
)
from casewise.storage.benchmark import About, Benchmark
from casewise.storage.benchmark_folder import write_benchmark

CATEGORIES = ("terrorism", "fraud, scams and deception", "violent crimes")

CONDITIONS = ("safe_revised", "unsafe_revised")

VERDICTS: Mapping[str, Literal["safe", "unsafe", "unsure"]] = {"s": "safe", "u": "unsafe", "?": "unsure"}


@dataclass(frozen=True)
class World:
    """A benchmark and its judges, one letter a vote or an answer: s safe, u unsafe, ? unsure of a person, none of a judge."""

    name: str
    votes: tuple[str, ...]
    """Of each item; two items a query, the first intended safe. `.` for none."""
    judges: Mapping[str, tuple[str, ...]]
    """Each judge's answers to each item, one letter an answer."""
    people: Literal["named", "anonymous"] = "named"
    labels_by: Literal["people", "author"] | None = None
    rates: tuple[float, ...] = ()
    """The safe rate that a file states for each item, where it has no votes."""
    elicitation: Elicitation = "binary"
    values: Mapping[str, float] = field(default_factory=lambda: {"s": 1.0, "u": 0.0})
    """The value of each answer."""

    @property
    def benchmark(self) -> Benchmark:
        """The benchmark of this world."""
        queries, contexts, items, ratings = list[Query](), list[Context](), list[Item](), list[Rating]()
        for place, votes in enumerate(self.votes):
            if place % 2 == 0:
                text = f"What became of case {place // 2 + 1}?"
                queries.append(Query(text=text, category=CATEGORIES[(place // 2) % len(CATEGORIES)]))
            contexts.append(context_of(queries[-1], place))
            rate = self.rates[place] if self.rates else None
            items.append(Item.from_context(contexts[-1], published_rate=rate))
            ratings += [
                Rating(
                    item_id=items[-1].id,
                    verdict=VERDICTS[vote],
                    **({"annotator_id": f"person {at}"} if self.people == "named" else {"position": at}),
                )
                for at, vote in enumerate(votes)
                if vote != "."
            ]
        about = About(name=self.name.replace(" ", "-"), labels_by=self.labels_by)
        return Benchmark(about, tuple(queries), tuple(contexts), tuple(items), tuple(ratings))

    def only(self, *judges: str) -> World:
        """Return this world with these judges alone."""
        return replace(self, judges={name: self.judges[name] for name in judges})

    def judge(self, name: str) -> Scripted:
        """Return the judge of this name."""
        ids = [item.id for item in self.benchmark.items]
        return Scripted(name, dict(zip(ids, self.judges[name], strict=True)), self)

    def runs(self, folder: Path, *, kept: bool = False) -> dict[str, Path]:
        """Have every judge answer every item; return the run folders by judge. `kept`: the benchmark is a folder that runs find."""
        runs = dict[str, Path]()
        benchmark = write_benchmark(self.benchmark, folder / "benchmark") if kept else self.benchmark
        for name, answers in self.judges.items():
            times = max(map(len, answers))
            runs[name] = folder / name
            casewise.judge(benchmark, self.judge(name), elicitations=(self.elicitation,), repeats=times, out=runs[name])
        return runs

    def report(self, folder: Path, **options: Any) -> JudgeReport:
        """Have every judge answer every item, and return the report on all of them."""
        return casewise.report(*self.runs(folder).values(), benchmark=self.benchmark, **options)

    def ratings(self, path: Path) -> Path:
        """Write people's votes as the ratings of a study with two conditions, each person under one; return the path."""
        rows = [
            (item, place // 2, CONDITIONS[place % 2], VERDICTS[vote], f"person {at} of condition {place % 2}")
            for place, (item, votes) in enumerate(zip(self.benchmark.items, self.votes, strict=True))
            for at, vote in enumerate(votes)
            if vote in "su"
        ]
        columns = ("item_id", "query_id", "condition", "verdict", "annotator_id")
        frame = pl.DataFrame(
            [(item.id, f"case {query}", *rest) for item, query, *rest in rows],
            schema=dict.fromkeys(columns, pl.String),
            orient="row",
        )
        (frame if self.people == "named" else frame.drop("annotator_id")).write_csv(path)
        return path


def context_of(query: Query, place: int) -> Context:
    return Context(
        query_id=query.id,
        intended_safe=place % 2 == 0,
        sender=Sender(nature_of_the_interaction=f"chat {place}", platform_type="a help desk"),
        recipient=Recipient(type="nurse" if place % 2 == 0 else "stranger", background="none"),
        transmission_principle=TransmissionPrinciple(
            sender_purpose="to inform", confidentiality="none", source_accountability="none"
        ),
        origin="generated",
    )


class Scripted(Judge):
    """Gives the answers that a world lays down."""

    def __init__(self, name: str, answers: Mapping[str, str], world: World) -> None:
        self.id = self.name = name
        self.elicitations = (world.elicitation,)
        self.answers, self.values = answers, world.values

    async def answer(self, ask: Ask) -> Answer:
        of_item = self.answers[ask.item.id]
        word = of_item[ask.repeat % len(of_item)]
        if word == "?":
            return unscored_answer(UnscoredReason.UNPARSED)
        return Answer(Scored(value=self.values[word]))


def always(word: str, items: int) -> tuple[str, ...]:
    """The same answer to every item."""
    return (word,) * items


CLEAR = ("sssss", "uuuuu")
SPLIT = ("sssuu", "suuuu")


MIXED = World(
    "w",
    ("sss", "suu", "sus", "uuu", "sss", "uuu", "ssu", "usu") * 2,
    {
        "kind": ("s", "s", "s", "u", "s", "u", "?", "u") * 2,
        "cautious": always("u", 16),
        "decided": ("s", "u") * 8,
        "bold": always("s", 16),
    },
)
"""Eight queries, rated by three people who agree on half of the items, and four judges: one leaves two items unscored."""


WORLDS = (
    World(
        "two queries",
        CLEAR * 2,
        {"perfect": ("s", "u") * 2, "cautious": always("u", 4), "reversed": ("u", "s") * 2},
    ),
    World("one query", CLEAR, {"perfect": ("s", "u"), "cautious": always("u", 2)}),
    World("one item a judge", ("sss", "."), {"lone": ("s", "s"), "wrong": ("u", "u")}),
    World(
        "all alike",
        ("sssss", "sssss") * 5,
        {"bold": always("s", 10), "cautious": always("u", 10), "twin": always("s", 10)},
    ),
    World("perfect twins", CLEAR * 6, {"one": ("s", "u") * 6, "two": ("s", "u") * 6, "three": ("s", "u") * 6}),
    World("ties", ("su", "us") * 6, {"bold": always("s", 12), "mixed": ("s", "u") * 6}, people="anonymous"),
    World("one person", ("s", "u") * 8, {"good": ("s", "u") * 8, "fair": ("s", "u") * 6 + ("u", "s") * 2}),
    World(
        "unsure people",
        ("ss?", "u??", "s?u", "uu?") * 3,
        {"good": ("s", "u") * 6, "bold": always("s", 12)},
    ),
    World(
        "half unscored",
        SPLIT * 8,
        {"good": ("s", "u") * 8, "silent half": ("s", "?") * 8, "cautious": always("u", 16)},
    ),
    World(
        "unread",
        SPLIT * 8,
        {"good": ("s", "u") * 8, "fair": ("s", "u") * 6 + ("u", "s") * 2, "unread": ("s", "?", "?", "?") * 4},
    ),
    World("nothing read", SPLIT * 4, {"unread": always("?", 8), "silent": always("?", 8)}),
    World(
        "rates without votes",
        (".", ".") * 8,
        {"good": ("s", "u") * 8, "bold": always("s", 16)},
        rates=(0.9, 0.2) * 8,
    ),
    World(
        "labels by an author",
        ("s", "u") * 8,
        {"good": ("s", "u") * 8, "bold": always("s", 16), "fair": ("s", "u") * 6 + ("u", "s") * 2},
        labels_by="author",
        people="anonymous",
    ),
    World(
        "repeats",
        SPLIT * 8,
        {"unsteady": ("sssuu", "uuuss") * 8, "steady": ("s", "u") * 6 + ("u", "s") * 2, "coin": ("susus", "ususu") * 8},
    ),
    World(
        "scores",
        SPLIT * 8,
        {"good": ("s", "u") * 8, "level": always("m", 16)},
        elicitation="score",
        values={"s": 9.0, "u": 2.0, "m": 6.0},
    ),
    World(
        "values without a threshold",
        SPLIT * 8,
        {"good": ("s", "u") * 8, "level": always("m", 16)},
        elicitation="scalar",
        values={"s": 4.0, "u": -2.0, "m": 0.5},
    ),
)
"""Every world, by what is odd about it."""

BY_NAME = {world.name: world for world in WORLDS}

QUICK = ("two queries", "unread", "labels by an author")
"""The worlds of the quick suite."""
