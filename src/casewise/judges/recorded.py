"""Recorded judges: the answers of a run, a table of verdicts, a log of Inspect or a published output file."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from casewise.ask.elicitations import all_elicitations, names_read, read_outcome
from casewise.ask.reader import LONGEST_DETAIL
from casewise.errors import ConfigurationError, DataError, JudgeError, did_you_mean
from casewise.judges.judge import Answer, Ask, Judge, unscored_answer
from casewise.models.protocol import Reply
from casewise.models.wire import MOST_TOKENS
from casewise.records import FULL, Arm, Elicitation, Item, Scored, UnscoredReason, Verdict, elicitation_names, scale_of
from casewise.records.base import digest
from casewise.stats.sample import filled_in_test
from casewise.storage.benchmark import Benchmark
from casewise.storage.entries import Entry, id_key, number_of, text_or_json
from casewise.storage.files import read_text, shortened_json
from casewise.storage.intake.chats import turns_of
from casewise.storage.intake.formats.find import read_any_table
from casewise.storage.intake.formats.format import FileOptions
from casewise.storage.intake.table import Table, structured
from casewise.storage.published import PublishedOutput, item_ids, read_output
from casewise.storage.run_folder import JUDGEMENT_LOG, JUDGEMENTS, last_records, read_run
from casewise.storage.words import VerdictWords, plain_word
from casewise.text import count_of

Key = tuple[str | int, ...]
"""Item id, elicitation, arm, repeat."""

WORDS = {"safe": 1.0, "unsafe": 0.0}

IDS = ("item_id", "id", "case_id", "source_id")
"""Columns that name the item of a row, the first that is filled counting."""

HIGH = "high"
"""The word of `recorded:FILE#COLUMN,high=VERDICT` for high numbers."""

FINISH_REASONS = {
    "max_tokens": "length",
    "length": "length",
    "max_output_tokens": "length",
    "content_filter": "content_filter",
}
"""The ends of replies that Inspect, OpenAI and Anthropic record, other than the usual one."""


class RecordedJudge(Judge):
    """A judge that gives recorded answers; an item without one is unscored."""

    def __init__(
        self, name: str, answers: Mapping[Key, Answer], *, source: dict[str, Any], warnings: tuple[str, ...] = ()
    ) -> None:
        self.name, self.answers, self.source, self.warnings = f"recorded:{name}", answers, source, warnings
        self.id = f"{self.name}@{digest(source)[:12]}"
        self.elicitations = tuple(dict.fromkeys(str(key[1]) for key in answers))
        self.arms = tuple(Arm.parse(name) for name in dict.fromkeys(str(key[2]) for key in answers))

    def settings(self) -> dict[str, Any]:
        return self.source

    def notes(self) -> tuple[str, ...]:
        return (f"{self.name.removeprefix('recorded:')}: recorded answers; no judge was called.", *self.warnings)

    def received_input(self, ask: Ask) -> object:
        """Return the item's id, and which transforms of the arm the recorded judge was shown in some arm."""
        shown = {transform.name for arm in self.arms for transform in arm.transforms}
        return ask.item.id, [transform.name for transform in ask.arm.transforms if transform.name in shown]

    async def answer(self, ask: Ask) -> Answer:
        return self.answers.get(ask.key) or unscored_answer(UnscoredReason.NOT_RECORDED)

    @classmethod
    def read(cls, name: str | Path, benchmark: Benchmark, *, elicitation: Elicitation | None = None) -> RecordedJudge:
        """Read the answers in a run folder, a published output file, or a table of any format: FILE, or FILE#COLUMN.

        Raises JudgeError: no item of `benchmark` has an answer there; DataError: the file is none of these.
        """
        given = RecordedFile.parse(str(name))
        path = given.path
        if path.is_dir():
            judge = recorded_run(path)
        elif is_published(path):
            judge = published_output(read_output(path, elicitation=elicitation), benchmark)
        else:
            answers = read_table(given, benchmark, elicitation=elicitation)
            judge = answers_file(path, "?".join([path.stem, *given.where]), answers)
        if benchmark.item.keys().isdisjoint(key[0] for key in judge.answers):
            raise JudgeError(f"{path} has no answer to any item of {benchmark.name!r}: it is about another benchmark")
        return judge


