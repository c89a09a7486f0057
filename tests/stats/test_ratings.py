import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import scipy.stats
from scipy.integrate import quad
from scipy.special import expit, logit
from tests.support.crowds import crowd_plan, crowd_table

from casewise.errors import StatisticsError
from casewise.stats.ceilings import fit_beta
from casewise.stats.ratings import (
    CrowdDesign,
    CrowdModel,
    Flow,
    annotator_table,
    attrition,
    code_ratings,
    draw_annotators,
    draw_item_logits,
    simulate_ratings,
)
from casewise.studies.simulation import SimulationPlan


def table(**changes):
    columns = {
        "item_id": ["a", "a", "b", "b"],
        "query_id": ["q", "q", "q", "q"],
        "category": ["c", "c", "c", "c"],
        "condition": ["safe_revised", "safe_revised", "no_context", "no_context"],
        "annotator_id": ["p1", "p2", "p3", "p4"],
        "verdict": ["safe", "unsafe", "safe", "safe"],
    }
    return pl.DataFrame(columns | changes)


def test_counts_by_item_and_by_task():
    ratings = code_ratings(table())

    assert ratings.by_item.successes.tolist() == [1, 2]
    assert ratings.by_item.sizes.tolist() == [2, 2]
    assert ratings.condition.names == ("no_context", "safe_revised")
    assert ratings.by_task.successes.tolist() == [[2, 1]]


def test_conditions_come_in_the_order_of_the_paper_then_by_name():
    frame = table(condition=["zebra", "zebra", "alpha", "alpha"])

    assert code_ratings(frame).condition.names == ("alpha", "zebra")


def test_ratings_without_annotators_are_anonymous():
    assert code_ratings(table().drop("annotator_id")).annotator is None
    assert code_ratings(table(annotator_id=[None] * 4)).annotator is None


def test_completers_are_those_who_finished():
    ratings = code_ratings(table(finished=[True, False, True, True]))

    completers = ratings.completers()
    assert completers is not None
    assert len(completers) == 3
    assert completers.by_item.sizes.tolist() == [1, 2]
    assert (completers.finished, completers.seconds) == (None, None)
    assert completers.annotator is not None
    assert completers.annotator.codes.tolist() == [0, 2, 3]
    anonymous = table(finished=[True, False, True, True]).drop("annotator_id")
    assert code_ratings(anonymous).completers() is None
    assert code_ratings(table(finished=[True] * 4)).completers() is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"verdict": ["safe", "maybe", "safe", "safe"]}, "row 2: 'verdict' is 'maybe'"),
        ({"condition": ["x", None, "y", "y"]}, "row 2: 'condition' is empty"),
        ({"annotator_id": ["p1", "p2", None, "p4"]}, "row 3: 'annotator_id' is empty"),
        (
            {"annotator_id": ["p1", "p2", "p4", "p4"]},
            "annotator 'p4' rated item 'b' 2 times; keep one rating (1 such pairs)",
        ),
        (
            {"annotator_id": ["p1", "p2", "p2", "p4"]},
            "rated under no_context and safe_revised, but in a between-subjects design everyone has one condition (1 such",
        ),
        ({"query_id": ["q", "r", "q", "q"]}, "item 'a' stands with two values of 'query'"),
        ({"category": ["c", "d", "c", "c"]}, "two values of 'category'"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(changes, message):
    with pytest.raises(StatisticsError, match=re.escape(message)):
        code_ratings(table(**changes), source="ratings.csv")


def test_a_crossed_design_may_show_everyone_everything():
    frame = table(annotator_id=["p1", "p2", "p1", "p2"])

    assert len(code_ratings(frame, crossed=True)) == 4


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (table().drop("verdict"), "no column verdict; there are item_id, query_id"),
        (table().head(0), "no ratings"),
    ],
)
def test_a_table_without_a_column_or_without_rows_is_refused(frame, message):
    with pytest.raises(StatisticsError, match=message):
        code_ratings(frame)


