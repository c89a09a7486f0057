"""The word baseline, and the subsets that it makes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from casewise.audits.keys import audit_keys
from casewise.audits.subject import ALPHA, LEAST_GAIN, READS, AuditPart, Subject, parameter_in_words
from casewise.errors import BenchmarkError, ConfigurationError, did_you_mean
from casewise.notation import percent, share
from casewise.records import Item
from casewise.stats.arrays import BoolArray, FloatArray, cluster_variance
from casewise.stats.estimates import STUDENT, Estimate, estimate
from casewise.stats.labels import PUBLISHED, VOTES
from casewise.stats.metrics import find_metric, parse_metrics, value_of
from casewise.stats.pairs import halves
from casewise.stats.sample import AGREEMENT, ROUNDING, constant_accuracy, integer_codes, judge_sample, right_weight
from casewise.stats.words import PhraseCounts, strongest_phrases
from casewise.storage.benchmark import Benchmark
from casewise.storage.benchmark_folder import Features, texts
from casewise.storage.columns import RecordColumns
from casewise.storage.load import cached_item_numbers, cached_numbers
from casewise.text import Text, capitalised, count_of, text

# The word baseline measures how far vocabulary alone predicts the labels. People read the context too, so it is no accusation.


LEAST_EXCHANGED = 20
"""Exchanged contexts below which the shortcut is not tested."""

FEWER_FOLDS = 5
"""Folds of classifiers that are only compared with the one on all words."""

PHRASES = 12
"""Phrases listed for each verdict."""

SOLVED = 0.9
"""Words solve a benchmark where the whole interval of their accuracy lies above this."""


class Gain(NamedTuple):
    """The gain in accuracy of a baseline over the better of the two constant verdicts.

    `z` is clustered by query, or by context where contexts recur and vary more, and `constant` the accuracy of the constant verdict.
    """

    gain: float
    z: float
    constant: float

    @property
    def accuracy(self) -> float:
        """The accuracy of the baseline."""
        return self.constant + self.gain

    @property
    def share(self) -> float:
        """The gain as a share of the distance from the constant verdict to a perfect one."""
        return self.gain / max(1e-9, 1 - self.constant)

    def holds(self, *, comparisons: int = 1) -> bool:
        """Return True if it is at least five points, and beyond chance at `ALPHA` (Bonferroni over `comparisons`)."""
        return self.gain >= LEAST_GAIN and self.z > float(-ndtri(ALPHA / comparisons))

    @property
    def evidence(self) -> dict[str, float]:
        """The numbers behind a finding."""
        return {"accuracy": self.accuracy, "gain": self.gain, "z": self.z}


def audit_baseline(subject: Subject, part: AuditPart) -> None:
    """Compare classifiers on all words, on those of each parameter and of the query with constant verdicts and the intent."""
    audit_keys(subject, part)
    part.measured["constants"] = constants(subject)
    if (why := subject.why_no_baseline) is not None:
        part.measured["why_no_words"] = why
        part.left_out.append(text("word baseline: {why}.", why=why))
        return
    single = {name: predict_alone(subject, name, subject.stated[name].fill_null("")) for name in subject.parameters}
    of_query = subject.baseline
    if subject.reads != "query":
        of_query = predict_alone(subject, "the query", texts(subject.benchmark, "query"))
        single["query"] = of_query
    groups, counted = subject.groups_held_out, cache(partial(subject.words, subject.reads))
    rows = [
        baseline_row(subject, subject.reads, groups, subject.baseline),
        *wider_holdouts(subject, counted),
        *(baseline_row(subject, name, groups, values) for name, values in single.items()),
    ]
    single.pop("query", None)
    for_safe, for_unsafe = telling_phrases(subject, counted)
    part.measured |= {
        "baselines": rows,
        "phrases_for_safe": for_safe,
        "phrases_for_unsafe": for_unsafe,
        "exchanged_contexts": int(subject.exchanged.sum()),
    }
    solution = find_solution(subject)
    if solution is not None:
        evidence = {"reads": READS[solution.reads], "accuracy": solution.accuracy.fields()}
        part.add("baseline.solved", solution.sentence, 1.0, evidence)
    vocabulary(subject, part)
    gains = {name: gain_over_constant(subject, values, ~subject.exchanged) for name, values in single.items()}
    if holding := {name: gain for name, gain in gains.items() if gain.holds(comparisons=len(gains))}:
        ranked = sorted(holding, key=lambda name: -holding[name].gain)
        best = holding[ranked[0]]
        part.add(
            "baseline.one-parameter",
            f"Words of one parameter alone predict the labels: {parameter_in_words(ranked[0])} on {percent(best.accuracy)} of "
            f"items, the most of {count_of(len(gains), 'parameter')}; a constant verdict is right on {percent(best.constant)}.",
            min(1.0, best.share) / 2,
            {name: holding[name].evidence for name in ranked},
        )
    if subject.reads != "query" and (gain := gain_over_constant(subject, of_query)).holds():
        part.add(
            "baseline.query",
            text(
                "Words of the {query} alone predict the label on {right} of items; a constant verdict is right on {constant}.",
                right=percent(gain.accuracy),
                constant=percent(gain.constant),
            ),
            gain.share,
            gain.evidence,
        )
    shortcut(subject, part)


class Solution(NamedTuple):
    """A classifier on words that solves a benchmark."""

    reads: Features
    accuracy: Estimate
    constant: float
    """The accuracy of the better constant verdict."""
    held_out: Text

    @property
    def sentence(self) -> Text:
        """Return the sentence that words alone solve the benchmark, for the first line of an audit and of every report."""
        return text(
            "Words alone solve this benchmark: a classifier of {reads}, tested on whole {held_out} that it did not learn "
            "from, gives the label on {right} of items, where a constant verdict does on {constant}. A high agreement here "
            "does not show that a judge weighs the case.",
            reads=READS[self.reads],
            held_out=self.held_out,
            right=self.accuracy.as_share,
            constant=percent(self.constant),
        )


def find_solution(subject: Subject) -> Solution | None:
    """Return the classifier whose accuracy is above `SOLVED` with its whole interval, and above the constant verdict; else
    None.

    The interval is over queries, or over contexts where they recur and differ more. Where accuracy is alike in every
    query and in every context, it is over those of which there are more.
    """
    if subject.why_no_baseline is not None:
        return None
    every: tuple[Features, ...] = ("query",) if subject.reads == "query" else ("context", "query", "query+context")
    for reads in dict.fromkeys((subject.reads, *every)):
        values = subject.predicted(reads)
        samples = (
            judge_sample(subject.items, values, elicitation="probability", policy=VOTES, cluster=groups)
            for groups in subject.groupings
        )
        read_alone, accuracy_alone = ~np.isnan(values), parse_metrics("accuracy")
        over = [estimate(sample.where(read_alone), metrics=accuracy_alone)[0] for sample in samples]
        varying = [accuracy for accuracy in over if accuracy.method == STUDENT]
        accuracy = max(varying, key=interval_width) if varying else min(over, key=interval_width)
        gain = gain_over_constant(subject, values, ~subject.exchanged)
        if (accuracy.ci_low or 0) >= SOLVED and gain.holds(comparisons=len(every)):
            return Solution(reads, accuracy, gain.constant, subject.groups_held_out)
    return None


def interval_width(accuracy: Estimate) -> float:
    return np.inf if accuracy.limits is None else accuracy.limits[1] - accuracy.limits[0]


def predict_alone(subject: Subject, words: str, written: Iterable[str]) -> FloatArray:
    """Return predictions from these words. They are stored for the next audit of the benchmark."""
    folds = min(subject.folds, FEWER_FOLDS)
    return cached_item_numbers(
        subject.benchmark,
        f"words of {words} alone, {subject.groups_held_out!s} held out in {count_of(folds, 'fold')}",
        lambda: subject.predict(written, folds=folds),
        made_with="scikit-learn",
    )


def wider_holdouts(subject: Subject, counted: Callable[[], PhraseCounts]) -> Iterator[dict[str, Any]]:
    """Yield the baseline with whole categories held out, and whole authors where they are recorded for all."""
    authors = subject.stated_by[1]
    for name, column in (("categories", subject.items["category"]), ("authors", authors)):
        if column.has_nulls() or column.n_unique() < 2:
            continue
        groups = integer_codes(column)
        folds = min(subject.folds, column.n_unique())
        values = cached_item_numbers(
            subject.benchmark,
            f"words of {subject.reads}, {name} held out in {count_of(folds, 'fold')}",
            partial(lambda groups, folds: subject.predict(counted(), groups=groups, folds=folds), groups, folds),
            made_with="scikit-learn",
        )
        if not np.isnan(values).all():
            yield baseline_row(subject, subject.reads, name, values)


def telling_phrases(
    subject: Subject, counted: Callable[[], PhraseCounts]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the phrases with the largest coefficients for safe and for unsafe."""

    def coefficients() -> dict[str, float]:
        sides = strongest_phrases(counted(), subject.label[subject.words_read], n=PHRASES)
        return {
            f"{side}{phrase.text}": phrase.coefficient
            for side, phrases in zip("+-", sides, strict=True)
            for phrase in phrases
        }

    label = f"{PHRASES} phrases of {subject.reads} for each verdict"
    numbers = cached_numbers(subject.benchmark, label, coefficients, made_with="scikit-learn")
    for_safe, for_unsafe = (
        [{"text": name[1:], "coefficient": value} for name, value in numbers.items() if name[0] == side]
        for side in "+-"
    )
    return for_safe, for_unsafe


