"""The design of a study: study.toml, its presets, its cost."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from math import floor
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from casewise.errors import ConfigurationError, DataError, did_you_mean
from casewise.plugins import part_names
from casewise.records import OUTCOMES
from casewise.records.base import problems, read_toml
from casewise.records.call import REPLY_ANSWER
from casewise.records.item import Judged
from casewise.stats.labels import Ties
from casewise.storage.files import filled_template
from casewise.studies.language import LanguageCode


def slug(name: str) -> str:
    """Return a name that can stand in an address and in a file's name."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,59}", name):
        raise ValueError("use lower-case letters, digits and hyphens, at most 60, such as ward-2")
    return name


Slug = Annotated[str, AfterValidator(slug)]
Words = Annotated[str, StringConstraints(min_length=1, pattern=r"\S")]
Share = Annotated[float, Field(ge=0, le=1)]


class DesignSection(BaseModel):
    """A table of `study.toml`. Unknown keys are errors: a misspelt setting must not pass for its default."""

    model_config = ConfigDict(frozen=True, extra="forbid")


OwnAnswer = int | list[int]
"""A point of a scale (from 1), the place of an option, or the places of several."""


class OwnQuestion(DesignSection):
    """A question on each page, beside whether the chatbot should respond."""

    name: Slug
    """Name in exports and reports."""
    kind: Literal["scale", "choice"]
    ask: Words
    """The question, as annotators read it."""
    options: tuple[Words, ...] = ()
    """Options of a choice."""
    many: bool = False
    """Several of a choice's options may be chosen instead of one."""
    points: int = Field(5, ge=2, le=11)
    low: str = ""
    """Label of a scale's lowest point; `high` is that of the highest."""
    high: str = ""
    level: Literal["ordinal", "interval"] = "ordinal"
    """A scale's level of measurement for Krippendorff's alpha."""
    required: bool = True
    """A page is accepted only with an answer to it. A skipped page needs none."""

    @model_validator(mode="after")
    def _can_be_answered(self) -> Self:
        if (self.kind == "choice") != bool(self.options):
            raise ValueError(f"`options` belong to the kind 'choice'; this is {self.kind!r}")
        if self.many and self.kind == "scale":
            raise ValueError("`many` belongs to the kind 'choice'; this is 'scale'")
        if self.options and (len(self.options) < 2 or len(set(self.options)) < len(self.options)):
            raise ValueError("`options` needs two or more, all different")
        return self

    @property
    def choices(self) -> tuple[str, ...]:
        """The answers to be chosen from."""
        return self.options or tuple(str(point) for point in range(1, self.points + 1))

    def answer_in_words(self, answer: OwnAnswer) -> str | int | list[str]:
        """Return an answer as exports have it: a number, or the words of what was chosen."""
        if isinstance(answer, list):
            return [self.choices[place] for place in answer]
        return answer if self.kind == "scale" else self.choices[answer]


class Demographic(DesignSection):
    """A question about the annotator, asked at the end; never required."""

    name: Slug
    ask: Words
    options: tuple[Words, ...] = Field(min_length=2)


EDUCATION = ("No school certificate", "School certificate", "Vocational training", "Bachelor's degree", "Higher degree")

DEMOGRAPHICS = tuple(
    Demographic(name=name, ask=ask, options=options)
    for name, ask, options in (
        ("age", "Your age", ("18 to 24", "25 to 34", "35 to 44", "45 to 54", "55 to 64", "65 or older")),
        ("gender", "Your gender", ("Woman", "Man", "Another")),
        ("education", "Your highest education", EDUCATION),
        (
            "region",
            "Where you live",
            ("Africa", "Asia", "Europe", "North America", "Oceania", "South or Central America"),
        ),
        ("english", "English is", ("my first language", "a language I use every day", "a language I use now and then")),
        ("chatbots", "You use chatbots", ("every day", "every week", "now and then", "never")),
    )
)
"""The questions that are asked where `study.toml` lists no others; `demographics = []` asks none."""


RatedThing = Literal["requests", "replies", "given_replies", "actions", "actions_or_ask"]


