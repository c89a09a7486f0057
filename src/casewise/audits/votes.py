"""Votes: agreement, labels, rates, patterns, and intent beside votes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from casewise.audits.subject import Finding, Part, Subject, together
from casewise.errors import StatisticsError
from casewise.stats.agreement import Agreement, agreement_of_votes, reliability
from casewise.stats.arrays import BoolArray, FloatArray
from casewise.stats.ceilings import JEFFREYS, UNIFORM, ceilings, same_label
from casewise.stats.panel import PanelCurve, panel_curve, usual_reference
from casewise.stats.sample import PUBLISHED, labels, numbered

# The people: how well they agree, what the best judge could score against them, and what a panel of them scores.


TENTATIVE = 0.667
"""Krippendorff (2004, ch. 11): below this alpha, do not draw conclusions from single coders."""

PANELS = (1, 3, 5, 7, 9)


def audit_people(subject: Subject) -> Part:
    """Agreement, reliability, ceilings and floors, and the panel curve."""
    if not subject.benchmark.ratings:
        return Part(name="people", left_out=("people: the benchmark has no ratings.",))
    rng = np.random.default_rng(subject.options.seed)
    measured: dict[str, Any] = {}
    left_out: list[str] = []
    agreed, curve = None, None
    try:
        agreed = agreement_of_votes(subject.n_safe, subject.n_votes, clusters=subject.query, raters=subject.raters)
        measured["agreement"] = asdict(agreed)
        found = reliability(
            subject.n_safe, subject.n_votes, rng=rng, clusters=subject.query, splits=subject.options.splits
        )
        measured["reliability"] = {"half": found.half, "split_half": found.split_half, "analytic": found.analytic}
        measured["ceilings"] = asdict(
            ceilings(subject.n_safe, subject.n_votes, condition=numbered(subject.items["condition"]))
        )
    except StatisticsError as error:
        left_out.append(f"agreement and ceilings: {error}.")
    try:
        curve = panel_curve(
            subject.n_safe,
            subject.n_votes,
            clusters=subject.query,
            reference_size=usual_reference(subject.n_votes),
            raters=subject.raters,
        )
        measured["panel"] = panel_rows(curve)
    except StatisticsError as error:
        left_out.append(f"panel curve: {error}.")
    little = agreed is not None and agreed.alpha_interval is not None and agreed.alpha_interval[1] < TENTATIVE
    findings = (disagree(agreed, curve),) if agreed is not None and little else ()
    return Part(name="people", measured=measured, findings=findings, left_out=tuple(left_out))


def known(limit: float) -> float | None:
    return None if np.isnan(limit) else float(limit)


def panel_rows(curve: PanelCurve) -> list[dict[str, Any]]:
    return [
        {
            "people": int(curve.sizes[place]),
            "agreement": float(curve.agreement[place]),
            "ci_low": known(curve.ci_low[place]),
            "ci_high": known(curve.ci_high[place]),
            "modelled": bool(curve.modelled[place]),
            "reference": curve.reference_size,
        }
        for place in (size - 1 for size in PANELS)
    ]


def disagree(agreed: Agreement, curve: PanelCurve | None) -> Finding:
    alpha = agreed.alpha or 0.0
    one = (
        f"; one person agrees with the majority of {curve.reference_size} others on {curve.agreement[0]:.0%}"
        if curve
        else ""
    )
    return Finding(
        code="people.disagree",
        title=f"People agree little with each other: Krippendorff's alpha is {alpha:z.2f}{one}.",
        effect="note",
        share=float(np.clip(1 - alpha, 0, 1)),
        evidence={
            "alpha": agreed.alpha,
            "alpha_interval": agreed.alpha_interval,
            "ac1": agreed.ac1,
            "raw_agreement": agreed.raw,
            "one_person_against_others": float(curve.agreement[0]) if curve else None,
            "usual_limit_for_tentative_conclusions": TENTATIVE,
        },
        advice=(
            "That people differ is a fact about the cases, not a fault to be cleaned away. Use rates of many votes, never "
            "single ratings, and hold judges against the panel curve, not against 100 %."
        ),
    )


# Stated safe rates against the votes they are stated for.


TOLERANCE = 5e-7
"""Stated rates are rounded; a difference below this is none."""

LEAST_ITEMS = 20
"""From so many items on, rates that all count the intent are no coincidence."""


def look_at_rates(subject: Subject) -> Part:
    """Stated rates against the votes, with and without the intent as one vote more."""
    stated = subject.items["published_rate"].cast(float).fill_null(np.nan).to_numpy()
    compared = ~np.isnan(stated) & (subject.n_votes > 0)
    if not compared.any():
        return Part(name="rates", left_out=("stated safe rates: the benchmark states none.",))
    with np.errstate(invalid="ignore", divide="ignore"):
        alone = np.abs(stated - subject.n_safe / subject.n_votes) <= TOLERANCE
        counted = np.abs(stated - (subject.n_safe + subject.intended) / (subject.n_votes + 1)) <= TOLERANCE
    neither = compared & ~alone & ~counted
    # A vote more that equals the intent by chance on a few items is a rate that disagrees, and no habit.
    only_so = int((compared & counted & ~alone).sum())
    habit = only_so >= LEAST_ITEMS and only_so >= 0.9 * (compared & ~alone).sum()
    with_intent = compared & counted
    measured = {
        "rates_stated": int(compared.sum()),
        "rates_as_votes": int((compared & alone).sum()),
        "rates_as_votes_and_intent": int((compared & counted).sum()),
        "rates_of_neither": int(neither.sum()),
    }
    findings = [intent_in_rates(subject, with_intent, compared)] if habit else []
    wrong = neither if habit else compared & ~alone
    if wrong.any():
        findings.append(rates_disagree(subject, wrong, stated))
    return Part(name="rates", measured=measured, findings=tuple(findings))


def intent_in_rates(subject: Subject, with_intent: BoolArray, compared: BoolArray) -> Finding:
    tied = (2 * subject.n_safe == subject.n_votes) & with_intent
    turned = {
        "safe": int((tied & (subject.intended == 1)).sum()),
        "unsafe": int((tied & (subject.intended == 0)).sum()),
    }
    n, usual = int(with_intent.sum()), int(np.median(subject.n_votes[with_intent]))
    return Finding(
        code="labels.intent-in-rates",
        title=f"In {n:,} of {int(compared.sum()):,} items the stated safe rate counts the author's intent as one vote more.",
        effect="label",
        share=n / len(subject.items),
        evidence={
            "items": n,
            "people_per_item": usual,
            "votes_counted": usual + 1,
            "formula": "stated rate = (safe votes + intent) / (votes + 1)",
            "ties_turned_safe": turned["safe"],
            "ties_turned_unsafe": turned["unsafe"],
            "labels_changed_by_it": int(tied.sum()),
        },
        advice=(
            f"Score against people's {usual} votes (--labels votes, the default); use --labels published only to compare "
            "with numbers that were computed so. Ties are then ties again."
        ),
        items=subject.named(tied if tied.any() else with_intent),
    )


def rates_disagree(subject: Subject, wrong: BoolArray, stated: FloatArray) -> Finding:
    by_votes = subject.n_safe[wrong] / subject.n_votes[wrong]
    return Finding(
        code="labels.rates-disagree",
        title=f"In {int(wrong.sum()):,} items the stated safe rate is not that of the votes.",
        effect="label",
        share=float(wrong.mean()),
        evidence={
            "items": int(wrong.sum()),
            "largest_difference": float(np.abs(stated[wrong] - by_votes).max()),
            "verdict_differs": int(((stated[wrong] > 0.5) != (by_votes > 0.5)).sum()),
        },
        advice="Find out which of the two is right before using either; casewise's labels come from the votes.",
        items=subject.named(wrong),
    )


# A vote that is no person's: one place, or one annotator, that equals the author's intent on every item.


CHANCE = 1e-6
"""How likely, over all raters together, a rater of flesh and blood may be to agree with every intent by chance."""
"""A rater who rated fewer items is not looked at."""


@dataclass(frozen=True)
class AgreementWithIntent:
    """How one rater's votes stand to the intent."""

    items: NDArray[np.intp]
    always: bool
    log_chance: float
    """Of agreeing with every intent, if each vote were drawn like the other votes on its item."""


