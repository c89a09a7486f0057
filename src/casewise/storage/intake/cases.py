"""Rows of a table become queries, contexts, items and ratings, with a receipt of what became of every row."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn

import polars as pl
from pydantic import ValidationError

from casewise.errors import BenchmarkError, ConfigurationError, DataError
from casewise.records import (
    Action,
    Annotator,
    Category,
    Context,
    Group,
    Item,
    Parameter,
    ParameterSet,
    Query,
    RatingScale,
    Taxonomy,
    Vote,
    paper_parameters,
    sorry_bench,
)
from casewise.records.base import canonical_json, content_id
from casewise.records.context import OPTIONAL
from casewise.records.item import NO_CONTEXT_CONDITION, condition_of
from casewise.storage.actions import ActionTemplate, Mask, action_of, action_words
from casewise.storage.benchmark import About, Benchmark
from casewise.storage.columns import RATING_COLUMNS, RatingColumns
from casewise.storage.entries import Entry, id_key, name_text, number_of
from casewise.storage.files import first_problem, shortened_json
from casewise.storage.intake.cells import parts, separator_of, share_unit
from casewise.storage.intake.chats import ToolCall, calls_in, system_apart, turns_of
from casewise.storage.intake.roles import TRAIT, CaseColumns, listed, rater_columns
from casewise.storage.intake.table import Rejected, Table, structured, table_of
from casewise.storage.receipt import ColumnRead, MergedRows, Receipt, WordRead
from casewise.storage.words import MeaningSource, NotApplicable, VerdictWords, plain_word
from casewise.text import count_of

Repeats = Literal["refuse", "merge", "first", "keep"]


@dataclass(frozen=True)
class Policies:
    """Rules for rows and cells that can be read in several ways. The defaults refuse."""

    repeats: Repeats = "refuse"
    """Treatment of a case, or an annotator's rating, that occurs several times. merge: equal rows are one. first: the first counts.
    keep: each is a case of its own."""
    skip_bad: bool = False
    """Leave out rows that cannot be read, and write them with the reasons to a file beside the benchmark."""
    separator: str | None = None
    """The character between the ratings in a cell; '' if a cell holds one. JSON lists need none."""
    percent: bool = False
    """The shares are percentages without a sign."""
    keep_secrets: bool = False
    """Keep keys, passwords and numbers of cards in actions and the conversations before them. By default they are masked."""
    action_words: Path | None = None
    """A TOML file with the words in which actions are shown, in place of casewise's own."""


@dataclass(frozen=True)
class CaseFrame:
    """The facts about a file of cases that the file does not state.

    Without `taxonomy` the categories are SORRY-Bench's where all are of these, else those in the file; without
    `parameters` a context may state any.
    """

    taxonomy: Taxonomy | None = None
    parameters: ParameterSet | None = None
    words: VerdictWords = field(default_factory=VerdictWords)
    scale: RatingScale | None = None
    """The scale of `value`, `mean` and of numbers among `votes`."""
    policies: Policies = field(default_factory=Policies)


UNCATEGORISED = "uncategorised"

MOST_VOTES = 100_000
"""Most votes on one case; a larger count is a slip."""

MOST_NAMED = 5
"""Columns that a remark lists."""

CONVERSATION = "conversation"
"""The role of a conversation that a file gives as one text."""

NAMES = ("id", "annotator", "cluster", "pair")
"""Parts of a case that are names, which are compared as texts."""

SUMS = ("total", "totals", "grand total", "sum", "average", "mean")
"""Names of the row below a table that sums it up."""

MOST_KEPT = 10**15
"""The smallest whole number of which a spreadsheet program does not keep all digits."""

CUT_NUMBER = re.compile(r"\d[.,]\d+E\+\d+")
"""A number in the notation that spreadsheet programs give to one with many digits."""

NEVER_MISSING = ("query", "reply", "before", "tool_call", "id")
"""Parts of a case whose texts are taken as they are, even NA."""

INTENT_SAYS_SAFE = ("intended_safe", "context_intended_to_be_safe")
"""Columns of intents in which true is safe by their names."""

DECIDED = {"vote", "value", "votes", "n_safe", "label", "rate", "mean"}
"""Parts that hold what somebody decided."""

COMPARED = ("id", "category", "cluster", "pair", "rate", "mean", "n_votes")
"""Parts of a case that are the same in all its rows."""


@dataclass
class CaseRecords:
    """The records that a case becomes."""

    item: Item
    query: Query
    context: Context | None


@dataclass
class Draft:
    """A case on its way, with the row that it was first met in."""

    id: str
    """The item's id, or another name of its own where no records are made."""
    first: int
    """The place of the row."""
    compared: tuple[Any, ...]
    made: CaseRecords | None = None
    raters: dict[str | None, int] = field(default_factory=dict)
    """Annotators to the places of their rows."""

    @property
    def records(self) -> CaseRecords:
        """The records of the case, which is imported and not only counted."""
        assert self.made is not None
        return self.made


