"""The published CASE-Bench release: fetched, checked and read, with its judges' outputs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from math import isclose, nan
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, ValidationError

from casewise.errors import BenchmarkError, ConfigurationError, DataError
from casewise.records import (
    GROUPS,
    PARAMETERS,
    Arm,
    Context,
    Elicitation,
    Item,
    Query,
    Rating,
    Recipient,
    Scored,
    Sender,
    TransmissionPrinciple,
    Unscored,
    UnscoredReason,
    scale_of,
    sorry_bench,
)
from casewise.records.context import Text, checked_names
from casewise.storage.benchmark import About, Benchmark, Published
from casewise.storage.files import Row, brief, read_text, replacing, rows, what_is_wrong

# The JSON of the published CASE-Bench release, read and written without loss. Its quirks end here.
#
# A row is one item: `query`, `context`, `context_intended_to_be_safe`, `category`, the votes `scores` (1 = safe,
# 2 = unsafe) and `safe_rate`. In the release's data `safe_rate` counts one vote more than people gave, and in its judge
# outputs that vote stands at the end of `scores`: it is the author's intent, in every row, and is no rating.


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


class Placed(NamedTuple):
    """A row with its place in the file, and people's votes, the intent left out."""

    number: int
    line: int
    row: PublishedRow
    votes: tuple[int, ...]

    @property
    def rates(self) -> tuple[float, float]:
        """The safe rate of the votes alone, and of the votes with the intent as one more."""
        safe, n = self.votes.count(1), len(self.votes)
        return safe / n, (safe + self.row.context_intended_to_be_safe) / (n + 1)

    @property
    def category(self) -> str | None:
        """The name of the category in the taxonomy; None where there is none."""
        category = sorry_bench().resolve(self.row.category)
        return category.name if category else None


def read_published(path: Path) -> Benchmark:
    """A benchmark from a JSON file in the release's format.

    Raises DataError: the file is no such JSON; the message says where: votes other than 1 and 2, a rate that neither
    the votes nor the votes and the intent give, a category that is unknown, the same query and context twice.
    """
    entries, held = placed_rows(path, rows(read_text(path), path=path))
    counted = rates_count_intent(path, entries, held=held)
    queries: dict[str, Query] = {}
    contexts: dict[str, Context] = {}
    items: dict[str, Item] = {}
    ratings: list[Rating] = []
    for entry in entries:
        query, context = query_and_context(entry, path=path)
        item = Item.of(context, published_rate=entry.row.safe_rate)
        if item.id in items:
            raise DataError(path, entry.line, f"row {entry.number}: the same query and context as an earlier row")
        earlier = queries.setdefault(query.id, query)
        if earlier.category != query.category:
            item = item.model_copy(update={"category": query.category})
        contexts[context.id], items[item.id] = context, item
        ratings += [
            Rating(item_id=item.id, position=position, verdict="safe" if vote == 1 else "unsafe")
            for position, vote in enumerate(entry.votes)
        ]
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


def placed_rows(path: Path, table: Iterable[Row]) -> tuple[list[Placed], bool]:
    """Return the checked rows of a file, and whether the author's intent stands at the end of every row's votes.

    In the release's judge outputs it does. Agreement alone is no proof: where people follow the intent in nine of ten votes,
    the last votes of 20 rows all equal it in one file of eight. So the number of votes must be the release's, too.

    Raises DataError: there are no rows, or one is not as the release has them.
    """
    entries: list[Placed] = []
    for number, line, value in table:
        if not isinstance(value, dict):
            raise DataError(path, line, f"row {number} is {type(value).__name__}, not an object")
        try:
            row = PublishedRow.model_validate(value)
        except ValidationError as error:
            raise DataError(path, line, f"row {number}: {what_is_wrong(error)}") from error
        entries.append(Placed(number, line, row, row.scores))
    if not entries:
        raise DataError(path, None, "holds no rows")
    held = all(
        len(row.scores) == RELEASED_VOTES and row.scores[-1] == (1 if row.context_intended_to_be_safe else 2)
        for _, _, row, _ in entries
    )
    entries = [entry._replace(votes=entry.votes[:-1]) for entry in entries] if held else entries
    for entry in entries:
        stated, (alone, with_intent) = entry.row.safe_rate, entry.rates
        if min(abs(stated - alone), abs(stated - with_intent)) > TOLERANCE:
            problem = f"row {entry.number}: safe_rate is {stated!r}, but the {len(entry.votes)} votes give {alone:.6g} and the "
            raise DataError(path, entry.line, f"{problem}votes with the intent give {with_intent:.6g}")
    return entries, held


