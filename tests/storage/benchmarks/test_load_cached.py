from dataclasses import replace

import numpy as np
import pytest

import casewise
from casewise.audits.subject import Subject
from casewise.stats.words import PhraseCounts
from casewise.storage import files, load
from casewise.storage.files import cache_folder
from casewise.storage.load import cached_item_numbers, cached_numbers


@pytest.fixture
def few():
    demo = casewise.load("demo")
    return demo.restricted_to(demo.items[:6])


def of(benchmark, values=(0, 1, 2, 3, 4, 5), what="places"):
    return cached_item_numbers(benchmark, what, lambda: np.array(values, dtype=float), made_with="numpy").tolist()


def kept():
    return sorted((cache_folder() / "worked-out").glob("*"))


def test_what_was_worked_out_once_is_not_worked_out_again(few):
    assert of(few) == of(few, values=[9] * 6) == [0, 1, 2, 3, 4, 5]
    assert len(kept()) == 1


def test_it_stands_in_the_order_of_the_items_whatever_order_they_were_in(few):
    of(few)
    turned = replace(few, items=few.items[::-1])

    assert turned.digest == few.digest
    assert of(turned) == [5, 4, 3, 2, 1, 0]


def test_other_ratings_other_settings_and_other_versions_have_numbers_of_their_own(few, monkeypatch):
    of(few)

    assert of(replace(few, ratings=few.ratings[:-1]), values=[7] * 6) == [7] * 6
    assert of(few, values=[8] * 6, what="something else") == [8] * 6
    monkeypatch.setattr(load, "__version__", "0.0.0")
    assert of(few, values=[9] * 6) == [9] * 6


@pytest.mark.parametrize("content", [b"", b"no table", b"ARROW1\0\0"])
def test_a_damaged_file_is_worked_out_anew(few, content):
    of(few)
    kept()[0].write_bytes(content)

    assert of(few, values=[7] * 6) == of(few) == [7] * 6


def test_where_nothing_can_be_kept_it_is_worked_out_each_time(few):
    cache_folder().parent.mkdir(parents=True, exist_ok=True)
    cache_folder().write_text("a file in the way", encoding="utf-8")

    assert of(few) == [0, 1, 2, 3, 4, 5]
    assert of(few, values=[9] * 6) == [9] * 6


def test_those_used_longest_ago_are_dropped(few, monkeypatch):
    monkeypatch.setattr(files, "MOST_CACHED", 2)
    for what in ("a", "b", "c"):
        of(few, what=what)

    assert len(kept()) == 2


def test_the_words_of_a_benchmark_are_counted_once_for_all_reports(monkeypatch):
    demo = casewise.load("demo")
    some = demo.restricted_to(demo.items[:40])
    first = Subject(some).baseline
    monkeypatch.setattr(PhraseCounts, "from_texts", lambda _: pytest.fail("the words were counted again"))

    assert np.array_equal(Subject(some).baseline, first)


def test_numbers_of_a_whole_benchmark_are_kept_by_their_names(few):
    def numbers(**found):
        return cached_numbers(few, "some numbers", lambda: found, made_with="numpy")

    assert numbers(low=0.1, high=1 / 3) == numbers(low=0.5) == {"low": 0.1, "high": 1 / 3}
    kept()[0].write_bytes(b"no table")
    assert numbers(low=0.5) == {"low": 0.5}
