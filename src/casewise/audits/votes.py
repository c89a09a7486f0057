"""Votes: agreement, labels, rates, patterns, and intent beside votes."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from casewise.audits.subject import Part, Subject
from casewise.errors import StatisticsError
from casewise.notation import interval, percent
from casewise.stats.agreement import (
    Given,
    LevelAlpha,
    agreement_of_votes,
    alpha_by_level,
    alpha_on_scale,
    of_each,
    reliability,
)
from casewise.stats.ceilings import JEFFREYS, UNIFORM, ceilings, same_label
from casewise.stats.estimates import estimate_of
from casewise.stats.measured import TotalsByCluster, share
from casewise.stats.panel import panel_curve, usual_reference
from casewise.stats.sample import PUBLISHED, labels, numbered

# The people: how well they agree, what the best judge could score against them, and what a panel of them scores.


TENTATIVE = 0.667
"""Krippendorff (2004, ch. 11): below this alpha, do not draw conclusions from single coders."""

PANELS = (1, 3, 5, 7, 9)


def audit_people(subject: Subject, part: Part) -> None:
    """Agreement, reliability, ceilings and floors, and the panel curve."""
    if not subject.benchmark.ratings:
        part.left_out.append("agreement and ceilings: the benchmark has no labels.")
        return
    if not subject.labels.rated:
        part.left_out.append(
            f"agreement, panel curve and ceilings: an item has one label ({subject.labels.agreed_with}), so there is no agreement to "
            "measure."
        )
        return
    safe, votes, raters, m = subject.n_safe, subject.n_votes, subject.raters, part.measured
    for name, measured in (("agreement_with_unsure", alpha_with_unsure), ("agreement_on_scale", alpha_of_scale)):
        if (found := measured(subject)) is not None:
            m[name] = asdict(found)
    if groups := groups_of_annotators(subject):
        m["groups"] = groups
    rng = np.random.default_rng(subject.options.seed)
    agreed = curve = None
    try:
        agreed = agreement_of_votes(safe, votes, clusters=subject.query, raters=raters)
        m["agreement"] = asdict(agreed)
        halves = reliability(safe, votes, rng=rng, clusters=subject.query, splits=subject.options.splits)
        m["reliability"] = {"half": halves.half, "split_half": halves.split_half, "analytic": halves.analytic}
        m["ceilings"] = asdict(ceilings(safe, votes, condition=numbered(subject.items["condition"])))
    except StatisticsError as error:
        part.left_out.append(f"agreement and ceilings: {error}.")
    try:
        reference = usual_reference(votes)
        curve = panel_curve(safe, votes, clusters=subject.query, reference_size=reference, raters=raters)
        m["panel"] = [
            {
                "people": int(curve.sizes[size - 1]),
                "agreement": float(curve.agreement[size - 1]),
                "ci_low": None if np.isnan(curve.ci_low[size - 1]) else float(curve.ci_low[size - 1]),
                "ci_high": None if np.isnan(curve.ci_high[size - 1]) else float(curve.ci_high[size - 1]),
                "modelled": bool(curve.modelled[size - 1]),
                "reference": curve.reference_size,
            }
            for size in PANELS
        ]
    except StatisticsError as error:
        part.left_out.append(f"panel curve: {error}.")
    if agreed is None or agreed.alpha_interval is None or agreed.alpha_interval[1] >= TENTATIVE:
        return
    alpha = agreed.alpha or 0.0
    alone = ""
    if curve is not None:
        alone = (
            f"; one person agrees with the majority of {curve.reference_size} others on {percent(curve.agreement[0])}"
        )
    part.add(
        "people.disagree",
        f"People agree little with each other: Krippendorff's alpha is {alpha:z.2f} "
        f"{interval(*agreed.alpha_interval, digits=2)}{alone}.",
        1 - alpha,
        {
            "alpha": agreed.alpha,
            "alpha_interval": agreed.alpha_interval,
            "ac1": agreed.ac1,
            "raw_agreement": agreed.raw,
            "one_person_against_others": float(curve.agreement[0]) if curve else None,
            "usual_limit_for_tentative_conclusions": TENTATIVE,
        },
    )


def alpha_with_unsure(subject: Subject) -> LevelAlpha | None:
    """Krippendorff's alpha with unsure as an answer of its own; None where nobody is unsure, or too few rated."""
    items, rated = subject.items, subject.benchmark.rated
    if not items["n_unsure"].sum():
        return None
    counts = np.stack([subject.n_safe, subject.n_votes - subject.n_safe, items["n_unsure"].to_numpy()], axis=1)
    verdict = rated.table["verdict"].to_physical().cast(pl.Int64)  # in the order of the columns of `counts`
    try:
        return alpha_by_level(counts, level="nominal", clusters=subject.query, given=given_by(subject, verdict))
    except StatisticsError:
        return None


