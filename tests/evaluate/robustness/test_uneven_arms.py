"""Robustness where arms cover different queries."""

import json
import random

import numpy as np
import pytest

import casewise
from casewise.evaluate.judged_runs import ReportOptions
from casewise.evaluate.robustness import RobustnessNumbers
from casewise.reports.formats import html
from casewise.reports.robustness import robustness_page
from casewise.stats.estimates import estimate_of
from casewise.stats.measured import TotalsByCluster, share
from casewise.stats.pairs import picked_estimate

ATTACKS = ["claim:authority/user/safe", "claim:authority/user/unsafe", "claim:urgency/user/safe", "twin:recipient.type"]
ARMS = ["full", "datamark", *ATTACKS, *(f"{one}+datamark" for one in ATTACKS)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run of every attack under every defence."""
    folder = tmp_path_factory.mktemp("attacked") / "run"
    casewise.judge("demo", "fake/rehearsal", out=folder, arms=ARMS)
    return folder


@pytest.mark.parametrize("seed", range(8))
def test_any_subset_of_attacks_defences_and_items_is_reported(whole, tmp_path, seed):
    rng = random.Random(seed)
    lines = [json.loads(line) for line in (whole / "judgements.jsonl").read_text().splitlines()]
    arms = sorted({line["arm"] for line in lines})
    kept = {arm: rng.choice([0.0, 0.2, 0.6, 1.0]) for arm in arms}
    kept["full"] = max(kept["full"], 0.6)
    attacked = rng.choice([arm for arm in arms if arm.startswith("claim") and "+" not in arm])
    kept[attacked] = max(kept[attacked], 0.6)
    run = tmp_path / "run"
    run.mkdir()
    for file in whole.iterdir():
        if file.is_file() and file.name != "judgements.jsonl":
            (run / file.name).write_bytes(file.read_bytes())
    some = [line for line in lines if rng.random() < kept[line["arm"]]]
    (run / "judgements.jsonl").write_text("".join(json.dumps(line) + "\n" for line in some))

    found = RobustnessNumbers.of(run, benchmark=None, options=ReportOptions())

    json.dumps(found.as_json(), allow_nan=False)
    assert "fake/rehearsal under attack" in html(robustness_page(found))
    for row in found.against_people:
        assert row.accuracy.estimate is not None


def test_the_worst_of_several_has_a_wider_interval_than_one_named_beforehand():
    rng = np.random.default_rng(1)
    terms = {"yes": (rng.random(60) < 0.4).astype(float), "all": np.ones(60)}
    measured = TotalsByCluster.of(terms, np.arange(60) // 2).measure(share("share", "yes", "all"))
    plain, picked, of_many = (
        estimate_of(measured),
        picked_estimate(measured, among=3),
        picked_estimate(measured, among=12),
    )

    assert picked_estimate(measured, among=1) == plain
    assert plain.estimate == picked.estimate == of_many.estimate
    widths = [(one.ci_high or 0) - (one.ci_low or 0) for one in (plain, picked, of_many)]
    assert widths == sorted(widths)
    assert widths[0] < widths[1] < widths[2]
    assert "corrected for the choice among 12" in of_many.method
