"""The design of a study: everything that `study.toml` says, as one frozen value."""

from __future__ import annotations

from datetime import date
from math import floor
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, ValidationError, model_validator

from casewise.errors import ConfigurationError, DataError
from casewise.records.toml import read_toml
from casewise.studies.design.languages import LanguageCode
from casewise.studies.design.own_questions import DEMOGRAPHICS, Demographic, OwnQuestion
from casewise.studies.design.replies import RatedThing, check_reply_study
from casewise.studies.design.section import DesignSection, Share, Slug, Words

__all__ = [
    "CHILD_RELATED",
    "Analysis",
    "Attention",
    "Contact",
    "Design",
    "Pay",
    "QualityThresholds",
    "Ratings",
    "RecruiterSettings",
    "problems",
    "read_design",
]

Code = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{4,40}$")]

RecruiterKind = Literal["prolific", "redirect", "code", "form", "invitation"]

CHILD_RELATED = "child-related crimes"
"""Shown to annotators only where the owner turns it on and says why."""


EXAMPLE_DOMAINS = {"example.org", "example.com", "example.net", "example", "invalid", "test", "localhost"}
"""Domains to which nobody's mail goes (RFC 2606)."""


class Contact(DesignSection):
    """Whom an annotator can write to; named on the consent page."""

    researcher: Words
    institution: Words
    email: Words
    ethics_approval: str = ""
    """The ethics board and its number; the consent page says so when there is none."""

    @property
    def placeholders(self) -> tuple[str, ...]:
        """What `study init` wrote and nobody has filled in; an address at a domain that is for examples only is one."""
        domain = self.email.rpartition("@")[2].lower()
        example = (
            "@" not in self.email
            or not domain
            or domain.rpartition(".")[2] in EXAMPLE_DOMAINS
            or domain in EXAMPLE_DOMAINS
        )
        written = (self.researcher == "Your name", self.institution == "Your institution", example)
        values = (self.researcher, self.institution, self.email)
        return tuple(repr(value) for value, blank in zip(values, written, strict=True) if blank)


class Ratings(DesignSection):
    """How much is rated, and how fast it may be."""

    per_item: int = Field(21, ge=1, le=1000)
    """Valid ratings that every item is promised."""
    per_annotator: int = Field(25, ge=1, le=500)
    """Items in a batch; the last batches may be shorter and are paid in full."""
    most_batches: int = Field(1, ge=1, le=50)
    """Batches that one annotator may take, one after the other and in one condition; each is paid."""
    minimum_seconds: float = Field(2.0, ge=0, le=120)
    """An answer faster than this is flagged as too fast. It is kept."""
    lease_minutes: float = Field(30.0, gt=0, le=60 * 24 * 30)
    """Inactivity after which reserved slots re-open to others."""


class Attention(DesignSection):
    """Attention checks among the items of a batch."""

    checks_per_batch: int = Field(2, ge=0, le=20)
    may_fail: int = Field(0, ge=0)
    """Failing (or skipping) more checks than this is a flag, and voids where `void` is true."""
    may_skip: Share = 0.2
    """Share of a batch's pages that may be skipped (one at least, unless it is 0); the annotator is told how many.

    One skip more ends the session: what was rated counts and is paid. A skipped check is a failed one.
    """
    void: bool = False
    """Whether failed checks void an annotator's ratings automatically. Nothing else ever does."""

    def most_skips(self, pages: int) -> int:
        """How many of `pages` may be skipped."""
        return max(1, floor(self.may_skip * pages)) if self.may_skip else 0


class Quiz(DesignSection):
    """The questions after the tutorial."""

    attempts: int = Field(1, ge=1, le=5)
    may_miss: int = Field(0, ge=0)
    """Wrong answers allowed in an attempt that counts as passed."""
    expected_pass_rate: Share = 0.7
    """Only for the estimate of cost."""


class Eligibility(DesignSection):
    """Who may take part; passed on to the recruiter, and stated on the consent page."""

    minimum_age: int = Field(18, ge=18, le=99)
    approval_rate: int | None = Field(None, ge=0, le=100)
    """Per cent of earlier work approved."""
    approved_count: int | None = Field(None, ge=0)
    countries: tuple[Words, ...] = ()
    languages: tuple[Words, ...] = ("English",)


class Pay(DesignSection):
    """What people get, and what the estimate of cost and hours rests on."""

    currency: Words = "USD"
    per_batch: float = Field(3.5, ge=0)
    """Paid for every batch, short ones included."""
    screen_out: float = Field(0.5, ge=0)
    """Paid to those who do not pass the quiz."""
    hourly_floor: float = Field(12.0, ge=0)
    """`study check` fails when the median annotator would earn less than this in an hour."""
    budget: float | None = Field(None, gt=0)
    """What the study may cost in all, fees included; alerts are raised before it is reached."""
    fee_percent: float = Field(0.0, ge=0)
    """The recruiter's fee on top of what people get."""
    seconds_per_page: float = Field(20.0, gt=0)
    """Median time for a page, from the pilot or the rehearsal."""
    minutes_before: float = Field(6.0, ge=0)
    """Median time for consent, tutorial and quiz."""


