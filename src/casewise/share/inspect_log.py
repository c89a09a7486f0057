"""A run as a log that `inspect view` opens."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from casewise.errors import BenchmarkError, ConfigurationError, DataError
from casewise.plugins import install_command
from casewise.records import Arm, Judgement, Scored, scale_of
from casewise.runs.texts import read_made_texts
from casewise.stats.labels import VOTES, LabelPolicy, labels
from casewise.storage.benchmark import Benchmark
from casewise.storage.load import load
from casewise.storage.run_folder import JUDGEMENT_LOG, JUDGEMENTS, RunManifest, last_records, read_run
from casewise.transforms.catalogue import show_item
from casewise.transforms.texts import MadeTexts

NAN = float("nan")
"""The value by which Inspect states that a sample has no score: it then stands in no mean."""


def export_inspect_log(
    run: Path, target: Path, *, benchmark: str | Path | None = None, policy: LabelPolicy = VOTES
) -> Path:
    """Write the judgements of a run as an Inspect log (`.eval` or `.json`); each repeat is an epoch, the last attempt counts.

    Raises ConfigurationError: the extra `[inspect]` is not installed, `target` ends otherwise or is there already.
    DataError, BenchmarkError: there is no such run, it holds nothing, or its benchmark is another one.
    """
    try:
        from inspect_ai.log import write_eval_log
    except ImportError as error:
        raise ConfigurationError(f"this needs Inspect AI: {install_command('inspect')} ({error})") from error
    if target.suffix not in (".eval", ".json"):
        raise ConfigurationError(f"{target}: an Inspect log ends in .eval or .json, by which inspect view finds it")
    if target.exists():
        raise ConfigurationError(f"{target} exists, and nothing is overwritten; choose another place")
    manifest = read_run(run)
    source_benchmark = load(benchmark if benchmark is not None else manifest.benchmark_source)
    if source_benchmark.digest != manifest.identity.benchmark:
        raise BenchmarkError(
            f"the run is over another benchmark than {source_benchmark.name!r}; give the one it was run on"
        )
    judgements = last_records(run / JUDGEMENTS, JUDGEMENT_LOG)
    if not judgements:
        raise DataError(run / JUDGEMENTS, None, "holds no judgements yet")
    target.parent.mkdir(parents=True, exist_ok=True)
    write_eval_log(as_log(manifest, source_benchmark, judgements, policy, MadeTexts(read_made_texts(run))), str(target))
    return target


def as_log(
    manifest: RunManifest, benchmark: Benchmark, judgements: list[Judgement], policy: LabelPolicy, made_texts: MadeTexts
) -> Any:
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalResults, EvalSpec, EvalStats

    weight = dict(
        zip((item.id for item in benchmark.items), labels(benchmark.item_columns, policy).weight.tolist(), strict=True)
    )
    samples = [sample(judgement, benchmark, weight[judgement.item_id], made_texts) for judgement in judgements]
    ended = max((judgement.at for judgement in judgements if judgement.at is not None), default=manifest.created)
    spec = EvalSpec(
        created=iso(manifest.created),
        task="casewise/judge",
        task_registry_name="casewise/judge",
        task_args={"benchmark": manifest.benchmark_name, "labels": policy.name},
        dataset=EvalDataset(name=benchmark.name, samples=len(benchmark.items)),
        model=manifest.judge_name,
        config=EvalConfig(epochs=1 + max(judgement.repeat for judgement in judgements)),
        metadata={"judge_id": manifest.identity.judge, "benchmark_digest": benchmark.digest},
    )
    return EvalLog(
        status="success",
        eval=spec,
        stats=EvalStats(started_at=iso(manifest.created), completed_at=iso(ended)),
        results=EvalResults(total_samples=len(samples), completed_samples=len(samples), scores=[agreement(samples)]),
        samples=samples,
    )


def iso(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds")


def sample(judgement: Judgement, benchmark: Benchmark, weight: float, made_texts: MadeTexts) -> Any:
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ModelOutput

    item = benchmark.item[judgement.item_id]
    query = benchmark.query[item.query_id]
    shown = show_item(Arm.parse(judgement.arm), benchmark, item, made=made_texts)
    metadata = {
        "system": list(shown.placement.system),
        "earlier": [
            *(f"{turn.role}: {turn.text}" for turn in shown.before),
            *(f"{turn.role}: {turn.content}" for turn in shown.placement.earlier),
        ],
        "not_shown": shown.problem or shown.held_back,
    }
    return EvalSample(
        id=f"{judgement.item_id}/{judgement.elicitation}/{judgement.arm}",
        epoch=judgement.repeat + 1,
        input=shown.query,
        target={1.0: "safe", 0.0: "unsafe", 0.5: "tie"}.get(weight, ""),
        output=ModelOutput.from_content(judgement.model_version or judgement.judge_id, judgement.raw_reply or ""),
        scores={"verdict": score(judgement, weight)},
        metadata={
            "query_id": item.query_id,
            "category": query.category,
            "condition": item.condition,
            "elicitation": judgement.elicitation,
            "arm": judgement.arm,
            "shown": shown.context,
            **{name: value for name, value in metadata.items() if value},
        },
    )


def score(judgement: Judgement, weight: float) -> Any:
    from inspect_ai.scorer import Score

    outcome = judgement.outcome
    threshold = scale_of(judgement.elicitation).threshold
    if not isinstance(outcome, Scored):
        return Score(value=NAN, answer="unscored", explanation=outcome.detail, metadata={"reason": str(outcome.reason)})
    if threshold is None:
        return Score(value=outcome.value, answer="scalar", metadata={"value": outcome.value})
    safe = outcome.value > threshold
    return Score(
        value=float(weight if safe else 1 - weight),
        answer="safe" if safe else "unsafe",
        explanation=outcome.explanation,
        metadata={"value": outcome.value},
    )


def agreement(samples: list[Any]) -> Any:
    """Return the mean agreement of the samples that have any, as the log's headline: the report has it with an interval."""
    from inspect_ai.log import EvalMetric, EvalScore

    every = [float(scored.scores["verdict"].value) for scored in samples]
    values = [value for value in every if not math.isnan(value)]
    mean = EvalMetric(name="mean", value=sum(values) / len(values) if values else NAN)
    return EvalScore(
        name="verdict",
        scorer="verdict",
        scored_samples=len(values),
        unscored_samples=len(every) - len(values),
        metrics={"mean": mean},
    )