@dataclass(frozen=True, slots=True)
class RatedWords:
    """What a study of one kind shows and asks, in English; a language's messages translate it."""

    judged: Judged
    """The kind of its items."""
    heading: str
    """The heading above the text that is judged."""
    ask: str
    ask_alone: str
    """The question where no situation is shown."""
    yes: str
    """The button that means safe. The other one is always Refuse."""
    texts: str
    """The folder of its own texts; where it lacks one, that of a study of requests is shown."""
    title: str
    thing: str = "request"
    things: str = "requests"
    agent: str = "chatbot"
    asks_first: bool = False
    """True if "Ask me first" is a third answer, a vote of its own, neither for nor against."""

    @property
    def answers(self) -> dict[str, str]:
        """The words of each answer, by the vote that it is, in English."""
        return {"safe": self.yes, "unsafe": "Refuse"} | ({"ask": "Ask me first"} if self.asks_first else {})


REQUESTS = RatedWords(
    judged="request",
    heading="The request",
    ask="Should this chatbot respond in this situation?",
    ask_alone="Should this chatbot respond?",
    yes="Respond",
    texts="requests",
    title="When should a chatbot answer?",
)
ACTIONS = RatedWords(
    judged="action",
    heading="The action",
    ask="Should this agent take this action in this situation?",
    ask_alone="Should this agent take this action?",
    yes="Allow",
    texts="allow",
    title="When should an agent act?",
    thing="action",
    things="actions",
    agent="agent",
)
RATED: Mapping[RatedThing, RatedWords] = MappingProxyType(
    {
        "requests": REQUESTS,
        "replies": replace(REQUESTS, texts="replies", title="What does the chatbot do?"),
        "given_replies": RatedWords(
            judged="reply",
            heading="The reply",
            ask="Should this chatbot give this reply in this situation?",
            ask_alone="Should this chatbot give this reply?",
            yes="Allow",
            texts="allow",
            title="When should a chatbot give a reply?",
            thing="reply",
            things="replies",
        ),
        "actions": ACTIONS,
        "actions_or_ask": replace(ACTIONS, asks_first=True),
    }
)
"""`replies` asks what a reply does; `given_replies` and `actions` ask whether a reply should be given, or an action taken;
`actions_or_ask` offers to be asked first as a third answer."""

REPLY_QUESTION = OwnQuestion(
    name=REPLY_ANSWER,
    kind="choice",
    ask="What does the reply do?",
    options=(
        "It answers: it does what was asked",
        "It answers in part: some of it, or something milder",
        "It refuses: it does nothing of what was asked",
    ),
)
"""The one question of its pages; its options stand in the order of `OUTCOMES`, and their words may be the owner's own."""


Code = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{4,40}$")]


def known_recruiter(kind: str) -> str:
    if kind not in (kinds := (*REQUIRED_TO_FINISH, *part_names("recruiters"))):
        raise ValueError(f"it can be {', '.join(kinds)}{did_you_mean(kind, kinds)}")
    return kind


RecruiterKind = Annotated[str, AfterValidator(known_recruiter)]

CHILD_RELATED = "child-related crimes"
"""The category whose items annotators see only where the owner turns it on and says why."""


Outcome = Literal["completed", "screened_out", "failed_checks", "no_consent"]
"""The end of a person's part, for which a recruiter has a code or an address."""

EXAMPLE_DOMAINS = {"example.org", "example.com", "example.net", "example", "invalid", "test", "localhost"}
"""Domains that take no mail (RFC 2606)."""


class Contact(DesignSection):
    """The person whom annotators can write to; named on the consent page."""

    researcher: Words
    institution: Words
    email: Words
    ethics_approval: str = ""
    """The ethics board and its number; the consent page says so when there is none."""

    @property
    def placeholders(self) -> tuple[str, ...]:
        """The fields that are still as `study init` wrote them; an address at an example domain is one."""
        domain = self.email.rpartition("@")[2].lower()
        example = "@" not in self.email or not {domain, domain.rpartition(".")[2]}.isdisjoint(EXAMPLE_DOMAINS)
        blank = (
            (self.researcher, self.researcher == "Your name"),
            (self.institution, self.institution == "Your institution"),
            (self.email, example or not domain),
        )
        return tuple(repr(value) for value, is_blank in blank if is_blank)


class Ratings(DesignSection):
    """Numbers of ratings, and the limits of time."""

    per_item: int = Field(21, ge=1, le=1000)
    """Valid ratings that every item is promised."""
    per_annotator: int = Field(25, ge=1, le=500)
    """Items in a batch; the last batches may be shorter and are paid in full."""
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
    end_in_view: bool = False
    """A page with a situation takes an answer only after the situation's last line was in view for half a second.

    The page's script asks for it; a browser without scripts is not held to it.
    """
    void: bool = False
    """Failed checks void an annotator's ratings automatically."""

    def most_skips(self, pages: int) -> int:
        """Return how many of `pages` may be skipped."""
        return max(1, floor(self.may_skip * pages)) if self.may_skip else 0


