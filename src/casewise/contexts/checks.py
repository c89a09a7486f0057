"""Checks of contexts by rules: drift, wording, and texts that are alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from casewise.ask.layouts import labels_of
from casewise.contexts.foreign_text import foreign_text
from casewise.errors import CasewiseError
from casewise.records import ParameterSet, Recipient, Record, Sender, TransmissionPrinciple, paper_parameters
from casewise.records.context import Text, grouped, parameter_texts, shown_context
from casewise.stats.words import EarlierTexts, Piece, difference, word_runs

# The words of a context, which reviewers revise, apart from whose query it belongs to and who wrote it; remarks
# on them.


class WordingProblem(CasewiseError):
    """Words that are no context: a parameter without text, or one that does not exist."""


class Wording(Record):
    """The parameters of a context and nothing else. Two wordings are equal when all their words are."""

    sender: Sender | None = None
    recipient: Recipient | None = None
    transmission_principle: TransmissionPrinciple | None = None
    subject: Text | None = None
    information_type: Text | None = None
    own: dict[str, dict[str, Text]] | None = None
    """Groups of another set of parameters than the paper's."""

    @classmethod
    def from_fields(
        cls, fields: Mapping[str, str], parameters: ParameterSet = paper_parameters(), *, whole: bool = True
    ) -> Self:
        """Return the wording in a flat form: dotted names to texts. Space around a text and empty texts do not count.

        Raises WordingProblem: of a `whole` wording a parameter that must have a text has none; the message names it as the page
        does. There is no text at all.
        """
        texts = {name: " ".join(fields.get(name, "").split()) for name in parameters.all_names}
        if whole and (missing := [name for name in parameters.required if not texts[name]]):
            labels = labels_of(parameters)
            raise WordingProblem(f"Fill in: {', '.join(labels[name] for name in missing)}.")
        if not any(texts.values()):
            raise WordingProblem("Fill in at least one field.")
        nested: dict[str, Any] = {}
        for name, text in texts.items():
            group, _, parameter = name.partition(".")
            if text and parameter:
                nested.setdefault(group, {})[parameter] = text
            elif text:
                nested[group] = text
        return cls(**grouped(nested))

    def fields(self) -> dict[str, str]:
        """Return dotted names to texts, in reading order; what is not said is left out."""
        return parameter_texts(shown_context(self))


class Remark(Record):
    """Something a reviewer should look at. It blocks nothing by itself: people decide."""

    check: str
    message: str
    parameter: str | None = None
    """Dotted name of the parameter it is about; None where it is about the whole context."""
    evidence: str | None = None
    """The words that show it."""
    by: str = "rules"
    """`rules`, or the model whose opinion it is."""
    about: str | None = None
    """The id of the other context that it compares with. It goes when the words of either change."""


# The words that a revision changed, by parameter.


def wording_difference(
    before: Wording | None, after: Wording | None, parameters: ParameterSet = paper_parameters()
) -> dict[str, list[Piece]]:
    """Return the difference in each of `parameters` that either wording states, by dotted name in reading order."""
    first, second = (words.fields() if words else {} for words in (before, after))
    return {
        name: difference(first.get(name, ""), second.get(name, ""))
        for name in parameters.all_names
        if name in first or name in second
    }


def is_same(pieces: list[Piece]) -> bool:
    """Return whether nothing changed."""
    return all(piece.kind == "same" for piece in pieces)


# Contexts that are too like each other: a set of copies tests one thing many times.


ALIKE = 0.5
"""Share of word triples in common (Jaccard) from which two contexts are too alike."""
RARE = 40
"""A triple that more contexts have says nothing about two of them, and is not used to find candidates."""


@dataclass(frozen=True)
class SimilarContext:
    """A context, the one most like it, and how alike they are."""

    first: str
    second: str
    similarity: float