def is_published(path: Path) -> bool:
    """Return whether a file is an output of the paper's release: a JSON array whose rows state the author's intent."""
    return path.suffix.lower() == ".json" and path.is_file() and '"context_intended_to_be_safe"' in read_text(path)


def recorded_run(path: Path) -> RecordedJudge:
    run = read_run(path)
    answers: dict[Key, Answer] = {}
    for judgement in last_records(path / JUDGEMENTS, JUDGEMENT_LOG):
        key = (judgement.item_id, judgement.elicitation, judgement.arm, judgement.repeat)
        values = {name: getattr(judgement, name) for name in ("raw_reply", "model_version", "read_as", "categories")}
        answers[key] = Answer(judgement.outcome, **values)
    return RecordedJudge(run.judge_name, answers, source={"run": digest([[*key] for key in sorted(answers)])})


def answers_file(path: Path, name: str, answers: dict[Key, Answer]) -> RecordedJudge:
    rows = [[*key, answers[key].outcome.model_dump(mode="json")] for key in sorted(answers)]
    return RecordedJudge(name, answers, source={"file": path.name, "answers": digest(rows)})


def published_output(output: PublishedOutput, benchmark: Benchmark) -> RecordedJudge:
    answers: dict[Key, Answer] = {}
    for raw, outcome, item_id in zip(output.raw, output.outcomes, item_ids(output, benchmark), strict=True):
        if item_id is not None:
            key = (item_id, output.elicitation, output.arm.name, 0)
            answers[key] = Answer(outcome, raw_reply=None if raw is None else str(raw))
    rows = [[row.query, row.intended_safe, raw] for row, raw in zip(output.rows, output.raw, strict=True)]
    odd_values = filled_in_test(output.raw, output.safe_rates)
    warnings = (output.misnamed, odd_values.sentence if odd_values is not None and odd_values.suspect else None)
    return RecordedJudge(
        output.judge,
        answers,
        source={"output": output.path.name, "rows": digest(rows)},
        warnings=tuple(f"{output.judge}, {output.path.name}: {warning}." for warning in warnings if warning),
    )


