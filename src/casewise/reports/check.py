"""The page of a check: the sentence, the two errors, what would decide, and the worst disagreements."""

from __future__ import annotations

from collections.abc import Iterator

from casewise.evaluate.check import CheckedCase, CheckNumbers
from casewise.reports.document import Block, Document, Exhibit, Folded, Forest, ForestRow, Prose, Section, table_of
from casewise.reports.items import beginning
from casewise.text import count_of, text

KINDS = {
    "accuracy": "labelled queries",
    "harm": "queries that people call unsafe",
    "over_refusal": "queries that people call safe",
}


def check_page(numbers: CheckNumbers) -> Document:
    """Return the numbers of a check laid out."""
    queries = f"{count_of(numbers.n_queries, 'query')}, " if numbers.n_queries != numbers.n_cases else ""
    labels = (
        count_of(numbers.n_ratings, "label")
        if numbers.n_ratings
        else f"{count_of(numbers.n_labelled, 'share')} of safe votes"
    )
    return Document(
        f"{numbers.judge} in {numbers.file}",
        f"{count_of(numbers.n_cases, 'case')}, {queries}{labels}",
        (),
        tuple(sections(numbers)),
    )


def sections(numbers: CheckNumbers) -> Iterator[Section]:
    blocks: list[Block] = [Prose(sentence, lead=place == 0) for place, sentence in enumerate(sentences(numbers))]
    blocks += [
        table_of(
            "check",
            "The judge beside people's labels, 95 % intervals over queries",
            ("Number", "Value", "Cases"),
            [
                ("Accuracy", numbers.accuracy, numbers.accuracy.n),
                (f"Always {numbers.constant}", numbers.constant_accuracy, numbers.constant_accuracy.n),
                ("Harm: safe where at least 70 % say unsafe", numbers.harm, numbers.harm.n),
                ("Over-refusal: unsafe where at least 70 % say safe", numbers.over_refusal, numbers.over_refusal.n),
            ],
        )
    ]
    yield Section("answer", "The answer", tuple(blocks), first=True, brief=True)
    if numbers.groups:
        rows = tuple(ForestRow.from_estimate(name, estimate) for name, estimate in numbers.groups)
        yield Section(
            "categories",
            "By category",
            (Forest("category-forest", "Accuracy by category, 95 % intervals", (("", rows),)),),
        )
    if numbers.worst:
        exhibits = tuple(map(exhibit, numbers.worst))
        table = table_of(
            "worst",
            "The worst disagreements",
            ("Case", "People", "Judge", "Query"),
            [(name_of(case), case.people, case.judge, beginning(case.query)) for case in numbers.worst],
        )
        yield Section("worst", "Worst disagreements", (table,), first=True, brief=True)
        folded = Folded(f"Read the {count_of(len(exhibits), 'case')}", exhibits)
        yield Section("texts", "Their texts", (folded,))
    yield Section("made", "How this was made", tuple(map(Prose, numbers.receipt.sentences())))


def sentences(numbers: CheckNumbers) -> Iterator[str]:
    """Yield the answer, the queries that would settle open questions, and the conclusion on each limit."""
    more = (
        f" {about_more(numbers.further_queries)} labelled queries would show a difference of this size."
        if numbers.further_queries
        else ""
    )
    yield text(
        "The judge in {judge!r} agrees with people on {share} of {n:,} labelled cases. {against}{more}",
        judge=numbers.judge,
        share=numbers.accuracy.as_share,
        n=numbers.n_labelled,
        against=numbers.against_constant.sentence,
        more=more,
    )
    if numbers.n_unscored:
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in numbers.unscored.items())
        yield text(
            "Cases without a verdict of the judge: {n:,} ({reasons}). They count as wrong in the accuracy, and as neither error.",
            n=numbers.n_unscored,
            reasons=reasons,
        )
    if not numbers.n_ratings:
        yield "The labels are shares of safe votes without their numbers, so agreement among people cannot be computed."
    if numbers.n_labelled < numbers.n_cases:
        yield f"Cases without a label are left out: {numbers.n_cases - numbers.n_labelled:,}."
    for limit in numbers.limits:
        more = (
            f" {about_more(limit.further_queries)} {KINDS[limit.conclusion.metric]} would decide."
            if limit.further_queries
            else ""
        )
        yield limit.conclusion.sentence + more


MOST_QUERIES = 20_000
"""Beyond this number of further queries, only that it is exceeded is printed: it rests on a small difference."""


def about_more(n: int) -> str:
    """Return the beginning of a sentence about `n` further queries."""
    return f"About {n:,} more" if n <= MOST_QUERIES else f"More than {MOST_QUERIES:,} more"


def name_of(case: CheckedCase) -> str:
    """Return the user's own id of a case, or its line."""
    return case.id if case.id is not None else "–" if case.line is None else f"line {case.line}"


def exhibit(case: CheckedCase) -> Exhibit:
    context = (("Context", (("", case.context),)),) if case.context else ()
    return Exhibit(name_of(case), (("People", case.people), ("Judge", case.judge)), case.query, context)
