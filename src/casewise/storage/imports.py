"""A user's own cases, from a table in a file or in memory, become a benchmark."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from pydantic import ValidationError

from casewise.errors import BenchmarkError, ConfigurationError, DataError, did_you_mean
from casewise.options import Hidden
from casewise.records import (
    Annotator,
    Category,
    Context,
    Group,
    Item,
    Parameter,
    ParameterSet,
    Query,
    Rating,
    RatingScale,
    Taxonomy,
    Vote,
    paper_parameters,
    sorry_bench,
)
from casewise.records.base import content_id
from casewise.records.context import OPTIONAL, stated
from casewise.records.item import NO_CONTEXT_CONDITION
from casewise.storage.annotation_tools import read_any_table
from casewise.storage.benchmark import About, Benchmark
from casewise.storage.entries import Entry, Table, as_number, filled, table_of
from casewise.storage.files import brief, what_is_wrong

# Which columns of a table of cases hold what: as its owner says, or guessed from their names.


def guessed(*names: str) -> Any:
    """Return an option for a column that is usually called one of `names`; capitals, spaces and hyphens do not count."""
    return field(default=None, metadata={"names": names})


@dataclass(frozen=True)
class CaseColumns:
    """The column of each part of a case: None guesses it from the names of columns, empty means that there is none."""

    query: str | None = guessed("query", "prompt", "question", "request", "user_query", "input")
    """The column with the query."""
    id: str | None = guessed("case_id", "item_id", "source_id", "id")
    """The column with your own id of the case; reports show it."""
    judged: str | None = guessed("judged")
    """The column with the kind of thing that is judged: request, reply or action."""
    before: str | None = guessed("before", "conversation", "history")
    """The column with the conversation before the query: a text, or a list of turns with role and text."""
    context: str | None = guessed("context", "circumstances", "situation", "setting")
    """The column with the context: free text; in JSON Lines also an object."""
    context_as: str = "situation"
    """The group.parameter that holds a context of free text. A group alone means its description."""
    parameters: Hidden[Mapping[str, str]] = field(default_factory=dict)
    """Further columns, by the context parameter that each states: group.parameter."""
    category: str | None = guessed("category", "topic", "harm_category")
    """The column with the category; '' for none."""
    cluster: str | None = guessed("cluster", "cluster_id")
    """The column with the cluster of a case, such as a conversation. Default: cases of one query are a cluster."""
    pair: str | None = guessed("pair", "pair_id")
    """The column with the id of the pair, or larger group, of contexts."""
    intended: str | None = guessed("intended_safe", "intended", "intent", "context_intended_to_be_safe")
    """The column with the intent of the context's author: safe or unsafe."""
    annotator: str | None = guessed(
        "annotator", "annotator_id", "rater", "rater_id", "worker", "worker_id", "participant", "participant_id"
    )
    """The column with the annotator, if each row is one rating. A case then has several rows."""
    trait: tuple[str, ...] = ()
    """A column with a trait of the annotator; may be repeated. Columns whose names begin with trait. count as well."""
    vote: str | None = guessed("vote")
    """The column with one person's vote: safe, unsafe or unsure."""
    value: str | None = guessed("value")
    """The column with one person's rating on the scale."""
    votes: str | None = guessed("votes", "ratings", "verdicts")
    """The column with a list of votes or of ratings on the scale, one for each person."""
    n_safe: str | None = guessed("n_safe", "safe_votes", "votes_safe", "safe_count")
    """The column with the number of safe votes."""
    n_unsafe: str | None = guessed("n_unsafe", "unsafe_votes", "votes_unsafe", "unsafe_count")
    """The column with the number of unsafe votes."""
    n_unsure: str | None = guessed("n_unsure", "unsure_votes", "votes_unsure", "unsure_count")
    """The column with the number of unsure votes."""
    n_votes: str | None = guessed("n_votes", "n_ratings", "total_votes", "total")
    """The column with the number of all safe and unsafe votes."""
    label: str | None = guessed("label", "verdict", "judgement", "judgment", "decision", "gold")
    """The column with one verdict for the case."""
    rate: str | None = guessed("safe_rate", "rate", "share_safe")
    """The column with the share of people who say safe."""
    mean: str | None = guessed("mean", "mean_rating")
    """The column with the mean rating on the scale, if the file has no single ratings."""

    @classmethod
    def of_rows(cls, names: Collection[str]) -> CaseColumns:
        """Return the columns of rows as `of_rows` takes them: each is called as its option is."""
        options: dict[str, Any] = {option: option if option in names else "" for option in OPTIONS}
        return cls(**options)

    @property
    def named(self) -> dict[str, str]:
        """The options that name a column, and its name."""
        return {option: name for option in OPTIONS if (name := getattr(self, option))}


