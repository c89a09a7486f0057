"""A run in the common schema of evaluation results, Every Eval Ever 0.3.0 (EvalEval Coalition): an aggregate and its samples.

Each metric of each series is a result with its interval. A sample is one judgement; what the judge did not decide, and
what people are tied on, is neither right nor wrong, and the schema knows no third: such rows stand in a file of their own,
never as `false`. Texts of a benchmark that may not be given away are withheld, and their hashes given.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterator
from datetime import datetime
from math import isfinite
from pathlib import Path
from typing import Any

from casewise import __version__
from casewise.ask.layouts import in_words, turns_of_chat
from casewise.errors import ConfigurationError
from casewise.evaluate.judge_numbers import JudgeNumbers
from casewise.evaluate.judged_runs import JudgedRun
from casewise.records import Arm, Judgement, Scored, scale_of
from casewise.runs.texts import read_made_texts
from casewise.stats.labels import labels
from casewise.stats.metrics import all_metrics
from casewise.storage.benchmark import Benchmark
from casewise.storage.benchmark_folder import sha256
from casewise.storage.files import json_text, replacing, write_text
from casewise.storage.run_folder import JUDGEMENT_LOG, JUDGEMENTS, last_records, read_item_notes
from casewise.text import count_of
from casewise.transforms.catalogue import show_item
from casewise.transforms.texts import MadeTexts

SCHEMA_VERSION = "0.3.0"


def write_every_eval_ever(numbers: JudgeNumbers, folder: Path, *, with_texts: bool) -> tuple[Path, tuple[str, ...]]:
    """Write the one run of `numbers` under `folder`, in the schema's own layout; return the aggregate's path, and notes.

    `with_texts`: write queries, contexts and replies of a benchmark that is gated; those of an open one are always written.

    Raises ConfigurationError: there are several runs, or none that holds judgements; or the folder cannot be written.
    """
    runs = [run for run in numbers.runs.runs if run.behaviour is None]
    if len(runs) != 1 or len(numbers.runs.runs) != 1:
        raise ConfigurationError("one run of a judge is exported at a time")
    run, benchmark = runs[0], numbers.benchmark
    withheld = benchmark.restricted and not with_texts
    model = model_info(run)
    name = uuid.UUID(bytes=hashlib.sha256(f"{run.manifest.model_dump_json()}".encode()).digest()[:16], version=4)
    place = Path("data") / path_name(benchmark.name) / "/".join(map(path_name, model["id"].split("/", 1)))
    evaluation = f"{benchmark.name}/{model['id']}/{run.manifest.created.timestamp():.0f}"
    rows = samples(run, benchmark, numbers, evaluation=evaluation, model=model["id"], withheld=withheld)
    written, aside = (folder / place / f"{name}_{kind}.jsonl" for kind in ("samples", "unscored"))
    n_good = n_left = 0
    with replacing(written) as good, replacing(aside) as replaced:
        for row in rows:
            decided = "evaluation" in row
            n_good, n_left = n_good + decided, n_left + (not decided)
            (good if decided else replaced).write(f"{json.dumps(row, ensure_ascii=False)}\n".encode())
    if not n_left:
        aside.unlink()
    detail = {
        "format": "jsonl",
        "file_path": str(place / written.name),
        "hash_algorithm": "sha256",
        "checksum": sha256(written),
        "total_rows": n_good,
        "additional_details": {"unscored_or_tied": str(n_left), "texts": "withheld" if withheld else "given"},
    }
    record = aggregate(numbers, run, evaluation=evaluation, model=model) | {"detailed_evaluation_results": detail}
    write_text(folder / place / f"{name}.json", json_text(record))
    notes = [f"{count_of(n_left, 'judgement is')} neither right nor wrong and stand in {aside.name}"] if n_left else []
    if withheld:
        notes.append("the benchmark's texts and the replies are withheld; --with-texts writes them")
    return folder / place / f"{name}.json", tuple(notes)


def path_name(text: str) -> str:
    return re.sub(r"[^\w.-]+", "-", text).strip("-.") or "unnamed"


def model_info(run: JudgedRun) -> dict[str, Any]:
    judge, settings = run.manifest.judge_name, run.manifest.identity.settings
    named = judge if "/" in judge else f"casewise/{judge}"
    facts = {"deployment_type": "unknown", "model_availability": "unknown"}
    # The schema wants values as texts.
    words = {key: value if isinstance(value, str) else json_text(value).strip() for key, value in settings.items()}
    return {"name": judge, "id": named, "additional_details": facts | words}


def aggregate(numbers: JudgeNumbers, run: JudgedRun, *, evaluation: str, model: dict[str, Any]) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": evaluation,
        "evaluation_timestamp": epoch(run.manifest.created),
        "retrieved_timestamp": epoch(run.manifest.created),
        "source_metadata": {
            "source_name": "casewise",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "casewise", "version": __version__},
        "model_info": model,
        "evaluation_results": list(results(numbers)),
    }


def epoch(at: datetime) -> str:
    return f"{at.timestamp():.0f}"


def results(numbers: JudgeNumbers) -> Iterator[dict[str, Any]]:
    """Yield a result for each metric of each series that has a value, under the report's label policy."""
    about = {metric.name: metric for metric in all_metrics()}
    source = {
        "dataset_name": numbers.benchmark.name,
        "source_type": "other",
        "additional_details": {"digest": numbers.benchmark.digest, "version": numbers.benchmark.about.version},
    }
    for row in numbers.metrics.to_dicts():
        if row["estimate"] is None or row["label_policy"] != numbers.options.labels.name:
            continue
        metric, series = about[row["metric"]], f"{row['elicitation']}, {row['arm']}"
        low, high = (value if isfinite(value) else str(value).replace("inf", "Infinity") for value in metric.domain)
        limits = {"lower": row["ci_low"], "upper": row["ci_high"], "confidence_level": 0.95, "method": row["method"]}
        uncertainty = {"num_samples": int(row["n"])} | (
            {"confidence_interval": limits} if row["ci_low"] is not None else {}
        )
        yield {
            "evaluation_result_id": f"{series}/{metric.name}",
            "evaluation_name": f"{numbers.benchmark.name} ({series})",
            "source_data": source,
            "metric_config": {
                "evaluation_description": metric.how,
                "metric_id": metric.name,
                "metric_name": metric.heading,
                "lower_is_better": metric.better == "lower",
                "score_type": "continuous",
                "min_score": low,
                "max_score": high,
                "additional_details": {"labels": row["label_policy"], "unscored": row["unscored_policy"]},
            },
            "score_details": {
                "score": row["estimate"],
                "details": {"unscored": str(int(row["n_unscored"]))},
                "uncertainty": uncertainty,
            },
        }


