import re

import numpy as np
import pytest

from casewise.stats.words.earlier_texts import EarlierTexts, jaccard, word_runs


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
