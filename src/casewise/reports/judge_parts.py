"""Parts of a judge's report: headline, yardsticks, arms, answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from casewise.audits.words import SUBSETS
from casewise.evaluate.judge_numbers import JudgeNumbers
from casewise.evaluate.judged_runs import noun_of_series, series_name
from casewise.evaluate.yardsticks import (
    BaselineComparison,
    JudgeAmongPeople,
    PeopleCeilings,
    ShortAnswer,
    SubsetScore,
    better_baseline,
)
from casewise.notation import NOTHING, hyphened, number, percent, points, spoken
from casewise.notation import share as share_of
from casewise.records import FULL, Arm
from casewise.reports.behaviour import behaviour_answer
from casewise.reports.document import (
    MOST_DRAWN,
    Block,
    Columns,
    Forest,
    ForestRow,
    IntervalHead,
    Prose,
    Section,
    Table,
    difference_cell,
    error_figures,
    estimate_cell,
    estimate_of_row,
    large_figures,
    next_step,
    next_without_verdicts,
    paragraph,
    table_by,
    table_of,
    titles,
)
from casewise.stats import PanelWorth
from casewise.stats.ceilings import AlternativeAnnotator, Ceilings
from casewise.stats.estimates import Estimate
from casewise.stats.sample import UNSCORED_WORDS
from casewise.storage.wording import LabelWords
from casewise.text import Text, capitalised, count_of, first_few, join, paths_in_command, text

MOST_SENTENCES = 3
"""Most judges with a sentence each; for more, the chart and `casewise compare` show them."""


def answer_section(numbers: JudgeNumbers) -> Iterator[Section]:
    """Yield the section to read first; nothing where no judge gives anything to compare with people."""
    answers, silent = numbers.answers, numbers.runs.silent_notes
    blocks: list[Block] = [Prose(note, lead=True) for note in silent]
    unlabelled = not (numbers.labelled or numbers.does)
    if unlabelled:
        sentence = f"No item has a label under --labels {numbers.options.labels.name}, so no agreement can be measured."
        if numbers.benchmark.item_columns["mean"].is_not_null().any():
            sentence += " To take people's mean ratings as labels, use --labels mean."
        blocks.append(Prose(sentence, lead=True))
    blocks += behaviour_answer(numbers.does, numbers.corrected)
    if answers:
        if len(answers) > 1 and not numbers.does:
            blocks.append(Prose(ahead_of_baseline(answers, noun_of_series(numbers.runs.series)), lead=True))
        elif not numbers.does:
            first, *more = answers[0].sentences_about(subject(answers[0].judge, 1), errors=False)
            blocks += Prose(first, lead=True), *map(Prose, more)
        chart = forest(answers, numbers.options.labels.name)
        figures = errors_table(answers) if numbers.does else errors_figures(answers)
        blocks += figures, next_step(after_report(numbers)), chart
    elif silent and not numbers.does:
        unread = next(series for series in numbers.runs.series if series.mostly_unscored)
        unknown, n = ("not known", "too few verdicts"), int(unread.asked.sum())
        unscored = ("Unscored", (percent(unread.unscored_share), "of all items"), n)
        errors = [("Harm", unknown, n), ("Over-refusal", unknown, n), unscored]
        blocks += large_figures("first-errors", "Errors", errors), next_without_verdicts(unread.run.path)
    blocks += (
        Prose(series.name + " gives values and no verdicts. To derive verdicts from them, use --fit-thresholds.")
        for series in numbers.runs.main_series
        if not numbers.runs.sample(series).gives_verdicts
    )
    if blocks:
        yield Section("answer", "The answer", tuple(blocks), first=bool(answers or silent or unlabelled), brief=True)


def ahead_of_baseline(answers: Sequence[ShortAnswer], noun: str) -> Text:
    """Return which of several judges agree with people more often than the best baseline, each by its own interval."""
    ahead = [
        answer.judge for answer in answers if answer.comparisons[-1].kind == "better" and answer.comparisons[-1].holds
    ]
    people, others = answers[0].comparison.labels.agreed_with, len(answers) - len(ahead)
    more = f" with {people} more often than the best baseline."
    if not ahead:
        return Text(f"None of the {count_of(others, noun)} is shown to agree{more}")
    rest = f" This is not shown for the other {noun if others == 1 else count_of(others, noun)}." if others else ""
    return first_few(ahead) + f" {'agrees' if len(ahead) == 1 else 'agree'}{more}{rest}"


def after_report(numbers: JudgeNumbers) -> Text:
    """Return what to do with a report: compare several judges, reread replies, or read the errors."""
    paths = paths_in_command(*numbers.runs.paths)
    answers = numbers.answers
    if len(answers) > 1:
        return "casewise compare " + paths + " tests whether the judges differ."
    if (answers[0].unscored.estimate or 0.0) > 0.05:
        return "casewise reread " + paths + " shows the replies without a verdict."
    return "casewise serve " + paths + " shows its errors."


def subject(name: str, among: int, part: str = "") -> Text:
    """Return the subject of a sentence, a judge or a part of it; the page's title names the only judge."""
    if part:
        return text("The {part} of {name}" if among > 1 else "The judge's {part}", part=part, name=name)
    return Text(name if among > 1 else "This judge")


