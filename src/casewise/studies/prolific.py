"""The client of Prolific's interface."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from ipaddress import ip_address
from itertools import count
from json import loads
from typing import Any, Literal
from urllib.parse import quote, urlsplit

import aiohttp

from casewise.errors import ConfigurationError, RecruiterRefused, StudyError
from casewise.studies.design import Design, RatedThing
from casewise.studies.ledger import APPROVAL, Payment
from casewise.studies.owner import RoundAccount, Standing
from casewise.studies.people import Vault

# A thin client for Prolific's API: what running a study needs, and nothing that rejects anyone.
#
# There is no call that rejects a submission. Those who do not pass the quiz are screened out and paid; those whose
# ratings are voided are asked to return, or paid; an owner who wants to reject a submission has to do it at Prolific by hand.


API = "https://api.prolific.com/api/v1"

DESCRIPTIONS: dict[RatedThing, str] = {
    "requests": "You decide whether a chatbot should answer requests. Some of them are unpleasant to read.",
    "given_replies": "You decide whether a chatbot should give replies. Some of them are unpleasant to read.",
    **dict.fromkeys(
        ("actions", "actions_or_ask"),
        "You decide whether a program should take actions for people. Some of them are unpleasant to read.",
    ),
    "replies": "You read what a chatbot replied to requests, and say what it did. Some of it is unpleasant to read.",
}
"""The description that people at Prolific read before they begin."""

BUSY = 429
PAGE_SIZE = 100
Transition = Literal["PUBLISH", "PAUSE", "START", "APPROVE"]
"""The changes of state that are asked for: no submission is ever rejected."""
REPEAT_WARNING = "the request may have succeeded; check at Prolific before you repeat it"


def study_request(
    design: Design, *, url: str, places: int, minutes: float, group: str | None = None, project: str | None = None
) -> dict[str, Any]:
    """Return the body that creates the study at Prolific, unpublished.

    `url` is where `casewise serve` answers; `group` is a participant group whose members are kept out; `project` is
    where the study is put, by default where Prolific puts the account's studies.
    """
    return ({"project": project} if project else {}) | {
        "name": design.title,
        "internal_name": f"{design.name} {design.version}",
        "description": DESCRIPTIONS[design.rates],
        "external_study_url": url
        + "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}",
        "prolific_id_option": "url_parameters",
        "completion_codes": completion_codes(design, places),
        "total_available_places": places,
        "estimated_completion_time": round(minutes),
        "reward": round(design.pay.per_batch * 100),
        "device_compatibility": ["desktop", "mobile", "tablet"],
        "content_warnings": ["sensitive", "explicit"],
        "filters": filters_of(design, group=group),
    }


def can_be_reached(url: str) -> bool:
    """Return whether strangers can reach `url` over TLS."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    try:
        public = not ip_address(host).is_private
    except ValueError:
        public = host != "localhost" and not host.endswith(".localhost")
    return parts.scheme == "https" and bool(host) and public


def filters_of(design: Design, *, group: str | None = None) -> list[dict[str, Any]]:
    """Return the design's eligibility as Prolific's filters."""
    eligibility = design.eligibility
    ranges = {
        "age": (eligibility.minimum_age, 100),
        "approval_rate": (eligibility.approval_rate, 100),
        "approval_numbers": (eligibility.approved_count, 100_000),
    }
    filters: list[dict[str, Any]] = [
        {"filter_id": name, "selected_range": {"lower": lower, "upper": upper}}
        for name, (lower, upper) in ranges.items()
        if lower is not None
    ]
    return filters + ([{"filter_id": "participant_group_blocklist", "selected_values": [group]}] if group else [])


def manual_filters(design: Design) -> str | None:
    """Return the eligibility that has to be chosen on Prolific's page: its filters take numbers of its own for these."""
    filters = {"countries": design.eligibility.countries, "languages": design.eligibility.languages}
    lines = [f"{name} {', '.join(values)}" for name, values in filters.items() if values]
    return " and ".join(lines) or None