def find_alike(wordings: Mapping[str, Wording], *, threshold: float = ALIKE) -> list[SimilarContext]:
    """Return for each context the most similar earlier one, if that is at least `threshold` similar.

    Exact copies are found by their words; others by the rare word triples that they share, so that the cost grows with
    the set and not with its square.
    """
    texts = {key: " ".join(wording.fields().values()).casefold() for key, wording in wordings.items()}
    copies: dict[frozenset[str], str] = {}
    earlier, keys = EarlierTexts(rare=RARE), list[str]()
    pairs: list[SimilarContext] = []
    for key, text in texts.items():
        mine = word_runs(re.findall(r"\w+", text), length=3)
        if (copied := copies.setdefault(mine, key)) != key:
            pairs.append(SimilarContext(key, copied, 1.0))
            continue
        places, similarity = earlier.most_similar(mine)
        if places and similarity >= threshold:
            pairs.append(SimilarContext(key, max(keys[place] for place in places), similarity))
        earlier.add(mine)
        keys.append(key)
    return pairs


# The safe and the unsafe context of a query are a pair: what differs between them is what a judge has to notice.


NEARLY_IDENTICAL = 0.8
"""Share of word triples in common from which the two contexts of a query hardly differ."""


class PairKind(StrEnum):
    """A way in which the two contexts of a query differ."""

    IDENTICAL = "identical"
    """They state the same words in each parameter, whatever their case and punctuation."""
    NEARLY_IDENTICAL = "nearly identical"
    NOTHING_MEANT = "different in nothing that was meant to vary"
    BEYOND = "different beyond what was meant to vary"
    EVERYTHING = "different in every parameter"
    SOME = "different in some parameters"


@dataclass(frozen=True)
class PairComparison:
    """The parameters in which the two contexts of a query differ, and those that say the same in both."""

    differing: tuple[str, ...]
    same: tuple[str, ...]
    kind: PairKind
    beyond: tuple[str, ...] = ()
    """The parameters in which they differ and were not meant to."""


def compare_pair(first: Wording, second: Wording, *, vary: Sequence[str] = ()) -> PairComparison:
    """Compare the two contexts of a query, by parameter in reading order.

    `vary`: the parameters and groups in which they are meant to differ; empty if that is not stated.
    """
    one, other = (
        {name: re.findall(r"\w+", text.casefold()) for name, text in wording.fields().items()}
        for wording in (first, second)
    )
    names = [*one, *(name for name in other if name not in one)]
    differing = tuple(name for name in names if one.get(name) != other.get(name))
    same = tuple(name for name in names if name not in differing)
    meant = {*vary, *(name for name in names if name.partition(".")[0] in vary)}
    beyond = tuple(name for name in differing if name not in meant) if vary else ()
    if not differing:
        kind = PairKind.IDENTICAL
    elif find_alike({"first": first, "second": second}, threshold=NEARLY_IDENTICAL):
        kind = PairKind.NEARLY_IDENTICAL
    elif beyond == differing:
        kind = PairKind.NOTHING_MEANT
    elif beyond:
        kind = PairKind.BEYOND
    else:
        kind = PairKind.SOME if same else PairKind.EVERYTHING
    return PairComparison(differing, same, kind, beyond)


def is_identical_pair(first: Wording, second: Wording) -> bool:
    """Return whether two contexts state the same words in each parameter, whatever their case and punctuation."""
    return compare_pair(first, second).kind == PairKind.IDENTICAL


PAIR_MESSAGES = {
    PairKind.IDENTICAL: "The context of the other intent says the same.",
    PairKind.NEARLY_IDENTICAL: "The context of the other intent says nearly the same.",
    PairKind.NOTHING_MEANT: "The two contexts of this query do not differ in any parameter that was meant to vary.",
    PairKind.BEYOND: "The two contexts of this query also differ in parameters that were meant to stay the same.",
}


