import re

import numpy as np
import pytest

from casewise.stats.words import (
    EarlierTexts,
    Folds,
    LinearBaseline,
    PhraseCounts,
    ShingleHashes,
    chained,
    jaccard,
    near_duplicates,
    out_of_fold,
    strongest_phrases,
    word_runs,
)

TEXTS = ["the nurse asks", "the stalker asks the stalker", "a nurse asks a nurse", "nobody here"]


def test_predictions_are_those_of_a_pipeline_fitted_on_each_fold():
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    draws = np.random.default_rng(1)
    label = draws.integers(0, 2, size=200).astype(float)
    texts = [f"{'kind' if y and draws.random() < 0.8 else 'cruel'} {' '.join(draws.choice(TEXTS))}" for y in label]
    folds = Folds.from_groups(np.arange(200), n=4)

    found = out_of_fold(texts, label, folds=[folds])

    expected = np.empty(200)
    for fold in range(4):
        held = folds.of_row == fold
        tfidf = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2)
        train = tfidf.fit_transform([t for t, h in zip(texts, held, strict=True) if not h])
        model = LogisticRegression(C=LinearBaseline().c, max_iter=1000).fit(train, label[~held])
        expected[held] = model.predict_proba(tfidf.transform([t for t, h in zip(texts, held, strict=True) if h]))[:, 1]
    assert found == pytest.approx(expected, abs=1e-9)


def test_texts_without_a_word_are_predicted_by_the_share_of_safe_ones():
    found = out_of_fold(["", "-"] * 10, np.array([1.0, 1, 1, 0] * 5), folds=[Folds.from_groups(np.arange(20), n=2)])

    assert ((found > 0.4) & (found <= 1)).all()


def test_phrases_on_each_side_have_coefficients_of_their_sign():
    safe, unsafe = strongest_phrases(["kind nurse", "cruel stalker"] * 20, np.array([1.0, 0.0] * 20), n=2)

    assert {phrase.text for phrase in safe} <= {"kind", "nurse", "kind nurse"}
    assert all(phrase.coefficient > 0 for phrase in safe)
    assert all(phrase.coefficient < 0 for phrase in unsafe)


def test_predictions_are_the_same_whatever_the_order_of_texts():
    draws = np.random.default_rng(2)
    label = draws.choice([0.0, 1.0, np.nan], size=150, p=[0.4, 0.4, 0.2])
    texts = np.array([f"{'kind' if y == 1 else 'cruel'} {' '.join(draws.choice(TEXTS, 2))}" for y in label])
    groups = np.arange(150) // 2
    words = PhraseCounts.from_texts(texts)
    found = out_of_fold(words, label, folds=[Folds.from_groups(groups, n=5)])
    shuffled = draws.permutation(150)

    folds = Folds(Folds.from_groups(groups, n=5).of_row[shuffled], 5)
    again = out_of_fold(texts[shuffled], label[shuffled], folds=[folds])

    assert again == pytest.approx(found[shuffled], abs=1e-6)
    assert out_of_fold(words, label, folds=[Folds.from_groups(groups, n=5)]) == pytest.approx(found, abs=1e-6)


def test_a_tie_is_learnt_as_half_of_each_verdict():
    texts = ["kind nurse", "cruel stalker", "kind stalker"] * 40
    weight = np.array([1.0, 0.0, 0.5] * 40)

    found = out_of_fold(texts, weight, folds=[Folds.from_groups(np.arange(120), n=4)])

    assert found[2::3].mean() == pytest.approx(0.5, abs=0.05)
    assert found[0] > 0.9
    assert found[1] < 0.1


def text(draws, n=60):
    return " ".join(f"w{word}" for word in draws.integers(0, 5000, size=n))


@pytest.mark.parametrize(("second", "joined"), [([5, 6, 2, 3, 4], [0, 0, 1, 2, 3]), ([5, 6, 2, 3, 3], [0, 0, 1, 2, 2])])
def test_rows_are_joined_by_a_chain_of_equal_numbers(second, joined):
    assert chained(np.array([0, 0, 1, 2, 3]), np.array(second)).tolist() == joined


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

    shingled = ShingleHashes.from_texts(texts)
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

        assert earlier.most_similar(mine) == (expected, best)
        earlier.add(mine)


def test_runs_that_many_texts_have_find_no_candidates():
    earlier = EarlierTexts(rare=2)
    for text in ("to whom it may", "to whom it should", "to whom we write"):
        earlier.add(runs(text))

    assert earlier.most_similar(runs("to whom else")).places == []
    found = earlier.most_similar(runs("now it may"))
    assert found.places == [0]
    assert found.similarity == pytest.approx(1 / 4)