class Alerts(DesignSection):
    """When the owner is written to while a round is open (`casewise serve` with mail settings)."""

    email: str = ""
    """Whom to write to; else `contact.email`."""
    stalled_minutes: float = Field(60.0, gt=0)
    """No valid rating for so long, while there are places."""
    lagging_share: Share = 0.15
    """A condition is behind the others' mean by more than this share of what it was promised."""
    failing_share: Share = 0.4
    """More than this share of the last 20 who ended did not pass the quiz or failed checks."""
    budget_share: Share = 0.9
    """More than this share of `pay.budget` is spent or promised."""


class Sensitive(DesignSection):
    """The category that is off unless the owner turns it on and says why."""

    child_related: bool = False
    why: str = ""
    most_replies: int = Field(30, ge=1, le=200)
    """In a study of replies, how many one person is shown at most: they read what a model really wrote."""

    @model_validator(mode="after")
    def _says_why(self) -> Self:
        if self.child_related and not self.why.strip():
            raise ValueError("child_related is true, so `why` must say why people have to read those items")
        return self


class TextFiles(DesignSection):
    """Files of the owner's own texts, relative to `study.toml`; what is absent is ours."""

    warning: str | None = None
    consent: str | None = None
    tutorial: str | None = None
    quiz: str | None = None
    checks: str | None = None
    screened_out: str | None = None
    debriefing: str | None = None
    help: str | None = None


class RecruiterSettings(DesignSection):
    """How people arrive and how they leave."""

    kind: RecruiterKind = "invitation"
    person: Words = "participant"
    """The URL parameter that holds the recruiter's id of the person."""
    study: str = ""
    """The URL parameter that holds the recruiter's id of the study, if it gives one."""
    session: str = ""
    """The URL parameter that holds the recruiter's id of the submission, if it gives one."""
    completed: str = ""
    """Where those who completed are sent; `{person}`, `{study}`, `{session}` and `{code}` are filled in."""
    screened_out: str = ""
    failed_checks: str = ""
    no_consent: str = ""
    form_fields: dict[str, str] = Field({})
    """For `form`: the fields posted at the end, with the same placeholders."""
    completion_code: Code | None = None
    screened_out_code: Code | None = None
    failed_checks_code: Code | None = None
    no_consent_code: Code | None = None

    @model_validator(mode="after")
    def _can_finish(self) -> Self:
        missing = [name for name in REQUIRED_TO_FINISH[self.kind] if not getattr(self, name)]
        if missing:
            raise ValueError(f"kind is {self.kind!r}, which needs {' and '.join(missing)}")
        codes = [c for c in (self.completion_code, self.screened_out_code, self.failed_checks_code) if c]
        if len(set(codes)) < len(codes):
            raise ValueError("two outcomes share a code, so the recruiter could not tell them apart")
        return self


REQUIRED_TO_FINISH: dict[str, tuple[str, ...]] = {
    "prolific": ("completion_code", "screened_out_code", "failed_checks_code"),
    "redirect": ("completed", "screened_out"),
    "code": ("completion_code",),
    "form": ("completed", "form_fields"),
    "invitation": (),
}


class Privacy(DesignSection):
    """What is kept and until when; the consent page states these dates."""

    withdraw_until: date
    """Until then a withdrawal also removes ratings; after it they are anonymous."""
    keep_ids_until: date
    """Recruiter ids are deleted after this day."""
    exclude_until: date
    """Until then a keyed hash keeps people from taking part twice."""

    @model_validator(mode="after")
    def _dates_make_sense(self) -> Self:
        if self.keep_ids_until < self.withdraw_until:
            raise ValueError("keep_ids_until is before withdraw_until: withdrawals need the id until then")
        return self


class QualityThresholds(DesignSection):
    """When an annotator is flagged; each flag comes with its evidence."""

    too_fast_share: Share = 0.3
    """Flag when more than this share of answers took less than `ratings.minimum_seconds`."""
    same_answer_share: Share = 0.98
    """Flag when at least this share of at least ten ratings is the same decision."""
    scripted_share: Share = 0.1
    """Flag when more than this share of answers came from no person's press or were pasted."""
    minimum_spread: float = Field(0.05, ge=0)
    """Flag when the spread of answering times over their mean is below this: people are not that even."""
    llm_echo: float = Field(0.6, ge=-1, le=1)
    """Flag when what somebody says beyond the others correlates with a judge's verdicts at least so much."""
    correlated_agreement: float = Field(-0.02, ge=-1, le=1)
    """Flag when somebody agrees with the others on the same items so much less than on different ones."""
    timing_length: float = Field(-0.2, ge=-1, le=1)
    """Flag when the rank correlation of seconds and characters is at most this."""
    time_to_sight: Share = 0.5
    """Flag when at least this share of answers came within a second of both texts being in view."""


