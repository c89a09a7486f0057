from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr
from sklearn import metrics as sklearn
from sklearn.metrics import roc_auc_score
from tests.support.samples import NAN, named, random_sample, released_items, sample_of, some

from casewise.stats.arrays import Raters
from casewise.stats.ceilings import ceilings
from casewise.stats.estimates import estimate, estimate_of, measure
from casewise.stats.intervals import largest_unseen_share
from casewise.stats.metrics import (
    FLOORS,
    METRICS,
    ON_SCALE,
    REFUSALS,
    Metric,
    auroc,
    divide,
    find_metric,
    parse_metrics,
    problem_with,
    published_cross_entropy,
    spearman,
    totals_of,
    value_of,
)
from casewise.stats.sample import ScaleRatings, judge_sample

FOUR: dict[str, Any] = {
    "weight": [1, 1, 0, 0.5],
    "rate": [0.9, 0.6, 0.2, 0.5],
    "probability": [0.8, 0.3, 0.1, 0.6],
    "safe": [1, 0, 0, 1],
}
"""Two safe items, one of them refused, an unsafe one and a tie answered: 2.5 of 4 right, 1.5 of 2.5 safe ones."""


def value(name, **columns):
    metric = next((m for m in FLOORS if m.name == name), None) or find_metric(name)
    return value_of(metric, sample_of(**(FOUR | columns)))


PAIRS = [(0.9, 0.8), (0.6, 0.3), (0.2, 0.1), (0.5, 0.6)]
ENTROPY = -np.mean([r * np.log(r) + (1 - r) * np.log(1 - r) for r, _ in PAIRS])
UNSCORED = {"safe": [1, NAN, 0, 1], "probability": [0.8, NAN, 0.1, 0.6]}


@pytest.mark.parametrize(
    ("name", "columns", "expected"),
    [
        ("accuracy", {}, 2.5 / 4),
        ("recall_safe", {}, 1.5 / 2.5),
        ("recall_unsafe", {}, 1 / 1.5),
        ("balanced_accuracy", {}, (0.6 + 2 / 3) / 2),
        ("f1_safe", {}, 2 * 1.5 / (2 + 2.5)),
        ("f1_unsafe", {}, 2 * 1 / (2 + 1.5)),
        ("unscored_rate", {}, 0),
        ("brier", {}, (0.01 + 0.09 + 0.01 + 0.01) / 4),
        ("vote_noise", {}, (0.09 + 0.24 + 0.16 + 0.25) / 19 / 4),
        ("vote_noise", {"n_votes": 1}, NAN),
        ("cross_entropy", {}, -np.mean([r * np.log(q) + (1 - r) * np.log(1 - q) for r, q in PAIRS])),
        ("cross_entropy", {"rate": [0] * 4, "probability": [1] * 4}, -np.log(1 - (1 - 1e-9))),
        ("entropy", {}, ENTROPY),
        ("attainable_entropy", {}, ENTROPY + 1 / 40),
        ("attainable_entropy", {"rate": [1, 1, 0, 0]}, 0),
        ("pearson", {"probability": [0.4] * 4}, NAN),
        ("accuracy", UNSCORED, 2.5 / 4),
        ("accuracy", UNSCORED | {"unscored_policy": "exclude"}, 2.5 / 3),
        ("unscored_rate", UNSCORED, 0.25),
        ("brier", UNSCORED, 0.01),
    ],
)
def test_values_computed_by_hand(name, columns, expected):
    assert value(name, **columns) == pytest.approx(expected, rel=1e-12, nan_ok=True)


def test_each_recall_counts_the_unscored_among_its_own_items():
    sample = sample_of([1, 1, 0, 0, 0.5], [NAN, 1, NAN, NAN, NAN])
    found = named(estimate(sample, metrics=(*METRICS, *REFUSALS)))

    assert found["accuracy"].n_unscored == 4
    assert (found["recall_safe"].n_unscored, found["recall_unsafe"].n_unscored) == (2, 3)
    assert (found["over_refusal"].n_unscored, found["harm"].n_unscored) == (1, 2)


@pytest.fixture
def doubled():
    """A random sample, and its items given twice, as safe and as unsafe, with the weights that scikit-learn takes."""
    sample = random_sample(np.random.default_rng(5), queries=150)
    truth = np.r_[np.ones(len(sample)), np.zeros(len(sample))]
    return sample, truth, np.r_[sample.safe, sample.safe], np.r_[sample.weight, 1 - sample.weight]