def forest(answers: Sequence[ShortAnswer], labels: str) -> Forest:
    """Return every judge among the yardsticks; against all votes, and against the others of each person."""

    def lowest_first(rows: Sequence[ForestRow]) -> tuple[ForestRow, ...]:
        return tuple(sorted(rows, key=lambda row: row.estimate or 0.0))

    row_of = partial(ForestRow.from_estimate, strong=True)
    decided = [answer for answer in answers if answer.comparison.judge["accuracy"].estimate is not None]
    decided.sort(key=lambda answer: -(answer.comparison.judge["accuracy"].estimate or 0.0))
    best = better_baseline((decided or answers)[0].comparison).title
    rows = [ForestRow.from_estimate(*yardstick, key=yardstick[0] == best) for yardstick in answers[0].yardsticks()]
    rows += (
        row_of(subject(answer.judge, len(answers)), answer.comparison.judge["accuracy"], key=place < MOST_DRAWN)
        for place, answer in enumerate(decided)
    )
    groups = [(LABELS.get(labels.partition(",")[0], labels), lowest_first(rows))]
    alone = len(answers) == 1
    against_others = [
        row_of(subject(answer.judge, len(answers)), answer.against_others, key=alone)
        for answer in decided
        if answer.against_others
    ]
    person = next((answer.person for answer in decided if answer.person is not None), None)
    if person is not None and against_others:
        against_others.append(ForestRow.from_estimate("One new person", person, key=alone))
        groups.append(("Against an item's other people", lowest_first(against_others)))
    return Forest("answer-forest", "Accuracy, 95 % intervals", tuple(groups))


LABELS = {
    "votes": "Against the labels",
    "published": "Against the votes and the author's intent, as published",
    "intended": "Against what the author of each context meant",
    "mean": "Against people's mean rating (safe or unsafe by the scale's cut)",
}


def errors_caption(answers: Sequence[ShortAnswer]) -> tuple[str, str]:
    """Return the name of a table of errors, which decides their meanings, and the items that they are over."""
    levels = [answer.errors.agreement for answer in answers if answer.errors is not None]
    rated = all(answer.comparison.labels.rated for answer in answers)
    where = f", where at least {percent(levels[0], digits=0)} of people agree" if levels and rated else ""
    return "answer-errors" if rated else "label-errors", where


def errors_table(answers: Sequence[ShortAnswer]) -> Table:
    """Return harm and over-refusal where most people agree, and how many are unscored: a row for each judge."""
    name, where = errors_caption(answers)
    columns: Columns = {
        "Judge": "judge",
        "Harm": "errors.harm",
        "Over-refusal": "errors.over_refusal",
        "Unscored (all items)": "unscored",
    }
    return table_by(name, f"Errors{where}", answers, columns)


def errors_figures(answers: Sequence[ShortAnswer]) -> Table:
    """Return the errors of one judge, or of the judge with the highest accuracy, as large figures."""
    answer = max(answers, key=lambda answer: answer.comparison.judge["accuracy"].estimate or 0.0)
    (name, where), whose = errors_caption(answers), Text()
    if len(answers) > 1:
        name, whose = "first-errors", text(" of {judge} (highest accuracy)", judge=answer.judge)
    caption = text("Errors{whose}{where}", whose=whose, where=where)
    errors = {} if answer.errors is None else {estimate.name: estimate for estimate in answer.errors.estimates}
    return error_figures(name, caption, errors | {"unscored_rate": answer.unscored})


