import json

import pytest

from casewise.studies.rounds import SIGHT, read_sight


def test_what_is_known_and_a_number_is_kept():
    everything = dict.fromkeys(SIGHT, 2.5)

    assert read_sight(json.dumps({**everything, "something else": 1})) == everything


@pytest.mark.parametrize(
    "sent",
    [
        "",
        "{",
        "[]",
        "7",
        "{}",
        '{"away": -1}',
        '{"away": true, "away_s": "x"}',
        '{"away": NaN}',
        '{"away": 1e99}',
        "x" * 2000,
    ],
)
def test_what_cannot_be_is_nothing(sent):
    assert read_sight(sent) is None
