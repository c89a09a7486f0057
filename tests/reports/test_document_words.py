"""The words of a page follow who labelled a benchmark, and what is judged."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient
from tests.audits.builders import benchmark_of, crowd

import casewise
from casewise import api
from casewise.api.replying import compare_says_does
from casewise.models.protocol import FakeModel
from casewise.reports.formats import Report
from casewise.reports.power import judges as power_of_judges
from casewise.stats.thresholds import Requirements
from casewise.storage.benchmark import Benchmark
from casewise.storage.benchmark_folder import write_benchmark
from casewise.studies.report import study_report
from casewise.web.viewing import create_view

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


def reports_of(benchmark: Benchmark, folder: Path) -> dict[str, Any]:
    """A report of each kind on two runs over a benchmark, by name."""
    other = casewise.judge(benchmark, "constant:safe", out=folder / "safe")
    run = casewise.judge(benchmark, careless, elicitations="probability", out=folder / "careless")
    attacked = api.attack(
        benchmark, careless, attacks="claim:authority/user/safe", out=folder / "attacked", elicitations="probability"
    )
    return {
        "report": casewise.report(run, benchmark=benchmark),
        "compare": casewise.compare(run, other, benchmark=benchmark),
        "leaderboard": casewise.leaderboard(run, other, benchmark=benchmark),
        "audit": casewise.audit(benchmark),
        "gate": api.gate(other, other, max_drop={"accuracy": 0.05}, benchmark=benchmark),
        "decider": api.fit_decider(run, Requirements(ratio=5), benchmark=benchmark, judge=careless),
        "robustness": api.robustness(attacked, benchmark=benchmark),
    }


def hits(pattern: re.Pattern[str], pages: Mapping[str, str]) -> str:
    """Where a pattern stands in pages."""
    lines = {
        f"{name}: …{page[max(0, hit.start() - 80) : hit.end() + 60]!r}"
        for name, page in ((name, UNREAD.sub("", page)) for name, page in pages.items())
        for hit in pattern.finditer(page)
    }
    return "\n".join(sorted(lines))


@pytest.fixture(scope="module")
def by_an_author(tmp_path_factory) -> dict[str, str]:
    """Every page, its JSON and the view of two runs over a benchmark that its author labelled, by name."""
    folder = tmp_path_factory.mktemp("gold")
    gold = by_the_author()
    reports = reports_of(gold, folder)
    model = FakeModel(lambda _messages, _options: "answers it", name="openai/x")
    does = casewise.collect(gold, model, out=folder / "replies")
    casewise.grade(does, lambda _query, reply: reply.split()[0], benchmark=gold)
    reports["replies"] = casewise.report(does.path, benchmark=gold)
    reports["says and does"] = compare_says_does([folder / "careless"], [does.path], benchmark=gold)
    pages = {}
    for name, report in reports.items():
        pages[name] = report.to_markdown()
        pages[f"{name}, as a web page"] = report.to_html()
        pages[f"{name}, as JSON"] = "\n".join(texts(report.as_json()))
    view = create_view(api.view(folder / "careless", benchmark=gold), port=80)
    client = TestClient(view, base_url="http://127.0.0.1")
    return pages | {f"view, {path}": client.get(path).text for path in ("/", "/item/1", "/item/2")}


@pytest.mark.slow
def test_no_page_of_a_benchmark_that_its_author_labelled_speaks_of_people(by_an_author):
    assert not hits(PEOPLE, by_an_author)


@pytest.mark.slow
def test_a_report_says_whose_labels_a_judge_agrees_with(by_an_author):
    assert "agrees with the author's labels on" in by_an_author["report"]


@pytest.mark.slow
def test_one_expert_an_item_is_no_crowd(tmp_path):
    gold = by_the_author()
    experts = replace(gold, about=gold.about.model_copy(update={"labels_by": "experts"}))
    pages = {name: report.to_markdown() for name, report in reports_of(experts, tmp_path).items()}

    assert not hits(PEOPLE, pages)
    assert "agrees with the experts on" in pages["report"]


@pytest.mark.slow
@pytest.mark.parametrize(("judged", "nouns"), [("reply", "replies"), ("action", "actions")])
def test_no_page_of_a_benchmark_of_replies_or_actions_calls_one_a_query(tmp_path, judged, nouns):
    rows = crowd(np.random.default_rng(1), queries=40)
    texts_of = [replace(row, query=row.query.replace("query", "text")) for row in rows]
    benchmark = benchmark_of(texts_of, name="of-another-kind", judged=judged)
    folder = write_benchmark(benchmark, tmp_path / "benchmark")
    runs = [tmp_path / "careless", tmp_path / "safe"]
    reports = reports_of(benchmark, tmp_path) | {
        "recommendation": api.recommend(*runs, benchmark=benchmark),
        "paper": api.paper(runs[1], benchmark=benchmark, outputs=()),
        "study": study_report(folder),
        "power": Report(dict[str, object](), lambda _: power_of_judges(0.05, runs, benchmark=benchmark).document),
        "benchmark": api.show_benchmark(benchmark),
        "item": api.show_benchmark(benchmark, benchmark.items[0].id),
        "run": api.show_run(runs[0], benchmark=str(folder)),
        "item of a run": api.show_run(runs[0], benchmark.items[0].id, benchmark=str(folder)),
    }
    pages = {name: report.to_markdown() for name, report in reports.items()}
    pages |= {f"{name}, as a web page": report.to_html() for name, report in reports.items()}
    view = TestClient(create_view(api.view(runs[0], benchmark=benchmark), port=80), base_url="http://127.0.0.1")
    pages |= {f"view, {path}": view.get(path).text for path in ("/", "/item/1")}

    assert not hits(re.compile(r"(?i)(?<![\w/_.-])quer(y|ies)\b"), pages)
    assert f"over {nouns}" in pages["report"]
    assert f"of {len(benchmark.queries)} {nouns}; labels" in pages["compare"]
