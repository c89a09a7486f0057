"""`casewise data`, `audit`, `show` and `export`, as typed."""

import io
import json
import sys

import pytest
from tests.support.command import invoke
from tests.support.public_benchmarks import write_files

from casewise.cli.data import noteworthy_lines
from casewise.storage.loaders.public import own_loaders
from casewise.storage.receipt import ColumnRead, MergedRows, Receipt, WordRead

TABLE = "id,query,label,note\na,Who?,safe,x\nb,When?,unsafe,y\n"


@pytest.fixture
def table(tmp_path):
    (tmp_path / "cases.csv").write_text(TABLE)
    return tmp_path / "cases.csv"


# Public benchmarks.


def test_public_benchmarks_are_listed_with_what_each_is():
    done, rows = invoke("data", "list"), json.loads(invoke("data", "list", "--json").out)["benchmarks"]
    by_name = {row["name"]: row for row in rows}

    assert {"casebench", "xstest", "casebench_twin"} <= set(by_name)
    assert by_name["casebench_twin"]["fetched"]
    assert "unpinned: casewise records the checksum of the first copy" in " ".join(done.err.split())
    assert all(row["name"] in done.out for row in rows)


def test_terms_are_accepted_at_a_terminal_or_by_an_option(tmp_path, monkeypatch):
    (copy,) = write_files(own_loaders()["xstest"], tmp_path / "files").values()
    command = ("data", "fetch", "xstest", "--from", copy)
    refused = invoke(*command)
    assert (refused.code, "To accept: casewise data fetch xstest" in refused.err) == (2, True)

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    declined = invoke(*command)
    assert (declined.code, "the terms are not accepted, so nothing was fetched" in declined.err) == (2, True)


# A user's own cases.


def test_an_import_needs_a_folder_or_a_preview(table, tmp_path):
    done = invoke("data", "import", table)
    assert (done.code, "name a new folder with --out, or preview the import with --dry-run" in done.err) == (2, True)
    both = invoke("data", "import", table, "--dry-run", "--out", tmp_path / "mine")
    assert (both.code, "nothing was written" in both.out, (tmp_path / "mine").exists()) == (0, True, False)


def test_a_preview_prints_how_columns_are_read_and_counts_the_items(table):
    done, facts = invoke("data", "import", table, "--dry-run"), invoke("data", "import", table, "--dry-run", "--json")

    assert "Column 'label': label (by its name)" in done.out
    assert "2 items, 2 ratings; nothing was written." in done.out
    assert (json.loads(facts.out)["items"], json.loads(facts.out)["receipt"]["n_kept"]) == (2, 2)


def test_an_import_says_where_the_benchmark_is_and_what_it_lacks(table, tmp_path):
    done = invoke("data", "import", table, "--out", tmp_path / "mine", "--labels-by", "author")

    assert f"mine is at {tmp_path / 'mine'}: 2 items, 2 labels" in " ".join(done.out.split())
    assert "note: Your file states no contexts" in " ".join(done.err.split())
    assert "bad-rows" not in done.err


def test_rows_that_are_skipped_are_named_with_their_file(table, tmp_path):
    table.write_text(f"{TABLE}c,Why?,perhaps,z\n")
    done = invoke("data", "import", table, "--out", tmp_path / "mine", "--skip-bad")
    said = " ".join(done.err.split())

    assert f"rows that could not be read are in {tmp_path / 'mine.bad-rows.jsonl'}, each with the reason" in said
    assert "1 row dropped: could not be read" in said
    assert "by its name" not in said


def receipt(**more):
    columns = (ColumnRead(column="label", role="label", declared=False),)
    words = (WordRead(column="label", word="safe", read_as="safe", how="listed", n=2),)
    return Receipt(file="a", format="CSV", n_rows=2, columns=columns, words=words, notes=("A note.",), **more)


def test_of_a_receipt_the_rows_that_were_dropped_are_told_and_of_a_whole_file_the_notes():
    dropped = MergedRows(reason="the row is empty", n=1)

    assert noteworthy_lines(None) == ()
    assert noteworthy_lines(receipt(n_kept=2)) == ("A note.",)
    lines = noteworthy_lines(receipt(n_kept=1, dropped=(dropped,)))
    assert lines[0] == "a was read as CSV: 2 rows, 1 kept."
    assert not any("label" in line for line in lines)


# What is shown and exported.


def test_an_item_at_a_time_is_shown_and_a_benchmark_only_with_a_run():
    two = invoke("show", "demo", "1", "2")
    assert (two.code, "casewise show prints one item at a time; give one of 1, 2" in two.err) == (2, True)
    other = invoke("show", "demo", "--benchmark", "demo")
    assert (other.code, "--benchmark works only with a run" in other.err) == (2, True)
    assert invoke("show", "demo", "1").code == 0


def test_lists_are_shown_as_pages_and_as_json(tmp_path):
    assert json.loads(invoke("show", "plugins", "--json").out) == {"plugins": []}
    assert "No installed package adds a part." in invoke("show", "plugins").out
    guards = json.loads(invoke("show", "guards", "--json").out)
    assert invoke("show", "guards").out.count("\n") > len(guards) > 1
    (name, *_) = guards
    assert list(json.loads(invoke("show", "guards", name, "--json").out)) == [name]
    assert json.loads(invoke("show", "jobs", "--json").out) == {"jobs": []}
    assert "no batch job is open in runs and replies; for another folder: casewise show jobs FOLDER" in " ".join(
        invoke("show", "jobs").err.split()
    )
    (tmp_path / "none").mkdir()
    assert "no batch job is open" in invoke("show", "jobs", tmp_path / "none").err
    assert "for another folder" not in invoke("show", "jobs", tmp_path / "none").err


def test_a_benchmark_is_written_in_another_format_and_its_place_is_printed(table, tmp_path):
    invoke("data", "import", table, "--out", tmp_path / "mine")
    done = invoke("export", tmp_path / "mine", "--to", "csv", "--out", tmp_path / "mine.csv")
    said = json.loads(invoke("export", tmp_path / "mine", "--to", "csv", "--out", tmp_path / "b.csv", "--json").out)

    assert done.out.strip() == str(tmp_path / "mine.csv")
    assert (said["format"], said["path"]) == ("csv", str(tmp_path / "b.csv"))


def test_benchmarks_are_joined_into_a_folder_alone_and_no_item_is_rated_in_both(table, tmp_path):
    invoke("data", "import", table, "--out", tmp_path / "a")
    command = ("export", tmp_path / "a", "--join", tmp_path / "a", "--out", tmp_path / "both")
    twice, other = invoke(*command), invoke(*command, "--to", "csv")

    assert (twice.code, "rated in both" in " ".join(twice.err.split())) == (2, True), twice.err
    assert (other.code, "--join writes a benchmark folder; leave --to out" in other.err) == (2, True)


@pytest.mark.slow
def test_an_audit_exits_with_1_where_it_has_a_finding_that_was_named(table, tmp_path):
    invoke("data", "import", table, "--out", tmp_path / "mine")
    found = json.loads(invoke("audit", tmp_path / "mine", "--json").out)["findings"]
    failing = invoke("audit", tmp_path / "mine", "--fail-on", "any")

    assert found
    assert failing.code == 1
    assert f"exit code 1: the audit has findings of --fail-on: {found[0]['code']}" in " ".join(failing.err.split())
    assert invoke("audit", tmp_path / "mine").code == 0