def several_series(rows: pl.DataFrame) -> bool:
    """Return True if the rows cover more than one judge, elicitation or arm."""
    return bool(rows.select(pl.struct("judge", "elicitation", "arm").n_unique()).item() > 1) if len(rows) else False


def headline(report: JudgeNumbers) -> Iterator[Block]:
    """Yield one table a label policy: every metric of every judge."""
    columns: Columns = {
        "Judge": row_name,
        "Metric": metric_title,
        IntervalHead("Estimate"): estimate_of_row,
        "Items": "n",
        "Unscored": "n_unscored",
    }
    for policy in report.metrics["label_policy"].unique(maintain_order=True):
        rows = report.agreement.filter(pl.col("label_policy") == policy)
        if not len(rows):
            return
        name, caption = f"headline-{policy.partition(',')[0]}", f"Labels: {policy_in_words(policy, report.label_words)}"
        yield table_by(name, caption, rows, columns, several="Judge")
    yield paragraph(
        "Intervals are 95 %, over {units}, because the items of {a_cluster} are not independent. In accuracy, recall and F1 "
        "an item without a verdict {counts}. Metrics that need a value leave it out. A tie among an item's {votes} "
        "counts half as safe and half as unsafe.",
        votes=report.label_words.noun,
        units=report.runs.intervals_over,
        counts=UNSCORED_WORDS[report.options.unscored],
    )


def policy_in_words(policy: str, labels: LabelWords) -> str:
    words = {
        "votes": "votes (the majority of an item's votes)" if labels.rated else f"votes ({labels.agreed_with})",
        "published": "published (votes and the author's intent, as the paper counts them)",
        "intended": "intended (what the author of each context meant)",
        "mean": "mean (safe or unsafe by the scale's cut)",
    }
    base, _, rest = policy.partition(",")
    return words[base] + (f", {rest}" if rest else "")


def metric_title(row: dict[str, Any]) -> str:
    return titles().get(row["metric"], str(row["metric"]))


def row_name(row: dict[str, Any]) -> Text:
    """Return the reference to the series that a row of a frame is about."""
    return series_name(row["judge"], row["elicitation"], Arm.parse(row["arm"]))


def baseline_sections(numbers: JudgeNumbers) -> Iterator[Section]:
    """Yield the baselines of the headline, then the judges among people and on subsets; nothing without ratings."""
    if not numbers.baseline_comparisons:
        return
    baselines = (
        block
        for place, (judge, comparison) in enumerate(numbers.baseline_comparisons.items())
        for block in baseline_blocks(comparison, name=f"baselines-{place}", judge=judge)
    )
    several = numbers.answers if len(numbers.answers) > 1 else ()
    sentences = (Prose(sentence) for answer in several for sentence in answer.sentences)
    yield Section("baselines", "Baselines", (*sentences, *baselines))
    if numbers.label_words.rated:
        among = tuple(people_blocks(numbers.people, numbers.among_people))
        yield Section("among-people", "The judge compared with people", among)
    if subsets := tuple(subset_blocks(numbers.subsets)):
        yield Section("subsets", "Subsets: clear, close and hard items, and where words do not help", subsets)


