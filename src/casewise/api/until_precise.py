"""Judge no more of a benchmark than a precise answer needs. The command line's `judge --until-precise` is a face over this."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from casewise.api.judging import RunOptions
from casewise.api.judging import judge as judge_all
from casewise.auditing.subject import Subject
from casewise.errors import ConfigurationError, RunConflict
from casewise.evaluation.judged_runs import read_runs
from casewise.evaluation.query_frame import KnownQueries, known_queries
from casewise.judging.running.plan import Selection
from casewise.records import Elicitation
from casewise.stats.agreeing.adaptive_sampling import FIRST_LOOK, PreciseEstimate, sample_until_precise
from casewise.stats.agreeing.gate import accuracy_scores
from casewise.stats.agreeing.judged import judged
from casewise.stats.core.arrays import FloatArray, IntArray
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.files.atomic import write_text
from casewise.storage.runs.run_folder import RUN
from casewise.storage.runs.sampling_file import SAMPLING

__all__ = ["PreciseRun", "judge_until_precise"]


@dataclass(frozen=True)
class PreciseRun:
    """A run over as many queries as its accuracy needed."""

    path: Path
    found: PreciseEstimate
    half_width: float
    seed: int

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values; the inclusion probabilities stand in the run's `sampling.json`."""
        one = self.found
        return {
            "run": str(self.path),
            "accuracy": {"estimate": one.estimate, "ci_low": one.low, "ci_high": one.high},
            "half_width": self.half_width,
            "reached": one.reached,
            "queries": one.queries,
            "of_queries": one.of_queries,
            "items": one.items,
            "of_items": one.of_items,
            "calls_saved": one.saved,
            "looks": one.look,
            "seed": self.seed,
        }

    def sentence(self) -> str:
        """What was found, and what it saved."""
        one = self.found
        if one.queries == one.of_queries:
            why = (
                f"sampling starts at {FIRST_LOOK} queries, and there are {one.of_queries}"
                if one.of_queries <= FIRST_LOOK
                else f"no smaller sample told it to within {self.half_width:g}"
            )
            return f"Accuracy on all {one.of_items:,} labelled items: {one.estimate:.3f}. All were asked: {why}."
        return (
            f"Accuracy on all {one.of_items:,} labelled items: {one.estimate:.3f} [{one.low:.3f}, {one.high:.3f}], from "
            f"{one.items:,} of them ({one.saved:.0%} of the calls saved), at look {one.look}."
        )


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


def right(subject: Subject, folder: Path) -> FloatArray:
    """How much of each item was judged rightly: 1, 0, or a half at a tie.

    Raises
    ------
    ConfigurationError
        The judge was asked in several ways: there is then no one accuracy.
    """
    series = read_runs([folder], benchmark=subject.benchmark).series
    if len(series) != 1:
        raise ConfigurationError("--until-precise needs one elicitation and one arm; name them, and another --out")
    scores, _ = accuracy_scores(judged(subject.items, series[0].values, elicitation=series[0].elicitation))
    return scores


def sampling(run: PreciseRun, known: KnownQueries) -> dict[str, Any]:
    """What a reader needs to weight the run's items."""
    inclusion = run.found.sample.inclusion.tolist()
    return {**run.as_json(), "inclusion": dict(zip(known.query_ids, inclusion, strict=True))}