def study(crowd, *, seed=3):
    plan = SimulationPlan(
        conditions=("a", "b"),
        design=CrowdDesign(safe_rates=(0.4, 0.6), queries=120, ratings_per_item=15, items_per_annotator=30),
        crowd=crowd,
        contrasts=(("a", "b"),),
    )
    ratings = code_ratings(crowd_table(plan, seed=seed))
    kinds = simulate_ratings(crowd, plan.design, rng=np.random.default_rng(seed)).annotators.kinds()
    assert ratings.annotator
    names = [int(name.removeprefix("annotator ")) for name in ratings.annotator.names]
    return ratings, np.array(kinds)[names]


def test_rates_and_agreement_are_those_of_the_ratings():
    ratings, _ = study(CrowdModel())
    table = annotator_table(ratings, rng=np.random.default_rng(0)).table

    first = ratings.annotator.codes == 0
    assert table["ratings"][0] == first.sum()
    assert table["safe_rate"][0] == pytest.approx(ratings.safe[first].mean())
    counts, agreeing = ratings.by_item, []
    for safe, item in zip(ratings.safe[first], ratings.item.codes[first], strict=True):
        others = counts.successes[item] - safe
        share = others / (counts.sizes[item] - 1)
        agreeing.append(share if safe else 1 - share)
    assert table["agreement_with_rest"][0] == pytest.approx(np.mean(agreeing))


def test_attentive_annotators_are_flagged_no_more_often_than_said():
    flagged: list[float] = []
    for seed in range(4):
        ratings, _ = study(CrowdModel(), seed=seed)
        found = annotator_table(ratings, rng=np.random.default_rng(0)).table
        flagged.append(float(found["unresponsive"].to_numpy().mean()))

    assert np.mean(flagged) < 0.03


def test_careless_and_contrary_annotators_are_flagged_far_more_often():
    ratings, kinds = study(CrowdModel(careless=0.1, contrary=0.1, query_sd=1.5))
    flagged = annotator_table(ratings, rng=np.random.default_rng(0)).table["unresponsive"].to_numpy()

    assert flagged[kinds == "contrary"].mean() > 0.6
    assert flagged[kinds == "careless"].mean() > 10 * flagged[kinds == "attentive"].mean() + 0.1


@pytest.mark.slow
def test_flags_are_those_of_the_formulas():
    """Answers that follow the others' rates, and answers that are all alike, beside simulated attentive annotators."""
    ratings, _ = study(CrowdModel(careless=0.2, careless_safe_rate=1.0))
    found = annotator_table(ratings, rng=np.random.default_rng(0))
    y, item, person = ratings.safe.astype(float), ratings.item.codes, ratings.annotator.codes
    prior, counts, people = fit_beta(*ratings.by_item), ratings.by_item, range(len(ratings.annotator))
    others = counts.sizes[item] - 1
    rate = (prior.a + counts.successes[item] - y) / (prior.a + prior.b + others)

    own = [person == one for one in people]
    n, residual = (np.array([f(mask) for mask in own]) for f in (np.sum, lambda mask: (y - rate)[mask].mean()))
    slope = np.array([(rate * (1 - rate))[mask].mean() for mask in own])
    sd = np.sqrt(max(0, (n * (residual**2 - slope / n)).sum() / (n * slope**2).sum()))
    assert found.shift_sd == pytest.approx(sd)

    def follows(answers):
        centred = [rate[mask] - rate[mask].mean() for mask in own]
        error = [np.sqrt((rate[mask] * (1 - rate[mask]) * c**2).sum()) for mask, c in zip(own, centred, strict=True)]
        return np.array([((answers - rate)[m] * c).sum() / e for m, c, e in zip(own, centred, error, strict=True)])

    def all_alike(mask, shift):
        p = expit(logit(rate[mask]) + sd * shift)
        return (p.prod() + (1 - p).prod()) * scipy.stats.norm.pdf(shift)

    assert found.table["responsiveness"].to_numpy() == pytest.approx(follows(y))
    alike = [
        len(set(y[mask])) == 1 and quad(lambda shift, mask=mask: all_alike(mask, shift), -8, 8)[0] < 0.01
        for mask in own
    ]
    assert found.table["constant"].to_list() == alike
    assert 0 < found.table["constant"].sum() < len(n)
    draws = np.random.default_rng(0)

    def attentive():
        shift = draws.normal(0, sd, len(n))[person]
        return (draws.random(len(y)) < expit(logit(rate) + shift)).astype(float)

    threshold = np.quantile([follows(attentive()) for _ in range(20)], 0.01)
    assert found.table["unresponsive"].to_list() == (follows(y) < threshold).tolist()
    checks = [attentive() for _ in range(2)]
    assert found.false_positive_rates["unresponsive"] == np.mean([follows(answers) < threshold for answers in checks])


