"""Texts that a model makes once each, stored in a cache beside runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Literal

from casewise.models.asker import ChatAsker, NoReplyReason, estimate_usage
from casewise.models.load import LoadedModel
from casewise.models.prices import Spend
from casewise.models.protocol import Message, Reply, ReplyOptions, Usage
from casewise.notation import spoken
from casewise.records.base import Record, digest
from casewise.records.call import Call
from casewise.runs.engine import Asks, separate_calls
from casewise.runs.limits import Limits, RunObserver, RunProgress
from casewise.runs.run import CallEstimate, CallingOptions, estimate_calls, folder_log, new_session, perform, run_spend
from casewise.storage.run_folder import MADE_BEFORE, RUN, AnyManifest, LogKind, last_records, now, read_manifest


class MakerIdentity(Record):
    """The identity of a folder of made texts, which may grow."""

    maker: str
    version: str
    settings: dict[str, Any]


class MadeManifest(AnyManifest):
    """The content of `run.json`."""

    format_version: int = 1
    kind: Literal["made"] = "made"
    identity: MakerIdentity
    created: datetime


class MadeText(Call):
    """A model's reply to one text, and the text that was made of it."""

    maker: str
    text_digest: str
    made: str | None = None
    problem: str | None = None
    """The reason why no text was made."""
    passing: bool = False
    """True if the problem may pass, such as an endpoint that does not answer."""
    raw_reply: str | None = None

    @property
    def failure(self) -> str | None:
        """The reason why no text was made."""
        return self.problem

    @property
    def may_pass(self) -> bool:
        return self.passing


MADE: LogKind[MadeManifest, MadeText] = LogKind("made", MadeManifest, MadeText, key=("text_digest",))


def text_key(text: str) -> str:
    """Return the key of a text."""
    return digest(text)[:16]


@dataclass(frozen=True)
class TextAsk:
    """A text that a model turns into another text."""

    text: str
    """The text; or, with `messages`, the key of the reply."""
    messages: tuple[Message, ...] = ()
    """Messages to the maker, if they are not its task about the text."""
    attempt: int = 0

    @property
    def key(self) -> tuple[str]:
        """The key of the text."""
        return (text_key(self.text),)


@dataclass(kw_only=True)
class MadeSummary(RunProgress):
    """Counts of a session of making texts."""

    unusable: ClassVar[str] = "not made"

    maker: str


MAX_TOKENS = 1024

USUAL_CLAIM = 80
"""Tokens of a reply to such messages."""


class Maker(ChatAsker[TextAsk, MadeText]):
    """A model with one task about texts.

    `name`: its task and the model, as the user names it: `filter:openai/gpt-4o`.
    `prompt_about`: returns the task about a text.
    `text_in`: returns the made text in a reply; raises `ValueError` if there is none.
    """

    def __init__(
        self,
        name: str,
        loaded: LoadedModel,
        version: str,
        prompt_about: Callable[[str], tuple[Message, ...]],
        text_in: Callable[[str], str],
    ) -> None:
        super().__init__(loaded.model, loaded.prices)
        self.name, self.version, self.prompt_about, self.text_in = name, version, prompt_about, text_in

    def messages(self, ask: TextAsk) -> tuple[Message, ...]:
        return ask.messages or self.prompt_about(ask.text)

    def reply_options(self, _ask: TextAsk) -> ReplyOptions:
        return ReplyOptions(MAX_TOKENS)

    def estimate_usage(self, ask: TextAsk) -> Usage:
        """Return an estimate: a made text is usually as long as the text."""
        reply = USUAL_CLAIM if ask.messages else 16 + len(ask.text) // 4
        return estimate_usage(self.messages(ask), reply_tokens=min(MAX_TOKENS, reply))

    def read(self, ask: TextAsk, reply: Reply, call_fields: dict[str, Any]) -> MadeText:
        try:
            result = {"made": self.text_in(reply.text)}
        except ValueError as error:
            result = {"problem": str(error)}
        return self.record(ask, raw_reply=reply.text, **result, **call_fields)

    def unanswered(self, ask: TextAsk, reason: NoReplyReason, detail: str, /, **call_fields: Any) -> MadeText:
        problem = f"{spoken(reason)}: {detail}"
        return self.record(ask, problem=problem, passing=reason == "unavailable", **call_fields)

    def record(self, ask: TextAsk, **result: Any) -> MadeText:
        """Return the record of an attempt at a text."""
        return MadeText(maker=self.name, text_digest=text_key(ask.text), attempt=ask.attempt, at=now(), **result)


def plan_texts(texts: Iterable[str | TextAsk]) -> Asks[TextAsk]:
    return separate_calls(text if isinstance(text, TextAsk) else TextAsk(text) for text in dict.fromkeys(texts))


async def make_texts(
    within: Path,
    maker: Maker,
    texts: Iterable[str | TextAsk],
    *,
    limits: Limits = Limits(),
    watch: RunObserver | None = None,
    command: str | None = None,
) -> MadeSummary:
    """Make every text that the folder of `maker` under `within` does not hold yet. The model stays open.

    Raises RunConflict: another process makes the same, or the folder was made with other settings. ModelError: no further
    call can succeed; texts so far are kept. ConfigurationError: there is a limit on cost, and the price is unknown.
    """
    identity = MakerIdentity(maker=maker.name, version=maker.version, settings=maker.model.settings())
    manifest = MadeManifest(identity=identity, created=datetime.now(UTC))
    folder = maker_folder(within, maker.name)
    folder.parent.mkdir(parents=True, exist_ok=True)
    session = new_session(limits, command=command)
    summary, options = MadeSummary(maker=maker.name), CallingOptions(limits=limits)
    return await perform(
        maker,
        maker.answer,
        plan_texts(texts),
        folder_log(folder, manifest, MADE, session, private=True),
        options=options,
        progress=summary,
        watch=watch,
    )


def maker_folder(within: Path, name: str) -> Path:
    safe_name = "".join(c if c.isalnum() or c in "-_." else "-" for c in name)
    return within / MADE_BEFORE / f"{safe_name[:80]}-{digest(name)[:6]}"


def estimate_texts(maker: Maker, texts: Iterable[str | TextAsk]) -> CallEstimate:
    """Estimate making the texts, as if none were made yet. No call is made."""
    return estimate_calls(maker, plan_texts(texts))


def read_made_texts(within: Path) -> Mapping[tuple[str, str], MadeText]:
    """Return all texts that were made for the run at `within`, by maker and key."""
    texts = {}
    for folder in sorted((within / MADE_BEFORE).glob(f"*/{RUN}")):
        manifest = read_manifest(folder.parent, MADE)
        for text in last_records(folder.parent / MADE.file, MADE, growing=True):
            texts[manifest.identity.maker, text.text_digest] = text
    return texts


def makers_spend(within: Path, *, but: str = "") -> Spend:
    """Return an upper bound of the spend of all makers except one."""
    folders = [
        file.parent for file in (within / MADE_BEFORE).glob(f"*/{RUN}") if file.parent != maker_folder(within, but)
    ]
    return sum((run_spend(folder, MADE) for folder in folders), Spend())