def baseline_row(subject: Subject, reads: str, held_out: str, values: FloatArray) -> dict[str, Any]:
    """Return one baseline: the words that it reads, the groups that are held out, and how well it agrees with people."""
    metrics = parse_metrics("accuracy", "recall_safe", "recall_unsafe", "pearson", "brier")
    numbers: dict[str, Any] = {"reads": reads, "held_out": held_out}
    for policy in (VOTES, PUBLISHED):
        sample = judge_sample(subject.items, values, subject.raters, elicitation="probability", policy=policy)
        estimates = estimate(sample.where(~np.isnan(values)), metrics=metrics)
        numbers[policy.base] = {metric.name: metric.fields() for metric in estimates}
    return numbers


def constants(subject: Subject) -> dict[str, dict[str, float | None]]:
    """Return the accuracy of constant verdicts and of the intent, under both policies; None where no item has a label of the policy."""
    n, accuracy = len(subject.items), find_metric("accuracy")
    verdicts = {"constant:safe": np.ones(n), "constant:unsafe": np.zeros(n), "constant:intended": subject.intended}
    return {
        name: {
            policy.base: None if np.isnan(value) else value
            for policy in (VOTES, PUBLISHED)
            for value in [value_of(accuracy, judge_sample(subject.items, values, elicitation="binary", policy=policy))]
        }
        for name, values in verdicts.items()
    }


