"""Stored replies of a run, read again without asking the judge: what was not read and why, other readers, a new reading.

A run keeps every reply. `unread_groups` sorts the replies without a verdict by what they look like and says what to do about
each kind. A `Rereader` reads stored replies: the rules of this version, a pattern of the user's, or a second model. `measure`
counts how each agrees with a sample that the user marked. `write_reading` writes a run of its own beside the first, which says
where it comes from; the first is not changed.
"""

from __future__ import annotations

import asyncio
import csv
import hashlib
import io
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import polars as pl

from casewise.ask.elicitations import find_elicitation, read_outcome
from casewise.ask.envelope import unwrapped
from casewise.ask.json_objects import objects_in
from casewise.ask.reader import ReadOutcome, beginning, refuses
from casewise.errors import ConfigurationError, DataError, RunConflict
from casewise.judges.llm import SecondReader
from casewise.models.prices import Spend, metered
from casewise.models.protocol import Reply
from casewise.records import Elicitation, Judgement, Scored, Unscored, UnscoredReason, scale_of
from casewise.runs.limits import Budget, Limits, RunProgress
from casewise.stats.shares import wilson
from casewise.storage.files import read_text, write_text
from casewise.storage.run_folder import (
    JUDGEMENT_LOG,
    RunFolder,
    RunManifest,
    judgement_table,
    last_attempts,
    last_records,
    read_run,
)
from casewise.text import count_of

UNREAD = frozenset(
    {
        UnscoredReason.EMPTY,  # often all thoughts
        UnscoredReason.NO_VERDICT,
        UnscoredReason.NO_LABEL_FIRST,
        UnscoredReason.UNPARSED,
        UnscoredReason.CONFLICTING,
        UnscoredReason.AMBIGUOUS,
        UnscoredReason.OUT_OF_RANGE,
        UnscoredReason.TRUNCATED,
        UnscoredReason.INTERNAL,
    }
)
"""Reasons of a reply that came and gave no verdict."""
MANY_UNREAD = 0.05
"""Share of unread replies from which a run's last line points here."""
LONGEST_SAMPLE = 300


@dataclass(frozen=True)
class StoredReplies:
    """The replies of a run that count, and the manifest of the run."""

    path: Path
    manifest: RunManifest
    judgements: tuple[Judgement, ...] = field(repr=False)

    @property
    def replies(self) -> tuple[Judgement, ...]:
        """Judgements with a reply in words."""
        return tuple(judgement for judgement in self.judgements if judgement.raw_reply is not None)

    @property
    def unread(self) -> tuple[Judgement, ...]:
        """Replies without a verdict."""
        return tuple(filter(is_unread, self.replies))


def stored_replies(path: Path) -> StoredReplies:
    """Return the replies of a run. Raises DataError: there is no run of a judge at `path`."""
    return StoredReplies(path, read_run(path), tuple(last_records(path / JUDGEMENT_LOG.file, JUDGEMENT_LOG)))


def is_unread(judgement: Judgement) -> bool:
    """Return whether a judgement has a reply without a verdict."""
    reason = judgement.outcome.reason if isinstance(judgement.outcome, Unscored) else None
    return reason in UNREAD and judgement.raw_reply is not None


def has_unread_words(judgement: Judgement) -> bool:
    """Return whether a judgement's reply has words in which a reader might still find a verdict."""
    return is_unread(judgement) and bool((judgement.raw_reply or "").strip())


def has_many_unread(path: Path, *, n_unscored: int, n_judged: int) -> bool:
    """Return whether so many replies of a run were not read that its user should check them."""
    answers = n_unscored + n_judged
    if not answers or n_unscored <= MANY_UNREAD * answers:
        return False  # without a look at the log
    columns = ["item_id", "judge_id", "elicitation", "arm", "repeat", "attempt", "unscored_reason"]
    reasons = last_attempts(judgement_table(path / JUDGEMENT_LOG.file, columns=columns))["unscored_reason"]
    return int(reasons.cast(pl.String).is_in([reason.value for reason in UNREAD]).sum()) > MANY_UNREAD * answers


def stored_reply(judgement: Judgement) -> Reply:
    """Return a judgement's reply as its endpoint gave it."""
    reason = (judgement.detail or {}).get("finish_reason")
    return Reply(judgement.raw_reply or "", finish_reason=str(reason) if reason else "stop")


# Kinds of unread replies, and what to do about each.


@dataclass(frozen=True)
class Shape:
    """A kind of unread reply: its name and what to do about it."""

    name: str
    advice: str


