from dataclasses import replace

import numpy as np
import pytest
from tests.audits.builders import Row, benchmark_of, crowd, some_words

from casewise.audits.subject import Subject
from casewise.audits.words import SUBSETS, subset, subset_rows
from casewise.errors import BenchmarkError, ConfigurationError


def telling(rng, intended):
    return f"{some_words(rng)} {'clinic nurse' if intended else 'revenge stalker'}"


@pytest.fixture(scope="module")
def subject():
    return Subject(benchmark_of(crowd(np.random.default_rng(1), safe=0.75, unsafe=0.2, words=telling)))


def test_clear_and_close_are_all_rated_items_and_share_none(subject):
    clear, close = subset_rows(subject, "clear"), subset_rows(subject, "close")

    assert (clear ^ close).all()
    rate = subject.n_safe / subject.n_votes
    assert ((rate[clear] >= 0.7) | (rate[clear] <= 0.3)).all()


def test_six_of_twenty_votes_are_30_percent_whatever_binary_fractions_make_of_it():
    rows = [Row(f"query {i}", True, (1,) * 6 + (0,) * 14) for i in range(3)]

    assert len(subset(benchmark_of(rows), "clear")) == 3


def test_low_margin_is_the_third_about_which_the_words_say_least(subject):
    rows = subset_rows(subject, "low-margin")

    unsure = np.abs(subject.baseline - 0.5)
    assert rows.sum() == 40
    assert unsure[rows].max() <= unsure[~rows].min()


def test_low_margin_looks_at_no_label_of_its_own(subject):
    rows = subset_rows(subject, "low-margin")
    one = int(np.flatnonzero(rows)[0])
    ratings = tuple(
        rating.model_copy(update={"verdict": "safe" if rating.verdict == "unsafe" else "unsafe"})
        if rating.item_id == subject.benchmark.items[one].id
        else rating
        for rating in subject.benchmark.ratings
    )

    again = Subject(replace(subject.benchmark, ratings=ratings))

    assert again.baseline[one] == pytest.approx(subject.baseline[one])


def test_hard_items_are_those_that_some_half_of_the_votes_sets_against_the_words(subject):
    rows = subset_rows(subject, "hard")

    wrong = (subject.baseline > 0.5) != (subject.label > 0.5)
    decided = np.abs(subject.n_safe - subject.n_votes / 2) > 5
    assert rows[wrong & (subject.label != 0.5)].all()
    assert not rows[~wrong & decided].any()


def test_an_unknown_subset_is_refused_with_those_there_are(subject):
    with pytest.raises(ConfigurationError, match="low-margin"):
        subset_rows(subject, "difficult")


@pytest.mark.parametrize("name", SUBSETS)
def test_without_ratings_no_subset_can_be_named(name):
    bare = benchmark_of([replace(row, votes=()) for row in crowd(np.random.default_rng(1))])

    with pytest.raises(BenchmarkError, match=f"--items {name}"):
        subset(bare, name)


def test_an_empty_subset_is_an_error():
    rows = [replace(row, votes=(1,) * 10) for row in crowd(np.random.default_rng(1))]

    with pytest.raises(BenchmarkError, match="no items"):
        subset(benchmark_of(rows), "close")
