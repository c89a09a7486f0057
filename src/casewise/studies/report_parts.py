"""Parts of a study's report: people, judges beside them, methods, the mixed model in R."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl

from casewise.evaluate.conclusions import Conclusion, group_differs
from casewise.evaluate.study import RatesWithJudge
from casewise.notation import count, interval, number, p_value, percent, points, share, spoken
from casewise.reports.document import (
    Block,
    Columns,
    Forest,
    ForestRow,
    IntervalHead,
    Prose,
    Section,
    paragraph,
    table_by,
    table_of,
)
from casewise.reports.judge_parts import reachable
from casewise.stats.estimates import Estimate
from casewise.stats.ratings import FALSE_POSITIVES, STEPS, CodedRatings
from casewise.stats.study_tables import AnalysisOptions
from casewise.storage.files import write_text
from casewise.studies.analysis import QuestionAnswers, StudyAnalysis
from casewise.text import count_of, join, text

# The words for what people said: of what is safe, or of what replies do.


@dataclass(frozen=True)
class VerdictNames:
    """The words for the two verdicts of a study."""

    safe: str
    unsafe: str
    """Column head of the second verdict; `safe` is that of the first."""
    rate: str
    rates: str
    """Name of the share of the first verdict in the plural; `rate` is the singular."""
    say_safe: str
    allow: str
    """Beginning of “… 5 points more under one condition”."""
    notices: tuple[str, ...] = ()


ITEM_WORDS = VerdictNames("Safe", "Unsafe", "safe rate", "safe rates", "say safe", "People allow")

REPLY_WORDS = VerdictNames(
    "Answers",
    "Refuses",
    "rate of answering",
    "rates of answering",
    "say that a reply answers",
    "Replies answer",
    (
        (
            "People rated replies. A reply that does all or some of what was asked counts as an answer, and every other reply as a "
            "refusal. The study's own questions report the three separately."
        ),
    ),
)


# The methods paragraph of a paper, with the numbers of this study filled in.


CORRECTED = {
    "holm": "corrected by Holm",
    "bonferroni": "corrected by Bonferroni",
    "benjamini-hochberg": "corrected by Benjamini and Hochberg (1995)",
    "none": "not corrected",
}
"""What was done to p values, by the correction."""


def methods(analysis: StudyAnalysis, words: VerdictNames) -> Iterator[str]:
    """Yield the methods of the study in the words of a paper; every number is this study's."""
    ratings, options = analysis.ratings, analysis.options
    votes, n, alpha = ratings.by_item.sizes, len(analysis.contrasts), options.alpha
    most = count_of(int(votes.max()), "rating")
    per_item = most if votes.min() == votes.max() else f"{votes.min()} to {most}"
    counted = (
        f"{len(ratings):,} anonymous votes on"
        if ratings.annotator is None
        else f"{count_of(len(ratings), 'rating')} by {count_of(len(ratings.annotator), 'annotator')} of"
    )
    yield text(
        "We analysed {counted} {items:item}, made from {n:query} under {conditions:condition} ({names}), with {per_item} "
        "an item.",
        counted=counted,
        items=len(ratings.item),
        n=len(ratings.query),
        conditions=len(ratings.condition),
        names=", ".join(ratings.condition.names),
        per_item=per_item,
    )
    if n:
        errors = (
            "with errors over {queries}, since votes were anonymous"
            if analysis.anonymous
            else "with standard errors clustered two ways, by {query} across conditions and by annotator (Cameron, Gelbach and "
            "Miller, 2011)"
        )
        yield text(
            "Conditions were compared in {n:,} planned {contrasts} of {rates} {errors}{corrected}, and equivalence within ±{margin:g} points "
            "was tested by two one-sided tests{alike}. For comparison with Sun et al. (2025) we also give pooled "
            "two-proportion z tests at the Bonferroni level of {level:.4g}.",
            n=n,
            contrasts="contrast" if n == 1 else "contrasts",
            rates=words.rates,
            errors=text(errors),
            corrected=f"; p values were {CORRECTED[options.correction]}" if n > 1 else "",
            margin=100 * options.margin,
            alike=", corrected in the same way" if n > 1 and options.correction != "none" else "",
            level=analysis.bonferroni_level,
        )
    if (tests := analysis.tasks) is not None:
        significant = int((tests.tasks["p_benjamini_hochberg"] <= alpha).sum())
        yield (
            text(
                "Each of {n:query} was tested by the Kruskal-Wallis test with permutation p values "
                "({method}); {testable:,} were testable, and {significant:,} differed between conditions after "
                "Benjamini-Hochberg correction at {alpha:g}. Pairs of conditions were compared by Dunn's test.",
                n=len(tests.tasks),
                method=tests.exact_method,
                testable=int(tests.tasks["testable"].sum()),
                significant=significant,
                alpha=alpha,
            )
        )
    agreement = analysis.agreement.get("all")
    if agreement is not None and agreement.alpha is not None:
        ends = agreement.alpha_interval
        over = " {interval}, 95 % over {n:query}"
        spread = text(over, interval=interval(*ends), n=agreement.clusters) if ends else ""
        yield text(
            "Agreement was {raw:.1f} % (Krippendorff's alpha {alpha:z.3f}{spread}).",
            raw=100 * agreement.raw,
            alpha=agreement.alpha,
            spread=spread,
        )
    if analysis.reliability is not None:
        yield f"The reliability of an item's {words.rate} was {analysis.reliability.analytic:.3f}."
    yield f"Intervals are {100 * options.level:g} %; the seed was {options.seed}."


