"""Checking a whole draft: findings go to where reviewers see them, and a report says what single contexts do not show."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy import Connection, update

from casewise.contexts.checking.alike import Alike, find_alike
from casewise.contexts.checking.checks import check_wording
from casewise.contexts.checking.wording import Remark
from casewise.contexts.drafts import Draft
from casewise.contexts.reviewing.store import ReviewPlace, all_places
from casewise.database.tables import review as tables

__all__ = ["SetReport", "TellingWord", "alike_of", "check_draft", "keep_findings", "set_report"]

FOLDS = 5
FEWEST = 20
"""Queries from which a classifier is worth asking."""


@dataclass(frozen=True)
class TellingWord:
    """A word that stands much more often in contexts of one intent."""

    word: str
    in_safe: int
    in_unsafe: int
    log_odds: float
    """Natural logarithm of the odds ratio, one half added to each count (Haldane 1956); positive leans safe."""


@dataclass(frozen=True)
class SetReport:
    """What the checks come to over a whole set."""

    contexts: int
    without_findings: int
    findings: dict[str, int]
    """Contexts with at least one finding, by check."""
    alike: list[Alike]
    telling: list[TellingWord]
    guessed: float | None
    """Share of contexts whose intent a linear classifier guesses from their words, queries held out; None if too few."""

    def as_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        return asdict(self)

    def lines(self) -> list[str]:
        """The report in lines of text."""
        rows = [f"{self.contexts} contexts, {self.without_findings} without any finding"]
        rows += [f"{count:6}  {check}" for check, count in sorted(self.findings.items(), key=lambda one: -one[1])]
        if self.alike:
            rows.append(f"{len(self.alike)} contexts are too like another of the same intent")
        if self.telling:
            named = ", ".join(f"{one.word} ({one.in_safe} safe, {one.in_unsafe} unsafe)" for one in self.telling[:10])
            rows.append(f"words that lean to one intent: {named}")
        if self.guessed is not None:
            rows.append(
                f"a linear classifier guesses the intent of {self.guessed:.0%} from the words alone (chance: 50 %)"
            )
        return rows


def set_report(places: Sequence[ReviewPlace]) -> SetReport:
    """The report on the contexts of `places` that have words."""
    worded = [place for place in places if place.state.wording is not None]
    checks = Counter(check for place in worded for check in {finding.check for finding in place.findings})
    return SetReport(
        contexts=len(worded),
        without_findings=sum(not place.findings for place in worded),
        findings=dict(checks),
        alike=[pair for intent in (True, False) for pair in alike_of(worded, intent)],
        telling=telling_words(worded),
        guessed=guessed_share(worded),
    )


def alike_of(places: Sequence[ReviewPlace], intended_safe: bool) -> list[Alike]:
    """Too similar contexts of one intent."""
    wordings = {p.id: p.state.wording for p in places if p.intended_safe == intended_safe and p.state.wording}
    return find_alike(wordings)


def text_of(place: ReviewPlace) -> str:
    return " ".join(place.state.wording.fields().values()) if place.state.wording else ""


def telling_words(places: Sequence[ReviewPlace], *, most: int = 20) -> list[TellingWord]:
    """Words in at least five contexts whose log odds ratio lies more than three standard errors from zero."""
    counts = {True: Counter[str](), False: Counter[str]()}
    totals = Counter(place.intended_safe for place in places)
    for place in places:
        counts[place.intended_safe].update(set(re.findall(r"[^\W\d_]{3,}", text_of(place).casefold())))
    found = []
    for word in counts[True] | counts[False]:
        a, b = counts[True][word], counts[False][word]
        if a + b < 5:
            continue
        cells = (a + 0.5, totals[True] - a + 0.5, b + 0.5, totals[False] - b + 0.5)
        log_odds = math.log(cells[0] * cells[3] / (cells[1] * cells[2]))
        if abs(log_odds) > 3 * math.sqrt(sum(1 / cell for cell in cells)):
            found.append(TellingWord(word, a, b, log_odds))
    return sorted(found, key=lambda one: -abs(one.log_odds))[:most]


def guessed_share(places: Sequence[ReviewPlace]) -> float | None:
    """Accuracy of a logistic regression on TF-IDF words, with the queries of each fold held out."""
    queries = {place.query.id for place in places}
    intents = [place.intended_safe for place in places]
    if len(queries) < FEWEST or len(set(intents)) < 2:
        return None
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(TfidfVectorizer(sublinear_tf=True), LogisticRegression(C=10, max_iter=1000))
    guesses = cross_val_predict(
        model, [text_of(place) for place in places], intents, groups=[p.query.id for p in places], cv=GroupKFold(FOLDS)
    )
    return float(sum(guess == intent for guess, intent in zip(guesses, intents, strict=True)) / len(intents))


def check_draft(connection: Connection, draft: Draft) -> SetReport:
    """Check all contexts of `draft` by rules, keep the findings, and report on the set.

    Findings of models stay; those of rules are made anew, so that checking twice is checking once.
    """
    places = [place for place in all_places(connection, draft.id) if place.state.wording is not None]
    found: dict[str, list[Remark]] = defaultdict(list)
    for place in places:
        assert place.state.wording is not None
        found[place.id] = check_wording(place.query.text, place.state.wording, draft.parameters)
    for place_id, finding in alike_findings(places):
        found[place_id].append(finding)
    checked = [replace(place, findings=merged(place, found[place.id])) for place in places]
    keep_findings(connection, {place.id: place.findings for place in checked})
    return set_report(checked)


def alike_findings(places: list[ReviewPlace]) -> Iterable[tuple[str, Remark]]:
    by_id = {place.id: place for place in places}
    for intended_safe in (True, False):
        for pair in alike_of(places, intended_safe):
            other = by_id[pair.second].query.text
            message = f"{pair.similarity:.0%} of its word triples are those of the context for “{other}”."
            yield pair.first, Remark(check="too alike", message=message)


def merged(place: ReviewPlace, by_rules: list[Remark]) -> list[Remark]:
    return [*by_rules, *(finding for finding in place.findings if finding.by != "rules")]


def keep_findings(connection: Connection, found: Mapping[str, list[Remark]]) -> None:
    """Put findings where the pages show them. They are no part of the review's history: people's steps are."""
    table = tables.contexts
    for place_id, findings in found.items():
        rows = [finding.as_json() for finding in findings]
        connection.execute(update(table).where(table.c.id == place_id).values(findings=rows))
