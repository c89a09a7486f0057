import numpy as np
import pytest

from casewise.stats.words import Folds, LinearBaseline, WordCounts, out_of_fold, weighty_phrases

TEXTS = ["the nurse asks", "the stalker asks the stalker", "a nurse asks a nurse", "nobody here"]


def test_weights_are_those_of_scikit_learn():
    from sklearn.feature_extraction.text import TfidfVectorizer

    learn = np.array([True, True, True, False])
    words = WordCounts.of(TEXTS)
    weighing = words.weighing(learn, least=2)

    counted = weighing.rarity > 0
    weighed = weighing.of(np.ones(4, dtype=bool)).rows
    found = np.column_stack([weighed @ one for one in np.eye(len(counted))[counted]])

    reference = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2).fit(TEXTS[:3])
    columns = [words.phrase(i) for i in weighing.phrases.codes[counted]]
    order = [list(reference.get_feature_names_out()).index(name) for name in columns]
    assert sorted(columns) == sorted(reference.get_feature_names_out())
    assert found == pytest.approx(reference.transform(TEXTS).toarray()[:, order])


def test_predictions_are_those_of_a_pipeline_fitted_on_each_fold():
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    draws = np.random.default_rng(1)
    label = draws.integers(0, 2, size=200).astype(float)
    texts = [f"{'kind' if y and draws.random() < 0.8 else 'cruel'} {' '.join(draws.choice(TEXTS))}" for y in label]
    folds = Folds.of(np.arange(200), n=4)

    found = out_of_fold(texts, label, folds=folds)

    expected = np.empty(200)
    for fold in range(4):
        held = folds.of_row == fold
        tfidf = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2)
        train = tfidf.fit_transform([t for t, h in zip(texts, held, strict=True) if not h])
        model = LogisticRegression(C=LinearBaseline().c, max_iter=1000).fit(train, label[~held])
        expected[held] = model.predict_proba(tfidf.transform([t for t, h in zip(texts, held, strict=True) if h]))[:, 1]
    assert found == pytest.approx(expected, abs=1e-3)


def test_texts_without_a_word_are_predicted_by_the_share_of_safe_ones():
    found = out_of_fold(["", "-"] * 10, np.array([1.0, 1, 1, 0] * 5), folds=Folds.of(np.arange(20), n=2))

    assert ((found > 0.4) & (found <= 1)).all()


def test_phrases_on_each_side_have_coefficients_of_their_sign():
    safe, unsafe = weighty_phrases(["kind nurse", "cruel stalker"] * 20, np.array([1.0, 0.0] * 20), n=2)

    assert {phrase.text for phrase in safe} <= {"kind", "nurse", "kind nurse"}
    assert all(phrase.coefficient > 0 for phrase in safe)
    assert all(phrase.coefficient < 0 for phrase in unsafe)


@pytest.mark.parametrize("least", [1, 2])
def test_counts_are_those_of_scikit_learn_whatever_the_blocks(monkeypatch, least):
    from sklearn.feature_extraction.text import CountVectorizer

    for name, value in {"BLOCK": 2, "SLICE": 3}.items():
        monkeypatch.setattr(f"casewise.stats.words.{name}", value)
    texts = [
        "",
        "a",
        "Ünder the bridge the BRIDGE, the bridge",
        "x2 don't",
        "the bridge",
        "",
        "under_the\u2003bridge x2",
    ]
    words = WordCounts.of(iter(texts))
    found = words.counted(least=least)

    reference = CountVectorizer(ngram_range=(1, 2), min_df=least)
    counts = reference.fit_transform(texts).toarray()
    phrases = [words.phrase(code) for code in found.codes]
    order = [phrases.index(name) for name in reference.get_feature_names_out()]
    assert sorted(order) == list(range(len(phrases)))
    assert (found.table.toarray()[:, order] == counts).all()
    assert found.texts_with.tolist() == (found.table.toarray() > 0).sum(axis=0).tolist()
    assert WordCounts.of([]).counted(least=1).table.shape == (0, 0)


def test_predictions_are_the_same_whatever_the_order_of_texts_and_the_pieces(monkeypatch):
    draws = np.random.default_rng(2)
    label = draws.choice([0.0, 1.0, np.nan], size=150, p=[0.4, 0.4, 0.2])
    texts = np.array([f"{'kind' if y == 1 else 'cruel'} {' '.join(draws.choice(TEXTS, 2))}" for y in label])
    groups = np.arange(150) // 2
    words = WordCounts.of(texts)
    found = out_of_fold(words, label, folds=Folds.of(groups, n=5))
    monkeypatch.setattr("casewise.stats.words.PIECE", 7)
    shuffled = draws.permutation(150)

    folds = Folds(Folds.of(groups, n=5).of_row[shuffled], 5)
    again = out_of_fold(texts[shuffled], label[shuffled], folds=folds)

    assert again == pytest.approx(found[shuffled], abs=1e-10)
    assert out_of_fold(words, label, folds=Folds.of(groups, n=5)) == pytest.approx(found, abs=1e-10)
