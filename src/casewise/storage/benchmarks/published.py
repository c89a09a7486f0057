"""The JSON of the published CASE-Bench release, read and written without loss. Its quirks end here.

A row is one item: `query`, `context`, `context_intended_to_be_safe`, `category`, the votes `scores` (1 = safe,
2 = unsafe) and `safe_rate`. In the release's data `safe_rate` counts one vote more than people gave, and in its judge
outputs that vote stands at the end of `scores`: it is the author's intent, in every row, and is no rating.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, ValidationError

from casewise.errors import BenchmarkError, DataError
from casewise.records import Context, Item, Query, Rating, Recipient, Sender, TransmissionPrinciple, sorry_bench
from casewise.records.statement import Text
from casewise.storage.benchmarks.benchmark import About, Benchmark, Published
from casewise.storage.files.atomic import read_text, replacing
from casewise.storage.files.strict_json import Row, brief, rows, what_is_wrong
from casewise.storage.record_columns import column_of_records

__all__ = ["KEYS", "Placed", "PublishedRow", "intent_votes", "read_published", "read_rows", "write_published"]

KEYS = ("scores", "query", "context", "context_intended_to_be_safe", "safe_rate", "category")

RELEASED_VOTES = 21
"""The release's judge outputs have so many entries in `scores`, the intent included."""

TOLERANCE = 5e-7


def a_vote(value: Any) -> Any:
    if type(value) is not int or value not in (1, 2):
        raise ValueError(f"{brief(value)} is no vote; a vote is 1 (safe) or 2 (unsafe)")
    return value


Vote = Annotated[int, BeforeValidator(a_vote)]


class PublishedContext(BaseModel):
    """The three groups as the release writes them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sender: Sender
    recipient: Recipient
    transmission_principle: TransmissionPrinciple


class PublishedRow(BaseModel):
    """One row of the release. `context` is left as it is here: judge outputs may hold parts of one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    scores: Annotated[tuple[Vote, ...], Field(min_length=1)]
    query: Text
    context: Any = None
    context_intended_to_be_safe: StrictBool
    safe_rate: Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
    category: Text

    @property
    def intent_vote(self) -> Literal[1, 2]:
        """The author's intent, written as a vote."""
        return 1 if self.context_intended_to_be_safe else 2


class Placed(BaseModel):
    """A row with its place in the file."""

    model_config = ConfigDict(frozen=True)

    number: int
    line: int
    row: PublishedRow
    votes: tuple[int, ...] = ()
    """People's votes, the intent left out."""


def read_published(path: Path) -> Benchmark:
    """A benchmark from a JSON file in the release's format.

    Raises DataError: the file is no such JSON; the message says where: votes other than 1 and 2, a rate that neither
    the votes nor the votes and the intent give, a category that is unknown, the same query and context twice.
    """
    found, held = people_votes(path, [placed(row, path=path) for row in rows(read_text(path), path=path)])
    if not found:
        raise DataError(path, None, "holds no rows")
    counted = rates_count_intent(path, found, held=held)
    queries: dict[str, Query] = {}
    contexts: dict[str, Context] = {}
    items: dict[str, Item] = {}
    ratings: list[Rating] = []
    for entry in found:
        query, context = query_and_context(entry, path=path)
        item = Item.of(context, published_rate=entry.row.safe_rate)
        if item.id in items:
            raise DataError(path, entry.line, f"row {entry.number}: the same query and context as an earlier row")
        earlier = queries.setdefault(query.id, query)
        if earlier.category != query.category:
            raise DataError(
                path,
                entry.line,
                f"row {entry.number}: this query is {query.category!r} here, {earlier.category!r} before",
            )
        contexts[context.id], items[item.id] = context, item
        ratings += anonymous_ratings(item, entry.votes)
    about = About(
        name=path.stem,
        source=f"imported from {path.name}",
        published=Published(file=path.name, rates_count_intent=counted, votes_hold_intent=held),
    )
    try:
        return Benchmark(
            about, tuple(queries.values()), tuple(contexts.values()), tuple(items.values()), tuple(ratings)
        )
    except BenchmarkError as error:
        raise DataError(path, None, str(error)) from error


def placed(row: Row, *, path: Path) -> Placed:
    if not isinstance(row.value, dict):
        raise DataError(path, row.line, f"row {row.number} is {type(row.value).__name__}, not an object")
    return Placed(number=row.number, line=row.line, row=checked(row, path=path))


def checked(row: Row, *, path: Path) -> PublishedRow:
    try:
        return PublishedRow.model_validate(row.value)
    except ValidationError as error:
        raise DataError(path, row.line, f"row {row.number}: {what_is_wrong(error)}") from error


def read_rows(path: Path, values: Iterable[tuple[Row, dict[str, Any]]]) -> tuple[list[Placed], bool]:
    """Rows whose extra keys were taken out already, with people's votes apart; and whether the intent stood in them."""
    return people_votes(path, [placed(row._replace(value=value), path=path) for row, value in values])


def people_votes(path: Path, entries: list[Placed]) -> tuple[list[Placed], bool]:
    """Take the intent's vote out of every row where the file holds it."""
    held = intent_votes([entry.row for entry in entries])
    cut = [entry.model_copy(update={"votes": entry.row.scores[:-1] if held else entry.row.scores}) for entry in entries]
    for entry in cut:
        check_rate(path, entry)
    return cut, held