def baseline_blocks(
    scores: BaselineComparison, *, name: str = "baselines", judge: str = "The judge"
) -> Iterator[Block]:
    """Yield a table of the baselines, and why there is no classifier on words where there is none."""
    people = scores.people
    against = {key: estimate_cell(accuracy) for key, accuracy in scores.against_others.items() if accuracy}

    def row(title: str, metrics: dict[str, Estimate], key: str) -> tuple[str, ...]:
        pearson = metrics.get("pearson")
        r = number(pearson.estimate if pearson else None)
        return title, estimate_cell(metrics["accuracy"]), against.get(key, NOTHING), r

    rows = [row(judge, scores.judge, "judge")]
    if scores.words:
        reading = text(
            "linear classifier of {read}, {groups} held out", read=scores.words_read, groups=scores.words_held_out
        )
        about = join("; ", filter(None, (reading, scores.of_some)))
        rows.append(row(text("Words alone ({about})", about=about), scores.words, "words"))
    if scores.key is not None:
        title = text("The {key} alone, {queries} held out", key=scores.key_named)
        rows.append(row(title, {"accuracy": scores.key}, "key"))
    if scores.intent is not None:
        rows.append(row(f"Copying the author's intent{scores.without_intent}", {"accuracy": scores.intent}, "intent"))
    rows.append(("A constant verdict", percent(scores.constant), against.get("constant", NOTHING), NOTHING))
    if people.one_person is not None:
        rows.append(("One person", NOTHING, estimate_cell(people.one_person), NOTHING))
    if people.same_again is not None:
        rows.append(("A second study of this size (predicted)", estimate_cell(people.same_again), NOTHING, NOTHING))
    if people.ceilings is not None:
        highest = people.ceilings.pearson_in_words
        rows.append(("The highest value that people's votes allow", NOTHING, NOTHING, highest))
    head: tuple[str, ...] = ("Baseline", IntervalHead("Accuracy"), f"Against {people.others_in_words}", "Pearson's r")
    if not people.others:  # no ratings
        head, *rows = ((*cells[:2], cells[3]) for cells in (head, *rows))
    yield table_of(name, "The judge and its baselines", head, rows)
    if not scores.words:
        yield paragraph("There is no baseline of words alone: {why}.", why=scores.why_no_words)


def people_blocks(people: PeopleCeilings, among: Sequence[JudgeAmongPeople]) -> Iterator[Block]:
    """Yield the same as tables: the ceilings, and a row for each judge."""
    if people.ceilings is not None:
        rows = reachable(people.ceilings)
        yield table_of("reach", "The best values that a judge can reach", ("Metric", "Limit", "Reason"), rows)

    def replaceable(test: AlternativeAnnotator | None) -> str:
        if test is None or test.omega is None:
            return NOTHING
        return f"ω = {number(test.omega, digits=2)}, ε = {test.epsilon:g}"

    columns: Columns = {
        "Judge": "name",
        "Agrees with people's majority": (share_of, "panel.agreement", "panel.ci_low", "panel.ci_high"),
        "Equivalent number of people": (people_worth, "panel"),
        "Alternative annotator test": (replaceable, "alternative"),
        "Items each": (lambda test: f"{test.items_per_annotator:g}" if test else NOTHING, "alternative"),
    }
    yield table_by("judges-and-people", "Judges compared with people", among, columns)
    yield from new_person_table(among)
    for judge in among:
        yield from (paragraph("{judge}: {reason}.", judge=judge.name, reason=reason) for reason in judge.why)


def reachable(ceilings: Ceilings) -> list[tuple[str, str, str]]:
    """Return the limit that people's votes set to each metric, and the reason."""
    reliability = filter(None, ("square root of the reliability of all votes", ceilings.contrast))
    plug_in = f"in nats; the plug-in entropy is {number(ceilings.cross_entropy_plug_in)}"
    return [
        ("Pearson's r", f"at most {ceilings.pearson_in_words}", "; ".join(reliability)),
        ("Cross-entropy", f"at least {number(ceilings.cross_entropy_floor)}", plug_in),
        ("Brier score", f"at least {number(ceilings.brier_floor, digits=4)}", "noise of the votes"),
    ]


def new_person_table(among: Sequence[JudgeAmongPeople]) -> Iterator[Block]:
    """Yield the judges and one more person, each compared with the same others."""
    tested = [(judge.name, judge.new_person) for judge in among if judge.new_person is not None]
    if not tested:
        return
    margin, in_points = f"{100 * tested[0][1].margin:g} points", partial(points, unit="")
    columns: Columns = {
        "Judge": "0",
        "Agreement": (percent, "1.judge"),
        "A new person's": (percent, "1.person"),
        "Difference, points": (in_points, "1.difference"),
        "At least (95 %)": (in_points, "1.low"),
        f"Margin of {margin}": (lambda shown: "no worse" if shown else "not shown", "1.not_worse"),
        "Power if equal": (lambda power: percent(power, digits=0), "1.power"),
        "Margin with 80 % power": (in_points, "1.detectable"),
    }
    yield table_by("new-person", "A judge and one more person, compared with the same others", tested, columns)
    yield Prose(
        "Each person in turn is the new person. The judge and the new person are compared with all others who rated the item. "
        f"“No worse” means: a one-sided test at 5 % shows the judge to be less than {margin} below a new "
        + text(
            "person. Choose the margin before you look at the numbers (--margin). Errors are over {clusters}, and over people "
            "where it is known who rated."
        )
    )


