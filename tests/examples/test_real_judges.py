"""`examples/real_judges`: its page is what it writes of its numbers, and its sentences follow from them."""

import json
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "real_judges"
NUMBERS = json.loads((FOLDER / "numbers.json").read_text())


@pytest.fixture(scope="module")
def script():
    return SimpleNamespace(**runpy.run_path(str(FOLDER / "real_judges.py")))


def test_the_page_follows_from_the_numbers(script):
    assert (ROOT / "docs/explanation/real-judges.md").read_text() == script.page_of(NUMBERS)
    assert {name: of_one["n_items"] for name, of_one in NUMBERS["sets"].items()} == {"pluriharms": 150, "dices_350": 72}


@pytest.mark.parametrize(("low", "high", "said"), [(0.7, 0.8, "below"), (0.1, 0.2, "above"), (0.1, 0.8, "within")])
def test_a_sentence_says_where_the_interval_lies(script, low, high, said):
    numbers = NUMBERS["sets"]["pluriharms"]
    judge = numbers["judges"][0] | {"accuracy": {"estimate": 0.5, "ci_low": low, "ci_high": high}}

    assert f"lies {said} that interval" in script.finding(numbers | {"judges": [judge]})
