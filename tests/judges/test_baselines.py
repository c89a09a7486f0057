import asyncio
import sys

import pytest
from tests.support.demo import DEMO

import casewise
from casewise.errors import BenchmarkError, JudgeError
from casewise.judges.baselines import ConstantJudge
from casewise.judges.judge import Ask
from casewise.judges.named import load_judge
from casewise.records import Scored, Unscored


def estimates(report, policy):
    rows = report.metrics.filter(label_policy=policy)
    return dict(zip(rows["metric"], rows["estimate"], strict=True))


@pytest.mark.slow
def test_on_the_published_rows_at_hand_it_is_as_good_as_measured_before(shared):
    run = casewise.judge(shared / "data" / "casebench_subset.json", "linear")

    metrics = estimates(run.report(), "published")
    assert metrics["accuracy"] == pytest.approx(0.95, abs=0.02)
    assert metrics["pearson"] == pytest.approx(0.85, abs=0.02)


def test_its_predictions_depend_on_nothing_but_the_benchmark():
    first, second = casewise.judge("demo", "linear"), casewise.judge("demo", "linear")

    assert first.judgements["value"].sort().to_list() == second.judgements["value"].sort().to_list()


def test_it_reads_the_context_alone_unless_told_otherwise():
    query = casewise.judge("demo", "linear:query").judgements
    context = casewise.judge("demo", "linear").judgements

    by_item = dict(zip(query["item_id"], query["value"], strict=True))
    values = [by_item[item.id] for item in DEMO.items]
    assert values[::2] == values[1::2], "a query alone does not tell its two contexts apart"
    assert context["value"].n_unique() > query["value"].n_unique()


@pytest.mark.slow
def test_the_report_says_that_it_reads_vocabulary_and_not_safety():
    assert any("not a judge to deploy" in note for note in casewise.judge("demo", "linear").report().notes)


def test_too_few_queries_to_hold_out_are_an_error():
    with pytest.raises(BenchmarkError, match="in 10 folds, and only 3 have labels"):
        casewise.judge(DEMO.restricted_to(DEMO.items[:6]), "linear")


def test_verdicts_that_are_all_alike_are_an_error():
    safe = [item for item in DEMO.items if (DEMO.votes[item.id].rate or 0) > 0.5]

    with pytest.raises(BenchmarkError, match="are all alike"):
        casewise.judge(DEMO.restricted_to(safe), "linear")


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
        load_judge(name, DEMO)
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
