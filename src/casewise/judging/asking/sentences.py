"""The sentences of a reply, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from casewise.judging.asking.grammar import QUOTES, mentions

__all__ = ["ASKED", "Sentence", "bare", "sentences"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, and where it stands in its reply."""

    text: str
    alone: bool
    """Whether it is all that its line holds."""
    first: bool
    last: bool
    asks: bool
    quoted: bool


EMPHASIS = re.compile(
    r"[*_`~]+|\btl;?dr\b[ \t]*[:：—–-]*[ \t]*|</?(?:verdict|answer|judge?ment|label|output|result)>|\[\[(?=\w+\]\])|(?<=\w)\]\]|^[ \t]*(?:[#>•·\-–—]+|\(?\d{1,2}[.)])\s+",
    re.MULTILINE | re.IGNORECASE,
)

SYMBOLS = re.compile(r"[\u2190-\u2bff\ufe0f\U0001f000-\U0001faff]")

BETWEEN = re.compile(rf"(?<=\w)\s+{SYMBOLS.pattern}+\s+(?=\w)")

ENDS = re.compile(r"[.!?。！？؟;；\n]+")

BOXED = re.compile(r"\$?\\boxed\{(?:\\text\{)?([^{}\n]{1,30})\}{1,2}\$?")

HEADED = re.compile(r"^[ \t]*[【\[]([^【】\[\]\n]{1,20})[】\]][:：]?[ \t]*(?=[^\s:：])", re.MULTILINE)
"""A heading in brackets at the beginning of a line."""

ROW = re.compile(r"^[ \t]*\|(.*?)\|?[ \t]*$", re.MULTILINE)

ARROW = re.compile(r"^[ \t]*[=-]+>[ \t]*", re.MULTILINE)

SIMPLER = str.maketrans(
    "斷結論請問題應該認為當於對關無風險護師屬視歸類標簽籤評綜據據這還決觀點說聲稱覺過錯顯從補實際際個",
    "断结论请问题应该认为当于对关无风险护师属视归类标签签评综据据这还决观点说声称觉过错显从补实际际个",
)
"""Characters of these statements as they are written in Taiwan and Hong Kong, and in Beijing."""

QUOTE = re.compile(r"[\"“”„«»]")


LOOP = re.compile(r"\b(\w+(?:\W+\w+){0,3}?)(?:\W+\1\b){11,}")
"""The same one to four words twelve times over. The patterns of statements would go back and forth in it for seconds, too."""


def bare(text: str) -> str:
    """`text` without what only decorates it."""
    text = ROW.sub(lambda row: row[1].replace("|", ": "), text)
    text = ARROW.sub("", HEADED.sub(r"\1: ", EMPHASIS.sub("", BOXED.sub(r"\1", text)).translate(SIMPLER)))
    return SYMBOLS.sub(" ", BETWEEN.sub(" - ", text.replace("→", ":").replace("➔", ":")))


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of `text`, each with its place; none where a model was caught in a loop: such a reply states nothing."""
    if LOOP.search(text):
        return
    text = bare(text).replace("’", "'").replace("¡", "").replace("¿", "")
    pieces: list[tuple[str, str, bool]] = []
    at = 0
    for match in [*ENDS.finditer(text), None]:
        stop, mark = (match.start(), match[0]) if match else (len(text), "")
        piece = " ".join(text[at:stop].split())
        if piece.strip(QUOTES + " ()[]"):
            piece = piece[1:-1] if piece[0] in "([（" and piece[-1] in ")]）" else piece
            pieces.append((piece, mark, len(QUOTE.findall(text[:at])) % 2 == 1))
        elif pieces:
            pieces[-1] = (pieces[-1][0], pieces[-1][1] + mark, pieces[-1][2])
        at = match.end() if match else len(text)
    for place, (piece, mark, quoted) in enumerate(pieces):
        begins_line = place == 0 or "\n" in pieces[place - 1][1]
        ends_line = place == len(pieces) - 1 or "\n" in mark
        asks = any(sign in mark for sign in "?？؟")
        first = place == 0 or (place == 1 and opens(*pieces[0][:2]))
        yield Sentence(piece, begins_line and ends_line, first, place == len(pieces) - 1, asks, quoted)


def opens(said: str, mark: str) -> bool:
    """Whether the first sentence of a reply only leads to the second: a question to itself, or `Sure!`."""
    return bool(any(sign in mark for sign in "?？؟") and ASKED.search(said)) or (len(said) <= 12 and not mentions(said))


ASKED = re.compile(
    r"^(?:safe|sicher|segur[oa]|安全|آمن)\s*(?:/|or|oder|o|还是|أم)|^(?:is|should|can|may|would|ist|kann|soll|sollte|darf|wäre|es|puede|debe|debería|sería|هل)\b|是否|吗$|还是|^(?:可以|应该)",
    re.IGNORECASE,
)
"""Begins a question that a reply puts to itself before it answers it."""
