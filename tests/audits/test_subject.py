"""What all parts of an audit see of a benchmark, and what a finding is."""

import re
from dataclasses import replace

import numpy as np
import pytest
from tests.audits.builders import Row, benchmark_of, crowd, some_words
from tests.support.benchmarks import rich_benchmark
from tests.support.samples import some
from tests.support.worlds import World

from casewise.audits.subject import (
    LEAST_ITEMS,
    LISTED,
    AuditOptions,
    AuditPart,
    Finding,
    Subject,
    check_codes,
    kinds,
    parameter_in_words,
    raters_of,
    scale_of,
)
from casewise.errors import ConfigurationError
from casewise.judges.baselines import LinearJudge
from casewise.records import RatingScale
from casewise.stats.ceilings import UNIFORM, fit_beta, same_label
from casewise.stats.words import HeldOut

# Findings.


def test_a_finding_weighs_the_share_of_items_times_its_effect():
    part = AuditPart("labels")
    for code, share in (("labels.ties", 0.5), ("contexts.length", 1.7), ("people.disagree", 0.0)):
        part.add(code, "a title", share, {"n": 1}, items=["i1"])
    label, score = part.findings

    assert (label.effect, label.weight, label.part, label.items) == ("label", 0.5, "labels", ("i1",))
    assert (score.effect, score.share, score.weight) == (kinds()["contexts.length"].effect, 1.0, 0.5)


def test_a_finding_has_the_advice_of_its_code_or_one_of_its_own():
    part = AuditPart("labels")
    part.add("labels.ties", "a title", 0.5, {})
    part.add("labels.ties", "a title", 0.5, {}, advice="look again")

    assert [str(finding.advice) for finding in part.findings] == [str(kinds()["labels.ties"].advice), "look again"]
    assert [str(finding.explanation) for finding in part.findings] == ["To leave ties out, use --ties drop.", ""]
    assert isinstance(part.findings[0], Finding)


def test_the_advice_of_each_kind_is_one_sentence_that_a_page_can_print_as_the_next_step():
    assert all(re.fullmatch(r"[A-Z].*[^.]\.", str(kind.advice)) for kind in kinds().values())
    assert not [code for code, kind in kinds().items() if ". " in str(kind.advice)]


def test_a_finding_has_a_known_code():
    with pytest.raises(KeyError, match=r"made\.up"):
        AuditPart("labels").add("made.up", "t", 0, {})
    assert all(code.count(".") == 1 for code in kinds())


def test_codes_parts_and_any_are_taken_and_an_unknown_name_is_refused_with_those_there_are():
    assert check_codes(["labels.ties", "coverage", "any"]) == ("labels.ties", "coverage", "any")
    with pytest.raises(
        ConfigurationError, match=r"'label\.tie' \(did you mean 'labels\.ties'\?\); there are any, baseline, contexts"
    ):
        check_codes(["any", "label.tie"])


def test_a_parameter_is_named_without_the_group_that_all_of_its_kind_share():
    assert parameter_in_words("transmission_principle.sender_purpose") == "sender purpose"
    assert parameter_in_words("recipient.type") == "recipient type"


# Items.

ROWS = [
    Row("q1", True, (1, 1, 0), words="a"),
    Row("q1", False, (0, 0, 1), words="b"),
    Row("q2", True, (1, 0), words="a"),
    Row("q2", None, (), words="c", urgent=False),
]


def test_an_item_has_its_query_its_votes_its_label_and_its_intent():
    subject = Subject(benchmark_of(ROWS))

    assert (subject.query.tolist(), subject.cluster is subject.query) == ([0, 0, 1, 1], True)
    assert (subject.n_safe.tolist(), subject.n_votes.tolist()) == ([2, 1, 1, 0], [3, 3, 2, 0])
    assert subject.label.tolist()[:3] == [1, 0, 0.5]
    assert subject.intended.tolist()[:3] == [1, 0, 1]
    assert np.isnan([subject.label[3], subject.intended[3]]).all()
    assert subject.with_context.all()
    clusters = np.array([0, 1, 2, 3])
    assert Subject(subject.benchmark, clustered=clusters).cluster is clusters
    assert Subject(subject.benchmark, numbered=clusters).query is clusters


def test_an_items_context_is_read_parameter_by_parameter():
    subject = Subject(benchmark_of(ROWS))

    assert subject.stated["transmission_principle.urgency"].to_list() == ["u a", "u b", "u a", None]
    assert "transmission_principle.urgency" in subject.parameters
    assert "subject" not in subject.parameters, "no context states it"
    assert list(subject.written) == list(Subject(subject.benchmark).written), "whether it was read before or not"
    assert subject.texts_of_contexts[0] == subject.texts_of_contexts[2] != subject.texts_of_contexts[1]


def test_a_finding_names_its_first_items_alone():
    subject = Subject(benchmark_of([Row(f"q{n}", True, (1,), words=f"w{n}") for n in range(LISTED + 5)]))
    mask = np.arange(LISTED + 5) > 1

    assert subject.first_ids(mask) == tuple(subject.items["item_id"].to_list()[2 : LISTED + 2])


