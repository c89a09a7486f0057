import numpy as np

from casewise.stats.words.near_duplicates import near_duplicates, shingles


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

    group = near_duplicates(texts, least=0.8)

    sets = [set(shingles(t).tolist()) for t in texts]
    for k in range(12):
        pair = len(sets[k] & sets[30 + k]) / len(sets[k] | sets[30 + k]) >= 0.8
        assert (group[k] == group[30 + k]) == pair
    assert len(set(group[:30])) == 30


def test_case_and_punctuation_do_not_count():
    group = near_duplicates(["One two three, four.", "one TWO three four"])

    assert group[0] == group[1]