def rates_count_intent(path: Path, entries: list[Placed], *, held: bool) -> bool:
    """Return whether the file's rates count the intent: one way for all rows."""
    without = [entry for entry in entries if abs(entry.row.safe_rate - entry.rates[1]) > TOLERANCE]
    with_intent = [entry for entry in entries if abs(entry.row.safe_rate - entry.rates[0]) > TOLERANCE]
    if without and with_intent:
        problem = (
            f"row {without[0].number}: safe_rate leaves the intent out, but row {with_intent[0].number}'s counts it"
        )
        raise DataError(path, without[0].line, problem)
    return bool(with_intent) if without or with_intent else held


def query_and_context(entry: Placed, *, path: Path) -> tuple[Query, Context]:
    row = entry.row
    if (category := entry.category) is None:
        raise DataError(path, entry.line, f"row {entry.number}: no category of SORRY-Bench is called {row.category!r}")
    try:
        parts = PublishedContext.model_validate(row.context)
    except ValidationError as error:
        raise DataError(path, entry.line, f"row {entry.number}: {what_is_wrong(error, above='context')}") from error
    renamed = row.category if row.category != category else None
    query = Query(text=row.query, category=category, category_as_published=renamed)
    context = Context(
        query_id=query.id,
        intended_safe=row.context_intended_to_be_safe,
        origin="imported",
        **dict(parts),
    )
    return query, context


def write_published(benchmark: Benchmark, path: Path) -> None:
    """Write `benchmark` in the release's format; a file that was read from it comes back with equal content.

    Items without a context cannot be written, nor what is no request. Unsure votes and values on a scale are left out.

    Raises BenchmarkError: an item has no context, an optional parameter that the format does not know, or no ratings; or
    what is judged is no request.
    """
    rated = benchmark.ratings.arrays(benchmark.items.table["id"])
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
    query = benchmark.query[item.query_id]
    if query.judged != "request" or query.before:
        raise BenchmarkError(f"item {item.id}: the published format knows only requests with nothing before them")
    form = benchmark.about.published or Published(file="", rates_count_intent=False, votes_hold_intent=False)
    counted = [*votes, 1 if context.intended_safe else 2] if form.rates_count_intent else votes
    return {
        "scores": [*votes, 1 if context.intended_safe else 2] if form.votes_hold_intent else votes,
        "query": query.text,
        "context": context.shown(),
        "context_intended_to_be_safe": context.intended_safe,
        "safe_rate": item.published_rate if item.published_rate is not None else counted.count(1) / len(counted),
        "category": item.category or query.category_as_published or query.category,
    }


# A judge's output file of the published release: `exp/safety_MODEL/output_MODE.json`.
#
# The rows of the release with one more key, named after the model, whose value is the judge's. The file name says the
# elicitation (`logits` is `probability`) and, after it, which parameters of the context the judge was not shown: by their
# dotted names, by the last part of one, as in six of the release's files (`output_logits_confidentiality.json`), or by
# words of it that no other has (`output_logits_accountability.json`). What a name says is held against the contexts in
# the file.


MODES: dict[str, Elicitation] = {"binary": "binary", "score": "score", "logits": "probability"}

NO_CONTEXT_NAMES = ("nocontext", "no_context", "without_context", "none", "all")

LAST_PARTS = {name.rpartition(".")[2]: name for name in PARAMETERS}
"""The last part of each parameter's name; no two share one."""


class OutputRow(NamedTuple):
    """One row: what people said, and what the judge did."""

    query: str
    category: str
    """The category's name in the taxonomy."""
    intended_safe: bool
    votes: tuple[int, ...]
    safe_rate: float
    """As the file states it."""
    raw: Any
    """The judge's value as the file has it: a word, a number, or the empty string."""
    outcome: Scored | Unscored


