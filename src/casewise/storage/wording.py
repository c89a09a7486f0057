"""The words that follow from where a benchmark's labels come from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from casewise.notation import percent
from casewise.records import LabelsBy
from casewise.storage.benchmark import Benchmark
from casewise.text import QUERY, Noun

AGREED_WITH: dict[LabelsBy | None, str] = {
    "people": "people",
    "experts": "the experts",
    "author": "the author's labels",
    "law": "the labels by law",
    "policy": "the policy's labels",
    "models": "the models' labels",
    None: "the labels",
}
"""The source of labels in words, by the origin of labels. None: it is not stated, and no item has several ratings."""

LABELS_OF: dict[LabelsBy | None, str] = {
    "people": "one person for each item",
    "experts": "one expert for each item",
    "author": "the author's",
    "law": "by law",
    "policy": "the policy's",
    "models": "the models'",
    None: "as stated",
}
"""Whose labels they are, where no several people voted on an item; completes "labels: …"."""

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
    shares: int = 0
    """Items whose label is a share of safe votes without their number, where there are no votes at all."""
    own: tuple[tuple[str, str], ...] = ()
    """The one word of the imported file for each verdict, where it is another."""

    @classmethod
    def for_benchmark(cls, benchmark: Benchmark, base: str = "votes") -> LabelWords:
        """Return the facts about a benchmark's labels under a label policy of this base."""
        receipt = benchmark.about.receipt
        return cls(
            benchmark.labels_by,
            base,
            one_each=benchmark.most_ratings == 1,
            shares=0 if benchmark.ratings else benchmark.n_shares,
            own=() if receipt is None else tuple(receipt.own_words().items()),
        )

    @property
    def rated(self) -> bool:
        """True if several people rated an item. Only then do ceilings, agreement and one more person mean anything."""
        return self.labels_by in {"people", "experts"} and not self.one_each

    @property
    def agreed_with(self) -> str:
        """The source of labels as "agrees with …" names it."""
        return AGREED_UNDER.get(self.base) or AGREED_WITH[self.labels_by]

    def policy(self, name: str) -> str:
        """Return a label policy's name as readers know it: what no people voted on has labels and no votes."""
        base, comma, settings = name.partition(",")
        return (LABELS_OF[self.labels_by] if base == "votes" and not self.rated else base) + comma + settings

    @property
    def column(self) -> str:
        """The head of a column with what was said of an item."""
        return "People" if self.rated else "Label"

    @property
    def noun(self) -> str:
        """The plural noun for what an item's label is made of."""
        return "votes" if self.rated else "labels"

    def counted(self, ratings: int) -> str:
        """Return a number of ratings, of labels or of shares, in words."""
        if self.shares:
            return f"{self.shares:,} share{'' if self.shares == 1 else 's'} of safe votes"
        return f"{ratings:,} {'rating' if self.rated else 'label'}{'' if ratings == 1 else 's'}"

    def votes(self, safe: int, total: int, *, unsure: int = 0, share: float | None = None) -> str:
        """Return the votes of people on an item, their share, or its label, in words; a label in the file's word, too."""
        if not total and not unsure:
            return "no label" if share is None else f"{percent(share, digits=0)} say safe"
        if self.rated:
            undecided = f", {unsure:,} unsure" if unsure else ""
            return f"{safe:,} of {total:,} say safe ({percent(safe / total if total else None, digits=0)}){undecided}"
        label = "safe" if 2 * safe > total else "unsafe" if 2 * safe < total else "a tie"
        return f"{label} (“{dict(self.own)[label]}” in the file)" if label in dict(self.own) else label

    def clear(self, agreement: str) -> str:
        """Return the condition of both errors, for a sentence that begins with it: `agreement` is a share in words."""
        return f"Where at least {agreement} of people agree, it" if self.rated else "It"

    def called(self, verdict: str) -> str:
        """Return the end of "of what …" for a verdict, safe or unsafe."""
        return f"what they find {verdict}" if self.rated else f"what is labelled {verdict}"


NOUNS: dict[str, Noun] = {
    "request": QUERY,
    "conversation": QUERY,
    "reply": Noun("reply", "replies"),
    "action": Noun("action", "actions"),
}
"""The noun for what is judged by the kind of text; a conversation is a request after one."""


def noun_of(benchmark: Benchmark) -> Noun:
    """Return the noun for what a benchmark has judged: query, reply, action; text where it has several."""
    return noun_of_kinds(judged for judged, _ in benchmark.judged)


def noun_of_kinds(kinds: Iterable[str]) -> Noun:
    """Return the noun for texts of these kinds."""
    nouns = {NOUNS[kind] for kind in kinds}
    return nouns.pop() if len(nouns) == 1 else Noun("text", "texts")