def intent_votes(entries: list[PublishedRow]) -> bool:
    """Whether the last vote of every row is the author's intent, as in the release's judge outputs.

    Agreement alone is no proof: where people follow the intent in nine of ten votes, the last votes of 20 rows all equal
    it in one file of eight. So the number of votes must be the release's, too.
    """
    return bool(entries) and all(
        len(row.scores) == RELEASED_VOTES and row.scores[-1] == row.intent_vote for row in entries
    )


def check_rate(path: Path, entry: Placed) -> None:
    alone, with_intent = possible_rates(entry)
    stated = entry.row.safe_rate
    if min(abs(stated - alone), abs(stated - with_intent)) > TOLERANCE:
        n = len(entry.votes)
        raise DataError(
            path,
            entry.line,
            f"row {entry.number}: safe_rate is {stated!r}, but the {n} votes give {alone:.6g} "
            f"and the votes with the intent give {with_intent:.6g}",
        )


def possible_rates(entry: Placed) -> tuple[float, float]:
    safe, n = entry.votes.count(1), len(entry.votes)
    return safe / n, (safe + entry.row.context_intended_to_be_safe) / (n + 1)


def rates_count_intent(path: Path, entries: list[Placed], *, held: bool) -> bool:
    """Whether the file's rates count the intent: one way for all rows."""
    only_alone: Placed | None = None
    only_with: Placed | None = None
    for entry in entries:
        alone, with_intent = possible_rates(entry)
        if abs(entry.row.safe_rate - with_intent) > TOLERANCE:
            only_alone = only_alone or entry
        elif abs(entry.row.safe_rate - alone) > TOLERANCE:
            only_with = only_with or entry
    if only_alone and only_with:
        raise DataError(
            path,
            only_alone.line,
            f"row {only_alone.number}: safe_rate leaves the intent out, but row {only_with.number}'s counts it",
        )
    return held if only_alone is None and only_with is None else only_with is not None


def query_and_context(entry: Placed, *, path: Path) -> tuple[Query, Context]:
    row = entry.row
    category = sorry_bench().resolve(row.category)
    if category is None:
        raise DataError(path, entry.line, f"row {entry.number}: no category of SORRY-Bench is called {row.category!r}")
    try:
        parts = PublishedContext.model_validate(row.context)
    except ValidationError as error:
        raise DataError(path, entry.line, f"row {entry.number}: {what_is_wrong(error, above='context')}") from error
    renamed = row.category if row.category != category.name else None
    query = Query(text=row.query, category=category.name, category_as_published=renamed)
    context = Context(
        query_id=query.id,
        intended_safe=row.context_intended_to_be_safe,
        sender=parts.sender,
        recipient=parts.recipient,
        transmission_principle=parts.transmission_principle,
        origin="imported",
    )
    return query, context


def anonymous_ratings(item: Item, votes: tuple[int, ...]) -> list[Rating]:
    return [
        Rating(item_id=item.id, position=position, verdict="safe" if vote == 1 else "unsafe")
        for position, vote in enumerate(votes)
    ]


def write_published(benchmark: Benchmark, path: Path) -> None:
    """Write `benchmark` in the release's format; a file that was read from it comes back with equal content.

    Items without a context cannot be written.

    Raises BenchmarkError: an item has no context, an optional parameter that the format does not know, or no ratings.
    """
    rated = benchmark.rated.arrays(column_of_records(benchmark.items, "id"))
    order = np.lexsort((np.maximum(rated.position, 0), rated.item))
    votes = np.where(rated.safe[order], 1, 2)
    end = 0
    with replacing(path) as file:
        for item, n in zip(benchmark.items, np.bincount(rated.item, minlength=len(benchmark.items)), strict=True):
            row = published_row(benchmark, item, votes[end : end + n].tolist())
            file.write(b",\n" if file.tell() else b"[\n")
            # As a list of this row alone is written, without its brackets.
            file.write(json.dumps([row], indent=4, ensure_ascii=False)[2:-2].encode("utf-8"))
            end += n
        file.write(b"\n]\n" if file.tell() else b"[]\n")


def published_row(benchmark: Benchmark, item: Item, votes: list[int]) -> dict[str, Any]:
    context = benchmark.context_of(item)
    if context is None or not votes:
        lacks = "no context" if context is None else "no ratings"
        raise BenchmarkError(f"item {item.id} has {lacks}, and the published format needs them; leave it out first")
    if context.subject or context.information_type:
        raise BenchmarkError(f"item {item.id}: the published format knows no subject and no information type")
    if context.own is not None or context.intended_safe is None:
        lacks = "an intent" if context.own is None else "the parameters of the paper"
        raise BenchmarkError(f"item {item.id}: the published format needs {lacks}")
    form = benchmark.about.published or Published(file="", rates_count_intent=False, votes_hold_intent=False)
    query = benchmark.query[item.query_id]
    counted = [*votes, 1 if context.intended_safe else 2] if form.rates_count_intent else votes
    return {
        "scores": [*votes, 1 if context.intended_safe else 2] if form.votes_hold_intent else votes,
        "query": query.text,
        "context": context.shown(),
        "context_intended_to_be_safe": context.intended_safe,
        "safe_rate": item.published_rate if item.published_rate is not None else counted.count(1) / len(counted),
        "category": query.category_as_published or query.category,
    }