@dataclass(frozen=True)
class VerdictColumn:
    """The column of a table with a judge's answers, and how they are read."""

    name: str | None
    """None where verdicts are read from replies."""
    elicitation: Elicitation
    words: VerdictWords
    ask: str = "recorded:FILE"
    """The way to declare a word, for errors; empty where options of the command declare words."""
    high_means: Verdict = "safe"
    """The verdict on the side of high numbers."""

    @classmethod
    def find(
        cls, table: Table, given: RecordedFile, *, elicitation: Elicitation | None, words: VerdictWords
    ) -> VerdictColumn:
        """Return the column that is given, or else a column with the name of a verdict or a value.

        Raises ConfigurationError: there is no such column, or several could be meant. DataError: none could.
        """
        names, values, column = table.names, value_columns(), given.column
        if column is not None:
            if column not in names:
                raise ConfigurationError(
                    f"{table.path} has no column {column!r}{did_you_mean(column, names)}; there are {', '.join(names)}"
                )
            asked = elicitation or values.get(column, "binary")
            if asked != "binary" and values.get(column) != asked and given.high_means is None:
                write = f"recorded:FILE#{column},{HIGH}=safe or ,{HIGH}=unsafe"
                raise ConfigurationError(
                    f"{column!r} holds numbers, and nothing says what a high one means; write {write}"
                )
            return cls(column, asked, words, high_means=given.high_means or "safe")
        known = [name for name, stated in values.items() if elicitation in (None, stated)]
        candidates = [name for name in known if name in names]
        if len(candidates) > 1:
            raise ConfigurationError(
                f"{table.path} holds {' and '.join(candidates)}; say with --elicit which one is meant"
            )
        if candidates:
            return cls(candidates[0], values[candidates[0]], words)
        if "reply" in names and (elicitation is None or elicitation in names_read()):
            return cls(None, elicitation or "binary", words)
        raise DataError(
            table.path,
            1,
            f"no column is called {', '.join(known)} or reply; there are {', '.join(names)}. Name it: recorded:FILE#COLUMN",
        )

    def answer(self, row: Entry, elicitation: Elicitation | None = None) -> Answer:
        """Return the answer in a row. Raises DataError: its verdict or value cannot be read."""
        asked = elicitation or self.elicitation
        reply, model, error, refusal, stop = (
            row.values.get(name) for name in ("reply", "model", "error", "refusal", "stop_reason")
        )
        values: dict[str, Any] = {
            "raw_reply": None if reply is None else str(reply),
            "model_version": None if model is None else str(model),
            **{
                name: row.whole_in(row.values[name], name, 0, MOST_TOKENS)
                for name in ("input_tokens", "output_tokens")
                if row.values.get(name) is not None
            },
        }
        cell = None if self.name is None else row.values.get(self.name)
        if cell is not None and not self.words.is_missing(cell):
            return Answer(Scored(value=self.value(row, cell, asked)), **values)
        if reply is None and error:
            problem = text_or_json(error)[:LONGEST_DETAIL]
            return replace(unscored_answer(UnscoredReason.JUDGE_FAILED, problem), **values)
        if (reply, refusal, stop) == (None, None, None) or asked not in names_read():
            return replace(unscored_answer(UnscoredReason.NOT_RECORDED), **values)
        text, refused = "" if reply is None else str(reply), None if refusal is None else str(refusal)
        read = read_outcome(asked, Reply(text, finish_reason=FINISH_REASONS.get(str(stop), "stop"), refusal=refused))
        return Answer(read.outcome, read_as=read.read_as, **values)

    def value(self, row: Entry, cell: Any, elicitation: Elicitation) -> float:
        """Return the value in a cell. Raises DataError: it has none."""
        assert self.name is not None
        if elicitation == "binary":
            try:
                reading = self.words.read(cell, self.name)
            except ConfigurationError as error:
                if not self.ask:
                    options = "--judge-true-means safe or --judge-true-means unsafe"
                    raise ConfigurationError(
                        f"{str(error).partition(';')[0]}; give {options}, or {self.words.options}"
                    ) from error
                row.refuse(f"{str(error).partition(';')[0]}; write {self.ask}#{self.name},true=safe or ,true=unsafe")
            if reading is None or reading.vote not in WORDS:
                if not self.ask:
                    row.refuse(
                        f"{self.name!r} is {shortened_json(cell)}, which is no verdict that casewise knows; name the words with {self.words.options}"
                    )
                row.refuse(
                    f"{self.name!r} is {shortened_json(cell)}; it is safe or unsafe. Other words: {self.ask}#{self.name},WORD=safe"
                )
            return WORDS[reading.vote]
        scale = scale_of(elicitation)
        number = number_of(cell)
        if number is None or not scale.contains(number):
            expected = "a number" if math.isinf(scale.high) else f"a number from {scale.low:g} to {scale.high:g}"
            row.refuse(f"{self.name!r} is {shortened_json(cell)}; it is {expected}")
        if self.high_means == "safe":
            return number
        return -number if math.isinf(scale.high) else scale.low + scale.high - number


def value_columns() -> dict[str, Elicitation]:
    """Return the columns of verdicts and values that a table may have, and the elicitation of each."""
    return {elicited.column or name: name for name, elicited in all_elicitations().items()}


@dataclass(frozen=True)
class RecordedFile:
    """A file of answers, and what its name says of the rows, the column and the words that count."""

    path: Path
    column: str | None = None
    words: VerdictWords = field(default_factory=VerdictWords)
    high_means: Verdict | None = None
    where: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> RecordedFile:
        """Return the parts of `FILE?COLUMN=VALUE&…#COLUMN,WORD=VERDICT,…`.

        Raises ConfigurationError: a word has no verdict.
        """
        file, mark, rest = text.rpartition("#")
        if Path(text).exists() or not mark:
            file, rest = text, ""
        file, question, query = (file, "", "") if Path(file).exists() else file.partition("?")
        column, *pairs = rest.split(",")
        words: dict[str, list[str]] = {"safe": [], "unsafe": [], "unsure": []}
        for word, equals, verdict in (pair.partition("=") for pair in pairs):
            if not equals or verdict not in words:
                raise ConfigurationError(f"{word!r} has no verdict; write WORD=safe or WORD=unsafe after the column")
            words[verdict].append(word)
        given = cls(Path(file), column or None, where=tuple(query.split("&")) if question else ())
        if len(pairs) == 1 and plain_word(pairs[0].partition("=")[0]) in ("true", HIGH):
            means: Verdict = "safe" if words["safe"] else "unsafe"
            high = plain_word(pairs[0].partition("=")[0]) == HIGH
            return replace(given, high_means=means) if high else replace(given, words=VerdictWords(true_means=means))
        safe, unsafe, unsure = (tuple(words[vote]) for vote in ("safe", "unsafe", "unsure"))
        return replace(given, words=VerdictWords(safe, unsafe, unsure))


