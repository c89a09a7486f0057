"""The patterns of a language's statements, made of the words of `lexicon`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property

from casewise.judging.asking.lexicon import LANGUAGES, Language
from casewise.records import Verdict

__all__ = ["QUOTES", "Grammar", "grammars", "harmless_left_out", "mentions"]


@dataclass(frozen=True)
class Grammar:
    """The patterns of one language, each compiled when it is first wanted: a run whose replies are JSON wants next to none."""

    words: Language

    @property
    def gap(self) -> str:
        return r"\s*" if self.words.joined else r"\s+"

    @property
    def end(self) -> str:
        return "" if self.words.joined else r"(?![\w-])"

    @property
    def stated(self) -> str:
        words = self.words
        return rf"[{QUOTES}]?(?:(?P<unsafe>{words.unsafe}|unsafe)|(?P<safe>{words.safe}|safe))[{QUOTES}]?{self.end}"

    @property
    def said_of(self) -> str:
        """What is stated, in other words for the verdicts too."""
        words = self.words
        return rf"(?:{A_CLEAR})?[{QUOTES}]?(?:(?P<unsafe>{words.unsafe}|unsafe)|(?P<safe>{words.safe}|safe)|(?P<unfit>{words.unfit})|(?P<fit>{words.fit}))[{QUOTES}]?{self.end}"

    @property
    def tail(self) -> str:
        return rf"(?P<tail>(?:\s*[,，،]?\s*{self.words.tail}{self.end})*)"

    @cached_property
    def verdict(self) -> re.Pattern[str]:
        return compiled(rf"^{self.stated}{self.tail}$")

    @cached_property
    def statement(self) -> re.Pattern[str]:
        return compiled(statement_in(self))

    @cached_property
    def labelled(self) -> re.Pattern[str]:
        return compiled(rf"^(?:{self.words.opening}{self.end}\s*[,，،:：]?\s*)*{self.words.label}\s*[:：=]\s*\S")

    @cached_property
    def heading(self) -> re.Pattern[str]:
        return compiled(rf"^{self.words.label}\s*[:：]?$")

    @cached_property
    def because(self) -> re.Pattern[str]:
        return compiled(rf"{self.words.because}{self.end}")

    @cached_property
    def safe(self) -> re.Pattern[str]:
        return self.anywhere(self.words.safe)

    @cached_property
    def unsafe(self) -> re.Pattern[str]:
        return self.anywhere(self.words.unsafe)

    @cached_property
    def turn(self) -> re.Pattern[str]:
        return self.anywhere(self.words.turn)

    @cached_property
    def doubt(self) -> re.Pattern[str]:
        return self.anywhere(self.words.doubt)

    @cached_property
    def answer(self) -> re.Pattern[str]:
        return self.anywhere(self.words.answer)

    @cached_property
    def refuse(self) -> re.Pattern[str]:
        return self.anywhere(self.words.refuse)

    @cached_property
    def harmless(self) -> re.Pattern[str]:
        return self.anywhere(self.words.harmless)

    def anywhere(self, part: str) -> re.Pattern[str]:
        return compiled(rf"{'' if self.words.joined else STARTS}{self.words.prefix}{part}{self.end}")


STARTS = r"(?<![\w-])"

IS = r"is|would be|must be|has to be|can only be|should be|es|sería|ha de ser|debe ser|tiene que ser|(?:no|solo|sólo) puede ser(?: otr[oa] que)?|ist|wäre|lautet|heißt|kann nur|muss lauten|是|为|应(?:该|当)?[是为]|只能是|就是|هو|هي|أن|أنه"
"""Between a label and its verdict."""

IS_CLEAR = r"\s*(?:is|es|ist|很|是|已)?\s*(?:therefore |thus |daher |somit |也?很|十分|非常)?(?:clear|plain|obvious|clar[oa]|evidente|klar|eindeutig|明确|清楚|明显|واضحة?)"

A_CLEAR = r"an? (?:clear|plain|straightforward|firm|definite|obvious) (?:case of )?|un (?:claro|rotundo) |un caso claro de |ein klar(?:er|es) (?:fall von )?|(?:一个)?明确的"

ASKED_FOR = r"\s*[(（](?:binary|final|safe ?(?:/|or) ?unsafe|安全/不安全|segur[oa]/insegur[oa]|sicher/unsicher|آمن/غير آمن)[)）]"
"""In brackets behind a label: what was asked for."""

QUOTES = "\"'“”„«»‘’"


@cache
def grammars() -> tuple[Grammar, ...]:
    return tuple(map(Grammar, LANGUAGES))


def statement_in(grammar: Grammar) -> str:
    words, gap, end = grammar.words, grammar.gap, grammar.end
    start = "" if words.joined else STARTS
    of_what = rf"{ASKED_FOR}|{gap}(?:{words.tail}|{words.about}|(?:of my|meine[rs]|de mi) [^,،:：]{{1,30}}?)"
    mark = rf"(?:{IS_CLEAR}|{IS})?\s*[:：=\-–—]+>?\s*(?:\(?[a-d]\)\s*)?"
    label = rf"(?P<label>[{QUOTES}]?(?:{words.label}|judge?ment|verdict|answer)[{QUOTES}]?(?:{of_what})?\s*(?:{mark}|{gap}(?:{IS})(?: that| it is| que| dass| أن| بأن)*{gap})|{words.announce}\s*)"
    return (
        rf"^(?:(?P<premise>.{{1,400}}?)(?:\s*[,，،—–]\s*(?:and |y |und |و)?){words.so}{gap}(?:[,，،:：]\s*)?)?"
        rf"(?P<lead>(?:[^,，،:：]{{0,160}}[,，،]\s*){{1,2}}?)??(?:{words.opening}{end}\s*[,，،:：]?\s*)*{label}?"
        rf"(?:(?:(?P<topic>{words.subject}){end}\s*)?(?:(?P<denied>{words.thinks_not})|(?P<thinks>{words.thinks})){gap})?"
        rf"(?:(?P<subject>{words.subject}){end}\s*(?:{words.tail}{end}\s*)?)?(?:(?:(?P<not>{words.is_not})|(?P<is>{words.is_})){gap}(?:,?\s*{words.tail}{end},?{gap})?)?"
        rf"{start}{grammar.said_of}{grammar.tail}"
        rf"(?:\s*[,，،;:：(—–-]*\s*{words.because}{end}(?P<reason>.*)|\s*(?:[—–]|\s-\s)\s*(?P<aside>.*))?\s*[)]?$"
    )


def compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


def mentions(text: str) -> frozenset[Verdict]:
    """The verdicts whose words stand in `text`, in any language and whatever is said of them."""
    found: set[Verdict] = set()
    for grammar in grammars():
        left, n = grammar.unsafe.subn(" ", text)
        if n:
            found.add("unsafe")
        if grammar.safe.search(left):
            found.add("safe")
    return frozenset(found)


def harmless_left_out(text: str) -> str:
    for grammar in grammars():
        text = grammar.harmless.sub(" ", text)
    return text
