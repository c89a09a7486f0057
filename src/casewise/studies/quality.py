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
from typing import Literal

from casewise.notation import percent
from casewise.records import Verdict
from casewise.studies.design import Attention, Design
from casewise.text import count_of

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
    """The decision; None for a skipped check."""
    seconds: float | None
    """Seconds from the page's arrival to the decision; None where it could not be measured."""
    expected: Verdict | None = None
    """The right answer of an attention check; None for an item."""
    words: int = 0
    """Words on the page; counted where the rules of exclusion are applied."""
    scripted: bool = False
    """The page saw no person's key press, touch or click before the answer, or saw text pasted."""

    @property
    def is_check(self) -> bool:
        return self.expected is not None


@dataclass(frozen=True, slots=True)
class Flag:
    """A threshold that was passed."""

    kind: FlagKind
    value: float
    threshold: float
    evidence: str


@dataclass(frozen=True, slots=True)
class Dissent:
    """The number of an annotator's differences from the majority of the others; shown, and never a reason to
    exclude."""

    differs: int
    compared: int


def flags(answers: Sequence[AnsweredPage], design: Design, *, skipped: int = 0, pages: int = 0) -> tuple[Flag, ...]:
    """Return the flags that one annotator's answers raise under the thresholds of `design`, in a fixed order.

    `skipped`: skipped pages, of all `pages` of the annotator.
    """
    attention, quality, fastest = design.attention, design.quality, design.ratings.minimum_seconds
    raised = []
    if failed := failed_checks(answers, attention):
        checks = sum(answer.is_check for answer in answers)
        names = ", ".join(answer.item_id + (" (skipped)" if answer.verdict is None else "") for answer in failed)
        evidence = f"failed {len(failed)} of {checks} attention checks: {names}"
        raised.append(Flag("failed_checks", len(failed), attention.may_fail, evidence))
    if skipped > (most := attention.most_skips(pages)):
        raised.append(Flag("many_skips", skipped, most, f"skipped {skipped} of {count_of(pages, 'page')}"))
    times = [answer.seconds for answer in answers if answer.seconds is not None]
    if len(times) >= ENOUGH and (fast := sum(time < fastest for time in times)) > quality.too_fast_share * len(times):
        evidence = (
            f"{fast} of {count_of(len(times), 'answer')} took less than {fastest:g} s (median {median(times):.1f} s)"
        )
        raised.append(Flag("too_fast", fast / len(times), quality.too_fast_share, evidence))
    verdicts = Counter(answer.verdict for answer in answers if not answer.is_check)
    if (total := verdicts.total()) >= ENOUGH:
        (verdict, n_same), threshold = verdicts.most_common(1)[0], quality.same_answer_share
        if n_same >= threshold * total:
            evidence = f"{n_same} of {count_of(total, 'rating is')} {verdict!r}"
            raised.append(Flag("same_answer", n_same / total, threshold, evidence))
    scripted, threshold = sum(answer.scripted for answer in answers), quality.scripted_share
    if len(answers) >= ENOUGH and scripted > threshold * len(answers):
        evidence = f"{scripted} of {count_of(len(answers), 'answer')} came without a key press, touch or click of a person, or pasted"
        raised.append(Flag("scripted_input", scripted / len(answers), threshold, evidence))
    if len(times) >= ENOUGH and (mean := fmean(times)) and (spread := pstdev(times) / mean) < quality.minimum_spread:
        varies = f"by {percent(spread)} of" if spread >= 0.001 else "by less than 0.1 % of"
        evidence = f"{len(times)} answering times vary {varies} their mean {mean:.1f} s"
        raised.append(Flag("even_timing", spread, quality.minimum_spread, evidence))
    return tuple(raised)


def reason_to_void(answers: Sequence[AnsweredPage], design: Design) -> str | None:
    """Return why the rules of the design exclude this annotator without the owner's decision; None if they do not."""
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


def failed_checks(answers: Sequence[AnsweredPage], attention: Attention) -> list[AnsweredPage]:
    """Return the attention checks that were failed or skipped, where they are more than the design allows."""
    failed = [answer for answer in answers if answer.is_check and answer.verdict != answer.expected]
    return failed if len(failed) > attention.may_fail else []


def disagreement(verdicts: Mapping[str, Verdict], votes: Mapping[str, Counter[Verdict]]) -> Dissent:
    """Count how often `verdicts` differs from the majority of the others, whose `votes` it is among; ties are not compared."""
    differs = compared = 0
    for item_id, verdict in verdicts.items():
        n_agreeing = votes[item_id][verdict] - 1
        different = votes[item_id].total() - 1 - n_agreeing
        compared += n_agreeing != different
        differs += different > n_agreeing
    return Dissent(differs, compared)