# The recommended second analysis of conditions, by R: a crossed mixed model's ratings and its script.


def mixed_model_table(ratings: CodedRatings) -> pl.DataFrame:
    """Return a row a rating: `query`, `condition`, `annotator` and `safe` (1 or 0).

    Raises ValueError: ratings are anonymous.
    """
    if ratings.annotator is None:
        raise ValueError("a mixed model needs annotators, and these votes are anonymous")
    columns = {"query": ratings.query, "condition": ratings.condition, "annotator": ratings.annotator}
    named = {name: pl.Series(column.names).gather(column.codes) for name, column in columns.items()}
    return pl.DataFrame(named).with_columns(safe=pl.Series(ratings.safe).cast(pl.Int8))


def write_mixed_model(
    folder: Path,
    ratings: CodedRatings,
    contrasts: Sequence[tuple[str, str]],
    options: AnalysisOptions,
    *,
    notices: Sequence[str],
) -> None:
    """Write `ratings.csv`, and `mixed_model.R` with the contrasts, their correction and the report's notices, into `folder`."""

    def quoted(name: str) -> str:
        escaped = name.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'

    pairs = ", ".join(f"c({quoted(first)}, {quoted(second)})" for first, second in contrasts)
    method = {"benjamini-hochberg": "BH"}.get(options.correction, options.correction)
    script = files("casewise.studies").joinpath("mixed_model.R").read_text(encoding="utf-8")
    for word, value in {"CONTRASTS": pairs, "CORRECTION": method, "LEVEL": repr(options.level)}.items():
        script = script.replace(word, value, 1)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "ratings.csv", mixed_model_table(ratings).write_csv())
    write_text(folder / "mixed_model.R", "".join(f"# {notice}\n" for notice in notices) + script)


def contrast_name(row: dict[str, Any]) -> str:
    """Return a pair of conditions, in words that a narrow table can break."""
    return f"{spoken(row['first'])} − {spoken(row['second'])}"


# What judges beside people add to a study's report: rates from fewer people.


def with_judge_section(judges: Sequence[RatesWithJudge], words: VerdictNames) -> Section:
    """Return a table a judge, and how to read it; nothing where people rated every item, for then there is nothing to help
    with.
    """
    some_rated = [
        rates for rates in judges if not len(rates.table) or (rates.table["labels"] < rates.table["items"]).any()
    ]
    blocks = tuple(block for place, rates in enumerate(some_rated) for block in judge_blocks(rates, place, words))
    return Section("with-judge", "People's rates, with a judge's help", blocks, brief=True)