def completion_codes(design: Design, places: int) -> list[dict[str, Any]]:
    """Return the completion codes. Completed: reviewed by the owner. Screened out: paid a fixed amount. Failed checks: reviewed by the owner.

    Without consent: asked to return the submission.
    """
    settings, reward = design.recruiter, round(design.pay.screen_out * 100)
    review = {"action": "MANUALLY_REVIEW"}
    screen_out = {"action": "FIXED_SCREEN_OUT_PAYMENT", "fixed_screen_out_reward": reward, "slots": places}
    ask_return = {"action": "REQUEST_RETURN", "return_reason": "Withdrew consent"}
    codes = (
        (settings.completion_code, "COMPLETED", review),
        (settings.screened_out_code, "FIXED_SCREENOUT", screen_out),
        (settings.failed_checks_code, "FAILED_ATTENTION_CHECK", review),
        (settings.no_consent_code, "NO_CONSENT", ask_return),
    )
    return [
        {"code": code, "code_type": kind, "actions": [action]}
        for code, kind, action in codes
        if code or kind != "NO_CONSENT"
    ]


@dataclass(frozen=True, slots=True)
class Submission:
    """One person's way through the study there: `status` is Prolific's word, `code` what the person entered."""

    id: str
    person: str
    study: str
    status: str
    code: str = ""
    bonuses: tuple[int, ...] | None = None
    """The bonuses that Prolific shows as paid, in cents; None where it does not say."""


@dataclass(frozen=True)
class ProlificClient:
    """Requests to Prolific within a session that carries the owner's token."""

    session: aiohttp.ClientSession
    api: str

    async def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send one request and return the object that Prolific answers; empty where it answers none.

        Raises
        ------
        ConfigurationError
            Prolific does not accept the token.
        RecruiterRefused
            Prolific refused the request.
        StudyError
            Prolific could not be reached, or failed; the message says whether to repeat the request.
        """
        repeats = method != "POST" or path.endswith("/transition/")  # without harm
        advice = "try again" if repeats else REPEAT_WARNING
        try:
            async with self.session.request(method, self.api + path, json=body) as response:
                text, status = await response.text(errors="replace"), response.status
        except (aiohttp.ClientError, TimeoutError) as error:
            raise StudyError(f"Prolific could not be reached for {method} {path}: {error!r}; {advice}") from error
        if status == 401:
            raise ConfigurationError("Prolific did not accept the token; check CASEWISE_PROLIFIC_TOKEN")
        problem = f"Prolific answered {status} to {method} {path}: {text[:500]}"
        if status >= 500:
            raise StudyError(f"{problem}; {advice}")
        if status >= 400:
            busy = "; wait a minute and try again" if status == BUSY else ""
            raise RecruiterRefused(problem + busy, status=status)
        try:
            answer = loads(text)
        except ValueError:
            answer = None
        return answer if isinstance(answer, dict) else {}

    async def create(self, path: str, body: dict[str, Any], *, field: str = "id") -> str:
        """Create what `body` describes and return its id, or another field of the answer.

        Raises StudyError: the answer lacks the field.
        """
        answer = await self.call("POST", path, body)
        if field not in answer:
            raise StudyError(f"Prolific accepted the request but did not return the {field!r}; {REPEAT_WARNING}")
        return str(answer[field])

    async def transition(self, path: str, action: Transition) -> None:
        """Publish, pause or start the study at `path`, or approve the submission."""
        await self.call("POST", f"{path}/transition/", {"action": action})

    async def listed(self, path: str) -> list[dict[str, Any]]:
        """Return all results at `path`, page by page.

        Raises StudyError: they are fewer than Prolific says that there are, or no list.
        """
        results: dict[str, dict[str, Any]] = {}
        for page in count(1):
            separator = "&" if "?" in path else "?"
            answer = await self.call("GET", f"{path}{separator}page={page}&page_size={PAGE_SIZE}")
            new = {str(row["id"]): row for row in answer.get("results", ()) if str(row["id"]) not in results}
            results |= new
            total = (answer.get("meta") or {}).get("count")
            if not new or (total is not None and len(results) >= total):
                break
        if "results" not in answer or (total is not None and len(results) < total):
            raise StudyError(f"Prolific did not list all of {path}; try again")
        return list(results.values())

    async def submissions(self, study: str) -> list[Submission]:
        """Return every submission of a study, in Prolific's order."""
        return [
            Submission(
                str(row["id"]),
                str(row.get("participant_id") or row.get("participant") or ""),
                study,
                str(row.get("status", "")).upper().replace("_", " "),
                str(row.get("study_code") or row.get("entered_code") or ""),
            )
            for row in await self.listed(f"/submissions/?study={quote(study, safe='')}")
        ]

    async def with_bonuses(self, submissions: Sequence[Submission], chosen: Collection[str]) -> list[Submission]:
        """Return the submissions, the `chosen` ones with the bonuses that Prolific shows as paid.

        Prolific shows them with a single submission, and not in its list.
        """
        return [await self.with_own_bonuses(each) if each.id in chosen else each for each in submissions]

    async def with_own_bonuses(self, submission: Submission) -> Submission:
        listed = (await self.call("GET", f"/submissions/{quote(submission.id, safe='')}/")).get("bonus_payments")
        if not isinstance(listed, list) or not all(isinstance(cents, int | float) for cents in listed):
            return submission
        return replace(submission, bonuses=tuple(round(cents) for cents in listed))

    async def project_in(self, workspace: str, project: str | None) -> str:
        """Return the workspace's `project`, or its only one.

        Raises StudyError: the workspace has no such project, or several and none is named.
        """
        projects = {str(row["id"]): row.get("title") for row in await self.listed(f"/workspaces/{workspace}/projects/")}
        if project in projects or (project is None and len(projects) == 1):
            return project or next(iter(projects))
        names = ", ".join(f"{name} ({title})" for name, title in projects.items()) or "none"
        raise StudyError(f"name a project of the workspace {workspace} with --project: {names}")

    async def request_return(self, submission: str, reason: str) -> None:
        """Ask a person to return a submission; they may decline."""
        await self.call("POST", f"/submissions/{submission}/request-return/", {"request_return_reasons": [reason]})


