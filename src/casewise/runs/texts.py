"""Texts that a model makes once each, stored in a cache beside runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Literal

from casewise.models.load import LoadedModel
from casewise.models.protocol import Message, Reply, ReplyOptions, Usage
from casewise.records.base import Record, digest
from casewise.records.call import Call
from casewise.runs.limits import Limits, RunProgress, Spend, Watch, spent_of
from casewise.runs.run import (
    Asks,
    CallEstimate,
    CallingOptions,
    ChatAsker,
    NoReplyReason,
    each_alone,
    estimate_calls,
    folder_log,
    perform,
    session_now,
    usually,
)
from casewise.storage.files import read_jsonl
from casewise.storage.run_folder import (
    MADE_BEFORE,
    RUN,
    AnyManifest,
    LogKind,
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


class MadeText(Call):
    """What a model replied to one text, and what that came to."""

    maker: str
    text_digest: str
    made: str | None = None
    problem: str | None = None
    """Why nothing was made of the text."""
    passing: bool = False
    """Whether that may have passed since, as where the endpoint did not answer."""
    raw_reply: str | None = None

    @property
    def failure(self) -> str | None:
        """Why nothing was made of the text."""
        return self.problem

    @property
    def may_pass(self) -> bool:
        """Whether the endpoint did not answer."""
        return self.passing


MADE: LogKind[MadeManifest, MadeText] = LogKind("made", MadeManifest, MadeText, key=("text_digest",))


def text_key(text: str) -> str:
    """What a text is kept under."""
    return digest(text)[:16]


@dataclass(frozen=True)
class TextAsk:
    """A text to make something of."""

    text: str
    """The text; or, with `told`, what the reply is kept under."""
    told: tuple[Message, ...] = ()
    """What the maker is asked, where that is not its task about the text."""
    attempt: int = 0

    @property
    def key(self) -> tuple[str]:
        """What the text is kept under."""
        return (text_key(self.text),)


@dataclass(kw_only=True)
class MadeSummary(RunProgress):
    """What a session of making texts did."""

    unusable: ClassVar[str] = "not made"

    maker: str


class TextAsker(ChatAsker[TextAsk, MadeText]):
    """Has a maker make something of texts."""

    def __init__(self, maker: Maker) -> None:
        super().__init__(maker.loaded.model, maker.loaded.prices)
        self.maker = maker

    def messages(self, ask: TextAsk) -> tuple[Message, ...]:
        """What the maker asks about the text."""
        return ask.told or self.maker.messages(ask.text)

    def options(self, _ask: TextAsk) -> ReplyOptions:
        """The maker's longest reply."""
        return ReplyOptions(self.maker.max_tokens)

    def usually(self, ask: TextAsk) -> Usage:
        """From the length of the text: what is made of it usually has the same."""
        reply = USUAL_CLAIM if ask.told else 16 + len(ask.text) // 4
        return usually(self.messages(ask), reply_tokens=min(self.maker.max_tokens, reply))

    def read(self, ask: TextAsk, reply: Reply, took: dict[str, Any]) -> MadeText:
        """What the maker reads in the reply, or why that is nothing."""
        try:
            came = {"made": self.maker.read(reply.text)}
        except ValueError as error:
            came = {"problem": str(error)}
        return self.text(ask, raw_reply=reply.text, **came, **took)

    def unanswered(self, ask: TextAsk, reason: NoReplyReason, detail: str) -> MadeText:
        """Why nothing was made of the text."""
        problem = f"{reason.replace('_', ' ')}: {detail}"
        return self.text(ask, problem=problem, passing=reason == "unavailable")

    def text(self, ask: TextAsk, **came: Any) -> MadeText:
        """The record of an attempt at a text."""
        return MadeText(maker=self.maker.name, text_digest=text_key(ask.text), attempt=ask.attempt, at=now(), **came)


USUAL_CLAIM = 80
"""Tokens of a reply to what is told."""


def plan_of(texts: Iterable[str | TextAsk]) -> Asks[TextAsk]:
    return each_alone(one if isinstance(one, TextAsk) else TextAsk(one) for one in dict.fromkeys(texts))


async def make_texts(
    within: Path,
    maker: Maker,
    texts: Iterable[str | TextAsk],
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
    identity = MakerIdentity(maker=maker.name, version=maker.version, settings=maker.loaded.model.settings())
    manifest = MadeManifest(identity=identity, created=datetime.now(UTC))
    folder, asker = folder_of(within, maker.name), TextAsker(maker)
    folder.parent.mkdir(parents=True, exist_ok=True)
    log = folder_log(folder, manifest, MADE, session_now(limits, command=command), private=True)
    summary, options = MadeSummary(maker=maker.name), CallingOptions(limits=limits)
    return await perform(asker, asker.answer, plan_of(texts), log, options=options, progress=summary, watch=watch)


def folder_of(within: Path, name: str) -> Path:
    plain = "".join(c if c.isalnum() or c in "-_." else "-" for c in name)
    return within / MADE_BEFORE / f"{plain[:80]}-{digest(name)[:6]}"


def estimate_made(maker: Maker, texts: Iterable[str | TextAsk]) -> CallEstimate:
    """What making them would take, as if nothing were made yet. No call is made."""
    return estimate_calls(TextAsker(maker), plan_of(texts))


def made_in(within: Path) -> Mapping[tuple[str, str], MadeText]:
    """All that was made for the run at `within`, by maker and what a text is kept under."""
    texts = {}
    for folder in sorted((within / MADE_BEFORE).glob(f"*/{RUN}")):
        manifest = read_manifest(folder.parent, MADE)
        for text in last_records(read_jsonl(folder.parent / MADE.file, MadeText, growing=True), MADE):
            texts[manifest.identity.maker, text.text_digest] = text
    return texts


def spent_making(within: Path, *, but: str = "") -> Spend:
    """What all of it took, but for that of one maker."""
    logs = [file for file in (within / MADE_BEFORE).glob(f"*/{MADE.file}") if file.parent != folder_of(within, but)]
    return spent_of(file for log in logs for file in read_jsonl(log, MadeText, growing=True))