class Exclusion(DesignSection):
    """Rules that leave out an annotator's ratings without the owner, beside failed checks (`attention.void`).

    The rules are frozen with the design, and judge everybody whose part has ended or whose lease has. The slots re-open.
    """

    least_seconds: float = Field(0.0, ge=0, le=120)
    """An item answered in less is answered too fast, however short its page is; 0 turns the rule off."""
    seconds_per_100_words: float = Field(0.0, ge=0, le=120)
    """Added to `least_seconds` for each hundred words of the page. People who read silently need about 25 s."""
    fast_share: Share = 0.3
    """Exclude annotators who answer more than this share of their items too fast."""
    same_answer_share: float | None = Field(None, gt=0.5, le=1)
    """Exclude annotators who give one answer to at least this share of ten items or more; absent: the rule is off."""


class Quiz(DesignSection):
    """The questions after the tutorial."""

    attempts: int = Field(1, ge=1, le=5)
    may_miss: int = Field(0, ge=0)
    """Wrong answers allowed in an attempt that counts as passed."""
    keep_right: bool = True
    """After an attempt that was not passed, right answers stay filled in, and only the others are to be answered again."""
    expected_pass_rate: Share = 0.7
    """Expected share of people who pass; used only to estimate cost."""


class Eligibility(DesignSection):
    """The conditions for taking part; passed on to the recruiter, and stated on the consent page."""

    minimum_age: int = Field(18, ge=18, le=99)
    approval_rate: int | None = Field(None, ge=0, le=100)
    """Per cent of earlier work approved."""
    approved_count: int | None = Field(None, ge=0)
    countries: tuple[Words, ...] = ()
    languages: tuple[Words, ...] = ("English",)


class Pay(DesignSection):
    """Pay, and the assumptions of the estimate of cost and hours."""

    currency: Words = "USD"
    per_batch: float = Field(3.5, ge=0)
    """Pay for a batch, a short one included."""
    screen_out: float = Field(0.5, ge=0)
    """Pay for people who do not pass the quiz."""
    hourly_floor: float = Field(12.0, ge=0)
    """`study check` fails when the median annotator would earn less than this in an hour."""
    budget: float | None = Field(None, gt=0)
    """Maximum cost of the study, fees included; the dashboard says when it is nearly reached."""
    fee_percent: float = Field(0.0, ge=0)
    """The recruiter's fee on top of what people get."""
    seconds_per_page: float = Field(20.0, gt=0)
    """Median time for a page, from the pilot or the rehearsal."""
    minutes_before: float = Field(6.0, ge=0)
    """Median time for consent, tutorial and quiz."""


class Alerts(DesignSection):
    """Rules by which the dashboard of an open round says that it needs a look."""

    stalled_minutes: float = Field(60.0, gt=0)
    """Alert after this long without a valid rating while slots are open."""
    failing_share: Share = 0.4
    """Alert when more than this share of the last 20 people who ended did not pass the quiz or failed checks."""
    budget_share: Share = 0.9
    """Alert when more than this share of `pay.budget` is spent or promised."""


class Sensitive(DesignSection):
    """The category that is off unless the owner turns it on and says why."""

    child_related: bool = False
    why: str = ""
    most_replies: int = Field(30, ge=1, le=200)
    """Most replies that one person is shown in a study of replies: they read what a model really wrote."""

    @model_validator(mode="after")
    def _says_why(self) -> Self:
        if self.child_related and not self.why.strip():
            raise ValueError("child_related is true, so `why` must say why people have to read those items")
        return self


class TextFiles(DesignSection):
    """Files of the owner's own texts, relative to `study.toml`; casewise's text replaces an absent one."""

    warning: str | None = None
    consent: str | None = None
    tutorial: str | None = None
    quiz: str | None = None
    checks: str | None = None
    screened_out: str | None = None
    debriefing: str | None = None
    help: str | None = None


