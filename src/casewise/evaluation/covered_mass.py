"""How much of the first token's distribution goes to the labels at all: low mass gathers where a model would rather refuse."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl

from casewise.evaluation.judged_runs import JudgedRuns
from casewise.stats.agreeing.labels_and_ties import VOTES, LabelPolicy, labels
from casewise.storage.runs.log_kind import last_rows

__all__ = ["covered_mass_table"]

LOG_SCHEMA = {
    "item_id": pl.String(),
    "elicitation": pl.String(),
    "arm": pl.String(),
    "repeat": pl.Int32(),
    "attempt": pl.Int32(),
    "detail": pl.Struct({"covered_mass": pl.Float64}),
}

COLUMNS = {
    "judge": pl.String,
    "arm": pl.String,
    "label": pl.String,
    "judgements": pl.UInt32,
    "mean": pl.Float64,
    "lowest": pl.Float64,
    "low": pl.Float64,
}

WORDS = {1.0: "safe", 0.0: "unsafe", 0.5: "tie"}

LOW = 0.5
"""Below it the model would mostly have said something else."""


def covered_mass_table(runs: JudgedRuns, *, policy: LabelPolicy = VOTES) -> pl.DataFrame:
    """The mass that goes to either label, by people's label, for every run that asked for probabilities.

    Returns a table: `judge`, `arm`, `label` (`safe`, `unsafe`, `tie`, `none`), `judgements`, `mean`, `lowest` and `low`
    (the share of judgements whose mass is below one half); empty where no judgement keeps its mass.
    """
    asked = {one.run.path for one in runs.series if one.elicitation == "probability" and one.run.behaviour is None}
    if not asked:
        return pl.DataFrame(schema=COLUMNS)
    weight = labels(runs.items, policy).weight
    said = pl.DataFrame({"item_id": runs.items["item_id"], "label": [WORDS.get(w, "none") for w in weight]})
    found = [
        of_run(run.log).join(said, on="item_id").with_columns(judge=pl.lit(run.manifest.judge_name))
        for run in runs.runs
        if run.path in asked
    ]
    return (
        pl.concat(found)
        .group_by("judge", "arm", "label")
        .agg(
            judgements=pl.len(),
            mean=pl.col("mass").mean(),
            lowest=pl.col("mass").min(),
            low=(pl.col("mass") < LOW).mean(),
        )
        .sort("judge", "arm", "label")
    )


def of_run(log: Path) -> pl.DataFrame:
    """The mass of each last attempt that keeps one."""
    said = (
        pl.scan_ndjson(whole_lines(log), schema=LOG_SCHEMA, low_memory=True)
        .filter(pl.col("elicitation") == "probability")
        .select(
            "item_id",
            "arm",
            pl.col("repeat", "attempt").fill_null(0),
            mass=pl.col("detail").struct.field("covered_mass"),
        )
        .collect(engine="streaming")
    )
    last = last_rows(said, ["item_id", "arm", "repeat"])
    return last.filter(pl.col("mass").is_not_null()).select("item_id", "arm", "mass")


def whole_lines(log: Path) -> Path | bytes:
    """The log, or its bytes without a last line that a kill cut off."""
    with log.open("rb") as file:
        file.seek(-min(1, log.stat().st_size), os.SEEK_END)
        if file.read() in (b"\n", b""):
            return log
    return log.read_bytes().rpartition(b"\n")[0]
