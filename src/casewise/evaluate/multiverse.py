"""Every judge under every rule that turns votes into labels and replies into verdicts: does the rule decide who is first?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, NamedTuple, Self, get_args

import numpy as np

from casewise.errors import BenchmarkError
from casewise.evaluate.conclusions import in_words
from casewise.evaluate.judged_runs import JudgedRuns, ReportOptions, RunNumbers, Series, read_runs
from casewise.evaluate.yardsticks import select_series, without_attacks
from casewise.notation import percent
from casewise.records import ShortRepr
from casewise.stats.comparison import BEST_BY, rank_intervals
from casewise.stats.estimates import Estimate, estimate_of, measure
from casewise.stats.intervals import ROUNDING_ERROR
from casewise.stats.labels import LabelBase, LabelPolicy, Ties, Unsure, labels
from casewise.stats.measured import Measured
from casewise.stats.metrics import find_metric, parse_metrics
from casewise.stats.sample import PUBLISHED_UNSCORED, UnscoredPolicy
from casewise.storage.files import json_value
from casewise.storage.load import Source
from casewise.storage.run_folder import AnyRun
from casewise.storage.wording import LabelWords
from casewise.text import Text, capitalised, count_of, join, text


class Rules(NamedTuple):
    """One choice for every rule; None where a rule does not apply to the others chosen."""

    labels: LabelBase
    ties: Ties | None
    unsure: Unsure | None
    unscored: UnscoredPolicy | None

    def policy(self, options: ReportOptions) -> LabelPolicy:
        """Return the label policy, with the overrides of the report."""
        return LabelPolicy(self.labels, self.ties or "half", self.unsure or "drop", options.labels.overrides)

    @property
    def name(self) -> str:
        """The choices that apply, in words."""
        return ", ".join(
            value if field == "labels" else f"{field} {value}" for field, value in self._asdict().items() if value
        )


RULES = {
    "labels": "label policy",
    "ties": "tie rule",
    "unsure": "rule for unsure votes",
    "unscored": "rule for items without a verdict",
}
"""Each rule in words."""


@dataclass(frozen=True, repr=False)
class RankingUnderRules(ShortRepr):
    """The judges under one choice of rules, on the items that all of them have."""

    rules: Rules
    n_items: int
    """Items with a label."""
    numbers: dict[str, Estimate]
    """The deciding metric of each judge, the highest first."""
    first: tuple[str, ...]
    """The judges with the highest number."""
    may_be_best: tuple[str, ...]
    """The judges that none is shown to be better than; all where there is one query."""


def known_value(world: RankingUnderRules, judge: str) -> float:
    """Return the number of a judge in a combination. It is known, because combinations without it are left out."""
    value = world.numbers[judge].estimate
    assert value is not None
    return value


@dataclass(frozen=True, repr=False)
class MultiverseNumbers(RunNumbers):
    """The headline and the ranking of judges under every combination of rules that applies to the data."""

    metric: str
    worlds: tuple[RankingUnderRules, ...]
    without_effect: tuple[Text, ...]
    """A sentence on each rule, or choice of one, that changes nothing here."""
    notes: tuple[str, ...]

    @classmethod
    def from_runs(
        cls, judged: Sequence[AnyRun], *, benchmark: Source | None = None, options: ReportOptions = ReportOptions()
    ) -> Self:
        """Measure every judge of runs over one benchmark under every combination of rules.

        Raises as `read_runs`. BenchmarkError: no judge has a verdict or a value on half of its items, or no item that all were
        asked has a label.
        """
        runs = select_series(without_attacks(read_runs(judged, benchmark=benchmark)), options)
        series = [series for series in runs.main_series if not series.mostly_unscored]
        if not series:
            raise BenchmarkError(
                "no judge has a verdict on at least half of its items, so no rule has anything to count"
            )
        chosen, without_effect = applicable_rules(runs, series, options)
        metric, worlds, n_undefined = "", list[RankingUnderRules](), 0
        for rules in chosen:
            measured, n_items = measured_under(rules, runs, series, options)
            metric = metric or next((name for name in BEST_BY if all(name in has for has in measured.values())), "")
            numbers = {name: has[metric] for name, has in measured.items() if metric in has}
            if (
                n_items
                and len(numbers) == len(series)
                and not any(math.isnan(value.value) for value in numbers.values())
            ):
                worlds.append(under_rules(rules, numbers, n_items))
            else:
                n_undefined += 1
        if not worlds:
            raise BenchmarkError("no item that all judges were asked has a label under any rule")
        unread = (
            text("{judge} gave no verdict on {share} of items.", judge=judge.name, share=percent(judge.unscored_share))
            for judge in series
            if judge.unscored_share
        )
        undefined = (
            [f"{count_of(n_undefined, 'combination is')} left out: the number of a judge cannot be computed there."]
            if n_undefined
            else []
        )
        notes = (
            *runs.benchmark.notes(),
            *runs.cluster_notes,
            *runs.silent_notes,
            *runs.repeats_notes,
            *unread,
            *undefined,
        )
        return cls(runs, options, metric, tuple(worlds), without_effect, notes)

    @property
    def judges(self) -> tuple[str, ...]:
        """The names of the judges, in the order of the first combination."""
        return tuple(self.worlds[0].numbers)

    @property
    def decisive(self) -> tuple[str, ...]:
        """The rules whose change alone changes the first judge."""
        return tuple(dict.fromkeys(differing_rule(a, b) for a, b in self.pairs() if a.first != b.first))

    def pairs(self) -> Iterator[tuple[RankingUnderRules, RankingUnderRules]]:
        """Yield each two combinations that differ in one rule."""
        for a, b in combinations(self.worlds, 2):
            if differing_rule(a, b):
                yield a, b

    @property
    def sentence(self) -> Text:
        """Return the sentence on the first judge under all combinations, the rule that decides it, or the range of a single
        judge."""
        n = count_of(len(self.worlds), "combination")
        if len(self.judges) == 1:
            return self.range_sentence()
        if len(self.worlds) == 1:
            (world,) = self.worlds
            return text(
                "Only one combination of rules applies to these data. First: {first}.", first=join(" and ", world.first)
            ) + count_decided(self.worlds)
        always = set(self.worlds[0].first).intersection(*(world.first for world in self.worlds))
        if len(always) == 1:
            shared = sum(len(world.first) > 1 for world in self.worlds)
            with_others = text(", with others that are equal under {k:,} of them", k=shared) if shared else ""
            return text(
                "{judge} is first under all {n} of rules{with_others}.",
                judge=next(iter(always)),
                n=n,
                with_others=with_others,
            ) + count_decided(self.worlds)
        by_leader: dict[tuple[str, ...], list[RankingUnderRules]] = {}
        for world in self.worlds:
            by_leader.setdefault(world.first, []).append(world)
        if len(by_leader) == 1:
            return text(
                "{judges} are equal in first place under all {n} of rules.", judges=join(" and ", sorted(always)), n=n
            )
        counts = join(
            "; ",
            (text("{who} under {n:,}", who=join(" and ", best), n=len(worlds)) for best, worlds in by_leader.items()),
        )
        rules = [RULES[rule] for rule in self.decisive] or ["combination of rules"]
        rule_names = " and of the ".join(rules)
        if len(self.decisive) == 1:
            rule = self.decisive[0]
            choices = {best: {getattr(world.rules, rule) for world in worlds} for best, worlds in by_leader.items()}
            if sum(map(len, choices.values())) == len(set().union(*choices.values())):
                counts = join(
                    "; ",
                    (
                        text("{who} under {names}", who=join(" and ", best), names=", ".join(sorted(map(str, names))))
                        for best, names in choices.items()
                    ),
                )
        return text(
            "The choice of the {which} decides who is first: {counts}.", which=rule_names, counts=counts
        ) + count_decided(self.worlds)

    def range_sentence(self) -> Text:
        """Return how far the number of the only judge moves, and which rule moves it most."""
        (judge,) = self.judges
        values = [known_value(world, judge) for world in self.worlds]
        title = find_metric(self.metric).title
        if max(values) - min(values) < ROUNDING_ERROR:
            every = "the only combination" if len(values) == 1 else f"all {count_of(len(values), 'combination')}"
            return text(
                "{judge}: {metric} {value} under {every} of rules.",
                judge=judge,
                metric=title,
                value=in_words(values[0], self.metric),
                every=every,
            )
        moves: dict[str, float] = {}
        for a, b in self.pairs():
            rule = differing_rule(a, b)
            moved = abs(known_value(a, judge) - known_value(b, judge))
            moves[rule] = max(moves.get(rule, 0.0), moved)
        most = max(moves, key=lambda rule: moves[rule], default="labels")
        return text(
            "{judge}: {metric} from {low} to {high} over {n} of rules. The {rule} changes it most.",
            judge=judge,
            metric=title,
            low=in_words(min(values), self.metric),
            high=in_words(max(values), self.metric),
            n=count_of(len(values), "combination"),
            rule=RULES[most],
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "benchmark": {"name": self.benchmark.name, "digest": self.benchmark.digest},
            "sentence": str(self.sentence),
            "metric": self.metric,
            "judges": list(self.judges),
            "decisive": list(self.decisive),
            "combinations": [
                {
                    **world.rules._asdict(),
                    "n_items": world.n_items,
                    "numbers": json_value(world.numbers),
                    "first": list(world.first),
                    "may_be_best": list(world.may_be_best),
                }
                for world in self.worlds
            ],
            "without_effect": [str(sentence) for sentence in self.without_effect],
            "cluster": self.options.cluster,
            "notes": [str(note) for note in self.notes],
        }


def count_decided(worlds: Sequence[RankingUnderRules]) -> Text:
    """Return the number of combinations in which one judge is shown to be better than all others."""
    winners = [world.may_be_best[0] for world in worlds if len(world.may_be_best) == 1]
    if not winners:
        return Text(" Under none of them is one judge shown to be better than all others.")
    names = dict.fromkeys(winners)
    return Text(" ") + text(
        "Shown to be better than all others: {names}.",
        names=join(
            ", ",
            (text("{name} under {k:,} of {n:,}", name=name, k=winners.count(name), n=len(worlds)) for name in names),
        ),
    )


def differing_rule(first: RankingUnderRules, second: RankingUnderRules) -> str:
    """Return the one rule in which two combinations differ; empty where they differ in none or several."""
    pairs = zip(Rules._fields, first.rules, second.rules, strict=True)
    differing = [name for name, a, b in pairs if a != b and (name == "labels" or (a is not None and b is not None))]
    return differing[0] if len(differing) == 1 else ""


def applicable_rules(
    runs: JudgedRuns, series: Sequence[Series], options: ReportOptions
) -> tuple[tuple[Rules, ...], tuple[Text, ...]]:
    """Return the combinations of rules that give different labels or verdicts, and sentences on what has no effect."""
    items = runs.items
    voted = bool(items["n_votes"].sum()) or bool(items["published_rate"].is_not_null().any())
    intended, unsure = bool(items["intended_safe"].is_not_null().any()), int(items["n_unsure"].sum())
    on_scale = "mean_is_safe" in items.columns and bool(items["mean_is_safe"].is_not_null().any())
    bases: dict[LabelBase, str] = {
        "votes": "" if voted else "nobody voted",
        "published": "" if voted and intended else "it needs votes and an intent of the context's author",
        "intended": "" if intended else "no context states its author's intent",
        "mean": "" if on_scale else "no rating is on a scale",
    }
    without = [text("Labels {name}: {why}.", name=base, why=reason) for base, reason in bases.items() if reason]
    if not unsure:
        without.append(text("Unsure {votes}: there are none.", votes=LabelWords.for_benchmark(runs.benchmark).noun))
    of_labels: dict[bytes, Rules] = {}
    tied = False
    for base in (base for base, reason in bases.items() if not reason):
        of_unsure: tuple[Unsure | None, ...] = (
            get_args(Unsure) if unsure and base in ("votes", "published") else (None,)
        )
        for unsure_rule in of_unsure:
            weight = labels(items, LabelPolicy(base, unsure=unsure_rule or "drop")).weight
            has_ties = base == "votes" and bool((weight == 0.5).any())
            tied = tied or has_ties
            of_ties: tuple[Ties | None, ...] = get_args(Ties) if has_ties else (None,)
            for tie_rule in of_ties:
                rules = Rules(base, tie_rule, unsure_rule, None)
                weight = labels(items, rules.policy(options)).weight
                twin = of_labels.setdefault(weight.tobytes(), rules)
                if twin != rules and not np.isnan(weight).all():
                    without.append(
                        text("{rules}: the same labels as {same}.", rules=capitalised(rules.name), same=twin.name)
                    )
    if voted and not tied:
        without.append(Text("Ties: no item is tied."))
    lacking: tuple[UnscoredPolicy | None, ...] = (None,)
    if any(each_series.unscored_share for each_series in series):
        filled = any(each_series.elicitation in PUBLISHED_UNSCORED for each_series in series)
        lacking = ("miss", "exclude", "published") if filled else ("miss", "exclude")
        if not filled:
            without.append(Text("Unscored published: it differs from miss for scores and probabilities only."))
    else:
        without.append(Text("Unscored: every item has a verdict."))
    chosen = product(of_labels.values(), lacking)
    return tuple(rules._replace(unscored=unscored) for rules, unscored in chosen), tuple(without)


def measured_under(
    rules: Rules, runs: JudgedRuns, series: Sequence[Series], options: ReportOptions
) -> tuple[dict[str, dict[str, Measured]], int]:
    """Return each judge's metrics by name that are defined, on the items that all of them have; and how many have a label."""
    unscored = rules.unscored or "miss"
    common = np.logical_and.reduce([each_series.counted(unscored) for each_series in series])
    if not common.any():
        return {each_series.name: {} for each_series in series}, 0
    samples = {
        each_series.name: runs.whole_sample(each_series, policy=rules.policy(options), unscored=unscored).where(common)
        for each_series in series
    }
    measured: dict[str, dict[str, Measured]] = {
        name: {
            number.name: number
            for number in measure(sample, metrics=parse_metrics(*BEST_BY))
            if not np.isnan(number.value)
        }
        for name, sample in samples.items()
    }
    return measured, int(next(iter(samples.values())).labelled.sum())


def under_rules(rules: Rules, measured: dict[str, Measured], n_items: int) -> RankingUnderRules:
    """Rank the judges under one combination of rules."""
    names = sorted(measured, key=lambda name: -measured[name].value)
    most = measured[names[0]].value
    best = rank_intervals([measured[name] for name in names]).best.tolist()
    return RankingUnderRules(
        rules,
        n_items,
        {name: estimate_of(measured[name]) for name in names},
        tuple(name for name in names if most - measured[name].value < ROUNDING_ERROR),
        tuple(name for name, rank in zip(names, best, strict=True) if rank == 1),
    )
