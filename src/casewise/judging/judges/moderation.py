"""A moderation endpoint as a judge: it gives a score for each of its categories, and any real number will do.

The value is minus the score, the higher the safer. It has no threshold of its own: reports give its rank metrics, and
label metrics only with a threshold fitted on other queries.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from casewise.errors import ConfigurationError, Unavailable
from casewise.judging.guards.profile import GuardProfile, profile_named, profile_notes
from casewise.judging.judge import Answer, Ask, LocalJudge
from casewise.models.http.capabilities import Capabilities
from casewise.models.http.client import EndpointClient, Request
from casewise.models.http.endpoints import find_endpoint, parse_model_name, read_key
from casewise.models.http.prices import FREE, Prices
from casewise.models.http.wire import WrongShape, optional_text, parsed
from casewise.models.load import ModelOptions
from casewise.models.protocol import Rejected
from casewise.prompting.context_words import in_words
from casewise.records import Elicitation, Scored, Unscored, UnscoredReason
from casewise.records.base import digest

__all__ = ["ModerationJudge", "Verdicts", "read_scores"]

VERSION = "1"
"""Of how the context and the query are put together."""

UNBILLED = frozenset({"api.openai.com"})
"""Hosts that ask nothing for moderation. What others ask is not listed anywhere."""


@dataclass(frozen=True)
class Verdicts:
    """The scores of an answer, by category, and the model that gave them."""

    scores: Mapping[str, float]
    model_version: str | None
    flagged: tuple[str, ...] | None = None
    """Categories that the endpoint itself says apply; None where it does not say."""


def read_scores(text: str) -> Verdicts:
    """The scores in the body of an answer of `/moderations`. Raises WrongShape: there are none."""
    payload = parsed(text)
    try:
        result = payload["results"][0]
        scores = {str(name): float(value) for name, value in result["category_scores"].items()}
        said = result.get("categories")
        flagged = tuple(str(name) for name, applies in said.items() if applies) if said is not None else None
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise WrongShape("the answer has no results[0].category_scores") from error
    return Verdicts(scores, optional_text(payload.get("model")), flagged)


class ModerationJudge(LocalJudge):
    """Gives minus the score of one category, or of the highest.

    A cost limit holds where the provider bills nothing. Answers do not say how many tokens were read, so no limit on
    tokens can be kept.
    """

    elicitations: tuple[Elicitation, ...] = ("scalar",)
    counts_tokens: bool = False

    def __init__(
        self, name: str, client: EndpointClient, *, model_name: str, category: str | None, profile: GuardProfile
    ) -> None:
        self.name, self.profile = name, profile
        self.client, self.model_name, self.category = client, model_name, category
        endpoint = client.endpoint
        self.sends_to = endpoint.host if endpoint.remote else None
        self.prices: Prices | None = FREE if not endpoint.remote or endpoint.host in UNBILLED else None
        self.id = f"{name}#{digest(self.settings())[:12]}"

    @classmethod
    def named(
        cls,
        name: str,
        where: str,
        *,
        profile: GuardProfile | None = None,
        options: ModelOptions | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> ModerationJudge:
        """The judge called `name` of the endpoint and model `PREFIX/MODEL`, or of one of its categories, `PREFIX/MODEL#CATEGORY`.

        Raises ConfigurationError: the prefix is unknown, the address unusable, or the key is not set.
        """
        options = options or ModelOptions()
        variables = os.environ if environment is None else environment
        where, _, category = where.partition("#")
        endpoint = find_endpoint(where, base_url=options.base_url, environment=variables)
        key = read_key(endpoint, variables) if options.needs_key else None
        client = EndpointClient(endpoint, key=key, options=options.client)
        model_name, profile = parse_model_name(where).model, profile or profile_named("moderation")
        return cls(name, client, model_name=model_name, category=category or None, profile=profile)

    def settings(self) -> dict[str, Any]:
        """What its scores depend on."""
        endpoint = self.client.endpoint
        return {
            "model": self.model_name,
            "base_url": endpoint.base_url if endpoint.remote else "this machine",
            "category": self.category,
            "text_version": VERSION,
            "guard": self.profile.id,
        }

    def notes(self) -> tuple[str, ...]:
        """What its numbers are."""
        what = f"of {self.category!r}" if self.category else "that is highest"
        return (
            f"'{self.name}' gives minus the score {what}; it has no threshold of its own.",
            *profile_notes(self.name, self.profile),
        )

    def shared_key(self, ask: Ask) -> str:
        """Equal for asks that one call answers."""
        return digest([self.text(ask), ask.repeat, ask.attempt])

    def text(self, ask: Ask) -> str:
        """What is moderated: the circumstances, where any are shown, and the request."""
        shown = ask.shown
        request = f"Request to a chatbot:\n{shown.query}"
        return f"Circumstances:\n{in_words(shown.context)}\n\n{request}" if shown.context else request

    async def answer(self, ask: Ask) -> Answer:
        """Minus the score; unscored where the endpoint gives none."""

        def body(_can: Capabilities) -> dict[str, Any]:
            return {"model": self.model_name, "input": self.text(ask)}

        try:
            called = await self.client.call(Request("moderations", self.model_name, body, read_scores))
        except Rejected as error:
            return Answer(Unscored(reason=UnscoredReason(error.reason), detail=str(error)))
        except Unavailable as error:
            return Answer(Unscored(reason=UnscoredReason.UNAVAILABLE, detail=str(error)))
        scores = called.value.scores
        return Answer(
            Scored(value=-self.score(scores)),
            latency_s=round(called.latency_s, 4),
            model_version=called.value.model_version,
            categories=called.value.flagged,
            detail={"scores": dict(scores)},
        )

    def score(self, scores: Mapping[str, float]) -> float:
        """The category's score, or the highest. Raises ConfigurationError: the endpoint has no such category."""
        if self.category is None:
            return max(scores.values())
        if self.category not in scores:
            raise ConfigurationError(
                f"{self.model_name!r} has no category {self.category!r}; it has {', '.join(sorted(scores))}"
            )
        return scores[self.category]

    async def close(self) -> None:
        """Close all connections."""
        await self.client.close()
