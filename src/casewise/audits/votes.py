"""Votes: agreement among people, stated rates, ties, unsure votes, stability, and raters who repeat the author's intent."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, replace

import numpy as np
import polars as pl

from casewise.audits.subject import AuditPart, Subject, known_raters
from casewise.errors import StatisticsError
from casewise.notation import interval, percent, share
from casewise.stats.agreement import (
    KrippendorffAlpha,
    agreement_of_votes,
    krippendorff_alpha,
    krippendorff_alpha_of_ratings,
    reliability,
    votes_of_ratings,
)
from casewise.stats.ceilings import JEFFREYS, UNIFORM, ceilings, same_label
from casewise.stats.estimates import estimate_of
from casewise.stats.labels import PUBLISHED, labels
from casewise.stats.measured import TotalsByCluster
from casewise.stats.measured import share as share_of
from casewise.stats.panel import panel_curve, usual_reference
from casewise.stats.sample import integer_codes
from casewise.text import count_of

TENTATIVE = 0.667
"""Krippendorff (2004, ch. 11): below this alpha, do not draw conclusions from single coders."""

PANELS = (1, 3, 5, 7, 9)


def audit_people(subject: Subject, part: AuditPart) -> None:
    """Measure how well people agree, the best score against them, and the score of panels of people."""
    if not subject.benchmark.ratings:
        part.left_out.append("agreement and ceilings: the benchmark has no labels.")
        return
    if not subject.labels.rated:
        part.left_out.append(
            f"agreement, panel curve and ceilings: an item has one label ({subject.labels.agreed_with}), so there is no agreement to "
            "measure."
        )
        return
    safe, votes, raters, measured = subject.n_safe, subject.n_votes, subject.raters, part.measured
    measured |= {name: asdict(alpha) for name, alpha in alphas(subject).items()}
    rng = np.random.default_rng(subject.options.seed)
    agreement = curve = None
    try:
        agreement = agreement_of_votes(safe, votes, clusters=subject.query, raters=raters)
        measured["agreement"] = asdict(agreement)
        halves = reliability(safe, votes, rng=rng, clusters=subject.query, splits=subject.options.splits)
        measured["reliability"] = {"half": halves.half, "split_half": halves.split_half, "analytic": halves.analytic}
        condition = integer_codes(subject.items["condition"])
        measured["ceilings"] = asdict(ceilings(safe, votes, condition=condition, clusters=subject.query, raters=raters))
    except StatisticsError as error:
        part.left_out.append(f"agreement and ceilings: {error}.")
    try:
        reference = usual_reference(votes)
        curve = panel_curve(safe, votes, clusters=subject.query, reference_size=reference, raters=raters)
        measured["panel"] = [
            {
                "people": int(curve.sizes[place]),
                "agreement": float(curve.agreement[place]),
                "ci_low": none_if_nan(curve.ci_low[place]),
                "ci_high": none_if_nan(curve.ci_high[place]),
                "modelled": bool(curve.modelled[place]),
                "reference": curve.reference_size,
            }
            for place in (size - 1 for size in PANELS)
        ]
    except StatisticsError as error:
        part.left_out.append(f"panel curve: {error}.")
    if agreement is None or agreement.alpha is None or agreement.alpha_interval is None:
        return
    alpha, one_person = agreement.alpha, float(curve.agreement[0]) if curve else None
    if agreement.alpha_interval[1] >= TENTATIVE:
        return
    alone = ""
    if curve:
        alone = f"; one person agrees with the majority of {curve.reference_size} others on {percent(one_person)}"
    part.add(
        "people.disagree",
        f"People agree little with each other: Krippendorff's alpha is {alpha:z.2f} "
        f"{interval(*agreement.alpha_interval, digits=2)}{alone}.",
        1 - alpha,
        {
            "alpha": alpha,
            "alpha_interval": agreement.alpha_interval,
            "ac1": agreement.ac1,
            "raw_agreement": agreement.raw,
            "one_person_against_others": one_person,
            "usual_limit_for_tentative_conclusions": TENTATIVE,
        },
    )


def none_if_nan(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def alphas(subject: Subject) -> dict[str, KrippendorffAlpha]:
    """Return Krippendorff's alpha with unsure as an answer of its own, and of the ratings on the scale; absent where too few rated."""
    items, rated, by_kind = subject.items, subject.benchmark.ratings, dict[str, KrippendorffAlpha]()
    if items["n_unsure"].sum():
        # in the order of the table's verdicts
        counts = (subject.n_safe, subject.n_votes - subject.n_safe, items["n_unsure"].to_numpy())
        raters = known_raters(subject.benchmark, items, rated.table["verdict"].to_physical().cast(pl.Int64))
        with suppress(StatisticsError):
            by_kind["agreement_with_unsure"] = krippendorff_alpha(
                np.stack(counts, axis=1), level="nominal", clusters=subject.query, raters=raters
            )
    value = rated.table["value"]
    place, raters = rated.places(items["item_id"]), known_raters(subject.benchmark, items, value)
    rows = (place >= 0) & value.is_not_null().to_numpy()
    annotator = None if raters is None else raters.annotator
    if rows.any():
        with suppress(StatisticsError):
            by_kind["agreement_on_scale"] = krippendorff_alpha_of_ratings(
                place[rows], value.filter(rows).to_numpy(), clusters=subject.query, annotator=annotator
            )
    return by_kind