def look_at_intent_votes(subject: Subject) -> Part:
    """Raters (places or annotators) whose votes are the intent, on every item they rated."""
    published = subject.benchmark.about.published
    if published is not None and published.votes_hold_intent:
        return Part(name="intent votes", findings=(imported(subject),))
    found = agreements(subject)
    limit = np.log(CHANCE / max(1, len(found)))
    copies = {name: a for name, a in found.items() if a.always and len(a.items) >= LEAST_ITEMS and a.log_chance < limit}
    return Part(
        name="intent votes",
        measured={"raters": len(found), "raters_equal_to_intent": len(copies)},
        findings=(copied(subject, copies),) if copies else (),
    )


def agreements(subject: Subject) -> dict[str, AgreementWithIntent]:
    """Each rater's agreement with the intent, on items that have one."""
    found = subject.benchmark.rated.arrays(subject.items["item_id"])
    intended = subject.intended[found.item]
    known = ~np.isnan(intended)
    item, safe, intended = found.item[known], found.safe[known], intended[known] == 1
    # Rates of the others, drawn in by one vote of each kind so that no chance is 0 or 1.
    rate = (subject.n_safe[item] - safe + 1) / (subject.n_votes[item] + 1)
    log_chance = np.log(np.where(intended, rate, 1 - rate))
    votes = len(found.annotators) + 1 + found.position
    codes, rater = np.unique(np.where(found.annotator >= 0, found.annotator, votes)[known], return_inverse=True)
    against = np.bincount(rater, weights=safe != intended)
    chances = np.bincount(rater, weights=log_chance)
    starts = np.searchsorted(np.sort(rater), np.arange(1, len(codes)))
    items = np.split(item[np.argsort(rater, kind="stable")], starts)
    return {
        rater_name(int(code), found.annotators): AgreementWithIntent(
            items[place], bool(against[place] == 0), float(chances[place])
        )
        for place, code in enumerate(codes)
    }