def samples(
    run: JudgedRun, benchmark: Benchmark, numbers: JudgeNumbers, *, evaluation: str, model: str, withheld: bool
) -> Iterator[dict[str, Any]]:
    """Yield a row a judgement; without an `evaluation` where it is neither right nor wrong."""
    policy = numbers.options.labels
    weight = dict(
        zip(benchmark.item_columns["item_id"], labels(benchmark.item_columns, policy).weight.tolist(), strict=True)
    )
    notes = {} if withheld else read_item_notes([run.path])
    made_texts = MadeTexts(read_made_texts(run.path))
    for judgement in last_records(run.path / JUDGEMENTS, JUDGEMENT_LOG):
        item = benchmark.item[judgement.item_id]
        query, note = benchmark.query[item.query_id], notes.get(item.id)
        series = f"{judgement.elicitation}, {judgement.arm}"
        shown = show_item(Arm.parse(judgement.arm), benchmark, item, made=made_texts)
        turns = (*turns_of_chat(shown.before), *shown.placement.earlier)
        before = (*shown.placement.system, *(turn.content for turn in turns))
        raw = "\n\n".join(part for part in (*before, in_words(shown.context), shown.query) if part)
        label = {1.0: "safe", 0.0: "unsafe"}.get(weight[judgement.item_id])
        hashed = hashlib.sha256(f"{raw}{label or ''}".encode("utf-8", "backslashreplace")).hexdigest()
        row: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": evaluation,
            "model_id": model,
            "evaluation_name": f"{benchmark.name} ({series})",
            "evaluation_result_id": f"{series}/accuracy",
            "sample_id": f"{judgement.item_id}/{judgement.repeat}",
            "sample_hash": hashed,
            "interaction_type": "single_turn",
            "input": {"raw": f"withheld, sha256 {hashed}" if withheld else raw, "reference": [label] if label else []},
            "output": {"raw": ["withheld" if withheld else judgement.raw_reply or ""]},
            "metadata": {
                "category": query.category,
                "condition": item.condition,
                **({"note": note.text, "tags": ", ".join(note.tags)} if note else {}),
            },
        }
        yield row | outcome_of(judgement, label)


def outcome_of(judgement: Judgement, label: str | None) -> dict[str, Any]:
    outcome, threshold = judgement.outcome, scale_of(judgement.elicitation).threshold
    if not isinstance(outcome, Scored):
        return {"error": f"unscored: {outcome.reason}"}
    if threshold is None or label is None:
        return {
            "error": "unscored: a value without a verdict"
            if label
            else "unscored: people are tied, or there are no ratings"
        }
    verdict = "safe" if outcome.value > threshold else "unsafe"
    attribution = {
        "turn_idx": 0,
        "source": "output.raw",
        "extracted_value": verdict,
        "extraction_method": judgement.read_as or "as given",
        "is_terminal": True,
    }
    row: dict[str, Any] = {
        "answer_attribution": [attribution],
        "evaluation": {"score": float(verdict == label), "is_correct": verdict == label},
    }
    read, written = judgement.input_tokens, judgement.output_tokens
    if read is not None and written is not None:
        row["token_usage"] = {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
    if judgement.latency_s is not None:
        row["performance"] = {"latency_ms": 1000 * judgement.latency_s}
    return row
