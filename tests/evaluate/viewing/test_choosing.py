"""What of a table is wanted: against a slow count by hand, and in words that stand in an address."""

from collections import Counter
from typing import get_args

import numpy as np
import pytest

from casewise import api
from casewise.errors import ConfigurationError
from casewise.evaluate.judged_runs import read_runs
from casewise.evaluate.viewing import CELLS, ItemFilter, Sort, select_items, view


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return [
        api.judge("demo", name, out=folder / str(place)).path for place, name in enumerate(("linear", "constant:safe"))
    ]


@pytest.fixture(scope="module")
def table(runs):
    return view(*runs).table


def places(table, **wanted):
    return select_items(table, ItemFilter(**wanted), tagged={}).places.to_list()


def outcomes(runs):
    """Right, wrong or neither of each judge on each item, from the samples that a report is made of."""
    found = read_runs(runs)
    samples = [found.whole_sample(one) for one in found.series]
    return [
        [
            "" if w not in (0, 1) or np.isnan(s) else "right" if w == s else "wrong"
            for w, s in zip(one.weight, one.safe, strict=True)
        ]
        for one in samples
    ]


def test_right_and_wrong_are_what_a_report_counts(table, runs):
    for series, by_hand in enumerate(outcomes(runs)):
        for word in ("right", "wrong"):
            expected = [place for place, said in enumerate(by_hand) if said == word]
            assert expected
            assert places(table, series=series, outcome=word) == expected


def test_without_a_series_it_is_enough_that_one_and_the_same_judge_meets_all_that_is_asked(table):
    either = set(places(table, outcome="wrong", verdict="unsafe"))
    by_series = [set(places(table, series=place, outcome="wrong", verdict="unsafe")) for place in (0, 1)]

    assert either == by_series[0] | by_series[1]
    assert not by_series[1]  # which says safe of everything


def test_the_four_cells_and_the_rest_part_all_items(table, runs):
    one, other = outcomes(runs)
    words = {("right", "right"): "both-right", ("right", "wrong"): "only-first"}
    words |= {("wrong", "right"): "only-second", ("wrong", "wrong"): "both-wrong"}
    by_hand = Counter(words.get(pair, "rest") for pair in zip(one, other, strict=True))

    cells = select_items(table, ItemFilter(first=0, second=1), tagged={}).cells
    assert cells is not None

    assert {cell: n for cell, n in cells.items() if cell != "differ"} == {cell: by_hand[cell] for cell in CELLS[:-1]}
    assert {cell: len(places(table, first=0, second=1, cell=cell)) for cell in CELLS} == cells
    assert cells["differ"] > 0


@pytest.mark.slow
def test_two_side_by_side_begin_where_people_are_surest(table):
    agreement = table.items["agreement"][places(table, first=0, second=1, cell="differ")].to_list()

    assert agreement == sorted(agreement, reverse=True)
    assert agreement[0] > agreement[-1]


def test_a_search_looks_in_the_query_and_the_context_and_in_no_case(table):
    benchmark = table.benchmark
    item = benchmark.items[0]
    said = next(iter(benchmark.context_of(item).texts().values()))[:30].upper()

    found = places(table, q=said)

    assert found == [
        place
        for place, one in enumerate(benchmark.items)
        if (context := benchmark.context_of(one)) is not None
        and said.lower() in "\n".join(context.texts().values()).lower()
    ]


def test_people_are_filtered_by_how_many_of_them_agree(table):
    rate = table.items["rate"].to_list()

    assert places(table, people="all") == [place for place, one in enumerate(rate) if one in (0, 1)]
    assert places(table, people="split") == [place for place, one in enumerate(rate) if 0.25 < one < 0.75]


def test_items_are_sorted_by_how_many_judges_are_wrong(table, runs):
    wrong = [sum(said == "wrong" for said in both) for both in zip(*outcomes(runs), strict=True)]

    assert [wrong[place] for place in places(table, sort="wrong", down=True)] == sorted(wrong, reverse=True)


@pytest.mark.parametrize("sort", get_args(Sort))
@pytest.mark.parametrize("down", [False, True])
def test_every_order_holds_all_items(table, sort, down):
    assert sorted(places(table, sort=sort, down=down)) == list(range(90))


def test_a_tag_chooses_the_items_that_have_it(table):
    ids = table.items["item_id"]
    tagged = {ids[3]: ("odd", "again"), ids[5]: ("again",)}

    assert select_items(table, ItemFilter(tag="odd"), tagged=tagged).places.to_list() == [3]
    assert select_items(table, ItemFilter(tag="again"), tagged=tagged).places.to_list() == [3, 5]


def test_what_is_wanted_comes_back_from_its_words():
    wanted = ItemFilter(q="a & b", series=0, first=1, second=0, down=True, page=3, people="90")

    assert ItemFilter.from_query(wanted.words()) == wanted
    assert ItemFilter.from_query({"q": "", "unknown": "x"}) == ItemFilter()


@pytest.mark.parametrize("words", [{"label": "good"}, {"series": "-1"}, {"page": "x"}, {"people": "12"}, {"cell": "a"}])
def test_what_a_word_cannot_be_is_said(words):
    with pytest.raises(ConfigurationError, match=next(iter(words))):
        ItemFilter.from_query(words)


def test_a_series_that_is_not_there_is_said(table):
    with pytest.raises(ConfigurationError, match="there is no series 7"):
        select_items(table, ItemFilter(series=7), tagged={})


def test_judges_differ_where_two_of_them_have_other_verdicts_in_one_arm(table):
    linear = table.items["verdict_0"].to_list()

    assert set(places(table, differ=True)) == {place for place, verdict in enumerate(linear) if verdict == 0}
    assert places(table, differ=True, series=0) == places(table, differ=True)


def test_one_judge_alone_never_differs_from_itself(runs):
    assert not places(view(*runs[:1]).table, differ=True)
