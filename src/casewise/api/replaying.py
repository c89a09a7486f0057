"""Judges' published outputs, scored again."""

from __future__ import annotations

from pathlib import Path

from casewise.evaluation.replay import Replay
from casewise.evaluation.replay import replay as score_again
from casewise.records import Elicitation
from casewise.reporting.pages.replay import replay_page

__all__ = ["Replay", "replay", "replay_page"]


def replay(path: str | Path, *, elicitation: Elicitation | None = None) -> Replay:
    """Score a judge's output file of the published release, by its rules and by ours.

    Parameters
    ----------
    path
        `exp/safety_MODEL/output_MODE.json` of the release.
    elicitation
        How the judge was asked, where the file's name does not say it.

    Raises
    ------
    DataError
        The file is no such output; the message says where.
    ConfigurationError
        Neither the name nor `elicitation` says how the judge was asked.
    """
    return score_again(path, elicitation=elicitation)