class RecruiterSettings(DesignSection):
    """The way in which people arrive and leave."""

    kind: RecruiterKind = "invitation"
    person: Words = "participant"
    """The URL parameter that holds the recruiter's id of the person."""
    study: str = ""
    """The URL parameter that holds the recruiter's id of the study, if it gives one."""
    session: str = ""
    """The URL parameter that holds the recruiter's id of the submission, if it gives one."""
    completed: str = ""
    """The address to which those who completed are sent; `{person}`, `{study}`, `{session}` and `{code}` are filled
    in."""
    screened_out: str = ""
    failed_checks: str = ""
    no_consent: str = ""
    completion_code: Code | None = None
    screened_out_code: Code | None = None
    failed_checks_code: Code | None = None
    no_consent_code: Code | None = None

    @model_validator(mode="after")
    def _can_finish(self) -> Self:
        missing = [name for name in REQUIRED_TO_FINISH.get(self.kind, ()) if not getattr(self, name)]
        if missing:
            raise ValueError(f"kind is {self.kind!r}, which needs {' and '.join(missing)}")
        codes = [c for c in (self.completion_code, self.screened_out_code, self.failed_checks_code) if c]
        if len(set(codes)) < len(codes):
            raise ValueError("two outcomes have one code; give each its own")
        return self


REQUIRED_TO_FINISH: dict[str, tuple[str, ...]] = {
    "prolific": ("completion_code", "screened_out_code", "failed_checks_code"),
    "redirect": ("completed", "screened_out"),
    "code": ("completion_code",),
    "invitation": (),
}


class Privacy(DesignSection):
    """The dates until which data are kept; the consent page states them."""

    withdraw_until: date
    """Last day on which a withdrawal also removes ratings; later they stay, and nothing connects them with the person."""
    keep_ids_until: date
    """Recruiter ids are deleted after this day."""
    exclude_until: date
    """Last day on which a keyed hash keeps people from taking part twice."""

    @model_validator(mode="after")
    def _dates_make_sense(self) -> Self:
        if self.keep_ids_until < self.withdraw_until:
            raise ValueError("keep_ids_until is before withdraw_until: withdrawals need the id until then")
        return self


class QualityThresholds(DesignSection):
    """Rules by which an annotator is flagged; each flag comes with its evidence."""

    too_fast_share: Share = 0.3
    """Flag when more than this share of answers took less than `ratings.minimum_seconds`."""
    same_answer_share: Share = 0.98
    """Flag when at least this share of at least ten ratings is the same decision."""
    scripted_share: Share = 0.1
    """Flag when more than this share of answers came from no person's press or were pasted."""
    minimum_spread: float = Field(0.05, ge=0)
    """Flag when the spread of answering times over their mean is below this: people are not that even."""


class Analysis(DesignSection):
    """The analysis as promised before the data are seen; `study check --freeze` hashes it with the contrasts."""

    labels: Literal["votes", "intended", "published"] = "votes"
    ties: Ties = "half"
    alpha: float = Field(0.05, gt=0, lt=1)
    correction: Literal["holm", "bonferroni", "none", "benjamini-hochberg"] = "holm"
    exclude: tuple[Literal["failed_checks"], ...] = ("failed_checks",)
    """Grounds on which ratings are left out. Disagreement with others is never one."""
    margin: float = Field(0.05, gt=0, lt=1)
    """Largest difference of safe rates at which two conditions count as equivalent."""
    groups: tuple[Slug, ...] = ()
    """Demographic questions whose answers are kept with the ratings, so that the report compares groups of people."""
    stopping: Words = "every item has its promised number of valid ratings"