@dataclass
class RatingLists:
    """Ratings on their way into columns."""

    item: list[int] = field(default_factory=list)
    annotator: list[int | None] = field(default_factory=list)
    position: list[int | None] = field(default_factory=list)
    verdict: list[Vote | None] = field(default_factory=list)
    value: list[float | None] = field(default_factory=list)
    items: dict[str, int] = field(default_factory=dict)
    annotators: dict[str, int] = field(default_factory=dict)

    def add(self, item_id: str, annotator_key: str | int, vote: Vote | None, value: float | None) -> None:
        """Add the rating of an annotator, or the one at a position."""
        self.item.append(self.items.setdefault(item_id, len(self.items)))
        anonymous = isinstance(annotator_key, int)
        self.annotator.append(
            None if anonymous else self.annotators.setdefault(str(annotator_key), len(self.annotators))
        )
        self.position.append(annotator_key if isinstance(annotator_key, int) else None)
        self.verdict.append(vote)
        self.value.append(value)

    def columns(self) -> RatingColumns:
        """Return the ratings in columns."""
        lists = {name: getattr(self, name) for name in ("item", "annotator", "position", "verdict", "value")}
        schema = pl.Schema(RATING_COLUMNS)
        table = pl.DataFrame(lists, schema={name: schema[name] for name in lists}).with_columns(
            seconds=pl.lit(None, pl.Float64), at=pl.lit(None, pl.String)
        )
        return RatingColumns(table.select(*RATING_COLUMNS), items=tuple(self.items), annotators=tuple(self.annotators))


One = tuple[str | int, Vote | None, float | None]
"""A rating of a row: the annotator or the position, the vote, the value."""


class ActionWithTurns(NamedTuple):
    """The action that a row is about, and the turns before it that the same cell holds."""

    action: Action
    before: list[dict[str, str]]


class RowWithoutVerdict(Exception):
    """The row has no verdict by its nature and is left out."""


class Contradiction(DataError):
    """Two rows of one case or annotator that cannot both count. Neither is a bad row, so that --skip-bad does not choose."""