@asynccontextmanager
async def client() -> AsyncIterator[ProlificClient]:
    """Yield a client with the token in the environment.

    Raises ConfigurationError: there is none.
    """
    token = os.environ.get("CASEWISE_PROLIFIC_TOKEN")
    if not token:
        raise ConfigurationError(
            "set the environment variable CASEWISE_PROLIFIC_TOKEN to your API token from Prolific's settings"
        )
    headers, timeout = {"Authorization": f"Token {token}"}, aiohttp.ClientTimeout(total=30)
    async with aiohttp.ClientSession(headers=headers, timeout=timeout) as session:
        yield ProlificClient(session, os.environ.get("CASEWISE_PROLIFIC_API", API).rstrip("/"))


@dataclass(frozen=True)
class FittedPlaces:
    """The places there, before and after."""

    before: int
    taken: int
    needed: int
    """More people whom the round needs now, beside those in the tutorial or the quiz."""
    after: int
    paused: bool
    """True where the study was paused there instead, since no person is needed and places could not be taken away."""
    why: str = ""
    """Prolific's words where it let nothing be taken away."""
    started: bool = False
    """True where the study was paused there and people are let in again, since more are needed."""


async def fit_study(prolific: ProlificClient, study: str, needed: int) -> FittedPlaces:
    """Give a study there places for those taken and `needed` more; see `FittedPlaces` for where it cannot be.

    Raises StudyError: Prolific does not report how many places there are.
    """
    answer = await prolific.call("GET", f"/studies/{study}/")
    try:
        before, places_taken = int(answer["total_available_places"]), int(answer["places_taken"])
    except (KeyError, TypeError, ValueError):
        raise StudyError(f"Prolific did not report how many places {study} has, and how many are taken") from None
    total = places_taken + needed
    fitted = FittedPlaces(before, places_taken, needed, total, paused=False)
    try:
        if total != before:
            await prolific.call("PATCH", f"/studies/{study}/", {"total_available_places": total})
    except RecruiterRefused as error:
        if total > before or error.status == BUSY:
            raise
        if not needed:
            await prolific.transition(f"/studies/{study}", "PAUSE")
        fitted = replace(fitted, after=before, paused=not needed, why=str(error))
    if answer.get("status") == "PAUSED" and needed:
        await prolific.transition(f"/studies/{study}", "START")
        fitted = replace(fitted, started=True)
    return fitted


Action = Literal["approve", "decide", "pay", "ask return", "end", "leave out"]
"""The kinds of action that `casewise prolific reconcile` can take, each with its own consent."""

RETURN_REASON = "Did not finish study"
STATUSES_BY_PRECEDENCE = (
    "APPROVED",
    "AWAITING REVIEW",
    "ACTIVE",
    "RESERVED",
    "SCREENED OUT",
    "TIMED-OUT",
    "REJECTED",
    "RETURNED",
)
"""States of submissions; of a person's several submissions the first in this order counts."""
SETTLED = "settled"


@dataclass(frozen=True, slots=True)
class ReconciliationLine:
    """One submission there, or one person here, or both; and what is to be done."""

    submission: Submission | None
    standing: Standing | None
    advice: str
    """The finding, and what to do; `SETTLED` where nothing is."""
    action: Action | None = None
    """The action that `casewise prolific reconcile` can take."""
    amount: float = 0.0
    """Its cost, without the fee."""
    ratings: int = 0
    """Ratings that no longer count after it."""
    doubtful: tuple[Payment, ...] = ()
    """Payments of which it is not known whether they were made."""


