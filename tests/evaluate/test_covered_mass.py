import math

import pytest

from casewise.api import judge, report
from casewise.judges.llm import LLMJudge
from casewise.models.protocol import FakeModel, Position, Reply, TokenLogprob


def half_refusing(messages, options):
    """Has all its mass on the labels, but for texts of odd length, where nine tenths would be something else."""
    mass = 0.1 if len(messages[0].content) % 2 else 1.0
    top = (TokenLogprob("safe", math.log(0.75 * mass)), TokenLogprob("unsafe", math.log(0.25 * mass)))
    return Reply("safe", "length", (Position("safe", top[0].logprob, top, complete=True),))


@pytest.mark.slow
def test_the_mass_is_given_by_peoples_label():
    found = report(judge("demo", LLMJudge(FakeModel(half_refusing)), elicitations=("probability",)))
    table = found.covered_mass

    assert set(table["label"]) >= {"safe", "unsafe"}
    assert table["judgements"].sum() == 90
    assert table["lowest"].min() == pytest.approx(0.1)
    for row in table.to_dicts():
        assert row["mean"] == pytest.approx(1 - 0.9 * row["low"])
    assert "Probability mass on the labels" in found.to_markdown()


def test_verdicts_have_no_mass():
    found = report(judge("demo", "fake/rehearsal", elicitations=("binary",)))

    assert not len(found.covered_mass)
    assert "Probability mass on the labels" not in found.to_markdown()


def test_a_last_line_that_a_kill_cut_off_is_passed_over():
    run = judge("demo", LLMJudge(FakeModel(half_refusing)), elicitations=("probability",))
    log = run.path / "judgements.jsonl"
    log.write_bytes(log.read_bytes()[:-37])

    assert report(run).covered_mass["judgements"].sum() == 89