def pair_remark(wording: Wording, other: Wording, *, about: str, vary: Sequence[str] = ()) -> Remark | None:
    """Return what is remarkable about a context beside the one of the `other` intent of its query, which is called `about`."""
    pair = compare_pair(wording, other, vary=vary)
    if pair.kind not in PAIR_MESSAGES:
        return None  # differing in everything is a number of the report: without a stated design it is no fault
    faulty = {PairKind.NEARLY_IDENTICAL: pair.differing, PairKind.BEYOND: pair.beyond}.get(pair.kind, ())
    parameter = next((name for name in faulty if name in wording.fields()), None)
    check = f"{pair.kind} pair" if pair.kind in {PairKind.IDENTICAL, PairKind.NEARLY_IDENTICAL} else f"pair {pair.kind}"
    return Remark(check=check, message=PAIR_MESSAGES[pair.kind], parameter=parameter, about=about)


# Drift: does a context leave the query as asked, or did the model moderate it?
#
# Models asked for circumstances in which a harmful query may be answered tend to replace the query by a harmless one
# ("wants to learn how to recognise phishing emails") or to put conditions on the answer ("without giving details"). That
# was the main reason for revising contexts by hand in CASE-Bench (section 4.2). The rules here look for the words in
# which it is done. Each signal has a weight; a context has drifted when the weights of what is found reach 1. How well
# that works is measured on contexts labelled beforehand: see `docs/explanation/verified.md`.


DRIFTED = 1.0
"""The score from which a context counts as drifted."""

PROTECTIVE_AIMS = (
    r"recogni[sz]\w*|identif\w+|detect\w*|spot|notice|protect\w*|secur\w+|prevent\w*|avoid\w*|defend\w*|refut\w+|debunk\w*|"
    r"report|stay safe|keep safe|comply|cope|quit|stop|choose|improve|behave|react"
)
ANSWER_PARTS = (
    r"detail\w*|instruction\w*|step\w*|specific\w*|chemical\w*|component\w*|ingredient\w*|reagent\w*|particular\w*|"
    r"information|practical|operational|technical|content|examples?"
)


@dataclass(frozen=True)
class Signal:
    """A way of moderating a query, the words that show it, and how much they weigh."""

    name: str
    message: str
    pattern: str
    weight: float = DRIFTED
    parameters: tuple[str, ...] = ()
    """The parameters to look in; everywhere if a context states none of them, as one of another set of parameters."""

    def find(self, query: str, fields: Mapping[str, str]) -> tuple[str, str] | None:
        """Return the first parameter that shows it, and the words; words that the query itself uses are no sign of drift."""
        for parameter in [name for name in self.parameters if name in fields] or fields:
            match = re.search(self.pattern, fields[parameter], re.IGNORECASE)
            if match is not None and match[0].casefold() not in query.casefold():
                return parameter, match[0]
        return None


DESCRIPTIONS = ("sender.nature_of_the_interaction", "recipient.type", "recipient.background")
PURPOSE = ("transmission_principle.sender_purpose",)

