"""A table with a judge's verdicts and people's labels, compared without a benchmark or a run."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from casewise.errors import ConfigurationError, DataError, did_you_mean
from casewise.evaluate.conclusions import AGREES, Conclusion, Unknown, at_most, compared, conclusions_json
from casewise.judges.recorded import VerdictColumn, value_columns
from casewise.notation import percent
from casewise.records import Elicitation, Scored, Unscored, Verdict, scale_of
from casewise.records.call import Outcome
from casewise.stats.arrays import FloatArray, IntArray, Raters
from casewise.stats.estimates import Estimate, difference_of, estimate_of, influence_of_difference, measure
from casewise.stats.judge_power import further_queries
from casewise.stats.measured import Measured
from casewise.stats.metrics import REFUSALS, find_metric
from casewise.stats.sample import Sample, judge_sample
from casewise.storage.entries import name_text
from casewise.storage.intake.cases import CaseDraft, Cases, rejected_row
from casewise.storage.intake.cells import CaseFrame, Policies
from casewise.storage.intake.formats.find import read_any_table
from casewise.storage.intake.formats.format import FileOptions
from casewise.storage.intake.joins import split_rows
from casewise.storage.intake.roles import CaseColumns, columns_of, listed, parts_of_objects
from casewise.storage.intake.table import Table
from casewise.storage.load import ImportOptions
from casewise.storage.receipt import ColumnRead, Receipt, WordRead
from casewise.storage.words import POLARITY, VerdictWords, plain_name
from casewise.text import text

JUDGES = (
    *("judge", "judge_verdict", "judge_label", "judge_score", "model_verdict", "llm_verdict", "llm_label"),
    *("prediction", "predicted", "pred", "verdict", "score", "probability"),
)
"""Usual names of the column with a judge's verdicts."""

READ_FIRST = 200
"""Replies that are read to tell a judge's from those of a chatbot."""

MOST_REASONS = 5
"""Reasons for which a judge gave no verdict that a report names."""

QUERY = ("query", "reply", "before")
"""The parts of a case whose cells tell its query from others."""

CASE = "case"
"""The column that stands for the query where a table has none."""


@dataclass(frozen=True)
class CheckOptions:
    """The judge's column, and the limits on its numbers."""

    judge: str | None = None
    """The column with the judge's verdicts, scores or replies. Default: the one with a usual name, such as
    `judge` or `judge_verdict`."""
    elicit: Elicitation | None = None
    """Content of the judge's column: binary (words), score (1 to 10) or probability. Default: words."""
    judge_true_means: Verdict | None = None
    """The verdict that true, yes and 1 mean in the judge's column, if it is another than in the labels; for scores and
    probabilities the verdict of a high one."""
    min_accuracy: float | None = None
    """Smallest accuracy, from 0 to 1, that the judge must reach for exit code 0."""
    max_harm: float | None = None
    """Largest share of harm, from 0 to 1, for exit code 0."""
    max_over_refusal: float | None = None
    """Largest share of over-refusal, from 0 to 1, for exit code 0."""
    disagreements: int = 5
    """Number of the worst disagreements to show."""


@dataclass(frozen=True)
class CheckedLimit:
    """A limit on a number, and the conclusion whether the whole interval of the number is within it."""

    conclusion: Conclusion
    further_queries: int | None
    """Queries more of the kind that the number is over after which an interval of this centre would decide; None where
    it has, or where none would."""


@dataclass(frozen=True)
class CheckedCase:
    """A case on which the judge and people differ, in the user's own words."""

    line: int | None
    id: str | None
    query: str
    context: str
    people: str
    judge: str


