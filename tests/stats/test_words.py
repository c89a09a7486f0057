import re

import numpy as np
import pytest
from tests.support.samples import NAN

from casewise.stats.words import (
    Classifier,
    Design,
    EarlierTexts,
    Folds,
    HeldOut,
    LinearBaseline,
    PhraseCounts,
    Piece,
    ShingleHashes,
    chained,
    difference,
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


def test_groups_are_dealt_evenly_and_stay_together():
    folds = Folds.from_groups(np.repeat(np.arange(10), 3), n=4)

    assert (folds.of_row.reshape(10, 3) == folds.of_row[::3, None]).all()
    assert sorted(np.bincount(folds.of_row).tolist()) == [6, 6, 9, 9]
    assert folds.of_row.tolist() == Folds.from_groups(np.repeat(np.arange(10), 3), n=4, seed=0).of_row.tolist()
    assert folds.n == 4


def test_phrases_are_counted_as_scikit_learn_counts_them():
    from sklearn.feature_extraction.text import CountVectorizer

    texts = [*TEXTS, "", "A nurse's nurse: a nurse, nobody", "asks"]
    vectorizer = CountVectorizer(ngram_range=(1, 2))
    expected = vectorizer.fit_transform(texts)
    found = PhraseCounts.from_texts(texts)

    assert [found.phrase(place) for place in range(len(found.keys))] == vectorizer.get_feature_names_out().tolist()
    assert found.table.toarray().tolist() == expected.toarray().tolist()
    assert len(found) == 7
    assert len(PhraseCounts.from_texts([])) == 0


def test_a_row_is_predicted_without_any_row_that_shares_a_fold_of_either_kind():
    draws = np.random.default_rng(5)
    label = draws.integers(0, 2, size=120).astype(float)
    texts = [f"{'kind' if y and draws.random() < 0.8 else 'cruel'} {draws.choice(TEXTS)}" for y in label]
    first, second = Folds.from_groups(np.arange(120) // 4, n=3), Folds.from_groups(np.arange(120) % 4, n=2)
    counts = PhraseCounts.from_texts(texts)

    found = out_of_fold(counts, label, folds=[first, second])

    for a, b in np.ndindex(3, 2):
        rows, shared = (first.of_row == a) & (second.of_row == b), (first.of_row == a) | (second.of_row == b)
        fitted = Classifier.fit(counts, label, ~shared, LinearBaseline())
        assert found[rows] == pytest.approx(fitted.predict(counts, rows))


def test_labels_of_one_kind_are_predicted_and_nothing_is_predicted_from_none():
    counts, every = PhraseCounts.from_texts(TEXTS), np.ones(4, dtype=bool)

    assert Classifier.fit(counts, np.ones(4), every, LinearBaseline()).predict(counts, every).tolist() == [1] * 4
    assert Classifier.fit(counts, np.ones(4), ~every, LinearBaseline()).predict(counts, every).tolist() == [0.5] * 4
    assert strongest_phrases(TEXTS, np.ones(4)) == ([], [])


@pytest.mark.parametrize(("rows", "phrases"), [(100, 5), (101, 3)])
def test_of_more_than_a_hundred_texts_phrases_count_that_two_have(rows, phrases):
    """All but the last text are `kind nurse`; the last one has a word of its own, and a pair with it."""
    counts = PhraseCounts.from_texts(["kind nurse"] * (rows - 1) + ["nurse alone"])
    label = np.arange(rows) % 2.0

    assert len(Classifier.fit(counts, label, np.ones(rows, dtype=bool), LinearBaseline()).used) == phrases


def test_the_strongest_phrases_come_first_on_each_side():
    texts = ["kind nurse", "kind nurse", "kind stalker", "cruel stalker", "cruel stalker", "cruel nurse"] * 20
    safe, unsafe = strongest_phrases(PhraseCounts.from_texts(texts), np.array([1.0, 1, 1, 0, 0, 0] * 20), n=2)

    assert [phrase.text for phrase in safe] == ["kind", "kind nurse"]
    assert [phrase.text for phrase in unsafe] == ["cruel", "cruel stalker"]
    assert safe[0].coefficient > safe[1].coefficient > 0 > unsafe[1].coefficient > unsafe[0].coefficient


def design(query, context):
    return Design.from_contexts(np.array(query), np.array(context, dtype=float))


def test_an_item_without_a_context_has_a_number_of_its_query():
    found = design([0, 1, 2, 2, 0], [0, NAN, 0, NAN, 1])

    assert found.context.tolist() == [0, 3, 0, 4, 1]
    assert found.recurring
    assert found.component.tolist() == [0, 1, 0, 0, 0]
    assert not design([0, 0, 1, 2], [0, 1, 2, NAN]).recurring


EVERY = np.ones(40, dtype=bool)


@pytest.mark.parametrize(
    ("query", "context", "groups", "held_out"),
    [
        (np.arange(40) // 2, np.arange(40), "queries", "query"),
        (np.arange(40) // 2, np.zeros(40), "queries", "query"),
        (np.arange(40) // 2, np.arange(40) // 4, "groups of queries that share contexts", "component"),
        (np.zeros(40, dtype=int), np.arange(40) % 5, "contexts", "context"),
    ],
)
def test_whole_groups_are_held_out(query, context, groups, held_out):
    own = design(query, context)
    found = own.held_out(EVERY, folds=5)

    assert isinstance(found, HeldOut)
    (folds,) = found.folds
    assert str(found.groups) == groups
    assert folds.of_row.tolist() == Folds.from_groups(getattr(own, held_out), n=5).of_row.tolist()


@pytest.mark.parametrize(("folds", "contexts", "sizes"), [(10, 4, (5, 4)), (3, 4, (3, 3)), (10, 20, (5, 5))])
def test_queries_and_contexts_that_are_crossed_are_both_held_out(folds, contexts, sizes):
    own = design(np.arange(40) // 4, np.arange(40) % contexts)
    found = own.held_out(EVERY, folds=folds)

    assert isinstance(found, HeldOut)
    assert str(found.groups) == "queries and contexts"
    assert tuple(fold.n for fold in found.folds) == sizes
    for fold, groups in zip(found.folds, (own.query, own.context), strict=True):
        assert fold.of_row.tolist() == Folds.from_groups(groups, n=fold.n).of_row.tolist()


@pytest.mark.parametrize(
    ("query", "context", "learnt", "why"),
    [
        (np.zeros(40, dtype=int), np.arange(40) % 4, 40, "there is one query, and only 4 of its contexts have labels"),
        (np.arange(40) // 10, np.arange(40), 40, "it holds out queries in 5 folds, and only 4 have labels"),
        (np.arange(40) // 2, np.arange(40), 8, "it holds out queries in 5 folds, and only 4 have labels"),
        (np.arange(40) // 4, np.arange(40) % 4, 19, "it learns from 20 items or more, and only 19 have labels"),
    ],
)
def test_too_few_groups_or_labels_say_so(query, context, learnt, why):
    assert str(design(query, context).held_out(np.arange(40) < learnt, folds=5)) == why


def test_five_groups_and_twenty_labels_are_enough():
    assert isinstance(design(np.zeros(40, dtype=int), np.arange(40) % 5).held_out(EVERY, folds=5), HeldOut)
    assert isinstance(design(np.arange(40) // 8, np.arange(40)).held_out(EVERY, folds=5), HeldOut)
    crossed = design(np.arange(40) // 4, np.arange(40) % 4)
    assert isinstance(crossed.held_out(np.arange(40) < 20, folds=5), HeldOut)


def test_texts_of_less_than_three_words_and_of_none_are_compared_too():
    group = near_duplicates(["one", "one two", "One.", "", "one two", "..."])

    assert group[0] == group[2] != group[1] == group[4]
    assert group[3] == group[5] != group[0]
    assert near_duplicates([]).tolist() == []


def test_duplicates_are_found_in_another_block():
    texts = [f"w{place} x{place} y{place}" for place in range(2_100)]
    group = near_duplicates([*texts, texts[3]])

    assert group[2_100] == group[3]
    assert len(set(group.tolist())) == 2_100


def test_texts_that_share_four_fifths_of_their_sequences_are_nearly_the_same():
    """Of ten words there are eight sequences; with one more word nine, and with two more ten."""
    words = [f"w{place}" for place in range(12)]
    one, nine, ten, eleven = (" ".join(words[:length]) for length in (10, 11, 12, 9))

    assert len(set(near_duplicates([one, nine]).tolist())) == 1, "8 of 9"
    assert len(set(near_duplicates([one, ten]).tolist())) == 1, "8 of 10"
    assert len(set(near_duplicates([ten, eleven]).tolist())) == 2, "7 of 10"


def test_the_difference_of_two_texts_gives_both_back():
    before, after = "A bank clerk asks.", "A nurse asks, twice."
    pieces = difference(before, after)

    assert "".join(piece.text for piece in pieces if piece.kind != "new") == before
    assert "".join(piece.text for piece in pieces if piece.kind != "gone") == after
    assert difference("to stay", "to stay") == [Piece("same", "to stay")]
    assert difference("", "new") == [Piece("new", "new")]
    assert difference("a b", "a c") == [Piece("same", "a "), Piece("gone", "b"), Piece("new", "c")]
