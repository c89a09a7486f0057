"""Generated against revised contexts, by hand and on a benchmark that was joined."""

from dataclasses import replace
from statistics import variance

import polars as pl
import pytest
from scipy.stats import ttest_1samp
from tests.support.benchmarks import context_of

from casewise.api import join, judge, study_report
from casewise.evaluate.study import worth_of_revision
from casewise.records import Item, Query, Rating
from casewise.reports.formats import markdown
from casewise.stats.ratings import code_ratings
from casewise.storage.benchmark import About, Benchmark
from casewise.storage.load import write_benchmark

QUERIES = [Query(text=f"How is tea number {n} brewed?", category="terrorism") for n in range(4)]
SAFE_VOTES = {
    "safe_generated": (1, 2, 3, 2),
    "safe_revised": (4, 3, 3, 4),
    "unsafe_generated": (2, 1, 1, 2),
    "unsafe_revised": (0, 1, 0, 0),
}
"""Of four people, by query."""


def votes():
    rows = [
        {"item_id": f"{condition} {query}", "query_id": str(query), "condition": condition, "verdict": verdict}
        for condition, by_query in SAFE_VOTES.items()
        for query, safe in enumerate(by_query)
        for verdict in ["safe"] * safe + ["unsafe"] * (4 - safe)
    ]
    return code_ratings(pl.DataFrame(rows))


def row(found, **wanted):
    rows = [row for row in found.table.to_dicts() if all(row[name] == value for name, value in wanted.items())]
    assert len(rows) == 1
    return rows[0]


def test_each_measure_is_the_mean_difference_of_the_queries():
    found = worth_of_revision(votes())
    rate = row(found, measure="safe rate", intent="safe")
    reference = ttest_1samp([3 / 4, 1 / 4, 0, 2 / 4], 0).confidence_interval(0.95)

    assert (rate["generated"], rate["revised"], rate["queries"]) == (0.5, 0.875, 4)
    assert (rate["ci_low"], rate["ci_high"]) == pytest.approx((reference.low, reference.high))
    meant = row(found, measure="majority as the author meant", intent="unsafe")
    assert (meant["generated"], meant["revised"]) == (0.75, 1), "half of a tie is as was meant"
    agree = row(found, measure="two people agree", intent="safe")
    assert agree["generated"] == pytest.approx((3 / 6 + 2 / 6 + 3 / 6 + 2 / 6) / 4)
    apart = row(found, measure="safe rate", intent="both")
    assert apart["difference"] == pytest.approx((0.875 - 0.0625) - (0.5 - 0.375))


def test_people_who_differ_throughout_widen_what_people_are_said_to_do():
    rows = [
        {
            "item_id": f"{condition} {query}",
            "query_id": str(query),
            "condition": condition,
            "annotator_id": f"{condition} {place % 4}",
            "verdict": "safe" if place % 4 < safe else "unsafe",
        }
        for condition, by_query in SAFE_VOTES.items()
        for query, safe in enumerate(by_query)
        for place in range(4)
    ]
    people, unknown = (
        row(worth_of_revision(code_ratings(pl.DataFrame(kept))), measure="safe rate", intent="safe")
        for kept in (rows, [{name: one[name] for name in one if name != "annotator_id"} for one in rows])
    )

    assert people["difference"] == unknown["difference"]
    assert people["ci_low"] < unknown["ci_low"] < unknown["ci_high"] < people["ci_high"]
    # A person's part: by how much the mean is less without their votes, item by item, whose sum is squared.
    shares = {name: [safe / 4 for safe in SAFE_VOTES[name]] for name in ("safe_generated", "safe_revised")}
    deviations = [
        [((place < 4 * share) - share) / 3 / 4 for share in of] for of in shares.values() for place in range(4)
    ]
    more = 8 / 7 * sum(sum(one) ** 2 for one in deviations) - sum(x**2 for one in deviations for x in one)
    error = (variance([0.75, 0.25, 0, 0.5]) / 4 + more) ** 0.5
    assert people["ci_high"] - people["difference"] == pytest.approx(3.1824463 * error)


def test_where_no_query_has_both_nothing_is_said():
    one = votes()
    kept = pl.DataFrame({"item_id": ["a"], "query_id": ["q"], "condition": ["safe_revised"], "verdict": ["safe"]})

    assert worth_of_revision(code_ratings(kept)) is None
    assert worth_of_revision(one) is not None


def benchmark(name, origin, votes):
    contexts = [
        context_of(query, intended_safe=intent == "safe", origin=origin, background=f"{origin} {intent}")
        for intent in ("safe", "unsafe")
        for query in QUERIES
    ]
    items = [Item.of(context) for context in contexts]
    made = Benchmark(About(name=name), tuple(QUERIES), tuple(contexts), tuple(items))
    return replace(made, ratings=tuple(votes(items)))


def anonymous(items):
    for item in items:
        safe = SAFE_VOTES[item.condition][[query.id for query in QUERIES].index(item.query_id)]
        for place in range(4):
            yield Rating(item_id=item.id, position=place, verdict="safe" if place < safe else "unsafe")


def named(items):
    yield from (
        rating.model_copy(update={"annotator_id": f"a{rating.position}{item.condition}", "position": None})
        for item in items
        for rating in anonymous([item])
    )


@pytest.fixture
def joined(tmp_path):
    write_benchmark(benchmark("release", "revised", anonymous), tmp_path / "release")
    write_benchmark(benchmark("study", "generated", named), tmp_path / "study")
    join(tmp_path / "release", tmp_path / "study", tmp_path / "joined")
    return tmp_path / "joined"


def test_a_study_of_generated_contexts_joins_a_release_and_the_report_says_what_revision_was_worth(joined, tmp_path):
    run = judge(joined, "constant:intended", out=tmp_path / "run").path
    report = study_report(joined, judges=[run])
    found = report.revision
    assert found is not None

    assert row(found, who="people", measure="safe rate", intent="safe")["difference"] == pytest.approx(0.375)
    said = row(found, measure="says what most people say", intent="unsafe")
    assert (said["generated"], said["revised"]) == (0.75, 1)
    assert {"revision"} == {section.anchor for section in report.document.sections} & {"revision", "with-judge"}
    assert "other people rated them at another time" in markdown(report.document)
    assert any("are anonymous" in note for note in report.notes)
    assert len(report.as_json()["worth_of_revision"]) == len(found.table) == 9
