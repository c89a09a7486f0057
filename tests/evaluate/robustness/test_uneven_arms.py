"""Robustness where arms cover different queries."""

import json
import random

import pytest

import casewise
from casewise.evaluate.judged_runs import ReportOptions
from casewise.evaluate.robustness import RobustnessNumbers
from casewise.reports.formats import html
from casewise.reports.robustness import robustness_page

ATTACKS = ["claim:authority/user/safe", "claim:authority/user/unsafe", "claim:urgency/user/safe", "twin:recipient.type"]
ARMS = ["full", "datamark", *ATTACKS, *(f"{one}+datamark" for one in ATTACKS)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run of every attack under every defence."""
    folder = tmp_path_factory.mktemp("attacked") / "run"
    casewise.judge("demo", "fake/rehearsal", out=folder, arms=ARMS)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
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

    found = RobustnessNumbers.from_run(run, benchmark=None, options=ReportOptions())

    json.dumps(found.as_json(), allow_nan=False)
    assert "fake/rehearsal under attack" in html(robustness_page(found))
    for row in found.against_people:
        assert row.accuracy.estimate is not None