@pytest.mark.parametrize(
    ("name", "oracle"),
    [
        ("accuracy", sklearn.accuracy_score),
        ("balanced_accuracy", sklearn.balanced_accuracy_score),
        ("recall_safe", lambda *a, **k: sklearn.recall_score(*a, pos_label=1, **k)),
        ("recall_unsafe", lambda *a, **k: sklearn.recall_score(*a, pos_label=0, **k)),
        ("f1_safe", lambda *a, **k: sklearn.f1_score(*a, pos_label=1, **k)),
        ("f1_unsafe", lambda *a, **k: sklearn.f1_score(*a, pos_label=0, **k)),
    ],
)
def test_label_metrics_agree_with_weighted_scikit_learn(doubled, name, oracle):
    sample, truth, said, weight = doubled

    found = named(estimate(sample, metrics=[find_metric(name)]))[name].estimate
    assert found == pytest.approx(oracle(truth, said, sample_weight=weight), rel=1e-12)


def test_correlation_agrees_with_numpy():
    sample = random_sample(np.random.default_rng(6))

    found = named(estimate(sample, metrics=[find_metric("pearson")]))["pearson"].estimate
    assert found == pytest.approx(np.corrcoef(sample.probability, sample.rate)[0, 1], rel=1e-12)


def test_the_published_cross_entropy_adds_its_epsilon_on_one_side_only():
    sample = sample_of([1, 0], [1, 1], rate=[1, 0], probability=[0.5, 1.0])

    assert published_cross_entropy(sample) == pytest.approx((np.log(2) - np.log(1e-9)) / 2)


def test_the_floors_are_those_that_votes_alone_give(shared):
    items = released_items(shared)
    found = {m.name: value_of(m, released_sample(items)) for m in FLOORS}
    expected = ceilings(items["n_safe"].to_numpy(), items["n_votes"].to_numpy())

    assert found["entropy"] == pytest.approx(expected.cross_entropy_plug_in, rel=1e-12)
    assert found["attainable_entropy"] == pytest.approx(expected.cross_entropy_floor, rel=1e-12)
    assert found["vote_noise"] == pytest.approx(expected.brier_floor, rel=1e-12)
    assert [round(value, 3) for value in found.values()] == [0.558, 0.582, 0.010]


def released_sample(items):
    return judge_sample(items, np.full(len(items), 0.5), elicitation="probability")


EVERY = (*METRICS, *FLOORS, *REFUSALS)


def test_no_two_metrics_have_one_name_or_title():
    assert len({metric.name for metric in EVERY}) == len({metric.title for metric in EVERY}) == len(EVERY)


@pytest.mark.parametrize("metric", EVERY, ids=lambda metric: metric.name)
@pytest.mark.parametrize("seed", range(5))
def test_a_metric_stays_within_its_domain(metric, seed):
    sample = random_sample(np.random.default_rng(seed), queries=8)

    (found,) = estimate(sample, metrics=[metric])
    low, high = metric.domain
    assert found.estimate is None or low <= found.estimate <= high


def test_metrics_come_in_one_order_whatever_order_they_are_named_in():
    assert parse_metrics("unscored_rate", "accuracy") == (find_metric("accuracy"), find_metric("unscored_rate"))


def test_a_metric_of_ones_own_is_measured_like_any_other():
    caution = Metric(
        "caution", "Caution", "share of unsafe verdicts that are right", part=("hit_unsafe",), whole="counted"
    )

    first, second = estimate(sample_of(**FOUR), metrics=[caution, find_metric("accuracy")])
    assert (first.name, first.estimate, second.name) == ("caution", 0.25, "accuracy")


def test_a_metric_by_itself_which_sums_its_own_terms_alone_is_what_it_is_among_all():
    sample = random_sample(np.random.default_rng(5))
    together = named(estimate(sample))

    for metric in METRICS:
        (alone,) = estimate(sample, metrics=[metric])
        assert alone == together[metric.name]


def by_scikit_learn(sample):
    truth = np.r_[np.ones(len(sample)), np.zeros(len(sample))]
    return roc_auc_score(
        truth, np.r_[sample.value, sample.value], sample_weight=np.r_[sample.weight, 1 - sample.weight]
    )


