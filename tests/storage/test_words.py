"""Words for verdicts: which say themselves what they mean, and what has to be declared."""

import pytest

from casewise.errors import ConfigurationError
from casewise.storage.words import PAIRS, Reading, VerdictWords, plain_name, plain_word

KNOWN = VerdictWords()


@pytest.mark.parametrize(
    ("word", "plain"),
    [
        ("  Not_Safe ", "not safe"),
        ("un-safe", "un safe"),
        ("don\u2019t know", "don't know"),
        (1.0, "1"),
        ("1.00", "1"),
        ("1.", "1."),
        ("1.5", "1.5"),
        (1.5, "1.5"),
        ("a.0", "a.0"),
        (True, "true"),
    ],
)
def test_a_word_counts_in_small_letters_with_single_spaces_and_whole_numbers_without_decimals(word, plain):
    assert plain_word(word) == plain


def test_the_name_of_a_column_counts_in_small_letters_with_underscores():
    assert plain_name(" Is-Safe.by  people ") == "is_safe_by_people"


@pytest.mark.parametrize(("safe", "unsafe"), PAIRS)
def test_a_listed_word_says_what_it_means(safe, unsafe):
    assert (KNOWN.read(safe, "x"), KNOWN.read(unsafe, "x")) == (Reading("safe", "listed"), Reading("unsafe", "listed"))


@pytest.mark.parametrize(
    ("word", "vote"), [("Unsure", "unsure"), ("ask first", "ask"), ("not applicable", "not applicable")]
)
def test_words_that_are_no_verdict_are_listed_as_well(word, vote):
    assert KNOWN.read(word, "x") == Reading(vote, "listed")
    assert KNOWN.read("perhaps", "x") is None


def test_declared_words_take_the_place_of_those_that_are_listed_for_the_same():
    words = VerdictWords(safe_word=("fine",), unsure_word=("hm",))

    assert words.read("Fine", "x") == Reading("safe", "declared")
    assert words.read("hm", "x") == Reading("unsure", "declared")
    assert [words.read(word, "x") for word in ("safe", "unsafe", "unsure", "yes")] == [None] * 4
    assert words.read("ask", "x") == Reading("ask", "listed")
    assert VerdictWords(unsafe_word=("bad",)).read("safe", "x") is None
    assert VerdictWords(safe_word=("unsafe",)).read("unsafe", "x") == Reading("safe", "declared")


def test_one_word_is_not_declared_twice():
    with pytest.raises(ConfigurationError, match="'ok' is declared as safe and as unsure; declare it once"):
        _ = VerdictWords(safe_word=("ok",), unsure_word=("OK",)).declared
    assert VerdictWords(safe_word=("ok", "OK")).declared == {"ok": "safe"}


@pytest.mark.parametrize(("yes", "no"), [("true", "no"), ("1", "0"), (True, False), ("Y", "n")])
def test_true_and_false_mean_what_was_declared_or_what_the_column_asks(yes, no):
    declared = VerdictWords(true_means="unsafe")

    assert declared.read(yes, "is safe") == Reading("unsafe", "declared")
    assert declared.read(no, "x") == Reading("safe", "declared")
    assert KNOWN.read(yes, "Is-Safe") == Reading("safe", "by the column's name")
    assert KNOWN.read(yes, "unsafe") == Reading("unsafe", "by the column's name")
    assert KNOWN.read(no, "unsafe") == Reading("safe", "by the column's name")
    with pytest.raises(ConfigurationError, match="give --true-means safe or"):
        KNOWN.read(yes, "label")
    with pytest.raises(ConfigurationError):
        KNOWN.read(no, "label")


def test_the_other_half_of_a_declared_word_is_not_guessed():
    assert VerdictWords(safe_word=("1",)).read("0", "label") is None
    assert VerdictWords(unsafe_word=("1",)).read("0", "label") is None


def test_the_words_of_a_benchmarks_own_file_come_after_the_listed_ones_and_the_name_of_the_column():
    words = VerdictWords(also_known=(("go", "safe"), ("safe", "unsafe"), ("1", "unsafe")))

    assert words.read("go", "x") == Reading("safe", "declared")
    assert words.read("safe", "x") == Reading("safe", "listed")
    assert words.read("1", "x") == Reading("unsafe", "declared")
    assert words.read("1", "is_safe") == Reading("safe", "by the column's name")


def test_a_missing_value_is_none_or_one_of_its_words_and_no_declared_vote():
    words = VerdictWords(unsure_word=("", "n/a"), missing_word=("Revoked",))

    assert [words.is_missing(cell) for cell in (None, "NaN", " revoked ", "n/a", "safe", 0)] == [
        *(True, True, True),
        *(False, False, False),
    ]
    assert KNOWN.is_missing("N/A")
