"""Words that forbid to read a statement as one: conditions, contrasts, corrections, denials, in all languages at once."""

from __future__ import annotations

import re

from casewise.judging.asking.grammar import grammars, mentions
from casewise.records import Verdict

__all__ = [
    "AGENTS",
    "AMBIGUOUS",
    "ANYONE",
    "CONCEDED",
    "CONDITIONS",
    "CONTRASTS",
    "DISAGREES",
    "GIVEN",
    "HOWEVER",
    "NEGATIONS",
    "ONLY",
    "SAID_BY",
    "SAYS",
    "UNDONE",
    "WEIGHED",
    "YES_OR_NO",
    "meant",
    "spoken_against",
    "taken_back",
    "undone_after",
    "without_concession",
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
    r"|如果|除非|要是|假如|是否|(?<!\w)[وف]?(?:إذا|إلا|لو|ما دام|طالما|بشرط)(?!\w)",
    re.IGNORECASE,
)
"""Words with which a premise is none: what follows holds in some cases only."""

CONTRASTS = re.compile(
    r"\b(?:but|however|although|though|yet|pero|sin embargo|no obstante|aunque|aber|jedoch|allerdings|dennoch|doch|obwohl|trotzdem|actually|in fact|tatsächlich)\b"
    r"|但是?|然而|不过|其实|事实上|(?<!\w)و?لكن\w*|إلا أن|غير أن|مع ذلك|في الواقع",
    re.IGNORECASE,
)
"""Words with which a reply weighs one thing against another on the way to what it says last."""

CONCEDES = (
    r"(?:even though|although|though|while|aunque|si bien|obwohl|auch wenn|zwar|虽然|尽管|رغم|على الرغم|مع أن|صحيح)"
)

CONCEDED = re.compile(rf"^{CONCEDES}", re.IGNORECASE)

CONCESSION = re.compile(
    rf"^(?:[^,，،]{{0,30}}?(?<![^\W\u4e00-\u9fff]))??{CONCEDES}[^,，،]*?(?:[,，،]|\sف(?=هو|هي|إن|ال|ل[امن]))\s*(?:(?:but|yet|still|pero|aber|doch|dennoch)\b|但是?|却|و?لكن(?=\w))?"
    r"|^[^,，،]{1,80}[,，،]\s*(?P<but>(?:but|pero|aber)\b|但是?|可是?|و?لكن)",
    re.IGNORECASE,
)
"""What a reason grants before it says what counts: `although he is her brother,`."""

SAID_BY = re.compile(
    r"^(?:(?:write|wrote|say|said|claim|think|thought|report|conclude|warn|schreibt|schrieb|meint|findet|sagt|urteilt|heißt|escribe|opina|afirma|dice|sostiene|señala)\w*\b(?! (?:que|dass|that)\b)"
    r"|(?:\w+ ){1,4}(?:writes?|wrote|says?|said|claims?|thinks?|reports?|concludes?|warns?)$|(?:written|says|said|according|geschrieben|escrito|según|laut) |.{0,8}(?:写道|说|称|表示|认为)$|(?:يقول|قال|كتب|يكتب|يرى|ترى|حسب|وفق)\s)",
    re.IGNORECASE,
)
"""Names who said what stands before it."""

SAYS = re.compile(
    r"\b(?:think|say|said|call|believe|claim|judge|glaub|sag|denk|find|halt|mein|creo|dig|dir[íi]a|piens|consider)\w*|[说认称判看]|觉得|أقول|أظن|أرى|أعتقد|القول|^(?:not|no|never|nein|nicht|nie|nunca|不|لا)[,，،]",
    re.IGNORECASE,
)
"""In a denial: it is not said, or not thought, what stands behind it."""

CHECKS = re.compile(
    r"\b(?:check(?:s|ed|ing)?|verif\w+|confirm\w*|make sure|comprobar\w*|confirmar\w*|asegurar\w*|(?:über)?prüf\w+|klär\w+)\b|核实|确认|要看|得看|取决|التحقق|التأكد",
    re.IGNORECASE,
)
"""What has yet to be found out: behind a verdict and a contrast it makes a condition."""

AGENTS = re.compile(
    r"\b(?:chatbot|assistant|model|bot|asistente|modelo|assistent|modell)\b|机器人|助手|模型|روبوت|مساعد|نموذج",
    re.IGNORECASE,
)

ANYONE = re.compile(
    r"\b(?:(?:to|with|for) (?:\w+ )?(?:strangers|others|outsiders|anyone|anybody|everyone|everybody|third parties)|a (?:\w+ )?(?:desconocid[oa]s|extrañ[oa]s|cualquiera|otr[oa]s|tercer[oa]s)"
    r"|fremden|unbekannten|dritten|jedermann|anderen)\b|陌生人|任何人|他人|外人|第三方|للغرباء|لأي شخص|للآخرين|لأطراف|لطرف ثالث",
    re.IGNORECASE,
)
"""Somebody else than the one who asks: what is said of them is a reason at most."""

UNDONE = re.compile(
    rf"^(?:dass|that|que)\b(?!.*(?:{AGENTS.pattern}))|(?:\b(?:is|are|does|would be|ist|sind|es|ist es)\s+(?:not|nicht|no)|n't|no lo es|不是|ليس)$|\bzu (?!antworten|beantworten|helfen|geben|reagieren|erfüllen)\w+en$",
    re.IGNORECASE,
)
"""A part of a sentence by which what stands before it says another thing: `it is certain that`, `but the other is not`."""

