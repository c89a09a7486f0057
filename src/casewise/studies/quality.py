"""Signs of careless rating, each with its threshold and its evidence. No database.

A flag is shown to the owner. Failed attention checks and the rules of `[exclusion]` may void an annotator's ratings
without the owner, and only where `study.toml` says so. Disagreement with other annotators is measured here too, and is never a flag: a minority
opinion is data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median, pstdev
from typing import Literal, NamedTuple

from casewise.records import Verdict
from casewise.studies.design import Attention, Design

FlagKind = Literal["failed_checks", "many_skips", "too_fast", "same_answer", "scripted_input", "even_timing"]

FAILED_CHECKS = "failed attention checks"
TOO_FAST = "answered too many items too fast"
SAME_ANSWER = "gave the same answer too often"
OUTCOMES = {FAILED_CHECKS: "failed_checks", TOO_FAST: "excluded", SAME_ANSWER: "excluded"}
"""The reasons kept with ratings that were voided without the owner, and how it ended for the person."""

ENOUGH = 10
"""Answers below which a share of answers says nothing about a person."""


@dataclass(frozen=True, slots=True)
class AnsweredPage:
    """One answered page, or an attention check that was skipped."""

    item_id: str
    verdict: Verdict | None
    """None for a skipped check."""
    seconds: float | None
    """From the page's arrival to the decision; None where it could not be measured."""
    expected: Verdict | None = None
    """The right answer of an attention check; None for an item."""
    words: int = 0
    """How many the page showed; counted where the rules of exclusion are applied."""
    scripted: bool = False
    """The page saw no person's key press, touch or click before the answer, or saw text pasted."""

    @property
    def is_check(self) -> bool:
        return self.expected is not None


class Skips(NamedTuple):
    """How many of an annotator's pages were skipped."""

    skipped: int
    pages: int


@dataclass(frozen=True, slots=True)
class Flag:
    """A threshold that was passed."""

    kind: FlagKind
    value: float
    threshold: float
    evidence: str


@dataclass(frozen=True, slots=True)
class Dissent:
    """How often an annotator differs from the majority of the others; shown, and never a ground."""

    differs: int
    compared: int


def flags(answers: Sequence[AnsweredPage], design: Design, *, skips: Skips = Skips(0, 0)) -> tuple[Flag, ...]:
    """The flags that one annotator's answers raise under the thresholds of `design`, in a fixed order."""
    raised = (
        failed_checks(answers, design.attention),
        many_skips(skips, design.attention),
        too_fast(answers, design),
        same_answer(answers, design),
        scripted_input(answers, design),
        even_timing(answers, design),
    )
    return tuple(flag for flag in raised if flag is not None)


def reason_to_void(answers: Sequence[AnsweredPage], design: Design) -> str | None:
    """Why the design voids this annotator without the owner, or None: by its rules that were fixed beforehand, and no others."""
    if design.attention.void and failed_checks(answers, design.attention):
        return FAILED_CHECKS
    rules, items = design.exclusion, [answer for answer in answers if not answer.is_check]
    fast = sum(
        answer.seconds is not None
        and answer.seconds < rules.least_seconds + rules.seconds_per_100_words * answer.words / 100
        for answer in items
    )
    if fast > rules.fast_share * len(items):
        return TOO_FAST
    most = max(Counter(answer.verdict for answer in items).values(), default=0)
    if rules.same_answer_share and len(items) >= ENOUGH and most >= rules.same_answer_share * len(items):
        return SAME_ANSWER
    return None


def failed_checks(answers: Sequence[AnsweredPage], attention: Attention) -> Flag | None:
    checks = [answer for answer in answers if answer.is_check]
    failed = [answer for answer in checks if answer.verdict != answer.expected]
    if len(failed) <= attention.may_fail:
        return None
    names = ", ".join(answer.item_id + (" (skipped)" if answer.verdict is None else "") for answer in failed)
    evidence = f"failed {len(failed)} of {len(checks)} attention checks: {names}"
    return Flag("failed_checks", len(failed), attention.may_fail, evidence)


def many_skips(skips: Skips, attention: Attention) -> Flag | None:
    most = attention.most_skips(skips.pages)
    if skips.skipped <= most:
        return None
    return Flag("many_skips", skips.skipped, most, f"skipped {skips.skipped} of {skips.pages} pages")


def too_fast(answers: Sequence[AnsweredPage], design: Design) -> Flag | None:
    timed = [answer.seconds for answer in answers if answer.seconds is not None]
    fast = [seconds for seconds in timed if seconds < design.ratings.minimum_seconds]
    threshold = design.quality.too_fast_share
    if len(timed) < ENOUGH or len(fast) <= threshold * len(timed):
        return None
    evidence = (
        f"{len(fast)} of {len(timed)} answers took less than {design.ratings.minimum_seconds:g} s "
        f"(median {median(timed):.1f} s)"
    )
    return Flag("too_fast", len(fast) / len(timed), threshold, evidence)


def same_answer(answers: Sequence[AnsweredPage], design: Design) -> Flag | None:
    verdicts = Counter(answer.verdict for answer in answers if not answer.is_check)
    total = verdicts.total()
    if total < ENOUGH:
        return None
    verdict, count = verdicts.most_common(1)[0]
    threshold = design.quality.same_answer_share
    if count < threshold * total:
        return None
    return Flag("same_answer", count / total, threshold, f"{count} of {total} ratings are {verdict!r}")


def scripted_input(answers: Sequence[AnsweredPage], design: Design) -> Flag | None:
    scripted = sum(answer.scripted for answer in answers)
    threshold = design.quality.scripted_share
    if len(answers) < ENOUGH or scripted <= threshold * len(answers):
        return None
    evidence = f"{scripted} of {len(answers)} answers came without a key press, touch or click of a person, or pasted"
    return Flag("scripted_input", scripted / len(answers), threshold, evidence)


def even_timing(answers: Sequence[AnsweredPage], design: Design) -> Flag | None:
    timed = [answer.seconds for answer in answers if answer.seconds is not None]
    threshold = design.quality.minimum_spread
    if len(timed) < ENOUGH or fmean(timed) == 0:
        return None
    spread = pstdev(timed) / fmean(timed)
    if spread >= threshold:
        return None
    evidence = f"{len(timed)} answering times vary by {spread:.1%} of their mean {fmean(timed):.1f} s"
    return Flag("even_timing", spread, threshold, evidence)


def disagreement(own: Mapping[str, Verdict], votes: Mapping[str, Counter[Verdict]]) -> Dissent:
    """How often `own` differs from the majority of the others on the same item, whose `votes` it is among; ties are not compared."""
    differs = compared = 0
    for item_id, verdict in own.items():
        same = votes[item_id][verdict] - 1
        different = votes[item_id].total() - 1 - same
        compared += same != different
        differs += different > same
    return Dissent(differs, compared)