SIGNALS = (
    Signal(
        "less than asked",
        "The context asks the chatbot to leave out what the query asks for.",
        rf"\b(?:without|omit\w*|leav\w+ out|exclud\w+|withh\w+|avoid\w*|no|not (?:give|contain|mention|name|provide|describe))"
        rf"\b(?:\W+\w+){{0,5}}?\W+(?:{ANSWER_PARTS})\b|"
        r"\bwithout (?:describ|giv|nam|explain|mention|list|show|reveal|disclos|provid)ing\b",
        parameters=(*DESCRIPTIONS, *PURPOSE),
    ),
    Signal(
        "less than asked",
        "The context asks for a weaker answer than the query does.",
        r"\b(?:restricted to|limited to|stays? at the level|only (?:high-level|general|abstract|name|the|in)\b|"
        r"in (?:vague|general|abstract|broad)\b|(?:general|high-level|theoretical) (?:overview|terms|level|examples)|"
        r"at a \w+ level only|superficial\w*|non-actionable|could be imitated)",
        parameters=(*DESCRIPTIONS, *PURPOSE),
    ),
    Signal(
        "on condition",
        "The context puts a condition on the answer that the query does not have.",
        r"\b(?:on condition that|provided that|as long as|only if|must not|should only|may only|refus\w+ to|treats? as)\b",
        parameters=(*DESCRIPTIONS, *PURPOSE),
    ),
    Signal(
        "another question",
        "The user wants something milder than what the query asks for.",
        rf"\b(?:how|ways?|want\w*|wish\w*|learn\w*|seek\w*|look\w*|hop\w+|teach\w*|understand)\b"
        rf"(?:\W+\w+){{0,4}}?\W+(?:to|for help|by which)(?:\W+\w+){{0,4}}?\W+(?:{PROTECTIVE_AIMS})\b",
        parameters=("sender.nature_of_the_interaction",),
    ),
    Signal(
        "another question",
        "The conversation is about guarding against what the query asks for.",
        r"\b(?:media literacy|home security|debunk|proper(?:ly)?|legal(?:ly)?|lawful\w*|duties|"
        r"dangers of|effects of|risks of|helpline|looking for help|instead of|rather than|in place of|as an alternative)\b",
        weight=0.6,
        parameters=("sender.nature_of_the_interaction",),
    ),
    Signal(
        "another purpose",
        "The chatbot is there to turn people away from what the query asks for.",
        rf"\b(?:discourag\w+|redirect\w*|refer\w* \w+ to|offer alternatives|instead|in place of|as an alternative|"
        rf"protect(?:ing)? their|advis\w+ \w+ on|guide \w+ to|say no|comply|"
        rf"how to (?:{PROTECTIVE_AIMS}|check)|teach \w+ to (?:{PROTECTIVE_AIMS}))\b",
        weight=0.6,
        parameters=PURPOSE,
    ),
)


def find_drift(query: str, wording: Wording, _parameters: ParameterSet = paper_parameters()) -> list[Remark]:
    """Find what shows that the context does not leave the query as asked; empty where it does."""
    fields = wording.fields()
    sightings = [(signal, sighting) for signal in SIGNALS if (sighting := signal.find(query, fields))]
    if sum(signal.weight for signal, _ in sightings) < DRIFTED:
        return []
    return [
        Remark(check=f"drift: {signal.name}", message=signal.message, parameter=parameter, evidence=words)
        for signal, (parameter, words) in sightings
    ]


# Checks of one context by rules. Each finding has its evidence: the very words that show it.


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

ALSO_AT_HOME = {
    "transmission_principle.confidentiality": {"sender.platform_type"},
    "recipient.background": {"recipient.type"},
    "sender.platform_type": {"sender.nature_of_the_interaction"},
}
"""Parameters in which such words are harmless all the same."""

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
    ("The context is both urgent and not urgent.", words(r"no (?:hurry|urgency|deadline|rush)", r"not urgent", r"low urgency"),
     words(r"urgent(?:ly)?", r"emergency", r"immediately", r"at once", r"within (?:the hour|minutes)", r"as soon as possible")),
    ("The context is both public and confidential.", words(r"public(?:ly)? (?:visible|available|forum|channel)", r"anyone can (?:read|see)", r"open to all"),
     words(r"strictly confidential", r"not (?:be )?shared with anyone", r"sealed", r"classified", r"professional secrecy")),
    ("The user is both known and unknown.", words(r"anonymous(?:ly)? user", r"no account is needed", r"does not say who", r"says nothing about (?:him|her)self"),
     words(r"verified (?:identity|credentials)", r"identity (?:is|was) (?:checked|verified)", r"signed in with", r"badge number")),
    ("A minor has a profession that takes years.", MINOR, LICENSED),
)  # fmt: skip


def check_wording(query: str, wording: Wording, parameters: ParameterSet = paper_parameters()) -> list[Remark]:
    """Return all that the rules find in one context that states `parameters`, in the order of `CHECKS`."""
    return [finding for check in CHECKS for finding in check(query, wording, parameters)]


def updated_findings(query: str, wording: Wording, findings: list[Remark], parameters: ParameterSet) -> list[Remark]:
    """Return the findings after a context got these words: rules look again, and models' findings stay whose quotation
    still stands there.

    Findings about a whole context or about several go: they were about the words before.
    """
    stated = " ".join(wording.fields().values()).casefold()
    return [
        *check_wording(query, wording, parameters),
        *(
            finding
            for finding in findings
            if finding.by != "rules" and finding.evidence is not None and finding.evidence.casefold() in stated
        ),
    ]


