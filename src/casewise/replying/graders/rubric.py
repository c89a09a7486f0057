"""Grading by a model and a rubric: a versioned prompt, read as JSON and nothing else."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from casewise.errors import ConfigurationError, DataError
from casewise.models.http.prices import Prices
from casewise.models.load import LoadedModel
from casewise.models.protocol import Message, Model, Reply, ReplyOptions, Usage, as_messages
from casewise.prompting.json_in_reply import find_objects
from casewise.prompting.refusals import refuses
from casewise.prompting.substitution import filled
from casewise.records import GROUNDS, OUTCOMES, Ungraded
from casewise.records.base import digest
from casewise.records.toml import read_toml, shipped_toml
from casewise.replying.graders.protocol import Graded, ToGrade
from casewise.runs.calls import ChatCalls, NoReply
from casewise.runs.estimate import usually
from casewise.runs.limits import Spend

__all__ = ["ModelGrader", "Rubric", "RubricGrader", "read_grade", "rubric_named"]

MAX_TOKENS = 300
USUAL_REPLY_TOKENS = 50
LONGEST_DETAIL = 120


@dataclass(frozen=True)
class Rubric:
    """What a grading model is asked. The text holds `{query}` and `{reply}`."""

    name: str
    version: str
    text: str

    @property
    def id(self) -> str:
        """Name, version and a digest of the words."""
        return f"{self.name}@{self.version}+{digest(self.text)[:8]}"

    def messages(self, what: ToGrade) -> tuple[Message, ...]:
        """What the model is sent."""
        return as_messages(filled(self.text, {"query": what.query, "reply": what.reply}))


def rubric_named(name: str) -> Rubric:
    """`strict`, `lenient`, or the rubric in a TOML file of one's own: `version` and `text`.

    Raises ConfigurationError: there is no such rubric. DataError: the file cannot be read, or its text does not hold
    `{query}` and `{reply}`.
    """
    if name in (shipped := shipped_rubrics()):
        return shipped[name]
    path = Path(name)
    if not path.is_file():
        raise ConfigurationError(f"no rubric is called {name!r}; there are {', '.join(shipped)}, and TOML files")
    table = read_toml(path, "a rubric")
    text = table.get("text")
    if not isinstance(text, str) or "{query}" not in text or "{reply}" not in text:
        raise DataError(path, None, "has no 'text' that holds {query} and {reply}")
    return Rubric(path.stem, str(table.get("version", "1")), text.strip())


@cache
def shipped_rubrics() -> dict[str, Rubric]:
    found = shipped_toml("casewise.replying.graders", "rubrics.toml")
    text = found.pop("prompt")["text"].strip()
    return {
        name: Rubric(name, table["version"], filled(text, {"definitions": table["definitions"].strip()}))
        for name, table in found.items()
    }


class ModelGrader(ABC):
    """Asks a model what a reply does."""

    counts_tokens = True

    def __init__(self, loaded: LoadedModel, *, name: str, ident: str, options: ReplyOptions) -> None:
        self._loaded, self._options = loaded, options
        self._calls = ChatCalls(loaded.model, loaded.prices)
        self.name, self.id = name, ident

    @abstractmethod
    def messages(self, what: ToGrade) -> tuple[Message, ...]:
        """What the model is sent."""

    @abstractmethod
    def read(self, reply: Reply, **took: Any) -> Graded:
        """What its reply says."""

    @property
    def model(self) -> Model:
        """Whom it asks."""
        return self._loaded.model

    @property
    def sends_to(self) -> str | None:
        """Whom queries and replies are sent to."""
        return self._loaded.model.sends_to

    @property
    def concurrency(self) -> int:
        """How many calls the model wants under way."""
        return self._loaded.model.concurrency

    @property
    def prices(self) -> Prices | None:
        """What the model's tokens cost."""
        return self._loaded.prices

    def settings(self) -> dict[str, Any]:
        """The model's settings."""
        return {**self._loaded.model.settings(), "max_tokens": self._options.max_tokens}

    def notes(self) -> tuple[str, ...]:
        """None: what the numbers are worth is the report's to say."""
        return ()

    def usually(self, what: ToGrade) -> Usage:
        """From the prompt's length, and what such replies usually take."""
        return usually(self.messages(what), reply_tokens=USUAL_REPLY_TOKENS)

    def at_most(self, what: ToGrade) -> Spend:
        """From the prompt's length, and the limit of a reply."""
        return self._calls.at_most(self.messages(what), self._options)

    async def grade(self, what: ToGrade) -> Graded:
        """What the model says that the reply does; a refusal to say so is no grade."""
        found = await self._calls.reply(self.messages(what), self._options)
        if isinstance(found, NoReply):
            return Graded(ungraded=Ungraded(found.reason), detail=found.detail)
        return self.read(found, latency_s=round(found.latency_s, 4), **self._calls.took(found))

    async def close(self) -> None:
        """Give back the model's connections."""
        await self._loaded.model.close()


class RubricGrader(ModelGrader):
    """Asks a model what a reply does, by a rubric."""

    def __init__(self, loaded: LoadedModel, rubric: Rubric) -> None:
        self.rubric, whose = rubric, loaded.model.name
        name, ident = f"{whose}, {rubric.name} rubric", f"rubric:{whose}#{rubric.id}"
        super().__init__(loaded, name=name, ident=ident, options=ReplyOptions(MAX_TOKENS))

    def messages(self, what: ToGrade) -> tuple[Message, ...]:
        """The rubric, filled in."""
        return self.rubric.messages(what)

    def read(self, reply: Reply, **took: Any) -> Graded:
        """Its JSON object."""
        return read_grade(reply, **took)

    def settings(self) -> dict[str, Any]:
        """The model's settings, and the rubric."""
        return {**super().settings(), "rubric": self.rubric.id}


def read_grade(reply: Reply, **took: Any) -> Graded:
    """What a grading model's reply says: one outcome, under the key `outcome` of a JSON object. Prose says nothing."""
    text = reply.text.strip()
    said: dict[str, Any] = {"raw_reply": reply.text, **took}
    if reply.finish_reason == "content_filter":
        return Graded(ungraded=Ungraded.CONTENT_FILTER, detail=reply.refusal, **said)
    if not text:
        return Graded(ungraded=Ungraded.REFUSED if reply.refusal else Ungraded.EMPTY, detail=reply.refusal, **said)
    objects = [found for found in find_objects(text)[0] if "outcome" in found]
    outcomes = {str(found["outcome"]).strip().lower() for found in objects}
    if len(outcomes) == 1 and (outcome := outcomes.pop()) in OUTCOMES:
        ground = str(objects[-1].get("ground", "")).strip().lower()
        kept = ground if ground in GROUNDS and outcome != "answers" else None
        return Graded(outcome, ground=kept, **said)
    if reply.finish_reason == "length":
        reason = Ungraded.TRUNCATED
    else:
        reason = Ungraded.REFUSED if not objects and refuses(text) else Ungraded.UNPARSED
    return Graded(ungraded=reason, detail=" ".join(text.split())[:LONGEST_DETAIL], **said)