def alpha_of_scale(subject: Subject) -> LevelAlpha | None:
    """Krippendorff's alpha of the ratings on the scale; None without any, or where too few rated."""
    rated = subject.benchmark.rated
    place, value = rated.places(subject.items["item_id"]), rated.table["value"]
    kept = (place >= 0) & value.is_not_null().to_numpy()
    given = given_by(subject, value)
    try:
        return alpha_on_scale(
            place[kept],
            value.filter(kept).to_numpy(),
            clusters=subject.query,
            annotator=None if given is None else given.annotator,
        )
    except StatisticsError:
        return None


LEAST_OF_GROUP = 2
"""Annotators of a group from which its rate has an interval over people."""


def groups_of_annotators(subject: Subject) -> list[dict[str, Any]]:
    """Return for each value of each trait how many annotators have it, and the share of their votes that are safe.

    The interval is over items and over the people of the group. People of two groups rate the same items, so that the
    intervals of two groups say little of their difference.
    """
    raters, traits = subject.raters, subject.benchmark.trait
    if raters is None:
        return []
    rows = []
    for trait in traits.columns[1:]:
        for value in traits[trait].drop_nulls().unique(maintain_order=True):
            mine = (traits[trait] == value).fill_null(value=False).to_numpy()[raters.annotator]
            people = len(np.unique(raters.annotator[mine]))
            if people < LEAST_OF_GROUP:
                continue
            item, safe = raters.item[mine], raters.safe[mine]
            size = len(subject.items)
            terms = {
                "safe": np.bincount(item, weights=safe, minlength=size),
                "votes": np.bincount(item, minlength=size),
            }
            measured = TotalsByCluster.of(
                {name: column.astype(np.float64) for name, column in terms.items()}, subject.query
            ).measure(share("safe_rate", "safe", "votes"))
            given = Given(item, raters.annotator[mine], safe)
            found = estimate_of(replace(measured, votes=of_each(given, (safe - measured.value) / len(safe))))
            rows.append(
                {
                    "trait": trait,
                    "value": value,
                    "annotators": people,
                    "votes": len(safe),
                    "safe_rate": found.estimate,
                    "safe_rate_interval": found.limits,
                }
            )
    return rows


def given_by(subject: Subject, value: pl.Series) -> Given | None:
    """Whose each rating with a value is; None where one is anonymous."""
    rated = subject.benchmark.rated
    place, annotator = rated.places(subject.items["item_id"]), rated.table["annotator"]
    kept = (place >= 0) & value.is_not_null().to_numpy()
    if annotator.filter(kept).has_nulls():
        return None
    return Given(place[kept], annotator.filter(kept).to_numpy().astype(np.intp), value.filter(kept).to_numpy())


# The labels: what is counted in them, what settles them, and how likely they are to come out the same again.


TOLERANCE = 5e-7
"""Stated rates are rounded; a difference below this is none."""

LEAST_ITEMS = 20
"""From so many items on, rates that all count the intent are no coincidence; a rater of fewer is not looked at."""

CHANCE = 1e-6
"""How likely, over all raters together, a rater of flesh and blood may be to agree with every intent by chance."""

LEAST_STABLE = 0.95
"""Labels are called unstable where fewer than so many would come out the same."""


def audit_labels(subject: Subject, part: Part) -> None:
    """Everything about votes, rates and labels. A benchmark without ratings leaves it out."""
    if not subject.benchmark.ratings:
        part.left_out.append("labels: the benchmark has none.")
        return
    every = (rates, intent_votes, ties, unsure, stability, unrated)
    for look in every if subject.labels.rated else (rates, ties, unsure, unrated):
        look(subject, part)


