"""Judges by their names, and what is said of a name that no judge has."""

import pytest
from tests.support.demo import DEMO

from casewise.errors import ConfigurationError, JudgeError
from casewise.judges.baselines import CallableJudge, ConstantJudge, LinearJudge
from casewise.judges.guard import GuardJudge, ModerationJudge
from casewise.judges.judge import Judge
from casewise.judges.llm import LiveOptions, LLMJudge
from casewise.judges.named import JUDGES, JudgeRequest, load_judge
from casewise.judges.recorded import RecordedJudge
from casewise.models.load import ModelOptions
from casewise.models.protocol import FakeModel

WITHOUT_KEYS = LiveOptions(model=ModelOptions(needs_key=False))


def problem_of(name: str) -> str:
    with pytest.raises(JudgeError) as raised:
        load_judge(name, DEMO)
    return str(raised.value)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("linear", LinearJudge),
        ("linear:query", LinearJudge),
        ("constant:safe", ConstantJudge),
        ("python:json:loads", CallableJudge),
        ("guard:llama-guard-3@fake/x", GuardJudge),
        ("moderation:openai/mod", ModerationJudge),
        ("openai/gpt-4o", LLMJudge),
        ("fake/rehearsal", LLMJudge),
    ],
)
def test_each_name_is_that_of_one_kind_of_judge(name: str, kind: type[Judge]) -> None:
    judge = load_judge(name, DEMO, live=WITHOUT_KEYS)

    assert type(judge) is kind
    assert judge.name == name


def test_recorded_verdicts_are_those_of_a_file(tmp_path):
    file = tmp_path / "verdicts.csv"
    file.write_text(f"item_id,verdict\n{DEMO.items[0].id},safe\n")

    assert type(load_judge(f"recorded:{file}", DEMO)) is RecordedJudge


@pytest.mark.parametrize("name", ["gpt", "", "Linear", "constant", "lineer:query"])
def test_a_judge_that_does_not_exist_is_an_error_that_lists_those_that_do(name):
    with pytest.raises(JudgeError) as raised:
        load_judge(name, DEMO)
    assert "constant:safe" in str(raised.value)


def test_each_kind_of_judge_is_listed_with_the_form_of_its_name():
    listed = problem_of("gpt")

    assert listed.startswith("no judge is called 'gpt'")
    assert all(f"\n  {kind.form}" in listed for kind in JUDGES.values())
    assert "\n  fake/rehearsal" in listed


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("gpt-4o", "openai/gpt-4o"),
        ("lineer:query", "linear:query"),
        ("constnat:safe", "constant:safe"),
        ("Linear", "linear"),
        ("opnai/gpt-9", "openai/gpt-9"),
        ("vlm/tiny", "vllm/tiny"),
    ],
)
def test_a_name_that_resembles_a_judges_is_answered_with_that(name, meant):
    assert f"no judge is called {name!r} (did you mean {meant!r}?)" in problem_of(name)


def test_a_judge_of_a_benchmark_judges_nothing_else():
    for name in ("linear", "recorded"):
        with pytest.raises(JudgeError, match=f"{name} judges the items of one benchmark, and nothing else"):
            JudgeRequest("", None).benchmark_for(name)
    assert JudgeRequest("", DEMO).benchmark_for("linear") is DEMO


def test_a_name_without_a_provider_is_that_of_a_model_where_an_address_is_given():
    judge = load_judge("tiny", None, live=LiveOptions(model=ModelOptions("http://127.0.0.1:9/v1")))

    assert type(judge) is LLMJudge
    assert judge.name == "tiny"


def test_a_rehearsal_is_that_of_a_made_up_model():
    judge = load_judge("fake/rehearsal", None)

    assert isinstance(judge, LLMJudge)
    assert isinstance(judge.model, FakeModel)
    with pytest.raises(ConfigurationError, match="there are fake/one"):
        load_judge("fake/two", None, live=LiveOptions(model=ModelOptions(fakes={"fake/one": lambda *_: "yes"})))
