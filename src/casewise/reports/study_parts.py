"""Parts of a study's report: people, judges beside them, methods, the mixed model in R."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from casewise.errors import DataError
from casewise.evaluate.study import RatesWithJudge
from casewise.notation import count, interval, number, p_value, percent, points, share
from casewise.reports import charts as study_charts
from casewise.reports.charts import for_page
from casewise.reports.document import (
    Block,
    Document,
    Figure,
    Folded,
    Forest,
    Notice,
    Prose,
    Section,
    Table,
    table_by,
    table_of,
)
from casewise.stats.ratings import (
    FALSE_POSITIVES,
    STEPS,
    CodedRatings,
)
from casewise.storage.files import write_text
from casewise.studies.analysis import OwnFound, StudyAnalysis

# The methods paragraph of a paper, with the numbers of this study filled in.


CORRECTED = {
    "holm": "p values were corrected by Holm's method",
    "bonferroni": "p values were corrected by Bonferroni's method",
    "benjamini-hochberg": "p values were corrected by the method of Benjamini and Hochberg (1995)",
    "none": "p values were not corrected",
}


def methods(analysis: StudyAnalysis) -> str:
    """What was done, in the words of a paper; every number is this study's."""
    return " ".join(
        part for part in (_design(analysis), _contrasts(analysis), _tasks(analysis), _people(analysis)) if part
    )


def _design(analysis: StudyAnalysis) -> str:
    ratings = analysis.ratings
    votes = ratings.by_item.sizes
    per_item = f"{votes.min()}" if votes.min() == votes.max() else f"{votes.min()} to {votes.max()}"
    n = f"{len(ratings):,}"
    who = (
        f"{n} anonymous votes on"
        if ratings.annotator is None
        else f"{n} ratings by {len(ratings.annotator):,} annotators of"
    )
    return (
        f"We analysed {who} {len(ratings.item):,} items, made from {len(ratings.query):,} "
        f"queries under {len(ratings.condition)} conditions ({', '.join(ratings.condition.names)}), with {per_item} ratings "
        "an item."
    )


def _contrasts(analysis: StudyAnalysis) -> str:
    n = len(analysis.contrasts)
    if not n:
        return ""
    if analysis.anonymous:
        how = "with errors over queries, since votes were anonymous"
    else:
        how = (
            "with standard errors clustered two ways, by query across conditions and by annotator (Cameron, Gelbach and "
            "Miller, 2011)"
        )
    corrected = f"; {CORRECTED[analysis.options.correction]}" if n > 1 else ""
    alike = ", corrected in the same way" if n > 1 and analysis.options.correction != "none" else ""
    return (
        f"Conditions were compared in {n} planned contrast{'s' if n > 1 else ''} of safe rates {how}{corrected}, "
        f"and equivalence within ±{100 * analysis.options.margin:g} points was tested by two one-sided tests{alike}. For comparison with Sun et "
        f"al. (2025) we also give pooled two-proportion z tests at the Bonferroni level of {analysis.bonferroni_level:.4g}."
    )


def _tasks(analysis: StudyAnalysis) -> str:
    found = analysis.tasks
    if found is None:
        return ""
    testable = int(found.tasks["testable"].sum())
    significant = int((found.tasks["p_benjamini_hochberg"] <= analysis.options.alpha).sum())
    return (
        f"Each of {len(found.tasks):,} queries was tested by the Kruskal-Wallis test with permutation p values "
        f"({found.exact_method}); {testable:,} were testable, and {significant:,} differed between conditions after "
        f"Benjamini-Hochberg correction at {analysis.options.alpha:g}. Pairs of conditions were compared by Dunn's test."
    )


def _people(analysis: StudyAnalysis) -> str:
    parts = []
    if "all" in analysis.agreement and analysis.agreement["all"].alpha is not None:
        found = analysis.agreement["all"]
        limits = found.alpha_interval
        spread = f" {interval(*limits)}, 95 % over {found.clusters:,} queries" if limits else ""
        parts.append(f"Agreement was {100 * found.raw:.1f} % (Krippendorff's alpha {found.alpha:z.3f}{spread}).")
    if analysis.reliability is not None:
        parts.append(f"The reliability of an item's safe rate was {analysis.reliability.analytic:.3f}.")
    parts.append(f"Intervals are {100 * analysis.options.level:g} %; the seed was {analysis.options.seed}.")
    return " ".join(parts)


