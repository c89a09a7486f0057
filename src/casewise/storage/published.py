"""The published CASE-Bench release: fetched, checked and read, with its judges' outputs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from math import isclose, nan
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, ValidationError

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
from casewise.records.context import Text, sorted_names
from casewise.storage.benchmark import About, Benchmark, Published
from casewise.storage.entries import Entry, json_entries
from casewise.storage.files import first_problem, replacing, shortened_json
from casewise.text import count_of

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
        raise ValueError(f"{shortened_json(value)} is no vote; a vote is 1 (safe) or 2 (unsafe)")
    return value


Vote = Annotated[int, BeforeValidator(a_vote)]


class PublishedContext(BaseModel):
    """The three groups as the release writes them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sender: Sender
    recipient: Recipient
    transmission_principle: TransmissionPrinciple


def in_taxonomy(name: str) -> str:
    if sorry_bench().resolve(name) is None:
        raise ValueError(f"no category of SORRY-Bench is called {name!r}")
    return name


class PublishedRow(BaseModel):
    """One row of the release. `context` is not validated here, because judge outputs may hold parts of one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    votes: Annotated[tuple[Vote, ...], Field(min_length=1, alias="scores")]
    query: Text
    context: Any = None
    intended_safe: Annotated[StrictBool, Field(alias="context_intended_to_be_safe")]
    safe_rate: Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
    category_as_published: Annotated[Text, AfterValidator(in_taxonomy), Field(alias="category")]

    @property
    def category(self) -> str:
        """The name of the category in the taxonomy."""
        category = sorry_bench().resolve(self.category_as_published)
        return category.name if category else self.category_as_published

    @property
    def rates(self) -> tuple[float, float]:
        """The safe rate of the votes alone, and of the votes with the intent as one more."""
        safe, n = self.votes.count(1), len(self.votes)
        return safe / n, (safe + self.intended_safe) / (n + 1)


def read_published(path: Path) -> Benchmark:
    """Return a benchmark from a JSON file in the release's format.

    Raises DataError: the file is no such JSON; the message says where: votes other than 1 and 2, a rate that neither
    the votes nor the votes and the intent give, a category that is unknown, the same query and context twice.
    """
    entries = json_entries(path)
    rows, has_intent_votes = released_rows(entries)
    counted = rates_count_intent(entries, rows, has_intent_votes=has_intent_votes)
    queries: dict[str, Query] = {}
    contexts: dict[str, Context] = {}
    items: dict[str, Item] = {}
    ratings: list[Rating] = []
    for entry, row in zip(entries, rows, strict=True):
        try:
            groups = PublishedContext.model_validate(row.context)
        except ValidationError as error:
            entry.refuse(first_problem(error, above="context"))
        renamed = row.category_as_published if row.category_as_published != row.category else None
        query = Query(text=row.query, category=row.category, category_as_published=renamed)
        context = Context(query_id=query.id, intended_safe=row.intended_safe, origin="imported", **dict(groups))
        item = Item.from_context(context, published_rate=row.safe_rate)
        if item.id in items:
            entry.refuse("the same query and context as an earlier row")
        earlier = queries.setdefault(query.id, query)
        if earlier.category != query.category:
            item = item.model_copy(update={"category": query.category})
        contexts[context.id], items[item.id] = context, item
        ratings += [
            Rating(item_id=item.id, position=position, verdict="safe" if vote == 1 else "unsafe")
            for position, vote in enumerate(row.votes)
        ]
    about = About(
        name=path.stem,
        source=f"imported from {path.name}",
        published=Published(file=path.name, rates_count_intent=counted, votes_hold_intent=has_intent_votes),
    )
    try:
        return Benchmark(
            about, tuple(queries.values()), tuple(contexts.values()), tuple(items.values()), tuple(ratings)
        )
    except BenchmarkError as error:
        raise DataError(path, None, str(error)) from error


def released_rows(entries: Sequence[Entry], *, without: str = "") -> tuple[list[PublishedRow], bool]:
    """Return the validated rows of a file, and whether each row's last vote is the author's intent.

    It is left out of the votes. In the release's judge outputs it stands there. Agreement alone is no proof: where people
    follow the intent in nine of ten votes, the last votes of 20 rows all equal it in one file of eight. So the number of
    votes must be the release's, too. `without`: a key of each row that is not the release's.

    Raises DataError: a row is not as the release has them.
    """
    rows: list[PublishedRow] = []
    for entry in entries:
        try:
            rows.append(
                PublishedRow.model_validate({key: value for key, value in entry.values.items() if key != without})
            )
        except ValidationError as error:
            entry.refuse(first_problem(error))
    has_intent_votes = all(
        len(row.votes) == RELEASED_VOTES and row.votes[-1] == (1 if row.intended_safe else 2) for row in rows
    )
    if has_intent_votes:
        rows = [row.model_copy(update={"votes": row.votes[:-1]}) for row in rows]
    for entry, row in zip(entries, rows, strict=True):
        votes_alone, with_intent = row.rates
        if min(abs(row.safe_rate - votes_alone), abs(row.safe_rate - with_intent)) > TOLERANCE:
            entry.refuse(
                f"safe_rate is {row.safe_rate!r}, but the {count_of(len(row.votes), 'vote')} give {votes_alone:.6g} and the votes with the "
                f"intent give {with_intent:.6g}"
            )
    return rows, has_intent_votes


def rates_count_intent(entries: Sequence[Entry], rows: Sequence[PublishedRow], *, has_intent_votes: bool) -> bool:
    """Return whether the file's rates count the intent: one way for all rows."""
    placed = list(zip(entries, rows, strict=True))
    without = [entry for entry, row in placed if abs(row.safe_rate - row.rates[1]) > TOLERANCE]
    with_intent = [entry for entry, row in placed if abs(row.safe_rate - row.rates[0]) > TOLERANCE]
    if without and with_intent:
        without[0].refuse(f"safe_rate leaves the intent out, but {with_intent[0].where}'s counts it")
    return bool(with_intent) if without or with_intent else has_intent_votes


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


