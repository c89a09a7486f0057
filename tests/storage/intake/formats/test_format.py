"""A file as somebody hands it over: its encoding, its archive, and the objects in it."""

import codecs
import json
import zipfile

import pytest

from casewise.errors import ConfigurationError, DataError
from casewise.storage.intake.formats.format import FileOptions, GivenFile, reader, rows_of


@pytest.fixture
def given(tmp_path):
    def file(content, **options):
        path = tmp_path / "file"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return GivenFile(path, FileOptions(**options))

    return file


@pytest.mark.parametrize(
    ("raw", "notes"),
    [
        ("Ärztin".encode(), []),
        (codecs.BOM_UTF8 + "Ärztin".encode(), []),
        (codecs.BOM_UTF16_LE + "Ärztin".encode("utf-16-le"), ["The file is UTF-16."]),
        (codecs.BOM_UTF16_BE + "Ärztin".encode("utf-16-be"), ["The file is UTF-16."]),
        (codecs.BOM_UTF32_LE + "Ärztin".encode("utf-32-le"), ["The file is UTF-32."]),
        (codecs.BOM_UTF32_BE + "Ärztin".encode("utf-32-be"), ["The file is UTF-32."]),
        ("Ärztin".encode("cp1252"), ["The file is not UTF-8 (line 1); it was read as Windows-1252."]),
    ],
)
def test_the_encoding_is_found_by_the_mark_or_by_what_can_be_read(given, raw, notes):
    file = given(raw)

    assert (file.text, file.notes) == ("Ärztin", notes)


def test_a_stated_encoding_is_taken_and_its_mark_is_no_text(given):
    assert given("你好".encode("gb18030"), encoding="gb18030").text == "你好"
    assert given(codecs.BOM_UTF8 + b"a", encoding="utf-8").text == "a"


@pytest.mark.parametrize(
    ("raw", "options", "error", "line", "problem"),
    [
        (b"a\nWho\x81?", {}, DataError, 2, "byte 0x81 is neither UTF-8 nor Windows-1252; save the file as UTF-8"),
        (b"\n\x81?", {}, DataError, 2, "byte 0x81 is neither UTF-8 nor Windows-1252"),
        (b"a\nb\xe4\nc\0", {}, DataError, None, "if it is UTF-16, give --encoding utf-16-le"),
        (b"a\nb\nc\0", {}, DataError, 3, "holds a NUL character; it is no text, or was damaged"),
        (codecs.BOM_UTF16_LE + b"q", {}, DataError, None, "begins as UTF-16 and is none"),
        (b"a\nb\xe4", {"encoding": "utf-8"}, DataError, 2, "is no utf-8: "),
        (b"a", {"encoding": "undefined"}, DataError, None, "is no undefined: "),
        (b"a", {"encoding": ""}, ConfigurationError, None, "no encoding is called ''"),
        (b"a", {"encoding": "latin-99"}, ConfigurationError, None, "no encoding is called 'latin-99'"),
    ],
)
def test_a_file_that_is_no_text_is_refused_with_the_line(given, raw, options, error, line, problem):
    with pytest.raises(error, match=problem) as refused:
        _ = given(raw, **options).text
    assert getattr(refused.value, "line", None) == line


def test_the_line_that_is_not_utf_8_is_named(given):
    file = given(b"a\nb\nc\xe4\n")
    assert file.text == "a\nb\ncä\n"
    assert file.notes == ["The file is not UTF-8 (line 3); it was read as Windows-1252."]


def test_a_file_that_is_not_there_cannot_be_read(tmp_path):
    for part in ("head", "text"):
        with pytest.raises(DataError, match="gone: cannot be read"):
            getattr(GivenFile(tmp_path / "gone"), part)
    assert (GivenFile(tmp_path).head, GivenFile(tmp_path).members) == (b"", [])


def test_the_files_of_an_archive_are_named_and_those_of_another_file_are_none(given):
    file = given("text")
    assert file.members == []
    with zipfile.ZipFile(file.path, "w") as archive:
        archive.writestr("samples/1.json", "{}")
    assert GivenFile(file.path).members == ["samples/1.json"]
    with pytest.raises(DataError, match="begins as a ZIP archive and is none"):
        _ = given(b"PK\x03\x04rest").members


# JSON.


@pytest.mark.parametrize(
    ("text", "lines", "wheres"),
    [
        ('[{"a": 1},\n {"a": 2}]', [1, 2], ["row 1", "row 2"]),
        ('{"a": 1}\n\n{"a": 2}\n', [1, 3], ["", ""]),
        ('{"a": 1}', [1], [""]),
        ('{\n"a": 1\n}', [1], [""]),
    ],
)
def test_objects_are_those_of_an_array_of_lines_or_the_one_of_the_file(given, text, lines, wheres):
    file = given(text)

    assert [entry.values["a"] for entry in file.objects] == [1, 2][: len(lines)]
    assert ([entry.line for entry in file.objects], [entry.where for entry in file.objects]) == (lines, wheres)
    assert (file.is_json, file.is_array) == (True, text.startswith("["))


def test_a_line_that_is_no_object_is_rejected_and_the_others_are_read(given):
    file = given('{"a": 1}\n{"a": \n{"a": 2}\n 5 \n')

    assert [entry.values["a"] for entry in file.objects] == [1, 2]
    assert [(row.line, row.content) for row in file.rejected] == [(2, '{"a":'), (4, "5")]
    table = file.table(file.objects)
    assert ([row.line for row in table.rejected], list(table.lines)) == ([2, 4], [1, 3])


def test_a_first_line_that_is_damaged_is_rejected_where_the_second_begins_an_object(given):
    assert [row.line for row in read_all(given('{"a": \n{"a": 2}\n')).rejected] == [1]
    with pytest.raises(DataError, match="file:2: not JSON"):
        read_all(given('{"a": \n "b"'))
    with pytest.raises(DataError, match=r"file:1: "):
        read_all(given('{"a": \n{"a": '))


def read_all(file):
    file.table(file.objects)
    return file


def test_an_array_without_objects_holds_no_rows(given):
    with pytest.raises(DataError, match="holds no rows"):
        _ = given("[]").objects
    assert not given("a,b").is_json


def test_a_reader_gives_a_row_for_each_that_an_object_holds_with_its_place(given):
    file = given(json.dumps([{"n": 2}, {"n": 0}, {"n": 1}]))
    file.notes.append("Read.")

    def cells(entry):
        return [{"id": number} for number in range(entry.values["n"])]

    assert [(entry.where, entry.values["id"]) for entry in rows_of(file, cells)] == [
        ("row 1", 0),
        ("row 1", 1),
        ("row 3", 0),
    ]
    table = reader(cells)(file)
    assert (table.columns, table.numbered, table.notes, table.left_out) == ({"id": [0, 1, 0]}, True, ["Read."], {})
    with pytest.raises(DataError, match="no answer yet"):
        reader(lambda _: [], empty="no answer yet")(file)
    assert file.table(file.objects, left_out={"a draft": 2}).left_out == {"a draft": 2}
