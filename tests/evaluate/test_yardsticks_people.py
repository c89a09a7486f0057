from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.audits.builders import benchmark_of, crowd
from tests.support.samples import some

from casewise.api import judge, load
from casewise.evaluate.judge_numbers import JudgeNumbers
from casewise.evaluate.judged_runs import JudgedRuns, read_runs
from casewise.evaluate.yardsticks import ReferenceScores, agreement_with_others, among_people
from casewise.reports.document import Table
from casewise.reports.judge_parts import people_blocks
from casewise.stats import ceilings


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder: Path = tmp_path_factory.mktemp("runs")
    paths = []
    for name in ("constant:safe", "linear"):
        paths.append(folder / name.replace(":", "-"))
        judge("demo", name, out=paths[-1])
    runs = read_runs(paths)
    return ReferenceScores(runs.benchmark).people(runs.series[0].asked), among_people(runs)


def test_the_ceilings_are_those_of_the_votes(found):
    benchmark = load("demo")
    votes = {item.id: vote for item in benchmark.items if (vote := benchmark.votes[item.id]).total}
    safe, total = zip(*((vote.safe, vote.total) for vote in votes.values()), strict=True)
    conditions = [benchmark.item[item].condition for item in votes]

    of_people, (low, high) = found[0].ceilings, found[0].ceilings.pearson_interval
    assert replace(of_people, pearson_interval=None) == replace(
        ceilings(safe, total, condition=conditions), pearson_interval=None
    )
    assert low < of_people.pearson < high


@pytest.mark.slow
def test_each_judge_has_its_place_among_people(found):
    constant, linear = found[1]

    assert constant.panel.agreement == pytest.approx(0.54, abs=0.01)
    assert linear.panel.agreement > constant.panel.agreement
    assert linear.alternative.items_per_annotator == 45


@pytest.mark.slow
def test_a_row_for_each_judge_and_no_nan(found):
    tables = [block for block in people_blocks(*found) if isinstance(block, Table)]

    assert len(tables[-1].rows) == 2
    assert not any("nan" in cell for table in tables for row in table.rows for cell in row)


def test_one_more_person_is_known_less_well_where_it_is_known_who_voted(tmp_path):
    judge("demo", "linear", out=tmp_path / "run")
    known, anonymous = (read_runs([tmp_path / "run"]) for _ in range(2))
    vars(anonymous)["raters"] = None  # as if nobody knew

    def widths(runs: JudgedRuns) -> list[float]:
        both = agreement_with_others(runs, runs.series[0])
        limits = [some(some(one).limits) for one in both]
        return [high - low for low, high in limits]

    assert known.raters is not None
    assert all(one >= other for one, other in zip(widths(known), widths(anonymous), strict=True))
    assert widths(known) != widths(anonymous)


@pytest.mark.slow
@pytest.mark.parametrize("votes", [5, 12, 20])
def test_a_judge_and_one_person_are_compared_with_as_many_others(votes, tmp_path):
    benchmark = benchmark_of(crowd(np.random.default_rng(1), votes=votes, queries=40))
    judge(benchmark, "constant:safe", out=tmp_path / "run")
    found = JudgeNumbers.from_runs([tmp_path / "run"], benchmark=benchmark)

    (among,) = found.among_people
    (beside,) = found.baseline_comparisons.values()
    assert some(among.panel).reference_size == beside.people.others == min(10, votes - 1)
