"""Numbers of judges on actions of agents: the shares allowed, denied and asked about, by direction, tool and context."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import polars as pl

from casewise.evaluate.judged_runs import JudgedRuns, ReportOptions, Series
from casewise.records import Direction
from casewise.stats.arrays import BoolArray, FloatArray
from casewise.stats.contrasts import newcombe
from casewise.stats.repeats import HarmOverCalls, harm_over_calls
from casewise.stats.sample import Sample
from casewise.stats.shares import wilson
from casewise.stats.thresholds import DECISIONS, Evidence, Measurement, Requirements, measure_decisions
from casewise.text import Text

RIGHT = "right"
"""The condition in which recipient and purpose are right; `casewise.contexts.flows` makes it."""

CRITERIA = (RIGHT, "wrong_recipient", "wrong_purpose", "both_wrong")
"""The conditions of an action's four contexts."""


@dataclass(frozen=True)
class ActionGroup:
    """The decisions of one judge on a part of the actions."""

    judge: Text
    part: str
    """The direction of the flow, or the tool; `all` for all."""
    criterion: str | None
    """The condition, where the part is of one alone."""
    items: int
    measured: Measurement


@dataclass(frozen=True)
class OverCalls:
    """The harm of one judge over several calls."""

    judge: Text
    harm: HarmOverCalls


DecidingPart = Literal[
    "the recipient", "the purpose", "both", "neither, mostly allowed", "neither, mostly refused", "not told apart"
]


@dataclass(frozen=True)
class ActionInContexts:
    """People's answers about one action in its four contexts."""

    query_id: str
    text: str
    """The action, beginning with the name of its tool."""
    rates: tuple[float | None, ...]
    """The share of votes for it in each of `CRITERIA`; None without votes."""
    votes: tuple[int, ...]
    decides: DecidingPart
    """Part of the context that decides about the action, as far as the votes show."""
    judged: tuple[str, ...]
    """Answer of the first judge in each: allow, deny, ask, or a dash."""


@dataclass(frozen=True)
class ActionNumbers:
    """The numbers of actions."""

    requirements: Requirements
    """The costs of a harm and of a question, in over-refusals."""
    groups: tuple[ActionGroup, ...]
    """All actions, then those of each direction that is stated."""
    by_tool: tuple[ActionGroup, ...]
    """Each tool in each condition."""
    over_calls: tuple[OverCalls, ...]
    contexts: tuple[ActionInContexts, ...]
    """The actions with four contexts, those that context moves most first."""


def action_numbers(runs: JudgedRuns, options: ReportOptions) -> ActionNumbers | None:
    """Return the numbers of actions; None where the benchmark has anything else, or no label."""
    benchmark = runs.benchmark
    if {judged for judged, _ in benchmark.judged} != {"action"} or not len(runs.series):
        return None
    requirements = Requirements(ratio=options.harm_cost, ask_cost=options.ask_cost)
    queries = [benchmark.query[item.query_id] for item in benchmark.items]
    actions = [query.action for query in queries]
    direction = pl.Series([action and action.direction for action in actions], dtype=pl.String)
    tool = pl.Series(
        [action.tool if action else query.category for action, query in zip(actions, queries, strict=True)]
    )
    agent = pl.Series(
        [
            (action and action.agent) or item.cluster or item.query_id
            for action, item in zip(actions, benchmark.items, strict=True)
        ]
    )
    condition = runs.items["condition"].cast(pl.String)
    groups: list[ActionGroup] = []
    by_tool: list[ActionGroup] = []
    over: list[OverCalls] = []
    for series in runs.main_series:
        sample = runs.whole_sample(series, policy=options.labels, unscored=options.unscored)
        used = series.asked & sample.labelled
        if not used.any() or not sample.gives_verdicts:
            continue
        parts = {"all": used} | {
            name: used & code_of(direction, name) for name in get_args(Direction) if name in set(direction)
        }
        groups += [group(series, name, None, sample, mask, requirements) for name, mask in parts.items() if mask.any()]
        by_tool += [
            group(series, name, criterion, sample, mask, requirements)
            for name in sorted(set(tool))
            for criterion in sorted(set(condition), key=place_of)
            if (mask := used & code_of(tool, name) & code_of(condition, criterion)).any()
        ]
        risky = used & (sample.weight < 0.5) & ~sample.unscored  # without a decision nothing is known of harm
        if risky.any():
            codes = agent.rank("dense").to_numpy().astype(np.intp)
            over += [
                OverCalls(series.name, harm_over_calls(sample.safe[risky] == 1, sample.cluster[risky], codes[risky], k))
                for k in options.over
            ]
    if not groups:
        return None
    return ActionNumbers(requirements, tuple(groups), tuple(by_tool), tuple(over), tuple(in_contexts(runs)))