class Cases:
    """Rows on their way to records."""

    def __init__(
        self, table: Table, columns: CaseColumns, frame: CaseFrame, *, declared: CaseColumns | None = None
    ) -> None:
        words = replace(frame.words, of_replies=columns.judged_word == "reply")
        self.table, self.columns, self.frame, self.path = table, columns, replace(frame, words=words), table.path
        self.declared = declared or columns
        self.column = columns.named
        """The name of the column for each part of a case that has one."""
        self.raters = rater_columns(table.names, columns.raters)
        self.traits_by_column = {name: name for name in columns.trait} | {
            name: name.removeprefix(TRAIT) for name in table.names if name.startswith(TRAIT)
        }
        used = {*self.column.values(), *columns.parameters, *self.traits_by_column, *self.raters}
        self.other_columns = [name for name in table.names if name not in used]
        """Columns that are kept with the item as they are."""
        self.cells: dict[str, list[Any]] = {}
        """The cells of each part, without those that state that their value is missing."""
        self.words: Counter[tuple[str, str, str, str]] = Counter()
        """How often each word was read: column, word, reading, why."""
        self.notes = list(table.notes)
        self.queries: dict[str, Query] = {}
        self.contexts: dict[str, Context] = {}
        self.drafts: dict[Hashable, Draft] = {}
        self.ratings = RatingLists()
        self.traits: dict[str, tuple[dict[str, Any], int]] = {}
        """By annotator, with the place of the row."""
        self.varying: dict[str, None] = {}
        """Columns that differ among the rows of an item."""
        self.rejected: list[Rejected] = list(table.rejected)
        self.dropped: list[tuple[str, int]] = []
        self.merged: list[int] = []
        self.n_blank = 0
        """Rows that name an annotator and hold no rating."""
        self.readings: dict[tuple[str, str], tuple[Vote | NotApplicable, MeaningSource]] = {}
        """What each word of a column was read as, and why."""
        self.reply_words = columns.judged_word
        self.place_of_sums: int | None = None
        self.unit = 1.0
        self.separator = ""
        self.mask = Mask()
        own_words = frame.policies.action_words
        self.action_words = ActionTemplate.read(own_words) if own_words else action_words()

    # What is settled for a whole column before any row is read.

    def prepare(self) -> None:
        """Settle what holds for whole columns: missing values, separators, units, and the meaning of words."""
        if self.traits_by_column and not self.columns.annotator:
            raise ConfigurationError(
                f"there are traits and no column of annotators; name it with --annotator; {listed(self.table.names)}"
            )
        if self.rejected and not self.frame.policies.skip_bad:
            self.table.whole()
        for part, column in self.column.items():
            cells = self.table.columns[column]
            if part in NAMES:
                cells = self.table.columns[column] = self.names(column, cells)
            self.cells[part] = cells if part in NEVER_MISSING else self.without_missing(column, cells)
        for column in self.columns.parameters:
            self.table.columns[column] = self.without_missing(column, self.table.columns[column])
        last = len(self.table) - 1
        if last > 0 and plain_word(self.cell(last, "query")) in SUMS:
            self.place_of_sums = last
        if "rate" in self.column:
            self.unit = share_unit(self.table, self.column["rate"], percent=self.frame.policies.percent)
            if self.unit != 1:
                self.notes.append(f"{self.column['rate']!r} was read as percentages.")
        if "votes" in self.column:
            self.separator = separator_of(
                self.cells["votes"],
                self.column["votes"],
                self.can_read,
                declared=self.frame.policies.separator,
                decimal_comma=self.table.decimal_comma,
            )
            if self.separator:
                self.notes.append(f"Cells of {self.column['votes']!r} were split at {self.separator!r}.")

    def without_missing(self, column: str, cells: list[Any]) -> list[Any]:
        """Return the cells with None for each text that states a missing value; these are counted."""
        texts = Counter(cell for cell in cells if isinstance(cell, str))
        missing = dict.fromkeys(text for text in texts if self.frame.words.is_missing(text))
        for text in missing:
            self.words[
                column,
                text,
                "missing",
                "declared" if plain_word(text) in map(plain_word, self.frame.words.missing_word) else "listed",
            ] += texts[text]
        if not missing:
            return cells
        return [None if isinstance(cell, str) and cell in missing else cell for cell in cells]

    def names(self, column: str, cells: list[Any]) -> list[Any]:
        """Return the names in a column. Where all are whole numbers, `7.0` of a column with empty cells is `7`.

        Raises DataError: a spreadsheet program has cut the digits of a long number.
        """
        texts = {cell for cell in cells if isinstance(cell, str)}
        cut: list[str | int] = [text for text in sorted(texts) if CUT_NUMBER.fullmatch(text)]
        if self.table.format == "Excel":
            cut += [cell for cell in cells if isinstance(cell, int) and abs(cell) >= MOST_KEPT]
        if cut:
            self.table.row(cells.index(cut[0])).refuse(
                f"{column!r} is {cut[0]}: a spreadsheet program has cut a long number; save the column as text"
            )
        stated = {text for text in texts if not self.frame.words.is_missing(text)}
        if not any(text.endswith(".0") for text in stated) or not all(id_key(text).isdecimal() for text in stated):
            return cells
        return [id_key(cell) if isinstance(cell, str) else cell for cell in cells]

    def can_read(self, part: str) -> bool:
        """Return whether a text can be one rating."""
        scale = self.frame.scale
        if scale is not None:
            number = number_of(part, decimal_comma=self.table.decimal_comma, high=scale.high)
            if number is not None and scale.low <= number <= scale.high:
                return True
        if not part or self.frame.words.is_missing(part):
            return bool(part)
        try:
            return self.frame.words.read(part, self.column["votes"]) is not None
        except ConfigurationError:
            return True  # a boolean is one rating, whatever it means

    # The benchmark that the rows make.

    def benchmark(self, about: About | None = None) -> Benchmark:
        """Return the benchmark of all rows.

        Raises DataError: a row cannot be read, or rows contradict each other. ConfigurationError: something would have to be
        guessed.
        """
        self.prepare()
        draft_of_row = self.take_all()
        self.find_varying(draft_of_row)
        self.join_pairs()
        items = tuple(self.item(draft) for draft in self.drafts.values())
        if not items:
            first = self.rejected[0] if self.rejected else None
            raise DataError(
                self.path,
                first.line if first else None,
                f"no row can be used; {first.problem if first else 'none has a verdict'}",
            )
        categories = [query.category for query in self.queries.values()]
        categories += [item.category for item in items if item.category is not None]
        about = about or About(name=self.path.stem, scale=self.frame.scale)
        try:
            return Benchmark(
                about.model_copy(
                    update={
                        "source": about.source or f"imported from {self.path.name}",
                        "remarks": (*(about.remarks or ()), *self.remarks()) or None,
                        "receipt": self.receipt(),
                    }
                ),
                tuple(self.queries.values()),
                tuple(self.contexts.values()),
                items,
                self.ratings.columns(),
                taxonomy=self.frame.taxonomy or taxonomy_of(about.name, categories),
                parameters=self.frame.parameters or parameters_of(about.name, self.contexts.values()),
                annotators=tuple(
                    Annotator(id=annotator, traits=traits) for annotator, (traits, _) in self.traits.items() if traits
                ),
            )
        except BenchmarkError as error:
            raise DataError(self.path, None, str(error)) from error

    def take_all(self) -> list[Draft | None]:
        """Add every row; return the item of each."""
        of_case = ("query", "reply", "before", "tool_call", "context", "judged", "intended")
        identity = [self.cells[part] for part in of_case if part in self.cells]
        identity += [self.table.columns[name] for name in self.columns.parameters]
        keys = zip(*map(hashable, identity), strict=True)
        compared = [self.cells[part] for part in COMPARED if part in self.cells]
        rows = zip(*compared, strict=True) if compared else iter(lambda: (), None)
        annotators: Iterable[Any] = self.cells.get("annotator") or [None] * len(self.table)
        draft_of_row: list[Draft | None] = []
        skip = self.frame.policies.skip_bad
        take = self.take
        for place, (key, parts_of_row, annotator) in enumerate(zip(keys, rows, annotators, strict=False)):
            try:
                draft_of_row.append(take(place, key, parts_of_row, annotator))
            except RowWithoutVerdict as reason:
                self.dropped.append((str(reason), place))
                draft_of_row.append(None)
            except (DataError, ValidationError) as error:
                problem = error.problem if isinstance(error, DataError) else first_problem(error)
                if not skip or isinstance(error, Contradiction):
                    if isinstance(error, DataError):
                        raise
                    self.table.row(place).refuse(problem)
                self.rejected.append(rejected_row(self.table, place, problem))
                draft_of_row.append(None)
        return draft_of_row

    def take(self, place: int, key: Hashable, compared: tuple[Any, ...], annotator: Any) -> Draft | None:
        """Add a row: its item, its ratings, and its annotator's traits. Return its item; None if it was merged."""
        listed_votes = "votes" in self.column
        if annotator is not None and not isinstance(annotator, str):
            annotator = None if listed_votes else self.table.row(place).name(self.column["annotator"])
        annotator_key = None if listed_votes else annotator
        draft, repeat = self.drafts.get(key), None
        if draft is not None and annotator_key in draft.raters:
            policy = self.frame.policies.repeats
            if policy == "keep":
                first, number = key, 1
                key = (first, number)
                while (draft := self.drafts.get(key)) is not None and annotator_key in draft.raters:
                    number += 1
                    key = (first, number)
                repeat = number
            else:
                self.settle_repeat(place, draft.raters[annotator_key], annotator_key, policy)
                return None
        new = draft is None
        if draft is None:
            draft = self.make(place, compared, repeat=repeat)
        elif compared != draft.compared:
            self.refuse_contradiction(place, draft)
        ratings = self.rated(place, annotator_key)
        if annotator_key is not None:
            self.take_traits(place, annotator_key)
        draft.raters[annotator_key] = place
        if new:
            self.drafts[key] = draft
            if (made := draft.made) is not None:
                self.queries.setdefault(made.query.id, made.query)
                if made.context is not None:
                    self.contexts[made.context.id] = made.context
        add, item_id = self.ratings.add, draft.id
        for rating in ratings:
            add(item_id, *rating)
        return draft

    def settle_repeat(self, place: int, before: int, annotator_key: str | None, policy: Repeats) -> None:
        """Merge a row with the one that says the same, or leave it out. Raises DataError: the policy refuses that."""
        row, line = self.table.row(place), self.table.lines[before]
        repeat_words = (
            f"{annotator_key!r} rated this case on line {line}; each annotator rates a case once"
            if annotator_key is not None
            else f"the same query and context as line {line}; each case stands once, unless a column says who rated (--annotator)"
        )
        if policy == "refuse":
            row.refuse(f"{repeat_words}. To import it anyway: --repeats merge, first or keep", Contradiction)
        if policy == "first":
            self.dropped.append(("the case, or the rating of it, stands on an earlier line", place))
            return
        id_column = self.column.get("id")
        differing = [
            name for name, cells in self.table.columns.items() if name != id_column and cells[place] != cells[before]
        ]
        if differing:
            row.refuse(
                f"{repeat_words}, and {differing[0]!r} differs, so that they cannot be merged; --repeats first takes the first, and "
                "--repeats keep both",
                Contradiction,
            )
        self.merged.append(place)

    def make(self, place: int, compared: tuple[Any, ...], *, repeat: int | None = None) -> Draft:
        """Return the item that a row is the first of."""
        row = self.table.row(place)
        system, query = self.query(row, place)
        context = self.context(row, place, query, system)
        category = query.category if "category" not in self.column else self.category(row, place)
        rate = self.share(place)
        updates: dict[str, Any] = {
            "category": None if category == query.category else category,
            "cluster": self.name(row, place, "cluster"),
            "source_id": self.name(row, place, "id"),
            "mean": self.on_scale(place, "mean", self.cell(place, "mean")),
            "published_rate": rate,
        }
        if (pair := self.name(row, place, "pair")) is not None:
            updates["pair_id"] = content_id("p", {"pair": pair})
        if context is None:
            item = Item(query_id=query.id, condition=NO_CONTEXT_CONDITION, repeat=repeat)
        else:
            item = Item(
                query_id=query.id,
                context_id=context.id,
                condition=condition_of(context),
                pair_id=context.pair_id,
                repeat=repeat,
            )
        return Draft(item.id, place, compared, CaseRecords(item.model_copy(update=updates), query, context))

    # The parts of a row.

    def cell(self, place: int, part: str) -> Any:
        """Return the cell with a part of a case; None where it is empty, or there is no such column."""
        cells = self.cells.get(part)
        return None if cells is None else cells[place]

    def refuse(self, place: int, part: str, problem: str, cell: Any = None) -> NoReturn:
        cell = self.table.columns[self.column[part]][place] if cell is None else cell
        self.table.row(place).refuse(f"{self.column[part]!r} is {cell_text(cell)}{problem}")

    def name(self, row: Entry, place: int, part: str) -> str | None:
        return None if self.cell(place, part) is None else row.name(self.column[part])

    def query(self, row: Entry, place: int) -> tuple[str | None, Query]:
        """Return the query of a row, and the system message of its chat if that is no turn of the conversation."""
        judged = self.reply_words or self.cell(place, "judged") or "request"
        cell = structured(self.cell(place, "query"))
        before = self.before(place)
        system, called = None, self.called(row, place, judged, cell)
        if called is not None:
            before, text = [*(before or ()), *called.before], self.action_words.render(called.action)
            if isinstance(cell, str):
                text = row.text(self.column["query"]).strip()
            if not self.frame.policies.keep_secrets:
                before, text = self.mask.turns(before), self.mask.text(text)
        elif (turns := turns_of(cell)) is not None:
            if "context" not in self.column:
                system, turns = system_apart(turns)
            turns = [*(before or ()), *turns]
            if "reply" not in self.column:
                turns = self.until_judged(row, turns, judged)
                if not turns:
                    self.refuse(place, "query", f"; the chat has no {'reply' if judged == 'reply' else 'user message'}")
                *turns, last = turns
                text, before = last["text"], turns
            else:
                text, before = row.text(self.column["reply"]).strip(), turns
        elif "reply" in self.column:
            text = row.text(self.column["reply"]).strip()
            before = [*(before or ()), {"role": "user", "text": row.text(self.column["query"]).strip()}]
        else:
            text = row.text(self.column["query"]).strip()
        query = Query(
            text=text,
            judged=judged,
            before=before or None,
            action=None if called is None else called.action,
            category=self.category(row, place, called),
            source=self.path.name,
        )
        return system, self.queries.get(query.id, query)

    def called(self, row: Entry, place: int, judged: str, chat: Any) -> ActionWithTurns | None:
        """Return the action that a row is about: of its own cell, or the last call of a tool in its chat; None where there is none."""
        if judged != "action":
            return None
        cell = structured(self.cell(place, "tool_call"))
        calls = [ToolCall(cell, [])] if cell is not None else calls_in(chat)
        if not calls:
            return None
        last, before = calls[-1].stated, calls[-1].before
        try:
            return ActionWithTurns(
                action_of(last if self.frame.policies.keep_secrets else self.mask.value(last)), before
            )
        except ValueError as error:
            row.refuse(f"the call of a tool: {error}")

    def until_judged(self, row: Entry, turns: list[dict[str, str]], judged: str) -> list[dict[str, str]]:
        """Return a chat up to what is judged: its last reply, or its last user message."""
        role = "assistant" if judged == "reply" else "user"
        end = len(turns)
        while end and turns[end - 1]["role"] != role:
            end -= 1
        if end < len(turns) and self.reply_words is None and "judged" not in self.column:
            raise ConfigurationError(
                f"the chat in {self.column['query']!r} on line {row.line} ends with a reply; say what the labels are about: "
                "--judged request or --judged reply"
            )
        return turns[:end]

    def before(self, place: int) -> Any:
        """Return the conversation before what is judged, for `Query` to check; a text that is no list is one turn."""
        cell = structured(self.cell(place, "before"))
        if isinstance(cell, str):
            return [{"role": CONVERSATION, "text": cell}]
        return turns_of(cell) or cell or None

    def category(self, row: Entry, place: int, called: ActionWithTurns | None = None) -> str:
        category = self.name(row, place, "category")
        if category is None:
            return UNCATEGORISED if called is None else called.action.tool
        taxonomy = self.frame.taxonomy or sorry_bench()
        resolved = taxonomy.resolve(category)
        if resolved is None and self.frame.taxonomy is not None:
            row.refuse(f"{taxonomy.name!r} has no category {category!r}; it has {', '.join(taxonomy.names)}")
        return resolved.name if resolved else category

    def context(self, row: Entry, place: int, query: Query, system: str | None) -> Context | None:
        groups: dict[str, Any] = {}
        whole = structured(self.cell(place, "context"))
        whole = system if whole is None else whole
        group, _, parameter = self.columns.context_as.partition(".")
        if isinstance(whole, Mapping):
            whole = {name: part for name, value in whole.items() if not is_empty(part := without_empties(value))}
            in_groups = all(isinstance(value, Mapping) or name in OPTIONAL for name, value in whole.items())
            groups |= whole if in_groups else {group: whole}
        elif whole is not None:
            groups[group] = {parameter or "description": plain(whole)}
        for column, name in self.columns.parameters.items():
            if (cell := self.table.columns[column][place]) is not None:
                cell, (above, _, below) = plain(cell), name.partition(".")
                groups[above] = {**groups.get(above, {}), below: cell} if below else cell
        intended_safe = self.intended(place)
        if not groups:
            return None
        context = Context.from_groups(groups, query_id=query.id, intended_safe=intended_safe, origin="imported")
        if self.frame.parameters and (problem := self.frame.parameters.problem(context)):
            row.refuse(problem)
        return context

    def intended(self, place: int) -> bool | None:
        cell = self.cell(place, "intended")
        if cell is None:
            return None
        column = self.column["intended"]
        intent = self.verdict_in(place, column, cell, name="is_safe" if column in INTENT_SAYS_SAFE else column)
        if intent not in ("safe", "unsafe"):
            self.refuse(place, "intended", "; an intent is safe or unsafe")
        return intent == "safe"

    # The ratings of a row.

    def rated(self, place: int, annotator_key: str | None) -> list[One]:
        """Return the ratings that a row holds."""
        if place == self.place_of_sums:
            self.refuse(place, "query", ", as the sums below a table are called; remove that row, or give --skip-bad")
        if self.raters:
            return self.rated_by_columns(place)
        if "votes" in self.column:
            return self.rated_by_list(place)
        if "annotator" in self.column:
            vote, value = self.own_vote(place, annotator_key), self.on_scale(place, "value", self.cell(place, "value"))
            if vote is None and value is None:
                self.n_blank += annotator_key is not None
                return []
            if annotator_key is None:
                self.refuse(place, "annotator", "; say who gave this rating")
            return [(annotator_key, vote, value)]
        if "n_safe" in self.column:
            return self.counted(place, *self.counts(place))
        if "rate" in self.column and ("n_votes" in self.column or "n_unsafe" in self.column):
            return self.counted_share(place)
        vote, value = self.own_vote(place, "one"), self.on_scale(place, "value", self.cell(place, "value"))
        return [] if vote is None and value is None else [(0, vote, value)]

    def rated_by_columns(self, place: int) -> list[One]:
        ratings: list[One] = []
        for column, person in self.raters.items():
            cell = self.or_unsure(self.table.columns[column][place])
            if self.frame.words.is_missing(cell):
                continue
            vote, value = self.vote_or_value(place, column, cell)
            ratings.append((person, vote, value))
        return ratings

    def rated_by_list(self, place: int) -> list[One]:
        cell = structured(self.cell(place, "votes"))
        if cell is None:
            return []
        words = cell if isinstance(cell, list) else parts(str(cell), self.separator)
        people: list[Any] = []
        if "annotator" in self.column and (names := self.cell(place, "annotator")) is not None:
            listed_names = structured(names)
            people = listed_names if isinstance(listed_names, list) else list(parts(str(names), self.separator))
            if len(people) != len(words):
                self.refuse(
                    place,
                    "annotator",
                    f"; it names {count_of(len(people), 'person')} for {count_of(len(words), 'vote')}",
                )
            if len(set(map(name_text, people))) != len(people):
                self.refuse(place, "annotator", "; it names a person twice")
        ratings: list[One] = []
        for position, word in enumerate(map(self.or_unsure, words)):
            if self.frame.words.is_missing(word) or (word == "" and "" not in self.frame.words.unsure_word):
                continue
            vote, value = self.vote_or_value(place, self.column["votes"], word)
            ratings.append((name_text(people[position]) if people else position, vote, value))
        return ratings

    def vote_or_value(self, place: int, column: str, word: Any) -> tuple[Vote | None, float | None]:
        """Return a cell as a number on the scale if there is one and the word is no vote, else as a vote."""
        scale = self.frame.scale
        number = None
        if scale is not None and plain_word(word) not in self.frame.words.declared:
            number = number_of(word, decimal_comma=self.table.decimal_comma, high=scale.high)
        if number is None:
            return self.vote_in(place, column, word), None
        return None, self.checked_on_scale(place, column, word, number)

    def own_vote(self, place: int, annotator_key: str | None) -> Vote | None:
        """Return the vote of a row's one person; with an empty unsure word, an empty cell is one."""
        for part in ("vote", "label"):
            if (word := self.cell(place, part)) is not None:
                return self.vote_in(place, self.column[part], word)
        column = next((self.column[part] for part in ("vote", "label", "value") if part in self.column), None)
        if annotator_key is None or column is None or self.or_unsure(self.table.columns[column][place]) != "":
            return None
        return self.vote_in(place, column, "")

    def or_unsure(self, cell: Any) -> Any:
        """Return a cell; an empty one as the empty word, where that is declared as unsure."""
        return "" if cell in (None, "") and "" in self.frame.words.unsure_word else cell

    def vote_in(self, place: int, column: str, word: Any) -> Vote:
        """Return the vote that a word of a column states. Raises NotThisRow: the case has none by its nature."""
        vote = self.verdict_in(place, column, word)
        if vote == "not applicable":
            raise RowWithoutVerdict(f"{column!r} is not applicable")
        return vote

    def verdict_in(self, place: int, column: str, word: Any, *, name: str | None = None) -> Vote | NotApplicable:
        word = structured(word)
        if isinstance(word, list) and len(word) == 1:
            word = word[0]
        shown = word if isinstance(word, str) else cell_text(word)
        reading = self.readings.get((column, shown))
        if reading is None:
            reading = None if isinstance(word, (list, dict)) else self.frame.words.read(word, name or column)
            if reading is None:
                self.table.row(place).refuse(
                    f"{column!r} is {cell_text(word)}, and no option says whether that is safe; name the words with "
                    f"{self.frame.words.options}{', or the character between ratings with --separator' * (column == self.column.get('votes'))}"
                )
            self.readings[column, shown] = reading
        vote, how = reading
        self.words[column, shown, vote, how] += 1
        return vote

    def on_scale(self, place: int, part: str, value: Any) -> float | None:
        """Return the number on the scale in the cell of a part, or None where it is empty."""
        if value is None:
            return None
        column = self.column[part]
        number = number_of(
            value, decimal_comma=self.table.decimal_comma, high=self.frame.scale.high if self.frame.scale else None
        )
        return self.checked_on_scale(place, column, value, number)

    def checked_on_scale(self, place: int, column: str, cell: Any, number: float | None) -> float:
        scale = self.frame.scale
        if scale is None:
            raise ConfigurationError(
                f"{column!r} holds ratings on a scale; say which with --scale-low and --scale-high"
            )
        if number is None or not scale.low <= number <= scale.high:
            self.table.row(place).refuse(
                f"{column!r} is {cell_text(cell)}, not a number from {scale.low:g} to {scale.high:g}"
            )
        return number

    def share(self, place: int) -> float | None:
        """Return the share of safe votes that a row states."""
        cell = self.cell(place, "rate")
        if cell is None:
            return None
        text = cell.removesuffix("%").strip() if isinstance(cell, str) else cell
        number = number_of(text, decimal_comma=self.table.decimal_comma)
        if number is None or not 0 <= number <= self.unit:
            self.refuse(place, "rate", f", not a number from 0 to {self.unit:g}")
        return number / self.unit

    def count(self, place: int, part: str) -> int:
        cell = self.cell(place, part)
        if cell is None:
            self.table.row(place).refuse(f"{self.column[part]!r} is empty; give a number of votes")
        number = number_of(cell, decimal_comma=self.table.decimal_comma)
        if number is None or not 0 <= number <= MOST_VOTES:
            self.refuse(place, part, f", not a number from 0 to {MOST_VOTES}")
        if number != int(number):
            self.refuse(place, part, ", not a whole number")
        return int(number)

    def counts(self, place: int) -> tuple[int, int]:
        """Return the numbers of safe and of unsafe votes."""
        safe = self.count(place, "n_safe")
        unsafe = self.count(place, "n_unsafe") if "n_unsafe" in self.column else self.count(place, "n_votes") - safe
        if unsafe < 0:
            self.table.row(place).refuse(f"{safe} of {count_of(safe + unsafe, 'vote')} cannot be safe")
        return safe, unsafe

    def counted(self, place: int, safe: int, unsafe: int) -> list[One]:
        unsure = self.count(place, "n_unsure") if "n_unsure" in self.column else 0
        counts: dict[Vote, int] = {"safe": safe, "unsafe": unsafe, "unsure": unsure}
        votes = (vote for vote, n in counts.items() for _ in range(n))
        return [(position, vote, None) for position, vote in enumerate(votes)]

    def counted_share(self, place: int) -> list[One]:
        """Return the votes that a share of a number of votes is. Raises DataError: it is no whole number, or could be several."""
        share = self.share(place)
        if share is None or "n_votes" not in self.column:
            return []
        n = self.count(place, "n_votes")
        text = str(self.cell(place, "rate")).removesuffix("%").strip().replace(",", ".")
        digits = len(text.partition(".")[2])
        rounding = 0.5 * 10**-digits / self.unit * n + 1e-9
        safe = round(share * n)
        if abs(share * n - safe) > 1e-9:  # a rounded share
            fitting = range(math.ceil(share * n - rounding), math.floor(share * n + rounding) + 1)
            if len(fitting) != 1:
                reason = f"could be {fitting[0]} to {fitting[-1]} of them" if fitting else "is no whole number of them"
                self.refuse(
                    place,
                    "rate",
                    f" of {count_of(n, 'vote')}, which {reason}; --n-votes '' takes shares without numbers of votes",
                )
            safe = fitting[0]
        return self.counted(place, safe, n - safe)

    # Traits, and what differs among the rows of a case.

    def take_traits(self, place: int, annotator: str) -> None:
        """Keep the traits of an annotator. Raises DataError: an earlier row says otherwise."""
        if not self.traits_by_column:
            return
        missing = self.frame.words.is_missing
        traits = {
            name: plain(cell)
            for column, name in self.traits_by_column.items()
            if not missing(cell := self.table.columns[column][place])
        }
        earlier, first = self.traits.setdefault(annotator, (traits, place))
        if earlier == traits:
            return
        for name, trait in traits.items():
            if (before := earlier.setdefault(name, trait)) != trait:
                self.table.row(place).refuse(
                    f"the trait {name!r} of {annotator!r} is {cell_text(trait)} here and {cell_text(before)} on line "
                    f"{self.table.lines[first]}",
                    Contradiction,
                )

    def refuse_contradiction(self, place: int, draft: Draft) -> None:
        """Refuse a row that says something else of its case than the first one did."""
        for part in COMPARED:
            if (now := self.cell(place, part)) != (before := self.cell(draft.first, part)):
                self.table.row(place).refuse(
                    f"{self.column[part]!r} is {cell_text(now)} here and {cell_text(before)} on line "
                    f"{self.table.lines[draft.first]}, and both are of one case: a case has one (name another column, or none "
                    "with '')",
                    Contradiction,
                )

    def find_varying(self, draft_of_row: list[Draft | None]) -> None:
        """Find the columns that differ among the rows of a case: these are of ratings and not of the case."""
        if len(self.drafts) == len(draft_of_row):
            return
        for name in self.other_columns:
            cells = self.table.columns[name]
            for cell, draft in zip(cells, draft_of_row, strict=False):
                if draft is not None and cell is not (first := cells[draft.first]) and cell != first:
                    self.varying[name] = None
                    break

    def join_pairs(self) -> None:
        """Make a cluster of each pair or group over several queries, where no column says which cases belong together."""
        if "pair" not in self.column or "cluster" in self.column:
            return
        groups: dict[str, list[Draft]] = {}
        for draft in self.drafts.values():
            if draft.records.item.pair_id is not None and self.cell(draft.first, "pair") is not None:
                groups.setdefault(draft.records.item.pair_id, []).append(draft)
        for pair, drafts in groups.items():
            if len({draft.records.item.query_id for draft in drafts}) > 1:
                for draft in drafts:
                    draft.records.item = draft.records.item.model_copy(update={"cluster": pair})

    def item(self, draft: Draft) -> Item:
        """Return the finished item."""
        row = self.table.row(draft.first)
        names = [name for name in self.other_columns if row.has(name) and name not in self.varying]
        columns = {name: kept(row.values[name]) for name in names}
        try:
            return (
                Item.model_validate(draft.records.item.as_json() | {"columns": columns})
                if columns
                else draft.records.item
            )
        except ValidationError as error:
            row.refuse(first_problem(error))

    def decided(self, draft: Draft) -> bool:
        """Return whether somebody decided the case: it has a rating, a share or a mean."""
        return draft.id in self.ratings.items or any(
            self.cell(draft.first, part) is not None for part in ("rate", "mean")
        )

    # What is told of the import.

    def receipt(self) -> Receipt:
        """Return how each column and word was read, and what became of the rows."""
        dropped = [*grouped_rows(self.dropped, self.table)]
        if self.rejected:
            first = self.rejected[0]
            dropped.append(
                MergedRows(
                    reason="could not be read", n=len(self.rejected), first_line=first.line, first=f"({first.problem})"
                )
            )
        left_out = [MergedRows(reason=reason, n=n) for reason, n in self.table.left_out.items()]
        merged = [("says the same as an earlier row", place) for place in self.merged]
        n_rows = len(self.table) + len(self.table.rejected) + sum(self.table.left_out.values())
        if (masked := self.mask.sentence()) is not None:
            self.notes.append(masked)
        silent = [draft for draft in self.drafts.values() if not self.decided(draft)]
        if 0 < len(silent) < len(self.drafts):  # that none has one is a remark on the file
            lines = f"; the first is on line {line}" if (line := self.table.lines[silent[0].first]) else ""
            self.notes.append(f"{count_of(len(silent), 'case has')} no label{lines}. They count in no number.")
        if self.n_blank:
            self.notes.append(f"Without a rating, though an annotator is named: {count_of(self.n_blank, 'row')}.")
        declared = self.declared
        varies = "left out: differs among the ratings of a case"
        columns = [
            *(
                (name, part.replace("_", " "), getattr(declared, part, None) == name)
                for part, name in self.column.items()
            ),
            *(
                (name, f"context parameter {part}", name in declared.parameters)
                for name, part in self.columns.parameters.items()
            ),
            *((name, f"trait {trait}", name in declared.trait) for name, trait in self.traits_by_column.items()),
            *((name, f"votes of {person}", True) for name, person in self.raters.items()),
            *((name, varies if name in self.varying else "kept with the case", True) for name in self.other_columns),
        ]
        return Receipt(
            file=self.path.name,
            format=self.table.format or "table",
            n_rows=n_rows,
            n_kept=n_rows
            - len(self.dropped)
            - len(self.rejected)
            - len(self.merged)
            - sum(self.table.left_out.values()),
            columns=tuple(ColumnRead(column=name, role=role, declared=said) for name, role, said in columns),
            words=tuple(
                WordRead(column=column, word=word, read_as=reading, how=how, n=n)
                for (column, word, reading, how), n in self.words.items()
            ),
            merged=tuple(grouped_rows(merged, self.table)),
            dropped=(*left_out, *dropped),
            notes=tuple(self.notes),
        )

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
        elif not (DECIDED & set(column) or self.raters):
            yield "Your file states no labels. Ask people (casewise study init), or import labels with --ratings."
        elif (
            not self.raters
            and not {"votes", "n_safe", "annotator"} & set(column)
            and not {"rate", "n_votes"} <= set(column)
        ):
            labels = (
                "one label per case"
                if {"label", "vote", "value"} & set(column)
                else "shares without numbers of votes"
                if "rate" in column
                else "means without single ratings"
            )
            yield f"Your file has {labels}, so casewise cannot say how much people disagree or what the best possible score is."
        if not self.contexts and not any(query.before for query in self.queries.values()):
            yield "Your file states no contexts, so every query is judged alone."
        elif self.contexts and "intended" not in column:
            yield "Your file states no intents, so reports have no pairs and no comparison with the author's intent."
        if "category" not in column and {query.category for query in self.queries.values()} == {UNCATEGORISED}:
            yield "Your file states no categories, so all cases are in one category."