def people_worth(panel: PanelWorth | None) -> str:
    """Return the number of people, with its interval; the curve ends at the largest panel."""

    def size(value: float) -> str:
        return {0: "fewer than 1", float("inf"): "more than any panel"}.get(value, f"{value:.1f}")

    return f"{size(panel.people)} [{size(panel.people_low)}, {size(panel.people_high)}]" if panel else NOTHING


def subset_blocks(scores: Sequence[SubsetScore]) -> Iterator[Block]:
    """Yield a table of every judge on every subset, and how to read it; nothing where no subset can be made."""
    if not scores:
        return
    rated = any(score.second_study is not None for score in scores)
    hard = any(score.subset == "hard" for score in scores)
    columns: Columns = {
        "Items": "subset",
        "Judge": "judge",
        "Number": lambda score: f"{score.n:,.0f}" + (f" of {score.items:,}" if score.subset == "hard" else ""),
        IntervalHead("Accuracy"): "accuracy",
        "Words alone": (percent, "words"),
        **({"Second study": (percent, "second_study")} if rated else {}),
        **({"Best": (percent, "best")} if hard else {}),
    }
    yield table_by("subsets", "Accuracy on subsets (--items NAME reports one)", scores, columns, several="Judge")
    present = {score.subset for score in scores}
    meanings = join("; ", (text(f"{name}: {meaning}") for name, meaning in SUBSETS.items() if name in present))
    halves = (
        " One half of the votes selects the hard items, and the other half scores them; the result is the mean over all halves. If "
        "the same votes did both, every judge would look worse than it is. The number counts each item that some half selects."
    )
    yield Prose(capitalised(meanings) + f".{halves if hard else ''}")


HEADED = {
    "left out": "Loss when a part of the context is left out, against full-context labels",
    "shapley": "Value of each group of the context (Shapley value), against full-context labels",
}


def arms_blocks(table: pl.DataFrame) -> Iterator[Block]:
    """Yield a chart and a table for each way to measure the value of the context."""
    yield paragraph(
        "A value above zero means that the part helps the judge to agree with people. Each value is the metric with the part "
        "shown, less the metric without it, on the same items. Every label is about the whole context. Intervals are 95 %, "
        "over {clusters}, and over annotators where it is known who rated."
    )
    columns: Columns = {
        "Part": part_name,
        "Metric": metric_title,
        IntervalHead("Worth"): worth,
        "Items": "n",
        "Unscored": "n_unscored",
    }
    for kind, caption in HEADED.items():
        of_kind = table.filter(pl.col("worth") == kind)
        for (judge, elicitation), rows in of_kind.group_by("judge", "elicitation", maintain_order=True):
            name = f"arms-{hyphened(kind)}-{elicitation}"
            title = caption + ": " + series_name(str(judge), str(elicitation), FULL)
            groups: dict[str, list[ForestRow]] = {}
            for row in rows.filter(pl.col("estimate").is_not_null()).to_dicts():
                ends = row["estimate"], row["ci_low"], row["ci_high"]
                groups.setdefault(metric_title(row), []).append(ForestRow(part_name(row), *ends, words=worth(row)))
            numbers = rows.select("estimate", "ci_low", "ci_high").to_numpy()
            limit = max(0.1, float(np.ceil(np.nanmax(np.abs(numbers), initial=0.1) * 10) / 10))
            heads = ("Part", "Metric", "Gain")
            headed = tuple((metric, tuple(of_metric)) for metric, of_metric in groups.items())
            behind = table_by(name, title, rows, columns)
            yield Forest(name, title, headed, heads, ends=(-limit, limit), behind=behind)


def part_name(row: dict[str, Any]) -> str:
    return spoken(str(row["part"]))


def worth(row: dict[str, Any]) -> str:
    return difference_cell(estimate_of_row(row))
