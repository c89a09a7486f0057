from collections import Counter
from datetime import date

import pytest

import casewise
from casewise import api
from casewise.contexts.sources import EXPECTED, KINDS_FORGED, forge
from casewise.errors import BenchmarkError, ConfigurationError
from casewise.models.endpoints import Prices
from casewise.models.load import LoadedModel
from casewise.models.protocol import FakeModel

DEMO = casewise.load("demo")
AT = date(2026, 6, 1)


def test_forgeries_are_of_each_kind_as_many_and_what_was_done_is_known():
    made = forge(DEMO, at=AT)
    kinds = Counter(one.kind for one in made.truth)
    assert set(kinds) == set(KINDS_FORGED)
    assert max(kinds.values()) - min(kinds.values()) <= 1
    for one in made.truth:
        before, after = DEMO.context[one.of].texts(), made.benchmark.context[one.context_id].texts()
        changed = {name for name in before if before[name] != after[name]}
        assert changed == ({one.parameter} if one.kind == "swapped" else set())
    assert not made.benchmark.ratings
    known = {one.subject for one in made.facts}
    assert {one.kind for one in made.truth if one.of not in known} == {"no facts"}


def test_the_same_seed_forges_the_same_and_another_does_not():
    assert forge(DEMO, at=AT, seed=3).truth == forge(DEMO, at=AT, seed=3).truth != forge(DEMO, at=AT, seed=4).truth


def test_verification_finds_what_can_be_read_off_and_calls_nothing_false_that_nobody_knows(tmp_path):
    files = api.forge_contexts(DEMO, tmp_path / "forged", at="2026-06-01")
    found = api.verify_contexts(str(files.folder), files.facts, at="2026-06-01", truth=files.truth)
    by_kind = {one.kind: one for one in found.detections}

    assert {kind: by_kind[kind].recall.estimate for kind in ("true", "expired", "no facts")} == dict.fromkeys(
        ("true", "expired", "no facts"), 1.0
    )
    assert (by_kind["swapped"].recall.estimate or 0.0) > 0.5
    assert by_kind["swapped"].precision.estimate == by_kind["role"].precision.estimate == 1.0
    assert {one.expected for one in found.detections} == set(EXPECTED.values())
    assert sum(sum(counted.values()) for counted in found.counts.values()) == sum(found.steps.values())
    assert "How forgeries are found" in found.to_markdown()


def test_what_each_step_contributed_adds_up_to_what_was_found_a_model_among_them(tmp_path, monkeypatch):
    verifier = FakeModel(lambda messages, options: '{"verdict": "contradicted"}')
    monkeypatch.setattr(
        "casewise.transforms.verified.load_model", lambda name, options: LoadedModel(verifier, Prices(0, 0))
    )
    files = api.forge_contexts(DEMO, tmp_path / "forged", at=AT)
    asked = api.VerifyOptions(("rubric:m",), calls=tmp_path / "calls")
    with_model, without = (
        api.verify_contexts(str(files.folder), files.facts, at=AT, truth=files.truth, options=options)
        for options in (asked, api.VerifyOptions())
    )
    found, before = ({one.kind: one for one in of.detections} for of in (with_model, without))

    for one in found.values():
        assert sum(step.right.estimate or 0.0 for step in one.steps) == pytest.approx(one.recall.estimate)
    added = {step.step: step.right.estimate or 0.0 for step in found["swapped"].steps}["rubric:m"]
    assert added == pytest.approx((found["swapped"].recall.estimate or 0) - (before["swapped"].recall.estimate or 0))
    assert added > 0.2
    assert [step.step for step in found["no facts"].steps] == ["none"]
    assert "rubric:m" in with_model.to_markdown().partition("What each step contributed")[2]


def test_a_group_or_a_parameter_that_there_is_not_cannot_be_forged():
    with pytest.raises(ConfigurationError, match="is a group"):
        forge(DEMO, parameter="recipient", at=AT)
    with pytest.raises(ConfigurationError, match=r"recipient\.typ"):
        forge(DEMO, parameter="recipient.typ", at=AT)
    with pytest.raises(BenchmarkError, match="no two contexts of a pair"):
        forge(DEMO, parameter="subject", at=AT)


def test_truth_of_another_benchmark_is_refused(tmp_path):
    files = api.forge_contexts(DEMO, tmp_path / "forged", at=AT)
    with pytest.raises(BenchmarkError, match="does not have"):
        _ = api.verify_contexts("demo", files.facts, at=AT, truth=files.truth).detections
    with pytest.raises(ConfigurationError, match="is no day"):
        api.verify_contexts("demo", files.facts, at="soon")