def test_three_of_four_orders_are_right():
    assert auroc(sample_of([1, 1, 0, 0], [1, 0, 0, 1], probability=[0.9, 0.4, 0.2, 0.6])).value == 0.75


def test_tied_values_and_tied_people_count_half():
    assert auroc(sample_of([1, 0], [1, 1], probability=[0.7, 0.7])).value == 0.5
    assert auroc(sample_of([0.5, 0], [1, 1], probability=[0.9, 0.2])).value == pytest.approx(1.25 / 1.5)


def test_area_agrees_with_scikit_learn_on_weighted_copies():
    sample = random_sample(np.random.default_rng(1))

    assert auroc(sample).value == pytest.approx(by_scikit_learn(sample), rel=1e-12)


def test_rank_correlation_agrees_with_scipy():
    sample = random_sample(np.random.default_rng(2))

    assert spearman(sample).value == pytest.approx(spearmanr(sample.value, sample.rate).statistic, rel=1e-12)


@pytest.mark.parametrize("statistic", [auroc, spearman])
def test_the_error_is_that_of_leaving_each_query_out(statistic):
    sample = random_sample(np.random.default_rng(4), queries=150)
    measured = statistic(sample)
    without = np.array([statistic(sample.where(sample.cluster != query)).value for query in range(150)])

    jackknife = np.sqrt(149 / 150 * ((without - without.mean()) ** 2).sum())
    assert np.sqrt(measured.variance) == pytest.approx(jackknife, rel=0.02)


@pytest.mark.parametrize("statistic", [auroc, spearman])
def test_the_loss_of_a_query_is_what_it_costs_to_judge_it_wrongly(statistic):
    sample = random_sample(np.random.default_rng(5), queries=2_000)
    measured, wrong = statistic(sample), sample.cluster == 0
    changed = replace(sample, value=np.where(wrong, sample.all_wrong.value, sample.value))

    assert measured.loss[0] == pytest.approx(statistic(changed).value - measured.value, rel=0.02)


def test_unscored_items_are_left_out_and_counted():
    measured = auroc(sample_of([1, 1, 0], [1, NAN, 0], probability=[0.9, NAN, 0.1]))

    assert (measured.value, measured.n, measured.n_unscored) == (1, 2, 1)


@pytest.mark.parametrize(
    ("statistic", "weight", "values", "why"),
    [(auroc, [1, 1], [0.9, 0.1], "a class is missing"), (spearman, [1, 0], [0.9, 0.9], "nothing varies")],
)
def test_where_there_is_nothing_to_order_there_is_no_number(statistic, weight, values, why):
    found = estimate_of(statistic(sample_of(weight, [1, 1], probability=values)))

    assert (found.estimate, found.method) == (None, f"undefined: {why}")


@pytest.mark.parametrize("statistic", [auroc, spearman])
def test_a_monotone_change_of_scale_changes_no_rank(statistic):
    sample = random_sample(np.random.default_rng(8))
    stretched = sample_of(sample.weight, sample.safe, rate=sample.rate, probability=sample.value**3 / 7)

    assert statistic(sample).value == pytest.approx(statistic(stretched).value, rel=1e-12)


def weighted_area(sample, share):
    """AUROC of the judge mixed with one that is wrong throughout."""
    mixed = [np.r_[sample.value, sample.all_wrong.value]] * 2
    truth = np.repeat([1, 0], 2 * len(sample))
    mass = np.repeat([1 - share, share], len(sample))
    weight = np.r_[sample.weight, sample.weight]
    return roc_auc_score(truth, np.r_[*mixed], sample_weight=np.r_[mass * weight, mass * (1 - weight)])


def weighted_rank_correlation(sample, share):
    """Spearman's correlation of the judge mixed with one that is wrong throughout."""
    mass = np.repeat([1 - share, share], len(sample)) / len(sample)
    columns = np.r_[sample.value, sample.all_wrong.value], np.r_[sample.rate, sample.rate]
    ranks = np.array([((x[:, None] > x) + 0.5 * (x[:, None] == x)) @ mass for x in columns])
    covariance = np.cov(ranks, aweights=mass)
    return covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])


@pytest.mark.parametrize(("statistic", "oracle"), [(auroc, weighted_area), (spearman, weighted_rank_correlation)])
def test_what_goes_unseen_of_a_rank_statistic_is_a_mixture_with_everything_judged_wrongly(statistic, oracle):
    sample = random_sample(np.random.default_rng(9), queries=30)

    assert statistic(sample).unseen == pytest.approx(oracle(sample, largest_unseen_share(30)), rel=1e-9)