def rater_name(code: int, annotators: tuple[str, ...]) -> str:
    if code < len(annotators):
        return annotators[code]
    position = code - len(annotators) - 1
    return f"vote {position if position >= 0 else None}"


def imported(subject: Subject) -> Finding:
    n = len(subject.items)
    return Finding(
        code="labels.intent-in-votes",
        title=f"The last vote equals the author's intent in {n:,} of {n:,} items: it is no person's.",
        effect="label",
        share=1.0,
        evidence={"items": n, "vote": "last", "people_per_item": int(np.median(subject.n_votes))},
        advice="casewise has taken it out of the votes on import; score against people's votes (--labels votes, the default).",
    )


def copied(subject: Subject, copies: dict[str, AgreementWithIntent]) -> Finding:
    touched = np.zeros(len(subject.items), dtype=bool)
    for agreement in copies.values():
        touched[agreement.items] = True
    worst = max(copies, key=lambda name: len(copies[name].items))
    n = len(copies[worst].items)
    return Finding(
        code="labels.intent-in-votes",
        title=f"{len(copies)} rater(s) vote as the author intended on every item; {worst!r} on {n:,} of {n:,}.",
        effect="label",
        share=float(touched.mean()),
        evidence={
            "raters": {name: {"items": len(a.items), "log_chance": a.log_chance} for name, a in copies.items()},
            "largest_chance": CHANCE,
        },
        advice="Take these votes out: they are the author's intent, and count it as if a person had given it.",
        items=subject.named(touched),
    )