def test_a_benchmark_that_is_large_has_three_folds_at_most(monkeypatch):
    benchmark = benchmark_of(ROWS)
    small = Subject(benchmark).folds
    monkeypatch.setattr("casewise.audits.subject.LARGE", 4)

    assert (small, Subject(benchmark).folds, Subject(benchmark, AuditOptions(folds=2)).folds) == (10, 3, 2)
    monkeypatch.setattr("casewise.audits.subject.LARGE", 5)
    assert Subject(benchmark).folds == 10


def test_of_a_very_large_benchmark_whole_queries_are_read_up_to_a_number_of_items(monkeypatch):
    benchmark = benchmark_of(crowd(np.random.default_rng(1), queries=8))
    assert Subject(benchmark).words_read.all()
    read = []
    for most in (5, 6, 16):
        monkeypatch.setattr("casewise.audits.subject.MOST_READ", most)
        read.append(Subject(benchmark).words_read)

    assert [int(each.sum()) for each in read] == [4, 6, 16]
    assert all((each[::2] == each[1::2]).all() for each in read)


def test_what_is_cached_of_the_words_says_which_words_and_folds_and_how_many_items_where_not_all_are_read(monkeypatch):
    titles = []

    def cached(_benchmark, title, _work, *, made_with):
        titles.append((title, made_with))
        return np.zeros(16)

    monkeypatch.setattr("casewise.audits.subject.cached_item_numbers", cached)
    benchmark = benchmark_of(crowd(np.random.default_rng(1), queries=8))
    Subject(benchmark).predicted("context")
    Subject(benchmark, AuditOptions(folds=4)).predicted("query+context")
    monkeypatch.setattr("casewise.audits.subject.MOST_READ", 6)
    Subject(benchmark).predicted("query")

    assert titles == [
        ("words of contexts, queries held out in 10 folds", "scikit-learn"),
        ("words of queries and contexts, queries held out in 4 folds", "scikit-learn"),
        ("words of queries, queries held out in 10 folds, of 6 items", "scikit-learn"),
    ]


# The classifier on words.


def crossed(rng, *, requests=30, profiles=8):
    """Every profile with every request; the label follows the request."""
    people = [f"{some_words(rng, 3)} {'nurse' if i % 2 else 'stranger'} p{i}" for i in range(profiles)]
    return [
        Row(f"request {n} {'poison' if n % 2 else 'recipe'}", None, (1 - n % 2,) * 3, words=profile)
        for n in range(requests)
        for profile in people
    ]


def test_a_crossed_set_has_a_word_baseline_that_learns_from_neither_the_query_nor_the_context_of_a_test_item():
    subject = Subject(benchmark_of(crossed(np.random.default_rng(1))))
    plan = subject.held_out(subject.folds)

    assert isinstance(plan, HeldOut)
    assert subject.why_no_baseline is None
    assert (plan.groups, subject.reads, len(plan.folds)) == ("queries and contexts", "query+context", 2)
    for folds, groups in zip(plan.folds, (subject.query, subject.texts_of_contexts), strict=True):
        assert all(len(set(folds.of_row[groups == one].tolist())) == 1 for one in np.unique(groups))
    assert (subject.groups_held_out, len(subject.groupings), subject.contexts_recur) == (plan.groups, 2, True)


def test_contexts_recur_where_each_stands_with_two_queries_on_average():
    rows = crowd(np.random.default_rng(8), queries=10)
    twice = [replace(row, words=rows[place % 10].words) for place, row in enumerate(rows)]

    assert not Subject(benchmark_of([*rows[:18], *twice[18:]])).contexts_recur
    assert Subject(benchmark_of(twice)).contexts_recur


def test_a_benchmark_without_contexts_is_read_by_the_words_of_its_queries():
    subject = Subject(benchmark_of(crossed(np.random.default_rng(5), profiles=1, requests=40)))

    assert (subject.why_no_baseline, subject.reads, subject.groups_held_out) == (None, "query", "queries")
    assert len(subject.groupings) == 1
    assert LinearJudge(subject.benchmark).features == "query"