# The recommended analysis of conditions beside ours, by R: a crossed mixed model's ratings, its script, and what
# came of it.


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
    columns: dict[str, Callable[[dict[str, Any]], str]] = {
        "Contrast": lambda row: f"{row['first']} − {row['second']}".replace("_", " "),
        "Difference of safe rates": lambda row: points(row["difference"], row["ci_low"], row["ci_high"]),
        "In logits": lambda row: f"{number(row['logit'])} {interval(row['logit_low'], row['logit_high'])}",
        "p": lambda row: p_value(row["p"]),
        "p, corrected": lambda row: p_value(row["p_corrected"]),
    }
    caption = "Contrasts by a crossed mixed model (R's lme4)"
    table = table_by("mixed-model", caption, found.to_dicts(), columns, frame=found)
    said = Prose(
        "Queries, queries under a condition and annotators are random effects. R's lme4 fitted the model to these ratings. "
        "Wald intervals treat the variances as known. Compare this table with the contrasts for queries like these."
    )
    return Section("mixed-model", "By a crossed mixed model", (table, said), brief=True)


# What judges beside people add to a study's report: rates from fewer people.


def with_judge_section(judges: Sequence[RatesWithJudge]) -> Section:
    """A table a judge, and how to read it; nothing where people rated every item, for then there is nothing to help with."""
    some = [found for found in judges if not len(found.table) or (found.table["labels"] < found.table["items"]).any()]
    said = tuple(block for place, found in enumerate(some) for block in blocks(found, place))
    return Section("with-judge", "People's rates, with a judge's help", said, brief=True)


def blocks(found: RatesWithJudge, place: int) -> Iterator[Block]:
    if len(found.table):
        columns: dict[str, Callable[[dict[str, Any]], str]] = {
            "Condition": lambda row: row["condition"],
            "Rated": lambda row: f"{count(row['labels'])} of {count(row['items'])}",
            "People alone": lambda row: share(row["by_labels"], row["by_labels_low"], row["by_labels_high"]),
            "With the judge": lambda row: share(row["estimate"], row["ci_low"], row["ci_high"]),
            "Weight": lambda row: number(row["weight"], digits=2),
            "Worth so many rated": lambda row: number(row["worth"], digits=0),
        }
        name = "rates-with-judge" + (f"-{place + 1}" if place else "")
        caption = f"Safe rate of items, by people and {found.judge}"
        yield table_by(name, caption, found.table.to_dicts(), columns, frame=found.table)
        yield Prose(
            "The judge's errors are measured where people rated (prediction-powered inference). The rates hold only if the rated "
            "items are a random part of all items. Each item counts once, however many people rated it."
        )
    for condition, why in found.not_available.items():
        yield Notice(f"{condition}: no rate with the judge; {why}.")


# The report of a study in which people said what replies do: it speaks of answers, where others speak of what is
# safe.


COUNTED = (
    "People rated replies. A reply that does all or some of what was asked counts as an answer, and every other reply as a "
    "refusal. The study's own questions report the three separately."
)

INSTEAD = {
    "Safe rates": "Rates of answering",
    "safe rates": "rates of answering",
    "Safe rate": "Rate of answering",
    "safe rate": "rate of answering",
    "say safe": "say that a reply answers",
    "Respond": "Answers",
    "respond": "answers",
    "Unsafe": "Refuses",
    "unsafe": "refuses",
    "Safe": "Answers",
    "safe": "answers",
}
SAID = re.compile(r"\b(?:" + "|".join(INSTEAD) + r")\b")
OURS = {"annotators", "ceilings"}
"""Tables whose cells are words of ours; others may hold what people or owners wrote."""


def of_replies(document: Document) -> Document:
    """`document` with the words that fit replies."""
    sections = tuple(
        section  # the answer is worded for replies where it is made, and names conditions
        if section.anchor == "answer"
        else replace(section, heading=worded(section.heading), blocks=tuple(map(block_of, section.blocks)))
        for section in document.sections
    )
    return replace(document, sections=sections, notices=(COUNTED, *document.notices))


def worded(text: str) -> str:
    return SAID.sub(lambda found: INSTEAD[found[0]], text)