def test_annotators_have_their_median_time_and_half_an_agreement_where_no_other_rated():
    frame = pl.DataFrame(
        {
            "item_id": ["a", "a", "b", "c"],
            "query_id": ["q"] * 4,
            "condition": ["x"] * 4,
            "annotator_id": ["p", "r", "p", "p"],
            "verdict": ["safe", "safe", "safe", "unsafe"],
            "seconds": [4.0, 7.0, None, 10.0],
        }
    )
    table = annotator_table(code_ratings(frame), rng=np.random.default_rng(0)).table

    assert table["annotator"].to_list() == ["p", "r"]
    assert table["median_seconds"].to_list() == [7, 7]
    assert table["agreement_with_rest"].to_list() == pytest.approx([(1 + 0.5 + 0.5) / 3, 1])


def test_one_annotator_is_compared_with_no_other():
    with pytest.raises(StatisticsError, match="only one annotator"):
        annotator_table(code_ratings(table(annotator_id=["p"] * 4, item_id=list("abcd")), crossed=True), rng=rng())


def test_who_was_lost_after_assignment_is_counted():
    counts = {"arrived": (25,), "assigned": (10, 8), "finished": (9, 8), "void": (1, 0)}
    table = attrition(Flow(("a", "b"), counts)).table

    assert table.rows() == [("a", 10, 9, 1, 1, 0.1), ("b", 8, 8, 0, 0, 0.0)]
    without = attrition(Flow(("a",), {"assigned": (0,), "finished": (0,)})).table
    assert without.select("void", "share_lost").rows() == [(0, 0.0)]


def test_how_much_annotators_differ_is_estimated():
    ratings, _ = study(CrowdModel(annotator_sd=1.0))
    alike, _ = study(CrowdModel(annotator_sd=0.0))

    assert annotator_table(ratings, rng=np.random.default_rng(0)).shift_sd == pytest.approx(0.9, abs=0.25)
    assert annotator_table(alike, rng=np.random.default_rng(0)).shift_sd < 0.3


def test_someone_strict_throughout_on_mixed_items_is_constant_only_if_that_is_unlikely():
    found = annotator_table(study(CrowdModel(annotator_sd=0.2, query_sd=0.2))[0], rng=np.random.default_rng(0))

    assert found.false_positive_rates["constant"] < 0.01
    assert found.false_positive_rates["unresponsive"] < 0.05


def test_anonymous_votes_have_no_annotators():
    frame = crowd_table(crowd_plan()).drop("annotator_id")

    with pytest.raises(StatisticsError, match="anonymous"):
        annotator_table(code_ratings(frame), rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    "flow",
    [
        Flow(("a", "b"), {"assigned": (10, 10)}),
        Flow(("a", "b"), {"assigned": (10, 10), "finished": (9,)}),
        Flow(("a", "b"), {"assigned": (10, 10), "finished": (9, 11)}),
    ],
)
def test_a_flow_that_cannot_be_is_an_error(flow):
    with pytest.raises(StatisticsError):
        attrition(flow)


FIVE = CrowdDesign(safe_rates=(0.4, 0.8, 0.2, 0.8, 0.2), queries=60, ratings_per_item=7, items_per_annotator=25)


def rng(seed=1):
    return np.random.default_rng(seed)


def test_every_item_gets_its_ratings():
    crowd = simulate_ratings(CrowdModel(), FIVE, rng=rng())

    assert (np.bincount(crowd.query * 5 + crowd.condition) == 7).all()
    assert len(crowd) == 60 * 5 * 7


