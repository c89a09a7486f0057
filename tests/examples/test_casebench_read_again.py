"""`examples/casebench_read_again`: its page and picture are what it writes of its numbers; the numbers are what casewise computes."""

import json
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "casebench_read_again"
NUMBERS = json.loads((FOLDER / "numbers.json").read_text())


@pytest.fixture(scope="module")
def script():
    return SimpleNamespace(**runpy.run_path(str(FOLDER / "read_again.py")))


def test_the_page_and_its_picture_follow_from_the_numbers(script):
    assert (ROOT / "docs/explanation/casebench-read-again.md").read_text() == script.page_of(NUMBERS)
    assert (ROOT / "docs/images/casebench-read-again.svg").read_text() == script.picture(NUMBERS)
    assert len(NUMBERS["judges"]) == 18


@pytest.mark.parametrize(
    "change",
    [
        {"rank": [2, 3]},  # only one may be first
        {"accuracy": {"estimate": 0.95, "ci_low": 0.93, "ci_high": 0.97}},  # above the words
        {"paper": None},
    ],
)
def test_a_page_whose_sentences_would_not_hold_is_not_written(script, change):
    first, second, third, *rest = NUMBERS["judges"]
    judges = (
        [first, second | change, third | change, *rest] if "rank" in change else [first | change, second, third, *rest]
    )
    with pytest.raises(AssertionError, match="rewrite them"):
        script.page_of(NUMBERS | {"judges": judges})


@pytest.mark.slow
def test_five_published_outputs_and_the_baselines_give_these_numbers(script, shared):
    data = shared / "data"
    computed = script.computed(str(data / "casebench_shapes.json"), str(data / "published_outputs"))

    stated = {(row["model"], row["way"]): row for row in NUMBERS["judges"]}
    assert len(computed["judges"]) == 5
    for row in computed["judges"] + computed["baselines"]:
        other = stated.get((row.get("model"), row.get("way"))) or next(
            each for each in NUMBERS["baselines"] if each["name"] == row["name"]
        )
        for measure in script.MEASURES:
            assert row[measure] == pytest.approx(other[measure], abs=1e-9), (row, measure)
        assert row.get("paper") == pytest.approx(other.get("paper"), abs=5e-4)
    assert computed["findings"] == NUMBERS["findings"]
    assert computed["one_person"] == pytest.approx(NUMBERS["one_person"], abs=1e-9)
