"""What a run folder keeps beside its log: its manifest, sessions, notes for readers, and notes on items."""

import json
import os
import shlex
import time
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, ValidationError
from tests.storage.runs.test_run_folder import judgement, manifest
from tests.support.sums import SUMS, Sum, sum_manifest

from casewise.errors import ConfigurationError, DataError, RunConflict
from casewise.records import Judgement
from casewise.storage import run_folder as module
from casewise.storage.run_folder import (
    ITEM_NOTES,
    JUDGEMENT_LOG,
    JUDGEMENTS,
    LOCK,
    MADE_BEFORE,
    NOTES,
    RUN,
    ItemNote,
    RunFolder,
    Session,
    StoredRun,
    add_item_note,
    advice_for_path,
    cut_torn_line,
    folder_of,
    last_session,
    plain_type,
    read_item_notes,
    read_run,
    run_notes,
    way_of_asking,
)
from casewise.text import RefusalNote

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def run(tmp_path):
    with RunFolder.hold(tmp_path / "run", manifest(), JUDGEMENT_LOG) as folder:
        folder.add(judgement(0))
    return tmp_path / "run"


def held(path, *, kind=JUDGEMENT_LOG, said=None, **more):
    return RunFolder.hold(path, said or manifest(), kind, **more)


def test_a_run_is_its_folder_or_names_it(run):
    assert folder_of(str(run)) == folder_of(run) == run
    assert folder_of(StoredRun(run, None)) == run  # type: ignore[arg-type]
    assert way_of_asking("binary", "full") == "binary full"


def test_what_was_prepared_for_a_run_is_no_obstacle(tmp_path):
    (tmp_path / MADE_BEFORE).mkdir()
    (tmp_path / LOCK).touch()
    with held(tmp_path):
        pass
    assert (tmp_path / RUN).is_file()


@pytest.mark.parametrize(("private", "mode"), [(True, 0o700), (False, 0o755)])
def test_a_private_folder_is_its_owners_alone(tmp_path, private, mode):
    (tmp_path / "run").mkdir(mode=0o755)
    with held(tmp_path / "run", private=private):
        pass
    assert (tmp_path / "run").stat().st_mode & 0o777 == mode


def test_files_of_a_run_are_readable_by_all_and_run_by_none(tmp_path):
    before = os.umask(0o022)
    try:
        with held(tmp_path / "run"):
            pass
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "run").iterdir()} == {0o644}


def test_a_folder_that_another_session_holds_is_refused(run):
    with held(run), pytest.raises(RunConflict, match=r"another process is working on .*; wait for it"), held(run):
        pass
    with held(run) as again:
        assert again.manifest == read_run(run)


def test_a_log_that_cannot_be_opened_is_named(run):
    (run / JUDGEMENTS).unlink()
    (run / JUDGEMENTS).mkdir()

    with pytest.raises(ConfigurationError, match=f"cannot write .*{JUDGEMENTS}: Is a directory"), held(run):
        pass


def test_records_are_on_disk_each_second_and_at_the_end(run, monkeypatch):
    clock = [10.0]
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])

    with held(run) as folder:
        for n, (at, syncs) in enumerate([(10.9, 0), (11.0, 1), (11.9, 1), (12.0, 2)], start=1):
            clock[0] = at
            folder.add(judgement(n))
            assert len(synced) == syncs
        clock[0] = 12.5
        folder.sync()
        clock[0] = 13.25
        folder.add(judgement(9))
        assert len(synced) == 3
    assert len(synced) == 4
    assert len(set(synced)) == 1


def test_a_record_that_cannot_be_written_leaves_the_others(run, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with held(run) as folder:
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full)
            with pytest.raises(
                ConfigurationError, match=f"{JUDGEMENTS}: No space left on device; what it holds is kept"
            ):
                folder.add(judgement(1))
        assert folder.at(0) == judgement(0)


def test_a_write_that_was_cut_short_goes_on(run, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, line: write(file, line[:7]))

    with held(run) as folder:
        folder.add(judgement(1))
        assert [folder.at(place) for place in folder.brief()["place"]] == [judgement(0), judgement(1)]


def test_lines_of_any_kind_are_given_in_brief(tmp_path):
    sums = [
        Sum(left=1, right=2, value=3, input_tokens=5, output_tokens=7, cost_usd=0.25),
        Sum(left=1, right=3, attempt=2, value=None, assumed_tokens=11, assumed_cost_usd=0.5, cost_usd=0.25),
        Sum(left=2, right=3, value=5),
    ]
    with held(tmp_path / "sums", kind=SUMS, said=sum_manifest()) as folder:
        for each in sums:
            folder.add(each)
        brief = folder.brief()
        assert [folder.at(place) for place in brief["place"]] == sums

    assert brief.drop("place").rows() == [
        (1, 2, 0, sums[0].failure is None, False, 12, 0.25),
        (1, 3, 2, sums[1].failure is None, sums[1].may_pass, 11, 0.75),
        (2, 3, 0, sums[2].failure is None, False, 0, 0.0),
    ]
    assert brief.columns == ["left", "right", "attempt", "place", "usable", "passing", "tokens", "cost_usd"]


def test_the_brief_of_a_log_names_a_line_that_is_none(tmp_path):
    with held(tmp_path / "sums", kind=SUMS, said=sum_manifest()) as folder:
        folder.add(Sum(left=1, right=2, value=3))
        folder.log_path.write_text(folder.log_path.read_text() + "{}\n")
        with pytest.raises(DataError, match=r"sums\.jsonl:2: "):
            folder.brief()


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 131_073])
@pytest.mark.parametrize("whole", [b"", b"one\n", b"one\ntwo\n"])
def test_a_line_without_its_end_is_cut_off_whatever_its_length(tmp_path, size, whole):
    file = tmp_path / "log"
    file.write_bytes(whole + b"x" * size)

    cut_torn_line(file)

    assert file.read_bytes() == whole