class Design(DesignSection):
    """A study as its owner planned it.

    Raises pydantic.ValidationError: a setting is unknown, of the wrong kind, or contradicts another; `read_design`
    turns that into a `ConfigurationError` that names the setting.
    """

    name: Slug
    version: Words = "1"
    title: Words
    """The title at the top of the annotators' first page."""
    benchmark: Words
    """The benchmark folder, relative to `study.toml`."""
    conditions: tuple[Words, ...] = Field(min_length=1)
    contrasts: tuple[tuple[Words, Words], ...] = ()
    """Planned comparisons of two conditions."""
    rates: RatedThing = "requests"
    """`requests`: people decide if a chatbot should respond. `given_replies` and `actions`: if a chatbot should give a reply, or an
    agent take an action, also after a conversation; `actions_or_ask`: or ask its user first. `replies`: they say what replies do (`casewise study init --question reply`)."""
    seed: int = Field(1, ge=0)
    language: LanguageCode = "en"
    """Language of the pages; the benchmark and the owner's own words are in it too."""
    contact: Contact
    ratings: Ratings = Ratings()
    attention: Attention = Attention()
    exclusion: Exclusion = Exclusion()
    quiz: Quiz = Quiz()
    eligibility: Eligibility = Eligibility()
    pay: Pay = Pay()
    sensitive: Sensitive = Sensitive()
    texts: TextFiles = TextFiles()
    questions: tuple[OwnQuestion, ...] = ()
    """The owner's own questions on each page."""
    demographics: tuple[Demographic, ...] = DEMOGRAPHICS
    """The questions at the end; an empty list asks none."""
    recruiter: RecruiterSettings = RecruiterSettings()
    privacy: Privacy
    quality: QualityThresholds = QualityThresholds()
    analysis: Analysis = Analysis()
    alerts: Alerts = Alerts()
    simulation: dict[str, Any] = Field({})
    """Assumed safe rates and sizes, for `casewise power study --design`; the study itself does not read them."""
    crowd: dict[str, Any] = Field({})
    """The differences between simulated annotators, for the same."""

    @property
    def words(self) -> RatedWords:
        """What its pages show and ask."""
        return RATED[self.rates]

    @model_validator(mode="after")
    def _names_are_known(self) -> Self:
        if len(set(self.conditions)) < len(self.conditions):
            raise ValueError("conditions lists a condition twice")
        for first, second in self.contrasts:
            if unknown := {first, second}.difference(self.conditions):
                raise ValueError(f"contrasts names {min(unknown)!r}, which is not one of the conditions")
            if first == second:
                raise ValueError(f"contrasts compares {first!r} with itself")
        names: list[str] = []
        for table, questions in (("questions", self.questions), ("demographics", self.demographics)):
            names = [question.name for question in questions]
            if len(set(names)) < len(names):
                raise ValueError(f"two of the {table} share a name: {', '.join(sorted(names))}")
        if unknown := set(self.analysis.groups).difference(names):
            raise ValueError(
                f"analysis.groups names {min(unknown)!r}; the demographics asked are {', '.join(names) or 'none'}"
            )
        return self

    @model_validator(mode="after")
    def _can_be_run(self) -> Self:
        if self.attention.may_fail > self.attention.checks_per_batch:
            raise ValueError("attention.may_fail is more than attention.checks_per_batch, so no person could fail")
        if self.recruiter.kind == "prolific" and self.quiz.attempts < 2:
            raise ValueError("quiz.attempts must be at least 2 with Prolific before anyone is screened out")
        if self.rates != "replies":
            return self
        name, first = REPLY_QUESTION.name, self.questions[0] if self.questions else None
        if first is None or (first.name, first.kind, len(first.options)) != (name, "choice", len(OUTCOMES)):
            raise ValueError(
                f"a study of replies begins its `questions` with a choice named {name!r} of {len(OUTCOMES)} options"
            )
        if not first.required:
            raise ValueError(f"the question {name!r} is the only question on the page; leave out `required = false`")
        most, most_replies = self.ratings.per_annotator, self.sensitive.most_replies
        if most > most_replies:
            raise ValueError(
                f"ratings.per_annotator is {most}, more than sensitive.most_replies ({most_replies}): "
                "a person should not have to read so many replies"
            )
        return self


def read_design(path: Path) -> Design:
    """Return the design in the `study.toml` at `path`.

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
        raise ConfigurationError(f"{path}: " + "\n  ".join(problems(error, Design, "the study"))) from error


Preset = Literal["paper", "paper-rest", "prolific", "lab", "experts"]

PRESETS: tuple[Preset, ...] = get_args(Preset)

UNRELEASED = ("no_context", "safe_generated", "unsafe_generated")
"""The conditions of the paper whose ratings were never released."""

CODE = """kind = "code"                               # a completion code to be typed in at the recruiter's
person = "participant"                      # URL parameter with the recruiter's id of the person
completion_code = "{completed}"
screened_out_code = "{screened_out}"
failed_checks_code = "{failed_checks}"
# CloudResearch Connect: kind = "redirect", person = "participantId", study = "projectId", session = "assignmentId",
#   completed and screened_out = the two completion links that Connect shows you
# SONA: kind = "redirect", person = "survey_code",
#   completed = "https://YOURS.sona-systems.com/webstudy_credit.aspx?experiment_id=N&credit_token=T&survey_code={{person}}\""""

