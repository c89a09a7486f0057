"""The numbers on docs/reference/metrics.md are those that the code gives on the published outputs."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.support.samples import some

from casewise.evaluate.replay import table
from casewise.stats.calibration import calibration
from casewise.stats.comparison import Entrant, compare_judges
from casewise.stats.costs import refusals
from casewise.stats.estimates import estimate
from casewise.stats.metrics import FLOORS, METRICS, ON_SCALE, REFUSALS
from casewise.stats.pairs import find_pairs, pair_results
from casewise.stats.sample import judge_sample
from casewise.storage.published import read_output

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"


def sample_of(shared, model, mode):
    output = read_output(shared / "data" / "published_outputs" / f"safety_{model}" / f"output_{mode}.json")
    items = table(output).with_columns(pair_id=pl.col("query_id"))
    return items, judge_sample(items, np.array(output.values), elicitation=output.elicitation)


def computed(shared):
    items, sample = sample_of(shared, "gpt-4o-mini-2024-07-18", "score")
    pairs, at = pair_results(sample, find_pairs(items)), refusals(sample).at
    found = calibration(sample)
    assert pairs is not None
    parts = (found.error, found.calibration_part, found.refinement_part)
    every = (
        *estimate(sample),
        *estimate(sample, metrics=FLOORS),
    )
    numbers = {e.name: e.estimate for e in (*every, *parts, *pairs.estimates, *at.estimates)}
    return numbers | {"by_chance": found.by_chance}


def printed():
    """Name to the first number of its row, for every row of every table that begins with a name."""
    found = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        number = next((cell for cell in cells if re.fullmatch(r"\d\.\d{3}", cell)), None)
        if line.startswith("| ") and number is not None:
            found[name] = float(number)
    return found


def test_each_metric_has_a_row_of_the_page():
    rows = {
        line.split("|")[1].strip() for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")
    }

    assert {metric.name for metric in (*METRICS, *REFUSALS, *FLOORS, *ON_SCALE)} - rows == set(), (
        "without a row in metrics.md"
    )


def test_every_number_of_the_tables_is_what_the_code_gives(shared):
    found, said = computed(shared), printed()

    assert len(said) >= 28
    assert {name: round(found[name], 3) for name in said} == said


def test_the_numbers_in_the_text_are_what_the_code_gives(shared):
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    mixtral, mini = (sample_of(shared, name, "score")[1] for name in ("mixtral8x7B", "gpt-4o-mini-2024-07-18"))
    asked = np.ones(900, bool)
    pair = compare_judges([Entrant("first", mixtral, asked), Entrant("second", mini, asked)]).pairs[0]
    accuracy, ratio, test = pair.differences[0], some(pair.turning_point).ratio, some(pair.test)

    assert f"at {ratio.estimate:.2f} (95 % interval {ratio.ci_low:.2f} to {ratio.ci_high:.2f})" in text
    assert f"is {accuracy.estimate:.3f} ({accuracy.ci_low:.3f} to {accuracy.ci_high:.3f})" in text
    assert f"{test.only_first_right} against {test.only_second_right}" in text
    assert f"exact p = {test.p_exact:.3f}, **mid-p = {test.p_mid:.3f}**" in text


@pytest.mark.parametrize(("name", "written"), [("cross_entropy", "cross-entropy 5.95"), ("auroc", "AUROC 0.877")])
def test_what_is_said_of_mixtrals_probabilities_is_so(shared, name, written):
    found = {e.name: e.estimate for e in estimate(sample_of(shared, "mixtral8x7B", "logits")[1])}

    assert written.endswith(f"{found[name]:.2f}" if name == "cross_entropy" else f"{found[name]:.3f}")
    assert written in PAGE.read_text(encoding="utf-8")
