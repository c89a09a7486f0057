import copy
import os
import pickle
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tests.storage.benchmarks.test_benchmark_folder import change_manifest, line_of, rewrite
from tests.support.benchmarks import rich_benchmark
from tests.support.demo import DEMO

from casewise.errors import DataError
from casewise.storage import read_benchmark, write_benchmark
from casewise.storage.benchmark_folder import FILES, MAX_CONTEXTS_IN_MEMORY, sha256
from casewise.storage.columns import ContextFile


@pytest.fixture
def folder(tmp_path):
    return write_benchmark(DEMO, tmp_path / "benchmark")


@pytest.fixture
def large(folder):
    """The demo as if it were too large to be held."""
    return read_benchmark(folder, most_held=0)


def test_contexts_stay_in_their_file_where_there_are_more_than_are_held(folder):
    n = DEMO.counts.contexts

    assert n <= MAX_CONTEXTS_IN_MEMORY
    assert not isinstance(read_benchmark(folder, most_held=n).contexts, ContextFile)
    assert isinstance(read_benchmark(folder, most_held=n - 1).contexts, ContextFile)


@pytest.mark.parametrize("benchmark", [DEMO, rich_benchmark()], ids=["demo", "rich"])
def test_a_benchmark_whose_contexts_stay_in_their_file_equals_one_that_holds_them(benchmark, tmp_path):
    large = read_benchmark(write_benchmark(benchmark, tmp_path / "benchmark"), most_held=0)

    assert large == benchmark
    assert benchmark == large
    assert large.context == benchmark.context
    assert large.digest == benchmark.digest
    assert [large.context_of(item) for item in large.items] == [benchmark.context_of(item) for item in benchmark.items]


def test_contexts_are_found_as_in_a_tuple(large):
    assert large.contexts[0] == DEMO.contexts[0]
    assert large.contexts[-1] == DEMO.contexts[-1]
    assert large.contexts[5:2:-1] == DEMO.contexts[5:2:-1]
    assert large.contexts.index(DEMO.contexts[7]) == 7
    assert hash(large.contexts) == hash(DEMO.contexts)
    with pytest.raises(IndexError):
        large.contexts[len(DEMO.contexts)]


def test_contexts_differ_from_fewer_others_and_from_no_contexts(large):
    assert large.contexts != DEMO.contexts[1:]
    assert large.contexts != (*DEMO.contexts[1:], DEMO.contexts[0])
    assert large.contexts != list(DEMO.contexts)


@pytest.mark.parametrize("make", [lambda: DEMO, rich_benchmark])
def test_what_a_context_states_is_the_same_without_its_record(make, tmp_path):
    held = make()
    in_file = read_benchmark(write_benchmark(held, tmp_path / "benchmark"), most_held=0)
    assert isinstance(in_file.contexts, ContextFile)
    found = [in_file.written_of(item) for item in held.items]
    assert found == [held.written_of(item) for item in held.items] == [*held.written()] == [*in_file.written()]
    for item, written in zip(held.items, found, strict=True):
        context = held.context_of(item)
        assert (written and [*written.texts.items()]) == (context and [*context.texts().items()])


def test_contexts_by_id_know_what_is_there_without_reading_it(large):
    os.truncate(large.contexts.path, 0)

    assert list(large.context) == list(DEMO.context)
    assert DEMO.contexts[3].id in large.context
    assert "c_other" not in large.context
    assert large.context.get("c_other") is None


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_a_copy_holds_its_contexts(large, copied):
    assert not isinstance(copied(large).contexts, ContextFile)
    assert copied(large) == DEMO


def test_a_file_with_a_byte_order_mark_blank_lines_and_no_last_line_break_reads_the_same(folder):
    rewrite(folder, "contexts.jsonl", lambda text: "\ufeff" + text.replace("\n", "\n \n", 2).rstrip("\n"))

    assert read_benchmark(folder, most_held=0) == DEMO


@pytest.mark.parametrize("most_held", [0, MAX_CONTEXTS_IN_MEMORY])
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda line: line[: len(line) // 2] + "\n", r"contexts\.jsonl:3: not JSON"),
        (lambda line: line.replace("{", '{"id":"x",', 1), r"contexts\.jsonl:3: .*the key 'id' stands twice"),
        (lambda line: line.replace('"intended_safe":true', '"intended_safe":1'), r"contexts\.jsonl:3: 'intended_safe'"),
        (lambda line: line.replace('"intended_safe":true', '"intended_safe":false'), r"contexts\.jsonl:3: id is 'c_"),
        (lambda line: "", r"shows no context that is here"),
        (lambda line: line * 2, r"two contexts have the id c_"),
        (lambda line: line.replace('"origin":"revised"', '"origin":"generated"'), r"its context's intent and origin"),
    ],
)
def test_a_file_that_is_wrong_is_named_whether_contexts_are_held_or_not(folder, most_held, change, problem):
    rewrite(folder, "contexts.jsonl", lambda text: line_of(text, 3, change))

    with pytest.raises(DataError, match=problem):
        read_benchmark(folder, most_held=most_held)


@pytest.mark.parametrize("most_held", [0, MAX_CONTEXTS_IN_MEMORY])
def test_a_context_of_no_query_is_named_whether_contexts_are_held_or_not(folder, most_held):
    rewrite(folder, "queries.jsonl", lambda text: "\n".join(text.splitlines()[1:]) + "\n")

    with pytest.raises(DataError, match=r"context c_.* belongs to no query here"):
        read_benchmark(folder, most_held=most_held)


@pytest.mark.parametrize("most_held", [0, MAX_CONTEXTS_IN_MEMORY])
def test_bytes_that_are_no_text_are_named_whether_contexts_are_held_or_not(folder, most_held):
    path = folder / "contexts.jsonl"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\n\xff", 1))
    change_manifest(folder, files={name: sha256(folder / name) for name in FILES})

    with pytest.raises(DataError, match=r"contexts\.jsonl:2: byte 0xff is not UTF-8"):
        read_benchmark(folder, most_held=most_held)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(DataError, match=r"nowhere\.jsonl: cannot be read: No such file"):
        ContextFile(tmp_path / "nowhere.jsonl")
    with pytest.raises(DataError, match=r"cannot be read: Is a directory"):
        ContextFile(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: raw.replace(b'"origin":"revised"', b'"origin":"generated"'),
        lambda raw: raw[:10],
        lambda raw: b"\n" + raw,
        lambda raw: b"\xff" * len(raw),
    ],
    ids=["one value", "cut off", "moved", "no text"],
)
def test_a_line_that_was_changed_after_loading_is_an_error(large, change):
    path = large.contexts.path
    path.write_bytes(change(path.read_bytes()))

    with pytest.raises(DataError, match=r"contexts\.jsonl:3: was changed after it was loaded; .*restore it"):
        large.context[DEMO.contexts[2].id]


def test_a_folder_that_was_removed_or_replaced_after_loading_changes_nothing(large, folder):
    shutil.rmtree(folder)
    write_benchmark(replace(DEMO, contexts=DEMO.contexts[::-1]), folder)

    assert large == DEMO


def open_files():
    return len(list(Path("/dev/fd").iterdir()))


def test_files_are_closed_with_the_benchmarks_that_keep_them(folder):
    before = open_files()

    kept = [read_benchmark(folder, most_held=0) for _ in range(5)]
    assert open_files() == before + 5
    kept.clear()
    assert open_files() == before
