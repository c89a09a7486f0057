import json

import pytest
from tests.support.demo import DEMO

from casewise.errors import ChecksumMismatch, ConfigurationError, DataError
from casewise.storage import read_benchmark, write_benchmark
from casewise.storage.benchmark_folder import MANIFEST, sha256
from casewise.storage.load import load


@pytest.fixture
def folder(tmp_path):
    return write_benchmark(DEMO, tmp_path / "benchmark")


def rewrite(folder, name, change):
    """Change a file of the folder and let the manifest agree."""
    (folder / name).write_text(change((folder / name).read_text()))
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["files"][name] = sha256(folder / name)
    (folder / MANIFEST).write_text(json.dumps(manifest))


def change_manifest(folder, **keys):
    manifest = json.loads((folder / MANIFEST).read_text()) | keys
    (folder / MANIFEST).write_text(json.dumps(manifest))


def test_a_benchmark_is_never_overwritten(folder):
    before = (folder / MANIFEST).read_bytes()

    with pytest.raises(ConfigurationError, match="never overwritten"):
        write_benchmark(DEMO, folder)
    assert (folder / MANIFEST).read_bytes() == before


def test_nothing_is_left_behind_where_it_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("x")

    with pytest.raises(ConfigurationError, match="cannot write"):
        write_benchmark(DEMO, tmp_path / "file" / "benchmark")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_changed_file_is_found_by_its_checksum(folder):
    with (folder / "ratings.jsonl").open("a") as file:
        file.write("\n")

    with pytest.raises(ChecksumMismatch, match=r"ratings\.jsonl: sha256 is .*, but the manifest says"):
        read_benchmark(folder)


def test_a_missing_file_is_named(folder):
    (folder / "items.jsonl").unlink()

    with pytest.raises(DataError, match=r"items\.jsonl: is missing, but the manifest names it"):
        read_benchmark(folder)


def line_of(text, number, change):
    lines = text.splitlines(keepends=True)
    lines[number - 1] = change(lines[number - 1])
    return "".join(lines)


@pytest.mark.parametrize(
    ("name", "change", "problem"),
    [
        (
            "ratings.jsonl",
            lambda line: line.replace('"safe"', '"maybe"').replace('"unsafe"', '"maybe"'),
            "'verdict' is",
        ),
        ("ratings.jsonl", lambda line: line.replace('"verdict"', '"Verdict"'), "'Verdict' is 'safe': Extra inputs"),
        ("queries.jsonl", lambda line: line.replace('"text":"', '"text":"X'), "id is 'q_.*', but the content gives"),
        ("items.jsonl", lambda line: line.replace("safe_revised", "no_context"), "id is 'i_.*', but the content gives"),
    ],
)
def test_a_line_that_is_no_record_is_named(folder, name, change, problem):
    rewrite(folder, name, lambda text: line_of(text, 3, change))

    with pytest.raises(DataError, match=rf"{name}:3: {problem}"):
        read_benchmark(folder)


@pytest.mark.parametrize(
    ("name", "change", "problem"),
    [
        ("ratings.jsonl", lambda text: text + text.splitlines()[0] + "\n", "has two ratings by annotator:simulated"),
        ("ratings.jsonl", lambda text: "\n".join(text.splitlines()[1:]) + "\n", "'counts' says .*but the files hold"),
    ],
)
def test_records_that_do_not_fit_together_are_an_error(folder, name, change, problem):
    rewrite(folder, name, change)

    with pytest.raises(DataError, match=problem):
        read_benchmark(folder)


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"format_version": 2}, "format_version is 2, newer than 1, which this casewise reads; update it"),
        ({"format_version": 0}, "format_version is 0, no version"),
        ({"format_version": "1"}, "'format_version' is '1'"),
        ({"files": {}}, "'files' names nothing, not contexts.jsonl, items.jsonl"),
        ({"files": {"../queries.jsonl": "0"}}, r"'files' names \.\./queries\.jsonl"),
        ({"about": {"name": 3}}, r"'about\.name' is 3"),
        ({"surprise": 1}, "'surprise' is 1: Extra inputs"),
    ],
)
def test_a_manifest_that_is_none_is_an_error(folder, keys, problem):
    change_manifest(folder, **keys)

    with pytest.raises(DataError, match=rf"{MANIFEST}: {problem}"):
        read_benchmark(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null"])
def test_a_manifest_that_is_no_object_is_an_error(folder, text):
    (folder / MANIFEST).write_text(text)

    with pytest.raises(DataError, match=MANIFEST):
        read_benchmark(folder)


def test_a_folder_without_a_manifest_is_none(tmp_path):
    with pytest.raises(DataError, match=f"is no benchmark folder: it has no {MANIFEST}"):
        load(tmp_path)
