import numpy as np
import polars as pl
import pytest
from tests.support.crowds import crowd_plan, crowd_table

from casewise.errors import StatisticsError
from casewise.stats.ratings import (
    CrowdDesign,
    CrowdModel,
    Flow,
    annotator_table,
    attrition,
    code_ratings,
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
    assert code_ratings(table(finished=[True] * 4)).completers() is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"verdict": ["safe", "maybe", "safe", "safe"]}, "row 2: 'verdict' is 'maybe'"),
        ({"condition": ["x", None, "y", "y"]}, "row 2: 'condition' is empty"),
        ({"annotator_id": ["p1", "p2", None, "p4"]}, "row 3: 'annotator_id' is empty"),
        ({"annotator_id": ["p1", "p1", "p3", "p4"]}, "annotator 'p1' rated item 'a' 2 times"),
        ({"annotator_id": ["p1", "p2", "p1", "p4"]}, "annotator 'p1' rated under no_context and safe_revised"),
        ({"query_id": ["q", "r", "q", "q"]}, "item 'a' stands with two values of 'query'"),
        ({"category": ["c", "d", "c", "c"]}, "two values of 'category'"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(changes, message):
    with pytest.raises(StatisticsError, match=message.replace("(", r"\(")):
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