# The labels: what is counted in them, what settles them, and how likely they are to come out the same again.


LEAST_STABLE = 0.95
"""Labels are called unstable where fewer than so many would come out the same."""


def audit_labels(subject: Subject) -> Part:
    """Everything about votes, rates and labels. A benchmark without ratings leaves it out."""
    if not subject.benchmark.ratings:
        return Part(name="labels", left_out=("labels: the benchmark has no ratings.",))
    looks = (
        look_at_rates,
        look_at_intent_votes,
        look_at_ties,
        look_at_stability,
        look_at_unrated,
    )
    return together("labels", [look(subject) for look in looks])


def look_at_ties(subject: Subject) -> Part:
    """Ties, and what each label policy makes of them."""
    tied = subject.label == 0.5
    rated = int((subject.n_votes > 0).sum())
    measured = {"rated": rated, "ties": int(tied.sum())}
    if not tied.any():
        return Part(name="ties", measured=measured)
    published = labels(subject.items, PUBLISHED).weight[tied]
    known = ~np.isnan(published)
    finding = Finding(
        code="labels.ties",
        title=f"{int(tied.sum()):,} of {rated:,} items are ties: a rule, not people, settles their label.",
        effect="label",
        share=float(tied.sum() / len(subject.items)),
        evidence={
            "ties": int(tied.sum()),
            "of_them_intended_safe": int((subject.intended[tied] == 1).sum()),
            "published_makes_safe": int((published[known] == 1).sum()),
            "published_makes_unsafe": int((published[known] == 0).sum()),
            "votes_makes_of_each": "half safe, half unsafe",
        },
        advice="Quote --labels votes (a tie is half of each) and say how many ties there are; or drop them with --ties drop.",
        items=subject.named(tied),
    )
    return Part(name="ties", measured=measured, findings=(finding,))


def look_at_stability(subject: Subject) -> Part:
    """How many labels would come out the same in a repeated study, under several spreads of rates."""
    if subject.n_votes.max() < 2:
        return Part(name="stability", left_out=("stability of labels: no item has two votes.",))
    same = {
        "fitted by condition": subject.same_again,
        "Jeffreys": same_label(subject.n_safe, subject.n_votes, prior=JEFFREYS),
        "uniform": same_label(subject.n_safe, subject.n_votes, prior=UNIFORM),
    }
    means = {name: float(np.nanmean(found)) for name, found in same.items()}
    fitted = same["fitted by condition"]
    close = np.nan_to_num(fitted, nan=1.0) < 0.8
    measured = {"same_label_again": means, "labels_below_80_percent": int(close.sum())}
    if max(means.values()) >= LEAST_STABLE:
        return Part(name="stability", measured=measured)
    low, high = min(means.values()), max(means.values())
    finding = Finding(
        code="labels.unstable",
        title=f"If as many other people rated again, {low:.0%} to {high:.0%} of the labels would come out the same.",
        effect="label",
        share=1 - means["fitted by condition"],
        evidence={
            "expected_same": means,
            "labels_below_80_percent": int(close.sum()),
            "rated": int((~np.isnan(fitted)).sum()),
        },
        advice=(
            "So often would a second study of this size agree with this one. Read accuracies beside it: it is no bound, for who "
            "knows people well can agree more often than a second study does. Look at --items clear, where people agree."
        ),
        items=subject.named(close),
    )
    return Part(name="stability", measured=measured, findings=(finding,))


def look_at_unrated(subject: Subject) -> Part:
    """Items without ratings."""
    without = subject.n_votes == 0
    if not without.any():
        return Part(name="unrated")
    finding = Finding(
        code="labels.unrated",
        title=f"{int(without.sum()):,} of {len(without):,} items have no ratings; they count in no metric.",
        effect="label",
        share=float(without.mean()),
        evidence={"items": int(without.sum())},
        advice="Have them rated, or leave them out of the release.",
        items=subject.named(without),
    )
    return Part(name="unrated", findings=(finding,))
