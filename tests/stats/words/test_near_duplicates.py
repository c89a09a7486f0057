import re

import numpy as np
import pytest

from casewise.stats.words import EarlierTexts, Shingled, jaccard, near_duplicates, word_runs


def text(draws, n=60):
    return " ".join(f"w{word}" for word in draws.integers(0, 5000, size=n))


def test_texts_with_a_word_changed_are_one_group():
    draws = np.random.default_rng(1)
    one, other = text(draws), text(draws)

    group = near_duplicates([one, other, one.replace(one.split()[0], "changed", 1), other])

    assert group[0] == group[2] != group[1]
    assert group[1] == group[3]


def test_groups_are_those_of_comparing_every_pair():
    draws = np.random.default_rng(2)
    originals = [text(draws) for _ in range(30)]
    copies = [" ".join(words[: 60 - k]) for k, words in enumerate(o.split() for o in originals[:12])]
    texts = originals + copies

    group = near_duplicates(texts)

    shingled = Shingled.of(texts)
    sets = [set(shingled[place].tolist()) for place in range(len(texts))]
    for k in range(12):
        pair = len(sets[k] & sets[30 + k]) / len(sets[k] | sets[30 + k]) >= 0.8
        assert (group[k] == group[30 + k]) == pair
    assert len(set(group[:30])) == 30


def test_case_and_punctuation_do_not_count():
    group = near_duplicates(["One two three, four.", "one TWO three four"])

    assert group[0] == group[1]


def runs(text, length=2):
    return word_runs(re.findall(r"\w+", text), length=length)


def test_runs_are_the_words_that_follow_each_other():
    assert runs("a b c d", length=3) == {"a b c", "b c d"}
    assert runs("a b", length=3) == frozenset()


def test_the_index_is_the_share_of_runs_that_both_have():
    assert jaccard({"a", "b", "c"}, {"b", "c", "d"}) == 2 / 4


def test_the_most_alike_are_those_that_comparing_with_each_would_find():
    rng = np.random.default_rng(4)
    texts = [runs(" ".join(rng.choice(list("abcdefg"), size=12))) for _ in range(40)]
    earlier = EarlierTexts()
    for place, mine in enumerate(texts):
        index = [jaccard(mine, other) for other in texts[:place]]
        best = max(index, default=0.0)
        expected = [at for at, value in enumerate(index) if value == best and value > 0]

        assert earlier.most_alike(mine) == (expected, best)
        earlier.add(mine)


def test_runs_that_many_texts_have_find_no_candidates():
    earlier = EarlierTexts(rare=2)
    for text in ("to whom it may", "to whom it should", "to whom we write"):
        earlier.add(runs(text))

    assert earlier.most_alike(runs("to whom else")).places == []
    found = earlier.most_alike(runs("now it may"))
    assert found.places == [0]
    assert found.similarity == pytest.approx(1 / 4)