OPTIONS: dict[str, tuple[str, ...]] = {
    one.name: one.metadata["names"] for one in fields(CaseColumns) if "names" in one.metadata
}
"""The options that name one column each, and what it is usually called."""

ON_SCALE = ("value", "mean")
"""Those of them that need a scale."""

TRAIT = "trait."
"""The prefix of a column that holds a trait of the annotator."""

DOTTED = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")


def guess_columns(
    columns: Sequence[str], stated: CaseColumns, frame: CaseFrame, *, has_ratings: bool = True
) -> CaseColumns:
    """Return the `stated` columns, and for each part that these leave open the one among `columns` whose name is usual for it.

    Without a scale no column is guessed to hold values on it.

    Raises ConfigurationError: a stated column is not there, or one is missing that is required, ratings included where the table
    `has_ratings`.
    """
    taken = {*stated.named.values(), *stated.parameters, *stated.trait}
    for name in (*stated.named.values(), *stated.parameters, *stated.trait):
        if name not in columns:
            raise ConfigurationError(f"there is no column {name!r}{did_you_mean(name, columns)}; {listed(columns)}")
    plain = {plain_name(name): name for name in reversed(columns)}
    parameters = dict(stated.parameters)
    for dotted in (*(frame.parameters or paper_parameters()).names, *filter(DOTTED.fullmatch, columns)):
        column = plain.get(plain_name(dotted))
        if column is not None and column not in taken and dotted not in parameters.values():
            parameters[column] = dotted
            taken.add(column)
    guesses: dict[str, Any] = {
        option: next((plain[name] for name in names if name in plain and plain[name] not in taken), "")
        for option, names in OPTIONS.items()
        if getattr(stated, option) is None and (frame.scale or option not in ON_SCALE)
    }
    chosen = replace(stated, parameters=parameters, **guesses)
    if has_ratings:
        check_columns(chosen, columns)
    return chosen


def plain_name(name: str) -> str:
    return re.sub(r"[\s.\-]+", "_", name.strip().lower())


def check_columns(chosen: CaseColumns, columns: Sequence[str]) -> None:
    if not chosen.query:
        raise ConfigurationError(f"no column is called query or the like; name it with --query; {listed(columns)}")
    if chosen.n_safe and not (chosen.n_votes or chosen.n_unsafe):
        raise ConfigurationError(
            f"{chosen.n_safe!r} counts safe votes, but of how many? Name the column with --n-unsafe or --n-votes; "
            f"{listed(columns)}"
        )
    if not {"vote", "value", "votes", "n_safe", "label", "rate", "mean"} & set(chosen.named):
        raise ConfigurationError(
            "no column holds what people decided; name it: --label (one word a case), --votes (a list of words), --n-safe with "
            "--n-unsafe or --n-votes (counts), --rate (a share), --annotator with --vote (a rating a row), or --value and "
            f"--mean (on a scale); {listed(columns)}"
        )


def listed(columns: Sequence[str]) -> str:
    return f"the columns are: {', '.join(columns)}"


# What a table of cases does not say of itself.


WORDS: dict[Vote, tuple[str, ...]] = {
    "safe": ("safe", "allow", "allowed", "answer", "respond", "appropriate", "acceptable"),
    "unsafe": ("unsafe", "deny", "denied", "refuse", "block", "blocked", "inappropriate", "unacceptable"),
    "unsure": ("unsure", "not sure", "don't know", "undecided", "abstain"),
}
"""The usual words for votes."""


