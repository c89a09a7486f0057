"""SIGKILL at every step of the protocol, over all interfaces, with every fault."""

import random
from collections import Counter
from pathlib import Path

import pytest
from tests.support.batched import KEYS, SHAPES, judged, lines_of, taking_batches
from tests.support.killed import Sessions

KILLS = 13
"""Of each of the four interfaces."""

STEPS = ("upload asked", "upload taken", "create asked", "create taken", "listing asked", "look asked", "results half")


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_a_run_that_is_killed_at_any_step_asks_every_item_once_and_pays_for_none_twice(tmp_path, monkeypatch, shape):
    for name in KEYS.values():
        monkeypatch.setenv(name, "sk-tests")
    rng = random.Random(sorted(SHAPES).index(shape))
    kills: Counter[str] = Counter()
    runs: list[Path] = []
    with taking_batches(missing=0.2, broken=0.1, twice=0.2) as server:
        sessions, wanted = Sessions(server, shape), None

        def on_step(step):
            nonlocal wanted
            if step == wanted and sessions.pid is not None:
                wanted, kills[step] = None, kills[step] + 1
                sessions.kill()

        server.on_step = on_step
        try:
            while kills.total() < KILLS:
                server.fates = ["expired", "completed", "cancelled", "failed"]
                server.looks, server.lost_answers, server.too_many = 1, 1, 1
                runs.append(tmp_path / f"run-{len(runs)}")
                done, turn = None, 0
                while not finished(done):
                    by_server, end = turn % 2 == 1, kills.total() >= KILLS
                    wanted = STEPS[turn % len(STEPS)] if by_server and not end else None
                    done = sessions.run(runs[-1], 0 if by_server or end else rng.randint(1, 40))
                    kills["on the disk"] += done is None and not by_server
                    turn += 1
        finally:
            sessions.close()
        judged(server, tmp_path / "undisturbed", batch=None)

    undisturbed = outcomes(tmp_path / "undisturbed")
    assert len(undisturbed) == 90
    assert [outcomes(run) for run in runs] == [undisturbed] * len(runs)
    assert server.paid.total() == len(server.paid) == 90 * len(runs)


def finished(done):
    assert done is None or "error" not in done, done
    return done is not None and done["n_judged"] == 90


def outcomes(out):
    """Every item's outcome, each judged once."""
    lines = lines_of(out)
    assert len({line["item_id"] for line in lines}) == len(lines)
    return {line["item_id"]: line["outcome"] for line in lines}