def block_of(block: Block) -> Block:
    if isinstance(block, Prose | Notice):
        return replace(block, text=worded(block.text))
    if isinstance(block, Table):
        return table_in(block)
    if isinstance(block, Forest):
        return replace(block, caption=worded(block.caption), heads=tuple(map(worded, block.heads)))
    if isinstance(block, Figure):
        drawn = re.sub(r">[^<]+<", lambda text: worded(text[0]), block.svg)
        behind = block.behind and table_in(block.behind)
        return replace(block, caption=worded(block.caption), alt=worded(block.alt), svg=drawn, behind=behind)
    if isinstance(block, Folded):
        return replace(block, summary=worded(block.summary), blocks=tuple(map(block_of, block.blocks)))
    return block


def table_in(table: Table) -> Table:
    rows = table.rows
    if table.name in OURS:
        rows = tuple(tuple(map(worded, row)) for row in rows)
    return replace(table, caption=worded(table.caption), columns=tuple(map(worded, table.columns)), rows=rows)


# The part of a study's report about the owner's own questions.


def group_blocks(analysis: StudyAnalysis) -> Iterator[Block]:
    """Groups of annotators compared, with the difference that would have been found, and what cannot be told."""
    table, options = analysis.groups, analysis.options
    if table is None:
        return
    compared = table.filter(pl.col("p").is_not_null())
    yield Prose(groups_sentence(compared, options.alpha))
    columns: dict[str, Callable[[dict[str, Any]], str]] = {
        "Question": lambda row: row["trait"],
        "Answer": lambda row: row["answer"],
        "People": lambda row: count(row["people"]),
        "Safe": lambda row: percent(row["safe_rate"]),
        "Less the others, same items": lambda row: points(row["difference"], row["ci_low"], row["ci_high"]),
        "p, corrected": lambda row: p_value(row["p_corrected"]),
        "Found with 80 % power": lambda row: points(row["detectable"], None, None),
        "": lambda row: row["why"] or ("differs" if row["differs"] else "not shown to differ"),
    }
    yield table_by("groups", "Annotators by what they said about themselves", table.to_dicts(), columns, frame=table)
    yield Prose(
        "Each row compares the people who gave one answer with all who gave another, on the same items. Errors are over queries "
        f"and people, and p values are corrected over {len(compared)} comparisons. People who did not answer, or whose answer "
        "fewer than five people gave, are in no group. These ratings cannot tell why groups differ: nobody was assigned to a "
        "group, traits go together, and participants are no random sample of a group. They cannot show that groups agree: a "
        "difference below “found with 80 % power” would often be missed. Single items and combinations of traits are not "
        "compared, because too few people of a group rated each."
    )


def groups_sentence(compared: pl.DataFrame, alpha: float) -> str:
    """What was found, as far as the corrected tests support it."""
    if not len(compared):
        return "No group has enough people to be compared."
    differing = compared.filter(pl.col("differs"))
    detectable = [100 * row["detectable"] for row in compared.to_dicts()]
    power = f"differences of {min(detectable):.1f} to {max(detectable):.1f} points are found with a power of 80 %"
    if not len(differing):
        return f"No group is shown to differ from the others at {alpha:g}, corrected; {power}."
    parts = [
        f"{row['answer']} ({row['trait']}) by {points(row['difference'], row['ci_low'], row['ci_high'])}"
        for row in differing.to_dicts()
    ]
    rest = len(compared) - len(differing)
    others = f" Of the other {rest}, none is shown to differ; {power}." if rest else ""
    return f"Safe rates differ from those of the other people on the same items: {'; '.join(parts)} (at {alpha:g}, corrected).{others}"


def own_blocks(analysis: StudyAnalysis) -> Iterator[Block]:
    """For each question: what was answered under each condition, and how far people agree."""
    for found in analysis.own:
        yield shares(found)
        yield from own_agreement(found)


def shares(found: OwnFound) -> Block:
    columns: dict[str, Callable[[dict[str, Any]], Any]] = {
        "Condition": lambda row: row["condition"],
        "Answer": lambda row: row["answer"],
        "Given": lambda row: row["answers"],
        "Of": lambda row: row["of"],
        "Share, 95 % interval over queries and people": lambda row: share(row["share"], row["ci_low"], row["ci_high"]),
    }
    question, table = found.question, found.shares
    return table_by(f"own-{question.name}", question.ask, table.to_dicts(), columns, frame=table)


