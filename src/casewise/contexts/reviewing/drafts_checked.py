"""Checking a whole draft: the findings go to where reviewers see them, and the set gets a report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from sqlalchemy import Connection, update

from casewise.contexts.checking.checks import check_wording
from casewise.contexts.checking.wording import Remark
from casewise.contexts.drafts import Draft
from casewise.contexts.reviewing.set_report import SetReport, alike_of, set_report
from casewise.contexts.reviewing.store import ReviewPlace, all_places
from casewise.database.tables import review as tables

__all__ = ["check_draft", "keep_findings"]


def check_draft(connection: Connection, draft: Draft) -> SetReport:
    """Check all contexts of `draft` by rules, keep the findings, and report on the set.

    Findings of models stay; those of rules are made anew, so that checking twice is checking once.
    """
    places = [place for place in all_places(connection, draft.id) if place.state.wording is not None]
    found: dict[str, list[Remark]] = defaultdict(list)
    for place in places:
        assert place.state.wording is not None
        found[place.id] = check_wording(place.query.text, place.state.wording)
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