def rates(subject: Subject, part: Part) -> None:
    """Stated rates against the votes, with and without the intent as one vote more."""
    stated = subject.items["published_rate"].cast(float).fill_null(np.nan).to_numpy()
    compared = ~np.isnan(stated) & (subject.n_votes > 0)
    if not compared.any():
        part.left_out.append("stated safe rates: the benchmark states none.")
        return
    with np.errstate(invalid="ignore", divide="ignore"):
        by_votes = subject.n_safe / subject.n_votes
        alone = np.abs(stated - by_votes) <= TOLERANCE
        counted = np.abs(stated - (subject.n_safe + subject.intended) / (subject.n_votes + 1)) <= TOLERANCE
    neither = compared & ~alone & ~counted
    # A vote more that equals the intent by chance on a few items is a rate that disagrees, and no habit.
    only_so = int((compared & counted & ~alone).sum())
    habit = only_so >= LEAST_ITEMS and only_so >= 0.9 * (compared & ~alone).sum()
    with_intent = compared & counted
    part.measured |= {
        "rates_stated": int(compared.sum()),
        "rates_as_votes": int((compared & alone).sum()),
        "rates_as_votes_and_intent": int(with_intent.sum()),
        "rates_of_neither": int(neither.sum()),
    }
    if habit:
        tied = (2 * subject.n_safe == subject.n_votes) & with_intent
        n, usual = int(with_intent.sum()), int(np.median(subject.n_votes[with_intent]))
        part.add(
            "labels.intent-in-rates",
            f"In {n:,} of {int(compared.sum()):,} items the stated safe rate counts the author's intent as one vote more.",
            n / len(subject.items),
            {
                "items": n,
                "people_per_item": usual,
                "votes_counted": usual + 1,
                "formula": "stated rate = (safe votes + intent) / (votes + 1)",
                "ties_turned_safe": int((tied & (subject.intended == 1)).sum()),
                "ties_turned_unsafe": int((tied & (subject.intended == 0)).sum()),
                "labels_changed_by_it": int(tied.sum()),
            },
            items=subject.named(tied if tied.any() else with_intent),
        )
    wrong = neither if habit else compared & ~alone
    if wrong.any():
        part.add(
            "labels.rates-disagree",
            f"In {int(wrong.sum()):,} items the stated safe rate is not that of the votes.",
            float(wrong.mean()),
            {
                "items": int(wrong.sum()),
                "largest_difference": float(np.abs(stated - by_votes)[wrong].max()),
                "verdict_differs": int(((stated > 0.5) != (by_votes > 0.5))[wrong].sum()),
            },
            items=subject.named(wrong),
        )


class AgreementWithIntent(NamedTuple):
    """How one rater's votes stand to the intent."""

    items: NDArray[np.intp]
    always: bool
    log_chance: float
    """Of agreeing with every intent, if each vote were drawn like the other votes on its item."""


def intent_votes(subject: Subject, part: Part) -> None:
    """Raters (places or annotators) whose votes are the intent, on every item they rated."""
    published, n = subject.benchmark.about.published, len(subject.items)
    if published is not None and published.votes_hold_intent:
        part.add(
            "labels.intent-in-votes",
            f"The last vote equals the author's intent in {n:,} of {n:,} items: it is no person's.",
            1.0,
            {"items": n, "vote": "last", "people_per_item": int(np.median(subject.n_votes))},
            advice="casewise has taken it out of the votes on import; score against people's votes (--labels votes, the default).",
        )
        return
    raters = agreements(subject)
    limit = np.log(CHANCE / max(1, len(raters)))
    copies = {
        name: a for name, a in raters.items() if a.always and len(a.items) >= LEAST_ITEMS and a.log_chance < limit
    }
    part.measured |= {"raters": len(raters), "raters_equal_to_intent": len(copies)}
    if not copies:
        return
    touched = np.zeros(n, dtype=bool)
    for copy in copies.values():
        touched[copy.items] = True
    worst = max(copies, key=lambda name: len(copies[name].items))
    rated = len(copies[worst].items)
    part.add(
        "labels.intent-in-votes",
        f"{len(copies)} rater(s) vote as the author intended on every item; {worst!r} on {rated:,} of {rated:,}.",
        float(touched.mean()),
        {
            "raters": {name: {"items": len(a.items), "log_chance": a.log_chance} for name, a in copies.items()},
            "largest_chance": CHANCE,
        },
        items=subject.named(touched),
    )


def agreements(subject: Subject) -> dict[str, AgreementWithIntent]:
    """Each rater's agreement with the intent, on items that have one."""
    rated = subject.benchmark.rated.arrays(subject.items["item_id"])
    intended = subject.intended[rated.item]
    known = ~np.isnan(intended)
    item, safe, intended = rated.item[known], rated.safe[known], intended[known] == 1
    # Rates of the others, drawn in by one vote of each kind so that no chance is 0 or 1.
    rate = (subject.n_safe[item] - safe + 1) / (subject.n_votes[item] + 1)
    log_chance = np.log(np.where(intended, rate, 1 - rate))
    first = len(rated.annotators) + 1  # codes from here on are places among anonymous votes
    codes, rater = np.unique(
        np.where(rated.annotator >= 0, rated.annotator, first + rated.position)[known], return_inverse=True
    )
    against = np.bincount(rater, weights=safe != intended)
    chances = np.bincount(rater, weights=log_chance)
    starts = np.searchsorted(np.sort(rater), np.arange(1, len(codes)))
    items = np.split(item[np.argsort(rater, kind="stable")], starts)
    named = {}
    for place, code in enumerate(codes.tolist()):
        anonymous = f"vote {code - first if code >= first else None}"
        name = rated.annotators[code] if code < len(rated.annotators) else anonymous
        named[name] = AgreementWithIntent(items[place], bool(against[place] == 0), float(chances[place]))
    return named