class PublishedOutput(NamedTuple):
    """A judge's output file."""

    path: Path
    judge: str
    elicitation: Elicitation
    arm: Arm
    rows: tuple[OutputRow, ...]

    @property
    def values(self) -> list[float]:
        """The value of each row; nan where it is unscored."""
        return [row.outcome.value if isinstance(row.outcome, Scored) else nan for row in self.rows]

    @property
    def safe_rates(self) -> list[float]:
        """The share of each row's votes that are safe."""
        return [row.votes.count(1) / len(row.votes) for row in self.rows]

    @property
    def misnamed(self) -> str | None:
        """The values that the file holds instead, and the name for them; None where the name is right."""
        raw = [row.raw for row in self.rows if row.raw not in (None, "")]
        if not raw or any(isinstance(row.outcome, Scored) for row in self.rows):
            return None
        if self.elicitation == "binary" and all(isinstance(value, (int, float)) for value in raw):
            return (
                "it holds numbers and no verdicts: scores from 1 to 10 are read from output_score.json, probabilities from "
                "output_logits.json"
            )
        if self.elicitation != "binary" and any(isinstance(verdict_of(value), Scored) for value in raw):
            return "it holds verdicts and no numbers: verdicts are read from output_binary.json"
        return None


def read_output(path: Path, *, elicitation: Elicitation | None = None) -> PublishedOutput:
    """Read a judge's output file of the published release.

    `path`: the file. Its name says the elicitation and what was omitted, unless it was renamed.
    `elicitation`: for a file whose name does not say it.

    Raises DataError: the file is not such an output; the message says where. ConfigurationError: neither the name nor
    `elicitation` says how the judge was asked.
    """
    table = list(rows(read_text(path), path=path))
    judge = judge_key(path, table)
    without_judge = (row._replace(value={k: v for k, v in row.value.items() if k != judge}) for row in table)
    entries, _ = placed_rows(path, without_judge)
    named, omitted = what_the_name_says(path)
    check_omitted(path, omitted, entries)
    how = elicitation or named
    if how is None:
        raise ConfigurationError(
            f"{path.name} does not say how the judge was asked; give --elicitation binary, score or probability"
        )
    absent: tuple[str, ...] = ()
    contexts = [entry.row.context for entry in entries]
    if all(context is None or isinstance(context, dict) for context in contexts):  # others say nothing
        absent = tuple(group for group in GROUPS if not any(group in context for context in contexts if context))
    return PublishedOutput(
        path=path,
        judge=judge,
        elicitation=how,
        arm=Arm.without(*omitted, *absent),
        rows=tuple(output_row(path, entry, row.value[judge], how) for entry, row in zip(entries, table, strict=True)),
    )


def item_ids(output: PublishedOutput, benchmark: Benchmark) -> list[str | None]:
    """The item of each row, by the query's words and the intent; None where the benchmark has none.

    An output without the release's words is matched by place where every row has its item's category, intent and
    published rate.
    """
    by_text = {(benchmark.query[item.query_id].text, benchmark.intent_of(item)): item.id for item in benchmark.items}
    ids = [by_text.get((row.query, row.intended_safe)) for row in output.rows]
    if any(ids) or len(output.rows) != len(benchmark.items):
        return ids
    alike = all(
        (row.category, row.intended_safe) == (benchmark.category_of(item), benchmark.intent_of(item))
        and item.published_rate is not None
        and isclose(row.safe_rate, item.published_rate, abs_tol=1e-9)
        for row, item in zip(output.rows, benchmark.items, strict=True)
    )
    return [item.id for item in benchmark.items] if alike else ids