def test_notes_of_a_judge_are_kept_once_in_their_order(run):
    assert run_notes(run) == ()
    with held(run) as folder:
        folder.keep_notes([])
        assert not (run / NOTES).exists()
        folder.keep_notes(["b", "a", "b"])
        folder.keep_notes(["a", "\u00e9"])
        folder.keep_notes([RefusalNote("m takes no temperature", option="temperature"), "b"])
        folder.keep_notes(["c"])
    assert run_notes(run) == ("b", "a", "\u00e9", "m takes no temperature", "c")
    assert [note.option for note in run_notes(run) if isinstance(note, RefusalNote)] == ["temperature"]
    (run / NOTES).write_text("{}")
    with pytest.raises(DataError, match=f"{NOTES}: is not a list of notes"):
        run_notes(run)


def test_the_last_session_is_the_last_that_was_noted(run):
    assert last_session(run) is None
    with held(run) as folder:
        for command in ("first", "last"):
            folder.note_session(Session(started=NOW, versions={}, options={}, command=command))
    last = last_session(run)
    assert last is not None
    assert last.command == "last"


def test_what_is_no_run_is_told_with_the_command_for_it(tmp_path, run):
    (tmp_path / "my table.csv").touch()
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "benchmark.json").touch()
    (tmp_path / "empty").mkdir()

    assert advice_for_path(tmp_path / "my table.csv").endswith(
        f"casewise check {shlex.quote(str(tmp_path / 'my table.csv'))}"
    )
    assert f"casewise judge {tmp_path / 'set'} --judge NAME" in advice_for_path(tmp_path / "set")
    assert advice_for_path(tmp_path) == f"it holds run folders: give them, such as {run}"
    assert advice_for_path(tmp_path / "empty") == "casewise judge makes one"
    with pytest.raises(DataError, match=r"empty: is no run folder: it has no run.json; casewise judge makes one"):
        read_run(tmp_path / "empty")


def test_a_manifest_that_names_no_kind_is_a_judges(run):
    value = json.loads((run / RUN).read_text())
    for kind in (3, None):
        (run / RUN).write_text(json.dumps(value | {"kind": kind}))
        with pytest.raises(DataError, match="'kind' is"):
            read_run(run)
    (run / RUN).write_text("[]")
    with pytest.raises(DataError, match=RUN):
        read_run(run)


def test_another_wording_of_an_elicitation_is_refused_and_a_new_one_is_added(run):
    first, second, third = (
        manifest().model_copy(update={"wordings": wordings})
        for wordings in ({"binary": "v1 a"}, {"binary": "v1 b"}, {"score": "v1 c"})
    )
    with held(run, said=first):
        pass
    refused = pytest.raises(
        RunConflict, match="asked for binary in other words: it has v1 a, now v1 b; choose another place"
    )
    with refused, held(run, said=second):
        pass
    with held(run, said=third) as folder:
        assert folder.manifest.wordings == {"binary": "v1 a", "score": "v1 c"}
    assert read_run(run).wordings == {"binary": "v1 a", "score": "v1 c"}


@pytest.mark.parametrize(
    ("annotation", "kind"),
    [
        (str, str),
        (int | None, int),
        (Annotated[float | None, Field(ge=0)], float),
        (Literal["a", "b"], str),
        (tuple[str, ...] | None, tuple),
        (dict[str, Any], dict),
    ],
)
def test_a_column_has_the_plain_type_of_its_field(annotation, kind):
    assert plain_type(annotation) is kind


def test_every_field_of_a_judgement_but_times_details_and_the_kind_of_outcome_is_a_column():
    assert set(Judgement.model_fields) - set(module.SCHEMA) == {"at", "detail"}
    assert set(module.SUMMARY_COLUMNS) <= set(module.SCHEMA)


# Notes on items.


def note(item="i_1", text="", *, tags=(), day=1):
    return ItemNote(item_id=item, text=text, tags=tags, at=datetime(2026, 1, day, tzinfo=UTC))


def test_the_last_note_on_an_item_counts_and_an_empty_one_takes_it_back(tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    first.mkdir()
    second.mkdir()
    for run, each in (
        (first, note(text="early")),
        (first, note(text="late", day=3)),
        (second, note(text="between", day=2)),
        (second, note("i_2", "doubtful")),
        (first, note("i_2", " \n", day=2)),
        (first, note("i_3", tags=("odd",))),
    ):
        add_item_note(run, each)

    notes = read_item_notes([first, second, tmp_path / "none"])

    assert {item: (each.text, each.tags) for item, each in notes.items()} == {
        "i_1": ("late", ()),
        "i_3": ("", ("odd",)),
    }


def test_a_line_that_is_no_note_is_named(tmp_path):
    (tmp_path / ITEM_NOTES).write_text("{}\n")

    with pytest.raises(DataError, match=f"{ITEM_NOTES}:1: "):
        read_item_notes([tmp_path])


@pytest.mark.parametrize("tag", ["", " ", "a,b", "a\x07", "x" * 61])
def test_a_tag_is_one_short_word_or_several(tag):
    assert note(tags=(" two words ",)).tags == ("two words",)
    with pytest.raises(ValidationError):
        note(tags=(tag,))