def read_table(
    given: RecordedFile, benchmark: Benchmark, *, elicitation: Elicitation | None = None
) -> dict[Key, Answer]:
    """Return the answers in a table of any format, with a row a judgement.

    A row names its item by its id, by the id in the benchmark's own file, or by query and context. It has one of `verdict`
    (safe or unsafe, or a word that was declared when the benchmark was imported), `score` (1 to 10), `probability` (of safe),
    `value` (any number, the higher the safer) or another package's elicitation, or the column that is named; and, if known, `reply` and `model`. A reply
    without a verdict is read as a judge's reply is. An item that stands in several rows was asked as many times.

    Raises DataError: a cell cannot be read, or an item is not known; the message says where and what there is.
    """
    table, words = read_any_table(given.path, FileOptions(where=given.where)).whole(), given.words
    name = given.column or next((name for name in value_columns() if name in table.names), "")
    if benchmark.about.receipt is not None:
        known = benchmark.about.receipt.known_words(name)
        words = replace(words, also_known=tuple((word, as_vote) for word, as_vote in known.items() if as_vote in WORDS))  # type: ignore[misc]
    verdicts = VerdictColumn.find(table, given, elicitation=elicitation, words=words)
    items = NamedItems(benchmark, table)
    answers: dict[Key, Answer] = {}
    times: Counter[tuple[str, str, str]] = Counter()
    models: dict[tuple[str, str, str], Any] = {}
    for row in table.rows:
        item = items.item_in(row)
        asked: Elicitation = item.elicitation or verdicts.elicitation
        asked_as = (item.id, asked, item.arm)
        model = row.values.get("model")
        if model is not None and (first := models.setdefault(asked_as, model)) != model:
            row.refuse(
                f"the model is {shortened_json(model)} here and {shortened_json(first)} in an earlier row of the same item; keep the rows of one"
            )
        answers[item.id, asked, item.arm, times[asked_as]] = verdicts.answer(row, asked)
        times[asked_as] += 1
    return answers


class NamedItem(NamedTuple):
    """The item of a row, with the elicitation and the arm if the row's id states them."""

    id: str
    elicitation: Elicitation | None
    arm: str


