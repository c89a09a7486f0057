"""The words of a context, which reviewers revise, apart from whose query it belongs to and who wrote it; remarks on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from casewise.errors import CasewiseError
from casewise.prompting.context_words import labels_of
from casewise.records import (
    Context,
    ParameterSet,
    Provenance,
    Recipient,
    Record,
    Sender,
    TransmissionPrinciple,
    paper_parameters,
)
from casewise.records.context import Origin, grouped, shown_of, texts_of
from casewise.records.statement import Text

__all__ = ["Remark", "Wording", "WordingProblem"]


class WordingProblem(CasewiseError):
    """Words that are no context: a parameter without text, or one that does not exist."""


class Wording(Record):
    """The parameters of a context and nothing else. Two wordings are equal when all their words are."""

    sender: Sender | None = None
    recipient: Recipient | None = None
    transmission_principle: TransmissionPrinciple | None = None
    subject: Text | None = None
    information_type: Text | None = None
    own: dict[str, dict[str, Text]] | None = None
    """Groups of another set of parameters than the paper's."""

    @classmethod
    def from_fields(cls, fields: Mapping[str, str], parameters: ParameterSet = paper_parameters()) -> Self:
        """The wording in a flat form: dotted names to texts. Space around a text and empty texts do not count.

        Raises WordingProblem: a parameter that must have a text has none; the message names it as the page does.
        """
        texts = {name: " ".join(fields.get(name, "").split()) for name in parameters.every}
        if missing := [name for name in parameters.required if not texts[name]]:
            labels = labels_of(parameters)
            raise WordingProblem(f"Say something in: {', '.join(labels[name] for name in missing)}.")
        if not any(texts.values()):
            raise WordingProblem("Say something.")
        nested: dict[str, Any] = {}
        for name, text in texts.items():
            group, _, parameter = name.partition(".")
            if text and parameter:
                nested.setdefault(group, {})[parameter] = text
            elif text:
                nested[group] = text
        return cls(**grouped(nested))

    def fields(self) -> dict[str, str]:
        """Dotted names to texts, in reading order; what is not said is left out."""
        return texts_of(shown_of(self))

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
