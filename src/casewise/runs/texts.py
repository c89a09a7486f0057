"""Texts that a model makes once each, stored in a cache beside runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

from casewise.models.load import LoadedModel
from casewise.models.protocol import Message, ReplyOptions, Usage
from casewise.records.base import Record, digest
from casewise.runs.engine import LiveExecutor
from casewise.runs.limits import GIVE_PRICES, Limits, RunProgress, Spend, Watch, check_limits, spent_of
from casewise.runs.run import (
    Asks,
    CallEstimate,
    ChatCalls,
    DurableRun,
    FolderLog,
    LoggedKind,
    NoReply,
    at_most,
    estimate_calls,
    session_now,
    usually,
)
from casewise.storage.files import read_jsonl
from casewise.storage.run_folder import (
    MADE_BEFORE,
    RUN,
    AnyManifest,
    LogKind,
    RunFolder,
    last_records,
    now,
    read_manifest,
)


@dataclass(frozen=True)
class Maker:
    """A model with one task: what it is asked about a text, and what its reply comes to."""

    name: str
    """Its task and the model, as the user names it: `filter:openai/gpt-4o`."""
    loaded: LoadedModel
    version: str
    messages: Callable[[str], tuple[Message, ...]]
    read: Callable[[str], str]
    """What a reply comes to; raises `ValueError` where that is nothing."""
    max_tokens: int = 1024

    def usually(self, ask: TextAsk) -> Usage:
        """From the text's length, which what is made of it usually has too."""
        messages = self.messages(ask.text)
        return usually(messages, reply_tokens=min(self.max_tokens, 16 + len(ask.text) // 4))

    def at_most(self, ask: TextAsk) -> Spend:
        """From the prompt's length, and the limit of a reply."""
        return at_most(self.messages(ask.text), reply_tokens=self.max_tokens, prices=self.loaded.prices)


class MakerIdentity(Record):
    """What makes such a folder this one. More texts may come."""

    maker: str
    version: str
    settings: dict[str, Any]


class MadeManifest(AnyManifest):
    """What `run.json` says."""

    format_version: int = 1
    kind: Literal["made"] = "made"
    identity: MakerIdentity
    created: datetime


class Making(Record):
    """What a model replied to one text, and what that came to."""

    made: str | None = None
    problem: str | None = None
    """Why nothing was made of the text."""
    passing: bool = False
    """Whether that may have passed since, as where the endpoint did not answer."""
    raw_reply: str | None = None
    model_version: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


class MadeText(Making):
    """A line of the log."""

    maker: str
    text_digest: str
    attempt: int = 0
    at: datetime | None = None


MADE: LogKind[MadeManifest, MadeText] = LogKind(
    "made", MadeManifest, MadeText, key=lambda made: (made.text_digest,), attempt=lambda made: made.attempt
)


def text_key(text: str) -> str:
    """What a text is kept under."""
    return digest(text)[:16]


@dataclass(frozen=True)
class TextAsk:
    """A text to make something of."""

    text: str
    attempt: int = 0


@dataclass
class MakingKind(LoggedKind[TextAsk, Making, MadeText]):
    """Texts by one maker."""

    maker: str
    log = MADE

    def key(self, ask: TextAsk) -> tuple[str, ...]:
        return (text_key(ask.text),)

    def problem(self, answer: Making) -> str | None:
        return answer.problem

    def record(self, ask: TextAsk, answer: Making) -> MadeText:
        said = {name: getattr(answer, name) for name in Making.model_fields}
        return MadeText(maker=self.maker, text_digest=text_key(ask.text), attempt=ask.attempt, at=now(), **said)

    def answer(self, record: MadeText) -> Making:
        return record

    def usable(self, record: MadeText) -> bool:
        return record.problem is None

    def passing(self, record: MadeText) -> bool:
        return record.passing


@dataclass(kw_only=True)
class MadeSummary(RunProgress):
    """What a session of making texts did."""

    unusable: ClassVar[str] = "not made"

    maker: str


async def made_of(maker: Maker, calls: ChatCalls, ask: TextAsk) -> Making:
    """What became of a text, or why nothing did."""
    reply = await calls.reply(maker.messages(ask.text), ReplyOptions(maker.max_tokens))
    if isinstance(reply, NoReply):
        return Making(problem=reply.problem, passing=reply.reason == "unavailable")
    took = {"raw_reply": reply.text, **calls.took(reply)}
    try:
        return Making(made=maker.read(reply.text), **took)
    except ValueError as error:
        return Making(problem=str(error), **took)


def plan_of(texts: Iterable[str]) -> Asks[TextAsk]:
    asks = [TextAsk(text) for text in dict.fromkeys(texts)]
    return Asks(lambda: ((ask,) for ask in asks), len(asks))


async def make_texts(
    within: Path,
    maker: Maker,
    texts: Iterable[str],
    *,
    limits: Limits = Limits(),
    watch: Watch | None = None,
    command: str | None = None,
) -> MadeSummary:
    """Have something made of every text that the folder of `maker` under `within` does not hold yet. The model stays open.

    Raises RunConflict: another process makes the same, or what lies there was made otherwise. ModelError: no further
    call can succeed; what was made before is kept. ConfigurationError: there is a limit on cost, and nobody knows what
    the model costs.
    """
    model = maker.loaded.model
    priced = maker.loaded.prices is not None
    check_limits(limits, model.name, priced=priced, counts_tokens=True, to_price=GIVE_PRICES)
    identity = MakerIdentity(maker=maker.name, version=maker.version, settings=model.settings())
    folder = folder_of(within, maker.name)
    folder.parent.mkdir(parents=True, exist_ok=True)
    kind, calls = MakingKind(maker.name), ChatCalls(model, maker.loaded.prices)
    manifest = MadeManifest(identity=identity, created=datetime.now(UTC))
    with RunFolder.hold(folder, manifest, MADE, private=True) as held:
        held.note_session(session_now(limits, command=command))
        run = DurableRun(
            kind,
            plan_of(texts),
            FolderLog(held, kind),
            LiveExecutor(partial(made_of, maker, calls), max(limits.concurrency, model.concurrency)),
            limits,
            maker.at_most,
            watch or Watch(),
        )
        return await run.perform(MadeSummary(maker=maker.name))


def folder_of(within: Path, name: str) -> Path:
    plain = "".join(c if c.isalnum() or c in "-_." else "-" for c in name)
    return within / MADE_BEFORE / f"{plain[:80]}-{digest(name)[:6]}"


def estimate_made(maker: Maker, texts: Iterable[str]) -> CallEstimate:
    """What making them would take, as if nothing were made yet. No call is made."""
    return estimate_calls(plan_of(texts), usually=maker.usually, at_most=maker.at_most, prices=maker.loaded.prices)


def made_in(within: Path) -> Mapping[tuple[str, str], MadeText]:
    """All that was made for the run at `within`, by maker and what a text is kept under."""
    found = {}
    for folder in sorted((within / MADE_BEFORE).glob(f"*/{RUN}")):
        manifest = read_manifest(folder.parent, MADE)
        for one in last_records(read_jsonl(folder.parent / MADE.file, MadeText, growing=True), MADE):
            found[manifest.identity.maker, one.text_digest] = one
    return found


def spent_making(within: Path, *, but: str = "") -> Spend:
    """What all of it took, but for that of one maker."""
    logs = [one for one in (within / MADE_BEFORE).glob(f"*/{MADE.file}") if one.parent != folder_of(within, but)]
    return spent_of(one for log in logs for one in read_jsonl(log, MadeText, growing=True))
