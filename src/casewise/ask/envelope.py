"""The wrapping that a model family puts around its reply, and its removal before a reader sees the reply.

`ENVELOPES` is a table by family: thoughts before the reply, channels, special tokens, tags and fences around it. What is
removed is never read as a verdict. What a family puts *between* two messages stays in the text: the reader takes it as a sign
that the reply is more than one message.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Envelope:
    """The wrapping of one model family, as regular expressions."""

    family: str
    thoughts: tuple[tuple[str, str], ...] = ()
    """The tags that begin and end the model's thoughts."""
    before: tuple[str, ...] = ()
    """Tokens and words that may stand before the reply."""
    after: tuple[str, ...] = ()
    """Tokens that may stand after it."""
    around: tuple[tuple[str, str], ...] = ()
    """Tags that may stand around it."""


ENVELOPES = (
    Envelope("tags of thoughts", thoughts=tuple((f"<{name}>", f"</{name}>") for name in ("think", "thinking", "thought", "thoughts", "reasoning", "reflection", "scratchpad", "seed:think"))),
    Envelope("Mistral", thoughts=((r"\[THINK\]", r"\[/THINK\]"),), before=("<s>", r"\[/INST\]"), after=("</s>", r"\[/?INST\]")),
    Envelope("Kimi", thoughts=(("◁think▷", "◁/think▷"),), before=(r"<\|im_assistant\|>(?:assistant)?<\|im_middle\|>",)),
    Envelope("Command", thoughts=((r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),), before=(r"<\|START_(?:RESPONSE|TEXT)\|>", r"<\|CHATBOT_TOKEN\|>"), after=(r"<\|END_(?:RESPONSE|TEXT|OF_TURN_TOKEN)\|>",)),
    Envelope("OpenThinker", thoughts=((r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),), before=(r"<\|begin_of_solution\|>",), after=(r"<\|end_of_solution\|>",)),
    Envelope("Llama", before=(r"<\|begin_of_text\|>", r"<\|start_header_id\|>assistant<\|end_header_id\|>", r"<\|header_start\|>assistant<\|header_end\|>"), after=(r"<\|eot(?:_id)?\|>", r"<\|end_of_text\|>", r"<\|eom_id\|>")),
    Envelope("Gemma", before=("<bos>", "<start_of_turn>model"), after=("<end_of_turn>", "<eos>")),
    Envelope("Qwen and other ChatML", before=(r"<\|im_start\|>assistant",), after=(r"<\|im_end\|>", r"<\|endoftext\|>")),
    Envelope("DeepSeek", before=("<｜begin▁of▁sentence｜>", "<｜Assistant｜>"), after=("<｜end▁of▁sentence｜>",)),
    Envelope("GLM", before=(r"\[gMASK\]<sop>", r"<\|assistant\|>"), around=((r"<\|begin_of_box\|>", r"<\|end_of_box\|>"),), after=(r"<\|user\|>",)),
    Envelope("Phi and Granite", before=(r"<\|assistant\|>", r"<\|start_of_role\|>assistant<\|end_of_role\|>", r"Here is my thought process:(?s:.*?)Here is my response:"), after=(r"<\|end\|>",), around=(("<response>", "</response>"),)),
    Envelope("EXAONE", before=(r"\[\|assistant\|\]",), after=(r"\[\|endofturn\|\]",)),
    Envelope("MiniMax", before=(r"\[e~\[", r"\]~b\]ai"), after=(r"\[e~\[",)),
    Envelope("gpt-oss", after=(r"<\|return\|>", r"<\|end\|>")),
    Envelope("a role in words", before=(r"(?:assistant|model)[ \t]*:?[ \t]*\n",)),
    Envelope("tags asked for or not", around=tuple((f"<{name}>", f"</{name}>") for name in ("json", "output", "reply"))),
    Envelope("marks of byte order, and of nothing", before=("[\ufeff\u200b\u2060\u00ad]",), after=("[\ufeff\u200b\u2060\u00ad\x00]",)),
)  # fmt: skip
"""The wrapping that is removed, by family. Add a family here; nothing else needs to know of it."""


def alternatives(patterns: tuple[str, ...]) -> str:
    return "|".join(f"(?:{pattern})" for pattern in patterns)