@dataclass(frozen=True)
class CaseFrame:
    """The facts about a file of cases that the file does not state.

    `safe_words`, `unsafe_words` and `unsure_words` are the words of its votes, instead of the usual ones; an empty unsure
    word makes a vote of an empty cell. Without `taxonomy` the categories are SORRY-Bench's where all are of these, else
    those in the file; without `parameters` a context may state any.
    """

    taxonomy: Taxonomy | None = None
    parameters: ParameterSet | None = None
    safe_words: tuple[str, ...] = ()
    unsafe_words: tuple[str, ...] = ()
    unsure_words: tuple[str, ...] = ()
    scale: RatingScale | None = None
    """The scale of `value`, `mean` and of numbers among `votes`."""

    @cached_property
    def words(self) -> dict[str, Vote]:
        """Every word that states a vote, in small letters, and the vote."""
        verdicts = self.safe_words or self.unsafe_words
        words: dict[Vote, tuple[str, ...]] = {
            "safe": self.safe_words if verdicts else WORDS["safe"],
            "unsafe": self.unsafe_words if verdicts else WORDS["unsafe"],
            "unsure": self.unsure_words or WORDS["unsure"],
        }
        return {word.casefold(): vote for vote in reversed(words) for word in words[vote]}

    def vote(self, word: Any) -> Vote | None:
        """Return the vote that a word states, or None."""
        return self.words.get(str(word).strip().casefold())


RATING = "rating"
"""The column that a wide table's cells become."""


@dataclass(frozen=True)
class RatingTable:
    """The place of ratings that are not one column of the file of cases."""

    ratings: Path | None = None
    """A second file with the ratings: one row for each rating, with the case's id and the annotator. With --wide: one row
    for each person."""
    wide: str | None = None
    """Pattern of the columns of cases in a table with one row for each person. In Rating_*, * is the case's id, or the query
    if there is one file. Empty cells are no ratings; with --unsure-word '' they are unsure votes."""

    def joined(self, path: Path, cases: Table, columns: CaseColumns, frame: CaseFrame) -> tuple[Table, CaseColumns]:
        """Return the cases, and a row for each rating with what its case says; and what the columns of these are.

        Raises ConfigurationError: a column is not there. DataError: a rating is of no case, or two cases have one id.
        """
        if self.ratings is None:
            query = columns.query or "query"
            long_table, columns = self.melted(path, cases, replace(columns, query=query), query, frame)
            return long_table, columns
        without_ratings = replace(columns, annotator="", trait=(), label="", vote="", value="")
        if not (key := guess_columns(cases.columns, without_ratings, frame, has_ratings=False).id):
            raise ConfigurationError(f"ratings need the case's id; name its column with --id; {listed(cases.columns)}")
        ratings = read_any_table(self.ratings)
        if self.wide is not None:
            ratings, columns = self.melted(self.ratings, ratings, columns, key, frame)
        if key not in ratings.columns:
            raise ConfigurationError(
                f"{self.ratings.name} has no column {key!r} with the case's id; {listed(ratings.columns)}"
            )
        rating_columns = [name for name in ratings.columns if name != key]
        if twice := [name for name in rating_columns if name in cases.columns]:
            raise ConfigurationError(f"both files have a column {twice[0]!r}; name it otherwise in one of them")
        by_id: dict[str, Entry] = {}
        for row in cases.rows:
            if (earlier := by_id.setdefault(row.name(key), row)) is not row:
                row.refuse(f"{key!r} is the same as on line {earlier.line}; each case has an id of its own")
        rows = list(cases.rows)
        for row in ratings.rows:
            if (name := row.name(key)) not in by_id:
                examples = f"; {path.name} has {', '.join(list(by_id)[:3])}, …"
                row.refuse(f"{key!r} is {cell_text(name)}, and no case has this id{examples}")
            rows.append(Entry(self.ratings, row.line, {**row.values, **by_id[name].values}))
        return Table((*cases.columns, *rating_columns), rows), replace(columns, id=key)

    def melted(
        self, path: Path, table: Table, columns: CaseColumns, key: str, frame: CaseFrame
    ) -> tuple[Table, CaseColumns]:
        """Return a row for each cell of a case's column, with the row's other cells; and what the columns of these are."""
        if self.wide is None or self.wide.count("*") != 1:
            raise ConfigurationError(f"--wide is {self.wide!r}; write * once for the case's id, as in 'Rating_*'")
        pattern = re.compile("(.+)".join(map(re.escape, self.wide.split("*"))), re.DOTALL)
        ids = {name: match[1] for name in table.columns if (match := pattern.fullmatch(name))}
        if not ids:
            raise ConfigurationError(f"no column is called like {self.wide!r}; {listed(table.columns)}")
        if not columns.annotator:
            raise ConfigurationError(
                f"a row is a person's; name the column that says whose with --annotator; {listed(table.columns)}"
            )
        rows = []
        for row in table.rows:
            person_cells = {name: cell for name, cell in row.values.items() if name not in ids}
            rows += [
                Entry(path, row.line, {**person_cells, key: case, RATING: row.values.get(name)})
                for name, case in ids.items()
            ]
        names = dict.fromkeys((*(name for name in table.columns if name not in ids), key, RATING))
        return Table(tuple(names), rows), replace(columns, value=RATING) if frame.scale else replace(
            columns, vote=RATING
        )


