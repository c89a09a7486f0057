"""Judge no more of a benchmark than a precise answer needs. The command line's `judge --until-precise` is a face over this."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from casewise.api.judging import RunOptions
from casewise.api.judging import judge as judge_all
from casewise.auditing.subject import Subject
from casewise.errors import ConfigurationError, RunConflict
from casewise.evaluation.until_precise import PreciseRun, known_queries, right, sampling
from casewise.judging.running.plan import Selection
from casewise.records import Elicitation
from casewise.stats.agreeing.adaptive_sampling import sample_until_precise
from casewise.stats.core.arrays import FloatArray, IntArray
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.files.atomic import write_text
from casewise.storage.runs.run_folder import RUN
from casewise.storage.runs.sampling_file import SAMPLING

__all__ = ["PreciseRun", "judge_until_precise"]


def judge_until_precise(
    benchmark: Benchmark,
    judge: str,
    *,
    half_width: float,
    out: Path,
    elicitation: Elicitation | None = None,
    options: RunOptions = RunOptions(),
) -> PreciseRun:
    """Ask queries, both items of each, until the interval for accuracy on this whole benchmark is narrow enough.

    The same call with the same seed goes on where it stopped. Such a run is refused by the gate and the leaderboard.

    Raises
    ------
    BenchmarkError
        The benchmark has no ratings.
    StatisticsError
        `half_width` is not between 0 and ½.
    ConfigurationError
        `options` selects items itself.
    RunConflict
        `out` holds a run that was not sampled.
    """
    if options.selection != Selection(seed=options.selection.seed):
        raise ConfigurationError(
            "--until-precise draws the items itself; leave out --items, --sample, --limit and --category"
        )
    if (out / RUN).is_file() and not (out / SAMPLING).is_file():
        raise RunConflict(f"{out} holds a run that was not sampled; choose another place (--out) for this one")
    subject = Subject(benchmark)
    known = known_queries(subject)
    asked: set[int] = set()

    def ask(places: IntArray) -> FloatArray:
        asked.update(places.tolist())
        rows = known.labelled & np.isin(known.place, list(asked))
        ids = frozenset(subject.items["item_id"].to_numpy()[rows].tolist())
        chosen = replace(options, selection=Selection(ids=ids))
        try:
            judge_all(benchmark, judge, out=out, elicitations=(elicitation,) if elicitation else (), options=chosen)
        finally:
            # A run that is cut short must not pass for one over items chosen fairly.
            if (out / RUN).is_file() and not (out / SAMPLING).is_file():
                write_text(out / SAMPLING, json.dumps({"half_width": half_width, "seed": options.seed}) + "\n")
        return known.by_query(right(subject, out))[places]

    found = sample_until_precise(known.frame, ask, half_width=half_width, rng=np.random.default_rng(options.seed))
    done = PreciseRun(out, found, half_width, options.seed)
    write_text(out / SAMPLING, json.dumps(sampling(done, known), indent=1) + "\n")
    return done