@dataclass(frozen=True)
class CheckNumbers:
    """The numbers of a table with verdicts and labels."""

    file: str
    judge: str
    elicitation: Elicitation
    receipt: Receipt
    n_cases: int
    n_labelled: int
    n_queries: int
    n_ratings: int
    n_unscored: int
    unscored: dict[str, int]
    """Why cases have no verdict of the judge, commonest first."""
    accuracy: Estimate
    harm: Estimate
    over_refusal: Estimate
    constant: Verdict
    """The one verdict that agrees with more of the labels."""
    constant_accuracy: Estimate
    gain: Estimate
    """The judge's accuracy less that of the constant verdict."""
    further_queries: int | None
    """Queries more that would tell the judge from the constant verdict; None where it is told apart, or nothing would."""
    limits: tuple[CheckedLimit, ...]
    worst: tuple[CheckedCase, ...]
    groups: tuple[tuple[str, Estimate], ...] = ()
    """Accuracy by category, where the table has several."""

    def as_json(self) -> dict[str, Any]:
        limits = [{**limit.conclusion.as_json(), "further_queries": limit.further_queries} for limit in self.limits]
        numbers = asdict(replace(self, receipt=self.receipt.model_copy(), limits=()))
        conclusions = conclusions_json([self.against_constant])
        return {**numbers, "limits": limits, "conclusions": conclusions, "receipt": self.receipt.as_json()}

    @property
    def against_constant(self) -> Conclusion:
        """The judge compared with saying the same every time."""
        constant_verdict = f"saying {self.constant} every time ({percent(self.constant_accuracy.estimate)})"
        return compared("The judge", constant_verdict, self.gain, words=AGREES)


class TalliedCases(Cases):
    """Counted cases, without records of each."""

    def draft(self, place: int, compared: tuple[Any, ...], *, repeat: int | None = None) -> CaseDraft:
        del repeat
        if self.cells.get(place, "query") is None:
            self.table.row(place).refuse(f"{self.column['query']!r} is empty")
        return CaseDraft(str(place), place, compared)


@dataclass(frozen=True)
class Tally:
    """A table read for a check: the items' votes, and the judge's value of each."""

    cases: TalliedCases
    verdicts: VerdictColumn
    items: pl.DataFrame
    outcomes: list[Outcome]
    """What the judge says of each item."""
    values: FloatArray
    cluster: IntArray
    raters: Raters | None
    column: list[Any]
    """The judge's cells, by row."""
    words: Counter[str]
    """The judge's words in the rows that count."""

    @property
    def drafts(self) -> list[CaseDraft]:
        return list(self.cases.drafts.values())


def read_check(
    path: Path,
    *,
    check: CheckOptions = CheckOptions(),
    columns: CaseColumns = CaseColumns(),
    words: VerdictWords = VerdictWords(),
    policies: Policies = Policies(),
    options: ImportOptions = ImportOptions(),
    file: FileOptions = FileOptions(),
) -> Tally:
    """Read a table with a judge's verdicts and people's labels.

    Raises ConfigurationError: a column is missing or something would have to be guessed. DataError: a row cannot be read.
    """
    table, columns, judge = split_rows(read_any_table(path, file), columns, words)
    words = replace(words, of_replies=columns.judged_word == "reply")
    judge = judge or judge_column(table, check, columns)
    asked = check.elicit or value_columns().get(plain_name(judge), "binary")
    if asked != "binary" and judge != "reply" and (check.elicit is None or check.judge_true_means is None):
        content = "" if check.elicit else "--elicit score (1 to 10) or --elicit probability, and "
        raise ConfigurationError(
            f"{judge!r} holds numbers, and nothing says what a high one means; give {content}--judge-true-means safe or "
            "--judge-true-means unsafe"
        )
    verdicts = VerdictColumn(
        None if judge == "reply" else judge,
        asked,
        words_of_judge(judge, check, words),
        ask="",
        high_means=check.judge_true_means or "safe",
    )
    if policies.skip_bad:
        table = without_unreadable(table, verdicts)
    people = replace(table, columns={name: cells for name, cells in table.columns.items() if name != judge})
    people_columns = columns_of_people(people, columns, scale=options.scale is not None)
    frame = CaseFrame(words=words, scale=options.scale, policies=policies)
    cases = TalliedCases(people, people_columns, frame, declared=columns)
    draft_of_row = cases.add_rows()
    if not cases.drafts:
        raise DataError(path, None, f"no row can be used{': ' + cases.rejected[0].problem if cases.rejected else ''}")
    outcomes = judge_outcomes(table, verdicts, cases, draft_of_row)
    values = np.array([float(outcome.value) if isinstance(outcome, Scored) else math.nan for outcome in outcomes])
    column = table.columns[verdicts.name or "reply"]
    used = (cell for cell, draft in zip(column, draft_of_row, strict=True) if draft is not None and cell is not None)
    words_used = Counter(map(str, used if verdicts.name is not None and verdicts.elicitation == "binary" else ()))
    return Tally(
        cases, verdicts, items_table(cases), outcomes, values, clusters(cases), raters(cases), column, words_used
    )