def of_rows(
    rows: Iterable[Mapping[str, Any] | Entry],
    about: About,
    *,
    source: Path | str,
    taxonomy: Taxonomy | None = None,
    parameters: ParameterSet | None = None,
) -> Benchmark:
    """Return the benchmark that rows of the one shape make; every way in ends here.

    A row has any of: `id`, `query`, `judged`, `before` (a text, or turns with `role` and `text`), `context` (a mapping of
    groups, or a text), `category`, `cluster`, `pair`, `intended`, `annotator`, `vote` (safe, unsafe or unsure), `value` (on
    the scale), `label`, `votes` (a list of words, or of numbers on the scale), `n_safe`, `n_unsafe`, `n_unsure`, `rate`,
    `mean` and `trait.NAME`. What else it has is kept in the item's columns, where it is the same in every row of the item.
    Rows with one query, `before` and context are ratings of one item, and then each names its annotator.

    `about`: what the benchmark says of itself, with the scale of its values and who made the labels.
    `source`: the file that errors name, with the row's number from 1, or the line of an `Entry`.

    Raises DataError: a row cannot be read, or rows contradict each other.
    """
    path = Path(source)
    table = table_of(
        path,
        (row if isinstance(row, Entry) else filled(Entry(path, number, row)) for number, row in enumerate(rows, 1)),
    )
    frame = CaseFrame(taxonomy, parameters, scale=about.scale)
    return Cases(path, table, CaseColumns.of_rows(table.columns), frame).benchmark(about)


# Rows on their way to records.


UNCATEGORISED = "uncategorised"

MOST_VOTES = 100_000
"""On one case; a larger count is a slip."""

MOST_NAMED = 5
"""Columns that a remark lists."""

CONVERSATION = "conversation"
"""The role of a conversation that a file gives as one text."""

TRUTH = {"true": True, "false": False, "yes": True, "no": False, "1": True, "0": False}


@dataclass
class Draft:
    """An item on its way, with the row that it was first met in."""

    item: Item
    first: Entry
    raters: dict[str, int | None] = field(default_factory=dict)
    """Annotators to the lines of their ratings."""