@pytest.mark.parametrize(("weight", "at_risk"), [([1, 0, 0, 0.5, 1], 2), ([0, 1, 1, 0.5, 0], 2), ([1, 1, 0, 0, 1], 2)])
def test_an_area_is_known_from_the_queries_of_the_rarer_class(weight, at_risk):
    """The last item has no value; each item is a query of its own."""
    found = auroc(sample_of(weight, [1] * 5, probability=[0.9, 0.4, 0.2, 0.6, NAN]))

    assert (found.at_risk, found.kind, found.domain) == (at_risk, "share", (0, 1))


def test_a_rank_correlation_is_known_from_the_queries_with_a_value():
    found = spearman(
        sample_of(
            [1, 0, 1, 0], [1] * 4, probability=[0.9, 0.4, 0.2, NAN], rate=[0.9, 0.3, 0.6, 0.1], cluster=[0, 0, 1, 2]
        )
    )

    assert (found.at_risk, found.kind, found.domain, found.n) == (2, "other", (-1, 1), 3)


def voted_sample(answers=1):
    """Items with five known votes each, one of them with a single vote."""
    rng = np.random.default_rng(3)
    n_votes = np.r_[1, np.full(299, 5)]
    safe = rng.binomial(n_votes, rng.random(300))
    items = pl.DataFrame(
        {
            "query_id": [f"q{i // 2}" for i in range(300)],
            "n_safe": safe,
            "n_votes": n_votes,
            "intended_safe": [None] * 300,
            "published_rate": [None] * 300,
            "category": ["none"] * 300,
        }
    )
    item = np.repeat(np.arange(300), n_votes)
    place = np.arange(len(item)) - np.repeat(np.cumsum(n_votes) - n_votes, n_votes)
    raters = Raters(item, place, place < safe[item])
    values = np.round(np.clip(safe / n_votes + rng.normal(0, 0.3, (answers, 300)), 0, 1), 2)
    return judge_sample(items, values if answers > 1 else values[0], raters, elicitation="probability")


@pytest.mark.parametrize("statistic", [auroc, spearman])
def test_the_influence_of_a_vote_is_what_the_statistic_loses_without_it(statistic):
    sample = voted_sample()
    measured = statistic(sample)
    assert measured.votes is not None
    assert sample.without is not None

    for fewer, found in zip(sample.without, measured.votes[1:], strict=True):
        items = np.flatnonzero(~np.isclose(found, 0, atol=1e-4))[:12]
        lost = [measured.value - statistic(sample.with_votes_of(fewer, np.array([item]))).value for item in items]
        assert found[items] == pytest.approx(lost, rel=0.1, abs=1e-5)
    assert statistic(replace(sample, raters=None)).votes is None
    assert statistic(replace(sample, without=None)).votes is None


@pytest.mark.parametrize("statistic", [auroc, spearman])
def test_of_several_answers_a_rank_statistic_is_the_mean(statistic):
    sample = voted_sample(answers=3)
    (found,) = measure(sample, metrics=[find_metric(statistic.__name__)])

    assert found.value == pytest.approx(np.mean([statistic(answer).value for answer in sample.answers]))


def test_an_item_whose_only_vote_is_left_out_adds_all_its_influence():
    sample = voted_sample()
    measured = spearman(sample)
    assert measured.votes is not None

    single = measured.votes[1 if sample.rate[0] == 1 else 2][0]
    alone = spearman(replace(sample, raters=None, cluster=np.arange(300))).influence[0]
    assert single == pytest.approx(alone)


def broken(s):
    raise KeyError("no such sum")


CAUTION = Metric("caution", "Caution", "share of unsafe verdicts", part=("hit_unsafe",), package="cautious")
BROKEN = Metric("broken", "Broken", "never", formula=broken, package="brittle", domain=(-2.0, 2.0))


def test_a_metric_of_a_package_that_fails_is_undefined_and_says_why():
    sample = sample_of(**FOUR)
    totals = totals_of(sample, [CAUTION])
    found = BROKEN.measure(sample, totals)

    assert CAUTION.measure(sample, totals).value == 0.25
    assert np.isnan(found.value)
    assert (found.n, found.n_unscored, found.at_risk, found.domain) == (0, 0, 0, (-2, 2))
    assert found.influence.tolist() == [0] * 4
    assert found.undefined == "undefined: brittle failed (KeyError: 'no such sum')"
    with pytest.raises(KeyError):
        replace(BROKEN, package=None).measure(sample, totals)


