"""Steps behind the structured one: each decides only what those before left open, and the output says which."""

import asyncio
import json
from datetime import date

import pytest

from casewise import api
from casewise.errors import ConfigurationError
from casewise.transforms.verified import Claimed, Facts, ModelStep, SourcedFact, classified, pair_of, verify

AT = date(2026, 6, 1)
NURSE = SourcedFact(subject="a", field="recipient.type", value="A licensed nurse", source="register")
CLAIM = Claimed("recipient.type", "", "She works on the ward")
SHOWN = {"recipient": {"type": CLAIM.text}}


def held(steps, fact=NURSE, shown=SHOWN):
    return verify(shown, ["a"], Facts.of([fact]), at=AT, steps=steps)[0]


@pytest.mark.parametrize(
    ("said", "status"), [("entailed", "supported"), ("contradicted", "contradicted"), ("neither", "not stated")]
)
def test_what_the_structured_step_leaves_open_a_model_decides_and_is_named(said, status):
    found = held([ModelStep("rubric:m", {pair_of(NURSE, CLAIM): said}, 1)])
    assert found.status == status
    assert found.step == (None if said == "neither" else "rubric:m")


def test_what_is_decided_is_not_decided_again_and_the_first_step_counts():
    own = {"recipient": {"type": "A licensed nurse"}}
    contradicts = ModelStep("b", {pair_of(NURSE, Claimed("recipient.type", "", "A licensed nurse")): "contradicted"}, 1)
    assert held([contradicts], shown=own).step == "words"
    pair = pair_of(NURSE, CLAIM)
    assert held([ModelStep("a", {pair: "neither"}), ModelStep("b", {pair: "entailed"})]).step == "b"


def test_a_fact_that_has_expired_supports_nothing_by_a_model_either():
    old = NURSE.model_copy(update={"expires": date(2026, 1, 1)})
    assert held([ModelStep("m", {pair_of(old, CLAIM): "entailed"})], fact=old).status == "expired"
    assert held([ModelStep("m", {pair_of(old, CLAIM): "contradicted"})], fact=old).status == "not stated"


def test_a_rubrics_replies_are_kept_counted_and_not_asked_for_again(tmp_path):
    made = api.forge_contexts("demo", tmp_path / "forged", at=AT)
    options = api.VerifyOptions(("rubric:fake/rehearsal",), calls=tmp_path / "calls")
    structured = api.verify_contexts(tmp_path / "forged", made.facts, at=AT)
    estimate = api.verifying_estimate(structured, options)["rubric:fake/rehearsal"]
    found = api.verify_contexts(tmp_path / "forged", made.facts, at=AT, options=options)
    (log,) = (tmp_path / "calls").rglob("made.jsonl")
    lines = log.read_text().splitlines()
    assert len(lines) == estimate.n_calls == found.model_steps[0].asked == len(structured.open_pairs) > 0
    api.verify_contexts(tmp_path / "forged", made.facts, at=AT, options=options)
    assert log.read_text().splitlines() == lines
    assert found.as_json()["asked"]["rubric:fake/rehearsal"]["read"] == len(lines)
    assert "rubric:fake/rehearsal was asked about" in found.to_markdown()


@pytest.mark.parametrize("name", ["rubric:", "prayer:m", "hf"])
def test_a_verifier_that_there_is_not_is_refused(name, tmp_path):
    made = api.forge_contexts("demo", tmp_path / "forged", at=AT)
    with pytest.raises(ConfigurationError, match="no verifier is called"):
        api.verify_contexts(tmp_path / "forged", made.facts, at=AT, options=api.VerifyOptions((name,)))


@pytest.mark.local_model
@pytest.mark.slow
def test_a_local_cross_encoder_is_shown_a_fact_and_a_claim_as_two_texts(tmp_path):
    pytest.importorskip("transformers", reason="needs the extra [local]")
    pytest.importorskip("torch", reason="needs the extra [local]")
    from tests.support.tiny_classifier import make_tiny_classifier

    folder = make_tiny_classifier(tmp_path / "nli", ("entailment", "neutral", "contradiction"))
    pairs = [pair_of(NURSE, CLAIM), json.dumps({"fact": "a lock", "claim": "a nurse ?"})]
    found = asyncio.run(classified(f"hf:{folder}", pairs))
    assert set(found.said) == set(pairs)
    assert set(found.said.values()) <= {"entailed", "neither", "contradicted"}
    other = make_tiny_classifier(tmp_path / "mood", ("glad", "sad"))
    with pytest.raises(ConfigurationError, match="a verifier needs one with 'entail'"):
        asyncio.run(classified(f"hf:{other}", pairs))
