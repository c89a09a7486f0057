"""Parts that several readers share: answers of people and scores of evaluators as columns of a case."""

from pathlib import Path

import pytest

from casewise.errors import DataError
from casewise.storage.entries import Entry
from casewise.storage.intake.formats.annotations import answer_row, metadata_columns, scores_as_columns, single
from casewise.storage.intake.table import Table

CASE = Entry(Path("export.json"), 3, {"id": 7}, "row 2")


def scores(*rows):
    lines = range(2, len(rows) + 2)
    table = Table(path=Path("scores.csv"), columns={"value": [value for _, _, value in rows]}, lines=lines)
    return scores_as_columns(table, rows)


def test_an_answer_stands_beside_the_fields_of_its_case_with_who_gave_it():
    row = answer_row(CASE, {"id": "7", "text": "Who?"}, {"verdict": "safe"}, "ada")

    assert row == {"id": "7", "text": "Who?", "verdict": "safe", "annotator": "ada"}


def test_a_question_that_is_called_as_a_field_is_refused():
    with pytest.raises(DataError, match=r"export\.json:3: row 2: the question 'id' is called as a field of the data"):
        answer_row(CASE, {"id": "7", "text": "Who?"}, {"text": "x", "id": "y"}, "ada")


def test_metadata_are_columns_with_their_names_and_anything_else_is_none():
    assert metadata_columns({"batch": 1, "by": None}) == {"metadata.batch": 1, "metadata.by": None}
    assert [metadata_columns(other) for other in (None, [1], "x")] == [{}, {}, {}]


@pytest.mark.parametrize(
    ("values", "answer"),
    [
        ("safe", "safe"),
        (3, 3),
        (None, None),
        (["safe"], "safe"),
        ([4], 4),
        (["a", "b"], "a, b"),
        ([1, {}], "1, {}"),
        ([], ""),
    ],
)
def test_one_answer_is_itself_and_several_are_a_text_with_commas(values, answer):
    assert single(values) == answer


def test_scores_of_a_case_become_a_row_on_the_line_of_its_first_score():
    table = scores(("b", "harm", 0.2), ("a", "harm", 0.9), ("b", "tone", "calm"))

    assert table.columns == {"id": ["b", "a"], "harm": [0.2, 0.9], "tone": ["calm", None]}
    assert table.lines == [2, 3]


def test_two_scores_of_one_name_are_refused_with_the_line_of_the_second():
    with pytest.raises(DataError, match=r"scores\.csv:4: 'a' has two scores called 'harm'; export those of one"):
        scores(("a", "harm", 1), ("b", "harm", 1), ("a", "harm", 1))