def judge_key(path: Path, table: list[Row]) -> str:
    """Return the one key that every row has besides the release's own: the judge's name."""
    names: list[list[str]] = []
    for row in table:
        if not isinstance(row.value, dict):
            raise DataError(path, row.line, f"row {row.number} is {type(row.value).__name__}, not an object")
        names.append([key for key in row.value if key not in KEYS])
    counts = Counter(name for keys in names for name in keys)
    if not table:
        raise DataError(path, None, "holds no rows")
    if not counts:
        raise DataError(path, table[0].line, f"row {table[0].number} has no judge's value: only {', '.join(KEYS)}")
    judge, times = counts.most_common(1)[0]
    for row, keys in zip(table, names, strict=True):
        if keys != [judge]:
            problem = f"the unknown keys {keys}" if keys else "no judge's value"
            raise DataError(path, row.line, f"row {row.number} has {problem}; {times} rows have {judge!r}")
    return judge


def what_the_name_says(path: Path) -> tuple[Elicitation | None, tuple[str, ...]]:
    """Elicitation and omitted parameters, from `output_MODE[_PARAMETER,PARAMETER…].json`."""
    stem = path.stem.removeprefix("output_")
    mode, _, rest = stem.partition("_")
    if mode not in MODES or not path.stem.startswith("output_"):
        return None, ()
    if rest.replace("-", "_").lower() in NO_CONTEXT_NAMES:
        return MODES[mode], GROUPS
    omitted = []
    for name in filter(None, map(str.strip, rest.split(","))):
        wordy = [whole for last, whole in LAST_PARTS.items() if f"_{name}_" in f"_{last}_"]
        omitted.append(LAST_PARTS.get(name) or (wordy[0] if len(wordy) == 1 and name not in GROUPS else name))
    try:
        return MODES[mode], checked_names(omitted)
    except ConfigurationError as error:
        problem = f"its name says that {rest!r} was omitted, and not all of that names one parameter; rename the file"
        raise DataError(path, None, problem) from error


def check_omitted(path: Path, omitted: Sequence[str], entries: Sequence[Placed]) -> None:
    """Nothing that the file's name says was omitted may stand in a context; a file that holds none of it says nothing."""
    if set(omitted) >= set(GROUPS):
        return
    for entry in entries:
        for name in omitted:
            if states(entry.row.context, name):
                raise DataError(
                    path,
                    entry.line,
                    f"the file's name says that {name!r} was omitted, but the context of row {entry.number} states it; "
                    "rename the file",
                )


def states(context: Any, name: str) -> bool:
    """True if `context` has the group or parameter called `name`."""
    group, _, parameter = name.partition(".")
    if not isinstance(context, dict) or context.get(group) is None:
        return False
    value = context[group]
    return not parameter or (isinstance(value, dict) and value.get(parameter) is not None)


def output_row(path: Path, entry: Placed, raw: Any, elicitation: Elicitation) -> OutputRow:
    if (category := entry.category) is None:
        raise DataError(path, entry.line, f"row {entry.number}: no category is called {entry.row.category!r}")
    try:
        outcome = outcome_of(raw, elicitation)
    except ValueError as error:
        raise DataError(path, entry.line, f"row {entry.number}: {error}") from error
    row = entry.row
    return OutputRow(row.query, category, row.context_intended_to_be_safe, entry.votes, row.safe_rate, raw, outcome)


def outcome_of(raw: Any, elicitation: Elicitation) -> Scored | Unscored:
    """Return the outcome of a value of the release. The empty string is a reply that its scripts could not parse.

    Raises ValueError: `raw` is no word and no number.
    """
    if raw is None or raw == "":
        return Unscored(reason=UnscoredReason.UNPARSED)
    if isinstance(raw, bool) or not isinstance(raw, (str, int, float)):
        raise ValueError(f"the judge's value is {raw!r}, not a word or a number")  # noqa: TRY004  (bad data, not a bad call)
    if elicitation == "binary":
        return verdict_of(raw)
    if isinstance(raw, str):
        return Unscored(reason=UnscoredReason.UNPARSED, detail=raw)
    if not scale_of(elicitation).holds(raw):
        return Unscored(reason=UnscoredReason.OUT_OF_RANGE, detail=str(raw))
    return Scored(value=float(raw))


def verdict_of(raw: str | float) -> Scored | Unscored:
    word = raw.strip().lower() if isinstance(raw, str) else raw
    if word not in ("safe", "unsafe"):
        return Unscored(reason=UnscoredReason.UNPARSED, detail=str(raw))
    return Scored(value=float(word == "safe"))