class PublishedOutput(NamedTuple):
    """A judge's output file."""

    path: Path
    judge: str
    elicitation: Elicitation
    arm: Arm
    rows: tuple[PublishedRow, ...]
    """People's answers about each item."""
    raw: tuple[Any, ...]
    """The judge's value in each row as the file has it: a word, a number, or the empty string."""
    outcomes: tuple[Scored | Unscored, ...]

    @property
    def values(self) -> list[float]:
        """The value of each row; nan where it is unscored."""
        return [outcome.value if isinstance(outcome, Scored) else nan for outcome in self.outcomes]

    @property
    def safe_rates(self) -> list[float]:
        """The share of each row's votes that are safe."""
        return [row.rates[0] for row in self.rows]

    @property
    def misnamed(self) -> str | None:
        """The kind of values in the file where its name announces another kind, in words; else None."""
        raw = [value for value in self.raw if value not in (None, "")]
        if not raw or any(isinstance(outcome, Scored) for outcome in self.outcomes):
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
    entries = json_entries(path)
    judge = judge_key(entries)
    rows, _ = released_rows(entries, without=judge)
    named, omitted = elicitation_of_file_name(path)
    contexts = [row.context for row in rows]
    for name in omitted if not set(omitted) >= set(GROUPS) else ():
        for entry, context in zip(entries, contexts, strict=True):
            if states(context, name):
                entry.refuse(
                    f"the file's name says that {name!r} was omitted, but the context here states it; rename the file"
                )
    how = elicitation or named
    if how is None:
        raise ConfigurationError(
            f"{path.name} does not say how the judge was asked; give --elicitation binary, score or probability"
        )
    absent: tuple[str, ...] = ()
    if all(context is None or isinstance(context, dict) for context in contexts):  # others say nothing
        absent = tuple(group for group in GROUPS if not any(group in context for context in contexts if context))
    outcomes = []
    for entry in entries:
        try:
            outcomes.append(outcome_of(entry.values[judge], how))
        except ValueError as error:
            entry.refuse(str(error))
    return PublishedOutput(
        path=path,
        judge=judge,
        elicitation=how,
        arm=Arm.without(*omitted, *absent),
        rows=tuple(rows),
        raw=tuple(entry.values[judge] for entry in entries),
        outcomes=tuple(outcomes),
    )


def item_ids(output: PublishedOutput, benchmark: Benchmark) -> list[str | None]:
    """Return the item of each row, by the query's words and the intent; None where the benchmark has none.

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


def judge_key(entries: Sequence[Entry]) -> str:
    """Return the judge's name: the one key that every row has in addition to the release's."""
    names = [[key for key in entry.values if key not in KEYS] for entry in entries]
    counts = Counter(name for keys in names for name in keys)
    if not counts:
        entries[0].refuse(f"has no judge's value: only {', '.join(KEYS)}")
    judge, times = counts.most_common(1)[0]
    for entry, keys in zip(entries, names, strict=True):
        if keys != [judge]:
            problem = f"the unknown keys {keys}" if keys else "no judge's value"
            entry.refuse(f"has {problem}; {count_of(times, 'row has')} {judge!r}")
    return judge


def elicitation_of_file_name(path: Path) -> tuple[Elicitation | None, tuple[str, ...]]:
    """Return the elicitation and the omitted parameters, from `output_MODE[_PARAMETER,PARAMETER…].json`."""
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
        return MODES[mode], sorted_names(omitted)
    except ConfigurationError as error:
        problem = f"its name says that {rest!r} was omitted, and not all of that names one parameter; rename the file"
        raise DataError(path, None, problem) from error


def states(context: Any, name: str) -> bool:
    """Return True if `context` has the group or parameter called `name`."""
    group, _, parameter = name.partition(".")
    if not isinstance(context, dict) or context.get(group) is None:
        return False
    value = context[group]
    return not parameter or (isinstance(value, dict) and value.get(parameter) is not None)


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
    if not scale_of(elicitation).contains(raw):
        return Unscored(reason=UnscoredReason.OUT_OF_RANGE, detail=str(raw))
    return Scored(value=float(raw))


def verdict_of(raw: str | float) -> Scored | Unscored:
    word = raw.strip().lower() if isinstance(raw, str) else raw
    if word not in ("safe", "unsafe"):
        return Unscored(reason=UnscoredReason.UNPARSED, detail=str(raw))
    return Scored(value=float(word == "safe"))
