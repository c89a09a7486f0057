"""doccano: documents with a label of each person."""

import pytest
from tests.support.exports import DOCCANO_NUMBERED, JSON_MIN, WHOLE, read, said, write

from casewise.errors import CasewiseError
from casewise.storage.intake.formats.find import read_any_table
from casewise.storage.intake.roles import CaseColumns
from casewise.storage.load import import_cases


def documents(person):
    return [
        {"id": row["id"], "text": row["text"], "label": [row["verdict"]]}
        for row in JSON_MIN
        if row["annotator"] == person
    ]


def test_a_folder_of_doccanos_documents_is_a_file_a_person(tmp_path):
    folder = tmp_path / "export"
    folder.mkdir()
    write(folder, "1.jsonl", documents(1))
    write(folder, "2.json", documents(2))
    (folder / "admin.jsonl").write_text("")  # who labelled nothing

    assert said(import_cases(folder, columns=CaseColumns(query="text", vote="label"))) == WHOLE
    write(folder, "3.jsonl", [{"something": "else"}])
    with pytest.raises(CasewiseError, match="is a folder, and no export of an annotation tool that casewise knows"):
        import_cases(folder)


def test_documents_of_doccanos_first_releases_are_a_row_a_person(tmp_path):
    file = write(tmp_path, "all.jsonl", DOCCANO_NUMBERED)
    assert said(import_cases(file, columns=CaseColumns(query="text", vote="label"))) == WHOLE


def test_documents_that_people_share_in_doccano_have_a_label_each(tmp_path):
    file = write(tmp_path, "all.jsonl", [{"id": 1, "text": "Who?", "label": ["safe"], "Comments": []}])
    assert [rating.verdict for rating in import_cases(file, columns=CaseColumns(query="text")).ratings] == ["safe"]
    write(tmp_path, "all.jsonl", [{"id": 1, "text": "Who?", "label": ["safe", "unsafe"], "Comments": []}])
    with pytest.raises(CasewiseError, match="'label' is 'safe, unsafe'"):
        import_cases(file, columns=CaseColumns(query="text"))


def test_a_document_states_its_label_as_it_is_and_several_with_commas(tmp_path):
    rows = [
        {"id": 1, "text": "Who?", "label": ["safe"], "Comments": ["x"]},
        {"id": 2, "text": "Why?", "label": ["a", "b"]},
    ]
    table = read(tmp_path, rows, "all.jsonl")

    assert table.columns == {"id": [1, 2], "text": ["Who?", "Why?"], "label": ["safe", "a, b"]}
    assert table.format == "doccano"


@pytest.mark.parametrize(
    ("row", "is_document"),
    [
        ({"id": 1, "text": "Who?", "cats": ["safe"]}, True),
        ({"id": 1, "text": "Who?", "categories": []}, True),
        ({"data": "Who?", "Comments": []}, True),
        ({"id": 1, "text": "Who?", "label": "safe"}, False),
        ({"id": 1, "text": "Who?", "label": [[0, 3, "A"]]}, False),
        ({"id": 1, "label": ["safe"]}, False),
        ({"text": "Who?", "label": ["safe"]}, False),
    ],
)
def test_a_document_has_an_id_a_text_and_a_list_of_labels(tmp_path, row, is_document):
    assert (read(tmp_path, [row, row], "all.jsonl").format == "doccano") == is_document


def test_the_annotations_of_the_first_releases_are_a_row_for_each_user(tmp_path):
    marks = [{"label": 2, "user": 1}, {"label": 3, "user": 9}, {"label": 4, "user": 1}]
    document = {"id": 1, "text": "Who?", "annotations": marks, "annotation_approver": None}
    table = read(tmp_path, [document, document | {"id": 2, "annotations": []}], "all.jsonl")

    assert (table.columns["label"], table.columns["annotator"], table.columns["id"]) == (
        ["2, 4", 3],
        ["1", "9"],
        [1, 1],
    )
    assert (table.format, "annotations" in table.columns) == ("doccano before 1.3", False)


def test_a_folder_with_another_file_is_no_export_of_doccano(tmp_path):
    (tmp_path / "out").mkdir()
    write(tmp_path / "out", "ada.jsonl", documents(1))
    (tmp_path / "out" / ".DS_Store").write_text("x")
    table = read_any_table(tmp_path / "out")

    assert (table.format, table.columns["annotator"]) == ("doccano, a file a person", ["ada", "ada"])
    (tmp_path / "out" / "notes.txt").write_text("x")
    with pytest.raises(CasewiseError, match="is a folder, and no export of an annotation tool"):
        read_any_table(tmp_path / "out")
    (tmp_path / "out" / "notes.txt").rename(tmp_path / "out" / "notes.json")
    with pytest.raises(CasewiseError, match="is a folder, and no export of an annotation tool"):
        read_any_table(tmp_path / "out")
