import json
import shutil

import pytest

from casewise.errors import ChecksumMismatch
from casewise.storage import load_benchmark, write_benchmark
from casewise.storage.benchmarks import folder as folders
from casewise.storage.benchmarks import kept
from casewise.storage.benchmarks.fetch import cache_folder
from casewise.storage.benchmarks.folder import read_benchmark
from casewise.storage.benchmarks.item_table import item_table
from casewise.storage.benchmarks.manifest import MANIFEST, sha256
from casewise.storage.benchmarks.published import read_published


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch):
    monkeypatch.setattr(kept, "WORTH", 1)


@pytest.fixture
def folder(tmp_path):
    demo = load_benchmark("demo")
    return write_benchmark(demo.keeping(demo.items[:9]), tmp_path / "nine")


def places():
    return sorted((cache_folder() / "benchmarks").glob("*"))


def read(folder):
    return read_benchmark(folder, most_held=0)


def test_a_kept_benchmark_equals_the_one_that_was_read(folder, monkeypatch):
    first = read(folder)
    monkeypatch.setattr(folders, "read_whole", lambda *_, **__: pytest.fail("it was read whole again"))

    again = read(folder)

    assert again == first
    assert again.digest == first.digest
    assert item_table(again).equals(item_table(first))
    assert [again.intent_of(item) for item in again.items] == [first.intent_of(item) for item in first.items]
    assert again.keeping(again.items[:3]) == first.keeping(first.items[:3])


def test_the_published_rate_of_an_item_is_kept(tmp_path, shared):
    release = read_published(shared / "data" / "casebench_shapes.json")
    folder = write_benchmark(release.keeping(release.items[:40]), tmp_path / "release")

    assert read(folder) == read(folder) == release.keeping(release.items[:40])


def test_another_file_is_not_taken_for_the_one_that_was_kept(folder):
    first = read(folder)
    ratings = folder / "ratings.jsonl"
    ratings.write_text(ratings.read_text().replace('"safe"', '"unsafe"'))

    with pytest.raises(ChecksumMismatch):
        read(folder)

    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["files"]["ratings.jsonl"] = sha256(ratings)
    (folder / MANIFEST).write_text(json.dumps(manifest))
    assert read(folder).digest != first.digest


@pytest.mark.parametrize("name", ["kept.json", "ratings.arrow", "items.arrow", "queries.arrow", "contexts.arrow"])
@pytest.mark.parametrize("damage", [b"", b"{}", None])
def test_what_is_damaged_is_read_anew_and_kept_anew(folder, name, damage):
    first = read(folder)
    (place,) = places()
    (place / name).write_bytes(damage) if damage is not None else (place / name).unlink()

    assert read(folder) == first
    assert {path.name for path in place.iterdir()} >= {"kept.json", "ratings.arrow"}
    assert read(folder) == first


def test_the_folder_may_move(folder, tmp_path):
    first = read(folder)
    shutil.move(folder, tmp_path / "elsewhere")

    assert read(tmp_path / "elsewhere") == first
    assert len(places()) == 1


def test_where_nothing_can_be_kept_the_folder_is_read_all_the_same(folder):
    cache_folder().mkdir(parents=True)
    (cache_folder() / "benchmarks").write_text("a file where the cache would be")

    assert read(folder) == read(folder)


def test_those_used_longest_ago_are_dropped(tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "MOST", 2)
    demo = load_benchmark("demo")
    for n in (2, 3, 4):
        read(write_benchmark(demo.keeping(demo.items[:n]), tmp_path / f"some-{n}"))

    assert len(places()) == 2
