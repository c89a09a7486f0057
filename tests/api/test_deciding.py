"""Deciders from Python: what is fitted for, what is refused, and the page of guards."""

from typing import Any

import pytest
from tests.support.deciders import judged_demo

from casewise.api.deciding import Requirements, fit_decider, guards_page, recommend, verdict_of
from casewise.deciding.fitting import FitOptions
from casewise.evaluate.judged_runs import policy_of
from casewise.judges.guard_profiles import all_profiles


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("judged")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield judged_demo(folder)


@pytest.mark.slow
def test_a_goal_replaces_the_fields_of_the_requirements_that_it_names(run):
    fit = fit_decider(run, Requirements(ratio=3, chosen_from=2), ratio=7)

    assert (fit.decider.requirements.ratio, fit.decider.requirements.chosen_from) == (7, 2)
    assert fit_decider(run, ratio=7).decider.requirements == Requirements(ratio=7)


@pytest.mark.slow
def test_labels_are_those_of_the_options_unless_they_are_given(run):
    intended = FitOptions(labels=policy_of("intended"))

    assert fit_decider(run, labels="intended", ratio=3).decider.benchmark.labels == "intended"
    assert fit_decider(run, options=intended, ratio=3).decider.benchmark.labels == "intended"
    assert fit_decider(run, options=intended, labels="votes", ratio=3).decider.benchmark.labels == "votes"


@pytest.mark.slow
def test_a_recommendation_is_for_equal_costs_unless_a_goal_is_given(run):
    assert recommend(run).numbers.requirements.ratio == 1
    assert recommend(run, ratio=4).numbers.requirements.ratio == 4
    assert recommend(run, requirements=Requirements(ratio=2), ratio=4).decider.decider.requirements.ratio == 4


@pytest.mark.slow
def test_a_fit_is_saved_and_read_again(run, tmp_path):
    fit = fit_decider(run, ratio=3)

    assert fit.save(tmp_path / "decider.json")
    assert fit.decider.judge.name in fit.document.title
    assert (tmp_path / "decider.json").is_file()


def test_every_guard_has_a_row_and_one_that_is_named_all_its_facts():
    everything, named = guards_page(), guards_page(("shieldgemma",))
    rows = next(iter(everything.tables())).rows
    facts: Any = [*named.tables()][1]

    assert [row[0] for row in rows] == [*all_profiles()]
    advice: Any = everything.sections[0].blocks[-1]
    assert advice.text == "casewise show guards NAME gives the source of each fact in a profile."
    assert [row[0] for row in next(iter(named.tables())).rows] == ["shieldgemma"]
    assert [row[0] for row in facts.rows][:2] == ["template", "replies"]
    assert len(facts.rows) == 2 + len(all_profiles()["shieldgemma"].facts)


def test_the_verdict_of_a_guard_is_named_by_its_classes():
    words = {name: verdict_of(profile) for name, profile in all_profiles().items()}

    assert set(words.values()) <= {
        "scores",
        "two classes",
        "two classes, P(safe)",
        "three classes",
        "three classes, P(safe)",
    }
    for name, profile in all_profiles().items():
        assert (words[name] == "scores") is (profile.kind != "chat")
        assert words[name].startswith("three") is (profile.kind == "chat" and bool(profile.read.middle))
        assert words[name].endswith("P(safe)") is (profile.kind == "chat" and bool(profile.tokens))
