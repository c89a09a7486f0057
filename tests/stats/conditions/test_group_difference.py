"""A group of annotators against the others, on the same items: by hand, and against statsmodels."""

import numpy as np
import pytest

from casewise.errors import StatisticsError
from casewise.stats.contrasts import group_difference

sm = pytest.importorskip("statsmodels.api")


def crowd(seed=3, people=24, queries=12):
    rng = np.random.default_rng(seed)
    item = np.array([rng.permutation(queries)[:8] for _ in range(people)])
    member = np.repeat((np.arange(people) < 9)[:, None], 8, 1)
    safe = rng.random(item.shape) < 0.2 + 0.04 * item + 0.2 * member
    return safe.ravel(), member.ravel(), item.ravel(), np.repeat(np.arange(people), 8)


def test_by_hand() -> None:
    """Two items, each rated by two people of the group and two others: 1 and ½ of the group, ½ and 0 of the others."""
    safe = [1, 1, 1, 0, 1, 0, 0, 0]
    found = group_difference(
        safe,
        [1, 1, 0, 0, 1, 1, 0, 0],
        item=[0, 0, 0, 0, 1, 1, 1, 1],
        query=[0, 0, 0, 0, 1, 1, 1, 1],
        annotator=[0, 1, 2, 3, 0, 1, 2, 3],
    )
    assert found.estimate == pytest.approx(0.5)


def test_it_is_the_coefficient_beside_a_dummy_an_item() -> None:
    safe, member, item, who = crowd()
    found = group_difference(safe, member, item=item, query=item, annotator=who)
    design = np.column_stack([member, item[:, None] == np.unique(item)]).astype(float)
    fit = sm.OLS(safe.astype(float), design).fit()
    assert found.estimate == pytest.approx(fit.params[0])

    # The sandwich, with each residual scaled for its item's mean and each side's people for theirs.
    bread, k = np.linalg.inv(design.T @ design), np.bincount(item)[item]
    part = (design @ bread[:, 0]) * fit.resid * np.sqrt(k / (k - 1))
    people = np.array([part[who == person].sum() for person in np.unique(who)])
    inside = np.array([member[who == person].all() for person in np.unique(who)])
    of_people = sum((people[side] ** 2).sum() * side.sum() / (side.sum() - 1) for side in (inside, ~inside))
    of_queries = sum(part[item == q].sum() ** 2 for q in np.unique(item)) * 12 / 11
    expected = max(of_people + of_queries - (part**2).sum(), of_people, of_queries)
    assert found.error**2 == pytest.approx(expected)


def test_neither_the_condition_nor_an_items_own_rate_takes_part() -> None:
    safe, member, item, who = crowd()
    where = item % 2 == 0
    one = group_difference(safe[where], member[where], item=item[where], query=item[where], annotator=who[where])
    more = np.concatenate([safe[where], np.ones(40, dtype=bool)])
    found = group_difference(  # an item that the group alone rates says nothing of the difference
        more,
        np.concatenate([member[where], np.ones(40, dtype=bool)]),
        item=np.concatenate([item[where], np.full(40, 99)]),
        query=np.concatenate([item[where], np.full(40, 99)]),
        annotator=np.concatenate([who[where], np.arange(40) % 9]),
    )
    assert found.estimate == pytest.approx(one.estimate)


def test_what_cannot_be_compared_is_refused() -> None:
    safe, member, item, who = crowd()
    with pytest.raises(StatisticsError, match="no item has ratings of the group and of others"):
        group_difference(safe, member, item=item + 100 * member, query=item, annotator=who)
    with pytest.raises(StatisticsError, match="two people each"):
        group_difference(safe, who == 0, item=item, query=item, annotator=who)