class NamedItems:
    """The items of a benchmark, found by a table's ids or words."""

    def __init__(self, benchmark: Benchmark, table: Table) -> None:
        self.benchmark = benchmark
        receipt = benchmark.about.receipt
        column_of_role = {} if receipt is None else {read.role: read.column for read in receipt.columns}
        self.id_columns = [name for name in dict.fromkeys((*IDS, column_of_role.get("id", ""))) if name in table.names]
        self.query, self.context = (
            next((name for name in (role, column_of_role.get(role, "")) if name in table.names), role)
            for role in ("query", "context")
        )
        """The columns with the query and the context: so called, or as in the benchmark's own file."""
        self.by_query, self.by_context = self.query in table.names, self.context in table.names
        if not self.id_columns and not self.by_query:
            raise DataError(table.path, 1, f"no column is called item_id or query; there are {', '.join(table.names)}")
        self.ids: dict[str, list[Item]] = {}
        self.texts: dict[tuple[str, str], list[Item]] = {}
        for item in benchmark.items:
            self.ids.setdefault(item.id, []).append(item)
            if item.source_id is not None:
                self.ids.setdefault(item.source_id, []).append(item)
            if self.by_query:
                self.texts.setdefault(self.text_of(item), []).append(item)
        for name, items in [*self.ids.items()]:
            self.ids.setdefault(id_key(name), items)

    def text_of(self, item: Item) -> tuple[str, str]:
        """Return the words of an item: its query, and its context where the table has contexts."""
        query = self.benchmark.query[item.query_id]
        context = self.benchmark.context_of(item) if self.by_context else None
        return query.text.strip(), context_texts(context.shown()) if context is not None else ""

    def item_in(self, row: Entry) -> NamedItem:
        """Return the item of a row. Raises DataError: there is none, there are several, or its id and its words are of two."""
        named = next((column for column in self.id_columns if row.has(column)), None)
        first = self.benchmark.items[0]
        if named is None:
            if not self.by_query or not row.has(self.query):
                row.refuse(f"{(self.id_columns or [self.query])[0]!r} is empty")
            return NamedItem(self.by_words(row).id, *stated_asking(row))
        name = row.name(named)
        asked: tuple[Elicitation | None, str] = stated_asking(row)
        items = self.ids.get(name, self.ids.get(id_key(name)))
        if items is None and (parts := name.split("/")) and len(parts) > 1 and parts[0] in self.ids:
            items, asked = self.ids[parts[0]], (parse_elicitation(row, parts[1]), "/".join(parts[2:]) or FULL.name)
        if items is None:
            if self.by_query and row.has(self.query) and self.text_in(row) in self.texts:
                return NamedItem(self.by_words(row).id, *asked)
            own_id = f" or {first.source_id!r}" if first.source_id is not None else ""
            row.refuse(f"{self.benchmark.name!r} has no item {name!r}; its first is {first.id!r}{own_id}")
        if len(items) > 1 and self.by_context and row.has(self.query):
            items = [item for item in self.texts.get(self.text_in(row), ()) if item in items] or items
        if len(items) > 1:
            row.refuse(
                f"{count_of(len(items), 'item has')} the id {name!r}; name the items by item_id ({first.id!r}, …)"
            )
        if self.by_query and isinstance(row.values.get(self.query), str):
            text = self.benchmark.query[items[0].query_id].text.strip()
            if row.values[self.query].strip() != text:
                row.refuse(
                    f"{named!r} is {name!r}, whose query is {shortened_json(text)}, and the row's query is {shortened_json(row.values[self.query])}; "
                    "leave one of the two columns out"
                )
        return NamedItem(items[0].id, *asked)

    def text_in(self, row: Entry) -> tuple[str, str]:
        query, context = structured(row.values.get(self.query)), structured(row.values.get(self.context))
        turns = turns_of(query)
        text = turns[-1]["text"] if turns else str(query)
        return text.strip(), context_texts(context) if self.by_context and context is not None else ""

    def by_words(self, row: Entry) -> Item:
        """Return the item with the query, and the context, of a row."""
        items = self.texts.get(self.text_in(row), [])
        if len(items) == 1:
            return items[0]
        if not items:
            problem = "no item asks that"
        elif self.by_context:
            problem = f"{count_of(len(items), 'item')} ask that in this context"
        else:
            problem = f"{count_of(len(items), 'item')} ask that, each in its own context"
        query, first = str(row.values[self.query])[:60], self.benchmark.items[0]
        return row.refuse(f"{problem}: {query!r}; name the items in a column item_id ({first.id!r}, …)")


def context_texts(context: Any) -> str:
    """Return the texts of a context in their order, whatever their headings."""
    if isinstance(context, Mapping):
        return " ".join(context_texts(part) for part in context.values() if part is not None)
    if isinstance(context, list):
        return " ".join(map(context_texts, context))
    return str(context).strip()


def stated_asking(row: Entry) -> tuple[Elicitation | None, str]:
    """Return the elicitation and the arm that a row states."""
    stated, arm = row.values.get("elicitation"), row.values.get("arm")
    return None if stated is None else parse_elicitation(row, str(stated)), FULL.name if arm is None else str(arm)


def parse_elicitation(row: Entry, name: str) -> Elicitation:
    if name not in elicitation_names():
        row.refuse(f"was asked for {name!r}; there are {', '.join(elicitation_names())}")
    return name