def own_agreement(found: OwnFound) -> Iterator[Block]:
    cells = []
    for name, alpha in found.alphas.items():
        mean = number(found.means[name]) if name in found.means else ""
        said = "undefined: all answers alike" if alpha.alpha is None else number(alpha.alpha)
        range_of = "" if alpha.interval is None else interval(*alpha.interval)
        cells.append((name, mean, count(alpha.items), said, range_of, alpha.level))
    if cells:
        heads = ("Of", "Mean", "Items", "Krippendorff's α", "95 % interval over queries", "Level")
        yield table_of(f"own-{found.question.name}-agreement", f"Agreement: {found.question.ask}", heads, cells)


def own_json(found: OwnFound) -> dict[str, Any]:
    """A question's numbers as JSON values."""
    return {
        "question": found.question.model_dump(mode="json"),
        "shares": found.shares.to_dicts(),
        "means": found.means,
        "alphas": {name: asdict(alpha) for name, alpha in found.alphas.items()},
    }


# The part of a study's report that is about people: agreement, ceilings, panels, annotators, drop-out.


def people_sections(analysis: StudyAnalysis) -> Iterator[Section]:
    """The sections, some of them perhaps without blocks."""
    yield Section("agreement", "How far people agree", tuple(agreement(analysis)), brief=True)
    yield Section("ceilings", "The best values that a judge can reach", tuple(ceilings(analysis)), brief=True)
    yield Section("panel", "Agreement of panels of people", tuple(panel(analysis)))
    yield Section("annotators", "Annotators", tuple(annotators(analysis)))
    yield Section("flow", "Drop-out", tuple(flow(analysis)))


def agreement(analysis: StudyAnalysis) -> Iterator[Block]:
    def chance_corrected(value: float | None, limits_: tuple[float, float] | None) -> str:
        return "undefined: all votes alike" if value is None else f"{number(value)} {limits(limits_)}"

    columns: dict[str, Callable[[tuple[str, Any]], Any]] = {
        "Items": lambda row: "All" if row[0] == "all" else row[0],
        "Number": lambda row: row[1].items,
        "Raw agreement": lambda row: share(row[1].raw, *(row[1].raw_interval or (None, None))),
        "Krippendorff's α": lambda row: chance_corrected(row[1].alpha, row[1].alpha_interval),
        "Fleiss' κ": lambda row: chance_corrected(row[1].kappa, row[1].kappa_interval),
        "Gwet's AC1": lambda row: f"{number(row[1].ac1)} {limits(row[1].ac1_interval)}",
    }
    if analysis.agreement:
        yield table_by("agreement", "Agreement, with 95 % intervals", analysis.agreement.items(), columns)
        yield safe_rates(analysis)


def limits(pair: tuple[float, float] | None) -> str:
    return "" if pair is None else interval(*pair)


def safe_rates(analysis: StudyAnalysis) -> Figure:
    counts, ratings = analysis.ratings.by_item, analysis.ratings
    bins = np.minimum((counts.successes / counts.sizes * 10).astype(int), 9)
    frame = (
        pl.DataFrame({"condition": [ratings.condition.names[c] for c in ratings.item_condition], "bin": bins})
        .group_by("condition", "bin")
        .agg(items=pl.len())
        .sort("condition", "bin")
        .with_columns(low=pl.col("bin") / 10, high=(pl.col("bin") + 1) / 10)
    )
    drawn = study_charts.safe_rate_histogram(
        frame.select("low", "high", "items", "condition"), conditions=ratings.condition.names
    )
    cells = [(r["condition"], f"{r['low']:.1f} to {r['high']:.1f}", r["items"]) for r in frame.to_dicts()]
    caption = "Items by safe rate"
    return Figure(
        "safe-rates",
        caption,
        "A histogram for each condition. The table gives the bins.",
        for_page(drawn, name="safe-rates"),
        table_of("safe-rates-table", caption, ("Condition", "Safe rate", "Items"), cells, frame=frame),
    )


def ceilings(analysis: StudyAnalysis) -> Iterator[Block]:
    rows: list[tuple[str, str, str]] = []
    r, c = analysis.reliability, analysis.ceilings
    if r is not None:
        rows.append(("Reliability of an item's safe rate", number(r.analytic), f"95 % {limits(r.analytic_interval)}"))
        if r.split_half is not None:
            rows.append(("… by split halves, Spearman-Brown", number(r.split_half), f"mean of {r.splits} splits"))
    if c is not None:
        rows += [
            (
                "Pearson's r, at most",
                number(c.pearson),
                "; ".join(filter(None, ("square root of the reliability", c.contrast))),
            ),
            (
                "Cross-entropy, at least",
                number(c.cross_entropy_floor),
                f"in nats; the plug-in entropy {number(c.cross_entropy_plug_in)} is below what any judge can reach",
            ),
            ("Brier score, at least", number(c.brier_floor, digits=4), "noise of the votes"),
        ]
    if rows:
        yield table_of("ceilings", "Ceilings and floors, from the votes alone", ("Metric", "Value", "Method"), rows)


