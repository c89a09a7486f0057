"""Protocols: how a model is asked beside the wording. The paper's is one for API judges and one for open models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from casewise.errors import ConfigurationError
from casewise.judging.asking.elicitation import AskOptions
from casewise.records import Elicitation

__all__ = ["PROTOCOLS", "Protocol", "protocol_for"]


@dataclass(frozen=True)
class Protocol:
    """How a protocol has each item asked. The probability is greedy under all of them."""

    name: str
    words: str
    """What it asks, for a report."""
    ask: AskOptions
    score_calls: int
    """Calls over which a score is the mean."""
    asked_again: int = 2
    """How often a reply that gives no verdict is asked for again."""

    def repeats(self, elicitations: Sequence[Elicitation]) -> int:
        """How often each item is asked.

        Raises ConfigurationError: a score takes several calls and another elicitation one: they are runs of their own,
        or sessions of one.
        """
        if self.score_calls == 1 or "score" not in elicitations:
            return 1
        if len(set(elicitations)) > 1:
            raise ConfigurationError(
                f"the protocol {self.name} asks for a score {self.score_calls} times and for all else once: ask for them "
                "one after another, into the same folder"
            )
        return self.score_calls


PROTOCOLS = {
    one.name: one
    for one in (
        Protocol(
            "published-api",
            "temperature 1, at most 1,024 tokens, a score is the mean of three calls",
            AskOptions(1.0, 1024, protocol="published-api"),
            score_calls=3,
        ),
        Protocol(
            "published-open",
            "the system message “You are a helpful assistant.”, temperature 0.6, top-p 0.9, at most 512 tokens, one score",
            AskOptions(0.6, 512, top_p=0.9, system="You are a helpful assistant.", protocol="published-open"),
            score_calls=1,
        ),
    )
}


def protocol_for(name: str, judge: str) -> Protocol:
    """The protocol called `name`; `published` is that for open models where `judge` is run here (`hf:`), else for APIs.

    Raises ConfigurationError: there is none of that name.
    """
    if name == "published":
        name = "published-open" if judge.startswith("hf:") else "published-api"
    if name not in PROTOCOLS:
        raise ConfigurationError(f"no protocol is called {name!r}; there are published, {', '.join(PROTOCOLS)}")
    return PROTOCOLS[name]