def grouped_rows(rows: Iterable[tuple[str, int]], table: Table) -> Iterator[MergedRows]:
    """Yield rows by the reason that they share, with the first of each."""
    by_reason: dict[str, list[int]] = {}
    for reason, place in rows:
        by_reason.setdefault(reason, []).append(place)
    for reason, places in by_reason.items():
        first = next((cells[places[0]] for cells in table.columns.values() if cells[places[0]] is not None), None)
        yield MergedRows(reason=reason, n=len(places), first_line=table.lines[places[0]], first=f"({cell_text(first)})")


def hashable(cells: list[Any]) -> Iterable[Hashable]:
    """Return the cells of a column as keys: texts as they are, lists and objects as their JSON."""
    if all(isinstance(cell, str) or cell is None for cell in cells):
        return cells
    return [
        cell if cell.__hash__ is not None and not isinstance(cell, float) else canonical_json(plain(cell))
        for cell in cells
    ]


def rejected_row(table: Table, place: int, problem: str) -> Rejected:
    """Return a row that cannot be used, with the reason and its cells."""
    return Rejected(table.lines[place], problem, plain(table.row(place).values))


def plain(cell: Any) -> Any:
    """Return a cell as a record may state it: a date or a number of another library as its text."""
    if isinstance(cell, Mapping):
        return {str(name): plain(part) for name, part in cell.items()}
    if isinstance(cell, (list, tuple)):
        return [plain(part) for part in cell]
    return cell if cell is None or type(cell) in (str, bool, int, float) else str(cell)


