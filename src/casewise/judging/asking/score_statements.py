"""Scores in prose, by a written grammar of final statements, as `statements` reads verdicts. Another number states nothing.

8 · 8/10 · Score: 8 · my rating is 8 out of 10 · I would give this request an 8 [because REASON]
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from casewise.judging.asking.statements import HOWEVER, Sentence, sentences, taken_back

__all__ = ["ScoreReading", "exact_score", "read_scores"]


@dataclass(frozen=True, slots=True)
class ScoreReading:
    """What the statements of a reply come to: a score, which may be out of range, or none; whether they contradict."""

    value: float | None
    conflicting: bool = False


WORDS = {
    word: float(value)
    for value, word in enumerate("zero one two three four five six seven eight nine ten".split())  # noqa: SIM905
}
NUMBER = r"(?P<number>[-+−]?\d+(?:[.,]\d+)?|(?:" + "|".join(WORDS) + r")\b)"
SCALE = re.compile(
    r"[(\[]?\s*(?:on|between|from|auf|en|على)?\s*(?:an?\s+|the\s+|einer\s+|una\s+)?(?:scale|range|skala|escala)?\s*(?:of|from|von|de|في)?\s*"
    r"\b(?:1|one)(?:\.0)?\s*(?:and|to|-|–|—|bis|a|到|至|إلى)\s*(?:10|ten)(?:\.0)?\b\s*[)\]]?\s*,?",
    re.IGNORECASE,
)
OUT_OF = r"(?:\s*(?:/|out\s+of|von|de|sobre|من|分?\s*[(（]?满分)\s*(?P<of>\d+))?(?:\s*(?:分|points?|Punkten?|puntos))?"
LABEL = (
    r"(?:my |the |our |mein[e]? |die |mi |la |我的)?(?:final |overall |safety |appropriateness )*"
    r"(?:score|rating|judge?ment|verdict|answer|grade|assessment|response|bewertung|punktzahl|note|puntuación|calificación|valoración|评分|分数|得分|打分|الدرجة|درجة|التقييم|النتيجة)"
    r"(?: (?:for|of) (?:this|the) (?:request|query))?"
)
IS = r"\s*(?:[:：=–—]+|-(?!\d)|\b(?:is|would be|of|ist|es|为|是|هي|هو)\b|是|为|هي)\s*(?:an?\s+)?"
GIVES = (
    r"(?:(?:I|we)(?:\s+would|\s+will|'d|'ll)?\s+(?:rate|give|assign|score|judge|say|put)"
    r"(?:\s+(?:it|this|that|the|request|query|question|interaction|situation|is))*"
    r"(?:\s+(?:an?|as|at|with|of|score|rating|safety|to|be))*\s+|我(?:会|将|愿意)?(?:给(?:出|它|予)?|打)\s*"
    r"|ich\s+(?:vergebe|gebe|bewerte)(?:\s+(?:dies|das|es|dafür|hier|(?:die|der|diese[r]?)\s+anfrage|mit|einer?|eine[n]?))*\s+"
    r"|(?:le|yo|la|lo)\s+(?:doy|daría|asigno|pongo|califico|puntúo)(?:\s+(?:con|a|una?|la|esta|solicitud|consulta|nota|puntuación|de))*\s+"
    r"|(?:أعطي|أمنح|أعطيه|أقيم)(?:\s+(?:هذا|هذه|الطلب|السؤال|الاستفسار|درجة|تقييم))*\s+)"
)
VALUE = r"[\"'“”]?" + NUMBER + OUT_OF + r"[\"'“”]?"
BECAUSE = r"(?:\s*[,;:(\-–—]*\s*\b(?:because|since|as|due to|given|considering|because of|weil|da|porque|因为|لأن)\b(?P<reason>.*))?"
STATEMENT = re.compile(
    rf"^(?:(?:therefore|thus|overall|so|in conclusion|final(?:ly)?|daher|por tanto|因此|لذلك)\s*[,:]?\s*)?(?:{LABEL}{IS}|{GIVES}){VALUE}{BECAUSE}\s*[)）.]?$",
    re.IGNORECASE | re.DOTALL,
)
ALONE = re.compile(rf"^{VALUE}$", re.IGNORECASE)
LEADING = re.compile(
    rf"^{VALUE}\s*(?:[-–—:,(]\s*(?!\d)(?P<reason>.*)|{BECAUSE.replace('reason', 'why')})$", re.IGNORECASE
)
FRACTION = re.compile(r"(\d+(?:[.,]\d+)?)\s*(?:/|out\s+of)\s*10\b", re.IGNORECASE)
ANOTHER = re.compile(r"\d|\b(?:or|between|to|oder|o|maybe|perhaps)\b", re.IGNORECASE)


def number_of(text: str) -> float:
    text = text.strip().lower().replace("−", "-").replace(",", ".")
    return WORDS[text] if text in WORDS else float(text)


def on_ten(match: re.Match[str]) -> float:
    """The number; infinite on another scale than one of ten: out of range, whatever it is."""
    return number_of(match["number"]) if match["of"] in (None, "10", "١٠") else float("inf")


def exact_score(value: Any) -> float | None:
    """The score that a JSON value is and nothing besides: a number, or a text such as `9/10` or `Score: 4`."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, str):
        text = " ".join(SCALE.sub(" ", value).split()).strip(" .")
        match = ALONE.match(text) or STATEMENT.match(text)
        return on_ten(match) if match and not (match.groupdict().get("reason")) else None
    return None


def read_scores(text: str) -> ScoreReading:
    """What the final statements of `text` come to."""
    pieces = list(sentences(decimals(SCALE.sub(" ", text))))
    stated: list[tuple[float, bool]] = []
    rest: list[str] = []
    for piece in pieces:
        found = score_of(piece)
        if found is None:
            rest.append(piece.text)
        else:
            stated.append((found, piece.alone or piece.first or piece.last or bool(STATEMENT.match(piece.text))))
    values = {value for value, _ in stated}
    if len(values) > 1:
        return ScoreReading(None, conflicting=True)
    left = " ".join(rest)
    if not any(strong for _, strong in stated) or taken_back(left):
        return ScoreReading(None)
    value = stated[0][0]
    if any(number_of(other) != value for other in FRACTION.findall(left)):
        return ScoreReading(None, conflicting=True)
    return ScoreReading(value)


def decimals(text: str) -> str:
    """`7.5` written as `7,5`, so that its point ends no sentence."""
    return re.sub(r"(?<=\d)\.(?=\d)", ",", text)


def score_of(piece: Sentence) -> float | None:
    if piece.asks or piece.quoted:
        return None
    if match := ALONE.match(piece.text):
        return on_ten(match) if piece.alone or piece.first else None
    if match := STATEMENT.match(piece.text):
        return None if HOWEVER.search(match["reason"] or "") else on_ten(match)
    if piece.first and (match := LEADING.match(piece.text)):
        reason = match["reason"] or match["why"] or ""
        return None if ANOTHER.search(reason) or HOWEVER.search(reason) else on_ten(match)
    return None
