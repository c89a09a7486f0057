"""Rows that are held out whole, and what is learnt from the others."""

import numpy as np
import pytest

from casewise.stats.words import Design, Folds, HeldOut, out_of_fold


def test_a_row_is_predicted_without_any_row_that_shares_a_fold_with_it():
    # The label is a word of the row's query and of its context: each word stands in no other query and in no other context.
    query, context = (axis.ravel() for axis in np.meshgrid(np.arange(6), np.arange(6)))
    label = np.random.default_rng(2).integers(0, 2, 36).astype(float)
    texts = [f"q{q}x c{c}x" for q, c in zip(query, context, strict=True)]

    both = out_of_fold(texts, label, folds=[Folds.from_groups(query, n=6), Folds.from_groups(context, n=6)])

    for place in range(36):
        seen = label[(query != query[place]) & (context != context[place])]
        assert both[place] == pytest.approx(seen.mean(), abs=0.06), (
            "nothing but the share of safe ones is known of new words"
        )


@pytest.mark.parametrize(
    ("query", "context", "groups"),
    [
        ([0, 1, 2, 3] * 10, list(range(40)), "queries"),
        ([*range(40)], [0] * 40, "queries"),
        ([0] * 40, [*range(20)] * 2, "contexts"),
        ([*range(40)], [place // 2 for place in range(40)], "groups of queries that share contexts"),
        ([place % 5 for place in range(40)], [place // 5 for place in range(40)], "queries and contexts"),
    ],
)
def test_items_are_held_out_by_what_they_share(query, context, groups):
    plan = Design(np.array(query), np.array(context)).held_out(np.ones(40, dtype=bool), folds=4)

    assert isinstance(plan, HeldOut)
    assert plan.groups == groups