def reconcile(
    submissions: Sequence[Submission], account: RoundAccount, design: Design, *, vault: Vault
) -> list[ReconciliationLine]:
    """Compare the recruiter's submissions with the people of a round."""
    by_session = {person.ids.session: person for person in account.people}
    by_person = {person.ids.person: person for person in account.people}
    matched: dict[str, list[Submission]] = {}
    lines = []
    for submission in submissions:
        annotator = by_session.get(submission.id) or by_person.get(submission.person.lower())
        if annotator is None:
            finished = submission.code == design.recruiter.completion_code
            lines.append(unknown_submission(submission, all_known=account.all_known, finished=finished))
        else:
            matched.setdefault(annotator.annotator, []).append(submission)
    for person in account.people:
        sent = sorted(
            matched.get(person.annotator, ()),
            key=lambda submission: (*STATUSES_BY_PRECEDENCE, submission.status).index(submission.status),
        )
        lines.append(
            known_person(person, sent[0] if sent else None, design, account.payments.get(person.annotator, ()))
        )
        for duplicate in sent[1:]:
            advice = f"another submission of {person.annotator}, who is paid through {sent[0].id}"
            action: Action | None = "ask return" if duplicate.status == "AWAITING REVIEW" else None
            lines.append(ReconciliationLine(duplicate, person, advice, action))
    return [without_second_request(line, account.asked, design, vault=vault) for line in lines]


def without_second_request(
    line: ReconciliationLine, asked: frozenset[str], design: Design, *, vault: Vault
) -> ReconciliationLine:
    """Return the line without its action where that is a request for a return that was made before."""
    if line.action != "ask return" or line.submission is None:
        return line
    if vault.fingerprint(design.name, line.submission.id) not in asked:
        return line
    return replace(line, action=None, advice="was asked to return it: wait, or decide at Prolific")


def unknown_submission(submission: Submission, *, all_known: bool, finished: bool) -> ReconciliationLine:
    """Return what to do about a submission of an unknown person; `finished`: it has the code of those who did their part."""
    action: Action | None = None
    if submission.status in {"RESERVED", "ACTIVE"}:
        advice = f"has not consented yet: {WAIT_ADVICE}"
    elif submission.status in {"RETURNED", "TIMED-OUT", "SCREENED OUT"}:
        advice = SETTLED
    elif submission.status != "AWAITING REVIEW":
        advice = f"is {submission.status.lower()} at Prolific but unknown to this study: check it at Prolific"
    elif finished:
        advice = (
            "has the right code but is unknown to this study (backup restored, or code passed on): decide at Prolific"
        )
    elif not all_known:
        advice = "is unknown to this study, or was forgotten: decide at Prolific"
    else:
        advice, action = "never consented in this study: ask them to return it", "ask return"
    return ReconciliationLine(submission, None, advice, action)


WAIT_ADVICE = "wait, Prolific closes it when its time runs out"
RULES: dict[tuple[str, str], tuple[str, Action | None]] = {
    ("nothing", "RETURNED"): (SETTLED, None),
    ("under way", "ACTIVE"): (SETTLED, None),
    ("away", "ACTIVE"): (f"left this study but is still active at Prolific: {WAIT_ADVICE}", None),
    ("*", "ACTIVE"): (
        "ended here but entered no code at Prolific: wait, or write to them (casewise study person NUMBER --message)",
        None,
    ),
    ("*", "RETURNED"): (
        "returned it, so it is not paid: exclude them, or pay a bonus first and keep them",
        "leave out",
    ),
    ("screen-out", "RETURNED"): (SETTLED, None),
    ("under way", "*"): ("is still rating: check again later", None),
    ("away", "APPROVED"): ("left this study and was paid at Prolific: end their part here", "end"),
    ("away", "*"): ("left this study and ended at Prolific: end their part here, and pay what it is worth", "end"),
    ("*", "APPROVED"): (SETTLED, None),
    ("full", "AWAITING REVIEW"): ("completed the study: approve it", "approve"),
    ("full", "TIMED-OUT"): (
        "completed the study too late: approve it; if Prolific refuses, a bonus is paid",
        "approve",
    ),
    ("screen-out", "SCREENED OUT"): (SETTLED, None),
    ("screen-out", "AWAITING REVIEW"): ("is owed a screen-out that their code did not trigger: pay it", "pay"),
    ("screen-out", "TIMED-OUT"): ("is owed a screen-out that their code did not trigger: pay it", "pay"),
    ("screen-out paid", "AWAITING REVIEW"): ("got the screen-out as a bonus: ask them to return it", "ask return"),
    ("screen-out paid", "*"): (SETTLED, None),
    ("failed checks", "AWAITING REVIEW"): ("excluded by the rules for checks or exclusion: decide at Prolific", None),
    ("decide", "AWAITING REVIEW"): ("skipped too much or rated nothing: decide whether to approve it", "decide"),
    ("*", ""): ("no such submission at Prolific: the link was invented, or belongs to another study", None),
    ("*", "*"): ("unexpected state: check it at Prolific", None),
}
"""Advice and action, by what a person is owed (`away`: under way, and their lease has ended) and how their submission stands there."""


