import json
import re
from dataclasses import replace

import numpy as np
import pytest
from tests.audits.builders import Row, benchmark_of, crowd

import casewise
from casewise.audits import AuditOptions, audit
from casewise.audits.audit import select_findings
from casewise.errors import BenchmarkError
from casewise.records import Item, Query
from casewise.storage.benchmark import About, Benchmark
from casewise.storage.load import load

QUICK = AuditOptions(splits=10, folds=5)


def rows(seed=1, **kwargs):
    return crowd(np.random.default_rng(seed), **kwargs)


@pytest.fixture(scope="module")
def demo():
    return audit(load("demo"), options=QUICK)


@pytest.mark.slow
def test_findings_are_ranked_by_weight(demo):
    weights = [finding.weight for finding in demo.findings]

    assert weights == sorted(weights, reverse=True)
    assert len(weights) > 2


@pytest.mark.slow
def test_the_json_holds_every_finding_with_its_evidence_and_no_nan(demo):
    value = json.loads(json.dumps(demo.as_json(), allow_nan=False))

    assert [f["code"] for f in value["findings"]] == [f.code for f in demo.findings]
    assert all(f["evidence"] and f["advice"] for f in value["findings"])
    assert value["options"]["seed"] == 0


@pytest.mark.slow
def test_the_same_seed_gives_the_same_audit():
    benchmark = benchmark_of(rows())

    assert audit(benchmark, options=QUICK).as_json() == audit(benchmark, options=QUICK).as_json()


BARE = Query(text="what is it", category="terrorism")


@pytest.mark.parametrize(
    ("benchmark", "left_out"),
    [
        (benchmark_of([replace(row, votes=()) for row in rows()]), ("labels", "intent", "baseline", "agreement")),
        (benchmark_of([Row("q", True, (1, 1, 0)), Row("q", False, (0, 0, 1), words="others")]), ("baseline",)),
        (
            Benchmark(About(name="bare"), (BARE,), (), (Item(query_id=BARE.id, condition="no_context"),)),
            ("contexts",),
        ),
    ],
    ids=["no ratings", "two items", "no contexts"],
)
def test_a_benchmark_is_audited_as_far_as_can_be_and_says_what_is_left_out(benchmark, left_out):
    audited = audit(benchmark, options=QUICK)

    lines = " ".join(audited.left_out)
    assert all(word in lines for word in left_out)
    json.dumps(audited.as_json(), allow_nan=False)


def test_no_items_are_an_error():
    with pytest.raises(BenchmarkError, match="no items"):
        audit(Benchmark(About(name="empty"), (), (), ()))


@pytest.mark.slow
def test_a_code_a_part_and_any_can_be_failed_on(demo):
    assert {f.code for f in select_findings(demo, ("labels.unstable",))} == {"labels.unstable"}
    assert {f.part for f in select_findings(demo, ("coverage",))} == {"coverage"}
    assert select_findings(demo, ("any",)) == demo.findings
    assert select_findings(demo, ("baseline.shortcut",)) == ()


def test_requests_without_contexts_or_intents_have_numbers_that_are_json():
    cases = [{"query": f"Request {place}?", "votes": ["safe"] * (1 + place % 3) + ["unsafe"]} for place in range(30)]
    numbers = audit(casewise.load_frame(cases, "requests"), options=QUICK).as_json()

    assert numbers["measured"]["baseline"]["constants"]["constant:safe"]["published"] is None
    json.dumps(numbers, allow_nan=False)


WORLDS = {
    "ties": [Row(f"q{n // 2}?", n % 2 == 0, [1, 0] * 5, words=f"w{n}") for n in range(60)],
    "perfect": [Row(f"q{n // 2}?", n % 2 == 0, [1 if n % 2 == 0 else 0] * 10, words=f"w{n}") for n in range(60)],
    "uneven votes": [Row(f"q{n // 2}?", n % 2 == 0, [1, 0, 0] * (1 + (n > 40)), words=f"w{n}") for n in range(60)],
    "one verdict": [Row(f"q{n // 2}?", n % 2 == 0, [1] * 5, words=f"w{n}") for n in range(60)],
    "alike contexts": [Row(f"q{n // 2}?", n % 2 == 0, [1, 1, 0], urgent=n % 3 > 0) for n in range(60)],
    "a crowd": rows(),
}


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_no_finding_says_that_nothing_was_found(world):
    findings = audit(benchmark_of(WORLDS[world]), options=QUICK).findings

    assert [finding.code for finding in findings if finding.share <= 0] == []
    assert [str(finding.title) for finding in findings if re.search(r"\b(on|In) 0 |^0 ", str(finding.title))] == []


@pytest.mark.slow
def test_labels_that_differ_from_the_intent_by_ties_only_do_not_differ_from_it():
    assert "intent.not-shared" not in [f.code for f in audit(benchmark_of(WORLDS["ties"]), options=QUICK).findings]
