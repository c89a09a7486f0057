import numpy as np
import polars as pl
import pytest
from tests.support.crowds import crowd_plan, crowd_table

from casewise.errors import StudyError
from casewise.stats import CrowdModel
from casewise.stats.ratings import Flow, code_ratings
from casewise.stats.study_tables import AnalysisOptions
from casewise.studies.analysis import analyse, resolve_options
from casewise.studies.design import Analysis
from casewise.studies.report import study_report


@pytest.fixture(scope="module")
def frame():
    return crowd_table(crowd_plan())


@pytest.fixture(scope="module")
def analysis(frame):
    return analyse(code_ratings(frame))


def test_no_context_is_compared_with_each_other_condition(analysis):
    assert analysis.contrasts["first"].unique().to_list() == ["no_context"]
    assert analysis.contrasts["second"].to_list() == [
        "safe_generated",
        "unsafe_generated",
        "safe_revised",
        "unsafe_revised",
    ]
    assert analysis.bonferroni_level == pytest.approx(0.0125)


def test_errors_that_know_annotators_are_wider_than_the_pooled_ones(analysis):
    rows = analysis.contrasts
    assert ((rows["like_ci_high"] - rows["like_ci_low"]) > (rows["ci_high"] - rows["ci_low"])).all()


def test_without_annotators_it_says_so_and_gives_the_rest(frame):
    found = analyse(code_ratings(frame.drop("annotator_id")))

    assert found.not_available["annotators"] == "not available: anonymous votes"
    assert found.annotators is None
    assert found.contrasts["like_p"].is_null().all()
    assert found.contrasts["query_p"].is_not_null().all()
    assert found.contrasts["recommended_p_corrected"].is_not_null().all()


def test_one_annotator_a_condition_says_nothing_about_other_people(frame):
    first = frame.unique(["condition", "item_id"], keep="first")
    one_each = first.with_columns(annotator_id=pl.concat_str(pl.lit("person "), pl.col("condition").cast(pl.String)))
    found = analyse(code_ratings(one_each)).contrasts

    for column in ("recommended_p", "recommended_p_corrected", "differs", "equivalent_p", "equivalent"):
        assert found[column].is_null().all(), column
    assert set(found["why"]) == {"a condition has one annotator: nothing can be said about other people"}
    assert found["query_p"].is_not_null().all()


def test_a_margin_after_freezing_is_a_departure():
    planned = Analysis(margin=0.1).model_dump(exclude={"stopping"})
    options, departed = resolve_options({"margin": 0.2}, planned, frozen=True)

    assert [str(one) for one in departed] == ["analysis.margin: frozen as 0.1, now 0.2"]
    assert options.margin == 0.2
    assert resolve_options({}, planned, frozen=True)[0].margin == 0.1


def test_one_condition_has_no_contrasts_and_says_so(frame):
    found = analyse(code_ratings(frame.filter(pl.col("condition") == "no_context")))

    assert len(found.contrasts) == 0
    assert "only one condition, 'no_context'" in found.not_available["contrasts"]
    assert found.tasks is None
    assert found.agreement["all"].alpha is not None


def test_a_contrast_with_a_condition_without_ratings_is_an_error(frame):
    options = AnalysisOptions(contrasts=(("no_context", "jailbreak"),))

    with pytest.raises(
        StudyError, match="'jailbreak', which has no ratings that count; conditions with ratings: no_context"
    ):
        analyse(code_ratings(frame), options)


def test_completers_are_analysed_second():
    frame = crowd_table(crowd_plan(crowd=CrowdModel(drop_out=0.5)))
    found = analyse(code_ratings(frame))

    assert found.contrasts_of_completers is not None
    assert found.contrasts_of_completers["n1"][0] < found.contrasts["n1"][0]
    assert found.contrasts["n1"][0] == (frame["condition"] == "no_context").sum()


def test_a_known_flow_is_counted(frame):
    conditions = code_ratings(frame).condition.names
    flow = Flow(conditions, {"assigned": (30, 30, 30, 30, 30), "finished": (30, 29, 20, 30, 12)})

    found = analyse(code_ratings(frame), AnalysisOptions(flow=flow))
    assert found.attrition is not None
    assert found.attrition.table["lost"].to_list() == [0, 1, 10, 0, 18]
    assert "flow" not in found.not_available


def test_the_same_seed_gives_the_same_numbers(frame, analysis):
    again = analyse(code_ratings(frame))

    assert again.tasks is not None
    assert again.tasks.categories is not None
    assert again.tasks.categories.equals(analysis.tasks.categories)
    assert again.agreement == analysis.agreement


def test_queries_rated_under_one_condition_only_are_left_out_of_the_tasks(frame):
    alone = frame.filter((pl.col("query_id") != "query 0") | (pl.col("condition") == "no_context"))
    found = analyse(code_ratings(alone))

    assert found.tasks is not None
    assert found.tasks.left_out == 1
    assert len(found.tasks.tasks) == 19


def test_everyone_agreeing_everywhere_gives_notes_and_no_nan(frame):
    found = analyse(code_ratings(frame.with_columns(verdict=pl.lit("safe"))))

    assert found.agreement["all"].alpha is None
    assert "ceilings" in found.not_available
    assert found.tasks is not None
    assert not found.tasks.tasks["testable"].any()
    for table in (found.contrasts, found.tasks.tasks, found.conditions):
        numbers = table.select(pl.selectors.float()).to_numpy().astype(float)
        assert not np.isnan(numbers[~table.select(pl.selectors.float()).select(pl.all().is_null()).to_numpy()]).any()


def test_one_query_still_has_the_pooled_test(frame):
    found = analyse(code_ratings(frame.filter(pl.col("query_id") == "query 0")))

    assert found.contrasts["p"].is_not_null().all()
    assert found.contrasts["query_p"].is_null().all()
    assert found.contrasts["equivalent"].is_null().all()
    assert "errors over queries" in found.not_available


def test_ratings_that_are_all_alike_have_a_report(tmp_path):
    rows = "".join(f"i{q}{c},q{q},{c},a{a},safe\n" for q in range(3) for c in "xy" for a in range(3))
    (tmp_path / "alike.csv").write_text("item_id,query_id,condition,annotator_id,verdict\n" + rows)
    report = study_report(tmp_path / "alike.csv", crossed=True)
    assert report.analysis.conditions["safe_rate"].to_list() == [1.0, 1.0]