THOUGHTS = [tags for envelope in ENVELOPES for tags in envelope.thoughts]
THOUGHT = re.compile("|".join(rf"\A\s*{start}(?s:.*?)(?:{end}|\Z)" for start, end in THOUGHTS))
"""Thoughts at the beginning of a reply, to their end or, where they are cut off, to the end of the reply."""
HEADLESS = re.compile(
    rf"\A(?!\s*[\[{{`\"'])(?s:.*?)(?<![\"'`])(?:{alternatives(tuple(end for _, end in THOUGHTS))})(?=\s|\{{|\*|[A-Z]|\Z)"
)
"""Thoughts whose first tag was left to the template; neither within JSON, nor a tag that is quoted."""
BEFORE = re.compile(rf"\A\s*(?:{alternatives(tuple(token for envelope in ENVELOPES for token in envelope.before))})")
AFTER = re.compile(rf"(?:{alternatives(tuple(token for envelope in ENVELOPES for token in envelope.after))})\s*\Z")
AROUND = re.compile("|".join(rf"\A\s*{start}(?s:(.*)){end}\s*\Z" for envelope in ENVELOPES for start, end in envelope.around))  # fmt: skip
HARMONY = re.compile(r"\A\s*(?:<\|start\|>assistant)?<\|channel\|>")
CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)[^<]{0,80}?(?:<\|constrain\|>[^<]{0,40})?<\|message\|>")
BARE_HARMONY = re.compile(r"\A\s*(?:analysis(?=[A-Z\"'{])(?s:.*?))?assistantfinal|\A\s*analysis(?=[A-Z\"'{])(?s:.*)")
"""Channels whose special tokens a server dropped: `analysis…assistantfinal…`, and thoughts that never came to a reply."""
TAGS = "|".join(re.escape(re.sub(r"\\", "", tag)) for pair in THOUGHTS for tag in pair)
OPENING_TAG = re.compile(alternatives(tuple(start for start, _ in THOUGHTS)))
INNER = re.compile(rf"{TAGS}|<\|[a-zA-Z_]{{2,30}}\|>|<｜[^｜\n]{{2,30}}｜>|\[/?INST\]")
"""Separators of two messages, or of thoughts and a reply, that still stand in what was unwrapped."""


MOST_LAYERS = 20
"""Layers that are removed; a reply with more of them repeats a token without end."""
LONGEST_TOKEN = 200
"""Characters at the end of a reply among which its last special token is looked for."""


@dataclass(frozen=True, slots=True)
class ReplyContent:
    """A reply without its wrapping."""

    text: str
    thoughts: str = ""
    """The thoughts that stood before it without their first tag. A verdict that begins them makes the reply doubtful."""


def unwrapped(text: str) -> ReplyContent:
    """Return a reply without the wrapping of its model's family; empty where its thoughts never end."""
    text = without_layers(text)
    head = HEADLESS.match(text)
    if head is None or OPENING_TAG.search(head[0]):
        return ReplyContent(text)
    return ReplyContent(without_layers(text[head.end() :]), head[0])


def without_layers(text: str) -> str:
    for _ in range(MOST_LAYERS):
        before, text = text, one_layer_less(text.strip())
        if text == before:
            break
    return text


def one_layer_less(text: str) -> str:
    if HARMONY.match(text):
        text = final_channel(text)
    elif bare := BARE_HARMONY.match(text):
        text = text[bare.end() :]
    for pattern in (THOUGHT, BEFORE):
        text = pattern.sub("", text)
    end = AFTER.search(text, max(len(text) - LONGEST_TOKEN, 0))
    text = text[: end.start()] if end else text
    whole = AROUND.match(text)
    return next(part for part in whole.groups() if part is not None) if whole else text


def final_channel(text: str) -> str:
    """Return the message in the last channel if that is the final one; empty otherwise."""
    channels = list(CHANNEL.finditer(text))
    if not channels or channels[-1][1] != "final":
        return ""
    return text[channels[-1].end() :]


def without_thoughts(text: str) -> str:
    """Return a reply without the thoughts at its head; the rest is unchanged to the last character."""
    text = THOUGHT.sub("", text)
    head = HEADLESS.match(text)
    return text if head is None or OPENING_TAG.search(head[0]) else text[head.end() :]