def is_empty(value: Any) -> bool:
    """Return whether a part of an object states nothing: null, no number, or an empty text, list or object."""
    if isinstance(value, str):
        return not value.strip()
    return value is None or value in ([], {}) or (isinstance(value, float) and math.isnan(value))


def without_empties(value: Any) -> Any:
    """Return a group without the parameters that are empty: these are absent."""
    return {name: part for name, part in value.items() if not is_empty(part)} if isinstance(value, Mapping) else value


def kept(cell: Any) -> Any:
    """Return a cell as an item keeps it: what is empty within it is null."""
    if isinstance(cell, Mapping):
        return {str(name): None if is_empty(part) else kept(part) for name, part in cell.items()}
    if isinstance(cell, (list, tuple)):
        return [None if is_empty(part) else kept(part) for part in cell]
    return plain(cell)


def cell_text(cell: Any) -> str:
    """Return a cell as a message shows it."""
    return "empty" if cell is None else shortened_json(cell)


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
    names_by_context = [set(context.texts()) for context in every_context]
    ordered = dict.fromkeys(
        dotted_name for context in every_context for dotted_name in context.texts() if dotted_name not in OPTIONAL
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
        raise ConfigurationError(f"the parameters of the contexts: {first_problem(error)}") from error


def of_rows(
    rows: Iterable[Mapping[str, Any] | Entry],
    about: About,
    *,
    source: Path | str,
    taxonomy: Taxonomy | None = None,
    parameters: ParameterSet | None = None,
    policies: Policies = Policies(),
) -> Benchmark:
    """Return the benchmark that rows of the one shape make; every way in ends here.

    A row has any of: `id`, `query`, `judged`, `before` (a text, or turns with `role` and `text`), `context` (a mapping of
    groups, or a text), `category`, `cluster`, `pair`, `intended` (true is safe), `annotator`, `vote` (safe, unsafe or
    unsure), `value` (on the scale), `label`, `votes` (a list of words, or of numbers on the scale), `n_safe`, `n_unsafe`,
    `n_unsure`, `rate`, `mean` and `trait.NAME`. What else it has is kept in the item's columns, where it is the same in
    every row of the item. Rows with one query, `before` and context are ratings of one item, and then each names its
    annotator.

    `about`: what the benchmark says of itself, with the scale of its values and who made the labels.
    `source`: the file that errors name, with the row's number from 1, or the line of an `Entry`.

    Raises DataError: a row cannot be read, or rows contradict each other.
    """
    path = Path(source)
    table = table_of(
        path,
        (row if isinstance(row, Entry) else Entry(path, number, row) for number, row in enumerate(rows, 1)),
    )
    frame = CaseFrame(taxonomy, parameters, VerdictWords(true_means="safe"), about.scale, policies)
    return Cases(table, CaseColumns.of_rows(table.names), frame).benchmark(about)