def ties(subject: Subject, part: Part) -> None:
    """Ties, and what each label policy makes of them."""
    tied, rated = subject.label == 0.5, int((subject.n_votes > 0).sum())
    n = int(tied.sum())
    part.measured |= {"rated": rated, "ties": n}
    if not n:
        return
    published = labels(subject.items, PUBLISHED).weight[tied]
    part.add(
        "labels.ties",
        f"{n:,} of {rated:,} items are ties: a rule settles their label.",
        n / len(subject.items),
        {
            "ties": n,
            "of_them_intended_safe": int((subject.intended[tied] == 1).sum()),
            "published_makes_safe": int((published == 1).sum()),
            "published_makes_unsafe": int((published == 0).sum()),
            "votes_makes_of_each": "half safe, half unsafe",
        },
        items=subject.named(tied),
    )


MANY_UNSURE = 0.05
"""From this share of votes on, unsure ones are a finding."""


def unsure(subject: Subject, part: Part) -> None:
    """The share of votes that are unsure, which no majority counts."""
    undecided = subject.items["n_unsure"].to_numpy().astype(np.float64)
    if not undecided.any():
        return
    terms = {"unsure": undecided, "votes": undecided + subject.n_votes}
    measured = TotalsByCluster.of(terms, subject.query).measure(share("unsure", "unsure", "votes"))
    if (
        given := given_by(subject, (subject.benchmark.rated.table["verdict"] == "unsure").cast(pl.Float64))
    ) is not None:
        measured = replace(measured, votes=of_each(given, (given.value - measured.value) / len(given.value)))
    of_votes = estimate_of(measured)
    undecided_items = (undecided > 0) & (subject.n_votes == 0)
    low, high = of_votes.limits or (None, None)
    part.measured["unsure"] = {
        "votes": int(undecided.sum()),
        "share": of_votes.estimate,
        "share_interval": of_votes.limits,
        "items_without_another_vote": int(undecided_items.sum()),
    }
    if of_votes.estimate is None or of_votes.estimate < MANY_UNSURE:
        return
    limits = "" if low is None or high is None else f" {interval(100 * low, 100 * high, digits=1)}"
    part.add(
        "labels.unsure",
        f"{percent(of_votes.estimate)}{limits} of the votes are unsure; the majority leaves them out.",
        of_votes.estimate,
        part.measured["unsure"],
        items=subject.named(undecided_items),
    )


def stability(subject: Subject, part: Part) -> None:
    """How many labels would come out the same in a repeated study, under several spreads of rates."""
    if subject.n_votes.max() < 2:
        part.left_out.append("stability of labels: no item has two votes.")
        return
    same = {
        "fitted by condition": subject.same_again,
        "Jeffreys": same_label(subject.n_safe, subject.n_votes, prior=JEFFREYS),
        "uniform": same_label(subject.n_safe, subject.n_votes, prior=UNIFORM),
    }
    means = {name: float(np.nanmean(chances)) for name, chances in same.items()}
    close = np.nan_to_num(subject.same_again, nan=1.0) < 0.8
    part.measured |= {"same_label_again": means, "labels_below_80_percent": int(close.sum())}
    if max(means.values()) >= LEAST_STABLE:
        return
    low, high = (percent(end(means.values())) for end in (min, max))
    expected = f"about {low}" if low == high else f"{low} to {high}"
    part.add(
        "labels.unstable",
        f"If as many other people rated again, {expected} of the labels would come out the same.",
        1 - means["fitted by condition"],
        {
            "expected_same": means,
            "labels_below_80_percent": int(close.sum()),
            "rated": int((~np.isnan(subject.same_again)).sum()),
        },
        items=subject.named(close),
    )


def unrated(subject: Subject, part: Part) -> None:
    """Items without ratings."""
    without = (
        (subject.n_votes == 0)
        & (subject.items["n_unsure"] == 0).to_numpy()
        & subject.items["mean"].is_null().to_numpy()
    )
    if without.any():
        part.add(
            "labels.unrated",
            f"{int(without.sum()):,} of {len(without):,} items have no label; they count in no metric.",
            float(without.mean()),
            {"items": int(without.sum())},
            items=subject.named(without),
        )