TOLERANCE = 5e-7
"""Stated rates are rounded; a difference below this is none."""

LEAST_ITEMS = 20
"""Number of items from which on rates that all count the intent are no coincidence; a rater of fewer is not tested."""

CHANCE = 1e-6
"""The largest chance, over all raters together, with which a rater may agree with every intent and count as a person."""

LEAST_STABLE = 0.95
"""Labels are called unstable where a smaller share would come out the same."""

MANY_UNSURE = 0.05
"""Share of votes from which on unsure ones are a finding."""


def audit_labels(subject: Subject, part: AuditPart) -> None:
    """Check votes, rates and labels. This part is left out for a benchmark without ratings."""
    if not subject.benchmark.ratings:
        part.left_out.append("labels: the benchmark has none.")
        return
    every = (rates, intent_votes, ties, unsure, stability, unrated)
    for look in every if subject.labels.rated else (rates, ties, unsure, unrated):
        look(subject, part)


def rates(subject: Subject, part: AuditPart) -> None:
    """Compare stated rates with the votes, with and without the intent as one vote more."""
    stated = subject.items["published_rate"].cast(float).fill_null(np.nan).to_numpy()
    compared = ~np.isnan(stated) & (subject.n_votes > 0)
    if not compared.any():
        part.left_out.append("stated safe rates: the benchmark states none.")
        return
    with np.errstate(invalid="ignore", divide="ignore"):
        by_votes = subject.n_safe / subject.n_votes
        matches = np.abs(stated - by_votes) <= TOLERANCE
        counted = np.abs(stated - (subject.n_safe + subject.intended) / (subject.n_votes + 1)) <= TOLERANCE
    neither = compared & ~matches & ~counted
    # A vote more that equals the intent by chance on a few items is a rate that disagrees, and no habit.
    only_so = int((compared & counted & ~matches).sum())
    habit = only_so >= LEAST_ITEMS and only_so >= 0.9 * (compared & ~matches).sum()
    with_intent = compared & counted
    part.measured |= {
        "rates_stated": int(compared.sum()),
        "rates_as_votes": int((compared & matches).sum()),
        "rates_as_votes_and_intent": int(with_intent.sum()),
        "rates_of_neither": int(neither.sum()),
    }
    if habit:
        tied = (2 * subject.n_safe == subject.n_votes) & with_intent
        n, usual = int(with_intent.sum()), int(np.median(subject.n_votes[with_intent]))
        part.add(
            "labels.intent-in-rates",
            f"In {n:,} of {count_of(int(compared.sum()), 'item')} the stated safe rate counts the author's intent as one vote more.",
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
            items=subject.first_ids(tied if tied.any() else with_intent),
        )
    wrong = neither if habit else compared & ~matches
    if wrong.any():
        part.add(
            "labels.rates-disagree",
            f"In {count_of(int(wrong.sum()), 'item')} the stated safe rate differs from that of the votes.",
            float(wrong.mean()),
            {
                "items": int(wrong.sum()),
                "largest_difference": float(np.abs(stated - by_votes)[wrong].max()),
                "verdict_differs": int(((stated > 0.5) != (by_votes > 0.5))[wrong].sum()),
            },
            items=subject.first_ids(wrong),
        )


def intent_votes(subject: Subject, part: AuditPart) -> None:
    """Find raters (places or annotators) whose votes equal the intent on every item that they rated."""
    published, n = subject.benchmark.about.published, len(subject.items)
    if published is not None and published.votes_hold_intent:
        part.add(
            "labels.intent-in-votes",
            f"The last vote equals the author's intent in {n:,} of {count_of(n, 'item')}, so no person gave it.",
            1.0,
            {"items": n, "vote": "last", "people_per_item": int(np.median(subject.n_votes))},
            advice="Score against people's votes (--labels votes, the default).",
            explanation="casewise removed this vote when it imported the file.",
        )
        return
    raters = agreement_with_intent(subject)
    always = raters.filter(
        pl.col("always")
        & (pl.col("items") >= LEAST_ITEMS)
        & (pl.col("log_chance") < np.log(CHANCE / max(1, len(raters))))
    )
    part.measured |= {"raters": len(raters), "raters_equal_to_intent": len(always)}
    if not len(always):
        return
    touched = np.zeros(n, dtype=bool)
    touched[always["places"].explode().to_numpy()] = True
    worst, rated = always.sort("items", descending=True, maintain_order=True).select("rater", "items").row(0)
    part.add(
        "labels.intent-in-votes",
        f"{len(always)} rater(s) vote as the author intended on every item; {worst!r} on {rated:,} of {rated:,}.",
        float(touched.mean()),
        {
            "raters": {
                name: {"items": items, "log_chance": chance}
                for name, items, chance in always.select("rater", "items", "log_chance").iter_rows()
            },
            "largest_chance": CHANCE,
        },
        items=subject.first_ids(touched),
    )