@dataclass
class Cases:
    """Rows on their way to records."""

    path: Path
    table: Table
    columns: CaseColumns
    """The roles of the columns."""
    frame: CaseFrame
    queries: dict[str, Query] = field(default_factory=dict)
    contexts: dict[str, Context] = field(default_factory=dict)
    drafts: dict[str, Draft] = field(default_factory=dict)
    """By the item's id."""
    drafts_by_cells: dict[str, Draft] = field(default_factory=dict)
    """By the cells that make the item, so that a long table makes each item once."""
    ratings: list[Rating] = field(default_factory=list)
    traits: dict[str, tuple[dict[str, Any], int | None]] = field(default_factory=dict)
    """By annotator, with the line."""
    varying: dict[str, None] = field(default_factory=dict)
    """Columns that differ among the rows of an item."""

    def __post_init__(self) -> None:
        columns, names = self.columns, self.table.columns
        self.column = columns.named
        """The name of the column for each part of a case that has one."""
        trait_columns = {name: name for name in columns.trait}
        self.trait_columns = trait_columns | {
            name: name.removeprefix(TRAIT) for name in names if name.startswith(TRAIT)
        }
        """Columns with traits of annotators, and the traits' names."""
        used = {*self.column.values(), *columns.parameters, *self.trait_columns}
        self.other_columns = [name for name in names if name not in used]
        """Columns that are kept with the item as they are."""
        parts = ("query", "judged", "before", "context", "intended")
        self.item_columns = [*columns.parameters, *(self.column[part] for part in parts if part in self.column)]
        """Columns that make an item what it is."""

    def cell(self, row: Entry, part: str) -> Any:
        """Return the cell with a part of a case; None where it is empty, or there is no such column."""
        return row.values.get(self.column[part]) if part in self.column else None

    def refuse(self, row: Entry, part: str, problem: str) -> NoReturn:
        row.refuse(f"{self.column[part]!r} is {cell_text(self.cell(row, part))}{problem}")

    def name(self, row: Entry, part: str) -> str | None:
        return None if self.cell(row, part) is None else row.name(self.column[part])

    def benchmark(self, about: About | None = None) -> Benchmark:
        if self.trait_columns and not self.columns.annotator:
            raise ConfigurationError(
                f"there are traits and no column of annotators; name it with --annotator; {listed(self.table.columns)}"
            )
        for row in self.table.rows:
            try:
                self.take(row)
            except ValidationError as error:
                row.refuse(what_is_wrong(error))
        self.join_pairs()
        items = tuple(self.item(draft) for draft in self.drafts.values())
        categories = [query.category for query in self.queries.values()]
        categories += [item.category for item in items if item.category is not None]
        about = about or About(name=self.path.stem, scale=self.frame.scale)
        try:
            return Benchmark(
                about.model_copy(
                    update={
                        "source": about.source or f"imported from {self.path.name}",
                        "remarks": (*(about.remarks or ()), *self.remarks()) or None,
                    }
                ),
                tuple(self.queries.values()),
                tuple(self.contexts.values()),
                items,
                self.ratings,
                taxonomy=self.frame.taxonomy or taxonomy_of(about.name, categories),
                parameters=self.frame.parameters or parameters_of(about.name, self.contexts.values()),
                annotators=tuple(
                    Annotator(id=annotator, traits=traits) for annotator, (traits, _) in self.traits.items() if traits
                ),
            )
        except BenchmarkError as error:
            raise DataError(self.path, None, str(error)) from error

    def take(self, row: Entry) -> None:
        """Take a row into account: its item, its ratings, and its annotator's traits."""
        key = repr([row.values.get(name) for name in self.item_columns])
        if (draft := self.drafts_by_cells.get(key)) is None:
            draft = self.drafts_by_cells[key] = self.draft(row)
        annotator = self.name(row, "annotator")
        if row is not draft.first:
            if annotator is None:
                row.refuse(
                    f"the same query and context as line {draft.first.line}; each case stands once, unless a column says who "
                    "rated (--annotator)"
                )
            self.compare(row, draft.first)
        ratings = list(self.rated(row, draft.item.id, annotator))
        self.ratings += ratings
        if annotator is None:
            return
        if ratings:
            if annotator in draft.raters:
                row.refuse(
                    f"{annotator!r} rated this case on line {draft.raters[annotator]}; each annotator rates a case once"
                )
            draft.raters[annotator] = row.line
        traits = {name: plain(row.values[column]) for column, name in self.trait_columns.items() if row.has(column)}
        earlier, line = self.traits.setdefault(annotator, (traits, row.line))
        for name, trait in traits.items():
            if (before := earlier.setdefault(name, trait)) != trait:
                now, before = cell_text(trait), cell_text(before)
                row.refuse(f"the trait {name!r} of {annotator!r} is {now} here and {before} on line {line}")

    def draft(self, row: Entry) -> Draft:
        """Return the item that a row is of, as it was met before or anew."""
        query = self.query(row)
        context = self.context(row, query)
        category = self.category(row)
        updates: dict[str, Any] = {
            "category": None if category == query.category else category,
            "cluster": self.name(row, "cluster"),
            "source_id": self.name(row, "id"),
            "mean": self.on_scale(row, "mean"),
            "published_rate": None if self.cell(row, "rate") is None else row.number(self.column["rate"], 0, 1),
        }
        if (pair := self.name(row, "pair")) is not None:
            updates["pair_id"] = content_id("p", {"pair": pair})
        if context is None:
            item = Item(query_id=query.id, condition=NO_CONTEXT_CONDITION)
        else:
            self.contexts[context.id] = context
            item = Item.of(context)
        return self.drafts.setdefault(item.id, Draft(item.model_copy(update=updates), row))

    def compare(self, row: Entry, first: Entry) -> None:
        """Check that a row says of its item what the first one did; other columns that differ are those of ratings."""
        for part in ("id", "category", "cluster", "pair", "rate", "mean"):
            if (now := self.cell(row, part)) != (before := self.cell(first, part)):
                row.refuse(
                    f"{self.column[part]!r} is {cell_text(now)} here and {cell_text(before)} on line {first.line}, and both are "
                    "of one case: a case has one (name another column, or none with '')"
                )
        for name in self.other_columns:
            if name not in self.varying and row.values.get(name) != first.values.get(name):
                self.varying[name] = None

    def join_pairs(self) -> None:
        """Make a cluster of each pair or group over several queries, where no column says which cases belong together."""
        if "pair" not in self.column or "cluster" in self.column:
            return
        groups: dict[str, list[Draft]] = {}
        for draft in self.drafts.values():
            if draft.item.pair_id is not None and self.cell(draft.first, "pair") is not None:
                groups.setdefault(draft.item.pair_id, []).append(draft)
        for pair, drafts in groups.items():
            if len({draft.item.query_id for draft in drafts}) > 1:
                for draft in drafts:
                    draft.item = draft.item.model_copy(update={"cluster": pair})

    def item(self, draft: Draft) -> Item:
        """Return the finished item."""
        names = [name for name in self.other_columns if draft.first.has(name) and name not in self.varying]
        columns = {name: plain(draft.first.values[name]) for name in names}
        try:
            return Item.model_validate(draft.item.as_json() | {"columns": columns}) if columns else draft.item
        except ValidationError as error:
            draft.first.refuse(what_is_wrong(error))

    def query(self, row: Entry) -> Query:
        query = Query(
            text=row.text(self.column["query"]),
            judged=self.cell(row, "judged") or "request",
            before=self.before(row),
            category=self.category(row),
            source=self.path.name,
        )
        return self.queries.setdefault(query.id, query)

    def category(self, row: Entry) -> str:
        category = self.name(row, "category") if "category" in self.column else UNCATEGORISED
        if category is None:
            row.refuse(f"{self.column['category']!r} is empty; give every case a category, or --category ''")
        taxonomy = self.frame.taxonomy or sorry_bench()
        resolved = taxonomy.resolve(category)
        if resolved is None and self.frame.taxonomy is not None:
            row.refuse(f"{taxonomy.name!r} has no category {category!r}; it has {', '.join(taxonomy.names)}")
        return resolved.name if resolved else category

    def before(self, row: Entry) -> Any:
        """Return the conversation before what is judged, for `Query` to check; a text that is no JSON list is one turn."""
        cell = self.cell(row, "before")
        if isinstance(cell, str) and cell.startswith("["):
            with suppress(ValueError):
                cell = json.loads(cell)
        return [{"role": CONVERSATION, "text": cell}] if isinstance(cell, str) else cell or None

    def context(self, row: Entry, query: Query) -> Context | None:
        groups: dict[str, Any] = {}
        whole = self.cell(row, "context")
        group, _, parameter = self.columns.context_as.partition(".")
        if isinstance(whole, Mapping):
            whole = {name: part for name, value in whole.items() if (part := without_nulls(value)) not in (None, {})}
            in_groups = all(isinstance(value, Mapping) or name in OPTIONAL for name, value in whole.items())
            groups |= whole if in_groups else {group: whole}
        elif whole is not None:
            groups[group] = {parameter or "description": whole}
        for column, name in self.columns.parameters.items():
            if row.has(column):
                above, _, below = name.partition(".")
                cell = row.values[column]
                groups[above] = {**groups.get(above, {}), below: cell} if below else cell
        if not groups:
            return None
        context = Context.stating(groups, query_id=query.id, intended_safe=self.intended(row), origin="imported")
        if self.frame.parameters and (problem := self.frame.parameters.problem(context)):
            row.refuse(problem)
        return context

    def intended(self, row: Entry) -> bool | None:
        cell = self.cell(row, "intended")
        if cell is None or isinstance(cell, bool):
            return cell
        votes: dict[Vote | None, bool] = {"safe": True, "unsafe": False}
        intent = TRUTH.get(str(cell).casefold(), votes.get(self.frame.vote(cell)))
        if intent is None:
            self.refuse(row, "intended", "; an intent is safe or unsafe, true or false")
        return intent

    def rated(self, row: Entry, item_id: str, annotator: str | None) -> Iterator[Rating]:
        """Yield the ratings that a row holds."""
        if "votes" in self.column:
            cell = self.cell(row, "votes") or []
            words = cell if isinstance(cell, list) else re.split(r"[\s,;|/]+", str(cell).strip("[]"))
            for place, word in enumerate(word.strip("\"' ") if isinstance(word, str) else word for word in words):
                number = None if self.frame.vote(word) or self.frame.scale is None else as_number(word)
                vote = self.vote(row, "votes", word) if number is None else None
                value = None if number is None else self.on_scale(row, "votes", word)
                yield Rating(item_id=item_id, position=place, verdict=vote, value=value)
        elif "annotator" in self.column:
            voted = any(self.cell(row, part) is not None for part in ("vote", "label"))
            vote = None if annotator is None and not voted else self.own_vote(row)
            value = self.on_scale(row, "value")
            if vote is not None or value is not None:
                if annotator is None:
                    self.refuse(row, "annotator", "; say who gave this rating")
                yield Rating(item_id=item_id, annotator_id=annotator, verdict=vote, value=value)
        elif "n_safe" in self.column:
            safe = self.count(row, "n_safe")
            unsafe = self.count(row, "n_unsafe") if "n_unsafe" in self.column else self.count(row, "n_votes") - safe
            if unsafe < 0:
                row.refuse(f"{safe} of {safe + unsafe} votes cannot be safe")
            unsure = self.count(row, "n_unsure") if "n_unsure" in self.column else 0
            counts: dict[Vote, int] = {"safe": safe, "unsafe": unsafe, "unsure": unsure}
            for place, vote in enumerate(vote for vote, n in counts.items() for _ in range(n)):
                yield Rating(item_id=item_id, position=place, verdict=vote)
        else:
            vote, value = self.own_vote(row), self.on_scale(row, "value")
            if vote is not None or value is not None:
                yield Rating(item_id=item_id, position=0, verdict=vote, value=value)

    def own_vote(self, row: Entry) -> Vote | None:
        """Return the vote of a row's one person; with an empty unsure word, an empty cell is one."""
        for part in ("vote", "label"):
            if (word := self.cell(row, part)) is not None:
                return self.vote(row, part, word)
        part = "vote" if "vote" in self.column else "value"
        is_unsure = "" in self.frame.unsure_words and part in self.column and self.cell(row, part) is None
        return "unsure" if is_unsure else None

    def vote(self, row: Entry, part: str, word: Any) -> Vote:
        column, plain_word = self.column[part], str(word).casefold()
        if plain_word in ("true", "false") and "safe" in column.casefold():
            return "safe" if (plain_word == "true") != ("unsafe" in column.casefold()) else "unsafe"
        vote = self.frame.vote(word)
        if vote is None:
            row.refuse(
                f"{column!r} is {cell_text(word)}, and nobody said whether that is safe: name the words with --safe-word, "
                "--unsafe-word and --unsure-word"
            )
        return vote

    def on_scale(self, row: Entry, part: str, value: Any = None) -> float | None:
        """Return a number on the scale, or None where there is none: the cell of a part, or one `value` of it."""
        if (value := self.cell(row, part) if value is None else value) is None:
            return None
        scale, column = self.frame.scale, self.column[part]
        if scale is None:
            raise ConfigurationError(
                f"{column!r} holds ratings on a scale; say which with --scale-low and --scale-high"
            )
        return row.number_in(value, column, scale.low, scale.high)

    def count(self, row: Entry, part: str) -> int:
        return row.whole_in(row.value(self.column[part]), self.column[part], 0, MOST_VOTES)

    def remarks(self) -> Iterator[str]:
        """Yield what the file lacks, and what of it was left out."""
        column = self.column
        if self.varying:
            names = list(self.varying)
            more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
            yield (
                f"Left out of the file: {', '.join(names[:MOST_NAMED])}{more}, which differ among the ratings of a case. Name those "
                "that are traits of annotators with --trait."
            )
        if "votes" in column and ("n_safe" in column or "label" in column):
            yield f"The labels are read from {column['votes']!r} alone."
        elif "n_safe" in column and "label" in column:
            yield f"The labels are read from the counts alone, not from {column['label']!r}."
        elif not {"votes", "n_safe", "annotator"} & set(column):
            labels = (
                "one label per case"
                if {"label", "vote", "value"} & set(column)
                else "shares without votes (--labels published reads them)"
                if "rate" in column
                else "means without single ratings"
            )
            yield f"Your file has {labels}, so casewise cannot say how much people disagree or what the best possible score is."
        if not self.contexts and not any(query.before for query in self.queries.values()):
            yield "Your file states no contexts, so every query is judged alone."
        elif self.contexts and "intended" not in column:
            yield "Your file states no intents, so reports have no pairs and no comparison with the author's intent."
        if "category" not in column:
            yield "Your file states no categories, so all cases are in one category."


