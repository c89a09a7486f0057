from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from tests.support.cases_of_a_ward import DAUGHTER, ward_cases, wrong_about_daughters
from tests.support.deciders import judged_demo, mostly_right
from tests.support.fault_server import FaultServer
from tests.support.served import served

import casewise
from casewise.api.deciding import FitOptions, Requirements, fit_decider
from casewise.deciding.decider_file import read_decider
from casewise.deciding.fitting import label_source
from casewise.errors import BenchmarkError, ConfigurationError, JudgeError, StatisticsError
from casewise.stats.thresholds import RequirementFields


@pytest.fixture(scope="module")
def run(decider_folder):
    return casewise.Run(decider_folder / "run", casewise.load("demo"), None)  # type: ignore[arg-type]  # no summary is asked for


@pytest.fixture(scope="module")
def fitting(run):
    return fit_decider(run, Requirements(ratio=3)).numbers


def test_a_decider_says_what_it_was_measured_to_cost_and_how_much_fitting_flatters(run, fitting):
    file = fitting.decider

    assert file.benchmark.digest == run.benchmark.digest
    harm = file.measured.harm
    assert harm.ci_low is not None
    assert harm.estimate is not None
    assert harm.ci_high is not None
    assert harm.ci_low < harm.estimate < harm.ci_high
    assert file.measured_where_fitted.harm.estimate is not None
    assert file.calibration.error_after is not None
    assert "recipient.background" in file.measured_on.always
    assert file.measured_on.without_context is False


@pytest.mark.parametrize(
    ("judge", "why"),
    [("linear", "fitted to the ratings of the benchmark"), ("constant:intended", "is unknown for a new request")],
)
def test_a_judge_that_knows_the_benchmark_is_refused_with_the_reason(judge, why):
    with pytest.raises(JudgeError, match=why):
        fit_decider(casewise.judge("demo", judge, elicitations="binary"), Requirements(ratio=1))


def test_a_recorded_judge_is_refused(run, tmp_path):
    again = casewise.judge("demo", f"recorded:{run.path}", out=tmp_path / "recorded")

    with pytest.raises(JudgeError, match="repeats recorded answers"):
        fit_decider(again, Requirements(ratio=1))


def test_a_promise_that_the_demo_cannot_carry_is_refused(run):
    with pytest.raises(StatisticsError, match="takes 299 queries"):
        fit_decider(run, Requirements(max_harm=0.01))


def test_a_promise_for_the_best_of_several_says_so_in_the_file_and_on_the_page(run, tmp_path):
    found = fit_decider(run, Requirements(max_harm=0.4, chosen_from=4))
    found.save(tmp_path / "decider.json")
    (promise,) = found.decider.thresholds.promised

    assert promise.promise.level == pytest.approx(0.9875)
    assert read_decider(tmp_path / "decider.json")[0].requirements.chosen_from == 4
    assert "with 95 % confidence" in found.to_markdown()
    assert "for the best of 4 judges compared on these queries" in found.to_markdown()


def test_a_judge_whose_code_has_changed_is_not_the_one_that_was_measured(run, tmp_path):
    with pytest.raises(JudgeError, match="code was"):
        fit_decider(run, Requirements(ratio=1), judge=lambda query, context: 0.5)


def test_a_function_of_a_session_is_refused_with_the_argument_that_takes_it():
    def of_this_session(query, context):
        return 0.9 if context else 0.1

    run = casewise.judge("demo", of_this_session, elicitations="probability")
    with pytest.raises(JudgeError, match=r"python:of_this_session is not found again by its name: .* with judge="):
        fit_decider(run, Requirements(ratio=1))
    assert fit_decider(run, Requirements(ratio=1), judge=of_this_session).decider.judge.name == "python:of_this_session"


def test_a_function_without_a_name_is_fitted_where_it_is_given(tmp_path):
    run = casewise.judge("demo", mostly_right, elicitations="probability")
    requirements = Requirements(ratio=1)

    with pytest.raises(JudgeError):
        fit_decider(run, requirements)
    fit = fit_decider(run, requirements, judge=mostly_right, options=FitOptions(elicitation="probability"))
    path = tmp_path / "d.json"
    fit.save(path)

    assert casewise.Decider.load(path, judge=mostly_right).decide("a", None).decision in ("answer", "refuse")