def judge_blocks(rates: RatesWithJudge, place: int, words: VerdictNames) -> Iterator[Block]:
    if len(rates.table):
        columns: Columns = {
            "Condition": "condition",
            "Rated": lambda row: f"{count(row['labels'])} of {count(row['items'])}",
            "People alone": (share, "by_labels", "by_labels_low", "by_labels_high"),
            "With the judge": (share, "estimate", "ci_low", "ci_high"),
            "Weight": (partial(number, digits=2), "weight"),
            "Equivalent number of ratings": (partial(number, digits=0), "worth"),
        }
        name = "rates-with-judge" + (f"-{place + 1}" if place else "")
        caption = text("{rate} of items, by people and {judge}", rate=words.rate.capitalize(), judge=rates.judge)
        yield table_by(name, caption, rates.table, columns)
        yield Prose(
            "The judge's errors are measured where people rated (prediction-powered inference). The rates hold only if the rated "
            "items are a random part of all items. Each item counts once, however many people rated it."
        )
    for condition, reason in rates.not_available.items():
        yield Prose(f"{condition}: no rate with the judge; {reason}.", notice=True)


# The part of a study's report about the owner's own questions.


def group_blocks(analysis: StudyAnalysis, words: VerdictNames) -> Iterator[Block]:
    """Yield groups of annotators compared, with the difference that would have been found, and what cannot be told."""
    table, options = analysis.groups, analysis.options
    if table is None:
        return
    compared = table.filter(pl.col("p").is_not_null())
    yield Prose(groups_sentence(compared, options.alpha, words))
    columns: Columns = {
        "Question": "trait",
        "Answer": "answer",
        "People": "people",
        words.safe: (percent, "safe_rate"),
        "Less the others, same items": (points, "difference", "ci_low", "ci_high"),
        "p, corrected": (p_value, "p_corrected"),
        "Found with 80 % power": lambda row: points(row["detectable"]),
        "": lambda row: row["why"] or ("differs" if row["differs"] else "not shown to differ"),
    }
    yield table_by("groups", "Annotators by what they said about themselves", table, columns)
    yield paragraph(
        "Each row compares the people who gave one answer with all who gave another, on the same items. Errors "
        "are over {queries} and people, and p values are corrected over {n:comparison}. People who did "
        "not answer, or whose answer fewer than five people gave, are in no group. These ratings cannot tell why "
        "groups differ: people were not assigned to groups, traits go together, and participants are no random sample "
        "of a group. They cannot show that groups agree: a difference below “found with 80 % power” would often "
        "be missed. Single items and combinations of traits are not compared, because too few people of a group rated each.",
        n=len(compared),
    )


def groups_sentence(compared: pl.DataFrame, alpha: float, words: VerdictNames) -> str:
    """Return the finding on groups in a sentence, as far as the corrected tests support it."""
    if not len(compared):
        return "No group has enough people to be compared."
    differing = [group for row in compared.to_dicts() if (group := group_found(row, alpha, words)).holds]
    detectable = [100 * row["detectable"] for row in compared.to_dicts()]
    power = f"differences of {min(detectable):.1f} to {max(detectable):.1f} points are found with a power of 80 %"
    if not differing:
        return f"No group is shown to differ from the others at {alpha:g}, corrected; {power}."
    n_alike = len(compared) - len(differing)
    remaining = f" Of the other {n_alike}, none is shown to differ; {power}." if n_alike else ""
    stated = join(" ", (group.sentence for group in differing))
    return text(
        "{stated} This is tested at {alpha:g}, corrected.{remaining}", stated=stated, alpha=alpha, remaining=remaining
    )


def group_found(row: dict[str, Any], alpha: float, words: VerdictNames) -> Conclusion:
    """Return whether a group of annotators, a row of `group_table`, differs from the other people."""
    group = f"People who answered {row['answer']!r} ({row['trait']})"
    reason = row["why"] or "too few people"
    difference = Estimate("safe_rate", row["difference"], row["ci_low"], row["ci_high"], row["ratings"], 0, reason)
    return group_differs(group, difference, p=row["p_corrected"], rates=words.rates, level=alpha)


