"""What a release says of itself in words: the data card and the terms."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime
from typing import NamedTuple

from casewise.contexts.reviewing.statistics import ReviewStatistics
from casewise.storage.benchmarks.benchmark import Benchmark

__all__ = ["TERMS", "Writer", "data_card"]

TERMS = """# Terms of use

This benchmark holds harmful requests, and descriptions of circumstances in which answering them is appropriate. Such
descriptions can be misused to make a chatbot answer what it should not. Whoever uses it agrees:

1. to use it only to measure, study or improve how systems decide what to answer;
2. not to train a model on it, and to keep it out of training data (the canary string helps to filter it);
3. not to put its queries or contexts, whole or in part, where anybody can read them without agreeing to these terms,
   beyond a few examples in a scientific publication;
4. to pass it on only together with these terms;
5. not to try to find out who the people behind the revisions are.

The owners of the queries may have terms of their own; they go before these.
"""


REVIEWED = (
    "Two reviewers read each one independently and revised it; where they differed they",
    "discussed it until both accepted one wording. A third person who had written none of it approved or returned",
    "it, and both reviewers checked it once more. People appear under pseudonyms.",
    "",
)
UNREVIEWED = ("They stand as they came, and nobody reviewed them: for a study of what review is worth.", "")


class Writer(NamedTuple):
    """A model that wrote contexts, as it was asked."""

    model: str
    version: str | None
    """As the endpoint names itself."""
    prompt: str | None
    contexts: int
    first: date
    last: date

    def __str__(self) -> str:
        version = f" ({self.version})" if self.version not in (None, self.model) else ""
        prompt = f", prompt {self.prompt}" if self.prompt else ""
        until = f" to {self.last}" if self.last != self.first else ""
        return f"- {self.model}{version}{prompt}: {self.contexts} contexts, {self.first}{until}"


def data_card(
    benchmark: Benchmark, found: ReviewStatistics, *, writers: list[Writer], now: datetime, reviewed: bool = True
) -> str:
    """The data card of a release, in Markdown."""
    about, counts = benchmark.about, benchmark.counts
    conditions = Counter(item.condition for item in benchmark.items)
    gated = "yes: give it only to people who accept TERMS.md" if about.gated else "no"
    rows = [
        f"# Data card: {about.name} {about.version}",
        "",
        f"Released {now:%Y-%m-%d}. Licence: {about.licence or 'none stated'}. Gated: {gated}.",
        f"Canary: `{about.canary}` (it stands in this file, in the manifest and in every context).",
        "",
        "## What it is",
        f"{counts.queries} queries in {len({q.category for q in benchmark.queries})} categories of {benchmark.taxonomy.name},",
        f"{counts.items} items ({', '.join(f'{name}: {n}' for name, n in sorted(conditions.items()))}),",
        f"{counts.contexts} contexts counting every wording on the way, {counts.revisions} revisions.",
        f"Contexts state the parameters of {benchmark.parameters.name}: {', '.join(benchmark.parameters.names)}.",
        "It is meant for measuring whether a judge decides in context. It is not meant for training,",
        "and a context's intent is its author's, not a label: people's ratings make labels.",
        "",
        "## How it was made",
        "The contexts were written by:",
        "",
        *map(str, writers),
        "",
        *(REVIEWED if reviewed else UNREVIEWED),
        *(how_it_went(found) if reviewed else ()),
        "## Risks",
        "Contexts in which it is appropriate to answer a harmful query can serve as templates for jailbreaks; see TERMS.md.",
        "The circumstances are invented, and say nothing about how often they occur.",
        "",
    ]
    return "\n".join(rows)


def how_it_went(found: ReviewStatistics) -> list[str]:
    beyond_chance = "" if found.pi is None else f"; Scott's pi {found.pi:z.2f}"
    return [
        "## How the review went",
        f"- Both reviewers submitted the same words: {found.agreed_at_once}",
        f"- Both, or neither, saw a need to change something: {found.same_need}{beyond_chance}",
        *([f"- One reviewer had written the words anew: {found.own_words}"] if found.own_words.count else []),
        f"- Changed between generation and approval: {found.changed}",
        f"- Returned by an expert at least once: {found.returned}",
        "",
        "In brackets: 95 % Wilson intervals.",
        "",
    ]
