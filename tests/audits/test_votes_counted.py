"""Each finding about votes, on a few items whose votes are written down: its sentence, its share and its bounds."""

from dataclasses import replace
from typing import Any

import krippendorff
import numpy as np
import pytest
from tests.audits.builders import Row, benchmark_of, looked

from casewise.audits.subject import AuditOptions, AuditPart, Subject
from casewise.audits.votes import agreement_with_intent, alphas, audit_labels, audit_people
from casewise.records import Rating, RatingScale
from casewise.storage.benchmark import About, Published
from casewise.storage.intake.cases import benchmark_from_rows


def audited(rows) -> AuditPart:
    return looked(audit_labels, Subject(benchmark_of(rows)))


def finding_of(part, code) -> Any:
    found = [finding for finding in part.findings if finding.code == code]
    return found[0] if found else None


def row(n, votes, *, intended: bool | None = True, rate=None):
    return Row(f"q{n}", intended, votes, words=f"w{n}", rate=rate)


# Stated rates.


def stated(*, with_intent, wrong=0, by_votes=0):
    """Items of four votes, two of them safe, with the rate as the intent makes it, as nothing makes it, and as the votes do."""
    rates = [3 / 5] * with_intent + [0.9] * wrong + [0.5] * by_votes
    return [row(n, (1, 1, 0, 0), rate=rate) for n, rate in enumerate(rates)]


def test_rates_that_count_the_intent_are_one_finding_and_not_wrong_ones():
    part = audited([*stated(with_intent=20, wrong=2, by_votes=3), row(99, (1, 1, 0, 0))])
    habit, wrong = finding_of(part, "labels.intent-in-rates"), finding_of(part, "labels.rates-disagree")

    assert habit.title == "In 20 of 25 items the stated safe rate counts the author's intent as one vote more."
    assert habit.share == pytest.approx(20 / 26)
    assert (habit.evidence["items"], habit.evidence["people_per_item"], habit.evidence["votes_counted"]) == (20, 4, 5)
    assert (
        habit.evidence["ties_turned_safe"],
        habit.evidence["ties_turned_unsafe"],
        habit.evidence["labels_changed_by_it"],
    ) == (20, 0, 20)
    assert len(habit.items) == 20
    assert (wrong.title, wrong.evidence["items"]) == (
        "In 2 items the stated safe rate differs from that of the votes.",
        2,
    )
    assert (wrong.share, wrong.evidence["largest_difference"], wrong.evidence["verdict_differs"]) == (
        pytest.approx(2 / 26),
        pytest.approx(0.4),
        2,
    )
    assert [
        part.measured[name]
        for name in ("rates_stated", "rates_as_votes", "rates_as_votes_and_intent", "rates_of_neither")
    ] == [25, 3, 20, 2]


@pytest.mark.parametrize(("with_intent", "wrong", "habit"), [(20, 2, True), (19, 0, False), (20, 3, False)])
def test_a_habit_is_twenty_rates_and_nine_in_ten_of_those_that_differ(with_intent, wrong, habit):
    part = audited(stated(with_intent=with_intent, wrong=wrong))

    assert (finding_of(part, "labels.intent-in-rates") is not None) == habit
    disagree = finding_of(part, "labels.rates-disagree")
    assert (disagree.evidence["items"] if disagree else 0) == (wrong if habit else wrong + with_intent)


def test_items_without_a_tie_are_named_where_none_was_turned():
    rows = [row(n, (1, 1, 1, 0), intended=False, rate=3 / 5) for n in range(20)]
    habit = finding_of(audited(rows), "labels.intent-in-rates")

    assert (len(habit.items), habit.evidence["labels_changed_by_it"]) == (20, 0)
    assert audited([row(0, (1, 0))]).left_out == [
        "stated safe rates: the benchmark states none.",
    ]


# Raters who repeat the intent.


def copied(n, *, votes=(0, 1), others=(1, 0, 1)):
    """Items whose first vote is the intent, which takes turns, with others that do not go with it."""
    return [row(place, (place % 2, *others[: 1 + place % 3]), intended=place % 2 == 1) for place in range(n)]


def test_a_rater_is_tested_from_twenty_items_on_and_only_where_chance_is_below_one_in_a_million():
    enough, few = audited(copied(30)), audited(copied(19))
    found = finding_of(enough, "labels.intent-in-votes")

    assert found.title == "1 rater(s) vote as the author intended on every item; 'vote 0' on 30 of 30."
    assert (found.share, found.evidence["largest_chance"], len(found.items)) == (1.0, 1e-6, 20)
    assert found.evidence["raters"]["vote 0"]["items"] == 30
    assert found.evidence["raters"]["vote 0"]["log_chance"] < np.log(1e-6 / enough.measured["raters"])
    assert (enough.measured["raters"], enough.measured["raters_equal_to_intent"]) == (4, 1)
    assert (finding_of(few, "labels.intent-in-votes"), few.measured["raters_equal_to_intent"]) == (None, 0)


