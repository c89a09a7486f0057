"""The word baseline, and the subsets that it makes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from casewise.audits.subject import ALPHA, READS, Part, Subject, spoken_name
from casewise.errors import BenchmarkError, ConfigurationError, did_you_mean
from casewise.notation import percent, share
from casewise.records import Item
from casewise.stats.arrays import BoolArray, FloatArray, cluster_variance
from casewise.stats.estimates import STUDENT, Estimate, estimate
from casewise.stats.metrics import metric_named, metrics_named, value_of
from casewise.stats.pairs import halves
from casewise.stats.sample import (
    AGREEMENT,
    PUBLISHED,
    ROUNDING,
    VOTES,
    LabelPolicy,
    constant_accuracy,
    judged,
    judged_by_raters,
    numbered,
    right,
)
from casewise.stats.words import weighty_phrases
from casewise.storage.benchmark import Benchmark
from casewise.storage.benchmark_folder import Features, texts
from casewise.storage.columns import records_at
from casewise.storage.load import worked_out, worked_out_numbers
from casewise.storage.wording import JudgedWords

# The word baseline: how far vocabulary alone goes. A baseline is no accusation: people read the context
# too.


LEAST_GAIN = 0.05
"""A baseline that is less than five points better than a constant verdict is none."""

LEAST_EXCHANGED = 20
"""Fewer exchanged contexts show nothing."""

FEWER_FOLDS = 5
"""For classifiers that are only told apart from the one on all words."""

PHRASES = 12
"""Listed on each side."""


class Gain(NamedTuple):
    """How much more often a baseline is right than the better of the two constant verdicts.

    `z` is clustered by query, or by context where contexts recur and vary more, and `constant` the accuracy of the constant verdict.
    """

    gain: float
    z: float
    constant: float

    @property
    def accuracy(self) -> float:
        """How often the baseline is right."""
        return self.constant + self.gain

    @property
    def share(self) -> float:
        """How much of the way from the constant verdict to a perfect one it goes."""
        return self.gain / max(1e-9, 1 - self.constant)

    def holds(self, *, comparisons: int = 1) -> bool:
        """Whether it is at least five points, and beyond chance at `ALPHA` (Bonferroni over `comparisons`)."""
        return self.gain >= LEAST_GAIN and self.z > float(-ndtri(ALPHA / comparisons))


def audit_baseline(subject: Subject, part: Part) -> None:
    """The classifier on words, on those of each parameter and of the query, against constant verdicts and the intent."""
    if subject.why_no_baseline is not None:
        part.left_out.append(f"word baseline: {subject.why_no_baseline}.")
        return
    stated = subject.stated
    used = [name for name in subject.benchmark.parameters.names if stated[name].is_not_null().any()]
    single = {name: alone(subject, name, stated[name].fill_null("")) for name in used}
    by_query = (
        subject.baseline if subject.reads == "query" else alone(subject, "the query", texts(subject.benchmark, "query"))
    )
    groups = subject.groups_held_out
    rows = [
        row(subject, subject.reads, groups, subject.baseline),
        *held_out_wider(subject),
        *(row(subject, name, groups, values) for name, values in single.items()),
        *([row(subject, "query", groups, by_query)] if subject.reads != "query" else []),
    ]
    for_safe, for_unsafe = telling_phrases(subject)
    part.measured |= {
        "baselines": rows,
        "constants": constants(subject),
        "phrases_for_safe": for_safe,
        "phrases_for_unsafe": for_unsafe,
        "exchanged_contexts": int(subject.exchanged.sum()),
    }
    solution = solved_by_words(subject)
    if solution is not None:
        evidence = {"reads": solution.judged.said(READS[solution.reads]), "accuracy": solution.accuracy.picked()}
        part.add("baseline.solved", solution.sentence, 1.0, evidence)
    vocabulary(subject, part)
    one_parameter(subject, part, single)
    if subject.reads != "query":
        query_alone(subject, part, by_query)
    shortcut(subject, part)


SOLVED = 0.9
"""Words solve a benchmark where the whole interval of their accuracy lies above this."""


class Solution(NamedTuple):
    """A classifier on words that solves a benchmark."""

    reads: Features
    accuracy: Estimate
    constant: float
    """The accuracy of the better constant verdict."""
    held_out: str
    judged: JudgedWords

    @property
    def sentence(self) -> str:
        """That words alone solve the benchmark, for the first line of an audit and of every report."""
        right = share(self.accuracy.estimate, self.accuracy.ci_low, self.accuracy.ci_high)
        return (
            f"Words alone solve this benchmark: a classifier of {self.judged.said(READS[self.reads])}, tested on whole "
            f"{self.judged.said(self.held_out)} that it did not learn from, gives the label on {right} of items, where a constant verdict does on {percent(self.constant)}. A high agreement here does "
            "not show that a judge weighs the case."
        )


def solved_by_words(subject: Subject) -> Solution | None:
    """The classifier whose accuracy is above `SOLVED` with its whole interval, and above the constant verdict; else None.

    Intervals as `accuracy_over_groups` has them.
    """
    if subject.why_no_baseline is not None:
        return None
    every: tuple[Features, ...] = ("query",) if subject.reads == "query" else ("context", "query", "query+context")
    for reads in dict.fromkeys((subject.reads, *every)):
        values = subject.predicted(reads)
        accuracy = accuracy_over_groups(subject, values)
        gain = gain_over_constant(subject, values, ~subject.exchanged)
        if (accuracy.ci_low or 0) >= SOLVED and gain.holds(comparisons=len(every)):
            return Solution(reads, accuracy, gain.constant, subject.groups_held_out, subject.judged)
    return None


def accuracy_over_groups(subject: Subject, values: FloatArray) -> Estimate:
    """Accuracy with its interval over queries, or over contexts where they recur and differ more.

    Where it is alike in every query and in every context, the interval is over those of which there are more.
    """
    over = [accuracy_within(subject, values, groups) for groups in subject.groupings]
    varying = [one for one in over if one.method == STUDENT]
    return max(varying, key=width) if varying else min(over, key=width)


def width(found: Estimate) -> float:
    return np.inf if found.ci_low is None or found.ci_high is None else found.ci_high - found.ci_low


def accuracy_within(subject: Subject, values: FloatArray, groups: NDArray[np.intp]) -> Estimate:
    sample = judged(subject.items, values, elicitation="probability", policy=VOTES, cluster=groups)
    read = ~np.isnan(values)
    (accuracy,) = estimate(sample if read.all() else sample.where(read), metrics=metrics_named("accuracy"))
    return accuracy


def alone(subject: Subject, what: str, written: Iterable[str]) -> FloatArray:
    """Predictions from these words, which are the benchmark's own and so kept for its next audit."""
    folds = min(subject.folds, FEWER_FOLDS)
    return worked_out(
        subject.benchmark,
        f"words of {what} alone, {subject.groups_held_out} held out in {folds} folds",
        lambda: subject.predict(written, folds=folds),
        made_with="scikit-learn",
    )