def gain_over_constant(subject: Subject, values: FloatArray, rows: BoolArray | None = None) -> Gain:
    r"""Return the gain in accuracy of the verdicts of `values` over the better constant verdict.

    .. math:: g = \frac{1}{n} \sum_i (a_i - c_i), \qquad
       z = \frac{\sum_i (a_i - c_i)}{\sqrt{\frac{G}{G-1} \sum_q D_q^2}}, \quad D_q = \sum_{i \in q} (a_i - c_i - g)

    with :math:`a_i`, :math:`c_i` the weight of people's label on the classifier's and on the constant verdict.
    """
    rows = ~np.isnan(subject.label) & ~np.isnan(values) & (True if rows is None else rows)
    label = subject.label[rows]
    constant = label if label.mean() >= 0.5 else 1 - label
    difference = right_weight(values[rows] > 0.5, label) - constant
    gain = float(difference.mean())
    spread = float(np.sqrt(max(cluster_variance(difference - gain, groups[rows]) for groups in subject.groupings)))
    return Gain(gain, float(difference.sum()) / spread if spread > 0 else 0.0, constant_accuracy(label))


def vocabulary(subject: Subject, part: AuditPart) -> None:
    """Add a finding if the words alone predict the label."""
    gain, measured = gain_over_constant(subject, subject.baseline, ~subject.exchanged), part.measured
    if not gain.holds():
        return
    baselines = measured["baselines"]
    accuracy = baselines[0]["votes"]["accuracy"]
    part.add(
        "baseline.vocabulary",
        text(
            "{words} alone predict the label on {right} of items; a constant verdict is right on {constant}.",
            words=capitalised(READS[subject.reads]),
            right=share(accuracy["estimate"], accuracy["ci_low"], accuracy["ci_high"]),
            constant=percent(gain.constant),
        ),
        gain.share,
        {
            "accuracy": accuracy,
            "accuracy_by_what_is_held_out": {
                baseline["held_out"]: baseline["votes"]["accuracy"]["estimate"]
                for baseline in baselines
                if baseline["reads"] == subject.reads
            },
            "gain": gain.gain,
            "z": gain.z,
            "constants": measured["constants"],
            "phrases_for_safe": [phrase["text"] for phrase in measured["phrases_for_safe"]],
            "phrases_for_unsafe": [phrase["text"] for phrase in measured["phrases_for_unsafe"]],
        },
    )