def without_unreadable(table: Table, verdicts: VerdictColumn) -> Table:
    """Return the table without the rows whose verdict cannot be read; they join the rejected rows, each with its reason."""
    bad: dict[int, str] = {}
    for place, row in enumerate(table.rows):
        try:
            verdicts.answer(row)
        except DataError as error:
            bad[place] = error.problem
    rejected = [*table.rejected, *(rejected_row(table, place, problem) for place, problem in bad.items())]
    return replace(table.at([place for place in range(len(table)) if place not in bad]), rejected=rejected)


def judge_column(table: Table, check: CheckOptions, columns: CaseColumns) -> str:
    """Return the column with the judge's answers. Raises ConfigurationError: nothing says which it is."""
    used = set(columns.named.values())
    if check.judge is not None:
        if check.judge in used:
            raise ConfigurationError(f"{check.judge!r} is named as the judge's column and as another; each has its own")
        if check.judge not in table.columns and "." in check.judge:
            cells = parts_of_objects(table, check.judge)
            if any(cell is not None for cell in cells):
                table.columns[check.judge] = cells
        if check.judge not in table.columns:
            problem = f"there is no column {check.judge!r}{did_you_mean(check.judge, table.names)}"
            raise ConfigurationError(f"{problem}; {listed(table.names)}")
        return check.judge
    candidates = [name for wanted in JUDGES for name in table.names if plain_name(name) == wanted and name not in used]
    if len(candidates) == 1:
        return candidates[0]
    if not candidates and "reply" in table.names and "reply" not in used:
        replies, first = VerdictColumn(None, check.elicit or "binary", VerdictWords()), islice(table.rows, READ_FIRST)
        scored = [isinstance(replies.answer(row).outcome, Scored) for row in first if row.has("reply")]
        if 2 * sum(scored) > len(scored):
            return "reply"
        raise ConfigurationError(
            f"no column has a name like judge; give --judge reply if 'reply' is the judge's; {listed(table.names)}"
        )
    if not candidates:
        raise ConfigurationError(
            f"no column has a name like judge; name the judge's column with --judge; {listed(table.names)}"
        )
    raise ConfigurationError(
        f"{' and '.join(map(repr, candidates))} may both be the judge's column; give "
        f"{' or '.join(f'--judge {name!r}' for name in candidates)}"
    )


def words_of_judge(judge: str, check: CheckOptions, words: VerdictWords) -> VerdictWords:
    """Return the words of the judge's column: its own declaration, else its name, else the declaration for the labels."""
    if check.judge_true_means is not None:
        return replace(words, true_means=check.judge_true_means)
    return replace(words, true_means=None) if plain_name(judge) in POLARITY else words


def columns_of_people(table: Table, columns: CaseColumns, *, scale: bool) -> CaseColumns:
    """Return the roles of the columns; a table without a query has a case of its own in each row, or for each id."""
    columns_found = columns_of(table, columns, scale=scale, has_ratings=False)
    if not columns_found.query:
        if CASE in table.columns:
            raise ConfigurationError(f"name the column with the query with --query; {listed(table.names)}")
        if columns_found.annotator and not columns_found.id:
            raise ConfigurationError(
                f"each row is one rating, and no column names its case; name one with --id or --query; {listed(table.names)}"
            )
        ids = table.columns[columns_found.id] if columns_found.id else [None] * len(table)
        table.columns[CASE] = [f"row {place}" if name is None else name_text(name) for place, name in enumerate(ids, 1)]
        columns_found = replace(columns_found, query=CASE)
    return columns_of(table, columns_found, scale=scale)