def test_several_series_are_told_apart_by_options(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = casewise.judge("demo", "constant:safe", arms="full none")

    assert fit_decider(run, Requirements(ratio=1)).decider.judge.arm == "full"
    assert fit_decider(run, Requirements(ratio=1), options=FitOptions(arm="none")).decider.judge.arm == "none"
    with pytest.raises(ConfigurationError, match="no such series"):
        fit_decider(run, Requirements(ratio=1), options=FitOptions(elicitation="score"))


def test_a_mean_over_repeats_is_not_fitted_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = casewise.judge("demo", "fake/rehearsal", elicitations="binary", repeats=2)

    with pytest.raises(ConfigurationError, match="asked 2 times, but a decider asks once"):
        fit_decider(run, Requirements(ratio=1))


def test_what_a_decider_is_fitted_for_is_stated_by_name(run):
    assert casewise.Requirements(ratio=3).ratio == 3
    assert fit_decider(run, ratio=3).decider.requirements == Requirements(ratio=3)
    assert fit_decider(run, Requirements(ratio=3), fail="ask").decider.requirements == Requirements(ratio=3, fail="ask")
    assert RequirementFields.__annotations__.keys() == Requirements.__dataclass_fields__.keys()
    with pytest.raises(ConfigurationError, match="--ratio"):
        fit_decider(run)


@pytest.mark.slow
def test_labels_are_those_of_the_policy_and_the_page_names_the_policy_of_the_last_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = judged_demo(tmp_path)
    category = casewise.load("demo").queries[0].category
    strict = f"votes,override:{category}=unsafe"
    plain, fitted = fit_decider(run, ratio=1), fit_decider(run, ratio=1, labels=strict)

    assert (plain.decider.benchmark.labels, fitted.decider.benchmark.labels) == ("votes", strict)
    weight = [fit.numbers.trial.evidence.weight for fit in (plain, fitted)]
    assert weight[1].sum() < weight[0].sum()
    assert fitted.as_json()["labels_of_report"] is None
    casewise.report(run).numbers.write_metrics(run.path)
    fitted = fit_decider(run, ratio=1, labels=strict)
    assert fitted.as_json()["labels_of_report"] == "votes"
    assert f"The labels here are by {strict}. The run's last report used labels by votes." in str(
        fitted.document.notices
    )
    assert "last report" not in str(fit_decider(run, ratio=1).document.notices)


def test_without_labels_under_the_policy_nothing_is_fitted(run):
    with pytest.raises(BenchmarkError, match="no judged item has a label"):
        fit_decider(run, ratio=1, labels="mean")


@pytest.fixture(scope="module")
def of_ward(tmp_path_factory):
    run = casewise.judge(ward_cases(), wrong_about_daughters, out=tmp_path_factory.mktemp("ward") / "run")
    return fit_decider(run, ratio=1, benchmark=ward_cases(), judge=wrong_about_daughters)


def test_errors_are_grouped_by_the_statement_that_separates_them(of_ward):
    (group,) = of_ward.numbers.error_groups

    assert (group.kind, group.parameter, group.single_statement.statement) == (
        "over_refusal",
        "recipient.type",
        DAUGHTER,
    )
    assert group.single_statement.errors == group.single_statement.items == group.errors == of_ward.numbers.n_failures
    assert group.holds
    assert {case.shown["recipient"]["type"] for case in group.cases} == {DAUGHTER}
    assert of_ward.as_json()["error_groups"][0]["statements"][0]["statement"] == DAUGHTER
    page = of_ward.to_markdown()
    assert f"with the recipient type “{DAUGHTER}”, {group.errors} of {group.errors} are refused" in page
    assert "is corrected for the search" in page
    assert f"| {DAUGHTER} | refuse | safe |" in page


def test_statements_that_differ_in_case_or_a_full_stop_are_one():
    def wrong_in_any_spelling(query, context):
        who = context["recipient"]["type"].lower().rstrip(".")
        return wrong_about_daughters(query, {"recipient": {"type": who}})

    cases = ward_cases(daughter=(DAUGHTER, DAUGHTER.upper(), f"{DAUGHTER.capitalize()}."))
    run = casewise.judge(cases, wrong_in_any_spelling, elicitations="probability")
    (group,) = fit_decider(run, ratio=1, benchmark=cases, judge=wrong_in_any_spelling).numbers.error_groups

    (daughters,) = group.statements
    assert str(daughters.statement).lower().rstrip(".") == DAUGHTER
    assert daughters.errors == daughters.items == group.errors


def test_errors_whose_contexts_share_no_statement_are_said_not_to_be_grouped(run):
    page = fit_decider(run, ratio=1).to_markdown()

    assert "no statement stands in enough of their contexts to group them" in page
    assert "separates its errors from its other decisions" not in page


def test_the_costliest_wrong_decisions_come_first_and_ties_are_none(run, fitting):
    weight = fitting.trial.evidence.weight
    harm, over_refusal = fitting.risks

    assert len(harm.places) + len(over_refusal.places) == len(weight)
    assert fitting.n_failures == harm.error.sum() + over_refusal.error.sum() > len(fitting.failures) == 10
    costs = [failure.cost for failure in fitting.failures]
    assert costs == sorted(costs, reverse=True)
    for failure in fitting.failures:
        case = failure.case
        rate = case.n_safe / case.n_votes
        assert failure.cost == pytest.approx(3 * (1 - rate) if failure.decision == "answer" else rate)
        assert (failure.decision == "answer") == (rate < 0.5)
        assert failure.value == run.judgements.filter(item_id=case.item_id)["value"].item()


def test_the_json_is_that_of_the_file_without_what_is_not_known(fitting):
    content = fitting.as_json()

    assert None not in content["benchmark"].values()
    assert content["judge"]["id"] == fitting.decider.judge.id
    assert content["labels_of_report"] is None
    assert str(fitting.name) == "python:mostly_right_judge:judge (probability)"
    assert fitting.failures[0].as_json().keys() >= {"decision", "value"}


def test_a_wrong_decision_without_a_value_has_none(fitting):
    valueless = replace(fitting.trial.evidence, value=np.full(90, np.nan))
    found = replace(fitting, trial=replace(fitting.trial, evidence=valueless)).failures

    assert {failure.value for failure in found} == {None}


def test_a_tie_is_decided_wrongly_by_no_decision(fitting):
    """The same decisions, and labels that are all ties."""
    tied = replace(fitting.trial.evidence, weight=np.full(90, 0.5))
    fitting = replace(fitting, trial=replace(fitting.trial, evidence=tied))

    assert [len(risk.places) for risk in fitting.risks] == [0, 0]
    assert (fitting.n_failures, fitting.failures) == (0, ())


def test_a_judge_that_gives_one_value_is_known_as_a_constant(fitting, tmp_path):
    constant = casewise.judge("demo", "constant:safe", out=tmp_path / "constant")

    assert fit_decider(constant, ratio=1).numbers.constant
    assert not fitting.constant


def test_a_decider_knows_why_items_had_no_value_where_it_was_fitted(tmp_path):
    def judge(query, context):
        return None if len(query) % 5 == 0 else mostly_right(query, context)

    run = casewise.judge("demo", judge, elicitations="probability", out=tmp_path / "run")
    on = fit_decider(run, ratio=1, judge=judge, options=FitOptions(elicitation="probability")).decider.measured_on

    assert sum(on.unscored.values()) == pytest.approx(run.summary.n_unscored / 90)
    assert 0 < on.without_value <= sum(on.unscored.values())


def test_a_decider_of_a_model_is_fitted_where_its_key_is_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-a-test")
    with served(FaultServer()) as server:
        casewise.judge("demo", "openai/m", out="run", base_url=server.url)
    monkeypatch.delenv("OPENAI_API_KEY")

    judge = fit_decider("run", Requirements(ratio=1)).decider.judge
    assert (judge.name, judge.base_url) == ("openai/m", server.url)


def test_a_judge_that_is_given_must_be_deployable_too(tmp_path):
    run = casewise.judge("demo", "constant:intended", elicitations="binary")

    with pytest.raises(JudgeError, match="cannot be a decider"):
        fit_decider(run, Requirements(ratio=1), judge=mostly_right, options=FitOptions(elicitation="binary"))


def test_a_judge_without_a_value_for_some_items_has_a_calibration_error(tmp_path):
    calls = itertools.count(1)

    def silent_at_times(query, context):
        return None if next(calls) == 5 else mostly_right(query, context)

    run = casewise.judge("demo", silent_at_times, elicitations="probability")
    fit = fit_decider(run, Requirements(ratio=1), judge=silent_at_times, options=FitOptions(elicitation="probability"))

    assert np.isnan(fit.numbers.trial.evidence.value).any()
    assert fit.decider.calibration.error_before is not None


def test_a_decider_says_whose_labels_it_was_fitted_on_unless_people_voted():
    stated = casewise.load_frame([{"query": "Who?", "label": "safe"}, {"query": "What?", "label": "unsafe"}])

    assert label_source(stated, FitOptions()) == "as stated"
    assert label_source(casewise.load("demo"), FitOptions()) is None