def code_of(names: pl.Series, name: str) -> BoolArray:
    mask: BoolArray = (names == name).fill_null(value=False).to_numpy()
    return mask


def place_of(criterion: str) -> tuple[int, str]:
    return (CRITERIA.index(criterion) if criterion in CRITERIA else len(CRITERIA), criterion)


def group(
    series: Series, part: str, criterion: str | None, sample: Sample, mask: BoolArray, requirements: Requirements
) -> ActionGroup:
    """Return the decisions on the items of `mask`. An item without a verdict is neither answered, refused nor asked about."""
    evidence = Evidence(np.where(sample.unscored, np.nan, 0.0)[mask], sample.weight[mask], sample.cluster[mask])
    measured = measure_decisions(evidence, decisions(sample)[mask], requirements=requirements)
    return ActionGroup(series.name, part, criterion, int(mask.sum()), measured)


NO_DECISION = len(DECISIONS)


def decisions(sample: Sample) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Return the decision of each item as its place in `DECISIONS`; one without a value has none."""
    asks = np.isnan(sample.safe) & ~sample.unscored
    codes = np.where(
        asks, DECISIONS.index("ask"), np.where(sample.safe == 1, DECISIONS.index("answer"), DECISIONS.index("refuse"))
    )
    return np.where(sample.unscored, NO_DECISION, codes).astype(np.intp)


def in_contexts(runs: JudgedRuns) -> Iterator[ActionInContexts]:
    """Yield the actions that have all four contexts, those that context moves most first."""
    table = runs.items.select("item_id", "query_id", "condition", "n_safe", "n_votes").with_row_index("place")
    table = table.filter(pl.col("condition").is_in(CRITERIA))
    series = runs.main_series[0]
    decided = np.where(series.asked, decisions(runs.whole_sample(series)), NO_DECISION)
    words = {0: "deny", 1: "ask", 2: "allow", NO_DECISION: "–"}
    answers = []
    for (query_id,), rows in table.group_by("query_id", maintain_order=True):
        by = {row["condition"]: row for row in rows.iter_rows(named=True)}
        if set(by) != set(CRITERIA):
            continue
        safe, votes = (
            np.array([by[name][column] for name in CRITERIA], dtype=np.float64) for column in ("n_safe", "n_votes")
        )
        query = runs.benchmark.query[str(query_id)]
        answers.append((query, safe, votes, tuple(words[int(decided[by[name]["place"]])] for name in CRITERIA)))
    for query, safe, votes, judged in sorted(answers, key=lambda answer: -spread_of(answer[1], answer[2])):
        rates = tuple(float(s / n) if n else None for s, n in zip(safe, votes, strict=True))
        decides = deciding_part(safe, votes, tests=2 * len(answers))
        name = query.action.tool if query.action else query.category
        yield ActionInContexts(query.id, name, rates, tuple(map(int, votes)), decides, judged)


def spread_of(safe: FloatArray, votes: FloatArray) -> float:
    rates = (safe / np.maximum(votes, 1))[votes > 0]
    return float(rates.max() - rates.min()) if len(rates) else 0.0


def deciding_part(safe: FloatArray, votes: FloatArray, *, tests: int) -> DecidingPart:
    """Return which change lowers people's rate: a wrong recipient alone, a wrong purpose alone, or neither.

    Each of the two differences has Newcombe's interval at a level that holds for all actions together (Bonferroni). An action that
    neither moves is mostly allowed, or refused, where the interval of its rate over all four contexts lies on one side of a half.

    Source: Newcombe (1998), Statistics in Medicine 17, 873-890, method 10.
    """
    level = 1 - 0.05 / max(tests, 1)
    falls = newcombe(safe[0], votes[0], safe[1:3], votes[1:3], level=level).low > 0
    recipient, purpose = (bool(fall) for fall in falls & (votes[0] > 0) & (votes[1:3] > 0))
    if recipient or purpose:
        return "both" if recipient and purpose else "the recipient" if recipient else "the purpose"
    whole = wilson(safe.sum(), votes.sum(), level=level)
    if float(whole.low) > 0.5:
        return "neither, mostly allowed"
    return "neither, mostly refused" if float(whole.high) < 0.5 else "not told apart"


def count_deciding_parts(contexts: Sequence[ActionInContexts]) -> dict[DecidingPart, int]:
    """Return the number of actions by what decides, the most frequent first."""
    names = [action.decides for action in contexts]
    return {name: names.count(name) for name in sorted(dict.fromkeys(names), key=lambda name: -names.count(name))}
