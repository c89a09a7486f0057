from pathlib import Path

import numpy as np
import pytest
from tests.auditing.builders import benchmark_of, crowd
from tests.support.samples import some

from casewise.api import judge, load
from casewise.evaluation.among_people import beside_people
from casewise.evaluation.judge_numbers import JudgeNumbers
from casewise.evaluation.judged_runs import read_runs
from casewise.evaluation.yardsticks import Backdrop
from casewise.reporting.document import Table
from casewise.reporting.pages.judge_beside import beside_people_blocks
from casewise.stats import ceilings


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder: Path = tmp_path_factory.mktemp("runs")
    paths = []
    for name in ("constant:safe", "linear"):
        paths.append(folder / name.replace(":", "-"))
        judge("demo", name, out=paths[-1])
    runs = read_runs(paths)
    return beside_people(runs, Backdrop(runs.benchmark))


def test_the_ceilings_are_those_of_the_votes(found):
    votes = [vote for vote in load("demo").votes.values() if vote.total]

    assert found.people.ceilings == ceilings([vote.safe for vote in votes], [vote.total for vote in votes])
    oracle = found.people.oracle
    assert oracle.ci_low <= oracle.low <= oracle.high <= oracle.ci_high


def test_each_judge_has_its_place_among_people(found):
    constant, linear = found.judges

    assert constant.panel.agreement == pytest.approx(0.54, abs=0.01)
    assert linear.panel.agreement > constant.panel.agreement
    assert linear.alternative.items_per_annotator == 45


def test_a_row_for_each_judge_and_no_nan(found):
    tables = [block for block in beside_people_blocks(found) if isinstance(block, Table)]

    assert len(tables[-1].rows) == 2
    assert not any("nan" in cell for table in tables for row in table.rows for cell in row)


@pytest.mark.parametrize("votes", [5, 12, 20])
def test_a_judge_and_one_person_are_held_against_as_many_others(votes, tmp_path):
    benchmark = benchmark_of(crowd(np.random.default_rng(1), votes=votes, queries=40))
    judge(benchmark, "constant:safe", out=tmp_path / "run")
    found = JudgeNumbers.of([tmp_path / "run"], benchmark=benchmark)

    (among,) = found.among_people.judges
    (beside,) = found.besides.values()
    assert some(among.panel).reference_size == beside.people.others == min(10, votes - 1)
