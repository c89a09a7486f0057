import numpy as np
import pytest
from tests.support.crowds import crowd_plan, crowd_table

from casewise.errors import StatisticsError
from casewise.stats import CrowdDesign, CrowdModel, simulate_ratings
from casewise.stats.ratings import annotator_table, code_ratings
from casewise.studies.simulation import SimulationPlan


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
