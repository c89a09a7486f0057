import polars as pl
import pytest

from casewise.errors import StatisticsError
from casewise.stats.ratings import code_ratings


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


def test_a_missing_column_is_named_with_those_there_are():
    with pytest.raises(StatisticsError, match="no column verdict; there are item_id, query_id"):
        code_ratings(table().drop("verdict"))


def test_an_empty_table_holds_no_ratings():
    with pytest.raises(StatisticsError, match="no ratings"):
        code_ratings(table().head(0))