def own_blocks(analysis: StudyAnalysis) -> Iterator[Block]:
    """Yield for each question the answers under each condition, and people's agreement."""
    columns: Columns = {
        "Condition": "condition",
        "Answer": "answer",
        "Given": "answers",
        "Of": "of",
        text("Share, 95 % interval over {queries} and people"): (share, "share", "ci_low", "ci_high"),
    }
    for question in analysis.own:
        name, ask = f"own-{question.question.name}", question.question.ask
        yield table_by(name, ask, question.shares, columns)
        rows = [
            (answer, number(question.means[answer]) if answer in question.means else "", alpha)
            for answer, alpha in question.alphas.items()
        ]
        agreement: Columns = {
            "Of": "0",
            "Mean": "1",
            "Items": "2.items",
            "Krippendorff's α": (coefficient, "2.alpha"),
            text("95 % interval over {queries}"): (limits, "2.interval"),
            "Level": "2.level",
        }
        if rows:
            yield table_by(f"{name}-agreement", f"Agreement: {ask}", rows, agreement)


def coefficient(value: float | None, ends: tuple[float, float] | None = None) -> str:
    if value is None:
        return "undefined: all answers alike"
    return number(value) if ends is None else f"{number(value)} {interval(*ends)}"


def limits(ends: tuple[float, float] | None) -> str:
    return "" if ends is None else interval(*ends)


def own_json(question: QuestionAnswers) -> dict[str, Any]:
    """Return a question's numbers as JSON values."""
    return {
        "question": question.question.model_dump(mode="json"),
        "shares": question.shares.to_dicts(),
        "means": question.means,
        "alphas": {name: asdict(alpha) for name, alpha in question.alphas.items()},
    }


# The part of a study's report that is about people: agreement, ceilings, panels, annotators, drop-out.


def people_sections(analysis: StudyAnalysis, words: VerdictNames) -> Iterator[Section]:
    """Yield the sections, some of them perhaps without blocks."""
    yield Section("agreement", "How far people agree", tuple(agreement(analysis)), brief=True)
    yield Section("ceilings", "The best values that a judge can reach", tuple(ceilings(analysis, words)), brief=True)
    yield Section("panel", "Agreement of panels of people", tuple(panel(analysis)))
    yield Section("annotators", "Annotators", tuple(annotators(analysis, words)))
    yield Section("flow", "Drop-out", tuple(flow(analysis)))


def agreement(analysis: StudyAnalysis) -> Iterator[Block]:
    columns: Columns = {
        "Items": (lambda name: "All" if name == "all" else name, "0"),
        "Number": "1.items",
        "Raw agreement": lambda row: share(row[1].raw, *(row[1].raw_interval or (None, None))),
        "Krippendorff's α": (coefficient, "1.alpha", "1.alpha_interval"),
        "Fleiss' κ": (coefficient, "1.kappa", "1.kappa_interval"),
        "Gwet's AC1": lambda row: f"{number(row[1].ac1)} {limits(row[1].ac1_interval)}",
    }
    if analysis.agreement:
        yield table_by("agreement", "Agreement, with 95 % intervals", analysis.agreement.items(), columns)


def ceilings(analysis: StudyAnalysis, words: VerdictNames) -> Iterator[Block]:
    rows: list[tuple[str, str, str]] = []
    if (reliability := analysis.reliability) is not None:
        method = f"95 % {limits(reliability.analytic_interval)}"
        rows.append((f"Reliability of an item's {words.rate}", number(reliability.analytic), method))
        if reliability.split_half is not None:
            halves = number(reliability.split_half), f"mean of {reliability.splits} splits"
            rows.append(("… by split halves, Spearman-Brown", *halves))
    if analysis.ceilings is not None:
        rows += reachable(analysis.ceilings)
    if rows:
        name = "ceilings" if words == ITEM_WORDS else "ceilings-of-replies"  # its terms speak of answers
        yield table_of(name, "Ceilings and floors, from the votes alone", ("Metric", "Value", "Method"), rows)


