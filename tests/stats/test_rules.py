"""Scores of predicted rule sets, by hand."""

import pytest

from casewise.errors import StatisticsError
from casewise.stats.estimates import rule_scores

TEN = frozenset(range(1, 11))


def test_scores_are_those_computed_by_hand():
    predicted = [{1, 2}, {1, 3}, TEN - {1}, TEN | {11, 12}, set(), None]
    violated = [{1, 2}, {1, 2}, TEN, TEN, set(), {1}]
    found = rule_scores(predicted, violated, clusters=[1, 1, 2, 3, 3, 4])

    assert [found.match[level].estimate for level in (1.0, 0.9, 0.8, 0.7)] == [2 / 5, 3 / 5, 4 / 5, 4 / 5]
    assert found.rule_match.estimate == pytest.approx((2 + 3 + 4 + 4) / 20)
    # errors 0, 2, 1, 2, 0; unions 2, 3, 10, 12, 0
    assert found.disagreement.estimate == pytest.approx(5 / 27)
    assert found.unpredicted.estimate == pytest.approx(1 / 6)
    assert (found.cases, found.clusters) == (6, 4)
    low, high = found.rule_match.limits or (1, 0)
    assert low < 13 / 20 < high


def test_cases_of_one_conversation_say_less_than_as_many_conversations():
    predicted = [{1}] * 30 + [{2}] * 30
    apart = rule_scores(predicted, [{1}] * 60).rule_match
    together = rule_scores(predicted, [{1}] * 60, clusters=[place // 6 for place in range(60)]).rule_match

    assert apart.estimate == together.estimate == 0.5
    wide, narrow = together.limits or (0, 0), apart.limits or (0, 1)
    assert wide[1] - wide[0] > narrow[1] - narrow[0]


def test_a_perfect_score_has_an_interval_and_no_prediction_has_a_reason():
    perfect = rule_scores([{1}, {2}, set()], [{1}, {2}, set()])
    assert perfect.rule_match.limits == pytest.approx((0.025 ** (1 / 3), 1))
    without = rule_scores([{1}, {2}, None], [{1}, {2}, {3}])
    assert without.rule_match.limits == pytest.approx((0.025 ** (1 / 2), 1))
    assert without.disagreement.limits == pytest.approx((0, 1 - 0.025 ** (1 / 2)))
    silent = rule_scores([None, None], [{1}, {2}])
    assert silent.rule_match.estimate is None
    assert silent.rule_match.method == "undefined: no case has a prediction"
    with pytest.raises(StatisticsError, match="give one prediction a case"):
        rule_scores([None], [{1}, {2}])
