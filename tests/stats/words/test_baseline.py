import numpy as np
import pytest

from casewise.stats.words import Folds, LinearBaseline, PhraseCounts, out_of_fold, weighty_phrases

TEXTS = ["the nurse asks", "the stalker asks the stalker", "a nurse asks a nurse", "nobody here"]


def test_predictions_are_those_of_a_pipeline_fitted_on_each_fold():
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    draws = np.random.default_rng(1)
    label = draws.integers(0, 2, size=200).astype(float)
    texts = [f"{'kind' if y and draws.random() < 0.8 else 'cruel'} {' '.join(draws.choice(TEXTS))}" for y in label]
    folds = Folds.of(np.arange(200), n=4)

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
    found = out_of_fold(["", "-"] * 10, np.array([1.0, 1, 1, 0] * 5), folds=[Folds.of(np.arange(20), n=2)])

    assert ((found > 0.4) & (found <= 1)).all()


def test_phrases_on_each_side_have_coefficients_of_their_sign():
    safe, unsafe = weighty_phrases(["kind nurse", "cruel stalker"] * 20, np.array([1.0, 0.0] * 20), n=2)

    assert {phrase.text for phrase in safe} <= {"kind", "nurse", "kind nurse"}
    assert all(phrase.coefficient > 0 for phrase in safe)
    assert all(phrase.coefficient < 0 for phrase in unsafe)


def test_predictions_are_the_same_whatever_the_order_of_texts():
    draws = np.random.default_rng(2)
    label = draws.choice([0.0, 1.0, np.nan], size=150, p=[0.4, 0.4, 0.2])
    texts = np.array([f"{'kind' if y == 1 else 'cruel'} {' '.join(draws.choice(TEXTS, 2))}" for y in label])
    groups = np.arange(150) // 2
    words = PhraseCounts.of(texts)
    found = out_of_fold(words, label, folds=[Folds.of(groups, n=5)])
    shuffled = draws.permutation(150)

    folds = Folds(Folds.of(groups, n=5).of_row[shuffled], 5)
    again = out_of_fold(texts[shuffled], label[shuffled], folds=[folds])

    assert again == pytest.approx(found[shuffled], abs=1e-6)
    assert out_of_fold(words, label, folds=[Folds.of(groups, n=5)]) == pytest.approx(found, abs=1e-6)


def test_a_tie_is_learnt_as_half_of_each_verdict():
    texts = ["kind nurse", "cruel stalker", "kind stalker"] * 40
    weight = np.array([1.0, 0.0, 0.5] * 40)

    found = out_of_fold(texts, weight, folds=[Folds.of(np.arange(120), n=4)])

    assert found[2::3].mean() == pytest.approx(0.5, abs=0.05)
    assert found[0] > 0.9
    assert found[1] < 0.1