def items_table(cases: TalliedCases) -> pl.DataFrame:
    """Return the items with their votes, as the statistics take them."""
    drafts, lists, item = list(cases.drafts.values()), cases.ratings, rated_items(cases)
    votes = np.array([None if vote is None else vote for vote in lists.verdict], dtype=object)
    scale = cases.frame.scale
    if scale is not None and scale.cut is not None:
        for number, value in enumerate(lists.value):
            if votes[number] is None and value is not None:
                votes[number] = "safe" if scale.is_safe(value) else "unsafe"
        lists.verdict = list(votes)
    counts = {
        vote: np.bincount(item[votes == vote], minlength=len(drafts)) for vote in ("safe", "unsafe", "unsure", "ask")
    }
    safe, n = counts["safe"], counts["safe"] + counts["unsafe"]
    rates = [cases.rating_reader.share(draft.first) for draft in drafts]
    if not n.any():  # shares without numbers of votes: each is the label of its case
        stated = [rate is not None for rate in rates]
        safe = np.array([0 if rate is None else round(1000 * rate) for rate in rates])
        n = np.where(stated, 1000, 0)
    category = [cases.cells.get(draft.first, "category") or "uncategorised" for draft in drafts]
    return pl.DataFrame(
        {
            "item_id": [draft.id for draft in drafts],
            "n_safe": safe.astype(np.int64),
            "n_votes": n.astype(np.int64),
            "n_unsure": counts["unsure"].astype(np.int64),
            "n_ask": counts["ask"].astype(np.int64),
            "intended_safe": pl.Series([None] * len(drafts), dtype=pl.Boolean),
            "published_rate": pl.Series(rates, dtype=pl.Float64),
            "category": list(map(str, category)),
        }
    )


def rated_items(cases: TalliedCases) -> NDArray[np.intp]:
    """Return the place of the item that each rating is of."""
    place = {draft.id: number for number, draft in enumerate(cases.drafts.values())}
    codes = np.array([place[name] for name in cases.ratings.items], dtype=np.intp)
    return codes[np.array(cases.ratings.item, dtype=np.intp)]


def clusters(cases: TalliedCases) -> IntArray:
    """Return the cluster of each item: its query, unless a column says otherwise."""
    by_part = cases.cells.by_part
    parts = [by_part["cluster"]] if "cluster" in by_part else [by_part[part] for part in QUERY if part in by_part]
    codes: dict[str, int] = {}
    names = (repr([cells[draft.first] for cells in parts]) for draft in cases.drafts.values())
    return np.array([codes.setdefault(name, len(codes)) for name in names], dtype=np.intp)


def raters(cases: TalliedCases) -> Raters | None:
    """Return the votes with their annotators; None if these are unknown."""
    lists = cases.ratings
    if not lists.annotators or any(person is None for person in lists.annotator):
        return None
    decided = np.array([vote in ("safe", "unsafe") for vote in lists.verdict])
    return Raters(
        rated_items(cases)[decided],
        np.array(lists.annotator, dtype=np.intp)[decided],
        np.array([vote == "safe" for vote in lists.verdict])[decided],
    )


def judge_outcomes(
    table: Table, verdicts: VerdictColumn, cases: TalliedCases, draft_of_row: list[CaseDraft | None]
) -> list[Outcome]:
    """Return what the judge says of each item.

    Raises DataError: the judge says two things of one case, in two rows.
    """
    column = table.columns[verdicts.name or "reply"]
    besides = [table.columns[name] for name in ("reply", "error", "refusal", "stop_reason") if name in table.columns]
    outcomes: dict[str, Outcome] = {}
    by_item: dict[str, tuple[Outcome, int]] = {}
    for place, (cell, draft) in enumerate(zip(column, draft_of_row, strict=True)):
        if draft is None:
            continue
        key = repr(cell) if cell is not None else repr([cells[place] for cells in besides])
        if key not in outcomes:
            outcomes[key] = verdicts.answer(table.row(place)).outcome
        outcome = outcomes[key]
        earlier, first = by_item.setdefault(draft.id, (outcome, place))
        if isinstance(earlier, Unscored):
            by_item[draft.id] = outcome, place
        elif isinstance(outcome, Scored) and outcome.value != earlier.value:
            table.row(place).refuse(
                f"the judge says {cell!r} here and {column[first]!r} on line {table.lines[first]} for the same case; if "
                "these are two cases, name their ids with --id or give --repeats keep"
            )
    return [by_item[draft.id][0] for draft in cases.drafts.values()]


