"""A model that costs nothing and is nobody's: for tests and for rehearsing a run."""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from casewise.models.protocol import (
    MUST_BE_TAKEN,
    Message,
    ModelDefaults,
    Position,
    Reply,
    ReplyOptions,
    TokenLogprob,
    Usage,
)

__all__ = ["Answering", "FakeModel"]

Answering = Callable[[tuple[Message, ...], ReplyOptions], Reply | str | Exception]


class FakeModel(ModelDefaults):
    """Replies what it is told to, or, told nothing, verdicts that hang on a hash of the prompt.

    `answer`: a text, a reply, or a function of messages and options that returns one of them or an exception to raise.
    `latency_s`: how long each reply takes.

    >>> import asyncio
    >>> from casewise.models.protocol import ReplyOptions, as_messages
    >>> model = FakeModel("unsafe")
    >>> asyncio.run(model.reply(as_messages("?"), ReplyOptions(max_tokens=8))).text
    'unsafe'
    >>> len(model.calls)
    1
    """

    takes = frozenset({"temperature", *MUST_BE_TAKEN})

    def __init__(
        self, answer: str | Reply | Answering | None = None, *, latency_s: float = 0.0, name: str = "fake/rehearsal"
    ) -> None:
        self.name = name
        self.latency_s = latency_s
        self.calls: list[tuple[tuple[Message, ...], ReplyOptions]] = []
        self._answer = answer if answer is not None else rehearsed

    async def reply(self, messages: tuple[Message, ...], options: ReplyOptions) -> Reply:
        """The reply that was set, or the exception."""
        self.calls.append((messages, options))
        await asyncio.sleep(self.latency_s)
        answer = self._answer(messages, options) if callable(self._answer) else self._answer
        if isinstance(answer, Exception):
            raise answer
        reply = Reply(answer, finish_reason="stop") if isinstance(answer, str) else answer
        text = reply.text if reply.text.startswith(options.prefill or "") else f"{options.prefill}{reply.text}"
        return replace(reply, text=text, latency_s=reply.latency_s or self.latency_s)

    def settings(self) -> dict[str, Any]:
        """Its name; a rehearsal has nothing else to tell."""
        return {"model": self.name}


def rehearsed(messages: tuple[Message, ...], options: ReplyOptions) -> Reply:
    """A well-formed reply to any elicitation, the same for the same prompt."""
    prompt = "\n".join(message.content for message in messages)
    share = int.from_bytes(hashlib.blake2b(prompt.encode(), digest_size=4).digest(), "big") / 2**32
    verdict = "safe" if share > 0.5 else "unsafe"
    usage = Usage(len(prompt) // 4, 1 if options.first_words else 12)
    safe = min(max(share, 1e-6), 1 - 1e-6)
    top = (TokenLogprob("safe", math.log(safe)), TokenLogprob("unsafe", math.log(1 - safe)))
    first = (Position(verdict, math.log(safe), top, complete=True),)
    if options.first_words:
        return Reply(verdict, "length", first, usage)
    value = f'"{verdict}"' if "between 1 and 10" not in prompt else str(1 + int(share * 10))
    return Reply(
        f'{{"judgement": {value}, "explanation": "A rehearsal, not a judgement."}}',
        "stop",
        first if options.top_logprobs else None,
        usage,
    )
