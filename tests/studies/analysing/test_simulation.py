import pytest
from tests.support.crowds import crowd_plan

from casewise.errors import ConfigurationError, StatisticsError
from casewise.stats import CrowdModel
from casewise.studies.simulation import simulate_studies, simulation_plan

PLAN = """
[simulation]
queries = 30
ratings_per_item = 9
items_per_annotator = 10
categories = 3
[simulation.safe_rates]
no_context = 0.4
safe_revised = 0.7
[crowd]
annotator_sd = 0.5
drop_out = 0.1
"""


def plan_of(text, tmp_path):
    path = tmp_path / "design.toml"
    path.write_text(text)
    return simulation_plan(path)


def test_a_plan_is_read_from_toml(tmp_path):
    plan = plan_of(PLAN, tmp_path)

    assert plan.conditions == ("no_context", "safe_revised")
    assert plan.contrasts == (("no_context", "safe_revised"),)
    assert plan.design.ratings_per_item == 9
    assert plan.crowd == CrowdModel(annotator_sd=0.5, drop_out=0.1)


def test_a_study_file_gives_its_own_numbers(tmp_path):
    study = 'conditions = ["b", "a"]\ncontrasts = [["a", "b"]]\n[ratings]\nper_item = 7\nper_annotator = 5\n'
    plan = plan_of(study + "[simulation.safe_rates]\na = 0.4\nb = 0.7\n", tmp_path)

    assert plan.conditions == ("b", "a")
    assert plan.design.safe_rates == (0.7, 0.4)
    assert (plan.design.ratings_per_item, plan.design.items_per_annotator) == (7, 5)
    assert plan.contrasts == (("a", "b"),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "safe_rates"),
        ("[simulation.safe_rates]\na = 1.4\n", "between 0 and 1"),
        ("[simulation.safe_rates]\na = 0.4\n[crowd]\nlazy = 1\n", "crowd.lazy is not known"),
        ("[simulation]\nsize = 3\n[simulation.safe_rates]\na = 0.4\n", "simulation.size is not known"),
        ("contrasts = [['a', 'c']]\n[simulation.safe_rates]\na = 0.4\nb = 0.4\n", "'c'"),
        ("conditions = ['a', 'b']\n[simulation.safe_rates]\na = 0.4\n", "no rate for b"),
        ("no toml", "not a simulation in TOML"),
    ],
)
def test_what_is_wrong_in_a_plan_is_named(tmp_path, text, message):
    with pytest.raises(ConfigurationError, match=message):
        plan_of(text, tmp_path)


def test_equal_rates_give_false_positives_and_unequal_ones_power():
    found = simulate_studies(crowd_plan(rates={"a": 0.5, "b": 0.5, "c": 0.9}), repeats=40, seed=1)

    kinds = found.contrasts.select("second", "is").unique().sort("second", "is").rows()
    assert kinds == [("b", "false positives"), ("b", "true differences of the queries drawn"), ("c", "power")]
    power = found.contrasts.filter((found.contrasts["second"] == "c") & (found.contrasts["analysis"] == "two_way"))
    assert power["rejected"][0] > 0.9


def test_the_same_seed_rehearses_the_same():
    plan = crowd_plan(queries=8)

    assert simulate_studies(plan, repeats=3, seed=5).contrasts.equals(
        simulate_studies(plan, repeats=3, seed=5).contrasts
    )


def test_one_repetition_shows_nothing():
    with pytest.raises(StatisticsError):
        simulate_studies(crowd_plan(), repeats=1, seed=0)


@pytest.mark.slow
def test_two_way_intervals_cover_and_pooled_ones_do_not():
    found = simulate_studies(crowd_plan(rates={"a": 0.4, "b": 0.6}, queries=150), repeats=300, seed=2)
    coverage = dict(found.contrasts.select("analysis", "coverage").rows())

    assert coverage["pooled"] < 0.85
    assert 0.93 - 0.02 < coverage["two_way"] < 0.97 + 0.02
    assert 0.93 - 0.02 < coverage["annotator"] < 0.97 + 0.02