def test_the_chance_to_agree_with_every_intent_is_that_of_the_other_votes():
    rows = [row(0, (1, 1, 0)), row(1, (0, 0), intended=False), row(2, (1,), intended=None)]
    found = agreement_with_intent(Subject(benchmark_of(rows)))

    assert found.select("rater", "items", "always").rows() == [
        ("vote 0", 2, True),
        ("vote 1", 2, True),
        ("vote 2", 1, False),
    ]
    # of the others one of two and none of one are safe; one vote of each kind is added
    assert found["log_chance"].to_list() == pytest.approx(
        [np.log(2 / 4) + np.log(1 - 1 / 3), np.log(2 / 4) + np.log(1 - 1 / 3), np.log(3 / 4)]
    )


def test_a_named_rater_goes_by_the_name():
    benchmark = benchmark_of([row(n, (1, 0)) for n in range(3)] + [row(3, (0, 1), intended=None)])
    names = {"safe": "ann", "unsafe": "bob"}
    ratings = tuple(each.model_copy(update={"annotator_id": names[str(each.verdict)]}) for each in benchmark.ratings)

    found = agreement_with_intent(Subject(replace(benchmark, ratings=ratings)))
    assert found.select("rater", "items", "always").rows() == [("ann", 3, True), ("bob", 3, False)]


def test_the_release_is_known_to_have_the_intent_as_its_last_vote():
    rows = [row(n, (1, 0, 1)) for n in range(4)]
    benchmark = benchmark_of(rows)
    published = Published(file="", rates_count_intent=True, votes_hold_intent=True)
    part = looked(
        audit_labels, Subject(replace(benchmark, about=benchmark.about.model_copy(update={"published": published})))
    )
    found = finding_of(part, "labels.intent-in-votes")

    assert found.title == "The last vote equals the author's intent in 4 of 4 items, so no person gave it."
    assert (found.share, found.evidence) == (1.0, {"items": 4, "vote": "last", "people_per_item": 3})
    assert found.explanation == "casewise removed this vote when it imported the file."


# Labels.


def test_ties_are_a_share_of_all_items_and_counted_among_the_rated():
    part = audited([row(0, (1, 0)), row(1, (1, 0), intended=False), row(2, (1,)), row(3, ())])
    found = finding_of(part, "labels.ties")

    assert found.title == "2 of 3 items are ties: a rule settles their label."
    assert (found.share, len(found.items)) == (2 / 4, 2)
    assert (
        found.evidence["of_them_intended_safe"],
        found.evidence["published_makes_safe"],
        found.evidence["published_makes_unsafe"],
    ) == (1, 1, 1)
    assert (part.measured["rated"], part.measured["ties"]) == (3, 2)
    assert finding_of(audited([row(0, (1,))]), "labels.ties") is None


def test_items_without_a_label_are_a_share_of_all():
    found = finding_of(audited([row(0, (1, 0)), row(1, ()), row(2, (0,))]), "labels.unrated")

    assert (found.title, found.share, len(found.items)) == (
        "1 of 3 items have no label; they count in no metric.",
        pytest.approx(1 / 3),
        1,
    )
    assert finding_of(audited([row(0, (1,))]), "labels.unrated") is None


def unsure_rows(n_unsure, n):
    return [
        {
            "query": f"Request {place}?",
            "annotator": f"p{at}",
            "vote": "unsure" if place < n_unsure and at == 0 else "safe",
        }
        for place in range(n)
        for at in range(2)
    ]


@pytest.mark.parametrize(("n_unsure", "made"), [(1, True), (0, False)])
def test_unsure_votes_are_a_finding_from_one_in_twenty_on(n_unsure, made):
    part = looked(
        audit_labels, Subject(benchmark_from_rows(unsure_rows(n_unsure, 10), About(name="unsure"), source="made"))
    )
    found = finding_of(part, "labels.unsure")

    assert (found is not None) == made
    if made:
        assert (found.share, found.evidence["votes"], found.evidence["items_without_another_vote"]) == (
            pytest.approx(0.05),
            1,
            0,
        )
        assert found.title.startswith("5.0 % [")
        assert found.title.endswith("] of the votes are unsure; the majority leaves them out.")
    fewer = looked(
        audit_labels, Subject(benchmark_from_rows(unsure_rows(n_unsure, 11), About(name="unsure"), source="made"))
    )
    assert finding_of(fewer, "labels.unsure") is None


