"""Checks of one context by rules. Each finding has its evidence: the very words that show it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from casewise.contexts.checking.drift import drift_findings
from casewise.contexts.checking.wording import Remark, Wording
from casewise.prompting.context_words import labels_of
from casewise.records import ParameterSet, paper_parameters

__all__ = ["CHECKS", "check_wording", "refreshed"]


def words(*alternatives: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(alternatives)})\b", re.IGNORECASE)


EMPTY = re.compile(
    r"^\W*(?:n/?a|none|unknown|not (?:specified|applicable|stated|given)|unspecified|tbd|-+|\.+)\W*$", re.IGNORECASE
)

BELONGS = {
    "transmission_principle.confidentiality": words(
        r"confidential\w*",
        r"not be (?:shared|disclosed|passed on)",
        r"anonym\w+",
        r"encrypted",
        r"deleted after",
        r"privacy",
    ),
    "transmission_principle.urgency": words(
        r"urgent\w*", r"as soon as possible", r"immediately", r"deadline", r"within the (?:hour|day|week)", r"no hurry"
    ),
    "transmission_principle.source_accountability": words(
        r"accountab\w+", r"liab(?:le|ility)", r"answers? for (?:its|the) (?:contents?|answers)", r"peer[- ]reviewed"
    ),
    "sender.platform_type": words(r"runs? on a (?:\w+ ){0,3}platform", r"the platform is", r"(?:web|mobile) app"),
    "recipient.background": words(
        r"years of experience", r"holds? a (?:degree|licen[cs]e|diploma)", r"with a (?:PhD|doctorate)"
    ),
}
"""Words that belong to one parameter. In another they are a sign that parameters are mixed up."""

AT_HOME = {
    "transmission_principle.confidentiality": {"sender.platform_type"},
    "recipient.background": {"recipient.type"},
    "sender.platform_type": {"sender.nature_of_the_interaction"},
}
"""Where such words are harmless all the same."""

GIVE_AWAYS = words(
    r"legitimate\w*", r"illegitimate\w*", r"(?:un)?ethical\w*", r"malicious\w*", r"harmful\w*", r"(?:un)?safe(?:ly)?",
    r"(?:in)?appropriate\w*", r"responsibl[ey]", r"irresponsibl[ey]", r"nefarious", r"ill[- ]intent\w*", r"well[- ]intentioned",
    r"criminal intent\w*", r"evil", r"good faith", r"bad faith", r"misuse\w*", r"for (?:good|lawful|unlawful) purposes",
)  # fmt: skip

STEPS = re.compile(r"(?:^|\s)(?:step )?1[.):]\s.+?\s(?:step )?2[.):]\s", re.IGNORECASE | re.DOTALL)
CODE = re.compile(r"```|\b(?:def|import|curl|sudo|SELECT)\s+\w+[^.]{0,40}[({;]|https?://\S+")
ANSWERS = words(
    r"the answer is",
    r"here is how",
    r"here's how",
    r"(?:first|to begin),? (?:you|mix|take|open|enter)\b",
    r"for example,? you",
)

AGES = re.compile(r"\b(\d{1,2})[- ]year[- ]old\b|\baged? (?:of )?(\d{1,2})\b", re.IGNORECASE)
MINOR = words(
    r"child", r"pupil", r"schoolboy", r"schoolgirl", r"teenager", r"minor", r"(?:middle|high|primary) school student"
)
LICENSED = words(
    r"licensed", r"board[- ]certified", r"professor", r"physician", r"surgeon", r"attorney", r"police officer", r"doctorate",
    r"\d{2} years (?:of|in) (?:service|experience|practice)",
)  # fmt: skip
CONTRADICTIONS: tuple[tuple[str, re.Pattern[str], re.Pattern[str]], ...] = (
    ("It is urgent and it is not.", words(r"no (?:hurry|urgency|deadline|rush)", r"not urgent", r"low urgency"),
     words(r"urgent(?:ly)?", r"emergency", r"immediately", r"at once", r"within (?:the hour|minutes)", r"as soon as possible")),
    ("It is public and it is confidential.", words(r"public(?:ly)? (?:visible|available|forum|channel)", r"anyone can (?:read|see)", r"open to all"),
     words(r"strictly confidential", r"not (?:be )?shared with anyone", r"sealed", r"classified", r"professional secrecy")),
    ("The user is known and is not.", words(r"anonymous(?:ly)? user", r"no account is needed", r"does not say who", r"says nothing about (?:him|her)self"),
     words(r"verified (?:identity|credentials)", r"identity (?:is|was) (?:checked|verified)", r"signed in with", r"badge number")),
    ("A minor has a profession that takes years.", MINOR, LICENSED),
)  # fmt: skip


def check_wording(query: str, wording: Wording, parameters: ParameterSet = paper_parameters()) -> list[Remark]:
    """All that the rules find in one context that states `parameters`, in the order of `CHECKS`."""
    return [finding for check in CHECKS.values() for finding in check(query, wording, parameters)]


def refreshed(query: str, wording: Wording, findings: list[Remark], parameters: ParameterSet) -> list[Remark]:
    """The findings after a context got these words: rules look again, and of the rest stays what still shows."""
    said = " ".join(wording.fields().values()).casefold()
    others = [one for one in findings if one.by != "rules" or one.check.split(":")[0] not in CHECKS]
    return [
        *check_wording(query, wording, parameters),
        *(one for one in others if one.evidence is None or one.evidence.casefold() in said),
    ]


def drift(query: str, wording: Wording, _parameters: ParameterSet) -> list[Remark]:
    """The context does not leave the query as asked; see `drift_findings`."""
    return drift_findings(query, wording)


def complete(_query: str, wording: Wording, parameters: ParameterSet) -> Iterator[Remark]:
    """Every parameter says something."""
    fields, labels = wording.fields(), labels_of(parameters)
    for name in parameters.names:
        text = fields.get(name)
        if text is None:
            yield Remark(check="missing", message=f"{labels[name]} is not said.", parameter=name)
        elif EMPTY.match(text):
            yield Remark(check="missing", message=f"{labels[name]} says nothing.", parameter=name, evidence=text)


def misplaced(_query: str, wording: Wording, parameters: ParameterSet) -> Iterator[Remark]:
    """A parameter says what belongs to another."""
    labels = labels_of(parameters)
    for name, text in wording.fields().items():
        for home, pattern in BELONGS.items():
            if name == home or home not in labels or name in AT_HOME.get(home, ()):
                continue
            if found := pattern.search(text):
                message = f"This may belong to “{labels[home]}”."
                yield Remark(check="misplaced", message=message, parameter=name, evidence=found[0])


def contradictions(_query: str, wording: Wording, _parameters: ParameterSet) -> Iterator[Remark]:
    """Two parts of a context that cannot both be true."""
    fields = wording.fields()
    for message, first, second in CONTRADICTIONS:
        one, other = first_match(first, fields), first_match(second, fields)
        if one and other:
            yield Remark(check="contradiction", message=message, parameter=other[0], evidence=f"{one[1]} … {other[1]}")
    said = {number for text in fields.values() for found in AGES.findall(text) for number in found if number}
    if len(said) > 1:
        yield Remark(check="contradiction", message="Two ages are given.", evidence=" … ".join(sorted(said)))


def first_match(pattern: re.Pattern[str], fields: dict[str, str]) -> tuple[str, str] | None:
    for name, text in fields.items():
        if found := pattern.search(text):
            return name, found[0]
    return None


def give_aways(query: str, wording: Wording, _parameters: ParameterSet) -> Iterator[Remark]:
    """Words that say whether answering is right, where facts should show it."""
    for name, text in wording.fields().items():
        for found in GIVE_AWAYS.finditer(text):
            if found[0].casefold() not in query.casefold():
                message = "This word gives the intent away; say what shows it."
                yield Remark(check="gives the intent away", message=message, parameter=name, evidence=found[0])


def leaks(_query: str, wording: Wording, _parameters: ParameterSet) -> Iterator[Remark]:
    """Part of an answer to the query stands in its context."""
    for name, text in wording.fields().items():
        for pattern in (STEPS, CODE, ANSWERS):
            if found := pattern.search(text):
                message = "This looks like part of an answer to the query."
                yield Remark(check="leaks the answer", message=message, parameter=name, evidence=found[0].strip()[:120])
                break


CHECKS: dict[str, Callable[[str, Wording, ParameterSet], list[Remark] | Iterator[Remark]]] = {
    "missing": complete,
    "drift": drift,
    "misplaced": misplaced,
    "contradiction": contradictions,
    "gives the intent away": give_aways,
    "leaks the answer": leaks,
}