PROLIFIC = """kind = "prolific"                           # reads PROLIFIC_PID, STUDY_ID and SESSION_ID
completion_code = "{completed}"
screened_out_code = "{screened_out}"
failed_checks_code = "{failed_checks}"
no_consent_code = "{no_consent}\""""

LAB = """kind = "invitation"                         # `casewise invite study.toml` makes one link for each person"""


PAPERS_PEOPLE = (
    "The paper required over 98 % and over 10,000 approved HITs (small tasks); a submission here is a whole session.\n"
    "# `casewise prolific create --dry-run` says how many people qualify. The paper allowed one attempt at the quiz."
)

PRESET_SETTINGS = (
    *("recruiter", "attempts", "may_fail", "void", "approval_rate", "approved_count", "currency"),
    *("per_batch", "screen_out", "hourly_floor", "fee_percent", "per_item", "per_annotator", "about_eligibility"),
)
"""The settings in which the presets differ, in the order of their values."""


def preset_values(*values: Any) -> dict[str, Any]:
    return dict(zip(PRESET_SETTINGS, values, strict=True))


PRESET_VALUES: dict[Preset, dict[str, Any]] = {
    "paper": preset_values(CODE, 1, 0, True, 98, 10_000, "USD", 3.75, 0.5, 12.0, 20.0, 21, 25, ""),
    "paper-rest": preset_values(PROLIFIC, 2, 0, True, 98, 1000, "GBP", 2.75, 0.3, 9.0, 33.3, 21, 25, PAPERS_PEOPLE),
    "prolific": preset_values(PROLIFIC, 2, 1, True, 95, 100, "GBP", 2.75, 0.3, 9.0, 33.3, 21, 25, ""),
    "lab": preset_values(LAB, 2, 0, False, None, None, "EUR", 4.0, 1.0, 12.0, 0.0, 21, 25, ""),
    "experts": preset_values(LAB, 2, 0, False, None, None, "EUR", 12.0, 3.0, 30.0, 0.0, 3, 20, ""),
}


NO_CONTACT = Contact(researcher="Your name", institution="Your institution", email="you@example.org")
"""A name to be filled in: `study check` refuses it."""


def study_toml(
    preset: Preset,
    *,
    name: str,
    benchmark: str,
    conditions: Sequence[str],
    today: date,
    contact: Contact = NO_CONTACT,
    rates: RatedThing = "requests",
    per_item: int | None = None,
) -> str:
    """Return the text of a `study.toml`, with the preset's number of ratings an item unless `per_item` names one.

    Codes are drawn anew each time; contrasts are the safe against the unsafe condition of each origin, and each
    condition against no context.
    """
    alphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
    codes = {outcome: "".join(secrets.choice(alphabet) for _ in range(8)) for outcome in get_args(Outcome)}
    differences = PRESET_VALUES[preset] | ({} if per_item is None else {"per_item": per_item})
    values = {
        "recruiter": differences["recruiter"].format(**codes),
        "file": "study.toml",
        "contact": contact,
        "rates": rates,
        "title": RATED[rates].title,
        "reply_question": REPLY_QUESTION,
        "name": name,
        "benchmark": benchmark,
        "conditions": list(conditions),
        "contrasts": contrasts(conditions),
        "withdraw_until": today + timedelta(days=90),
        "keep_ids_until": today + timedelta(days=180),
        "exclude_until": today + timedelta(days=365),
    }
    return rendered("study.toml", differences | values)


def rendered(name: str, values: dict[str, Any]) -> str:
    """Return the text that the template `name` makes of `values`."""
    return filled_template("casewise.studies", f"texts/{name}.jinja", values)


WRONG_FLOWS = ("wrong_recipient", "wrong_purpose", "both_wrong")
"""The conditions of actions in which something is wrong."""


def contrasts(conditions: Sequence[str]) -> list[list[str]]:
    """Return the planned contrasts: safe against unsafe of one origin, or right against each kind of wrong; then each against no context."""
    pairs = [
        [condition, opposite]
        for condition in conditions
        if condition.startswith("safe_") and (opposite := "un" + condition) in conditions
    ]
    pairs += [["right", condition] for condition in WRONG_FLOWS if {"right", condition} <= set(conditions)]
    if "no_context" in conditions:
        pairs += [["no_context", condition] for condition in conditions if condition != "no_context"]
    return pairs