def check_table(tally: Tally, check: CheckOptions = CheckOptions()) -> CheckNumbers:
    """Return the judge's agreement with people, its two errors, and the number of queries that would settle open limits.

    Raises DataError: no case has a label.
    """
    cases, verdicts = tally.cases, tally.verdicts
    sample = judge_sample(
        tally.items, tally.values, tally.raters, elicitation=verdicts.elicitation, cluster=tally.cluster
    )
    if not sample.labelled.any():
        raise DataError(cases.path, None, "no case has a label, so no agreement can be measured")
    metrics = (find_metric("accuracy"), *REFUSALS)
    accuracy, over_refusal, harm = measure(sample, metrics=metrics)
    weight = sample.weight[sample.labelled]
    constant: Verdict = "safe" if weight.mean() >= 0.5 else "unsafe"
    always = np.full(len(sample), float(constant == "safe"))
    constant_sample = judge_sample(tally.items, always, tally.raters, elicitation="binary", cluster=tally.cluster)
    (baseline,) = measure(constant_sample, metrics=metrics[:1])
    gain = difference_of(accuracy, baseline)
    estimates = {measured.name: estimate_of(measured) for measured in (accuracy, over_refusal, harm)}
    at_worst = {measured.name: measured for measured in measure_at_worst(tally)} if sample.unscored.any() else {}
    limits = [
        limit_on(measured, estimates[name], limit, largest=largest, at_worst=at_worst.get(name))
        for name, measured, limit, largest in (
            ("accuracy", accuracy, check.min_accuracy, False),
            ("harm", harm, check.max_harm, True),
            ("over_refusal", over_refusal, check.max_over_refusal, True),
        )
        if limit is not None
    ]
    more = None
    if gain.estimate and not gain.beyond_chance:
        more = further_queries(gain.estimate, influence_of_difference(accuracy, baseline), accuracy.at_risk)
    return CheckNumbers(
        file=cases.path.name,
        judge=verdicts.name or "reply",
        elicitation=verdicts.elicitation,
        receipt=receipt_of(tally, declared=check.judge is not None),
        n_cases=len(sample),
        n_labelled=int(sample.labelled.sum()),
        n_queries=sample.n_clusters,
        n_ratings=len(cases.ratings.item),
        n_unscored=int(sample.unscored.sum()),
        unscored=dict(
            Counter(outcome.failure for outcome in tally.outcomes if isinstance(outcome, Unscored)).most_common(
                MOST_REASONS
            )
        ),
        accuracy=estimates["accuracy"],
        harm=estimates["harm"],
        over_refusal=estimates["over_refusal"],
        constant=constant,
        constant_accuracy=estimate_of(baseline),
        gain=gain,
        further_queries=more,
        limits=tuple(limits),
        worst=tuple(worst_cases(tally, sample, check.disagreements)),
        groups=tuple(by_category(tally, sample)),
    )


def receipt_of(tally: Tally, *, declared: bool) -> Receipt:
    """Return the receipt of the table, with the judge's column and its words. `declared`: whether the column was named."""
    receipt, verdicts = tally.cases.receipt(), tally.verdicts
    name, content = verdicts.name or "reply", verdicts.elicitation
    high = "" if content == "binary" else f", high is {verdicts.high_means}"
    judge = ColumnRead(column=name, role=f"the judge ({content}{high})", declared=declared)
    words = [
        WordRead(column=name, word=word, read_as=reading[0], how=reading[1], n=n)
        for word, n in tally.words.items()
        for reading in [("missing", "listed") if verdicts.words.is_missing(word) else verdicts.words.read(word, name)]
        if reading is not None
    ]
    columns = (judge, *(column for column in receipt.columns if column.column != CASE))
    return receipt.model_copy(update={"columns": columns, "words": (*words, *receipt.words)})


def by_category(tally: Tally, sample: Sample) -> list[tuple[str, Estimate]]:
    """Return the accuracy in each category, where there are several."""
    categories, metrics = tally.items["category"], (find_metric("accuracy"),)
    parts = {
        str(name): sample.where((categories == name).to_numpy()) for name in categories.unique(maintain_order=True)
    }
    return [(name, estimate_of(measure(part, metrics=metrics)[0])) for name, part in parts.items() if len(parts) > 1]


