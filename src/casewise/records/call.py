"""The records that a run stores of each call: a judgement or a reply, under an arm and an elicitation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from math import inf
from typing import Annotated, Any, Literal, Self
from urllib.parse import quote, unquote

from pydantic import AfterValidator, Field, model_validator

from casewise.errors import ConfigurationError
from casewise.notation import spoken
from casewise.plugins import find_part, part_names
from casewise.records.base import Record, digest
from casewise.records.context import GROUPS, reading_order

# An arm: how an item is shown to a judge, as an ordered tuple of transforms.
#
# Records hold the names of transforms; `casewise.transforms` applies them. An arm's name is canonical by construction: two arms
# that show the same by the same steps are equal and have one name, and `Arm.parse(arm.name) == arm`.


WITHOUT = "without"
"""The kind of transform that leaves parameters or groups out."""

WRITTEN = re.compile(r"(?P<kind>[a-z][a-z0-9_-]*)(?:@(?P<version>[1-9]\d*))?(?::(?P<rest>.*))?", re.DOTALL)

DIGEST = re.compile(r"[0-9a-f]{8}")
"""The checksum behind the path of a transform's file."""

PLAIN = ":,./#=@"
"""The characters that a name keeps, besides letters and digits; `+` and spaces, which part names, are escaped."""


class Transform(Record):
    """A named change of what is shown, such as `without:recipient`, with its kind, version and argument."""

    kind: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$")]
    rest: str = ""
    """The objects of this transform: parameters, a function, a file."""
    version: Annotated[int, Field(ge=1)] = 1

    @property
    def name(self) -> str:
        """`kind`, `@version` unless that is 1, and `:rest` where there is one."""
        if self == NOTHING_LEFT:
            return "none"
        version = f"@{self.version}" if self.version > 1 else ""
        return f"{self.kind}{version}{':' if self.rest else ''}{quote(self.rest, safe=PLAIN)}"

    @property
    def short_name(self) -> str:
        """The name without version, folder, checksum and date where it goes by a file: `verified:facts.jsonl`."""
        parts = self.rest.split("@")
        digests = [place for place, part in enumerate(parts) if place and DIGEST.fullmatch(part)]
        if not digests:
            return self.name
        file, mark, within = "@".join(parts[: digests[0]]).partition("#")
        kind = "" if self.kind == "toml" else f"{self.kind}:"
        return f"{kind}{file.rpartition('/')[2]}{mark}{within}"

    @property
    def omits(self) -> tuple[str, ...]:
        """The parameters and groups that it leaves out; none where it does anything else."""
        return tuple(self.rest.split(",")) if (self.kind, self.version) == (WITHOUT, 1) else ()

    @classmethod
    def parse(cls, name: str) -> Self:
        """Return the transform called `name`.

        Raises ConfigurationError: nothing can be called so.
        """
        if name == "none":
            return cls(kind=WITHOUT, rest=",".join(GROUPS))
        written = WRITTEN.fullmatch(name)
        if written is None or name == "full":
            raise ConfigurationError(
                f"no arm is called {name!r}; arms are called full, none, or such as without:recipient"
            )
        return cls(kind=written["kind"], rest=unquote(written["rest"] or ""), version=int(written["version"] or 1))


NOTHING_LEFT = Transform(kind=WITHOUT, rest=",".join(GROUPS))


class Arm(Record):
    """A way to show an item: as it is, changed by each transform in turn."""

    transforms: Annotated[tuple[Transform, ...], AfterValidator(lambda each: tuple(join_omissions(each)))] = ()

    @classmethod
    def without(cls, *omitted: str) -> Self:
        """Return the arm that leaves out parameters or groups; `full` where none is named.

        Raises ConfigurationError: a name is none that a parameter or a group can have.
        """
        return cls(transforms=(Transform(kind=WITHOUT, rest=",".join(omitted)),) if omitted else ())

    @classmethod
    def parse(cls, name: str) -> Self:
        """Return the arm called `name`: `full`, or transforms joined by `+`. Whether there are such is not asked here.

        Raises ConfigurationError: `name` is no arm's name.
        """
        return cls() if name == "full" else cls(transforms=tuple(Transform.parse(part) for part in name.split("+")))

    @property
    def name(self) -> str:
        """`full`, `none`, `without:` and what is left out, or several transforms joined by `+`."""
        return "+".join(transform.name for transform in self.transforms) or "full"

    @property
    def short_name(self) -> str:
        """The name with each transform's short name."""
        return "+".join(transform.short_name for transform in self.transforms) or "full"

    @property
    def shows_all(self) -> bool:
        """True if items are shown as they are."""
        return not self.transforms

    @property
    def only_omits(self) -> bool:
        """True if items are shown as they are, except for what is left out, if anything."""
        return all(transform.omits for transform in self.transforms)

    @property
    def omitted(self) -> tuple[str, ...]:
        """The parameters and groups that are left out, in reading order."""
        return reading_order(name for transform in self.transforms for name in transform.omits)


