"""Whether annotators answer as people do: the measures by hand, and how often they take simulated people for none."""

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr
from tests.support.study import design

from casewise.studies.design import QualityThresholds
from casewise.studies.freeze import LedgerItem
from casewise.studies.monitor import SeenAnswers, measures, raised, simulated_flags

ITEMS = 12


def crowd(*answers, seconds=None, after_sight=None):
    """Each row of `answers` is one annotator's, on the same twelve items of growing length."""
    n = len(answers)
    return SeenAnswers(
        annotator=np.repeat(np.arange(n), ITEMS),
        item=np.tile(np.arange(ITEMS), n),
        safe=np.array(answers, dtype=bool).ravel(),
        seconds=np.ravel(seconds if seconds is not None else np.full((n, ITEMS), np.nan)),
        characters=np.tile(np.arange(ITEMS) * 100.0, n),
        after_sight=np.ravel(after_sight if after_sight is not None else np.full((n, ITEMS), np.nan)),
    )


HALF = [1] * 6 + [0] * 6
OTHER = [1, 0] * 6
THIRD = [1, 1, 0] * 4


def test_agreement_beyond_peers_is_the_correlation_of_what_is_left_with_the_judge():
    judge = np.array(OTHER, dtype=float)
    found = measures(crowd(OTHER, HALF, THIRD), {"gpt": judge})["llm_echo", "gpt"]
    peers = (np.array(HALF) + THIRD) / 2

    assert found[0] == pytest.approx(pearsonr(np.array(OTHER) - peers, judge).statistic)
    assert found[0] > found[1]


def test_correlated_agreement_is_on_the_same_items_less_on_different_ones():
    found = measures(crowd(HALF, HALF, HALF, OTHER), {})["correlated_agreement", ""]
    others = np.array(HALF)
    same = np.mean(others == OTHER)
    different = np.mean([others[i] == OTHER[j] for i in range(ITEMS) for j in range(ITEMS) if i != j])

    assert found[3] == pytest.approx(same - different)
    assert found[0] > 0.2


def test_timing_is_held_against_length_and_answers_against_sight():
    seconds = [np.arange(ITEMS)[::-1] + 1.0, np.array([3, 1, 4, 1.5, 9, 2, 6, 5, 3.5, 8, 9.5, 7])]
    soon = [np.where(np.arange(ITEMS) < 9, 0.2, 5.0), np.full(ITEMS, 4.0)]
    found = measures(crowd(HALF, OTHER, seconds=seconds, after_sight=soon), {})

    assert found["timing_length", ""][0] == pytest.approx(-1)
    assert found["timing_length", ""][1] == pytest.approx(spearmanr(seconds[1], np.arange(ITEMS)).statistic)
    assert found["time_to_sight", ""].tolist() == [0.75, 0]
    flagged = raised("time_to_sight", found["time_to_sight", ""], QualityThresholds())
    assert flagged.tolist() == [True, False]


def test_what_is_not_known_raises_nothing():
    found = measures(crowd(HALF, HALF), {"silent": np.full(ITEMS, np.nan)})

    for (kind, _), values in found.items():
        if kind != "correlated_agreement":
            assert np.isnan(values).all()
            assert not raised(kind, values, QualityThresholds()).any()


def test_simulated_people_are_rarely_flagged_and_programs_often():
    items = [LedgerItem(f"{c} {q}", f"q{q}", c) for c in ("no_context", "safe_revised") for q in range(60)]
    characters = {item.item_id: 60 + 7 * int(item.query_id[1:]) for item in items}
    plan = design(ratings={"per_item": 21, "per_annotator": 25})
    found = simulated_flags(plan, items, characters, rng=np.random.default_rng(1))

    assert set(found) == {"llm_echo", "correlated_agreement", "timing_length", "time_to_sight"}
    assert all(one.people < 0.06 for one in found.values())
    assert all(one.programs > 3 * one.people for one in found.values())
    assert found["llm_echo"].programs > 0.9


@pytest.mark.parametrize(("batch", "known"), [(10, True), (8, False)])
def test_a_crowd_is_asked_as_much_as_the_round_asks_and_says_where_that_is_too_little(batch, known):
    items = [LedgerItem(f"i{q}", f"q{q}", "no_context") for q in range(44)]
    plan = design(ratings={"per_item": 3, "per_annotator": batch})
    found = simulated_flags(plan, items, {item.item_id: 90 for item in items}, rng=np.random.default_rng(1))

    assert found["time_to_sight"].programs == pytest.approx(1) if known else np.isnan(found["time_to_sight"].people)


@pytest.mark.slow
def test_a_looser_threshold_flags_more_people():
    items = [LedgerItem(f"i{q}", f"q{q}", "no_context") for q in range(60)]
    characters = {item.item_id: 60 + 7 * int(item.query_id[1:]) for item in items}

    def people(**quality):
        plan = design(ratings={"per_item": 21, "per_annotator": 25}, quality=quality)
        return simulated_flags(plan, items, characters, rng=np.random.default_rng(1))["llm_echo"].people

    assert people(llm_echo=0.2) > people(llm_echo=0.6)
