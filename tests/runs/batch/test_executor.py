"""Runs over a server that plays the batch interfaces."""

import pytest
from tests.support.batched import KEYS, SHAPES, judged, lines_of, steps_of, taking_batches


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for name in KEYS.values():
        monkeypatch.setenv(name, "sk-never-to-be-seen")


@pytest.fixture
def out(tmp_path):
    return tmp_path / "run"


def verdicts(out):
    return {line["item_id"]: line["outcome"] for line in lines_of(out)}


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_handed_over_is_collected_by_the_same_call_and_is_what_a_live_run_finds(out, tmp_path, shape):
    with taking_batches(looks=1) as server:
        first = judged(server, out, shape).summary
        second = judged(server, out, shape).summary
        third = judged(server, out, shape).summary
        live = judged(server, tmp_path / "live", batch=None)

    assert (first.n_pending, first.n_calls) == (90, 0)
    assert (second.n_pending, second.n_calls) == (90, 0)
    assert (third.n_pending, third.n_calls, third.n_judged) == (0, 90, 90)
    assert verdicts(out) == verdicts(live.path)
    assert len(server.batches) == 1
    assert set(server.paid.values()) == {1}
    assert steps_of(out) == [*["intended", "uploaded", "out"][:: 1 if shape == "openai" else 2], "ended"]
    assert "sk-never-to-be-seen" not in "".join(path.read_text() for path in out.rglob("*.json*"))