def plain(cell: Any) -> Any:
    """Return a cell as a record may state it: a date or a number of another library as its text."""
    if isinstance(cell, Mapping):
        return {str(name): plain(part) for name, part in cell.items()}
    if isinstance(cell, (list, tuple)):
        return [plain(part) for part in cell]
    return cell if cell is None or type(cell) in (str, bool, int, float) else str(cell)


def without_nulls(value: Any) -> Any:
    """Return a group without the parameters that are null: these are absent."""
    return {name: part for name, part in value.items() if part is not None} if isinstance(value, Mapping) else value


def cell_text(cell: Any) -> str:
    return "empty" if cell is None else brief(cell)


def taxonomy_of(name: str, categories: Iterable[str]) -> Taxonomy:
    """Return SORRY-Bench's taxonomy where all categories are of these, else one of these."""
    distinct = dict.fromkeys(categories)
    if set(distinct) <= set(sorry_bench().names):
        return sorry_bench()
    return Taxonomy(name=name, categories=tuple(Category(name=category, domain="imported") for category in distinct))


def parameters_of(name: str, contexts: Iterable[Context]) -> ParameterSet:
    """Return the paper's set where all contexts fit it, else what they state; what one of them leaves out may be missing.

    Raises ConfigurationError: a group or parameter has a name that no arm could say.
    """
    every_context = list(contexts)
    if all(paper_parameters().problem(context) is None for context in every_context):
        return paper_parameters()
    names_by_context = [set(stated(context.shown())) for context in every_context]
    ordered = dict.fromkeys(
        dotted_name
        for context in every_context
        for dotted_name in stated(context.shown())
        if dotted_name not in OPTIONAL
    )
    groups: dict[str, list[Parameter]] = {}
    try:
        for dotted in ordered:
            group, _, parameter = dotted.partition(".")
            missing = not all(dotted in names for names in names_by_context)
            groups.setdefault(group, []).append(Parameter(name=parameter, may_be_missing=missing))
        return ParameterSet(
            name=name, groups=tuple(Group(name=group, parameters=tuple(parts)) for group, parts in groups.items())
        )
    except ValidationError as error:
        raise ConfigurationError(f"the parameters of the contexts: {what_is_wrong(error)}") from error