def measure_at_worst(tally: Tally) -> list[Measured]:
    """Return both errors under the assumption that each missing verdict is wrong."""
    scale = scale_of(tally.verdicts.elicitation)
    wrong = {"harm": scale.high, "over_refusal": scale.low}
    samples = [
        judge_sample(
            tally.items,
            np.where(np.isnan(tally.values), wrong[metric.name], tally.values),
            tally.raters,
            elicitation=tally.verdicts.elicitation,
            cluster=tally.cluster,
        )
        for metric in REFUSALS
    ]
    return [measure(sample, metrics=(metric,))[0] for metric, sample in zip(REFUSALS, samples, strict=True)]


def limit_on(
    measured: Measured, estimate: Estimate, limit: float, *, largest: bool, at_worst: Measured | None = None
) -> CheckedLimit:
    """Return the conclusion whether the whole interval of a number is within a limit, and the queries that would settle an
    open one.

    `at_worst`: the error if each case without a verdict had the wrong one; the limit then has to hold for it too.
    """
    if not 0 <= limit <= 1:
        raise ConfigurationError(f"a limit is a share from 0 to 1, not {limit!r}")
    conclusion = at_most("the judge", estimate, limit=limit, least=not largest)
    if at_worst is not None and conclusion.holds:
        if_wrong = at_most("the judge", estimate_of(at_worst), limit=limit)
        if not if_wrong.holds:
            share, worst = estimate.as_share, estimate_of(at_worst).as_share
            sentence = text(
                "may or may not be at most {limit}: {share}, and {worst} if each case without a verdict has the wrong one",
                limit=percent(limit),
                share=share,
                worst=worst,
            )
            open_ = replace(
                conclusion, outcome=Unknown("cases without a verdict could exceed the limit"), predicate=sentence
            )
            return CheckedLimit(open_, None)
    if not isinstance(conclusion.outcome, Unknown) or estimate.estimate is None or estimate.limits is None:
        return CheckedLimit(conclusion, None)
    if largest and estimate.estimate == 0 and limit > 0:  # none seen: the upper limit falls as 1 - .025^(1/n)
        needed = math.ceil(math.log(0.025) / math.log1p(-limit))
        return CheckedLimit(conclusion, max(1, needed - measured.at_risk))
    distance = estimate.estimate - limit
    more = further_queries(distance, measured.influence, measured.at_risk) if distance else None
    return CheckedLimit(conclusion, more)


def worst_cases(tally: Tally, sample: Sample, most: int) -> list[CheckedCase]:
    """Return the cases on which the judge is furthest from people, furthest first, in the user's own words."""
    wrong = sample.labelled & sample.scored & (sample.safe != sample.weight) & (sample.weight != 0.5)
    distance = np.where(wrong, np.abs(np.nan_to_num(sample.rate) - sample.safe), -1.0)
    order = np.argsort(-distance, kind="stable")[:most]
    return [checked_case(tally, int(place)) for place in order if distance[place] > 0]


def checked_case(tally: Tally, place: int) -> CheckedCase:
    """Return one case in the words of its row."""
    cases, draft = tally.cases, tally.drafts[place]
    row = cases.table.row(draft.first)
    n_safe, n = (int(tally.items[name][place]) for name in ("n_safe", "n_votes"))
    label = next((cases.cells.get(draft.first, part) for part in ("label", "vote") if part in cases.column), None)
    rate = tally.items["published_rate"][place]
    people = (
        str(label)
        if n == 1 and label is not None
        else f"{n_safe:,} of {n:,} safe"
        if cases.ratings.item
        else f"{percent(rate)} safe"
    )
    context = cases.cells.get(draft.first, "context")
    parameters = [
        f"{parameter}: {row.values[name]}" for name, parameter in cases.columns.parameters.items() if row.has(name)
    ]
    name = cases.cells.get(draft.first, "id")
    query = cases.cells.get(draft.first, "reply" if "reply" in cases.column else "query")
    judge_cell = tally.column[draft.first]
    return CheckedCase(
        line=row.line,
        id=None if name is None else name_text(name),
        query=str(query),
        context="; ".join([*([] if context is None else [str(context)]), *parameters]),
        people=people,
        judge=f"{tally.values[place]:g}" if judge_cell is None else str(judge_cell),
    )