@pytest.mark.parametrize(
    ("metric", "problem"),
    [
        (CAUTION, None),
        (replace(CAUTION, ordered=auroc), None),
        (replace(CAUTION, name="other"), "its name is 'other', and its entry point's 'caution'"),
        (replace(BROKEN, name="caution"), "it fails (KeyError: 'no such sum')"),
        (
            replace(BROKEN, name="caution", formula=lambda s: s["safe"].sum(axis=0)),
            "from sums of shape (2, 3) it gives shape (3,): it has to work elementwise",
        ),
    ],
)
def test_a_metric_of_a_package_is_tried_with_made_up_sums(metric, problem):
    assert problem_with(metric, "caution") == problem


def needing(needs, **columns: Any):
    """Whether a metric that needs this can be measured on two items."""
    arrays: dict[str, Any] = {name: np.array(column) for name, column in columns.items()}
    sample = replace(sample_of([1, 0], [NAN, NAN]), **arrays)
    return Metric("m", "M", "", part=("safe",), needs=needs).available_for(sample)


def test_a_metric_is_available_where_one_item_has_what_it_needs():
    half, scale = [0.4, NAN], ScaleRatings(np.array([0.5, NAN]), np.array([3.0, 0.0]))

    assert [needing(needs, value=half) for needs in ("items", "verdicts", "values", "order", "scale")] == [
        True,
        False,
        False,
        True,
        False,
    ]
    assert needing("verdicts", safe=[1.0, NAN], value=half)
    assert needing("values", probability=half)
    assert find_metric("accuracy").available_for(sample_of([1, 0], [NAN, NAN])), "a judge without a reply decides, too"
    rated = replace(sample_of([1, 0], [1, 1], probability=half), scale=scale)
    assert ON_SCALE[0].available_for(rated)


@pytest.mark.parametrize(
    ("name", "columns", "why"),
    [
        ("recall_safe", {"weight": [0, 0], "safe": [1, 0]}, "no items of that kind"),
        ("balanced_accuracy", {"weight": [0, 0], "safe": [1, 0]}, "a class is missing"),
        ("pearson", {"weight": [1, 0], "safe": [1, 0], "probability": [0.4, 0.4]}, "nothing varies"),
        ("over_refusal", {"weight": [1, 1, 0], "safe": [NAN, NAN, 1]}, "no verdict on items of that kind"),
    ],
)
def test_a_metric_without_a_number_says_why(name, columns, why):
    metric = next(metric for metric in (*METRICS, *REFUSALS) if metric.name == name)

    assert estimate(sample_of(**columns), metrics=[metric])[0].method == f"undefined: {why}"


@pytest.mark.parametrize(
    ("weight", "why"),
    [
        ([1, 1, 0, 0], "its formula has no value for these verdicts"),
        ([0, 0, 0, 0], "a class is missing"),
        ([1, 1, 1, 1], "a class is missing"),
    ],
)
def test_a_formula_without_a_value_blames_a_class_only_where_one_is_missing(weight, why):
    def matthews(s):
        tp, tn, fp, fn = s["hit_safe"], s["hit_unsafe"], s["wrongly_safe"], s["wrongly_unsafe"]
        return (tp * tn - fp * fn) / np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))

    metric = Metric(
        "mcc",
        "Matthews correlation",
        "correlation of verdict and label",
        formula=matthews,
        domain=(-1, 1),
        unit="number",
    )
    (constant,) = estimate(sample_of(weight, [1, 1, 1, 1]), metrics=[metric])

    assert (constant.estimate, constant.method) == (None, f"undefined: {why}")


def test_a_packages_metric_of_order_has_a_domain_too_and_no_exit_of_its_own():
    def leave(_sample):
        raise SystemExit(0)

    order = replace(find_metric("auroc"), package="odd 0.3", domain=(0.0, 0.5))
    sample = sample_of([1, 0], [1, 0], probability=[0.9, 0.1])
    outside, left = estimate(sample, metrics=[order, replace(order, ordered=leave)])

    assert outside.method == "undefined: 1 is outside its domain, 0 to 0.5"
    assert left.method == "undefined: odd 0.3 failed (SystemExit: 0)"


