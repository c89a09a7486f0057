"""The list of erasures: each line signed with the one before it, and on the disk before anything is erased."""

import fcntl
import json
import os
from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from sqlalchemy.engine import make_url
from tests.support.study import START

from casewise.database.erasures import FILE_NAME, Erasure, ErasureList, certificate, erasures_file
from casewise.errors import ConfigurationError, DataError

KEY = b"a key for tests"
UNSIGNED = (
    r"does not have the signature of this server's secret key: the list was changed, or the key is another one "
    r"\(CASEWISE_SECRET_KEY or CASEWISE_SECRET_KEY_FILE\)"
)


@pytest.fixture
def erasures(tmp_path):
    made = ErasureList(tmp_path / "list.jsonl", KEY)
    made.add("round", "a1", ratings="withdrawn", at=START)
    for who in ("a2", "a3"):
        made.add("round", who, ratings="kept", at=START)
    return made


def test_erasures_are_numbered_and_read_in_their_order(erasures):
    assert [(one.number, one.study_id, one.annotator_id, one.at, one.ratings) for one in erasures.read()] == [
        (1, "round", "a1", "2026-11-20T12:00:00+00:00", "withdrawn"),
        (2, "round", "a2", "2026-11-20T12:00:00+00:00", "kept"),
        (3, "round", "a3", "2026-11-20T12:00:00+00:00", "kept"),
    ]
    assert erasures.path.stat().st_mode & 0o777 == 0o600


def test_an_added_erasure_is_what_was_written(erasures):
    added = erasures.add("round", "a4", ratings="kept", at=START)

    assert erasures.read()[-1] == added
    assert len(added.signature) == 64


def test_an_erasure_waits_for_another_process_that_adds_one(tmp_path):
    waiting, other = (ErasureList(tmp_path / name, KEY) for name in ("list.jsonl", "other.jsonl"))
    waiting.create()
    other.add("round", "a1", ratings="kept", at=START)
    with ThreadPoolExecutor(1) as pool:
        with waiting.path.open("r+") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            added = pool.submit(waiting.add, "round", "a2", ratings="kept", at=START)
            wait([added], timeout=0.1)
            held.write(other.path.read_text())
        assert added.result().number == 2

    assert [erasure.annotator_id for erasure in waiting.read()] == ["a1", "a2"]


def test_an_erasure_is_returned_once_it_is_on_the_disk(erasures, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda _file: synced.append(len(erasures.read())))
    erasures.add("round", "a4", ratings="kept", at=START)
    assert synced == [4]

    def full(_file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigurationError, match="cannot be written: No space left on device"):
        erasures.add("round", "a5", ratings="kept", at=START)


def test_a_signature_is_of_the_line_and_of_the_one_before_it(erasures):
    first, second, _ = erasures.read()
    alone = ErasureList(erasures.path.with_name("other.jsonl"), KEY).add("round", "a2", ratings="kept", at=START)

    assert first.signature != second.signature
    assert alone.signature != second.signature
    assert json.loads(second.body()) == json.loads(erasures.path.read_text().splitlines()[1]) | {"signature": ""}


def changed(lines):
    return [json.dumps(json.loads(lines[0]) | {"ratings": "kept"}), *lines[1:]]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (changed, 1),
        (lambda lines: [lines[0], lines[2]], 2),
        (lambda lines: [lines[1], lines[0], lines[2]], 1),
        (lambda lines: [*lines, lines[2]], 4),
    ],
    ids=["changed", "taken out", "out of order", "twice"],
)
def test_a_list_that_was_changed_is_refused_at_its_line(erasures, change, line):
    lines = change(erasures.path.read_text().splitlines())
    erasures.path.write_text("\n".join(lines) + "\n")

    with pytest.raises(DataError, match=f"list.jsonl:{line}: {UNSIGNED}"):
        erasures.read()


def test_a_list_of_another_key_and_what_is_no_list_are_refused(erasures):
    with pytest.raises(DataError, match=f"list.jsonl:1: {UNSIGNED}"):
        ErasureList(erasures.path, b"another key").read()
    for words in ("{", '{"number": 1}', "7"):
        erasures.path.write_text(words)
        with pytest.raises(DataError, match=r"list\.jsonl:1: is no line of a list of erasures"):
            erasures.read()


def test_a_list_that_is_made_again_keeps_its_lines(erasures):
    erasures.create()

    assert len(erasures.read()) == 3


def test_a_list_that_cannot_be_read_or_written_says_how_to_name_another(tmp_path):
    nowhere = ErasureList(tmp_path / "nowhere" / "list.jsonl", KEY)
    advice = "No such file or directory; CASEWISE_ERASURES names another file"

    with pytest.raises(ConfigurationError, match=f"the list of erasures cannot be read: {advice}"):
        nowhere.read()
    with pytest.raises(ConfigurationError, match=f"the list of erasures cannot be written: {advice}"):
        nowhere.create()
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigurationError, match="cannot be written: Is a directory"):
        ErasureList(tmp_path / "folder", KEY).add("round", "a1", ratings="kept", at=START)


def test_the_list_lies_where_it_is_named_or_beside_the_database_or_here(tmp_path):
    lite = make_url(f"sqlite:///{tmp_path}/casewise.db")
    server = make_url("postgresql://nobody@127.0.0.1/none")
    here = tmp_path.__class__.cwd()

    assert [erasures_file(url, "mine.jsonl").name for url in (lite, server)] == ["mine.jsonl"] * 2
    assert [erasures_file(url, "") for url in (lite, server)] == [tmp_path / FILE_NAME, here / FILE_NAME]


@pytest.mark.parametrize("ratings", ["withdrawn", "kept"])
def test_a_certificate_names_the_erasure_the_study_and_what_became_of_the_ratings(ratings):
    erasure = Erasure(4, "round-1", "a1", START.isoformat(), ratings, "f00d")
    text = certificate(erasure, study="tea 1", facts={"Contact": "A. Researcher"})

    for part in ("Certificate of erasure 4", "tea 1", "a1", "f00d", "A. Researcher"):
        assert part in text
    assert ("every rating, answer and time" in text) == (ratings == "withdrawn")
    assert ("the ratings, under the random number" in text) == (ratings == "kept")