def agreement_with_intent(subject: Subject) -> pl.DataFrame:
    """Return each rater's agreement with the intent on items that have one.

    Columns: `rater`; `items`, how many they rated, and `places`, which; `always`, whether each vote is the intent;
    `log_chance`, of agreeing with every intent if each vote were drawn like the other votes on its item.
    """
    rated = subject.benchmark.ratings.arrays(subject.items["item_id"])
    intended = subject.intended[rated.item]
    has_intent = ~np.isnan(intended)
    item, safe, intended = rated.item[has_intent], rated.safe[has_intent], intended[has_intent] == 1
    # Rates of the others, drawn in by one vote of each kind so that no chance is 0 or 1.
    rate = (subject.n_safe[item] - safe + 1) / (subject.n_votes[item] + 1)
    first = len(rated.annotators) + 1  # codes from here on are places among anonymous votes
    codes = np.where(rated.annotator >= 0, rated.annotator, first + rated.position)[has_intent]
    names = {
        code: rated.annotators[code] if code < first - 1 else f"vote {code - first if code >= first else None}"
        for code in np.unique(codes).tolist()
    }
    return (
        pl.DataFrame(
            {
                "code": codes,
                "place": item,
                "agrees": safe == intended,
                "log_chance": np.log(np.where(intended, rate, 1 - rate)),
            }
        )
        .group_by("code")
        .agg(items=pl.len(), places="place", always=pl.col("agrees").all(), log_chance=pl.col("log_chance").sum())
        .sort("code")
        .with_columns(rater=pl.col("code").replace_strict(names, return_dtype=pl.String))
    )


def ties(subject: Subject, part: AuditPart) -> None:
    """Count ties, and what each label policy makes of them."""
    tied, rated = subject.label == 0.5, int((subject.n_votes > 0).sum())
    n = int(tied.sum())
    part.measured |= {"rated": rated, "ties": n}
    if not n:
        return
    published = labels(subject.items, PUBLISHED).weight[tied]
    part.add(
        "labels.ties",
        f"{n:,} of {count_of(rated, 'item is')} ties: a rule settles their label.",
        n / len(subject.items),
        {
            "ties": n,
            "of_them_intended_safe": int((subject.intended[tied] == 1).sum()),
            "published_makes_safe": int((published == 1).sum()),
            "published_makes_unsafe": int((published == 0).sum()),
            "votes_makes_of_each": "half safe, half unsafe",
        },
        items=subject.first_ids(tied),
    )


def unsure(subject: Subject, part: AuditPart) -> None:
    """Measure the share of votes that are unsure, which no majority counts."""
    undecided = subject.items["n_unsure"].to_numpy().astype(np.float64)
    if not undecided.any():
        return
    terms = {"unsure": undecided, "votes": undecided + subject.n_votes}
    measured = TotalsByCluster.from_terms(terms, subject.query).measure(share_of("unsure", "unsure", "votes"))
    verdicts = (subject.benchmark.ratings.table["verdict"] == "unsure").cast(pl.Float64)
    if (votes := known_raters(subject.benchmark, subject.items, verdicts)) is not None:
        influence = (votes.safe - measured.value) / len(votes.safe)
        measured = replace(measured, votes=votes_of_ratings(votes, influence))
    of_votes = estimate_of(measured)
    unsure_only = (undecided > 0) & (subject.n_votes == 0)
    part.measured["unsure"] = {
        "votes": int(undecided.sum()),
        "share": of_votes.estimate,
        "share_interval": of_votes.limits,
        "items_without_another_vote": int(unsure_only.sum()),
    }
    if of_votes.estimate is not None and of_votes.estimate >= MANY_UNSURE:
        part.add(
            "labels.unsure",
            f"{share(of_votes.estimate, *(of_votes.limits or (None, None)))} of the {subject.labels.noun} are unsure; the majority leaves them out.",
            of_votes.estimate,
            part.measured["unsure"],
            items=subject.first_ids(unsure_only),
        )


def stability(subject: Subject, part: AuditPart) -> None:
    """Predict how many labels would come out the same in a repeated study, under several spreads of rates."""
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
    if (again := subject.second_study(subject.n_votes > 0)) is not None:
        part.measured["second_study"] = again.fields("n")
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
        items=subject.first_ids(close),
    )


def unrated(subject: Subject, part: AuditPart) -> None:
    """Find items without ratings."""
    unsure, mean = subject.items["n_unsure"].to_numpy(), subject.items["mean"].is_null().to_numpy()
    without = (subject.n_votes == 0) & (unsure == 0) & mean
    if without.any():
        part.add(
            "labels.unrated",
            f"{int(without.sum()):,} of {count_of(len(without), 'item has')} no label; they count in no metric.",
            float(without.mean()),
            {"items": int(without.sum())},
            items=subject.first_ids(without),
        )
