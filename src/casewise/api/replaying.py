"""Judges' published outputs, scored again."""

from __future__ import annotations

from casewise.evaluation.published.replay import Replay, replay
from casewise.reporting.pages.paper import replay_page

__all__ = ["Replay", "replay", "replay_page"]