def join_omissions(transforms: Iterable[Transform]) -> Iterator[Transform]:
    """Yield `transforms` with omissions that follow each other made one, in reading order; of groups, all three are all."""
    omitted: tuple[str, ...] = ()
    for transform in transforms:
        if transform.omits:
            omitted = reading_order((*omitted, *transform.omits))
        else:
            yield from omission(omitted)
            yield transform
            omitted = ()
    yield from omission(omitted)


def omission(names: tuple[str, ...]) -> Iterator[Transform]:
    if names:
        yield NOTHING_LEFT if set(GROUPS) <= set(names) else Transform(kind=WITHOUT, rest=",".join(names))


FULL = Arm()
NO_CONTEXT = Arm(transforms=(NOTHING_LEFT,))


# The ways a judge can be asked, by name, and what the values mean that each gives.
#
# The elicitations themselves are in `ask/elicitations.py` and in other packages; every room needs the meaning of a value.


def elicitation_names() -> tuple[str, ...]:
    """Return the elicitations that there are: casewise's own, and those of installed packages."""
    return part_names("elicitations")


def check_elicitation(name: str) -> str:
    if name not in (names := elicitation_names()):
        raise ValueError(f"no elicitation is called {name!r}; there are {', '.join(names)}")
    return name


Elicitation = Annotated[str, AfterValidator(check_elicitation)]
"""A way to ask, by name."""


@dataclass(frozen=True)
class Scale:
    """The range of an elicitation's values, where higher is always safer, and the threshold of a safe verdict."""

    title: str
    """The name of a value, after the judge's name."""
    low: float = -inf
    high: float = inf
    threshold: float | None = None
    """A value above it is a verdict of safe; None where there is no such value until one is fitted."""
    probability: tuple[float, float] | None = None
    """*(offset, width)* such that *(value − offset)/width* is a probability, where that makes sense."""
    asks: float | None = None
    """The value that means that a person is to be asked first: an answer, and no verdict."""

    def contains(self, value: float) -> bool:
        """Return True if `value` lies on the scale and is finite; False for values that are not numbers."""
        return self.low <= value <= self.high and abs(value) < inf


@dataclass(frozen=True)
class WithScale:
    """An elicitation as records need it: an object with the scale of its values."""

    scale: Scale


def scale_of(elicitation: Elicitation) -> Scale:
    """Return the scale of an elicitation's values.

    Raises ConfigurationError: there is no such elicitation, or its package cannot be imported.
    """
    if (elicited := find_part("elicitations", elicitation, WithScale)) is None:
        raise ConfigurationError(
            f"no elicitation is called {elicitation!r}; there are {', '.join(elicitation_names())}: is its package installed?"
        )
    return elicited.scale


# A judgement: one call of a judge, its raw reply kept, and what the reply came to.


class UnscoredReason(StrEnum):
    """The reason why a reply gives no verdict."""

    EMPTY = "empty"
    NO_VERDICT = "no_verdict"
    NO_LABEL_FIRST = "no_label_first"
    UNPARSED = "unparsed"
    CONFLICTING = "conflicting"
    AMBIGUOUS = "ambiguous"
    OUT_OF_RANGE = "out_of_range"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    CONTENT_FILTER = "content_filter"
    BAD_REQUEST = "bad_request"
    UNAVAILABLE = "unavailable"
    NO_LOGPROBS = "no_logprobs"
    NO_LABEL_TOKEN = "no_label_token"
    LITTLE_LABEL_MASS = "little_label_mass"
    STRADDLES_THRESHOLD = "straddles_threshold"
    JUDGE_FAILED = "judge_failed"
    NOT_RECORDED = "not_recorded"
    NOT_SHOWN = "not_shown"
    ASKED_ABOUT = "asked_about"
    INTERNAL = "internal"
    """The reading of the reply failed, by a fault of casewise's or a plugin's; the detail names it."""


