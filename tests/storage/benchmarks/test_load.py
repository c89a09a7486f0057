"""Benchmarks by name or by path, own cases as benchmarks, and what a format has no room for."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.support.benchmarks import rich_benchmark
from tests.support.published import released_rows, write

from casewise.errors import BenchmarkError, ConfigurationError, DataError
from casewise.records import Item, RatingScale
from casewise.storage.benchmark_folder import read_benchmark, write_benchmark
from casewise.storage.intake.cells import Policies
from casewise.storage.load import (
    EMBEDDED,
    ImportOptions,
    bad_rows_file,
    cached_item_numbers,
    convert,
    import_cases,
    join,
    load,
    load_frame,
    loaded_benchmark,
    losses,
    source_of,
    write_csv,
)
from casewise.storage.published import read_published

RICH = rich_benchmark()
CASES = [
    {"query": "Who was admitted?", "context": "A ward nurse asks.", "label": "safe"},
    {"query": "Who was admitted?", "context": "A reporter asks.", "label": "unsafe"},
]


@pytest.mark.parametrize("name", EMBEDDED)
def test_a_shipped_benchmark_is_loaded_by_its_name(name):
    assert load(name).name == name
    assert loaded_benchmark(name).digest == load(name).digest


def test_a_benchmark_is_a_folder_or_a_published_file(tmp_path):
    folder = write_benchmark(RICH, tmp_path / "rich")
    file = write(tmp_path / "release.JSON", released_rows(2))

    assert load(str(folder)) == RICH
    assert load(file) == read_published(file)
    assert loaded_benchmark(RICH) is RICH


def test_what_is_no_benchmark_is_told_with_what_to_do(tmp_path):
    (tmp_path / "my cases.csv").touch()

    with pytest.raises(DataError, match=r"demoo: no such benchmark \(did you mean 'demo'\?\); give demo, a name"):
        load("demoo")
    with pytest.raises(DataError) as refused:
        load(tmp_path / "my cases.csv")
    assert refused.value.problem == (
        f"this is a table and not a benchmark; to import it: casewise data import '{tmp_path / 'my cases.csv'}' --out FOLDER; to "
        f"compare verdicts and labels in it: casewise check '{tmp_path / 'my cases.csv'}'"
    )


def test_a_benchmark_is_found_again_by_its_name_or_its_whole_path(tmp_path):
    demo = load("demo")

    assert source_of("demo", demo) == "demo"
    assert source_of(demo, demo) == "demo"
    assert source_of("casebench", demo) == "casebench"
    assert source_of("a/../b", demo) == str(Path.cwd() / "b")
    assert source_of(os.fsdecode(b"\xff"), demo).endswith("/\\udcff")


@pytest.mark.parametrize(
    ("options", "scale"),
    [
        ({}, None),
        ({"question": "How bad?"}, None),
        ({"scale_low": 1, "scale_high": 5}, RatingScale(low=1, high=5)),
        (
            {"scale_low": 0, "scale_high": 9, "cut": 0, "safe_side": "above", "question": "How good?"},
            RatingScale(low=0, high=9, cut=0, safe="above", question="How good?"),
        ),
    ],
)
def test_a_scale_is_stated_by_its_ends(options, scale):
    assert ImportOptions(**options).scale == scale


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"scale_low": 1}, "a scale has two ends; give --scale-low and --scale-high"),
        ({"scale_high": 5}, "a scale has two ends"),
        ({"cut": 3}, "a scale has two ends"),
        ({"scale_low": 1, "scale_high": 5, "cut": 3}, "a cut has a safe side; give --safe-side below or --safe-side above"),
        ({"scale_low": 5, "scale_high": 1}, "the scale: a scale from 5 to 1 has no length"),
        ({"scale_low": 1, "scale_high": 5, "cut": 9, "safe_side": "below"}, "the scale: the cut 9 does not lie between 1 and 5"),
    ],
)  # fmt: skip
def test_what_is_no_scale_is_refused(options, problem):
    with pytest.raises(ConfigurationError, match=problem):
        _ = ImportOptions(**options).scale


def cases_file(tmp_path, rows=CASES):
    path = tmp_path / "ward.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_imported_cases_go_by_the_name_of_their_folder_or_file(tmp_path):
    path = cases_file(tmp_path)

    assert import_cases(path).name == "ward"
    assert import_cases(path, tmp_path / "made").name == "made"
    assert import_cases(path, options=ImportOptions(name="own", labels_by="law")).about.labels_by == "law"
    assert read_benchmark(tmp_path / "made").counts.items == 2
    assert not bad_rows_file(tmp_path / "made").exists()


def test_rows_that_an_import_skips_are_written_beside_its_folder(tmp_path):
    path = cases_file(tmp_path, [*CASES, {"query": "", "context": "x", "label": "safe"}])

    made = import_cases(path, tmp_path / "made", policies=Policies(skip_bad=True))

    assert made.counts.items == 2
    (row,) = (tmp_path / "made.bad-rows.jsonl").read_text().splitlines()
    assert json.loads(row)["line"] == 3
    assert json.loads(row)["row"]["context"] == "x"
    assert json.loads(row)["reason"]


def test_a_frame_has_a_name(tmp_path):
    assert (load_frame(CASES).name, load_frame(CASES, "ward").name) == ("frame", "ward")


def test_two_benchmarks_are_joined_in_a_new_folder(tmp_path):
    demo = load("demo")
    for name, part in (("a", demo.items[:1]), ("b", demo.items[1:2])):
        write_benchmark(demo.restricted_to(part), tmp_path / name)

    joined = join(tmp_path / "a", tmp_path / "b", tmp_path / "both", name="both")

    assert (joined.name, joined.counts.items) == ("both", 2)
    assert load(tmp_path / "both") == joined
    with pytest.raises(BenchmarkError, match="1 item was rated in both"):
        join(tmp_path / "a", tmp_path / "a", tmp_path / "again")


def test_what_the_published_format_has_no_room_for_is_listed():
    assert list(losses(RICH)) == [
        "who gave 4 ratings, when, and how long it took",
        "the origin of 3 contexts: they will read as imported, in the revised conditions",
        "1 revision",
        "1 unsure votes",
        "the scale that people rated on, with its values and means",
        "the traits of 2 annotators",
        "the clusters of 1 item",
        "the ids in the user's own file of 1 item",
        "the other columns of 1 item",
        "1 context that no item shows",
        "the benchmark's name, version, licence and terms, and its taxonomy",
    ]
    assert next(losses(load("demo"))) == "the notice that the data are synthetic"


def test_a_release_loses_nothing(tmp_path):
    assert list(losses(read_published(write(tmp_path / "release.json", released_rows(4))))) == []


@pytest.mark.parametrize(("target", "file"), [("x.json", "x.json"), ("x", "x/benchmark.json")])
def test_a_target_that_ends_in_json_is_a_published_file(tmp_path, target, file):
    source = write(tmp_path / "release.json", released_rows(2))

    assert convert(source, tmp_path / target) == ()
    assert (tmp_path / file).is_file()


def test_an_empty_folder_is_no_obstacle(tmp_path):
    (tmp_path / "empty").mkdir()
    convert("demo", tmp_path / "empty")
    assert load(tmp_path / "empty") == load("demo")


def test_numbers_of_a_table_are_not_quoted(tmp_path):
    items = replace(load("demo"), about=RICH.about).item_columns.head(1).select("n_safe", condition="condition")
    raw = write_csv(items.rename({"n_safe": "=n"}), tmp_path / "x.csv").read_bytes()

    assert raw == b'\xef\xbb\xbf"\'=n","condition"\r\n' + f'{items["n_safe"][0]},"{items["condition"][0]}"\r\n'.encode()


def test_cached_numbers_that_lack_an_item_are_worked_out_anew():
    few = load("demo").restricted_to(load("demo").items[:3])
    cached_item_numbers(few, "places", lambda: np.arange(3.0), made_with="numpy")
    other = replace(few, items=(*few.items[:2], Item.from_context(few.contexts[2], condition="own")), ratings=())
    object.__setattr__(other, "digest", few.digest)

    found = cached_item_numbers(other, "places", lambda: np.array([7.0, 8.0, 9.0]), made_with="numpy")

    assert found.tolist() == [7, 8, 9]
