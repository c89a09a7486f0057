import json

from casewise.storage.files import json_text


def test_what_is_counted_is_a_whole_number_and_half_a_tie_stays_half():
    rows = [{"n": 3.0, "estimate": 1.0, "n_unscored": 2.0, "items": 4.0}, {"n": 2.5, "method": "n"}]
    written = json_text({"metrics": rows, "items": None})

    assert json.loads(written)["metrics"] == rows
    assert '"n": 3,' in written
    assert '"n_unscored": 2,' in written
    assert '"items": 4\n' in written
    assert '"estimate": 1.0' in written
    assert '"n": 2.5' in written