def held_out_wider(subject: Subject) -> Iterator[dict[str, Any]]:
    """The baseline with whole categories held out, and whole authors where they are recorded for all."""
    by = subject.read.authors
    authors = None if by.has_nulls() else numbered(by)
    for name, groups in (("categories", numbered(subject.items["category"])), ("authors", authors)):
        if groups is not None and len(np.unique(groups)) > 1:
            values = held_out(subject, name, groups)
            if not np.isnan(values).all():
                yield row(subject, subject.reads, name, values)


def held_out(subject: Subject, what: str, groups: NDArray[np.intp]) -> FloatArray:
    """Predictions from the words that the baseline reads, with whole groups held out."""
    folds = min(subject.folds, len(np.unique(groups)))
    return worked_out(
        subject.benchmark,
        f"words of {subject.reads}, {what} held out in {folds} folds",
        lambda: subject.predict(subject.own_words, groups=groups, folds=folds),
        made_with="scikit-learn",
    )


def telling_phrases(subject: Subject) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The phrases that speak most for safe, and for unsafe, with their coefficients."""

    def work() -> dict[str, float]:
        sides = weighty_phrases(subject.own_words, subject.label[subject.words_read], n=PHRASES)
        return {f"{side}{one.text}": one.coefficient for side, ones in zip("+-", sides, strict=True) for one in ones}

    numbers = worked_out_numbers(
        subject.benchmark, f"{PHRASES} phrases of {subject.reads} for each verdict", work, made_with="scikit-learn"
    )
    rows = [(name[0], {"text": name[1:], "coefficient": value}) for name, value in numbers.items()]
    return [one for side, one in rows if side == "+"], [one for side, one in rows if side == "-"]


def row(subject: Subject, reads: str, held_out: str, values: FloatArray) -> dict[str, Any]:
    """One baseline: what it reads, what is held out, and how well it agrees with people."""
    return {"reads": reads, "held_out": held_out} | {
        policy.base: {one.name: one.picked() for one in estimates(subject, values, policy=policy)}
        for policy in (VOTES, PUBLISHED)
    }


def estimates(subject: Subject, values: FloatArray, *, policy: LabelPolicy) -> tuple[Estimate, ...]:
    sample = judged_by_raters(subject.items, values, subject.raters, elicitation="probability", policy=policy)
    metrics = metrics_named("accuracy", "recall_safe", "recall_unsafe", "pearson", "brier")
    read = ~np.isnan(values)
    return estimate(sample if read.all() else sample.where(read), metrics=metrics)


def constants(subject: Subject) -> dict[str, dict[str, float | None]]:
    """Accuracy of constant verdicts and of the intent, under both policies; None where no item has a label of the policy."""
    n, accuracy = len(subject.items), metric_named("accuracy")
    verdicts = {"constant:safe": np.ones(n), "constant:unsafe": np.zeros(n), "constant:intended": subject.intended}
    return {
        name: {
            policy.base: None if np.isnan(value) else value
            for policy in (VOTES, PUBLISHED)
            for value in [value_of(accuracy, judged(subject.items, values, elicitation="binary", policy=policy))]
        }
        for name, values in verdicts.items()
    }


def gain_over_constant(subject: Subject, values: FloatArray, rows: BoolArray | None = None) -> Gain:
    r"""How much better the verdicts of `values` are than the better constant verdict.

    .. math:: g = \frac{1}{n} \sum_i (a_i - c_i), \qquad
       z = \frac{\sum_i (a_i - c_i)}{\sqrt{\frac{G}{G-1} \sum_q D_q^2}}, \quad D_q = \sum_{i \in q} (a_i - c_i - g)

    with :math:`a_i`, :math:`c_i` the weight of people's label on the classifier's and on the constant verdict.
    """
    known = ~np.isnan(subject.label) & ~np.isnan(values)
    known &= True if rows is None else rows
    label = subject.label[known]
    constant = label if label.mean() >= 0.5 else 1 - label
    difference = right(values[known] > 0.5, label) - constant
    gain = float(difference.mean())
    spread = float(np.sqrt(max(cluster_variance(difference - gain, groups[known]) for groups in subject.groupings)))
    return Gain(gain, float(difference.sum()) / spread if spread > 0 else 0.0, constant_accuracy(label))


def vocabulary(subject: Subject, part: Part) -> None:
    gain, m = gain_over_constant(subject, subject.baseline, ~subject.exchanged), part.measured
    if not gain.holds():
        return
    main = m["baselines"][0]["votes"]["accuracy"]
    part.add(
        "baseline.vocabulary",
        f"{subject.judged.said(READS[subject.reads]).capitalize()} alone predict the label on {share(main['estimate'], main['ci_low'], main['ci_high'])} "
        f"of items; a constant verdict is right on {percent(gain.constant)}.",
        gain.share,
        {
            "accuracy": main,
            "accuracy_by_what_is_held_out": {
                one["held_out"]: one["votes"]["accuracy"]["estimate"]
                for one in m["baselines"]
                if one["reads"] == subject.reads
            },
            "gain": gain.gain,
            "z": gain.z,
            "constants": m["constants"],
            "phrases_for_safe": [phrase["text"] for phrase in m["phrases_for_safe"]],
            "phrases_for_unsafe": [phrase["text"] for phrase in m["phrases_for_unsafe"]],
        },
    )


def one_parameter(subject: Subject, part: Part, single: dict[str, FloatArray]) -> None:
    gains = {name: gain_over_constant(subject, values, ~subject.exchanged) for name, values in single.items()}
    holding = {name: gain for name, gain in gains.items() if gain.holds(comparisons=len(gains))}
    if not holding:
        return
    ranked = sorted(holding, key=lambda name: -holding[name].gain)
    best = holding[ranked[0]]
    part.add(
        "baseline.one-parameter",
        f"Words of one parameter alone predict the labels: {spoken_name(ranked[0])} on {percent(best.accuracy)} of "
        f"items, the most of {len(gains)} parameters; a constant verdict is right on {percent(best.constant)}.",
        min(1.0, best.share) / 2,
        {
            name: {"accuracy": holding[name].accuracy, "gain": holding[name].gain, "z": holding[name].z}
            for name in ranked
        },
    )


def query_alone(subject: Subject, part: Part, values: FloatArray) -> None:
    gain = gain_over_constant(subject, values)
    if gain.holds():
        part.add(
            "baseline.query",
            f"Words of the {subject.judged.one} alone predict the label on {percent(gain.accuracy)} of items; a constant verdict is "
            f"right on {percent(gain.constant)}.",
            gain.share,
            {"accuracy": gain.accuracy, "gain": gain.gain, "z": gain.z},
        )


def shortcut(subject: Subject, part: Part) -> None:
    """Contexts exchanged between queries and rated anew: does the prediction stay where people change?"""
    known = ~np.isnan(subject.label) & ~np.isnan(subject.baseline)
    moved, stayed = subject.exchanged & known, ~subject.exchanged & known
    if moved.sum() < LEAST_EXCHANGED or not gain_over_constant(subject, subject.baseline, stayed).holds():
        return
    hit = right(subject.baseline > 0.5, subject.label)
    on_moved, on_stayed = (float(hit[rows].mean()) for rows in (moved, stayed))
    variance = sum(
        cluster_variance((hit[rows] - hit[rows].mean()) / rows.sum(), subject.query[rows]) for rows in (stayed, moved)
    )
    drop = on_stayed - on_moved
    z = drop / float(np.sqrt(variance))
    if not z > -ndtri(ALPHA) or drop < LEAST_GAIN:
        return
    part.add(
        "baseline.shortcut",
        f"With contexts exchanged between queries, the words predict {percent(on_moved)} of the labels instead of "
        f"{percent(on_stayed)}: the prediction stays, the label changes.",
        drop / max(1e-9, on_stayed),
        {
            "exchanged_items": int(moved.sum()),
            "accuracy_on_exchanged": on_moved,
            "accuracy_on_the_others": on_stayed,
            "z": z,
        },
        items=subject.named(moved & (hit < 0.5)),
    )


# Subsets of a benchmark that tell judges apart better than all of it: `--items clear`, `close`, `low-margin`,
# `hard`.


LOW_MARGIN = 1 / 3
"""Share of items that are called low-margin: those about which the classifier is least sure."""

POSSIBLY_HARD = 0.05
"""An item belongs to `hard` where so many splits of its votes would choose it."""

SUBSETS: dict[str, str] = {
    "clear": f"at least {100 * AGREEMENT:.0f} % of the votes agree",
    "close": f"fewer than {100 * AGREEMENT:.0f} % of the votes agree",
    "low-margin": "the third of items about which a classifier on the context's words is least sure; no label is looked at",
    "hard": "that classifier is wrong, by one half of the votes; scored by the other half",
}
"""What `--items` can be."""


def subset(benchmark: Benchmark, name: str) -> Sequence[Item]:
    """The items of the subset called `name`, in the order of the benchmark.

    `hard` is every item that some half of its votes would choose; a report scores each by the other half
    (`casewise.stats.pairs.hard_score`).

    Raises ConfigurationError: there is no such subset; the message lists those that there are. BenchmarkError: the
    benchmark cannot say which items these are, or there are none.
    """
    rows = subset_rows(Subject(benchmark), name)
    return records_at(benchmark.items, np.flatnonzero(rows))


def subset_rows(subject: Subject, name: str) -> BoolArray:
    """The subset called `name` as a mask over the items. Raises as `subset` does."""
    if name not in SUBSETS:
        listed = "\n".join(f"  {known}: {what}" for known, what in SUBSETS.items())
        raise ConfigurationError(f"no subset is called {name!r}{did_you_mean(name, SUBSETS)}; there are\n{listed}")
    rows = CHOOSE[name](subject)
    if not rows.any():
        raise BenchmarkError(f"{subject.benchmark.name!r} has no items that are {name!r} ({SUBSETS[name]})")
    return rows


def audit_subsets(subject: Subject, part: Part) -> None:
    """How many items each subset has."""
    part.measured["items_by_subset"] = sizes = {}
    for name in SUBSETS:
        try:
            sizes[name] = int(subset_rows(subject, name).sum())
        except BenchmarkError as error:
            part.left_out.append(f"subset {name}: {error}.")


def clear(subject: Subject) -> BoolArray:
    rate = rates(subject, "clear")
    agreed: BoolArray = np.abs(rate - 0.5) >= AGREEMENT - 0.5 - ROUNDING
    return agreed & ~np.isnan(rate)


def close(subject: Subject) -> BoolArray:
    rate = rates(subject, "close")
    apart: BoolArray = np.abs(rate - 0.5) < AGREEMENT - 0.5 - ROUNDING
    return apart & ~np.isnan(rate)


def rates(subject: Subject, name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    if not subject.benchmark.ratings:
        raise BenchmarkError(f"--items {name} needs labels, and {subject.benchmark.name!r} has none")
    if not subject.labels.rated:
        raise BenchmarkError(
            f"--items {name} needs several votes an item, and {subject.benchmark.name!r} has {subject.labels.agreed_with}"
        )
    rated = subject.n_votes > 0
    return np.where(rated, subject.n_safe / np.where(rated, subject.n_votes, 1), np.nan)


def low_margin(subject: Subject) -> BoolArray:
    need_baseline(subject, "low-margin")
    unsure = np.abs(subject.baseline - 0.5)  # nan, which is sorted last, where no words are read
    n = max(1, round(LOW_MARGIN * int(subject.words_read.sum())))
    found = np.zeros(len(unsure), dtype=bool)
    found[np.argsort(unsure, kind="stable")[:n]] = True
    return found


def hard(subject: Subject) -> BoolArray:
    need_baseline(subject, "hard")
    verdict = (subject.baseline > 0.5).astype(float)
    chosen = halves(subject.n_safe, subject.n_votes, verdict=verdict).chosen >= POSSIBLY_HARD
    return chosen & subject.words_read


def need_baseline(subject: Subject, name: str) -> None:
    if subject.why_no_baseline is not None:
        raise BenchmarkError(
            f"--items {name} needs a classifier on the contexts' words, and {subject.benchmark.name!r} allows none: "
            f"{subject.why_no_baseline}"
        )


CHOOSE: Mapping[str, Callable[[Subject], BoolArray]] = {
    "clear": clear,
    "close": close,
    "low-margin": low_margin,
    "hard": hard,
}