@dataclass(frozen=True)
class UnreadGroup:
    """Unread replies of one shape."""

    shape: Shape
    judgements: tuple[Judgement, ...] = field(repr=False)

    @property
    def sample(self) -> str:
        """The beginning of one of the replies, always the same one."""
        return beginning(min(self.judgements, key=reply_id).raw_reply or "", most=LONGEST_SAMPLE) or ""


LONGER = "Ask again into another folder with a higher --max-tokens."
BY_REASON = {
    UnscoredReason.TRUNCATED: ("cut off at the token limit", LONGER),
    UnscoredReason.NO_LABEL_FIRST: ("something else before the label", "Ask again with --elicit binary: this model does not begin with the label."),
    UnscoredReason.OUT_OF_RANGE: ("a number outside the scale", "The model used another scale. Ask again with --structured or other --prompts."),
}  # fmt: skip
BY_PATTERN = "If these words are verdicts, give --pattern."
BY_MODEL = "Give --reader MODEL, or ask again with --structured."


def shape_of(judgement: Judgement) -> Shape:
    """Return the kind of an unread reply."""
    assert isinstance(judgement.outcome, Unscored)  # for the type checker; `is_unread` holds
    reason, text = judgement.outcome.reason, unwrapped(judgement.raw_reply or "").text
    if reason is UnscoredReason.INTERNAL:
        return Shape(
            "the reading failed", f"A fault of casewise or a plugin; please report it: {judgement.outcome.detail}."
        )
    if not text and reason is not UnscoredReason.TRUNCATED:
        thoughts = judgement.raw_reply or (judgement.detail or {}).get("reasoning")
        return Shape("thoughts that never come to a reply" if thoughts else "no words at all", LONGER)
    if reason in BY_REASON:
        return Shape(*BY_REASON[reason])
    if refuses(text):
        return Shape("a refusal to judge", "No reader finds a verdict here. Ask again with other --prompts.")
    if reason is UnscoredReason.CONFLICTING:
        return Shape("more than one verdict", f"Mark a sample to see which counts. {BY_MODEL}")
    if (entry := next(objects_in(text), None)) is not None:
        return Shape(f"JSON with the keys {', '.join(sorted(map(str, entry))[:5]) or '(none)'}", BY_PATTERN)
    if len(text.split()) <= 3 and len(text) <= 40:
        return Shape(f"the words {text.lower().strip(' .!*')!r}", BY_PATTERN)
    if re.search(r"safe", text, re.IGNORECASE) is None and judgement.elicitation == "binary":
        return Shape("prose that says neither safe nor unsafe", BY_MODEL)
    return Shape("prose in which no verdict is stated plainly", BY_MODEL)


def unread_groups(unread: Iterable[Judgement]) -> tuple[UnreadGroup, ...]:
    """Return unread replies by shape, the largest group first."""
    groups: defaultdict[Shape, list[Judgement]] = defaultdict(list)
    for judgement in unread:
        groups[shape_of(judgement)].append(judgement)
    largest = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0].name))
    return tuple(UnreadGroup(shape, tuple(judgements)) for shape, judgements in largest)


# Readers of stored replies.


@dataclass(frozen=True)
class Rereader:
    """A reader of stored replies."""

    name: Literal["rules", "pattern", "model"]
    settings: Mapping[str, Any]
    """What the reading depends on, as JSON values; part of the new reading's identity."""
    read: Callable[[Judgement], Awaitable[ReadOutcome | None]]
    """Returns what it finds in a reply; None for one that it was not given, as the budget was used up."""
    model: SecondReader | None = None
    calls: RunProgress = field(default_factory=RunProgress)
    """Calls of the second model so far, with their tokens and cost."""

    def can_read(self, judgement: Judgement) -> bool:
        """Return whether the reader can read a reply: the rules read all replies, other readers those without a verdict by the
        rules."""
        if judgement.raw_reply is None or not is_read_from_words(judgement.elicitation):
            return False
        if self.model is not None and find_elicitation(judgement.elicitation).second is None:
            return False
        return self.name == "rules" or has_unread_words(judgement)


def is_read_from_words(elicitation: Elicitation) -> bool:
    """Return whether an elicitation's value is read from the words of a reply."""
    how = find_elicitation(elicitation).how
    return how is not None and how.reads_text


