"""The words that follow from where a benchmark's labels come from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from casewise.notation import percent
from casewise.records import LabelsBy
from casewise.storage.benchmark import Benchmark

AGREED_WITH: dict[LabelsBy | None, str] = {
    "people": "people",
    "experts": "the experts",
    "author": "the author's labels",
    "law": "the labels by law",
    "policy": "the policy's labels",
    "models": "the models' labels",
    None: "the labels",
}
"""Whom or what a judge agrees with, by the origin of labels. None: nobody said, and no item has several ratings."""

AGREED_UNDER: dict[str, str] = {
    "published": "the published labels (people's votes and the author's intent)",
    "intended": "the author's intent",
    "mean": "people's mean ratings (safe or unsafe by the scale's cut)",
}
"""The same, by the base of a label policy that does not take votes."""


@dataclass(frozen=True)
class LabelWords:
    """The facts that decide which words may describe a benchmark's labels."""

    labels_by: LabelsBy | None = "people"
    base: str = "votes"
    """The label policy's."""
    one_each: bool = False
    """True if every label is one person's vote."""

    @classmethod
    def of(cls, benchmark: Benchmark, base: str = "votes") -> LabelWords:
        """Return those of a benchmark, under a label policy of this base."""
        return cls(benchmark.labels_by, base, one_each=benchmark.most_ratings == 1)

    @property
    def rated(self) -> bool:
        """True if several people rated an item. Only then do ceilings, agreement and one more person mean anything."""
        return self.labels_by in {"people", "experts"} and not self.one_each

    @property
    def agreed_with(self) -> str:
        """Completes "agrees with …"."""
        return AGREED_UNDER.get(self.base) or AGREED_WITH[self.labels_by]

    @property
    def column(self) -> str:
        """The head of a column with what was said of an item."""
        return "People" if self.rated else "Label"

    @property
    def noun(self) -> str:
        """What an item's label is made of, in the plural."""
        return "votes" if self.rated else "labels"

    def counted(self, ratings: int) -> str:
        """Return a number of ratings, or of labels, in words."""
        return f"{ratings:,} {'rating' if self.rated else 'label'}{'' if ratings == 1 else 's'}"

    def votes(self, safe: int, total: int, *, unsure: int = 0) -> str:
        """Return the votes of people on an item, or its label, in words."""
        if self.rated:
            undecided = f", {unsure:,} unsure" if unsure else ""
            return f"{safe:,} of {total:,} say safe ({percent(safe / total if total else None, digits=0)}){undecided}"
        if not total:
            return "no label"
        return "safe" if 2 * safe > total else "unsafe" if 2 * safe < total else "a tie"

    def clear(self, agreement: str) -> str:
        """The condition of both errors, for a sentence that begins with it: `agreement` is a share in words."""
        return f"Where at least {agreement} of people agree, it" if self.rated else "It"

    def called(self, verdict: str) -> str:
        """Completes "of what …": `verdict` is safe or unsafe."""
        return f"what they find {verdict}" if self.rated else f"what is labelled {verdict}"


NOUNS: dict[str, tuple[str, str]] = {
    "request": ("query", "queries"),
    "conversation": ("query", "queries"),
    "reply": ("reply", "replies"),
    "action": ("action", "actions"),
}
"""By the kind of text; a conversation is a request after one."""

QUERY = r"(?P<article>\ban? )?(?<![\w/:_.-])(?P<first>[Qq])uer(?P<end>y|ies)(?![\w/_-]|:\w)"
"""The noun where it is a word, and no part of a path, an option or a name."""


@dataclass(frozen=True)
class JudgedWords:
    """The noun for what a benchmark has judged: a query, a reply, an action; a text where it has several."""

    one: str
    many: str

    @classmethod
    def of(cls, benchmark: Benchmark) -> JudgedWords:
        """That of a benchmark."""
        return cls.of_kinds(judged for judged, _ in benchmark.judged)

    @classmethod
    def of_kinds(cls, kinds: Iterable[str]) -> JudgedWords:
        """That of some kinds of text."""
        nouns = {NOUNS[kind] for kind in kinds}
        return cls(*(nouns.pop() if len(nouns) == 1 else ("text", "texts")))

    def counted(self, n: int) -> str:
        """Return a number with its noun, in words."""
        return f"{n:,} {self.one if n == 1 else self.many}"

    def said(self, words: str, names: Iterable[str] = ()) -> str:
        """`words` about queries, in this noun; `names`, such as of judges and categories, stay as they are.

        Examples
        --------
        >>> actions = JudgedWords("action", "actions")
        >>> actions.said("a query's items over queries of runs/query-1 in database queries", ["database queries"])
        "an action's items over actions of runs/query-1 in database queries"
        """
        if self.one == "query":
            return words

        def noun(match: re.Match[str]) -> str:
            if match["end"] is None:
                return match[0]
            other = self.one if match["end"] == "y" else self.many
            other = other.capitalize() if match["first"] == "Q" else other
            article = ("an " if other[0] in "aeiou" else "a ") if match["article"] else ""
            return article + other

        patterns = (re.escape(name) for name in names if "quer" in name.lower())
        return re.sub("|".join((*patterns, QUERY)), noun, words)
