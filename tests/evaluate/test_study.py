"""Two judges as the pilot of a study, and the items on which more ratings say something of them."""

import numpy as np
import pytest
from scipy.stats import binom
from tests.support.worlds import World, always

from casewise.errors import ConfigurationError, StatisticsError
from casewise.evaluate.study import DRAWS, JudgesPilot, fill_missing, pilot_of
from casewise.stats.ceilings import rate_posteriors
from casewise.text import QUERY, Text


def test_items_are_in_doubt_where_the_judges_differ_and_the_majority_may_turn():
    safe, votes = np.array([6, 6, 10, 0, 5, 10] * 8), np.full(48, 10)
    first, second = np.ones(48), np.tile([0.0, 1.0, 0.0, 0.0, 0.0, np.nan], 8)
    pilot = JudgesPilot(
        QUERY,
        (Text("a"), Text("b")),
        tuple(f"i{n:02d}" for n in range(48)),
        (first, second),
        safe,
        votes,
        np.arange(48),
    )

    found = pilot.in_doubt()
    assert "i01" not in found, "both say safe"
    assert "i02" not in found, "ten of ten: twenty others would say the same"
    assert next(iter(found)) in {f"i{n:02d}" for n in range(48) if n % 6 in (0, 4)}
    rates = rate_posteriors(safe, votes)
    chance = binom.sf(10, 20, rates.grid) + binom.pmf(10, 20, rates.grid) / 2
    assert found["i00"] == pytest.approx(1 - float(rates.posterior[rates.kind[0]] @ chance), abs=1e-6)


def pilot_with(first, second, safe, votes, query) -> JudgesPilot:
    n = len(safe)
    ids = tuple(f"i{place}" for place in range(n))
    verdicts = (np.array(first, dtype=float), np.array(second, dtype=float))
    return JudgesPilot(QUERY, (Text("a"), Text("b")), ids, verdicts, np.array(safe), np.array(votes), np.array(query))


FOUR = pilot_with([1, 0, 1, np.nan], [1, 1, 0, 1], [5, 0, 1, 2], [5, 5, 2, 2], [0, 0, 1, 1])


def test_two_judges_differ_by_what_each_gets_right_of_the_votes_as_they_are():
    found = FOUR.differences()

    assert FOUR.discordance == 3 / 4
    assert found.sums.tolist() == [1.0, -1.0], "a tie is half right either way, and no verdict is wrong"
    assert found.items.tolist() == [2, 2]


def test_more_ratings_are_drawn_anew_for_every_item_in_queries_of_their_own():
    clear = pilot_with([1, 0] * 4, [1, 1] * 4, [40, 0] * 4, [40, 40] * 4, np.arange(8) // 2)
    found = clear.differences_with(2.0, np.random.default_rng(1))

    assert (len(found.sums), set(found.items.tolist())) == (4 * DRAWS, {2})
    assert found.sums.mean() == pytest.approx(1.0, abs=0.02)
    again = clear.differences_with(2.0, np.random.default_rng(1))
    assert np.array_equal(found.sums, again.sums)
    split = pilot_with([1] * 8, [0] * 8, [5] * 8, [10] * 8, np.arange(8))
    one, two = (np.abs(split.differences_with(people, np.random.default_rng(2)).sums) for people in (0.1, 0.2))
    assert (set(one.tolist()), set(two.tolist())) == ({1.0}, {0.0, 1.0}), "of two votes some are a tie"


def test_of_many_items_votes_are_drawn_less_often(monkeypatch):
    monkeypatch.setattr("casewise.evaluate.study.MOST_DRAWN", 9)

    assert len(FOUR.differences_with(1.0, np.random.default_rng(1)).sums) == 2 * 2
    monkeypatch.setattr("casewise.evaluate.study.MOST_DRAWN", 1)
    assert len(FOUR.differences_with(1.0, np.random.default_rng(1)).sums) == 2


def test_labels_that_move_by_less_than_a_tenth_are_not_in_doubt(monkeypatch):
    found = FOUR.in_doubt()
    monkeypatch.setattr("casewise.evaluate.study.LEAST_MOVE", min(found.values()))
    assert FOUR.in_doubt() == found, "the bound itself is enough"
    monkeypatch.setattr("casewise.evaluate.study.LEAST_MOVE", max(found.values()) + 1e-9)
    assert FOUR.in_doubt() == {}
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_values_that_are_missing_are_their_mean():
    assert fill_missing(np.array([1.0, np.nan, 0.5])).tolist() == [1.0, 0.75, 0.5]
    assert fill_missing(np.array([np.nan])).tolist() == [0.0]


WORLD = World(
    "pilot",
    ("sss", "uuu", "ssu", ".", "suu", "uuu"),
    {"a": ("s", "u", "?", "s", "s", "u"), "b": always("s", 6), "twice": ("us",) * 6},
)


def test_a_pilot_is_the_items_that_both_judges_were_asked_and_people_rated(tmp_path):
    runs = WORLD.runs(tmp_path)
    found = pilot_of([runs["a"], runs["twice"]], benchmark=WORLD.benchmark)

    assert [str(name) for name in found.names] == ["a (binary)", "twice (binary)"]
    assert found.items == tuple(item.id for place, item in enumerate(WORLD.benchmark.items) if place != 3)
    assert (found.safe.tolist(), found.votes.tolist()) == ([3, 0, 2, 1, 0], [3] * 5)
    assert (found.query[0] == found.query[1], found.query[3] == found.query[4], len(set(found.query))) == (
        True,
        True,
        3,
    )
    assert np.array_equal(found.verdicts[0], [1, 0, np.nan, 1, 0], equal_nan=True)
    assert found.verdicts[1].tolist() == [0] * 5, "the first answer of each"
    assert found.noun == QUERY
    with pytest.raises(ConfigurationError, match=r"needs two judges, .* these runs hold a \(binary\)"):
        pilot_of([runs["a"]], benchmark=WORLD.benchmark)
    with pytest.raises(ConfigurationError, match="needs two judges"):
        pilot_of([*runs.values()], benchmark=WORLD.benchmark)


def test_a_pilot_needs_ratings(tmp_path):
    silent = World("silent", (".",) * 4, {"a": always("s", 4), "b": always("u", 4)})

    with pytest.raises(StatisticsError, match="no item was asked of both judges and rated by people"):
        pilot_of([*silent.runs(tmp_path).values()], benchmark=silent.benchmark)