def rules_reader() -> Rereader:
    """Return the reader of this version of casewise."""

    async def read(judgement: Judgement) -> ReadOutcome:
        return read_outcome(judgement.elicitation, stored_reply(judgement))

    return Rereader("rules", {"rules": RULES_VERSION}, read)


RULES_VERSION = "5"
"""Raised when a change of `casewise.ask.reader` reads a reply otherwise."""


def pattern_reader(pattern: str) -> Rereader:
    """Return a reader by a regular expression with the groups `safe` and `unsafe`, or `score`.

    Every match in the reply counts. Matches of both groups, or of two scores, are no verdict.

    Raises ConfigurationError: it is no regular expression, or has none of these groups.
    """
    try:
        compiled = re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    except re.error as error:
        raise ConfigurationError(f"--pattern is no regular expression: {error}") from error
    if not {"safe", "unsafe", "score"} & set(compiled.groupindex):
        raise ConfigurationError(
            f"--pattern {pattern!r} has no group; name what means safe and what means unsafe, as in "
            "'(?P<safe>ALLOW)|(?P<unsafe>BLOCK)', or the number, as in 'Rating: (?P<score>\\d+)'"
        )

    async def read(judgement: Judgement) -> ReadOutcome:
        return read_by_pattern(compiled, judgement.elicitation, unwrapped(judgement.raw_reply or "").text)

    return Rereader("pattern", {"pattern": pattern}, read)


def read_by_pattern(pattern: re.Pattern[str], elicitation: Elicitation, text: str) -> ReadOutcome:
    """Return the outcome of the matches of a pattern in a reply."""
    groups = [match.groupdict() for match in pattern.finditer(text)]
    if elicitation == "score":
        numbers = {group["score"] for group in groups if group.get("score")}
        values = {float(number) for number in numbers if re.fullmatch(r"[0-9]{1,3}(?:\.[0-9]+)?", number)}
    else:
        values = {value for group in groups for name, value in (("safe", 1.0), ("unsafe", 0.0)) if group.get(name)}
    if len(values) != 1:
        return ReadOutcome(Unscored(reason=UnscoredReason.CONFLICTING if values else UnscoredReason.NO_VERDICT))
    (value,) = values
    if not scale_of(elicitation).contains(value):
        return ReadOutcome(Unscored(reason=UnscoredReason.OUT_OF_RANGE, detail=f"{value:g}"))
    return ReadOutcome(Scored(value=value), read_as="pattern")


