"""What a study needs and costs, before anyone is asked: people, hours, money."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from casewise.studies.design.design import Design
from casewise.studies.design.ledger import Ledger, LedgerItem

__all__ = ["StudyEstimate", "estimate"]


@dataclass(frozen=True, slots=True)
class StudyEstimate:
    """What `study check` says. Money is in the design's currency; hours are the annotators'."""

    items: int
    ratings: int
    """Valid ratings promised in all."""
    annotators: int
    """People who pass the quiz and rate, if nobody drops out, skips or is voided."""
    short_batches: int
    screened_out: int
    """People expected not to pass the quiz at the stated rate."""
    minutes_per_annotator: float
    hours: float
    pay: float
    fees: float
    hourly: float
    """What the median annotator earns in an hour."""
    hourly_floor: float

    @property
    def total(self) -> float:
        """Pay and fees."""
        return self.pay + self.fees

    @property
    def problem(self) -> str | None:
        """Why the study should not run as it is, or None."""
        if self.hourly >= self.hourly_floor:
            return None
        fair = ceil(self.hourly_floor * self.minutes_per_annotator / 60 * 100) / 100
        return (
            f"pay.per_batch gives {self.hourly:.2f} an hour at the median time of {self.minutes_per_annotator:.1f} "
            f"minutes, below pay.hourly_floor = {self.hourly_floor:.2f}; pay at least {fair:.2f} a batch, "
            "or make batches smaller"
        )


def estimate(design: Design, items: list[LedgerItem]) -> StudyEstimate:
    """Play the design to its end with people who all finish, and add up.

    minutes = before + (items + checks) x seconds per page / 60;
    pay = annotators x per_batch + screened out x screen_out; fees = pay x fee_percent / 100.
    """
    batches = play(design, items)
    pages = design.ratings.per_annotator + design.attention.checks_per_batch
    minutes = design.pay.minutes_before + pages * design.pay.seconds_per_page / 60
    rate = design.quiz.expected_pass_rate
    screened_out = ceil(round(len(batches) * (1 - rate) / rate, 6)) if rate > 0 else 0
    pay = len(batches) * design.pay.per_batch + screened_out * design.pay.screen_out
    return StudyEstimate(
        items=len(items),
        ratings=len(items) * design.ratings.per_item,
        annotators=len(batches),
        short_batches=sum(size < design.ratings.per_annotator for size in batches),
        screened_out=screened_out,
        minutes_per_annotator=minutes,
        hours=(len(batches) * minutes + screened_out * design.pay.minutes_before) / 60,
        pay=pay,
        fees=pay * design.pay.fee_percent / 100,
        hourly=design.pay.per_batch / minutes * 60,
        hourly_floor=design.pay.hourly_floor,
    )


def play(design: Design, items: list[LedgerItem]) -> list[int]:
    """Sizes of the batches it takes when everyone finishes."""
    ledger = Ledger(
        items,
        per_item=design.ratings.per_item,
        batch_size=design.ratings.per_annotator,
        rng=np.random.default_rng(design.seed),
    )
    sizes: list[int] = []
    while any(ledger.open_slots().values()):
        sizes.append(len(ledger.arrive(str(len(sizes)))))
    return sizes
