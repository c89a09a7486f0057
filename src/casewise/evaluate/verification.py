"""A benchmark's contexts held against facts: how many claims came to what, by which step, and how well forgeries are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from functools import cached_property
from itertools import chain, product
from typing import Any

import numpy as np

from casewise.contexts.sources import EXPECTED, KINDS_FORGED, Forgery
from casewise.errors import BenchmarkError
from casewise.records import Arm, Context, ShortRepr, ShownContext
from casewise.stats.arrays import BoolArray
from casewise.stats.estimates import Estimate, estimate_of
from casewise.stats.measured import TotalsByCluster, share
from casewise.storage.benchmark import Benchmark
from casewise.transforms.catalogue import show_item
from casewise.transforms.verified import (
    STATUSES,
    STEPS,
    Facts,
    HeldClaim,
    ModelStep,
    Permission,
    Policy,
    WrittenVerification,
    open_pairs,
    subjects_of,
    verify,
)


@dataclass(frozen=True, repr=False)
class VerifiedContext(ShortRepr):
    """A context and what facts say of each of its claims."""

    context: Context
    held: tuple[HeldClaim, ...]

    def status_of(self, parameter: str) -> str:
        """What is said of a parameter as a whole: the worst of its claims, or supported if any is, or not stated."""
        found = {one.status for one in self.held if one.claim.parameter == parameter}
        return next((one for one in ("contradicted", "expired", "supported") if one in found), "not stated")

    def step_of(self, parameter: str) -> str:
        """What that was decided by; `none` where it is not stated."""
        status = self.status_of(parameter)
        by = (
            str(one.step) for one in self.held if one.claim.parameter == parameter and one.status == status and one.step
        )
        return next(by, NO_STEP)


NO_STEP = "none"


@dataclass(frozen=True)
class Contribution:
    """What one step did for one kind of forgery."""

    step: str
    right: Estimate
    wrong: Estimate
    """Of the contexts of the kind: those that it called what they should be called, and those that it called otherwise."""


@dataclass(frozen=True)
class Detection:
    """How a kind of forgery is found."""

    kind: str
    expected: str
    recall: Estimate
    """Of the contexts of the kind: those of which verification says what it should."""
    precision: Estimate
    """Of the contexts of which it says so: those of a kind that should be called so."""
    steps: tuple[Contribution, ...]
    """What each step that decided any of the kind did for it: what they called rightly adds up to the recall."""


@dataclass(frozen=True, repr=False)
class VerificationNumbers(ShortRepr):
    """All numbers of a verification."""

    benchmark: Benchmark
    facts: Facts
    at: date
    """The day on which the facts were asked."""
    truth: tuple[Forgery, ...] = ()
    """What was forged, where that is known."""
    model_steps: tuple[ModelStep, ...] = ()
    policy: Policy | None = None
    attacks: tuple[Arm, ...] = ()
    """Arms whose claims verifiers are asked about too: they are in no number here, and decided for arms that go by this."""

    @cached_property
    def contexts(self) -> tuple[VerifiedContext, ...]:
        """Every context with what is known of its claims."""
        return tuple(self._held(one, one.shown()) for one in self.benchmark.contexts)

    @cached_property
    def open_pairs(self) -> tuple[str, ...]:
        """What a further step would be asked: every claim that nothing decided with each fact that is about the same."""
        found = (
            pair
            for one in chain(self.contexts, self._attacked())
            for held in one.held
            for pair, _ in open_pairs(held, self.facts.about(subjects_of(one.context)))
        )
        return tuple(dict.fromkeys(found))

    def _attacked(self) -> Iterator[VerifiedContext]:
        """Contexts as the attacks show them."""
        for arm, item in product(self.attacks, self.benchmark.items):
            context = self.benchmark.context_of(item)
            if context is not None:
                yield self._held(context, show_item(arm, self.benchmark, item).context)

    def _held(self, context: Context, shown: ShownContext) -> VerifiedContext:
        held = verify(shown, subjects_of(context), self.facts, at=self.at, steps=self.model_steps)
        return VerifiedContext(context, held)

    @cached_property
    def permissions(self) -> tuple[Permission, ...]:
        """What the policy says of every context; nothing without one."""
        if self.policy is None:
            return ()
        query = self.benchmark.query
        return tuple(
            self.policy.of(one.context, one.held, query[one.context.query_id].category, facts=self.facts, at=self.at)
            for one in self.contexts
        )

    @cached_property
    def counts(self) -> dict[str, dict[str, int]]:
        """By parameter, how many claims came to which status."""
        found: dict[str, Counter[str]] = {}
        for one in self.contexts:
            for held in one.held:
                found.setdefault(held.claim.parameter, Counter())[held.status] += 1
        return {name: {status: counted[status] for status in STATUSES} for name, counted in found.items()}

    @cached_property
    def steps(self) -> dict[str, int]:
        """How many claims each step decided; those that none did are not stated."""
        return {**Counter(str(held.step or NO_STEP) for one in self.contexts for held in one.held)}

    @property
    def used(self) -> int:
        """Contexts of which any fact says anything."""
        return sum(any(held.fact is not None for held in one.held) for one in self.contexts)

    @cached_property
    def detections(self) -> tuple[Detection, ...]:
        """How each kind of forgery is found; nothing where the truth is not known.

        Raises BenchmarkError: the truth is of contexts that the benchmark does not have.
        """
        if not self.truth:
            return ()
        by_id = {one.context.id: one for one in self.contexts}
        if missing := [one.context_id for one in self.truth if one.context_id not in by_id]:
            raise BenchmarkError(
                f"the truth is of contexts that {self.benchmark.name!r} does not have, such as {missing[0]}"
            )
        of = [by_id[one.context_id] for one in self.truth]
        said = np.array([one.status_of(row.parameter) for one, row in zip(of, self.truth, strict=True)])
        kinds = np.array([row.kind for row in self.truth])
        expected = np.array([EXPECTED[row.kind] for row in self.truth])
        places = {query: n for n, query in enumerate(dict.fromkeys(one.context.query_id for one in of))}
        cluster = np.array([places[one.context.query_id] for one in of], dtype=np.intp)
        step = np.array([one.step_of(row.parameter) for one, row in zip(of, self.truth, strict=True)])
        order = (*STEPS, *(one.name for one in self.model_steps), NO_STEP)
        found = []
        for kind in KINDS_FORGED:
            wanted, own = EXPECTED[kind], kinds == kind
            steps = tuple(
                Contribution(
                    name,
                    share_of((said == wanted) & (step == name), own, cluster, "right"),
                    share_of((said != wanted) & (step == name), own, cluster, "wrong"),
                )
                for name in order
                if (own & (step == name)).any()
            )
            recall = share_of(said == wanted, own, cluster, "recall")
            precision = share_of(expected == wanted, said == wanted, cluster, "precision")
            found.append(Detection(kind, wanted, recall, precision, steps))
        return tuple(found)

    def examples(self, n: int) -> Sequence[tuple[VerifiedContext, HeldClaim]]:
        """Claims that are contradicted or expired, one a context."""
        found = [
            (one, held)
            for one in self.contexts
            for held in [h for h in one.held if h.status in ("contradicted", "expired")][:1]
        ]
        return found[:n]

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values; an arm goes by them where they are written to a file."""
        return {
            **WrittenVerification.of(self.facts, self.model_steps, at=self.at).model_dump(mode="json"),
            "benchmark": self.benchmark.name,
            "facts": len(self.facts.facts),
            "contexts": len(self.contexts),
            "counts": self.counts,
            "steps": self.steps,
            "detections": [asdict(one) for one in self.detections],
            "asked": {step.name: {"pairs": step.asked, "read": len(step.said)} for step in self.model_steps},
            "permissions": [{**vars(one), "flagged": one.flagged} for one in self.permissions],
            "claims": [
                {
                    "context_id": one.context.id,
                    "parameter": held.claim.parameter,
                    "claim": held.claim.text,
                    "status": held.status,
                    "step": held.step,
                    "span": held.span or None,
                    "fact": None if held.fact is None else held.fact.model_dump(mode="json"),
                }
                for one in self.contexts
                for held in one.held
            ],
        }


def share_of(
    top: BoolArray, bottom: BoolArray, cluster: np.ndarray[tuple[int], np.dtype[np.intp]], name: str
) -> Estimate:
    terms = {"top": (top & bottom).astype(float), "bottom": bottom.astype(float)}
    totals = TotalsByCluster.of(terms, cluster)
    return estimate_of(totals.measure(share(name, "top", "bottom")))
