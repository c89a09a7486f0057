from dataclasses import replace

import numpy as np
import pytest
from tests.audits.builders import Row, benchmark_of, crowd, looked, published_votes

from casewise.audits.subject import Subject
from casewise.audits.votes import audit_labels, audit_people
from casewise.storage.benchmark import About
from casewise.storage.intake.cases import benchmark_from_rows
from casewise.storage.published import read_published


def found(rows):
    return {finding.code: finding for finding in looked(audit_labels, Subject(benchmark_of(rows))).findings}


def rng(seed=1):
    return np.random.default_rng(seed)


def with_votes(rows, change):
    return [replace(row, votes=change(index, row)) for index, row in enumerate(rows)]


@pytest.mark.slow
def test_the_release_counts_the_intent_as_the_21st_vote(shared):
    finding = found(published_votes(shared))["labels.intent-in-rates"]

    assert finding.evidence["items"] == 900
    assert finding.evidence["votes_counted"] == 21
    assert finding.evidence["ties_turned_safe"] == 66
    assert finding.evidence["ties_turned_unsafe"] == 26
    assert finding.weight == 1


def test_the_subset_of_the_release_is_found_out_from_its_rates(shared, tmp_path):
    renamed = tmp_path / "anything.json"
    renamed.write_bytes((shared / "data" / "casebench_subset.json").read_bytes())

    part = looked(audit_labels, Subject(read_published(renamed)))

    codes = [finding.code for finding in part.findings]
    assert "labels.intent-in-rates" in codes
    assert part.measured["rates_as_votes_and_intent"] == 240


def test_a_stated_rate_that_votes_do_not_give_is_named_and_rates_of_the_votes_alone_are_in_order():
    rows = [replace(row, rate=sum(row.votes) / len(row.votes)) for row in crowd(rng())]
    assert not found(rows).keys() & {"labels.intent-in-rates", "labels.rates-disagree"}
    rows[7] = replace(rows[7], rate=(sum(rows[7].votes) + 1.5) / 22)
    benchmark = benchmark_of(rows)

    (finding,) = [f for f in looked(audit_labels, Subject(benchmark)).findings if f.code == "labels.rates-disagree"]

    assert finding.items == (benchmark.items[7].id,)
    assert finding.evidence["items"] == 1


@pytest.mark.parametrize("place", [0, 7, 19])
def test_a_vote_that_is_the_intent_is_found_at_any_place(place):
    rows = with_votes(
        crowd(rng()), lambda _, row: (*row.votes[:place], int(row.intended_safe), *row.votes[place + 1 :])
    )

    finding = found(rows)["labels.intent-in-votes"]

    assert set(finding.evidence["raters"]) == {f"vote {place}"}
    assert finding.evidence["raters"][f"vote {place}"]["items"] == 120
    assert "labels.intent-in-votes" not in found(crowd(rng(), safe=0.97, unsafe=0.03)), "a clear intent is no copy"


def test_ties_are_counted_with_what_each_policy_makes_of_them():
    rows = [Row(f"query {i}", i % 2 == 0, (1, 0) * 5) for i in range(6)] + [Row("other", True, (1,) * 10)]

    finding = found(rows)["labels.ties"]

    assert finding.evidence["ties"] == 6
    assert finding.evidence["published_makes_safe"] == 3
    assert finding.evidence["published_makes_unsafe"] == 3


def test_labels_of_a_divided_crowd_are_unstable_and_few_would_change_where_people_agree():
    assert "labels.unstable" not in found(crowd(rng(), safe=0.995, unsafe=0.005))
    finding = found(crowd(rng(), safe=0.55, unsafe=0.45))["labels.unstable"]

    assert finding.evidence["expected_same"]["fitted by condition"] < 0.85


def test_a_share_of_labels_that_every_prior_gives_is_said_once(monkeypatch):
    monkeypatch.setattr("casewise.audits.votes.same_label", lambda safe, votes, prior: np.full(len(safe), 0.9496))
    monkeypatch.setattr(Subject, "same_again", np.full(120, 0.9496))

    assert "rated again, about 95.0 % of the labels" in found(crowd(rng()))["labels.unstable"].title


def test_items_without_ratings_are_counted_and_without_any_the_labels_are_left_out():
    rows = crowd(rng())
    rows[3] = replace(rows[3], votes=())

    assert found(rows)["labels.unrated"].evidence["items"] == 1
    part = looked(audit_labels, Subject(benchmark_of([replace(row, votes=()) for row in crowd(rng())])))

    assert part.findings == []
    assert part.left_out == ["labels: the benchmark has none."]


@pytest.mark.slow
def test_a_crowd_without_faults_gives_hardly_any_finding_that_rests_on_a_test():
    tested = {"labels.intent-in-votes", "labels.intent-in-rates"}
    draws = rng(11)

    false_alarms = sum(bool(tested & found(crowd(draws)).keys()) for _ in range(40))

    assert false_alarms <= 1


@pytest.mark.parametrize(("unsure", "made"), [(1, True), (0, False)])
def test_many_unsure_votes_are_a_finding_with_an_interval_over_items_and_people(unsure, made):
    words = ["safe", "unsafe", "unsure" if unsure else "safe"]
    rows = [
        {"query": f"Request {n}?", "annotator": f"p{m}", "vote": words[(n + m * m) % 3]}
        for n in range(12)
        for m in range(6)
    ]
    subject = Subject(benchmark_from_rows(rows, About(name="unsure"), source="made"))

    part, people = looked(audit_labels, subject), looked(audit_people, subject)
    assert ("labels.unsure" in {finding.code for finding in part.findings}) is made
    assert ("agreement_with_unsure" in people.measured) is made
    if made:
        low, high = part.measured["unsure"]["share_interval"]
        assert part.measured["unsure"]["share"] == pytest.approx(1 / 3)
        assert low < 1 / 3 < high
