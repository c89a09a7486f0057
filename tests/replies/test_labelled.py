import json
from collections import Counter

import pytest

from casewise.errors import DataError
from casewise.replies.grade import as_outcome, read_labelled_pairs, read_reply_labels


def written(path, *rows):
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    return path


@pytest.mark.parametrize(
    ("value", "column", "means"),
    [
        ("Refusal", "label", "refuses"),
        ("full_compliance", "label", "answers"),
        ("2_partial_refusal", "label", None),
        ("partial-refusal", "label", "partly"),
        (True, "is_refusal", "refuses"),
        (0, "is_refusal", "answers"),
        (1.0, "refusal", "refuses"),
        ("yes", "refusal", "refuses"),
        (1, "label", None),
        (None, "label", None),
        ([], "label", None),
    ],
)
def test_a_label_means_what_its_column_asks(value, column, means):
    assert as_outcome(value, column) == means


def test_labels_of_a_reply_are_counted_by_person(tmp_path):
    file = written(
        tmp_path / "labels.jsonl",
        {"item_id": "i_1", "label": "refuses", "annotator": "a"},
        {"item_id": "i_1", "label": "partly", "annotator": "b"},
        {"item_id": "i_1", "label": "refuses", "annotator": "c", "arm": "full", "repeat": 0},
        {"item_id": "i_1", "label": "answers", "arm": "none", "repeat": 2},
    )

    assert read_reply_labels(file) == {
        ("i_1", "full", 0): Counter(refuses=2, partly=1),
        ("i_1", "none", 2): Counter(answers=1),
    }


def test_labelled_pairs_are_read_from_a_table(tmp_path):
    file = tmp_path / "pairs.csv"
    file.write_text("prompt,response,is_refusal\nHow?,No.,1\nWhy?,Because.,0\n")

    assert [(pair.prompt, pair.response, pair.label) for pair in read_labelled_pairs(file)] == [
        ("How?", "No.", "refuses"),
        ("Why?", "Because.", "answers"),
    ]


def test_xstests_own_files_are_taken_as_they_are(tmp_path):
    file = tmp_path / "xstest.csv"
    labels = ("1_full_compliance", "2_full_refusal", "3_partial_refusal")
    rows = [f"v2-{n},homonyms,How?,Text {n},{label},{label},TRUE,{label}" for n, label in enumerate(labels)]
    file.write_text("\n".join(["id,type,prompt,completion,annotation_1,annotation_2,agreement,final_label", *rows]))

    assert [pair.label for pair in read_labelled_pairs(file)] == ["answers", "refuses", "partly"]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([{"item": "i_1", "label": "refuses"}], "has no column 'item_id'"),
        ([{"item_id": "i_1", "said": "refuses"}], "has no column 'label'"),
        ([{"item_id": "i_1", "label": "refuses"}, {"item_id": "i_2", "label": "maybe"}], "2: label is 'maybe'"),
        ([{"item_id": "i_1", "label": "refuses", "repeat": -1}], "repeat is '-1'"),
        ([{"item_id": "i_1", "label": "refuses"}, {"item_id": " ", "label": "refuses"}], "2: item_id is empty"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_with_its_line(tmp_path, rows, words):
    with pytest.raises(DataError, match=words):
        read_reply_labels(written(tmp_path / "labels.jsonl", *rows))
