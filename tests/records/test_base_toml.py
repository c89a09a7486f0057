import pytest

from casewise.errors import DataError
from casewise.records import Category, Taxonomy
from casewise.records.base import read_record, read_toml, shipped_toml


@pytest.mark.parametrize("content", [b"name = ", b"\xff"])
def test_what_is_no_toml_is_told_with_its_file_and_what_it_should_be(tmp_path, content):
    file = tmp_path / "mine.toml"
    file.write_bytes(content)

    with pytest.raises(DataError, match=r"mine\.toml: not a rubric in TOML"):
        read_toml(file, "a rubric")


def test_a_file_that_is_not_there_is_said_not_to_be(tmp_path):
    with pytest.raises(DataError, match=r"mine\.toml: cannot be read: No such file"):
        read_toml(tmp_path / "mine.toml", "a rubric")


def test_a_wrong_field_is_named(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("name = 3")

    with pytest.raises(DataError, match=r"mine\.toml: name: "):
        read_record(file, Taxonomy, "a taxonomy")


def test_a_file_is_read_as_its_record(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('name = "own"\n[[categories]]\nname = "a"\ndomain = "d"\n')

    assert read_record(file, Taxonomy, "a taxonomy") == Taxonomy(
        name="own", categories=(Category(name="a", domain="d"),)
    )


def test_files_within_casewise_are_read():
    assert "categories" in shipped_toml("casewise.records", "sorry_bench.toml")
