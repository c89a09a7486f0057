from .api import (
    Run,
    audit,
    compare,
    gate,
    judge,
    judge_async,
    leaderboard,
    load,
    load_frame,
    messages,
    paper,
    power,
    read_reply,
    replay,
    report,
)

__version__: str

__all__ = [
    "Run",
    "__version__",
    "audit",
    "compare",
    "gate",
    "judge",
    "judge_async",
    "leaderboard",
    "load",
    "load_frame",
    "messages",
    "paper",
    "power",
    "read_reply",
    "replay",
    "report",
]
