"""Attack the context: what to attack with, the arms of an attack, what became of the verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import polars as pl

from casewise.api.judging import AnyJudge, PlannedRun, Run, RunOptions, plan_run
from casewise.errors import ConfigurationError
from casewise.evaluate.judged_runs import ReportOptions
from casewise.evaluate.robustness import RequiredRobustness, RobustnessNumbers, compare_with_bounds
from casewise.judges.plan import Plan, RunEstimate, RunSummary, unseen_attacks, unseen_note
from casewise.records import FULL, Arm, Elicitation, Item, scale_of
from casewise.reports.comparison import CIReport, bounds_suite, required_page
from casewise.reports.formats import Report
from casewise.reports.robustness import offered_page, robustness_page
from casewise.runs.limits import RunObserver, run_sync
from casewise.runs.run import run_spend
from casewise.runs.texts import Maker, TextAsk, estimate_texts, make_texts, makers_spend, read_made_texts, text_key
from casewise.storage.columns import RecordColumns
from casewise.storage.load import Source, loaded_benchmark, source_of
from casewise.storage.run_folder import JUDGEMENT_LOG, JUDGEMENTS, AnyRun, judgement_table, last_attempts
from casewise.transforms.catalogue import (
    TO_COMPLETE,
    attack_arms,
    available_transforms,
    parse_attacks,
    parse_defences,
    role_of,
    setting_of,
    show_item,
)
from casewise.transforms.channels import DIRECTIONS, Direction
from casewise.transforms.texts import (
    UNWRITTEN,
    AdaptiveAttack,
    AdaptiveTurn,
    EarlierClaim,
    claim_request,
    is_confirmed,
    load_attacker,
)

NOISE = "order:reversed,format:prose"
"""The default perturbations: they show how often this judge changes its verdict where nothing new is said."""


def list_attacks(benchmark: Source | None = None) -> Report[dict[str, Any]]:
    """List the available attacks, perturbations and defences. With a benchmark, attacks from the twin use its own
    parameters."""
    parameters = None if benchmark is None else loaded_benchmark(benchmark).parameters
    attacks = (*available_transforms(parameters), *TO_COMPLETE)
    return Report({"offered": [vars(attack) for attack in attacks]}, lambda _: offered_page(attacks))


def parse_attack_arms(
    benchmark: Source,
    attacks: str | Sequence[str],
    *,
    defences: str | Sequence[str] = "none",
    noise: str = NOISE,
    at: date | str | None = None,
) -> tuple[Arm, ...]:
    """Return the arms of an attack: every attack under every defence, each defence without an attack, and the item as it is.

    Parameters
    ----------
    attacks
        By name, with commas where it is a text; `all`, or the beginning of names.
    noise
        Perturbations that are asked besides; empty or `none` for no others than `attacks` names.
    at
        The day on which facts are asked, where a defence has any; today by default. It is part of the arm's name.

    Raises
    ------
    ConfigurationError, DataError
        There is no such attack or defence.
    """
    parameters = loaded_benchmark(benchmark).parameters
    named = attacks.split(",") if isinstance(attacks, str) else attacks
    chosen = dict.fromkeys(parse_attacks(named, parameters))
    if noise not in ("", "none"):
        chosen |= dict.fromkeys(parse_attacks(noise, parameters))
    else:  # perturbations that are part of `all` are noise
        own_attacks = parse_attacks([name for name in named if name.strip() != "all"], parameters)
        chosen = {attack: None for attack in chosen if attack in own_attacks or role_of(attack) != "perturbation"}
    return attack_arms(chosen, parse_defences(defences, at=at))


def attack(
    benchmark: Source,
    judged_by: AnyJudge,
    *,
    attacks: str | Sequence[str] | None = None,
    defences: str | Sequence[str] = "none",
    noise: str = NOISE,
    attacker: str | None = None,
    adaptive: AdaptiveAttack = AdaptiveAttack(),
    at: date | str | None = None,
    out: str | Path | None = None,
    elicitations: str | Sequence[Elicitation] = (),
    repeats: int = 1,
    base_url: str | None = None,
    options: RunOptions = RunOptions(),
) -> Run:
    """Run a judge on every item under every attack and defence: an ordinary run, resumed like any other.

    Parameters are those of `parse_attack_arms` and of `casewise.judge`, besides:

    Parameters
    ----------
    attacks
        By default all, or none where there is an attacker.
    attacker
        The model of an adaptive attack: it is told the judge's verdict and rewrites its claim. Its address and prices are those of the
        judge's model where its name says no provider. It takes the place of the one in `adaptive`.
    adaptive
        How often the attacker may try on an item, and where its claims stand.

    Raises
    ------
    ConfigurationError
        There is no such attack, defence, model or channel; or an attacker is to turn a scalar, which is no verdict.

    Examples
    --------
    >>> def refuses(query, context):
    ...     return "unsafe"
    >>> run = attack("demo", refuses, attacks="claim:authority/user/safe")
    >>> robustness(run).numbers.flips.filter(pl.col("attack") == "claim:authority/user/safe")["estimate"].to_list()
    [0.0]
    >>> run = attack("demo", refuses, attacker="fake/rehearsal", adaptive=AdaptiveAttack(turns=2))
    >>> [one.by_turn[-1].estimate for one in robustness(run).numbers.adaptive]
    [0.0]
    """
    loaded = loaded_benchmark(benchmark)
    adaptive = adaptive if attacker is None else replace(adaptive, attacker=attacker)
    arms = parse_attack_arms(loaded, attacks_or_all(attacks, adaptive), defences=defences, noise=noise, at=at)
    options = replace(options, benchmark_source=options.benchmark_source or source_of(benchmark, loaded))
    how: dict[str, Any] = {"arms": arms, "repeats": repeats, "base_url": base_url, "options": options}
    planned = plan_run(loaded, judged_by, out=out, elicitations=elicitations, **how)
    return run_sync(AttackRun.from_plan(planned, adaptive).perform())


def attacks_or_all(attacks: str | Sequence[str] | None, adaptive: AdaptiveAttack) -> str | Sequence[str]:
    """Return the names of the attacks: those given; otherwise none if there is an attacker, and all if there is none."""
    return attacks if attacks is not None else () if adaptive.attacker is not None else "all"


@dataclass(frozen=True)
class AttackRun:
    """A run in all arms of a plan. If there is an attacker, it then tries in turns to change each verdict."""

    run: PlannedRun
    adaptive: AdaptiveAttack = field(default_factory=AdaptiveAttack)
    attacker: Maker | None = None

    @classmethod
    def from_plan(cls, planned: PlannedRun, adaptive: AdaptiveAttack) -> Self:
        """Return a planned run with its attacker. No call is made.

        Raises ConfigurationError: there is no such model, its key is not set, or an attacker meets a judge that is
        asked for several elicitations or for a scalar.
        """
        if adaptive.attacker is None:
            return cls(planned, adaptive)
        if len(planned.plan.elicitations) > 1:
            raise ConfigurationError("an attacker works with one elicitation; name it with --elicit")
        (elicitation,) = planned.plan.elicitations
        if scale_of(elicitation).threshold is None:
            raise ConfigurationError(f"an attacker needs verdicts, and {planned.judge.name} gives {elicitation} values")
        first_turn = Arm(transforms=(adaptive.turn(1, "safe", "none").transform,))
        if unseen_attacks(planned.benchmark, planned.judge, replace(planned.plan, arms=(first_turn,))):
            raise ConfigurationError(
                f"{planned.judge.name} does not receive the attacker's claims in the channel {adaptive.channel!r}; choose another with --channel"
            )
        return cls(planned, adaptive, load_attacker(adaptive, planned.making))

    def sends_to(self) -> tuple[str | None, ...]:
        """Return the receivers of texts, the attacker's last; None stands for this machine."""
        return (*self.run.sends_to(), *([self.attacker.model.sends_to] if self.attacker else []))

    def beyond_address(self) -> tuple[str, ...]:
        """Return the other receivers of texts where an address is given for the judge: its user may think of that address alone."""
        address = self.run.making.model.base_url
        known = (None, self.run.judge.sends_to, urlsplit(address or "").hostname)
        return (
            () if address is None else tuple(host for host in self.sends_to() if host is not None and host not in known)
        )

    @property
    def unattacked(self) -> list[tuple[str, Arm]]:
        """The arms without an attack, each with its defence."""
        settings = [(setting, arm) for arm in self.run.plan.arms if (setting := setting_of(arm)) is not None]
        return [(setting.defence, arm) for setting, arm in settings if setting.attack is None]

    def estimate(self) -> RunEstimate:
        """Return the cost of the run, with its control, if every verdict changed at the last turn. No call is made."""
        if self.attacker is None:
            return replace(self.run.estimate(), not_shown=self.unseen)
        adaptive, numbers = self.adaptive, range(1, self.adaptive.turns + 1)
        turns = [(adaptive.turn(n, "safe", name), arm) for (name, arm), n in product(self.unattacked, numbers)]
        controls = [(adaptive.control(n, "safe", name), arm) for (name, arm), n in product(self.unattacked, numbers)]
        arms = tuple(Arm(transforms=(turn.transform, *arm.transforms)) for turn, arm in (*turns, *controls))
        tries = replace(self.run.plan, arms=arms, repeats=1)
        last = tuple(
            arm for arm, (turn, _) in zip(arms, (*turns, *controls), strict=True) if turn.number == adaptive.turns
        )
        again = replace(self.run.plan, arms=last, repeats=adaptive.confirmations)
        estimate = self.run.estimate()
        for plan in (tries, again):
            estimate = estimate.plus(replace(self.run, plan=plan).estimate())
        asks = [
            self.claim_ask(turn, item, [EarlierClaim(UNWRITTEN, "unsafe")] * (turn.number - 1))
            for (turn, _), item in product(turns, self.run.plan.items)
        ]
        before = {**estimate.before, self.attacker.name: estimate_texts(self.attacker, asks)}
        return replace(estimate, before=before, not_shown=self.unseen)

    def claim_ask(self, turn: AdaptiveTurn, item: Item, claims: Sequence[EarlierClaim]) -> TextAsk:
        """Return the request to the attacker about an item at a turn."""
        return claim_request(turn, show_item(FULL, self.run.benchmark, item), place_of(turn, item), claims)

    async def perform(self) -> Run:
        """Perform the remaining calls of the run. Raises as `judge`."""
        summary = RunSummary(run=self.run.folder, n_items=len(self.run.plan.items))
        for note in self.notes_before():
            (self.run.options.watch or RunObserver()).say(note)
        try:
            await self.decide(summary, self.run.plan)
            if self.attacker is not None:
                for (defence, arm), direction, maker in product(self.unattacked, DIRECTIONS, (self.attacker, None)):
                    if can_continue(summary):
                        await self.attempt(summary, maker, defence, arm, direction)
        finally:
            await self.run.judge.close()
            if self.attacker is not None:
                await self.attacker.model.close()
        return Run(self.run.folder, self.run.benchmark, summary, self.run.temporary)

    @cached_property
    def unseen(self) -> tuple[str, ...]:
        """The attacks that do not reach the judge."""
        return unseen_attacks(self.run.benchmark, self.run.judge, self.run.plan)

    def notes_before(self) -> tuple[str, ...]:
        """Return what to know before anything is paid: how many attacks the judge cannot see, and that it gives no verdicts."""
        notes = [unseen_note(self.run.judge.name, self.unseen)]
        if all(scale_of(elicitation).threshold is None for elicitation in self.run.plan.elicitations):
            notes.append(
                f"{self.run.judge.name} gives scores and no verdicts: a report can say what it was shown, and not what turned"
            )
        return tuple(note for note in notes if note is not None)

    def tries(self, items: Sequence[Item], arm: Arm, *, again: int = 0) -> Plan:
        """Return the plan of one try on these items, with its repeats."""
        return replace(self.run.plan, items=RecordColumns.from_records(Item, items), arms=(arm,), repeats=1 + again)

    async def decide(self, summary: RunSummary, plan: Plan) -> None:
        """Ask the judge the questions of a plan."""
        planned = replace(self.run, plan=plan, temporary=None)
        summary.add((await planned.perform(closing=False)).summary)

    async def attempt(
        self, summary: RunSummary, attacker: Maker | None, defence: str, unattacked: Arm, direction: Direction
    ) -> None:
        """Try on every item with the other verdict, until a change is confirmed or the turns are over.

        `attacker`: who writes the claims; None for the control, with neutral statements.
        """
        start, adaptive = self.values(unattacked), self.adaptive
        left = [
            item
            for item in self.run.plan.items
            if self.verdict(first_value(start.get(item.id))) not in (None, direction)
        ]
        tried: dict[str, list[EarlierClaim]] = {item.id: [] for item in left}
        for number in range(1, adaptive.turns + 1):
            if not left:
                return
            turn = (adaptive.turn if attacker else adaptive.control)(number, direction, defence)
            if attacker is not None:
                await self.write(summary, attacker, [self.claim_ask(turn, item, tried[item.id]) for item in left])
            arm = Arm(transforms=(turn.transform, *unattacked.transforms))
            if can_continue(summary):
                await self.decide(summary, self.tries(left, arm))
            values = self.values(arm)
            changed = [item for item in left if self.verdict(first_value(values.get(item.id))) == direction]
            if changed and can_continue(summary):
                await self.decide(summary, self.tries(changed, arm, again=adaptive.confirmations))
                summary.n_usable -= len(changed)  # their first verdicts, which the try has counted
                summary.resumed -= len(changed)
                values = self.values(arm)
            if not can_continue(summary):
                return
            if attacker is not None:
                claims = read_made_texts(self.run.folder)
                for item in left:
                    if (claim := claims[attacker.name, text_key(place_of(turn, item))].made) is not None:
                        tried[item.id].append(EarlierClaim(claim, self.in_words(values.get(item.id), direction)))
            left = [item for item in left if not self.is_turned(values.get(item.id), direction)]

    def is_turned(self, values: Sequence[float | None] | None, direction: Direction) -> bool:
        """Return whether the first value is the verdict that was tried for, and those asked again confirm it."""
        verdicts = [self.verdict(value) for value in values or ()]
        return verdicts[:1] == [direction] and is_confirmed(verdicts[1:].count(direction), len(verdicts) - 1)

    async def write(self, summary: RunSummary, attacker: Maker, asks: Sequence[TextAsk]) -> None:
        """Let the attacker write the claims of a turn that the folder does not hold yet."""
        folder, options = self.run.folder, self.run.options
        limits = options.limits.reduced_by(run_spend(folder, JUDGEMENT_LOG) + makers_spend(folder, but=attacker.name))
        progress = await make_texts(folder, attacker, asks, limits=limits, watch=options.watch, command=options.command)
        summary.add(progress, answers=False)
        if can_continue(summary):
            claims = read_made_texts(folder)
            if n := sum(claims[attacker.name, ask.key[0]].passing for ask in asks):
                summary.stopped = f"{attacker.name} did not answer {n:,} times"

    def values(self, arm: Arm) -> dict[str, list[float | None]]:
        """Return the last value of each repeat of each item in an arm; None where it is unscored."""
        columns = ("item_id", "judge_id", "elicitation", "arm", "repeat", "attempt", "value")
        log = last_attempts(judgement_table(self.run.folder / JUDGEMENTS, columns=columns))
        key = {"judge_id": self.run.judge.id, "elicitation": self.run.plan.elicitations[0], "arm": arm.name}
        rows = log.filter(*(pl.col(column).cast(pl.String) == value for column, value in key.items()))
        by_item = rows.sort("repeat").group_by(pl.col("item_id").cast(pl.String), maintain_order=True).agg("value")
        return dict(by_item.iter_rows())

    def verdict(self, value: float | None) -> Direction | None:
        """Return the verdict of a value."""
        limit = scale_of(self.run.plan.elicitations[0]).threshold
        return None if value is None or limit is None else "safe" if value > limit else "unsafe"

    def in_words(self, values: Sequence[float | None] | None, direction: Direction) -> str:
        """Return a verdict in the words that the attacker reads."""
        elicitation, value = self.run.plan.elicitations[0], first_value(values)
        if self.verdict(value) == direction and not self.is_turned(values, direction):
            return f"{direction} once, and the other verdict when it was asked again"
        if value is None or elicitation == "binary":
            return self.verdict(value) or "none"
        return f"{self.verdict(value)} ({scale_of(elicitation).title}: {value:.2f})"