def test_an_item_whose_votes_are_all_unsure_is_named():
    rows = [{"query": "Q?", "annotator": "a", "vote": "unsure"}, {"query": "R?", "annotator": "a", "vote": "safe"}]
    benchmark = benchmark_from_rows(
        [*rows, {"query": "R?", "annotator": "b", "vote": "safe"}], About(name="unsure"), source="made"
    )
    found = finding_of(looked(audit_labels, Subject(benchmark)), "labels.unsure")

    assert (found.items, found.evidence["items_without_another_vote"]) == ((benchmark.items[0].id,), 1)
    assert finding_of(looked(audit_labels, Subject(benchmark)), "labels.unrated") is None, "an unsure vote is a rating"


def test_labels_that_would_come_out_otherwise_are_said_with_their_range():
    part = audited([row(n, (1, 1, 0)) for n in range(10)])
    found, means = finding_of(part, "labels.unstable"), part.measured["same_label_again"]

    assert set(means) == {"fitted by condition", "Jeffreys", "uniform"}
    low, high = (f"{100 * end(means.values()):.1f} %" for end in (min, max))
    assert found.title == f"If as many other people rated again, {low} to {high} of the labels would come out the same."
    assert found.share == pytest.approx(1 - means["fitted by condition"])
    assert (found.evidence["labels_below_80_percent"], found.evidence["rated"], len(found.items)) == (10, 10, 10)
    assert part.measured["second_study"]["estimate"] == pytest.approx(means["fitted by condition"])
    votes = [{"query": "Q?", "annotator": who, "vote": vote} for who, vote in (("a", "unsure"), ("b", "safe"))]
    single = looked(audit_labels, Subject(benchmark_from_rows(votes, About(name="single"), source="made")))
    assert "stability of labels: no item has two votes." in single.left_out
    assert finding_of(single, "labels.unstable") is None


# People.


def people(rows) -> AuditPart:
    return looked(audit_people, Subject(benchmark_of(rows), AuditOptions(splits=5)))


def test_people_who_hardly_agree_are_told_with_alpha_and_one_person_against_the_others():
    given = [(1, 1, 0), (1, 0, 0), (0, 1, 0), (1, 0, 1), (0, 0, 1)] * 8
    part = people([row(n, votes) for n, votes in enumerate(given)])
    (found,) = part.findings
    alpha = krippendorff.alpha(np.array(given).T, level_of_measurement="nominal")

    assert found.evidence["alpha"] == pytest.approx(alpha)
    assert found.share == pytest.approx(min(1.0, 1 - alpha))
    low, high = found.evidence["alpha_interval"]
    one = found.evidence["one_person_against_others"]
    assert found.title == (
        f"People agree little with each other: Krippendorff's alpha is {alpha:z.2f} [{low:z.2f}, {high:z.2f}]; one person agrees with the "
        f"majority of 2 others on {100 * one:.1f} %."
    )
    assert [panel["people"] for panel in part.measured["panel"]] == [1, 3, 5, 7, 9]
    assert part.measured["panel"][0]["agreement"] == pytest.approx(one)
    assert {panel["reference"] for panel in part.measured["panel"]} == {2}
    assert set(part.measured) == {"agreement", "reliability", "ceilings", "panel"}


def test_what_labels_do_not_allow_is_left_out_with_its_reason():
    assert people([row(0, ())]).left_out == ["agreement and ceilings: the benchmark has no labels."]
    single = people([row(n, (n % 2,)) for n in range(6)]).left_out
    assert single == [
        "agreement, panel curve and ceilings: an item has one label (the labels), so there is no agreement to measure."
    ]
    two = people([row(0, (1, 0)), row(1, (1,))])
    assert [line.partition(":")[0] for line in two.left_out][:1] == ["agreement and ceilings"]
    assert two.findings == []


def test_ratings_on_a_scale_have_an_alpha_of_their_own():
    given = [(1.0, 2.0), (5.0, 4.0), (3.0, 3.0), (2.0, 5.0)]
    benchmark = benchmark_of([row(n, ()) for n in range(4)])
    ratings = tuple(
        Rating(item_id=item.id, annotator_id=who, value=value)
        for item, values in zip(benchmark.items, given, strict=True)
        for who, value in zip("ab", values, strict=True)
    )
    about = benchmark.about.model_copy(update={"scale": RatingScale(low=1, high=5)})
    found = alphas(Subject(replace(benchmark, about=about, ratings=ratings)))

    expected = krippendorff.alpha(np.array(given).T, level_of_measurement="interval")
    assert list(found) == ["agreement_on_scale"]
    assert found["agreement_on_scale"].alpha == pytest.approx(expected)
