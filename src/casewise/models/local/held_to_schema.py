"""Replies held to a JSON schema: of all tokens only those may follow that keep the text a beginning of such JSON.

Known are objects of given properties, texts, and choices among given values: all that casewise asks for. A text is written
without escapes. The schema's own order and one space after colons and commas are the only way to write it, so that what a
text has come to is a place in a short list of steps.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from casewise.errors import ConfigurationError

__all__ = ["HeldToSchema", "SchemaGrammar", "SchemaPlace", "TokenTexts"]

CLOSING = 12
"""Tokens before the limit from which on a text ends, so that the object is whole."""


class SchemaPlace(NamedTuple):
    """Where a text stands: in which step, and after how many characters, or after which, of it."""

    step: int
    said: str = ""


@dataclass(frozen=True)
class SchemaGrammar:
    """The steps of a text: each one of several wordings, or a text of any length (None)."""

    steps: tuple[tuple[str, ...] | None, ...]

    @classmethod
    def of(cls, schema: Mapping[str, Any]) -> SchemaGrammar:
        """The steps in which JSON of this schema is written.

        Raises ConfigurationError: the schema asks for something that is not known here.
        """
        merged: list[tuple[str, ...] | None] = []
        for step in steps_of(schema):
            before = merged[-1] if merged else None
            if step is not None and before is not None:
                merged[-1] = tuple(one + other for one in before for other in step)
            else:
                merged.append(step)
        return cls(tuple(merged))

    @property
    def end(self) -> SchemaPlace:
        """Where nothing is left to say."""
        return SchemaPlace(len(self.steps))

    def after(self, place: SchemaPlace, text: str) -> SchemaPlace | None:
        """Where `text` leads from `place`; None where it may not stand there."""
        for character in text:
            following = self._step(place, character)
            if following is None:
                return None
            place = following
        return place

    def _step(self, place: SchemaPlace, character: str) -> SchemaPlace | None:
        if place == self.end:
            return None
        wordings = self.steps[place.step]
        if wordings is None:
            if character == '"':
                return self._step(SchemaPlace(place.step + 1), character)
            return None if character == "\\" or ord(character) < 0x20 else place
        said = place.said + character
        if said in wordings:  # no wording begins another, for each ends as JSON does
            return SchemaPlace(place.step + 1)
        return SchemaPlace(place.step, said) if any(one.startswith(said) for one in wordings) else None

    def in_text(self, place: SchemaPlace) -> bool:
        """Whether a text of any length is being said there."""
        return place != self.end and self.steps[place.step] is None


def steps_of(schema: Mapping[str, Any]) -> Iterator[tuple[str, ...] | None]:
    if "enum" in schema:
        written = [json.dumps(value, ensure_ascii=False) for value in schema["enum"]]
        yield tuple(written)
    elif schema.get("type") == "string":
        yield ('"',)
        yield None
        yield ('"',)
    elif schema.get("type") == "object":
        for at, (name, value) in enumerate(schema["properties"].items()):
            yield (f"{', ' if at else '{'}{json.dumps(name)}: ",)
            yield from steps_of(value)
        yield ("}",)
    else:
        raise ConfigurationError(f"a local model can be held to objects, texts and choices, not to {dict(schema)!r}")


@dataclass
class TokenTexts:
    """What each token of a tokenizer says, and which of them may follow at a place of a grammar."""

    tokenizer: Any
    ends: Sequence[int]
    """Tokens that end a reply."""

    @cached_property
    def texts(self) -> list[str]:
        """Each token's characters; empty for special ones. One is read after another, for some begin with a space only there."""
        before = self.tokenizer("{", add_special_tokens=False)["input_ids"][-1]
        length = len(self.tokenizer.decode([before], clean_up_tokenization_spaces=False))
        special = {*self.tokenizer.all_special_ids, *self.ends}
        size = len(self.tokenizer)
        pairs = self.tokenizer.batch_decode([[before, id_] for id_ in range(size)], clean_up_tokenization_spaces=False)
        return ["" if id_ in special else text[length:] for id_, text in enumerate(pairs)]

    def allowed(self, grammar: SchemaGrammar, place: SchemaPlace, *, closing: bool) -> list[int]:
        """The tokens that may follow; with `closing` a text must end now. A model without an end goes on as it likes."""
        if place == grammar.end:
            return list(self.ends) or list(range(len(self.texts)))
        found = [
            (id_, after)
            for id_, text in enumerate(self.texts)
            if text and (after := grammar.after(place, text)) is not None
        ]
        if closing and grammar.in_text(place):
            found = [(id_, after) for id_, after in found if after.step > place.step]
        return [id_ for id_, _ in found]


class HeldToSchema:
    """A logits processor for `generate`: one row a reply, which begins after the first `width` tokens."""

    def __init__(self, texts: TokenTexts, grammar: SchemaGrammar, *, width: int, max_tokens: int) -> None:
        self.texts, self.grammar, self.width, self.max_tokens = texts, grammar, width, max_tokens
        self.places: list[SchemaPlace] = []
        self.known: dict[tuple[SchemaPlace, bool], Any] = {}

    def __call__(self, ids: Any, scores: Any) -> Any:
        """The scores with those of tokens that may not follow at minus infinity."""
        import torch

        said = ids.shape[1] - self.width
        if not said:
            self.places = [SchemaPlace(0)] * len(ids)
        else:
            self.places = [self.moved(place, int(row[-1])) for place, row in zip(self.places, ids, strict=True)]
        closing = self.max_tokens - said <= CLOSING
        held = torch.full_like(scores, float("-inf"))
        for row, place in enumerate(self.places):
            may = self.allowed(place, closing=closing, device=scores.device)
            held[row, may] = scores[row, may]
        return held

    def moved(self, place: SchemaPlace, token: int) -> SchemaPlace:
        return self.grammar.after(place, self.texts.texts[token]) or place

    def allowed(self, place: SchemaPlace, *, closing: bool, device: Any) -> Any:
        import torch

        if (place, closing) not in self.known:
            may = self.texts.allowed(self.grammar, place, closing=closing)
            self.known[place, closing] = torch.tensor(may, device=device)
        return self.known[place, closing]
