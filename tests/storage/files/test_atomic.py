import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from casewise.errors import ConfigurationError, DataError
from casewise.records import Rating
from casewise.storage.files import owner_only_files, read_jsonl, read_text, replacing, write_jsonl, write_text


def test_a_file_is_written_whole_with_usual_permissions(tmp_path):
    before = os.umask(0o022)
    try:
        write_text(tmp_path / "new" / "file", "text")
    finally:
        os.umask(before)

    assert (tmp_path / "new" / "file").read_text() == "text"
    assert (tmp_path / "new" / "file").stat().st_mode & 0o777 == 0o644


def test_what_is_made_for_its_owner_alone_was_never_anybody_elses(tmp_path):
    mask = os.umask(0o022)
    try:
        with owner_only_files(), (tmp_path / "file").open("w") as file:
            write_text(tmp_path / "folder" / "whole", "text")
            assert os.fstat(file.fileno()).st_mode & 0o777 == 0o600
        assert [one.stat().st_mode & 0o777 for one in sorted(tmp_path.rglob("*"))] == [0o600, 0o700, 0o600]
    finally:
        assert os.umask(mask) == 0o022


def test_an_error_while_writing_leaves_the_old_file_and_nothing_else(tmp_path):
    file = tmp_path / "file"
    file.write_text("old")

    with pytest.raises(ZeroDivisionError), replacing(file) as new:
        new.write(b"half of it" * (1 // 0))
    assert file.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_folder_in_the_way_is_an_error_and_nothing_is_left(tmp_path):
    (tmp_path / "place").mkdir()
    (tmp_path / "place" / "something").write_text("x")

    with pytest.raises(ConfigurationError, match=r"cannot write .*place"):
        write_text(tmp_path / "place", "text")
    assert [entry.name for entry in tmp_path.iterdir()] == ["place"]


def small_disk():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


FILL = """
import sys
from pathlib import Path
from casewise.errors import ConfigurationError
from casewise.storage.files import write_text
try:
    write_text(Path(sys.argv[1]), "x" * 1000)
except ConfigurationError as error:
    print(error)
"""

FILL_A_TABLE = (
    FILL.replace("import sys", "import sys\nimport polars as pl")
    .replace(
        'write_text(Path(sys.argv[1]), "x" * 1000)',
        """with replacing(Path(sys.argv[1])) as file:
        pl.DataFrame({"x": range(1000)}).write_parquet(file)""",
    )
    .replace("import write_text", "import replacing")
)


@pytest.mark.slow
@pytest.mark.parametrize("fill", [FILL, FILL_A_TABLE], ids=["text", "parquet"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(fill, tmp_path):
    file = tmp_path / "file"
    file.write_text("old")
    done = subprocess.run(
        [sys.executable, "-c", fill, file], capture_output=True, text=True, check=True, preexec_fn=small_disk
    )

    assert "cannot write" in done.stdout
    assert "make room" in done.stdout
    assert file.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_missing_file_and_a_folder_cannot_be_read(tmp_path):
    with pytest.raises(DataError, match=r"none\.json: cannot be read: No such file"):
        read_text(tmp_path / "none.json")
    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        read_text(tmp_path)
    with pytest.raises(DataError, match=r"none\.jsonl: cannot be read: No such file"):
        list(read_jsonl(tmp_path / "none.jsonl", Rating))


RATINGS = [Rating(item_id="i_1", position=n, verdict="safe") for n in range(3)]


def test_records_come_back_equal(tmp_path):
    write_jsonl(tmp_path / "r.jsonl", RATINGS)

    assert list(read_jsonl(tmp_path / "r.jsonl", Rating)) == RATINGS


def test_blank_lines_a_byte_order_mark_and_windows_line_ends_are_no_harm(tmp_path):
    file = tmp_path / "r.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + "\r\n\r\n".join(rating.line() for rating in RATINGS).encode())

    assert list(read_jsonl(file, Rating)) == RATINGS


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"item_id":"\x92"}', "byte 0x92 is not UTF-8"),
        (b"not json", "not JSON: Expecting value"),
        (b'{"item_id":"a"}', "a rating has a verdict"),
        (
            b'{"item_id":"a","verdict":"maybe"}',
            "'verdict' is 'maybe': Input should be 'safe', 'unsafe', 'unsure' or 'ask'",
        ),
        (b'{"item_id":"a","verdict":"safe","position":"1"}', "'position' is '1'"),
        (b'{"item_id":"a","verdict":"safe","extra":1}', "'extra' is 1: Extra inputs are not permitted"),
        (b'{"item_id":"\\ud800","verdict":"safe"}', "half a character"),
        (b'{"item_id":"a","item_id":"b","verdict":"safe"}', "'item_id' stands twice"),
        (b"[]", "Input should be an object"),
        (b"3", "3: Input should be an object"),
    ],
)
def test_the_line_that_is_wrong_is_named(tmp_path, line, problem):
    file = tmp_path / "r.jsonl"
    file.write_bytes(RATINGS[0].line().encode() + b"\n\n" + line + b"\n")

    with pytest.raises(DataError, match=rf"r\.jsonl:3: .*{problem}"):
        list(read_jsonl(file, Rating))


def test_reading_streams(tmp_path):
    file = tmp_path / "r.jsonl"
    file.write_text((RATINGS[0].line() + "\n") * 1000 + "broken\n")

    first = next(iter(read_jsonl(Path(file), Rating)))
    assert first == RATINGS[0]
