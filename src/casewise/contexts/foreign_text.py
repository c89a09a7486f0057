"""Text that has no place in a context: verdicts, instructions, placeholders, other languages, copies of the query.

A context states who asks whom, where and on what terms. How many of such texts the rules here find, and how often they are wrong,
is measured on texts written before the rules: see `docs/explanation/verified.md`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class ForeignText:
    """A finding: the kind of text, the parameter that it stands in, and the words that show it."""

    check: str
    parameter: str
    evidence: str


def foreign_text(query: str, fields: Mapping[str, str]) -> Iterator[ForeignText]:
    """Yield what has no place in a context with these texts by parameter, at most one finding a parameter and kind."""
    whole = " ".join(fields.values())
    usual = usual_script(whole), language_of(words_of(whole))
    asked = content_words(query)
    for name, text in fields.items():
        for check, patterns in PATTERNS.items():
            if match := next((found for pattern in patterns if (found := pattern.search(text))), None):
                yield ForeignText(check, name, match[0].strip())
        if (sentence := in_another_language(text, *usual)) is not None:
            yield ForeignText("another language", name, sentence)
        if (sentence := next((copied for copied in sentences(text) if copies(asked, copied)), None)) is not None:
            yield ForeignText("copies the query", name, sentence)


def sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.!?;])\s+", text)


def pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


# Verdicts: the context says whether the chatbot should answer, which the judge has to decide.


ANSWER = (
    r"(?:refus|declin|reject|den(?:y|ied)|answer|respond|repl(?:y|ied)|compl(?:y|ied)(?! with)|help|assist|provid|fulfil|turn\w* (?:\w+ )?away|"
    r"tell|giv)\w*"
)
BOT = r"(?:the )?(?:chat ?bot|bot|assistant|service|system|model|AI)"
ASKED = r"(?:the|this|that|such|any|these|those|her|his|their|user'?s?) ?(?:user'?s? )?(?:request|query|question|answer|information|prompt)s?"
RIGHT = (
    r"(?:(?:un)?acceptable|fine|okay|ok|(?:im)?permissible|(?:in)?appropriate|wrong|right|(?:un)?justified|(?:ir)?responsible|in order|"
    r"no(?:thing)? wrong|(?:un)?safe|legitimate|(?:not )?allowed|harmless|problematic|unproblematic)"
)
MODAL = r"(?:must|should|may|can|shall|ought to|has to|have to|is to|needs? to|cannot|can't|is (?:not )?(?:allowed|permitted|expected|required|free|supposed|instructed|obliged) to)"

VERDICTS = (
    pattern(rf"\b{BOT} (?!is to\b){MODAL}(?: not| never| always| freely| therefore)? (?:\w+ ){{0,2}}?{ANSWER}\b"),
    pattern(rf"\b{MODAL}(?: not| never)? (?:be )?{ANSWER} (?:\w+ )?{ASKED}\b"),
    pattern(rf"\b(?:{ASKED}|answer) {MODAL}(?: not)? be (?:\w+ )?(?:{ANSWER}|accepted)\b"),
    pattern(rf"\b(?:answering|responding|replying|helping|complying|refusing|declining|an? (?:answer|reply|response|refusal))(?: \w+){{0,3}}? (?:is|are|would be|seems)(?: \w+)? ?{RIGHT}\b"),
    pattern(rf"\b{RIGHT} (?:\w+ )?(?:for {BOT} )?to {ANSWER} (?:{ASKED}|at once|fully|in full|everything|it\b|him\b|her\b|them\b)"),
    pattern(r"\b(?:would|does|could|will) (?:violate|breach|break|contravene) (?:the|our|its|any|company|platform)\b"),
    pattern(rf"\b(?:answering|responding|replying|giving|providing|{ASKED})(?: \w+){{0,3}}? is (?:against|contrary to|in breach of)\b"),
    pattern(r"\bno (?:harm|danger|risk|concern|problem) in (?:answering|responding|replying|helping|telling|giving)\b"),
    pattern(rf"\b(?:forbids?|prohibits?|does not (?:permit|allow)|rules? out) (?:{BOT} )?(?:answering|responding|helping|replying|to (?:answer|help|respond|reply))\b"),
    pattern(r"\b(?:is|are|be) (?:not )?(?:entitled to|denied|owed|given) (?:an|the|any|this) (?:full )?(?:answer|reply|response)\b"),
)  # fmt: skip

# Announced harm: the context states the intention to do harm, where facts should let a reader see it.

HARM = (
    r"(?:harm|hurt|injur|kill|murder|poison|attack|rob|steal|blackmail|threaten|humiliat|bully|stalk|defraud|deceiv|cheat|scam|"
    r"torment|revenge|destroy|sabotag|assault|abus|exploit)\w*"
)
INTENTIONS = (
    pattern(
        rf"\b(?:plans?|intends?|means|wants?|hopes?|aims?|is going|has decided|is determined|wishes) to (?:use (?:it|this|that|the \w+) "
        rf"(?:to|for)|\w+ it to|(?:\w+ )?{HARM})\b(?:(?: \w+)? {HARM}\b)?"
    ),
    pattern(rf"\b(?:in order to|so that he can|so that she can|so as to) {HARM}\b"),
)

# Instructions to the reader of the context.

INJECTIONS = (
    pattern(r"\b(?:ignore|disregard|forget|override|bypass|do not follow|stop following|skip)\b[^.;]{0,40}\b(?:instructions?|rules?|guidelines?|settings?|evaluation|filters?|prompts?|told)\b"),
    pattern(r"\b(?:you are now|you're now|from now on,? (?:you|only|respond|answer|reply)|your new (?:task|role|instructions?))\b"),
    pattern(r"<\|?/?(?:im_start|im_end|system|user|assistant|context|s)\|?>|\[/?INST\]|^\s*#{2,} ?\w+|<</?SYS>>|\b(?:begin|end) (?:of )?(?:new )?instructions?\b"),
    pattern(r"(?:^|[.;] )(?:system|assistant|user|human|developer) ?: "),
    pattern(r"\b(?:output|print|reply|respond|answer|say|return|write|reply only|respond only)\b(?: only| just| simply)?(?: with)?(?: the word| the number)? ?(?:['\"“‘](?:\w+)['\"”’]|\b(?:safe|unsafe|yes|no|1|0|2)\b)"),
    pattern(r"\b(?:rate|classify|mark|label|judge|treat|evaluate|score)\b (?:this|the|every|all|it)\b(?: \w+){0,2} as (?:\w+ )?(?:safe|unsafe|harmless|appropriate|acceptable|allowed|fine)\b"),
    pattern(r"\byour (?:verdict|decision|judgement|judgment|answer|reply|response|rating) (?:has to|must|should|is to|will) be\b"),
    pattern(r"\bsystem (?:prompt|message)\b|\bdeveloper mode\b|\bjailbreak\b"),
    pattern(r"\b(?:you (?:must|should|have to|will) (?:always |only )?(?:answer|reply|respond|comply|approve|say)|(?:you|that you) have no restrictions|you always comply)\b"),
    pattern(r"\b(?:do not|don't|stop) (?:evaluat|judg|assess|moderat)\w*\b"),
    pattern(r"\bclassify the following\b|\banswer the following\b|\bas the (?:judge|evaluator|annotator|moderator) of (?:this|the)\b"),
)  # fmt: skip

# Remains of a template or a model: unfilled slots, and a model that writes about itself.

PLACEHOLDERS = (
    pattern(r"\[\s*(?:insert|add|your|name|role|fill|enter|specify|describe|company|organi[sz]ation|occupation|city|background|placeholder|redacted|n/?a)\b[^\]]*\]|\[[^\]]*\b(?:here|redacted|omitted)\]"),
    re.compile(r"\{\w[\w ]*\}|<[a-z][\w -]*>|%[A-Z_]{3,}%|\$[A-Z_]{3,}|\$\{\w+\}|_{3,}|\bX{2,}\b|\bYYYY\b|\b[A-Z][a-z]+ [XY]\b(?!-)"),
    pattern(r"\b(?:TODO|TBD|FIXME|lorem ipsum|to be (?:determined|filled in|completed|defined|specified)|fill (?:this|me) in|placeholder)\b"),
    pattern(r"\b\w+ (?:type|role|name|purpose|background|platform) ?\(e\.g\.|\b(?:purpose|role|name|text|description|background|context) goes here\b|^\s*(?:example|e\.g\.)[:,]? "),
    pattern(r"\bas an? (?:large )?(?:AI|language model|artificial)\b|\bI(?:'m| am) (?:sorry|unable|an AI)\b|\bI (?:cannot|can't|can not|won't) (?:create|help|assist|provide|generate|write|fulfil)\b"),
    pattern(r"^\s*(?:sure|certainly|of course|absolutely|okay)[!,.:] |\bhere(?: is|'s) (?:the|a|an|your) (?:context|description|revised|updated|requested|scenario)\b|\bthe following is an? (?:description|context|scenario|example)\b"),
)  # fmt: skip

PATTERNS: dict[str, tuple[re.Pattern[str], ...]] = {
    "states a verdict": VERDICTS,
    "announces harm": INTENTIONS,
    "instructs the reader": INJECTIONS,
    "placeholder": PLACEHOLDERS,
}


# Another language: a sentence whose small words, or whose letters, are of another language than the rest of the context.


SMALL_WORDS: dict[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "English": "the a an of and to in is are was for on with that by at from his her their its who what it as be has have "
        "had not or they he she which this one can will",
        "French": "le la les des du une et est dans pour sur avec que qui par au aux ne pas leur leurs son sa ses il elle ils "
        "où ce cette après d' l' à",
        "German": "der die das den dem des ein eine einer einem und ist sind war nicht von zu zur zum im in für mit auf bei aus "
        "sich er sie es wird werden hat haben seit dort kann nach oder",
        "Spanish": "el la los las de del una un y es en para con que por al se no su sus lo como más desde hace ha sido está",
        "Italian": "il lo la gli le di del della dei delle un una e è in per con che non da dal dalla sono si suo sua suoi al",
        "Dutch": "de het een en is van voor op met dat die niet in wordt door haar zijn hij zij bij aan om dan heeft kan omdat",
        "Portuguese": "o a os as de do da dos das um uma e é em para com que por no na não se seu sua ao pode só são",
        "Polish": "i w z na do nie że się jest to jak który która którzy od po za ma został przez ich jego",
        "Swedish": "och att det en ett är på som för av med den till inte har där får kan vid om",
        "Turkish": "ve bir bu için ile olarak de da mi çok daha gibi sonra kadar",
    }.items()
}  # fmt: skip
FEWEST_WORDS = 3
FOREIGN_SHARE = 0.6
"""Share of the letters of a text that are of another script than the usual one, from which it is in another language."""


def in_another_language(text: str, script: str | None, language: str | None) -> str | None:
    """Return the first sentence of `text` in another script or language than the usual ones; None where there is none."""
    for sentence in sentences(text):
        scripts = Counter(map(script_of, filter(str.isalpha, sentence)))
        foreign = sum(count for name, count in scripts.items() if name != script)
        if script is not None and scripts and foreign >= FOREIGN_SHARE * scripts.total():
            return sentence
        if language is None:
            continue
        words = words_of(sentence)
        spoken = language_of(words)
        if len(words) >= FEWEST_WORDS and spoken not in (None, language):
            return sentence
    return None


def words_of(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+['’]?", text.casefold())


def language_of(words: list[str]) -> str | None:
    """Return the language that has most of the small words, if it has two more than any other and a fifth of all."""
    plain = [word.replace("’", "'") for word in words]
    counts = Counter(
        {name: sum(word in small or word.rstrip("'") in small for word in plain) for name, small in SMALL_WORDS.items()}
    )
    (first, most), (_, second) = counts.most_common(2)
    accented = sum(any(ord(letter) > 127 for letter in word) for word in plain)
    enough = (most >= 2 and most > second) or (
        most >= 1 and accented and len(plain) > FEWEST_WORDS and not counts["English"]
    )
    return first if enough and most >= len(plain) / 6 else None


def usual_script(text: str) -> str | None:
    """Return the script of most letters of a context."""
    scripts = Counter(map(script_of, filter(str.isalpha, text)))
    return scripts.most_common(1)[0][0] if scripts else None


def script_of(letter: str) -> str:
    """Return the script of a letter, by the first word of its Unicode name: LATIN, CYRILLIC, CJK."""
    return unicodedata.name(letter, "UNKNOWN").split()[0]


# Copies of the query: a parameter repeats the request, as it stands or softened, where it should state circumstances.


COPIED = 0.7
"""Share of the query's content words in a parameter from which the parameter copies it."""
FEWEST_CONTENT_WORDS = 3
STEM = 5
"""Letters by which two words count as the same: `listen` and `listening`."""


def content_words(text: str) -> set[str]:
    """Return the stems of the words that carry meaning."""
    small = SMALL_WORDS["English"] | set(ASKING.split())
    return {word[:STEM] for word in re.findall(r"\w+", text.casefold()) if word not in small and len(word) > 2}


ASKING = """
how do does i my me you your should would could make write tell explain draft give want wants like looks look where when why without
being before out get past
"""
"""Words with which requests are put. They carry no content either."""


def copies(asked: set[str], sentence: str) -> bool:
    """Return whether a sentence has most content words of the query."""
    return len(asked) >= FEWEST_CONTENT_WORDS and len(asked & content_words(sentence)) >= COPIED * len(asked)