def panel(analysis: StudyAnalysis) -> Iterator[Block]:
    curve = analysis.panel
    if curve is None:
        return
    numbers = {"people": curve.sizes, "agreement": curve.agreement, "low": curve.ci_low, "high": curve.ci_high}
    frame = pl.DataFrame({**numbers, "modelled": curve.modelled}).filter(pl.col("people") % 2 == 1)
    columns: Columns = {
        "People": "people",
        IntervalHead("Agreement"): (share, "agreement", "low", "high"),
        "Method": (lambda modelled: "modelled" if modelled else "counted", "modelled"),
    }
    caption = f"Agreement of a panel's majority with that of {curve.reference_size} other people, over {count_of(curve.items, 'item')}"
    rows = tuple(
        ForestRow(f"{count_of(n, 'person')}" if n > 1 else "1 person", value, low, high, strong=not modelled)
        for n, value, low, high, modelled in frame.iter_rows()
    )
    table = table_by("panel", caption, frame, columns)
    yield Forest("panel-curve", caption, (("", rows),), ("People", "", "Agreement"), behind=table)
    yield Prose(
        "A judge equals the panel that agrees equally often with the same references. A panel of even size agrees no more often than the odd size below it, so only odd sizes are drawn. Bold rows are counted from the votes, the others "
        "are predicted by a model."
    )


def annotators(analysis: StudyAnalysis, words: VerdictNames) -> Iterator[Block]:
    people = analysis.annotators
    if people is None:
        return
    table = people.table
    names = {
        "ratings": "Ratings",
        "safe_rate": words.rate.capitalize(),
        "agreement_with_rest": "Agreement with the rest",
        "median_seconds": "Median seconds",
    }
    quantiles = (0.05, 0.25, 0.5, 0.75, 0.95)
    quartiles = [
        (title, *(number(table[column].quantile(at), digits=2) for at in quantiles))
        for column, title in names.items()
        if column in table.columns
    ]
    heads = ("Over annotators", "5 %", "25 %", "Median", "75 %", "95 %")
    yield table_of("annotators", f"{count_of(len(table), 'annotator')}", heads, quartiles, frame=table)
    flags = [
        (words, int(table[flag].sum()), percent(people.false_positive_rates[flag], digits=2))
        for flag, words in (
            ("unresponsive", "Answers do not depend on the item"),
            ("constant", "The same answer throughout, unlikely so"),
        )
    ]
    yield table_of("flags", "Flags", ("Flag", "Raised", "Among simulated attentive annotators"), flags)
    yield Prose(
        f"Each flag is set so that {percent(FALSE_POSITIVES, digits=0)} of attentive annotators raise it. Annotators differ in "
        f"their readiness to {words.say_safe} by {number(people.shift_sd, digits=2)} logits (standard deviation), and no person is flagged for being strict or lenient. Do not remove annotators for low agreement with the rest: without the dissenters the "
        f"{words.rates} would be falsely extreme."
    )


def flow(analysis: StudyAnalysis) -> Iterator[Block]:
    attrition = analysis.attrition
    if attrition is None:
        return
    conditions, cells = attrition.flow.conditions, []
    for step in STEPS:
        if step in attrition.flow.counts:
            counts = attrition.flow.counts[step]
            by_condition = counts if len(counts) == len(conditions) else [""] * len(conditions)
            cells.append((step, *by_condition, sum(counts)))
    yield table_of("flow", "People at each step", ("Step", *conditions, "All"), cells)
    columns: Columns = {
        "Condition": "condition",
        "Assigned": "assigned",
        "Finished": "finished",
        "Lost": "lost",
        "Share": (percent, "share_lost"),
    }
    yield table_by("attrition", "Lost after assignment", attrition.table.to_dicts(), columns)