def test_items_of_one_cluster_are_held_out_together():
    benchmark = benchmark_of(crowd(np.random.default_rng(7), queries=40))
    place = {query.id: number for number, query in enumerate(benchmark.queries)}
    clustered = replace(
        benchmark,
        items=tuple(
            item.model_copy(update={"cluster": f"task {place[item.query_id] // 2}"}) for item in benchmark.items
        ),
    )
    subject = Subject(clustered)

    plan = subject.held_out(subject.folds)
    assert isinstance(plan, HeldOut)
    (folds,) = plan.folds
    task = np.array([place[item.query_id] // 2 for item in clustered.items])
    assert all(len(set(folds.of_row[task == one].tolist())) == 1 for one in range(20))


def votes(*of_item):
    return benchmark_of([Row(f"q{n}", True, each, words=f"w{n}") for n, each in enumerate(of_item)])


@pytest.mark.parametrize(
    ("benchmark", "why"),
    [
        (votes(*[()] * 30), "no item has a label"),
        (
            benchmark_of(crossed(np.random.default_rng(6), requests=4, profiles=4)),
            "it learns from 20 items or more, and only 16 have labels",
        ),
        (votes(*[(1, 1, 0)] * 30), "the labels are all alike"),
        (votes(*[(0, 0, 1)] * 30), "the labels are all alike"),
        (votes(*[(1,), (0,)] * 15), None),
        (votes(*[(1,), (1, 0)] * 15), None),
    ],
)
def test_no_classifier_is_fitted_without_enough_labels_of_both_kinds(benchmark, why):
    assert Subject(benchmark).why_no_baseline == why


def swapped(*, of_usual="b"):
    """Two queries; the third and fourth row are of a condition of the study's own."""
    return [
        Row("q1", True, (1,), words="a"),
        Row("q2", True, (0,), words="b"),
        Row("q1", True, (1,), words=of_usual, condition="swapped"),
        Row("q2", True, (1,), words="new", condition="swapped"),
    ]


def test_a_context_is_exchanged_where_it_stands_in_a_usual_condition_of_another_query():
    assert Subject(benchmark_of(swapped())).exchanged.tolist() == [False, False, True, False]
    assert not Subject(benchmark_of(swapped(of_usual="other"))).exchanged.any()
    everything = [replace(row, condition="swapped") for row in swapped()]
    assert not Subject(benchmark_of(everything)).exchanged.any()


def test_exchanged_items_and_items_without_a_label_are_not_learnt_from():
    rows = [*swapped(), Row("q3", True, (), words="c")]

    assert Subject(benchmark_of(rows)).learnt.tolist() == [True, True, False, True, False]


# Repeated studies.


@pytest.mark.parametrize("n_several", [LEAST_ITEMS - 1, LEAST_ITEMS])
def test_a_spread_of_rates_is_fitted_to_twenty_items_with_several_votes_and_not_to_fewer(n_several):
    given = [(1, 1, 0), (1, 0, 0), (1, 1, 1)] * n_several
    benchmark = votes(*given[:n_several], *[(1,)] * 5)
    subject = Subject(benchmark)
    prior = UNIFORM if n_several < LEAST_ITEMS else fit_beta(subject.n_safe, subject.n_votes)

    assert subject.same_again == pytest.approx(same_label(subject.n_safe, subject.n_votes, prior=prior))


def test_a_second_study_repeats_the_mean_of_the_chances_of_the_items():
    subject = Subject(votes((1, 1, 0), (1, 0, 0), (1,), ()))
    rows = np.array([True, False, True, True])

    assert some(some(subject.second_study(rows)).estimate) == pytest.approx(subject.same_again[[0, 2]].mean())
    assert subject.second_study(np.array([False, False, True, True])) is None, "no item has two votes"
    assert subject.second_study(np.array([False, False, False, True])) is None


# Who rated.


def test_votes_are_known_by_person_only_where_every_vote_is():
    world = World("unsure", ("su?", "uus"), {})
    benchmark = world.benchmark
    decided, half = (some(raters_of(benchmark, benchmark.item_columns, unsure=rule)) for rule in ("drop", "half"))

    assert (decided.item.tolist(), decided.annotator.tolist()) == ([0, 0, 1, 1, 1], [0, 1, 0, 1, 2])
    assert decided.safe.tolist() == [1, 0, 0, 0, 1]
    assert (half.item.tolist(), half.safe.tolist()) == ([0, 0, 0, 1, 1, 1], [1, 0, 0.5, 0, 0, 1])
    assert raters_of(benchmark, benchmark.item_columns.head(0)) is None
    assert raters_of(votes((1, 0)), votes((1, 0)).item_columns) is None
    anonymous = replace(benchmark, ratings=[*benchmark.ratings][1:] + [
        replaced.model_copy(update={"annotator_id": None, "position": 0}) for replaced in [*benchmark.ratings][:1]
    ])  # fmt: skip
    assert raters_of(anonymous, anonymous.item_columns) is None


def test_ratings_on_a_scale_are_shares_of_it_with_the_people_who_gave_them():
    benchmark = rich_benchmark()
    found = some(scale_of(benchmark, benchmark.item_columns))

    assert found.n.tolist() == [0, 0, 0, 2]
    assert found.mean[3] == pytest.approx(1 - (-51.625 + 100) / 200)
    assert found.raters is not None
    assert found.raters.safe.tolist() == pytest.approx([1 - 96.75 / 200, 1.0])
    without = votes((1, 0))
    assert scale_of(without, without.item_columns) is None
    assert scale_of(benchmark, benchmark.item_columns.head(2)) is None


def test_a_mean_without_its_ratings_leaves_the_people_unknown():
    benchmark = votes((1, 0), (1,))
    items = [item.model_copy(update={"mean": 2.0}) for item in benchmark.items]
    stated = replace(
        benchmark, items=items, about=benchmark.about.model_copy(update={"scale": RatingScale(low=1, high=5)})
    )
    found = some(scale_of(stated, stated.item_columns))

    assert (found.mean.tolist(), found.n.tolist(), found.raters) == ([0.75, 0.75], [0, 0], None)