class Analysis(DesignSection):
    """What is promised before the data are seen; `study freeze` hashes it with the contrasts."""

    labels: Literal["votes", "intended", "published"] = "votes"
    ties: Literal["half", "drop", "safe", "unsafe"] = "half"
    alpha: float = Field(0.05, gt=0, lt=1)
    correction: Literal["holm", "bonferroni", "none", "benjamini-hochberg"] = "holm"
    exclude: tuple[Literal["failed_checks"], ...] = ("failed_checks",)
    """Grounds on which ratings are left out. Disagreement with others is never one."""
    stopping: Words = "every item has its promised number of valid ratings"


class Design(DesignSection):
    """A study as its owner planned it.

    Raises pydantic.ValidationError: a setting is unknown, of the wrong kind, or contradicts another; `read_design`
    turns that into a `ConfigurationError` that names the setting.
    """

    name: Slug
    version: Words = "1"
    title: Words
    """What annotators read at the top of the first page."""
    benchmark: Words
    """The benchmark folder, relative to `study.toml`."""
    conditions: tuple[Words, ...] = Field(min_length=1)
    contrasts: tuple[tuple[Words, Words], ...] = ()
    """Planned comparisons of two conditions."""
    rates: RatedThing = "requests"
    """Whether people decide if a chatbot should respond, or say what replies do (`casewise study init --question reply`)."""
    seed: int = Field(1, ge=0)
    languages: tuple[LanguageCode, ...] = Field(("en",), min_length=1)
    """Of the pages; the first is the one that the benchmark and the texts here are in."""
    translations: str | None = None
    """Translations of queries, contexts and the owner's own words (JSON lines), relative to `study.toml`."""
    contact: Contact
    ratings: Ratings = Ratings()
    attention: Attention = Attention()
    quiz: Quiz = Quiz()
    eligibility: Eligibility = Eligibility()
    pay: Pay = Pay()
    sensitive: Sensitive = Sensitive()
    texts: TextFiles = TextFiles()
    questions: tuple[OwnQuestion, ...] = ()
    """The owner's own questions on each page."""
    demographics: tuple[Demographic, ...] = DEMOGRAPHICS
    """Asked at the end; `[]` asks nothing."""
    recruiter: RecruiterSettings = RecruiterSettings()
    privacy: Privacy
    quality: QualityThresholds = QualityThresholds()
    analysis: Analysis = Analysis()
    alerts: Alerts = Alerts()
    simulation: dict[str, Any] = Field({})
    """Assumed safe rates and sizes, for `casewise study simulate`; the study itself does not read them."""
    crowd: dict[str, Any] = Field({})
    """How the simulated annotators differ, for the same."""

    @model_validator(mode="after")
    def _conditions_are_distinct(self) -> Self:
        if len(set(self.languages)) < len(self.languages):
            raise ValueError("languages names one language twice")
        if len(set(self.conditions)) < len(self.conditions):
            raise ValueError("conditions names one condition twice")
        for pair in self.contrasts:
            for condition in pair:
                if condition not in self.conditions:
                    raise ValueError(f"contrasts names {condition!r}, which is not one of the conditions")
            if pair[0] == pair[1]:
                raise ValueError(f"contrasts compares {pair[0]!r} with itself")
        return self

    @model_validator(mode="after")
    def _questions_are_distinct(self) -> Self:
        for table in ("questions", "demographics"):
            names = [question.name for question in getattr(self, table)]
            if len(set(names)) < len(names):
                raise ValueError(f"two of the {table} share a name: {', '.join(sorted(names))}")
        return self

    @model_validator(mode="after")
    def _replies_are_asked_about(self) -> Self:
        if self.rates == "replies":
            most = self.ratings.per_annotator * self.ratings.most_batches
            check_reply_study(self.questions, most, self.sensitive.most_replies)
        return self

    @model_validator(mode="after")
    def _checks_can_fail(self) -> Self:
        if self.attention.may_fail > self.attention.checks_per_batch:
            raise ValueError("attention.may_fail is more than attention.checks_per_batch, so nobody could fail")
        if self.recruiter.kind == "prolific" and self.quiz.attempts < 2:
            raise ValueError("quiz.attempts must be at least 2 with Prolific before anyone is screened out")
        return self


def read_design(path: Path) -> Design:
    """The design in the `study.toml` at `path`.

    Raises ConfigurationError: the file cannot be read, is not TOML, or a setting is wrong; the message names the file
    and the setting.
    """
    if not path.exists():
        raise ConfigurationError(f"{path}: no such file; `casewise study init BENCHMARK` writes one")
    try:
        return Design.model_validate(read_toml(path, "a study"))
    except DataError as error:
        raise ConfigurationError(str(error)) from error
    except ValidationError as error:
        raise ConfigurationError(f"{path}: {problems(error)}") from error


def problems(error: ValidationError) -> str:
    """Each problem on a line of its own: setting, what is wrong, and the value where there is one."""
    lines = []
    for problem in error.errors(include_url=False):
        where = ".".join(str(part) for part in problem["loc"]) or "the study"
        value = problem.get("input")
        shown = f" (it is {value!r})" if isinstance(value, (str, int, float)) else ""
        lines.append(f"{where}: {problem['msg'].removeprefix('Value error, ')}{shown}")
    return "\n  ".join(lines)
