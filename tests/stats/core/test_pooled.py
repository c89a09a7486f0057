import numpy as np
import pytest
from scipy.special import expit

from casewise.errors import StatisticsError
from casewise.stats.pooled import pooled_shares


def judged(rng, *, spread, categories=10, queries=10):
    centre = 1.2 + rng.normal(0, spread, categories)
    logits = centre.repeat(queries) + rng.normal(0, 0.7, categories * queries)
    right = (rng.random((categories * queries, 2)) < expit(logits)[:, None]).astype(float).ravel()
    truth = expit(centre[:, None] + rng.normal(0, 0.7, 2_000)).mean(1)
    item = np.arange(len(right))
    return right, item // (2 * queries), item // 2, truth


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.0, 0.3, 1.0])
def test_pooled_intervals_hold_ranks_are_right_and_the_error_is_no_larger(spread):
    rng = np.random.default_rng(7)
    held, ranks, pooled, alone = [], [], [], []
    for _ in range(120):
        right, category, query, truth = judged(rng, spread=spread)
        found = pooled_shares(right, category=category, query=query)
        held.append((found.ci_low <= truth) & (truth <= found.ci_high))
        place = 1 + (truth[None, :] > truth[:, None] + 0.01).sum(1)
        ranks.append(((found.best <= place) & (place <= found.worst)).all())
        pooled.append((found.pooled - truth) ** 2)
        alone.append((found.share - truth) ** 2)

    assert np.mean(held) > 0.92
    assert np.mean(ranks) > 0.9
    assert np.mean(pooled) < np.mean(alone)


def test_categories_that_are_alike_are_shrunk_most_and_have_no_ranks():
    rng = np.random.default_rng(1)
    alike = pooled_shares(*judged(rng, spread=0.0)[:1], **sides(rng, spread=0.0))
    apart = pooled_shares(
        *judged(np.random.default_rng(2), spread=2.0, queries=60)[:1], **sides(rng, spread=2.0, queries=60)
    )

    assert alike.shrinkage.mean() > apart.shrinkage.mean()
    assert (apart.worst - apart.best).mean() < 9
    assert apart.best.min() == 1


def sides(rng, **how):
    _, category, query, _ = judged(rng, **how)
    return {"category": category, "query": query}


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda: pooled_shares([1, 0, 1], category=[0, 1, 2], query=[0, 1, 2]), "from 4 on"),
        (lambda: pooled_shares([1, 0, 1, 0], category=[0, 1, 2, 3], query=[0, 1, 2, 3]), "two queries"),
        (lambda: pooled_shares([1] * 8, category=[0, 0, 1, 1, 2, 2, 3, 3], query=range(8)), "differ"),
    ],
)
def test_what_cannot_be_pooled_is_refused(ask, why):
    with pytest.raises(StatisticsError, match=why):
        ask()
