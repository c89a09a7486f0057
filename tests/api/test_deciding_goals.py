"""Which goal, labels and judge a decider is fitted for, and of which judges one is recommended."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from casewise.api.deciding import FitOptions, Requirements, fit_decider, guards_page, monitor_decider, recommend
from casewise.errors import ConfigurationError
from casewise.evaluate.judged_runs import policy_of
from casewise.judges.guard_profiles import all_profiles

RUN: Any = Path("run")
INTENDED = FitOptions(labels=policy_of("intended"))


@pytest.fixture
def fitted(monkeypatch):
    """What was fitted or recommended, and the judges that were made for it."""
    calls = SimpleNamespace(fits=list[Any](), judges=list[Any]())
    decider = SimpleNamespace(save=lambda path: f"hash of {path}")

    def fit_run(run, requirements, **options):
        calls.fits.append((run, requirements, options))
        return SimpleNamespace(decider=decider)

    def from_runs(runs, requirements, **options):
        calls.fits.append((runs, requirements, options))
        return SimpleNamespace(good_enough=True, best=SimpleNamespace(decider=decider))

    def make_judge(judge, benchmark, *, elicitations):
        calls.judges.append((judge, benchmark, elicitations))
        return "the judge"

    monkeypatch.setattr("casewise.api.deciding.fit_run", fit_run)
    monkeypatch.setattr("casewise.api.deciding.Recommendation.from_runs", from_runs)
    monkeypatch.setattr("casewise.api.deciding.make_judge", make_judge)
    monkeypatch.setattr("casewise.api.deciding.loaded_benchmark", lambda source: f"loaded {source}")
    return calls


def test_a_fit_is_for_the_goal_that_is_given_and_saved_under_its_hash(fitted):
    fit = fit_decider(RUN, Requirements(ratio=3, chosen_from=2), ratio=7, benchmark="demo")
    fit_decider(RUN, max_harm=0.1)

    assert fit.save("d.json") == "hash of d.json"
    (run, first, options), (_, second, _) = fitted.fits
    assert (run, first, second) == (RUN, Requirements(ratio=7, chosen_from=2), Requirements(max_harm=0.1))
    assert options == {"benchmark": "demo", "options": FitOptions(), "judge": None}


def test_the_labels_of_a_fit_or_a_recommendation_are_those_of_its_options_unless_they_are_named(fitted):
    for make in (fit_decider, recommend):
        make(RUN, options=INTENDED, ratio=1)
        make(RUN, options=INTENDED, labels="votes", ratio=1)
    labels = [options["options"].labels for *_, options in fitted.fits]
    assert labels == [policy_of("intended"), policy_of("votes")] * 2


def test_a_judge_that_no_name_finds_is_made_for_the_benchmark_of_the_run(fitted):
    def judge(query, context):
        return "safe"

    fit_decider(RUN, ratio=1, judge=judge)
    fit_decider(RUN, ratio=1, judge=judge, benchmark="own", options=FitOptions(elicitation="score"))
    assert fitted.judges == [(judge, "loaded demo", ()), (judge, "loaded own", ("score",))]
    assert [options["judge"] for *_, options in fitted.fits] == ["the judge"] * 2
    with pytest.raises(ConfigurationError, match="casewise finds this judge by its name; leave `judge` out"):
        fit_decider(RUN, ratio=1, judge="linear")
    assert len(fitted.fits) == 2


def test_a_recommendation_is_for_equal_costs_unless_a_goal_is_named(fitted):
    found = recommend(RUN, RUN)
    recommend(RUN, max_harm=0.1)
    recommend(RUN, requirements=Requirements(ratio=2, chosen_from=3), ratio=4, benchmark="demo")

    assert (found.good_enough, found.decider.save("d.json")) == (True, "hash of d.json")
    assert [(runs, goal) for runs, goal, _ in fitted.fits] == [
        ((RUN, RUN), Requirements(ratio=1)),
        ((RUN,), Requirements(max_harm=0.1)),
        ((RUN,), Requirements(ratio=4, chosen_from=3)),
    ]
    assert [options["benchmark"] for *_, options in fitted.fits] == [None, None, "demo"]


def test_traffic_is_tested_by_the_file_of_the_decider(monkeypatch):
    asked = list[Any]()

    def monitor_traffic(*given, half_width):
        asked.append((given, half_width))
        return "numbers"

    monkeypatch.setattr("casewise.api.deciding.read_decider", lambda path: (("file of", path), "hash"))
    monkeypatch.setattr("casewise.api.deciding.monitor_traffic", monitor_traffic)
    monkeypatch.setattr("casewise.api.deciding.monitoring_page", lambda numbers, **facts: (numbers, facts))
    page: Any = monitor_decider("d.json", "log", half_width=0.1).document
    monitor_decider("d.json", "log")

    file = ("file of", Path("d.json"))
    assert asked == [((file, "hash", Path("log")), 0.1), ((file, "hash", Path("log")), 0.05)]
    assert page == ("numbers", {"file": file, "half_width": 0.1})


def test_the_page_of_guards_says_whose_words_each_asks_in_and_what_it_reads():
    profiles = all_profiles()
    (rows,) = [table.rows for table in guards_page().tables()]

    assert [(row[1], row[4], row[5]) for row in rows] == [
        (
            " or ".join(profile.renderings) if profile.renderings else profile.kind,
            "casewise's" if profile.own_wording else "its own",
            ", ".join(profile.unverified) if profile.unverified else "–",
        )
        for profile in profiles.values()
    ]
    for own_wording in (True, False):
        for reads_replies in (True, False):
            names = [name for name, each in profiles.items() if (each.own_wording, each.reads_replies) == (own_wording, reads_replies)]  # fmt: skip
            if not names:
                continue
            _, facts = guards_page((names[0],)).tables()
            template, replies = facts.rows[:2]
            assert template[3] == ("casewise's own words stand in it" if own_wording else "–")
            assert replies[1].startswith("it can judge a chatbot's reply") is reads_replies