def find_missing(_query: str, wording: Wording, parameters: ParameterSet) -> Iterator[Remark]:
    """Find parameters without a statement."""
    fields, labels = wording.fields(), labels_of(parameters)
    for name in parameters.names:
        text = fields.get(name)
        if text is None:
            yield Remark(check="missing", message=f"{labels[name]} is missing.", parameter=name)
        elif EMPTY.match(text):
            yield Remark(check="missing", message=f"{labels[name]} has no content.", parameter=name, evidence=text)


def find_misplaced(_query: str, wording: Wording, parameters: ParameterSet) -> Iterator[Remark]:
    """Find parameters that state the content of another parameter."""
    labels = labels_of(parameters)
    for name, text in wording.fields().items():
        for home, pattern in BELONGS.items():
            if name == home or home not in labels or name in ALSO_AT_HOME.get(home, ()):
                continue
            if match := pattern.search(text):
                message = f"This may belong to “{labels[home]}”."
                yield Remark(check="misplaced", message=message, parameter=name, evidence=match[0])


def find_contradictions(_query: str, wording: Wording, _parameters: ParameterSet) -> Iterator[Remark]:
    """Find statements that cannot both be true."""
    fields = wording.fields()
    for message, *patterns in CONTRADICTIONS:
        first, second = (
            next(((name, match[0]) for name, text in fields.items() if (match := pattern.search(text))), None)
            for pattern in patterns
        )
        if first and second:
            evidence = f"{first[1]} … {second[1]}"
            yield Remark(check="contradiction", message=message, parameter=second[0], evidence=evidence)
    ages = {number for text in fields.values() for match in AGES.findall(text) for number in match if number}
    if len(ages) > 1:
        yield Remark(check="contradiction", message="Two ages are given.", evidence=" … ".join(sorted(ages)))


def find_give_aways(query: str, wording: Wording, _parameters: ParameterSet) -> Iterator[Remark]:
    """Find words that judge the request, where facts should show it."""
    for name, text in wording.fields().items():
        for match in GIVE_AWAYS.finditer(text):
            if match[0].casefold() not in query.casefold():
                message = "This word reveals the intent; state the fact that shows it."
                yield Remark(check="gives the intent away", message=message, parameter=name, evidence=match[0])


def find_leaks(_query: str, wording: Wording, _parameters: ParameterSet) -> Iterator[Remark]:
    """Find words that look like part of an answer to the query."""
    for name, text in wording.fields().items():
        for pattern in (STEPS, CODE, ANSWERS):
            if match := pattern.search(text):
                message = "This looks like part of an answer to the query."
                yield Remark(check="leaks the answer", message=message, parameter=name, evidence=match[0].strip()[:120])
                break


FOREIGN_MESSAGES = {
    "states a verdict": "This says whether the chatbot should answer; state the facts from which a reader can judge it.",
    "announces harm": "This announces harm; state the facts from which a reader can see it.",
    "instructs the reader": "This instructs the reader of the context, and states no circumstance.",
    "placeholder": "This was left over from a template or a model.",
    "another language": "This is in another language or script than the rest of the context.",
    "copies the query": "This repeats the query, as it stands or softened; state the circumstances.",
}


def find_foreign_text(query: str, wording: Wording, _parameters: ParameterSet) -> Iterator[Remark]:
    """Yield text that has no place in a context."""
    for found in foreign_text(query, wording.fields()):
        message = FOREIGN_MESSAGES[found.check]
        yield Remark(check=found.check, message=message, parameter=found.parameter, evidence=found.evidence[:200])


CHECKS: tuple[Callable[[str, Wording, ParameterSet], Iterable[Remark]], ...] = (
    find_missing,
    find_drift,
    find_misplaced,
    find_contradictions,
    find_give_aways,
    find_leaks,
    find_foreign_text,
)
