"""A run over a batch interface makes its first call live, so that no batch comes back refused."""

import pytest
from aiohttp import web
from tests.support.batched import KEYS, judged, lines_of, taking_batches

from casewise.api import BatchOptions, Selection

FIRST_LIVE = BatchOptions(wait=True, first_look_s=0.001, longest_look_s=0.001, lost_after_s=0.0)
REFUSED = "temperature is deprecated for this model."


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for name in KEYS.values():
        monkeypatch.setenv(name, "a-key")


def refuse(_request, body):
    if "temperature" in body:
        return web.json_response({"error": {"message": REFUSED}}, status=400)
    return None


def refusing():
    return taking_batches(refuse=refuse, complain=lambda body: REFUSED if "temperature" in body else None)


def test_what_a_model_refuses_is_learnt_by_one_live_call(tmp_path):
    with refusing() as server:
        run = judged(server, tmp_path / "run", batch=FIRST_LIVE)

        assert run.summary.n_judged == 90
        assert len(server.batches) == 1
        assert len(server.batches[0].requests) == 89
        assert all("temperature" not in body for body in server.batches[0].requests.values())
    assert any("takes no temperature" in note for note in run.summary.notes)


def test_a_later_session_knows_it_without_another_live_call(tmp_path):
    with refusing() as server:
        judged(server, tmp_path / "run", batch=FIRST_LIVE, selection=Selection(limit=10))
        n_before = len(server.bodies)
        run = judged(server, tmp_path / "run", batch=FIRST_LIVE, selection=Selection(limit=30))

        assert run.summary.n_judged == 30
        assert len(server.bodies) == n_before
        assert len(server.batches) == 2
        assert all("temperature" not in body for body in server.batches[1].requests.values())


def test_a_run_of_one_call_makes_no_batch(tmp_path):
    with refusing() as server:
        run = judged(server, tmp_path / "run", batch=FIRST_LIVE, selection=Selection(limit=1))
        assert (run.summary.n_judged, server.batches) == (1, [])


@pytest.mark.parametrize("shape", ["anthropic", "google"])
def test_it_is_so_for_every_interface(tmp_path, shape):
    with taking_batches() as server:
        run = judged(server, tmp_path / "run", shape, batch=FIRST_LIVE, selection=Selection(limit=10))
        assert run.summary.n_judged == len(lines_of(tmp_path / "run")) == 10
        assert len(server.batches[0].requests) == 9