def model_reader(second: SecondReader, *, max_cost: float | None = None) -> Rereader:
    """Return a second model as a reader. It is asked; the judge is not.

    `max_cost`: the most that its calls may cost together, in US dollars. A call is made only if the most that it can cost fits.

    Raises ConfigurationError: there is a limit, and the prices of the model are not known.
    """
    if max_cost is not None and second.prices is None:
        raise ConfigurationError(
            f"--max-cost needs the prices of {second.model.name}; give --price-in and --price-out, in US dollars for a million tokens"
        )
    budget, calls = Budget(Limits(max_cost=max_cost)), RunProgress()

    async def read(judgement: Judgement) -> ReadOutcome | None:
        no_reading, reply = ReadOutcome(Unscored(reason=UnscoredReason.NO_VERDICT)), stored_reply(judgement)
        bound = second.max_spend(judgement.elicitation, reply_tokens=-(-len(reply.text.encode()) // 8))
        if await budget.reserve(bound) is not None:
            return None
        actual = bound
        try:
            with metered() as meter:
                outcome, usage = await second.read(judgement.elicitation, reply, no_reading)
            known = second.prices.cost_of(usage) if usage is not None and second.prices is not None else None
            sent, replied = (usage.input_tokens, usage.output_tokens) if usage is not None else (0, 0)
            assumed = bound * meter.n_unreported
            actual = Spend(known or 0.0) + assumed
            calls.add(
                RunProgress(
                    n_calls=1,
                    input_tokens=sent or 0,
                    output_tokens=replied or 0,
                    cost_usd=known,
                    assumed_cost_usd=assumed.cost_usd or None,
                    assumed_tokens=assumed.tokens,
                )
            )
        finally:
            budget.settle(bound, actual)
        return outcome

    return Rereader("model", {"reader": second.settings()}, read, second, calls)


SIMULTANEOUS_READINGS = 8

Readings = Mapping[str, ReadOutcome]
"""What a reader finds, by the id of the reply."""


async def read_again(reader: Rereader, judgements: Iterable[Judgement]) -> Readings:
    """Return a reader's readings of stored replies. Equal replies are read once."""
    different = {reply_id(judgement): judgement for judgement in judgements if reader.can_read(judgement)}
    gate = asyncio.Semaphore(SIMULTANEOUS_READINGS)

    async def read(judgement: Judgement) -> ReadOutcome | None:
        async with gate:
            return await reader.read(judgement)

    try:
        outcomes = await asyncio.gather(*map(read, different.values()))
    finally:
        if reader.model is not None:
            await reader.model.model.close()
    return {number: outcome for number, outcome in zip(different, outcomes, strict=True) if outcome is not None}


# A sample that the user marks, and what each reader is worth on it.

SAMPLE_COLUMNS = ("id", "elicitation", "reply", "verdict")
SAMPLE_SIZE = 60
NONE = "none"


def reply_id(judgement: Judgement) -> str:
    """Return a short digest of a reply, which finds it again in the run and puts a sample in an order of its own."""
    content = f"{judgement.elicitation}\n{judgement.raw_reply}".encode()
    return hashlib.blake2b(content, digest_size=6).hexdigest()


def sample_of(replies: StoredReplies, *, size: int = SAMPLE_SIZE) -> list[Judgement]:
    """Return different replies to mark: two thirds unread, in turn from each shape, and the rest of those that were read."""
    by_id = {
        reply_id(each): each
        for each in replies.replies
        if is_read_from_words(each.elicitation) and each.shared_with is None
    }
    unread = [each for each in by_id.values() if has_unread_words(each)]
    read = sorted((each for each in by_id.values() if isinstance(each.outcome, Scored)), key=reply_id)
    queues = [sorted(group.judgements, key=reply_id) for group in unread_groups(unread)]
    in_turn = [
        queue[place] for place in range(max(map(len, queues), default=0)) for queue in queues if place < len(queue)
    ]
    chosen = in_turn[: max(2 * size // 3, size - len(read))]
    return sorted([*chosen, *read[: size - len(chosen)]], key=reply_id)


def write_sample(path: Path, sample: Iterable[Judgement]) -> int:
    """Write a table to mark, a reply a row with an empty verdict, and return the number of rows."""
    rows = [(reply_id(each), str(each.elicitation), each.raw_reply or "", "") for each in sample]
    write_rows(path, [dict(zip(SAMPLE_COLUMNS, row, strict=True)) for row in rows])
    return len(rows)


def write_rows(path: Path, rows: Sequence[Mapping[str, str]]) -> None:
    """Write the rows of a table to mark, with the columns that its user has added."""
    table = io.StringIO()
    columns = [name for name in (rows[0] if rows else SAMPLE_COLUMNS) if name != "line"]
    writer = csv.DictWriter(table, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, table.getvalue())


def read_sample(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table to mark, each with its `line`. Raises DataError: it has not the columns of one."""
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""))
    if missing := set(SAMPLE_COLUMNS) - set(reader.fieldnames or ()):
        raise DataError(
            path, 1, f"has no column {', '.join(sorted(missing))}; casewise reread RUN --marks FILE writes one"
        )
    names = reader.fieldnames or ()
    return [{name: str(row[name] or "") for name in names} | {"line": str(reader.line_num)} for row in reader]


def read_marks(path: Path) -> dict[str, float | None]:
    """Return the verdicts that a person marked, by the id of the reply: a value, or None for a reply that gives none.

    Rows without a mark are left out. Raises DataError: a row is no mark; the message names its line.
    """
    return {
        row["id"]: marked_value(path, int(row["line"]), row["elicitation"], word)
        for row in read_sample(path)
        if (word := row["verdict"].strip().lower())
    }


def mark_words(elicitation: Elicitation) -> tuple[str, ...]:
    """Return the words with which a reply can be marked; empty where a number is written."""
    return ("safe", "unsafe", NONE) if elicitation == "binary" else ()


def marked_value(path: Path, line: int, elicitation: Elicitation, word: str) -> float | None:
    """Return the value of a mark. Raises DataError: it is none."""
    values = {"safe": 1.0, "unsafe": 0.0} if elicitation == "binary" else {}
    if word == NONE or word in values:
        return values.get(word)
    scale = scale_of(elicitation)
    number = float(word) if elicitation != "binary" and re.fullmatch(r"[0-9]{1,3}(?:\.[0-9]+)?", word) else None
    if number is None or not scale.contains(number):
        wanted = "safe, unsafe" if elicitation == "binary" else f"a number from {scale.low:g} to {scale.high:g}"
        raise DataError(path, line, f"'verdict' is {word[:40]!r}; it is {wanted} or none")
    return number


@dataclass(frozen=True)
class ReaderMeasurement:
    """The agreement of a reader's readings with a person's marks."""

    reader: str
    right: int
    """Replies whose marked verdict it found."""
    missed: int
    """Replies with a marked verdict in which it found none."""
    wrong: int
    """Replies in which it found another verdict than was marked, or one where none was."""
    marked: int

    @property
    def wrong_at_most(self) -> float:
        """Upper bound of the share of wrong readings (Wilson, 95 %)."""
        return float(wilson(self.wrong, self.marked).high)


def measure(
    reader: Rereader, stored: StoredReplies, marks: Mapping[str, float | None], readings: Readings
) -> ReaderMeasurement:
    """Compare a reader's readings with marks. A pattern and a model are measured on replies that the rules did not read."""
    readable = {reply_id(judgement) for judgement in stored.replies if reader.can_read(judgement)}
    pairs = [
        (mark, value_of(readings[number])) for number, mark in marks.items() if number in readable & readings.keys()
    ]
    return ReaderMeasurement(
        reader.name,
        right=sum(value is not None and value == mark for mark, value in pairs),
        missed=sum(value is None and mark is not None for mark, value in pairs),
        wrong=sum(value is not None and value != mark for mark, value in pairs),
        marked=len(pairs),
    )


def value_of(read: ReadOutcome | Judgement) -> float | None:
    """Return the value of a reading or a judgement; None where it has none."""
    return read.outcome.value if isinstance(read.outcome, Scored) else None


# The new reading: a run of its own beside the first.


def reread_judgement(judgement: Judgement, read: ReadOutcome | None, reader: Rereader) -> Judgement:
    """Return a judgement with a new outcome, and the first outcome as a detail. None keeps the judgement."""
    if read is None:
        return judgement
    before = judgement.outcome.value if isinstance(judgement.outcome, Scored) else judgement.outcome.reason.value
    detail = {**(judgement.detail or {}), **(read.detail or {}), "first_reading": before, "reread_by": reader.name}
    return judgement.model_copy(update={"outcome": read.outcome, "read_as": read.read_as, "detail": detail})


def require_new(out: Path) -> None:
    """Raise RunConflict if something lies at `out`."""
    if out.exists():
        raise RunConflict(f"{out} exists; choose another folder for the new reading")


def write_reading(
    out: Path,
    source: StoredReplies,
    reader: Rereader,
    readings: Readings,
    *,
    measured: ReaderMeasurement | None,
) -> int:
    """Write a new reading as a run at `out`, and return the number of replies that it reads otherwise than the first.

    Its identity has the reader and a digest of the log that was read, so that it never passes for the first run, and no
    session of `casewise judge` goes on with it.

    Raises RunConflict: something lies at `out`.
    """
    require_new(out)
    log = source.path / JUDGEMENT_LOG.file
    reading = {
        "by": reader.name,
        **reader.settings,
        "of": str(source.path.name),
        "log": hashlib.blake2b(log.read_bytes(), digest_size=16).hexdigest(),
    }
    identity = source.manifest.identity
    identity = identity.model_copy(update={"settings": identity.settings | {"reading": reading}})
    manifest = source.manifest.model_copy(update={"identity": identity, "created": datetime.now(UTC)})
    changed = 0
    with RunFolder.hold(out, manifest, JUDGEMENT_LOG) as folder:
        for old in source.judgements:
            new = reread_judgement(old, readings.get(reply_id(old)) if reader.can_read(old) else None, reader)
            changed += value_of(old) != value_of(new)
            folder.add(new)
        folder.keep_notes([reading_note(source, reader, changed, measured)])
    return changed


def reading_note(source: StoredReplies, reader: Rereader, changed: int, measured: ReaderMeasurement | None) -> str:
    """Return the note that reports print about a new reading."""
    by = {
        "rules": "the rules of this version",
        "pattern": f"the pattern {reader.settings.get('pattern')!r}",
        "model": "a second model",
    }
    checked = (
        f"On {count_of(measured.marked, 'reply')} that a person marked it was right on {measured.right} and wrong on {measured.wrong}."
        if measured and measured.marked
        else "It was not checked on a marked sample."
    )
    return (
        f"The stored replies of {source.manifest.judge_name} were read again by {by[reader.name]}, without asking the judge: {changed:,} "
        f"of {count_of(len(source.replies), 'reply has')} another verdict than at first. {checked}"
    )