class Scored(Record):
    """A reply that gave a value.

    `value` is 1 (safe) or 0 (unsafe) for `binary`, 1 to 10 for `score`, P(safe) for `probability`, and any real
    number for `scalar`; always the higher the safer. `low` and `high` bound it where the reply only bounds it.
    """

    kind: Literal["scored"] = "scored"
    value: float
    low: float | None = None
    high: float | None = None
    explanation: str | None = None


class Unscored(Record):
    """A reply that gave no verdict. It never becomes a value, and every report counts it."""

    kind: Literal["unscored"] = "unscored"
    reason: UnscoredReason
    detail: str | None = None

    @property
    def failure(self) -> str:
        """The reason and its detail in words."""
        return reason_in_words(self.reason, self.detail)


def reason_in_words(reason: StrEnum, detail: str | None) -> str:
    """Return a reason and its detail in words, on one line."""
    return ": ".join(filter(None, (spoken(reason), " ".join((detail or "").split()))))


Outcome = Annotated[Scored | Unscored, Field(discriminator="kind")]


Count = Annotated[int, Field(ge=0, lt=2**31)]


class Call(Record):
    """One call of a run, with its cost. Of several attempts at one ask the last one counts.

    Each kind of run has a subclass, which says what was asked and what the answer came to. Its record is the line in
    the log.
    """

    attempt: Count = 0
    at: datetime | None = None
    latency_s: float | None = None
    model_version: str | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cost_usd: float | None = None
    assumed_cost_usd: float | None = None
    """Upper bound of the cost of requests whose tokens the endpoint did not report."""
    assumed_tokens: Count | None = None
    """Upper bound of the tokens of these requests."""
    shared_with: str | None = None
    """The item whose call this answer comes from, where several items share one prompt."""

    @property
    def failure(self) -> str | None:
        """The reason why the answer is of no use, in words; None where it settles its ask."""
        return None

    @property
    def may_pass(self) -> bool:
        """True if the failure may pass, so that every later session asks again."""
        return False

    @property
    def tries(self) -> int:
        """Requests, with those that were tried again."""
        return 1


class Judgement(Call):
    """One call of a judge.

    Its key is (item_id, judge_id, elicitation, arm, repeat, attempt). Of several attempts the last one counts.
    """

    item_id: str
    judge_id: str
    elicitation: Elicitation
    arm: str
    repeat: Count = 0
    raw_reply: str | None = None
    outcome: Outcome
    read_as: str | None = None
    """The way the reply was read, where there are several: the name of a guard's profile, for example."""
    categories: tuple[str, ...] | None = None
    """Categories of the judge's own policy that it says apply; empty where it says that none does."""
    detail: dict[str, Any] | None = None
    """Further results of the elicitation, such as the probability mass that the label tokens cover."""

    @property
    def failure(self) -> str | None:
        """The reason why there is no verdict, and its detail."""
        return None if isinstance(self.outcome, Scored) else self.outcome.failure

    @property
    def may_pass(self) -> bool:
        return isinstance(self.outcome, Unscored) and self.outcome.reason is UnscoredReason.UNAVAILABLE

    @property
    def tries(self) -> int:
        """Requests, with those that were tried again; none of what was not shown."""
        if isinstance(self.outcome, Unscored) and self.outcome.reason is UnscoredReason.NOT_SHOWN:
            return 0
        return int((self.detail or {}).get("tries", 1))


# A chatbot's reply to a query in a context, and what a grader finds that the reply does.


class Unanswered(StrEnum):
    """The reason why there is no reply."""

    CONTENT_FILTER = "content_filter"
    """The provider refused, whatever its model would have said."""
    BAD_REQUEST = "bad_request"
    UNAVAILABLE = "unavailable"
    NOT_SHOWN = "not_shown"
    ASKED_ABOUT = "asked_about"
    """A defence asks the user instead."""
    INTERNAL = "internal"
    """A fault of casewise's; the detail names it."""


SETTLED = (None, Unanswered.CONTENT_FILTER, Unanswered.ASKED_ABOUT)
"""The outcomes that settle an ask: a reply, a refusal by the provider's filter, a question of a defence."""


