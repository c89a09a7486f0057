from . import power as power
from .auditing import Audited, AuditOptions, audit, checked_codes
from .benchmarks import as_benchmark, load, source_of
from .displayed import Displayed
from .evaluating import Board, Gated, compare, gate, leaderboard, report, report_options
from .judging import RunOptions, as_judge, estimate, judge, judge_async, try_connection
from .published import Paper, Replay, paper, replay, replay_table
from .run import Run
from .until_precise import PreciseRun, judge_until_precise

__all__ = [
    "AuditOptions",
    "Audited",
    "Board",
    "Displayed",
    "Gated",
    "Paper",
    "PreciseRun",
    "Replay",
    "Run",
    "RunOptions",
    "as_benchmark",
    "as_judge",
    "audit",
    "checked_codes",
    "compare",
    "estimate",
    "gate",
    "judge",
    "judge_async",
    "judge_until_precise",
    "leaderboard",
    "load",
    "paper",
    "power",
    "replay",
    "replay_table",
    "report",
    "report_options",
    "source_of",
    "try_connection",
]