def known_person(
    person: Standing, submission: Submission | None, design: Design, made: Sequence[Payment]
) -> ReconciliationLine:
    """Return what to do about a person, by the submission of theirs that counts and the payments `made` or begun."""
    pay, due, status = design.pay, str(person.due), submission.status if submission else ""
    bonuses = [payment for payment in made if payment.payment != APPROVAL]
    if doubtful := tuple(payment for payment in bonuses if not payment.settled):
        amounts = " and ".join(f"{payment.amount:.2f} ({payment.payment})" for payment in doubtful)
        advice = (
            f"a bonus of {amounts} was begun and is in doubt: check at Prolific whether it was paid, then: "
            f"casewise study person {person.annotator} --settle paid (or not-paid)"
        )
        return ReconciliationLine(submission, person, advice, doubtful=doubtful)
    bonus = sum(payment.amount for payment in bonuses if payment.state == "confirmed")
    if status == "RESERVED":
        status = "ACTIVE"
    if person.away:
        due = "away"
    if due == "screen-out" and bonus:
        due = "screen-out paid"
    if bonus and (status == "RETURNED" or (status == "TIMED-OUT" and bonus >= pay.per_batch)):
        return ReconciliationLine(submission, person, SETTLED)
    keys = ((due, status), ("*", status), (due, "*"), ("*", "*"))
    advice, action = next(RULES[key] for key in keys if key in RULES)
    if action in ("approve", "decide") and submission and submission.code != design.recruiter.completion_code:
        advice = f"(without the right code) {advice}"
    if action == "end" and status in UNPAID:
        advice += f" ({person.rated} rated)"
    unpaid_end = (pay.per_batch if person.rated else pay.screen_out) if status in UNPAID else 0.0
    amounts_of = {"approve": pay.per_batch, "decide": pay.per_batch, "pay": pay.screen_out, "end": unpaid_end}
    ratings = person.rated if action == "leave out" else 0
    return ReconciliationLine(submission, person, advice, action, amounts_of.get(str(action), 0.0), ratings)


UNPAID = ("AWAITING REVIEW", "TIMED-OUT")
"""The states of a submission that can still be paid."""


def seen_payments(lines: Sequence[ReconciliationLine], account: RoundAccount, design: Design) -> list[Payment]:
    """Return the payments that Prolific shows as made and that are not confirmed yet.

    An approved or screened-out submission was paid. A bonus in doubt was paid where the submission shows its amount more often
    than bonuses of it were confirmed; what a submission does not show may still come, and stays in doubt.
    """
    seen: list[Payment] = []
    for line in lines:
        submission, person = line.submission, line.standing
        if submission is None or person is None:
            continue
        made = account.payments.get(person.annotator, ())
        approval = next((payment for payment in made if payment.payment == APPROVAL), None)
        paid = {"APPROVED": design.pay.per_batch, "SCREENED OUT": design.pay.screen_out}.get(submission.status)
        if paid is not None and (approval is None or approval.state != "confirmed"):
            reason = f"seen {submission.status.lower()} at Prolific"
            seen.append(Payment(person.annotator, APPROVAL, paid, "pay", "confirmed", reason))
        listed = Counter(submission.bonuses or ())
        listed.subtract(round(payment.amount * 100) for payment in made if payment.state == "confirmed")
        for payment in line.doubtful:
            if listed[round(payment.amount * 100)] > 0:
                listed[round(payment.amount * 100)] -= 1
                seen.append(replace(payment, state="confirmed", why="seen among the bonuses at Prolific"))
    return seen