def test_nobody_rates_a_query_twice_or_in_two_conditions():
    crowd = simulate_ratings(CrowdModel(), FIVE, rng=rng())

    assert len(np.unique(crowd.annotator * 60 + crowd.query)) == len(crowd)
    assert (crowd.annotator_condition[crowd.annotator] == crowd.condition).all()
    assert np.bincount(crowd.annotator).max() <= 25


ALIKE = {"query_sd": 0.0, "query_condition_sd": 0.0, "annotator_sd": 0.0}


@pytest.mark.parametrize(
    ("model", "rates", "expected"),
    [
        (ALIKE, (0.2, 0.7), [0.2, 0.7]),
        (ALIKE | {"contrary": 1}, (0.2,), [0.8]),
        ({"careless": 1, "careless_safe_rate": 0.9}, (0.2,), [0.9]),
    ],
)
def test_a_crowd_says_what_the_design_says_and_contrary_or_careless_people_something_else(model, rates, expected):
    crowd = simulate_ratings(CrowdModel(**model), CrowdDesign(safe_rates=rates, queries=500), rng=rng())

    found = [crowd.safe[crowd.condition == condition].mean() for condition in range(len(rates))]
    assert found == pytest.approx(expected, abs=5 * np.sqrt(0.25 / 10_500))


def test_those_who_leave_rate_less_and_are_counted():
    crowd = simulate_ratings(CrowdModel(drop_out=0.4), CrowdDesign(safe_rates=(0.5, 0.5)), rng=rng())

    rated = np.bincount(crowd.annotator, minlength=len(crowd.finished))
    assert 1 - crowd.finished.mean() == pytest.approx(0.4, abs=0.06)
    assert (rated[crowd.finished] == 25).all()
    assert (rated[~crowd.finished] < 25).all()


@pytest.mark.parametrize(
    "crowd",
    [
        lambda: CrowdModel(careless=1.5),
        lambda: CrowdModel(drop_out=-0.1),
        lambda: CrowdModel(query_sd=np.inf),
        lambda: CrowdModel(annotator_sd=-1),
        lambda: CrowdModel(careless=0.6, contrary=0.6),
        lambda: CrowdDesign(safe_rates=()),
        lambda: CrowdDesign(safe_rates=(1.0,)),
        lambda: CrowdDesign(safe_rates=(0.5,), queries=0),
    ],
)
def test_impossible_crowds_are_refused(crowd):
    with pytest.raises(StatisticsError):
        crowd()


def test_crowds_at_the_ends_are_possible():
    CrowdModel(careless=0.5, contrary=0.5, drop_out=1, careless_safe_rate=0, query_sd=0)
    CrowdDesign(safe_rates=(0.5,), queries=1, ratings_per_item=1, items_per_annotator=1)


def test_hands_differ_by_one_query_at_most():
    crowd = simulate_ratings(CrowdModel(), FIVE, rng=rng())

    assert set(np.bincount(crowd.annotator)) == {20}
    uneven = simulate_ratings(CrowdModel(), replace(FIVE, queries=61, items_per_annotator=25), rng=rng())
    assert set(np.bincount(uneven.annotator)) == {20, 21}


def test_logits_are_those_of_conditions_queries_and_both_together():
    model = CrowdModel(query_sd=0.8, query_condition_sd=0.3)
    logits = draw_item_logits(model, CrowdDesign(safe_rates=(0.2, 0.7), queries=20_000), rng=rng())

    assert logits.mean(axis=0) == pytest.approx(logit([0.2, 0.7]), abs=0.03)
    assert logits.var(axis=0) == pytest.approx([0.8**2 + 0.3**2] * 2, rel=0.05)
    assert np.cov(logits.T)[0, 1] == pytest.approx(0.8**2, rel=0.05)
    people = draw_annotators(CrowdModel(careless=0.2, contrary=0.3, annotator_sd=0.5), 20_000, rng=rng())
    assert people.shift.std() == pytest.approx(0.5, rel=0.05)
    assert np.bincount(people.kind) / 20_000 == pytest.approx([0.5, 0.2, 0.3], abs=0.02)
    assert set(people.kinds()) == {"attentive", "careless", "contrary"}
