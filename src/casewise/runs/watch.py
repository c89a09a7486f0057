"""How a run is followed and stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from casewise.runs.progress import RunProgress
from casewise.runs.stopping import Stop

__all__ = ["Watch"]


@dataclass
class Watch:
    """Who is told how a run gets on, and who may stop it."""

    progress: Callable[[RunProgress, int], None] | None = None
    """Told after every answer: the progress so far, and how many asks the plan has."""
    say: Callable[[str], None] = lambda _text: None
    stop: Stop = field(default_factory=Stop)
