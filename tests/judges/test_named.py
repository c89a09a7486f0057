import asyncio
import sys

import pytest

import casewise
from casewise.errors import JudgeError
from casewise.judges.baselines import ConstantJudge
from casewise.judges.judge import Ask
from casewise.judges.named import judge_named
from casewise.records import Scored, Unscored

DEMO = casewise.load("demo")


@pytest.mark.parametrize("name", ["gpt", "", "Linear", "constant", "lineer:query"])
def test_a_judge_that_does_not_exist_is_an_error_that_lists_those_that_do(name):
    with pytest.raises(JudgeError) as raised:
        judge_named(name, DEMO)
    assert "constant:safe" in str(raised.value)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("constant:maybe", "it can be constant:safe, constant:unsafe or constant:intended"),
        ("linear:words", "it reads context, query, query"),
        ("python:", "is not python:MODULE:FUNCTION"),
        ("python:json", "is not python:MODULE:FUNCTION"),
        ("python:nowhere.at.all:f", "cannot import 'nowhere.at.all': ModuleNotFoundError"),
        ("python:json:nothing", "module 'json' has no function 'nothing'"),
        ("python:json:__name__", "module 'json' has no function '__name__'"),
        ("python:quits:f", "cannot import 'quits': SystemExit"),
        ("python:fails:f", "cannot import 'fails': AttributeError: module 'sys' has no attribute 'nothing'"),
        ("python:confused:judge", "says its elicitation is 'rubbish'"),
    ],
)
def test_judges_that_cannot_be_made_say_why(name, problem, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quits.py").write_text("import sys\nsys.exit(1)\n")
    (tmp_path / "fails.py").write_text("import sys\nsys.nothing\n")
    (tmp_path / "confused.py").write_text("def judge(query, context): ...\njudge.elicitation = 'rubbish'\n")

    with pytest.raises(JudgeError, match=problem):
        judge_named(name, DEMO)
    assert str(tmp_path) not in sys.path


def test_constant_judges_are_constant():
    def outcomes(verdict):
        asks = [Ask(item, DEMO.query[item.query_id], DEMO.context_of(item)) for item in DEMO.items[:4]]
        return [asyncio.run(ConstantJudge(verdict).answer(ask)).outcome for ask in asks]

    assert outcomes("intended") == [Scored(value=value) for value in (1.0, 0.0, 1.0, 0.0)]
    assert outcomes("unsafe") == [Scored(value=0.0)] * 4
    context = DEMO.context_of(DEMO.items[0])
    without_intent = Ask(DEMO.items[0], DEMO.queries[0], context and context.model_copy(update={"intended_safe": None}))
    assert isinstance(asyncio.run(ConstantJudge("intended").answer(without_intent)).outcome, Unscored)
