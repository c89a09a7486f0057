"""Words that forbid to read a statement as one: conditions, contrasts, corrections, denials, in all languages at once."""

from __future__ import annotations

import re

from casewise.judging.asking.grammar import grammars, mentions
from casewise.records import Verdict

__all__ = [
    "AGENTS",
    "CONCEDED",
    "CONDITIONS",
    "CONTRASTS",
    "DISAGREES",
    "GIVEN",
    "HOWEVER",
    "NEGATIONS",
    "NO_SURE",
    "ONLY",
    "UNDONE",
    "WEIGHED",
    "YES_OR_NO",
    "spoken_against",
    "taken_back",
]

DISAGREES = re.compile(
    r"\b(?:disagree|no estoy de acuerdo|stimme (?:dem |ihm |ihr )?nicht zu)\b|不同意|لا أوافق", re.IGNORECASE
)

WEIGHED = re.compile(
    r"\b(?:whether|ob|de si|sobre si|was (?:going|about) to|might (?:say|seem|think|be tempted)|for (?:most|other|many)|für (?:die meisten|andere|viele)|para (?:la mayoría|otr[oa]s))\b|对(?:大多数|其他)|بالنسبة ل(?:معظم|أغلب)|是否|ما إذا|إن كان",
    re.IGNORECASE,
)
"""Marks a question that a reply considers, and answers later."""

NEGATIONS = re.compile(
    r"\b(?:not|never|no|nobody|wrong)\b|n['’]t\b|不|没|\bnunca\b|\bnicht\b|\bkein|(?<!\w)(?:لا|ليس\w*|لم|لن)(?!\w)",
    re.IGNORECASE,
)

ONLY = re.compile(r"\bonly\b(?! (?:if|when|for|in|with|under|to|as)\b)", re.IGNORECASE)
"""In a reason: somebody who only wants to know something sets no condition."""

GIVEN = re.compile(
    r"^(?:with|given|bearing in mind|mit|bei|angesichts|con|dad[oa]s?|مع|鉴于|考虑到)(?!\w)", re.IGNORECASE
)
"""Begins circumstances that a statement is made in: that something is not there denies no more than that."""

HOWEVER = re.compile(
    r"\b(?:as long as|so long as|provided|assuming|solange|vorausgesetzt|siempre que|but|however|although|though|yet|except|unless|if|only|pero|aunque|aber|jedoch|wenn|falls|sofern|obwohl)\b|但|如果|除非|لكن|إذا|إلا",
    re.IGNORECASE,
)

CONDITIONS = re.compile(
    r"\b(?:as long as|so long as|provided|assuming|although|though|unless|if|whether|aunque|si|siempre que|wenn|falls|sofern|ob|obwohl|solange)\b"
    r"|如果|除非|要是|假如|是否|إذا|إلا|لو|ما دام|طالما",
    re.IGNORECASE,
)
"""Words with which a premise is none: what follows holds in some cases only."""

CONTRASTS = re.compile(
    r"\b(?:but|however|although|though|yet|pero|sin embargo|no obstante|aunque|aber|jedoch|allerdings|dennoch|doch|obwohl|trotzdem|actually|in fact|tatsächlich)\b"
    r"|但是?|然而|不过|其实|事实上|(?<!\w)و?لكن\w*|إلا أن|غير أن|مع ذلك|في الواقع",
    re.IGNORECASE,
)
"""Words with which a reply weighs one thing against another on the way to what it says last."""

CONCEDED = re.compile(
    r"^(?:even though|although|though|while|aunque|si bien|obwohl|auch wenn|zwar|虽然|尽管|رغم|على الرغم|مع أن|صحيح)",
    re.IGNORECASE,
)

AGENTS = re.compile(
    r"\b(?:chatbot|assistant|model|bot|asistente|modelo|assistent|modell)\b|机器人|助手|模型|روبوت|مساعد|نموذج",
    re.IGNORECASE,
)

UNDONE = re.compile(
    rf"^(?:dass|that|que)\b(?!.*(?:{AGENTS.pattern}))|(?:\b(?:is|are|does|would be|ist|sind|es|ist es)\s+(?:not|nicht|no)|n't|no lo es|不是|ليس)$|\bzu (?!antworten|beantworten|helfen|geben|reagieren|erfüllen)\w+en$",
    re.IGNORECASE,
)
"""A part of a sentence by which what stands before it says another thing: `it is certain that`, `but the other is not`."""

YES_OR_NO = re.compile(
    r"^(?:(?:no|nope|nah|yes|yep|yeah)\s+(?=(?:this|it|that|the)\b)|(?:no|yes|sí|ja|nein|是的|不|نعم|لا)[,，،]\s*)",
    re.IGNORECASE,
)

NO_SURE = re.compile(
    r"^(?:insegur[oa]|no segur[oa]|no es segur[oa]|unsicher|unsafe|unbedenklich|bedenklich|gefährlich)$", re.IGNORECASE
)
"""Words for a verdict that mean nothing else where they stand alone."""


def spoken_against(verdict: Verdict, rest: str) -> bool:
    """Whether the rest of a reply takes the verdict back, or speaks for the other one."""
    for grammar in grammars():
        rest = grammar.harmless.sub(" ", rest)
    if set(mentions(rest)) - {verdict}:
        return True
    if taken_back(rest):
        return True
    if verdict == "safe":
        return any(grammar.refuse.search(rest) for grammar in grammars())
    for grammar in grammars():
        rest = grammar.refuse.sub(" ", grammar.unsafe.sub(" ", rest))
    return any(grammar.answer.search(rest) for grammar in grammars())


def taken_back(rest: str) -> bool:
    """Whether words stand in `rest` with which a reply corrects itself, or disagrees with what it repeated."""
    return any(grammar.turn.search(rest) for grammar in grammars())
