import numpy as np
import pytest

from casewise.stats.sample import LEVEL, FilledIn, filled_in_values


def release_like(rng, *, odd, by_chance, n=900):
    """A judge's scores that rise with people's rates, `odd` of them of another kind, drawn by chance or not."""
    rate = rng.binomial(20, rng.beta(0.7, 0.9, n)) / 20
    score = np.clip(np.round(1 + 9 * np.clip(rate + rng.normal(0, 0.22, n), 0, 1), 1), 1, 10)
    kind = np.zeros(n, dtype=bool)
    kind[rng.permutation(n)[:odd]] = True
    if by_chance:
        score[kind] = rng.integers(1, 11, odd)
    return score, kind, rate


def looked_at(score, kind, rate, **options) -> FilledIn | None:
    """What is found where values of the odd kind are integers; only the kind tells them from the others, for they are large."""
    raw = [
        int(1000 * value) if odd else value if np.isnan(value) else 1000.0 * value
        for value, odd in zip(score.tolist(), kind, strict=True)
    ]
    return filled_in_values(raw, rate, **options)


def mixture_of(*arrays, **options) -> FilledIn:
    """What is found; a mixture, because there is enough of both kinds."""
    found = looked_at(*arrays, **options)
    assert found is not None
    return found


def test_values_put_in_by_chance_are_found():
    found = mixture_of(*release_like(np.random.default_rng(1), odd=91, by_chance=True), rng=np.random.default_rng(2))

    assert found.suspect
    assert (found.n, found.n_rest) == (91, 809)
    assert abs(found.r) < 0.25 < found.r_rest


@pytest.mark.slow
@pytest.mark.parametrize("odd", [25, 91, 450])
def test_most_planted_mixtures_are_found(odd):
    rng = np.random.default_rng(odd)

    found = [mixture_of(*release_like(rng, odd=odd, by_chance=True), rng=rng, n_permutations=1_999) for _ in range(10)]

    assert sum(one.suspect for one in found) >= 8


@pytest.mark.slow
def test_values_of_two_kinds_that_behave_alike_are_no_finding():
    rng = np.random.default_rng(3)

    found = [mixture_of(*release_like(rng, odd=91, by_chance=False), rng=rng, n_permutations=1_999) for _ in range(30)]

    assert not any(one.suspect for one in found)
    assert sum(one.p <= 0.05 for one in found) <= 6
    assert min(one.p for one in found) >= 1 / 2000 > LEVEL / 2.1


def test_whole_scores_of_a_judge_that_is_worse_on_them_but_not_blind_are_no_finding():
    rng = np.random.default_rng(4)
    score, kind, rate = release_like(rng, odd=200, by_chance=False)
    score[kind] = np.clip(np.round(1 + 9 * (0.5 * rate[kind] + 0.5 * rng.random(200))), 1, 10)

    assert not mixture_of(score, kind, rate, rng=rng).suspect


@pytest.mark.parametrize(
    "change", [lambda x, k, r: (x, k & (np.arange(len(k)) < 40), r), lambda x, k, r: (np.full(len(x), 3.0), k, r)]
)
def test_where_too_little_is_there_nothing_is_said(change):
    arrays = change(*release_like(np.random.default_rng(5), odd=91, by_chance=True))

    assert looked_at(*arrays, rng=np.random.default_rng(0)) is None


def test_items_without_a_value_or_a_rate_are_left_out():
    score, kind, rate = release_like(np.random.default_rng(6), odd=91, by_chance=True)
    rate[np.flatnonzero(kind)[:10]], score[np.flatnonzero(~kind)[:9]] = np.nan, np.nan

    found = mixture_of(score, kind, rate)

    assert (found.n, found.n_rest) == (81, 800)