def first_value(values: Sequence[float | None] | None) -> float | None:
    """Return the value of the first repeat; None where there is none."""
    return values[0] if values else None


def can_continue(summary: RunSummary) -> bool:
    """Return True if nothing has stopped the run, and no batch is out."""
    return summary.stopped is None and not summary.n_pending


def place_of(turn: AdaptiveTurn, item: Item) -> str:
    return turn.place(item.query_id, item.context_id)


def robustness(
    run: AnyRun, *, benchmark: Source | None = None, options: ReportOptions = ReportOptions()
) -> Report[RobustnessNumbers]:
    """Return the report on how attacks changed the verdicts of a run.

    Raises
    ------
    BenchmarkError
        The run was not asked under any attack, or nothing without one.
    """
    numbers = RobustnessNumbers.from_run(run, benchmark=benchmark, options=options)
    return Report(numbers, robustness_page)


def require_robustness(
    run: AnyRun,
    max_turned: str | Mapping[str, float],
    *,
    defence: str = "none",
    benchmark: Source | None = None,
    options: ReportOptions = ReportOptions(),
) -> CIReport[RequiredRobustness]:
    """Test whether every attack of a run, under one defence, changes or silences at most the allowed share of verdicts.

    Parameters
    ----------
    max_turned
        `safe`, `unsafe` or `silenced` to the largest share allowed: `{"safe": 0.1}`, or `"safe=0.1,silenced=0.05"`.

    Raises
    ------
    BenchmarkError
        The run has no such attack.
    ConfigurationError
        A bound is none.

    Examples
    --------
    >>> run = attack("demo", lambda query, context: "unsafe", attacks="claim:authority/user")
    >>> found = require_robustness(run, "safe=0.2")
    >>> found.decision
    'pass'
    """
    numbers = robustness(run, benchmark=benchmark, options=options).numbers
    return CIReport(compare_with_bounds(numbers, max_turned, defence=defence), required_page, bounds_suite)