def shortcut(subject: Subject, part: AuditPart) -> None:
    """Test on contexts that were exchanged between queries and rated anew whether the prediction stays where people change."""
    usable = ~np.isnan(subject.label) & ~np.isnan(subject.baseline)
    moved, stayed = subject.exchanged & usable, ~subject.exchanged & usable
    if moved.sum() < LEAST_EXCHANGED or not gain_over_constant(subject, subject.baseline, stayed).holds():
        return
    hit = right_weight(subject.baseline > 0.5, subject.label)
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
        text(
            "With contexts exchanged between {queries}, the words predict {moved} of the labels instead of {stayed}: the "
            "prediction stays, the label changes.",
            moved=percent(on_moved),
            stayed=percent(on_stayed),
        ),
        drop / max(1e-9, on_stayed),
        {
            "exchanged_items": int(moved.sum()),
            "accuracy_on_exchanged": on_moved,
            "accuracy_on_the_others": on_stayed,
            "z": z,
        },
        items=subject.first_ids(moved & (hit < 0.5)),
    )


LOW_MARGIN = 1 / 3
"""Share of items that are called low-margin: those about which the classifier is least sure."""

POSSIBLY_HARD = 0.05
"""An item belongs to `hard` where at least this share of the splits of its votes would choose it."""

SUBSETS: dict[str, str] = {
    "clear": f"at least {100 * AGREEMENT:.0f} % of the votes agree",
    "close": f"fewer than {100 * AGREEMENT:.0f} % of the votes agree",
    "low-margin": "the third of items about which a classifier on the context's words is least sure; labels are not used",
    "hard": "that classifier is wrong, by one half of the votes; scored by the other half",
}
"""The values of `--items`."""


def subset(benchmark: Benchmark, name: str) -> RecordColumns[Item]:
    """Return the items of the subset called `name`, in the order of the benchmark.

    `hard` is every item that some half of its votes would choose; a report scores each by the other half
    (`casewise.stats.pairs.hard_score`).

    Raises ConfigurationError: there is no such subset; the message lists those that there are. BenchmarkError: the
    benchmark cannot say which items these are, or there are none.
    """
    return benchmark.items.at(np.flatnonzero(subset_rows(Subject(benchmark), name)))


def subset_rows(subject: Subject, name: str) -> BoolArray:
    """Return the subset called `name` as a mask over the items. Raises as `subset` does."""
    if name not in SUBSETS:
        listed = "\n".join(f"  {subset}: {text}" for subset, text in SUBSETS.items())
        raise ConfigurationError(f"no subset is called {name!r}{did_you_mean(name, SUBSETS)}; there are\n{listed}")
    rows = by_agreement(subject, name) if name in ("clear", "close") else by_words(subject, name)
    if not rows.any():
        raise BenchmarkError(f"{subject.benchmark.name!r} has no items that are {name!r} ({SUBSETS[name]})")
    return rows


def by_agreement(subject: Subject, name: str) -> BoolArray:
    """Return the items on which people agree (`clear`), or do not (`close`)."""
    if not subject.benchmark.ratings:
        raise BenchmarkError(f"--items {name} needs labels, and {subject.benchmark.name!r} has none")
    if not subject.labels.rated:
        raise BenchmarkError(
            f"--items {name} needs several votes an item, and {subject.benchmark.name!r} has {subject.labels.agreed_with}"
        )
    rated = subject.n_votes > 0
    margin = np.abs(subject.n_safe / np.where(rated, subject.n_votes, 1) - 0.5)
    rows: BoolArray = ((margin >= AGREEMENT - 0.5 - ROUNDING) == (name == "clear")) & rated
    return rows


def by_words(subject: Subject, name: str) -> BoolArray:
    """Return the items about which the classifier on words is least sure (`low-margin`), or wrong (`hard`)."""
    if subject.why_no_baseline is not None:
        raise BenchmarkError(
            text(
                "--items {name} needs a classifier on the contexts' words, and {benchmark!r} allows none: {why}",
                name=name,
                benchmark=subject.benchmark.name,
                why=subject.why_no_baseline,
            )
        )
    if name == "hard":
        verdict = (subject.baseline > 0.5).astype(float)
        chosen = halves(subject.n_safe, subject.n_votes, verdict=verdict).chosen >= POSSIBLY_HARD
        return chosen & subject.words_read
    margin = np.abs(subject.baseline - 0.5)  # nan, which is sorted last, where no words are read
    rows = np.zeros(len(margin), dtype=bool)
    rows[np.argsort(margin, kind="stable")[: max(1, round(LOW_MARGIN * int(subject.words_read.sum())))]] = True
    return rows


def audit_subsets(subject: Subject, part: AuditPart) -> None:
    """Count the items of each subset."""
    part.measured["items_by_subset"] = sizes = {}
    for name in SUBSETS:
        try:
            sizes[name] = int(subset_rows(subject, name).sum())
        except BenchmarkError as error:
            part.left_out.append(text("subset {name}: {why}.", name=name, why=error.words))
