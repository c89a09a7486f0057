"""The words of a context, which reviewers revise, apart from whose query it belongs to and who wrote it; remarks on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import ValidationError

from casewise.errors import CasewiseError
from casewise.prompting.context_words import FOR_REVIEWERS
from casewise.records import PARAMETERS, Context, Provenance, Recipient, Record, Sender, TransmissionPrinciple
from casewise.records.context import OPTIONAL, Origin
from casewise.records.statement import Text, as_text

__all__ = ["NAMES", "Remark", "Wording", "WordingProblem"]

NAMES = (*PARAMETERS, *OPTIONAL)
"""Dotted names of all that a wording may say, in reading order."""


class WordingProblem(CasewiseError):
    """Words that are no context: a parameter without text, or one that does not exist."""


class Wording(Record):
    """The parameters of a context and nothing else. Two wordings are equal when all their words are."""

    sender: Sender
    recipient: Recipient
    transmission_principle: TransmissionPrinciple
    subject: Text | None = None
    information_type: Text | None = None

    @classmethod
    def of(cls, context: Context) -> Self:
        """The words of `context`."""
        return cls.model_validate(context.shown())

    @classmethod
    def from_fields(cls, fields: Mapping[str, str]) -> Self:
        """The wording in a flat form: dotted names to texts. Space around a text and empty texts do not count.

        Raises
        ------
        WordingProblem
            A parameter that must have a text has none; the message names it as the page does.
        """
        nested: dict[str, Any] = {"sender": {}, "recipient": {}, "transmission_principle": {}}
        for name in NAMES:
            text = " ".join(fields.get(name, "").split())
            group, _, parameter = name.partition(".")
            if text and parameter:
                nested[group][parameter] = text
            elif text:
                nested[group] = text
        try:
            return cls.model_validate(nested)
        except ValidationError as error:
            missing = [FOR_REVIEWERS[".".join(str(part) for part in problem["loc"])] for problem in error.errors()]
            raise WordingProblem(f"Say something in: {', '.join(missing)}.") from error

    def fields(self) -> dict[str, str]:
        """Dotted names to texts, in reading order; what is not said is left out."""
        said: dict[str, str] = {}
        for name in NAMES:
            group, _, parameter = name.partition(".")
            text = getattr(getattr(self, group), parameter) if parameter else getattr(self, group)
            if text is not None:
                said[name] = as_text(text)
        return said

    def context(
        self,
        query_id: str,
        *,
        intended_safe: bool,
        origin: Origin,
        lineage_id: str = "",
        provenance: Provenance | None = None,
    ) -> Context:
        """The context that says this about a query."""
        return Context(
            query_id=query_id,
            intended_safe=intended_safe,
            origin=origin,
            lineage_id=lineage_id,
            provenance=provenance,
            **self.model_dump(),
        )


class Remark(Record):
    """Something a reviewer should look at. It blocks nothing by itself: people decide."""

    check: str
    message: str
    parameter: str | None = None
    """Dotted name of the parameter it is about; None where it is about the whole context."""
    evidence: str | None = None
    """The words that show it."""
    by: str = "rules"
    """`rules`, or the model whose opinion it is."""
