"""A benchmark whose labels an author wrote: no page of it speaks of people who rated."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.audits.builders import benchmark_of, crowd

import casewise
from casewise import api
from casewise.api.replying import compare_says_does
from casewise.models.protocol import FakeModel
from casewise.stats.thresholds import Wanted
from casewise.storage.benchmark import Benchmark
from casewise.web.viewing import write_view

PEOPLE = re.compile(
    r"\b(people|people's|persons?|raters?|annotators?|crowd|ratings?|one of them|second study)\b", re.IGNORECASE
)


UNREAD = re.compile(
    r"<style.*?</style>|<script.*?</script>|\b(?:id|class|href|for|aria-labelledby)=\"[^\"]*\"|"
    r"asks a person|A person is asked|asked a person",
    re.DOTALL,
)
"""Parts of a page that nobody reads, and what a decider does with a request, which says nothing of labels."""


def by_the_author() -> Benchmark:
    """Pairs of contexts, each with the one label that its author intends; no text in it speaks of anybody."""
    rows = crowd(np.random.default_rng(1), queries=40)
    made = benchmark_of([replace(row, votes=(int(bool(row.intended_safe)),)) for row in rows], name="gold")
    return replace(made, about=made.about.model_copy(update={"labels_by": "author"}))


def careless(query: str, context: Mapping[str, Any]) -> float:
    """Right on most items, from a word that the demo's unsafe contexts seldom have."""
    return 0.2 + (len(query) + 7 * len(str(context))) % 61 / 100


def texts(value: object) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from texts(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from texts(inner)


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, str]:
    """Every page, its JSON and the view of two runs over a benchmark that its author labelled, by name."""
    folder = tmp_path_factory.mktemp("gold")
    gold = by_the_author()
    other = casewise.judge(gold, "constant:safe", out=folder / "safe")
    run = casewise.judge(gold, careless, elicitations="probability", out=folder / "careless")
    attacked = api.attack(
        gold, careless, attacks="claim:authority/user/safe", out=folder / "attacked", elicitations="probability"
    )
    model = FakeModel(lambda _messages, _options: "answers it", name="openai/x")
    does = casewise.collect(gold, model, out=folder / "replies")
    casewise.grade(does, lambda _query, reply: reply.split()[0], benchmark=gold)
    reports: dict[str, Any] = {
        "replies": casewise.report(does.path, benchmark=gold),
        "says and does": compare_says_does([run], [does.path], benchmark=gold),
        "report": casewise.report(run, benchmark=gold),
        "compare": casewise.compare(run, other, benchmark=gold),
        "leaderboard": casewise.leaderboard(run, other, benchmark=gold),
        "audit": casewise.audit(gold),
        "gate": api.gate(other, other, max_drop={"accuracy": 0.05}, benchmark=gold),
        "decider": api.fit_decider(run, Wanted(ratio=5), benchmark=gold, judge=careless),
        "robustness": api.robustness(attacked, benchmark=gold),
    }
    found = {}
    for name, report in reports.items():
        found[name] = report.to_markdown()
        found[f"{name}, as a web page"] = report.to_html()
        found[f"{name}, as JSON"] = "\n".join(texts(report.as_json()))
    write_view(api.view(run, benchmark=gold), folder / "view")
    for page in (folder / "view").glob("*.html"):
        found[f"view, {page.name}"] = page.read_text()
    return {name: UNREAD.sub("", page) for name, page in found.items()}


def test_no_page_of_a_benchmark_that_its_author_labelled_speaks_of_people(pages):
    lines = {
        f"{name}: …{page[max(0, hit.start() - 80) : hit.end() + 60]!r}"
        for name, page in pages.items()
        for hit in PEOPLE.finditer(page)
    }

    assert not lines, "\n".join(sorted(lines))


def test_a_report_says_whose_labels_a_judge_agrees_with(pages):
    assert "agrees with the author's labels on" in pages["report"]