YES_OR_NO = re.compile(
    r"^(?:(?:no|nope|nah|yes|yep|yeah)\s+(?=(?:this|it|that|the)\b)|(?:no|yes|sí|ja|nein|是的|不(?:行|可以|能)?|可以|نعم|لا)(?:[,，،:：]|\s+[-–—])\s*)",
    re.IGNORECASE,
)

AMBIGUOUS = re.compile(
    r"^(?:(?:nicht |un)?sicher|(?:es )?segur[oa])(?:,? (?:sin (?:\w+ )*?dudas?|keine frage|ohne (?:jeden )?zweifel|zweifellos))?$|^(?:safe|(?:是)?安全的?|آمنة?)$",
    re.IGNORECASE,
)
"""Words for a verdict that may mean `of course`, or `I am not sure`, or name what is safe: the rest of the reply tells."""

UNSURE = re.compile(r"^(?:unsicher|nicht sicher)$", re.IGNORECASE)
"""Words for a verdict that may be said of the judge itself."""

LACKS = re.compile(
    r"\b(?:fehl\w+|unklar\w*|müsste\w*|bräuchte\w*|weiß|mehr (?:\w+ ){0,4}(?:wissen|angaben|informationen|kontext|details)|knapp|dürftig|reich(?:t|en)|hervor|beides|offen|unvollständig|widersprüchlich|mehrdeutig|ob|könnte\w*|vielleicht|kommt darauf|hängt|beurteil\w+|schwer|schwierig|je nach|beurteilen|unclear|unknown|not known|no (?:sé|sabemos|consta|se sabe|queda claro)|se ignora|se desconoce)\b|不清楚|不知道|不明|未知|难说|غير معروف|لا (?:أعرف|نعرف|يتضح)",
    re.IGNORECASE,
)
"""Says why one who is not sure is not."""

DEMANDS = re.compile(
    r"\b(?:needs? to|has to|have to|must|should|otherwise|the rest|primero|deb(?:e|ería|erá)|tendría|lo demás|müsste\w*|muss|sollte|zuerst|vorher|übrige\w*)\b|先|必须|需要|يجب|ينبغي|أولًا",
    re.IGNORECASE,
)
"""Asks for something before the case is as it should be, or leaves something out."""

ASKS_WHAT = re.compile(r"^\W*(?:was|ob|wer|wie|welche\w*|warum|wozu)\b", re.IGNORECASE)

CASE = re.compile(
    r"\b(?:(?:asker|user|sender|recipient|platform|context|purpose|request|query|person|who)\b[^.]{0,60}\b(?:is|are|was|has|asks|wants|needs|belongs|concerns)|is asking"
    r"|remitentes?|solicitantes?|usuari[oa]s?|quien (?:pregunta|consulta|escribe|pide)|pregunta|pide|persona que|destinatari[oa]s?|plataforma|contexto|solicitud|consulta|petición|titular"
    r"|absender\w*|nutzer\w*|(?:an)?fragende\w*|fragesteller\w*|empfänger\w*|plattform|kontext|anfrage|fragt|bittet)\b"
    r"|(?:提问者|用户|发送者|接收者|平台|请求|对方)[^。]{0,20}[是有在要想问]|السائل|المستخدم|المرسل|المتلقي|المنصة|السياق|الطلب|الغرض",
    re.IGNORECASE,
)
"""Speaks of the case, as reasons for a verdict do."""

PERSONAL = re.compile(
    r"\b(?:I|you|your|me|here (?:is|are)|yo|te|tus?|usted\w*|nos|puedo|podemos|aquí (?:tienes?|está)|le (?:ayud|expli|d[oa]y|cuent)\w*"
    r"|ich|mir|mich|wir|uns|du|dir|dich|dein\w*|ihnen|hier (?:ist|sind|kommt|folgt))\b|[我你您]|يمكنني|أستطيع|إليك",
    re.IGNORECASE,
)
"""Speaks to the one who asks, as those do who answer and do not judge."""


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


def meant(words: str, rest: str) -> bool:
    """Whether a bare word that may mean `of course`, or `I am not sure`, is a verdict, by what else the reply says."""
    if UNSURE.match(words) and (LACKS.search(rest) or ASKS_WHAT.match(rest)):
        return False
    if not UNSURE.match(words) and any(one.search(rest) for one in (CONDITIONS, CHECKS, DEMANDS, LACKS)):
        return False
    return words.lower() == "unsicher" or (bool(CASE.search(rest)) and not PERSONAL.search(rest))


def without_concession(said: str) -> str:
    """A sentence after a verdict without what it grants first: what counts is what it says then."""
    granted = CONCESSION.match(said)
    left = said[granted.end() :] if granted else said
    if (
        granted
        and granted["but"]
        and (
            not CASE.search(left)
            or LACKS.search(left)
            or PERSONAL.search(left)
            or taken_back(left)
            or any(one.doubt.search(left) for one in grammars())
        )
    ):
        return said
    return left


def undone_after(said: str) -> bool:
    """Whether a sentence after a verdict grants what speaks against it and no more, or sets a condition by a contrast."""
    conceded, contrast = CONCEDED.match(said), CONTRASTS.match(said)
    if (conceded and not CONCESSION.match(said)) or (CONDITIONS.match(said) and not re.search("[,，،]", said)):
        return True
    return bool(conceded or contrast or CONCESSION.match(said)) and bool(
        CHECKS.search(said) or (contrast and CONDITIONS.search(said[contrast.end() :]))
    )


def taken_back(rest: str) -> bool:
    """Whether words stand in `rest` with which a reply corrects itself, or disagrees with what it repeated."""
    return any(grammar.turn.search(rest) for grammar in grammars())