def panel(analysis: StudyAnalysis) -> Iterator[Block]:
    curve = analysis.panel
    if curve is None:
        return
    frame = pl.DataFrame(
        {
            "people": curve.sizes,
            "agreement": curve.agreement,
            "low": curve.ci_low,
            "high": curve.ci_high,
            "modelled": curve.modelled,
        }
    ).filter(pl.col("people") % 2 == 1)
    columns: dict[str, Callable[[dict[str, Any]], Any]] = {
        "People": lambda row: row["people"],
        "Agreement, 95 % interval": lambda row: share(row["agreement"], row["low"], row["high"]),
        "Method": lambda row: "modelled" if row["modelled"] else "counted",
    }
    caption = (
        f"Agreement of a panel's majority with that of {curve.reference_size} other people, over {curve.items:,} items"
    )
    yield Figure(
        "panel-curve",
        caption,
        "A rising curve with its interval. Filled dots are counted from the votes, rings are predicted.",
        for_page(study_charts.panel_chart(frame), name="panel-curve"),
        table_by("panel", caption, frame.to_dicts(), columns, frame=frame),
    )
    yield Prose(
        "A judge is worth as many people as the panel that agrees equally often with the same references. A panel of even size "
        "is worth no more than the odd size below it, so only odd sizes are drawn."
    )


def annotators(analysis: StudyAnalysis) -> Iterator[Block]:
    found = analysis.annotators
    if found is None:
        return
    table = found.table
    quartiles = []
    names = {
        "ratings": "Ratings",
        "safe_rate": "Safe rate",
        "agreement_with_rest": "Agreement with the rest",
        "median_seconds": "Median seconds",
    }
    for column, title in names.items():
        if column in table.columns:
            cuts = [table[column].quantile(q) for q in (0.05, 0.25, 0.5, 0.75, 0.95)]
            quartiles.append((title, *(number(cut, digits=2) for cut in cuts)))
    heads = ("Over annotators", "5 %", "25 %", "Median", "75 %", "95 %")
    yield table_of("annotators", f"{len(table):,} annotators", heads, quartiles, frame=table)
    rates = found.false_positive_rates
    flags = [
        (
            "Answers do not depend on the item",
            int(table["unresponsive"].sum()),
            percent(rates["unresponsive"], digits=2),
        ),
        ("The same answer throughout, unlikely so", int(table["constant"].sum()), percent(rates["constant"], digits=2)),
    ]
    yield table_of("flags", "Flags", ("Flag", "Raised", "Among simulated attentive annotators"), flags)
    yield Prose(
        f"Each flag is set so that {percent(FALSE_POSITIVES, digits=0)} of attentive annotators raise it. Annotators differ in "
        f"their readiness to say safe by {number(found.shift_sd, digits=2)} logits (standard deviation), and nobody is flagged "
        "for being strict or lenient. Do not remove anybody for low agreement with the rest: without the dissenters the safe "
        "rates would be falsely extreme."
    )


def flow(analysis: StudyAnalysis) -> Iterator[Block]:
    found = analysis.attrition
    if found is None:
        return
    steps = [step for step in STEPS if step in found.flow.counts]
    cells: list[tuple[Any, ...]] = []
    for step in steps:
        counts = found.flow.counts[step]
        known = len(counts) == len(found.flow.conditions)
        each = [count(n) for n in counts] if known else [""] * len(found.flow.conditions)
        cells.append((step, *each, count(sum(counts))))
    yield table_of("flow", "People at each step", ("Step", *found.flow.conditions, "All"), cells)
    columns: dict[str, Callable[[dict[str, Any]], Any]] = {
        "Condition": lambda row: row["condition"],
        "Assigned": lambda row: row["assigned"],
        "Finished": lambda row: row["finished"],
        "Lost": lambda row: row["lost"],
        "Share": lambda row: percent(row["share_lost"]),
    }
    yield table_by("attrition", "Lost after assignment", found.table.to_dicts(), columns)
