"""The recommended analysis of conditions beside ours, by R: a crossed mixed model's ratings, its script, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from casewise.errors import DataError
from casewise.reporting.document import Prose, Section, interval, number, p_value, table_of
from casewise.stats.people.coded_ratings import CodedRatings
from casewise.storage.files.atomic import write_text

__all__ = ["mixed_model_script", "mixed_model_section", "mixed_model_table", "write_mixed_model"]

SCRIPT = r"""# A crossed mixed model of these ratings: safe or not, by condition, with queries, queries under a condition, and
# annotators drawn at random. Needs lme4. Run: Rscript mixed_model.R, in this folder.
#
#   logit P(safe) = condition + query + query:condition + annotator
#
# Written for each planned contrast, first less second: the difference of logits with Wald's interval and p, corrected
# over the contrasts, and the difference of safe rates over all such queries and annotators, with its interval.
suppressPackageStartupMessages(library(lme4))

ratings <- read.csv("ratings.csv", colClasses = c(rep("character", 3), "integer"))
contrasts <- list(CONTRASTS)
correction <- "CORRECTION"
level <- LEVEL

ratings$condition <- factor(ratings$condition, levels = unique(c(unlist(contrasts), ratings$condition)))
model <- glmer(
  safe ~ 0 + condition + (1 | query) + (1 | query:condition) + (1 | annotator),
  data = ratings, family = binomial, control = glmerControl(optimizer = "bobyqa", optCtrl = list(maxfun = 1e5))
)
b <- fixef(model)
names(b) <- levels(ratings$condition)
V <- as.matrix(vcov(model))
tau <- sqrt(sum(sapply(VarCorr(model), function(part) part[1, 1])))
expected <- function(f) integrate(function(z) f(z) * dnorm(z), -8, 8, rel.tol = 1e-8)$value
rate <- function(logit) expected(function(z) plogis(logit + tau * z))
slope <- function(logit) expected(function(z) dlogis(logit + tau * z))
z <- qnorm((1 + level) / 2)

rows <- lapply(contrasts, function(pair) {
  of <- match(pair, names(b))
  weight <- replace(numeric(length(b)), of, c(1, -1))
  d <- sum(weight * b)
  error <- sqrt(drop(weight %*% V %*% weight))
  by_rate <- replace(numeric(length(b)), of, c(slope(b[of[1]]), -slope(b[of[2]])))
  difference <- rate(b[of[1]]) - rate(b[of[2]])
  rate_error <- sqrt(drop(by_rate %*% V %*% by_rate))
  data.frame(
    first = pair[1], second = pair[2], logit = d, logit_error = error, logit_low = d - z * error, logit_high = d + z * error,
    p = 2 * pnorm(-abs(d / error)), difference = difference, error = rate_error,
    ci_low = difference - z * rate_error, ci_high = difference + z * rate_error
  )
})
found <- do.call(rbind, rows)
found$p_corrected <- p.adjust(found$p, correction)
write.csv(found, "contrasts.csv", row.names = FALSE)
print(summary(model))
print(found)
if (isSingular(model)) message("a variance is estimated as 0: read its part as small, not as absent")
"""


def mixed_model_table(ratings: CodedRatings) -> pl.DataFrame:
    """A row a rating: `query`, `condition`, `annotator` and `safe` (1 or 0).

    Raises ValueError: nobody knows who rated.
    """
    if ratings.annotator is None:
        raise ValueError("a mixed model needs to know who rated: these votes are anonymous")
    columns = {"query": ratings.query, "condition": ratings.condition, "annotator": ratings.annotator}
    named = {name: pl.Series(column.names).gather(column.codes) for name, column in columns.items()}
    return pl.DataFrame(named).with_columns(safe=pl.Series(ratings.safe).cast(pl.Int8))


def mixed_model_script(contrasts: Sequence[tuple[str, str]], *, correction: str, level: float) -> str:
    """The script for R, with the planned contrasts and their correction."""
    pairs = ", ".join(f"c({quoted(first)}, {quoted(second)})" for first, second in contrasts)
    method = {"benjamini-hochberg": "BH"}.get(correction, correction)
    said = {"CONTRASTS": pairs, "CORRECTION": method, "LEVEL": repr(level)}
    script = SCRIPT
    for word, text in said.items():
        script = script.replace(word, text, 1)
    return script


def quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def write_mixed_model(
    folder: Path,
    ratings: CodedRatings,
    contrasts: Sequence[tuple[str, str]],
    *,
    correction: str,
    level: float,
    ran_in: Sequence[Path] = (),
) -> pl.DataFrame | None:
    """Write `ratings.csv` and `mixed_model.R` into `folder`; give what R found there or in `ran_in`, on these very files.

    Raises DataError: `contrasts.csv` is not what the script writes.
    """
    texts = {
        "ratings.csv": mixed_model_table(ratings).write_csv(),
        "mixed_model.R": mixed_model_script(contrasts, correction=correction, level=level),
    }
    ran = [place / "contrasts.csv" for place in (folder, *ran_in) if same_files(place, texts)]
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_text(folder / name, text)
    return next((read_result(result, contrasts) for result in ran if result.is_file()), None)


def same_files(folder: Path, texts: dict[str, str]) -> bool:
    return all((folder / name).is_file() and (folder / name).read_text("utf-8") == texts[name] for name in texts)


RESULT = {
    **dict.fromkeys(("first", "second"), pl.String),
    **dict.fromkeys(("logit", "logit_error", "logit_low", "logit_high", "p"), pl.Float64),
    **dict.fromkeys(("difference", "error", "ci_low", "ci_high", "p_corrected"), pl.Float64),
}
"""The columns that the script writes."""


def read_result(file: Path, contrasts: Sequence[tuple[str, str]]) -> pl.DataFrame:
    try:
        found = pl.read_csv(file, null_values="NA", schema_overrides=RESULT)
    except pl.exceptions.PolarsError as error:
        raise DataError(file, 1, f"not what mixed_model.R writes ({error}); run it again, or delete it") from error
    if found.columns != list(RESULT) or list(found.select("first", "second").iter_rows()) != list(contrasts):
        raise DataError(file, 1, "not what mixed_model.R writes for these contrasts; run it again, or delete it")
    return found


def mixed_model_section(found: pl.DataFrame | None) -> Section:
    """What R found, laid out; nothing where it has not run on these ratings."""
    if found is None:
        return Section("mixed-model", "By a crossed mixed model", (), brief=True)
    cells = [
        (
            f"{row['first']} less {row['second']}",
            f"{number(row['difference'])} {interval(row['ci_low'], row['ci_high'])}",
            f"{number(row['logit'])} {interval(row['logit_low'], row['logit_high'])}",
            p_value(row["p"]),
            p_value(row["p_corrected"]),
        )
        for row in found.to_dicts()
    ]
    heads = ("Contrast", "Difference of safe rates", "In logits", "p", "p, corrected")
    table = table_of("mixed-model", "Contrasts by a crossed mixed model (R's lme4)", heads, cells, frame=found)
    said = Prose(
        "Queries, queries under a condition and annotators are drawn at random; R ran `mixed_model/mixed_model.R` on these ratings. "
        "Intervals are Wald's and take its variances for known. Read it beside the contrasts for queries like these."
    )
    return Section("mixed-model", "By a crossed mixed model", (table, said), brief=True)