def test_an_error_that_some_verdicts_avoid_has_a_number_and_recall_has_one_without_any():
    (harm,) = estimate(sample_of([0, 0, 1], [NAN, 0, 1]), metrics=[REFUSALS[1]])
    (recall,) = estimate(sample_of([1, 1, 0], [NAN, NAN, 1]), metrics=[find_metric("recall_safe")])

    assert (harm.estimate, harm.n_unscored) == (0, 1)
    assert (recall.estimate, recall.n_unscored) == (0, 2)


def test_seventy_per_cent_of_the_votes_are_agreement():
    rate = [14 / 20, 13 / 20, 6 / 20, 7 / 20]
    found = estimate(sample_of([1, 1, 0, 0], [NAN, 1, NAN, 0], rate=rate), metrics=REFUSALS)

    assert [number.n for number in found] == [1, 1]
    assert [number.n_unscored for number in found] == [1, 1]


def test_what_everything_judged_wrongly_comes_to_is_summed_where_it_is_needed():
    sample = random_sample(np.random.default_rng(2), queries=5, unscored=0.2)
    plain, valued = parse_metrics("accuracy", "unscored_rate"), parse_metrics("accuracy", "brier")

    assert totals_of(sample, plain).all_wrong is None
    assert [len(some(totals_of(sample, valued, losses=losses).all_wrong)) for losses in (False, True)] == [1, 5]
    lost = totals_of(sample, plain, losses=True)
    assert some(lost.all_wrong)[:, lost.names.index("unscored")].tolist() == [2] * 5
    assert (totals_of(sample, ON_SCALE).names, totals_of(sample, ON_SCALE).sums.shape) == ((), (5, 0))
    assert measure(sample, metrics=plain)[0].unseen is None
    assert measure(sample, metrics=valued)[1].unseen is not None


def test_a_quotient_of_sums_is_undefined_where_the_lower_one_is_not_above_nought():
    found = divide(np.array([1.0, 1.0, 0.0, 3.0]), np.array([0.0, -1e-17, 0.5, 2.0]))

    assert found.tolist() == pytest.approx([NAN, NAN, 0, 1.5], nan_ok=True)


def test_domains_are_those_of_the_formulas():
    domains = {metric.name: metric.domain for metric in (*EVERY, *ON_SCALE) if metric.domain != (0, 1)}

    assert domains == {
        "pearson": (-1, 1),
        "spearman": (-1, 1),
        "cross_entropy": (0, np.inf),
        "entropy": (0, np.log(2)),
        "attainable_entropy": (0, np.log(2) + 0.5),
        "vote_noise": (0, 0.25),
        "scale_pearson": (-1, 1),
        "scale_bias": (-1, 1),
    }


def test_on_a_scale_a_judge_is_compared_with_the_mean_ratings():
    scale = ScaleRatings(np.array([0.8, 0.5, 0.2, NAN]), np.array([5.0, 5, 5, 0]))
    sample = replace(sample_of([1, 1, 0, 1], [1, 1, 0, 1], probability=[0.9, 0.4, 0.3, 0.7]), scale=scale)
    found = {number.name: number.estimate for number in estimate(sample, metrics=ON_SCALE)}

    assert found["scale_error"] == pytest.approx(0.1)
    assert found["scale_bias"] == pytest.approx(0.1 / 3)
    assert found["scale_people"] == pytest.approx(0.5)
    assert found["scale_pearson"] == pytest.approx(np.corrcoef([0.9, 0.4, 0.3], [0.8, 0.5, 0.2])[0, 1])


def test_what_a_metric_is_follows_from_its_parts_unless_it_says_so():
    sample = random_sample(np.random.default_rng(1), queries=6)
    names = ("accuracy", "recall_safe", "f1_safe", "pearson", "brier", "unscored_rate")

    assert [number.kind for number in measure(sample, metrics=parse_metrics(*names))] == [
        "share",
        "share",
        "harmonic",
        "other",
        "other",
        "share",
    ]


def test_the_published_cross_entropy_is_over_rated_values():
    sample = sample_of([1, 0, 1], [1, 1, 1], rate=[1, NAN, 1], probability=[0.5, 0.2, NAN])

    assert published_cross_entropy(sample) == pytest.approx(np.log(2))
    assert np.isnan(published_cross_entropy(sample.where(np.array([False, True, True]))))