class CollectedReply(Call):
    """One call of a chatbot: its reply to a query in a context, or the reason why there is none.

    Its key is (item_id, arm, repeat, attempt); of several attempts the last one counts. Who was asked stands in the
    run's `run.json`.
    """

    item_id: str
    arm: str
    repeat: Count = 0
    text: str | None = None
    unanswered: Unanswered | None = None
    detail: str | None = None
    """The reason why there is no reply, in the endpoint's words."""
    refusal: str | None = None
    """The model's text in the field that some endpoints have for declining."""
    text_digest: str | None = None
    """Digest of the text, which may have been discarded since."""
    finish_reason: str | None = None

    @model_validator(mode="after")
    def _replied_or_not(self) -> CollectedReply:
        if (self.text_digest is None) == (self.unanswered is None):
            raise ValueError("a reply has a text's digest, or says why there is no text")
        return self

    @property
    def failure(self) -> str | None:
        """The reason why there is no reply; None where the ask is settled.

        A provider's refusal settles it: asking again would only ask until it slips through.
        """
        return None if self.unanswered in SETTLED else reason_in_words(self.unanswered, self.detail)

    @property
    def may_pass(self) -> bool:
        return self.unanswered is Unanswered.UNAVAILABLE

    @property
    def declined(self) -> bool:
        """True if the model used its endpoint's own field for declining, and said nothing else."""
        return bool(self.refusal) and not (self.text or "").strip()

    @property
    def has_words(self) -> bool:
        """True if a grader must read the reply: it has words, which may have been discarded since."""
        return self.unanswered is None and not self.declined and (self.text is None or bool(self.text.strip()))


def text_digest(text: str) -> str:
    """Return the digest that stands for a reply's text where the text itself is not kept."""
    return digest(text)[:16]


GradeOutcome = Literal["answers", "partly", "refuses"]

OUTCOMES: tuple[GradeOutcome, ...] = ("answers", "partly", "refuses")
"""The outcome of a reply: it does what was asked, some of it or something milder, or nothing of it."""

Ground = Literal["context", "disbelief", "category", "law", "ability", "none"]

GROUNDS: tuple[Ground, ...] = ("context", "disbelief", "category", "law", "ability", "none")
"""The ground that a refusal gives: what the context says, that it is not believed, the kind of request as such, the
law, that the model cannot, or nothing."""


REPLY_CONDITION = "reply"
"""The condition of all items of a benchmark of replies that people rated."""

REPLY_ANSWER = "does"
"""The name of people's answer to the question of what a reply does."""


class Ungraded(StrEnum):
    """The reason why a reply has no grade."""

    EMPTY = "empty"
    NO_VERDICT = "no_verdict"
    NO_LABEL_FIRST = "no_label_first"
    UNPARSED = "unparsed"
    REFUSED = "refused"
    """The grader refused to grade. It never means that the reply refuses."""
    TRUNCATED = "truncated"
    CONTENT_FILTER = "content_filter"
    BAD_REQUEST = "bad_request"
    UNAVAILABLE = "unavailable"
    GRADER_FAILED = "grader_failed"
    INTERNAL = "internal"
    """The reading of the grader's reply failed, by a fault of casewise's."""


class Graded(Call):
    """A grader's outcome for a reply, or the reason why there is none."""

    outcome: GradeOutcome | None = None
    ungraded: Ungraded | None = None
    detail: str | None = None
    ground: Ground | None = None
    """Ground of a refusal, if the grader states one."""
    raw_reply: str | None = None
    """The grader's own words."""
    probabilities: dict[str, float] | None = None
    """A classifier's, by its own labels."""

    @model_validator(mode="after")
    def _graded_or_not(self) -> Self:
        if (self.outcome is None) == (self.ungraded is None):
            raise ValueError("a grade has an outcome, or says why it has none")
        return self

    @property
    def failure(self) -> str | None:
        """The reason why there is no grade; None where there is one."""
        return None if self.ungraded is None else reason_in_words(self.ungraded, self.detail)

    @property
    def may_pass(self) -> bool:
        return self.ungraded is Ungraded.UNAVAILABLE


class Grade(Graded):
    """A grade of one collected reply. Its key is (item_id, arm, repeat, text_digest, attempt)."""

    item_id: str
    arm: str
    repeat: Count = 0
    text_digest: str
    """Digest of the reply that was graded: another text is another ask."""
